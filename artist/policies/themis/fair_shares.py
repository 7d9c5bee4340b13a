"""Shares of time that minimise the worst finish-time fairness. Pure; for Themis as in Gavel.

Job i has stayed e_i, needs c_i more if it runs all the time, and takes s_i from arrival to finish in its
isolated share. With a share x_i of the time, on all of its g_i GPUs of G,

    rho_i = (e_i + c_i / x_i) / s_i,    0 <= x_i <= 1,    sum of g_i x_i <= G.

A worst case of R needs x_i >= a_i(R) = c_i / (R s_i - e_i). For each R that is a linear program, which is
feasible if no a_i exceeds 1 and the sum of the g_i a_i does not exceed G. With GPUs of one type this can be
checked without solving it, so the smallest R is either the largest (e_i + c_i) / s_i, if that leaves room for
all jobs, or the R at which the sum is G, found by bisection.

In the first case the other jobs may have more than their a_i, and how the rest is split does not affect the
worst. A simplex solver would return any corner; an interior-point solver (ECOS, in Gavel and in the program
of Muri's authors) ends in the middle, where the product of the distances to all bounds is largest. With 1 / x
as the second-order cone that cvxpy makes of it, the middle is the maximum of

    sum of 2 log(x_i - a_i) + log(1 - x_i)    plus    log(G - sum of g_i x_i).

Source: Narayanan et al., Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads (Gavel),
OSDI 2020, section 4 (finish-time fairness).
"""

from collections.abc import Callable

import numpy as np

from artist.core.arrays import Floats

_LARGEST_PRICE = 2.0**60


def fair_shares(stayed: Floats, needed: Floats, isolated: Floats, gpus: Floats, capacity: float) -> Floats:
    """Return each job's share of the time, shape (n,), between 0 and 1.

    Parameters
    ----------
    stayed
        Time since arrival, e_i, shape (n,).
    needed
        Rest of the work if the job runs all the time, c_i > 0, in the same unit, shape (n,).
    isolated
        Time from arrival to finish in the isolated share, s_i > 0, shape (n,).
    gpus
        GPUs taken while running, g_i > 0, shape (n,).
    capacity
        GPUs in the cluster, G > 0.

    Raises
    ------
    ValueError
        If a number is not finite or out of its range: then no finite rho would exist.

    Examples
    --------
    Two jobs for one GPU, both twice as fast alone as in their half of it; then the first alone:

    >>> two = np.array([100.0, 10])
    >>> fair_shares(np.zeros(2), two, 2 * two, np.ones(2), 1).round(6).tolist()
    [0.5, 0.5]
    >>> fair_shares(np.zeros(1), two[:1], two[:1], np.ones(1), 1).tolist()
    [1.0]
    """
    given = np.array([stayed, needed, isolated, gpus])
    if not (np.isfinite(given).all() and given[0].min() >= 0 and given[1:].min() > 0 and capacity > 0):
        values = f"found {stayed=}, {needed=}, {isolated=}, {gpus=}, {capacity=}"
        raise ValueError(f"all numbers must be finite, times stayed at least 0, the others above 0; {values}")
    worst = smallest_worst(stayed, needed, isolated, gpus, capacity)
    return _middle(np.minimum(1.0, needed / (worst * isolated - stayed)), gpus, capacity)


def smallest_worst(stayed: Floats, needed: Floats, isolated: Floats, gpus: Floats, capacity: float) -> float:
    """Return the smallest possible worst rho; parameters as those of `fair_shares`."""

    def fits(rho: float) -> bool:
        return float((gpus * (needed / (rho * isolated - stayed))).sum()) <= capacity

    low = high = float(((stayed + needed) / isolated).max())
    while not fits(high):
        low, high = high, 2 * high
    return _bisect(fits, low, high)


def _middle(least: Floats, gpus: Floats, capacity: float) -> Floats:
    """Return the middle between the least shares, 1 and the capacity, shape (n,).

    There 2 / (x - a) = 1 / (1 - x) + price x g for each job, and the price is 1 / (GPUs left).
    """
    room = 1 - least

    def shares(price: float) -> Floats:
        k = price * gpus * room
        return least + room * 4 / ((3 + k) + np.sqrt((3 + k) ** 2 - 8 * k))

    def dear_enough(price: float) -> bool:
        return price * (capacity - float((gpus * shares(price)).sum())) >= 1

    low, high = 0.0, 1.0
    while not dear_enough(high) and high < _LARGEST_PRICE:
        low, high = high, 2 * high
    return shares(_bisect(dear_enough, low, high))


def _bisect(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the smallest float in (low, high] from which on a property holds, as it does at `high`."""
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
