"""Assignments by kinds, against scipy's of single jobs."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from artist.policies.parts.assignment import assigned


def test_a_way_through_others_is_found():
    """If 0 and 1 take what suits them best, 9 and 8, 2 is left with 0: 17 in all. Best is 9 + 7 + 6."""
    weights = [[9, 0, 0], [0, 7, 8], [0, 0, 6]]
    assert assigned([1, 1, 1], weights) == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_many_go_one_way_at_once():
    """Four and six jobs: all four with the others weigh 4 x 5 x 2, the two others of the six 2 x 1."""
    assert assigned([4, 6], [[0, 5], [5, 1]]) == [[0, 4], [4, 2]]


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=7), st.integers(0, 2**32), st.sampled_from([2, 99]))
def test_it_weighs_as_much_as_that_of_single_jobs(counts, seed, largest):
    """Each job is assigned to one job and one to it, as heavily as scipy does it; with ties where up to 2."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(-largest, largest + 1, (len(counts),) * 2)
    times = np.array(assigned(counts, weights.tolist()))
    assert times.min() >= 0
    assert times.sum(axis=0).tolist() == times.sum(axis=1).tolist() == counts
    single = np.repeat(np.repeat(weights, counts, axis=0), counts, axis=1)
    rows, columns = linear_sum_assignment(single, maximize=True)
    assert (times * weights).sum() == single[rows, columns].sum()
