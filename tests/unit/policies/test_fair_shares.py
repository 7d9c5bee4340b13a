"""Shares that make the worst finish-time fairness smallest, against solvers and by hand."""

import numpy as np
import pytest
from scipy.optimize import linprog

from artist.policies.themis.fair_shares import fair_shares, smallest_worst


def drawn(seed):
    """Return jobs that have stayed and done some, as arguments of `fair_shares`."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    stayed, needed = rng.exponential(50, n) * rng.integers(0, 2, n), rng.exponential(100, n) + 0.01
    isolated = needed * rng.uniform(0.5, 5, n) + stayed * rng.random(n)
    return stayed, needed, isolated, 2.0 ** rng.integers(0, 4, n), float(rng.integers(1, 64))


def feasible(rho, stayed, needed, isolated, gpus, capacity):
    """Return whether HiGHS finds shares under which every job has at most `rho`."""
    least = np.diag(-(rho * isolated - stayed))
    a, b = np.vstack([least, gpus]), np.append(-needed, capacity)
    return linprog(np.zeros(len(gpus)), a, b, bounds=(0, 1), method="highs").status == 0


@pytest.mark.parametrize("seed", range(20))
def test_the_worst_is_the_smallest_that_a_linear_program_allows(seed):
    """A millionth more is feasible, a millionth less is not; and the shares keep to it."""
    jobs = drawn(seed)
    stayed, needed, isolated, gpus, capacity = jobs
    worst = smallest_worst(*jobs)
    assert feasible(worst * (1 + 1e-6), *jobs)
    assert not feasible(worst * (1 - 1e-6), *jobs)
    shares = fair_shares(*jobs)
    assert ((stayed + needed / shares) / isolated).max() == pytest.approx(worst)
    assert gpus @ shares <= capacity * (1 + 1e-9)
    assert ((shares > 0) & (shares <= 1)).all()


def test_jobs_in_need_share_all_gpus():
    """One GPU. A, that stayed 10 s, has (10 + 10 / x) / 50, b (20 / y) / 60; at the best R, x + y = 1.

    10 / (50 R - 10) + 20 / (60 R) = 1: 15 R^2 - 11 R + 1 = 0, R = (11 + 61^0.5) / 30 = 0.627.
    """
    jobs = np.array([10.0, 0]), np.array([10.0, 20]), np.array([50.0, 60]), np.ones(2), 1.0
    worst = smallest_worst(*jobs)
    assert worst == pytest.approx((11 + 61**0.5) / 30)
    assert fair_shares(*jobs) == pytest.approx([10 / (50 * worst - 10), 20 / (60 * worst)])


def test_the_remainder_is_split_at_equal_finish_time_fairness():
    """Two GPUs. A has (90 + 10 / x) / 10, at least 10; b (0 + 25 / y) / 10 keeps to that with y = 0.25.

    A takes x = 1. Of the other GPU, 2 log(y - 0.25) + log(1 - y) + log(2 - 1 - y) is largest where
    2 / (y - 0.25) = 2 / (1 - y): y = 0.625. The corners that a simplex solver returns are 0.25 and 1.
    """
    shares = fair_shares(np.array([90.0, 0]), np.array([10.0, 25]), np.array([10.0, 10]), np.ones(2), 2)
    assert shares == pytest.approx([1, 0.625])


def test_the_middle_is_the_best_of_those_around_it():
    """The sum of logarithms falls in every direction: 50 steps of a thousandth from the middle of 12 jobs."""
    rng = np.random.default_rng(0)
    stayed, needed = np.zeros(12), np.full(12, 100.0)
    stayed[0], isolated, gpus = 1e4, np.full(12, 300.0), np.full(12, 4.0)
    least = needed / (smallest_worst(stayed, needed, isolated, gpus, 32) * isolated - stayed)
    shares = fair_shares(stayed, needed, isolated, gpus, 32)

    def height(x):
        return (2 * np.log(x - least[1:]) + np.log(1 - x)).sum() + np.log(32 - 4 - 4 * x.sum())

    for _ in range(50):
        assert height(shares[1:]) > height(shares[1:] + 1e-3 * rng.standard_normal(11))
