"""Bootstrap intervals: worked by hand, against theory for many values, and how often they hold for few."""

import math

import numpy as np
import pytest

from artist.results.interval import bootstrap_95, student_t_95


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (29, 2.045), (120, 1.980)]
)
def test_t_is_that_of_the_printed_tables(freedom: int, t: float) -> None:
    """The quantiles that every statistics book prints, odd and even degrees of freedom."""
    assert student_t_95(freedom) == pytest.approx(t, abs=5e-4)


def test_two_values_by_hand() -> None:
    """10 and 14: resamples have means 10, 12, 14; P(Z < -1.41 x 12.7) is nothing, so none is left out."""
    assert bootstrap_95([10.0, 14.0]) == (10.0, 14.0)


def test_many_values_have_the_interval_of_theory() -> None:
    """Of 400 values the mean +- 1.96 s / sqrt(400), to some per cent of its width."""
    values = np.random.default_rng(0).exponential(10.0, 400)
    half = 1.96 * values.std(ddof=1) / 20
    found = bootstrap_95(values.tolist())
    assert found == pytest.approx((values.mean() - half, values.mean() + half), abs=0.15 * half)


def test_five_values_hold_the_mean_nearly_as_often_as_they_say() -> None:
    """Normal values, mean 0, in 300 draws: 95 % +- 2.5 would be ideal; leaving out 2.5 % gives 85 %."""
    random = np.random.default_rng(1)
    intervals = [bootstrap_95(random.normal(size=5).tolist()) or (1.0, 1.0) for _ in range(300)]
    assert sum(low <= 0 <= high for low, high in intervals) / 300 > 0.9


def test_no_interval_without_replicates() -> None:
    """One value says nothing of its spread; equal values have none, whatever rounding does to their mean."""
    assert bootstrap_95([10.0]) is None
    assert bootstrap_95([0.1] * 5) == (0.1, 0.1)


def test_equal_values_give_equal_intervals() -> None:
    """The draws do not depend on what was asked before."""
    bootstrap_95([5.0, 6.0, 7.0])
    one, other = bootstrap_95([1.0, 2.0, 4.0]), bootstrap_95([1.0, 2.0, 4.0])
    assert one == other
    assert one is not None
    assert not math.isclose(one[0], one[1])
