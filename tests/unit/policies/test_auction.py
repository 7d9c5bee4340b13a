"""Winners of auctions."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from artist.policies.themis.auction import winners

BIDS = st.lists(st.tuples(st.integers(1, 1000), st.integers(0, 9)), max_size=8)


def columns(bids):
    """Return gains and GPUs."""
    return np.array([gain / 100 for gain, _ in bids]), np.array([gpus for _, gpus in bids], dtype=np.int64)


def largest_sum(bids, capacity):
    """Return the largest gain of all subsets that fit, tried one by one."""
    return max(
        sum(gain / 100 for (gain, _), taken in zip(bids, subset, strict=True) if taken)
        for subset in product((False, True), repeat=len(bids))
        if sum(gpus for (_, gpus), taken in zip(bids, subset, strict=True) if taken) <= capacity
    )


@given(BIDS, st.integers(0, 20))
def test_no_other_subset_gains_more(bids, capacity):
    """The answer fits and is as good as the best of all subsets."""
    gains, gpus = columns(bids)
    won = winners(gains, gpus, capacity)
    assert gpus[won].sum() <= capacity
    assert abs(gains[won].sum() - largest_sum(bids, capacity)) < 1e-9


@given(BIDS, st.integers(0, 20))
def test_the_quick_answer_lacks_less_than_one_bidder(bids, capacity):
    """With too many bidders for the exact answer; at worst the one that first did not fit is missed."""
    gains, gpus = columns(bids)
    won = winners(gains, gpus, capacity, max_cells=-1)
    assert gpus[won].sum() <= capacity
    assert gains[won].sum() > largest_sum(bids, capacity) - max(gains, default=1) - 1e-9


def test_among_equals_the_first_win():
    """Results must not depend on how a solver breaks ties."""
    equal = np.ones(3), np.array([2, 2, 2])
    assert winners(*equal, 4).tolist() == winners(*equal, 4, max_cells=-1).tolist() == [True, True, False]


def test_a_large_auction_is_quick_and_fits():
    """Ten thousand bidders for ten thousand GPUs would be 10^8 cells: decided by gain per GPU."""
    rng = np.random.default_rng(0)
    gains, gpus = rng.uniform(0.1, 1, 10_000), rng.integers(1, 33, 10_000)
    won = winners(gains, gpus, 10_000)
    assert 10_000 - 32 < gpus[won].sum() <= 10_000
