"""Draws that are even: shares, work and arrivals come out the same for all seeds."""

import numpy as np
import pytest

from artist.workload.draws import at_rates, dealt, even, picked

RANDOM = np.random.default_rng


@pytest.mark.parametrize("shuffled", [True, False])
def test_draws_are_one_in_each_equal_part(shuffled: bool) -> None:
    """Of 450, up to 200 in a row are even among themselves: 200, 200 and 50; not shuffled, all 450 rise."""
    drawn = even(450, RANDOM(1), shuffled)
    parts = (drawn[:200], drawn[200:400], drawn[400:]) if shuffled else (drawn,)
    for part in parts:
        assert (np.sort(part) * len(part)).astype(int).tolist() == list(range(len(part)))
        assert (np.diff(part) >= 0).all() != shuffled
    assert even(0, RANDOM(1), shuffled).size == 0


def test_shares_are_drawn_at_their_quantiles() -> None:
    """Shares 2 : 1 : 1 of 4: the first half of the quantiles, then a quarter each; texts as numbers."""
    at = np.array([0.0, 0.49, 0.5, 0.74, 0.75, 0.99])
    assert picked({1: 2, 2: 1, 4: 1}, at).tolist() == [1, 1, 2, 2, 4, 4]
    assert picked({"a": 0.5, "b": 0.5}, at).tolist() == ["a", "a", "b", "b", "b", "b"]


def test_work_is_dealt_evenly() -> None:
    """Work 1 to 12 to 3 stretches of 4: each gets one of 12, 11, 10, one of 9, 8, 7 and so on."""
    work = np.arange(1, 13)
    rank = dealt(work, 3, np.random.default_rng(0))
    assert sorted(rank) == list(range(12))
    stretches = [sorted((work[rank // 4 == number] - 1) // 3) for number in range(3)]
    assert stretches == [[0, 1, 2, 3]] * 3


def test_arrivals_come_at_the_rates_of_hour_and_day() -> None:
    """Rate 1, in the first hour 3, 26 a day; half on the second day: 39 in all; the first 3 take an hour."""
    arrivals_s = at_rates(
        [3.0] + [1.0] * 23, [1.0, 0.5], 2.0, np.array([0.0, 1.5, 3.0, 26.0, 27.5, 39.0]) / 39
    )
    assert arrivals_s.tolist() == [0, 1800, 3600, 86_400, 90_000, 172_800]


def test_the_last_day_may_be_cut() -> None:
    """One and a half days at an even rate: half of the arrivals come within 18 hours."""
    assert at_rates([1.0] * 24, [1.0, 1.0], 1.5, np.array([0.5, 1.0])).tolist() == [64_800, 129_600]
