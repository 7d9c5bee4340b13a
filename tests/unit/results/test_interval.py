"""Student's t intervals: worked by hand, and how often they hold the true mean."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from artist.results.interval import interval_95, student_t_95

Draw = Callable[[np.random.Generator, int], npt.NDArray[np.float64]]


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (29, 2.045), (120, 1.980)]
)
def test_t_is_that_of_the_printed_tables(freedom: int, t: float) -> None:
    """The quantiles that every statistics book prints, odd and even degrees of freedom."""
    assert student_t_95(freedom) == pytest.approx(t, abs=5e-4)


def test_three_values_by_hand() -> None:
    """1, 2, 3: mean 2, s = 1, half the interval 4.303 x 1 / sqrt(3) = 2.484."""
    assert interval_95([1.0, 2.0, 3.0]) == pytest.approx((-0.484, 4.484), abs=1e-3)


def test_fewer_than_three_values_have_no_interval() -> None:
    """Two values 4 apart would be 51 wide: 2 x 12.706 x 2.83 / sqrt(2)."""
    assert interval_95([10.0]) is None
    assert interval_95([10.0, 14.0]) is None


def test_equal_values_have_no_width() -> None:
    """Their spread is exactly 0, whatever rounding does to sums of 0.1."""
    assert interval_95([0.1] * 6) == (0.1, 0.1)


def _normal(random: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
    return random.normal(1.0, 0.5, n)


def _lognormal(random: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
    return random.lognormal(-0.125, 0.5, n)  # mean exp(-0.125 + 0.5^2 / 2) = 1


@pytest.mark.parametrize(("draw", "least", "most"), [(_normal, 0.93, 0.97), (_lognormal, 0.90, 0.94)])
@pytest.mark.parametrize("n", [3, 5, 10])
def test_the_interval_contains_the_mean_at_the_stated_rate(
    n: int, draw: Draw, least: float, most: float
) -> None:
    """Both have mean 1: 95 % of 2,000 normal samples, give or take 0.5; 92 % of lognormal ones, sigma 1/2."""
    random = np.random.default_rng(n)
    intervals = [interval_95(draw(random, n).tolist()) or (math.nan, math.nan) for _ in range(2000)]
    assert least <= sum(low <= 1.0 <= high for low, high in intervals) / 2000 <= most
