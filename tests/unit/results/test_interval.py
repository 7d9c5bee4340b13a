"""Confidence intervals: against the printed t table, and one worked by hand."""

import pytest

from artist.results.interval import half_width_95, student_t_95


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (29, 2.045), (120, 1.980)]
)
def test_t_is_that_of_the_printed_tables(freedom: int, t: float) -> None:
    """The quantiles that every statistics book prints, odd and even degrees of freedom."""
    assert student_t_95(freedom) == pytest.approx(t, abs=5e-4)


def test_half_width_by_hand() -> None:
    """10, 12, 14: s = sqrt((4 + 0 + 4) / 2) = 2, so t(2) x 2 / sqrt(3) = 4.3027 x 1.1547 = 4.968."""
    assert half_width_95([10.0, 12.0, 14.0]) == pytest.approx(4.968, abs=5e-4)


def test_no_width_without_replicates() -> None:
    """One value says nothing of its spread; equal values have none."""
    assert half_width_95([10.0]) is None
    assert half_width_95([10.0, 10.0]) == 0.0
