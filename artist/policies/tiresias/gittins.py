"""The Gittins index of jobs whose service follows a known distribution. Pure; for Tiresias."""

import numpy as np

from artist.core.arrays import Floats


def gittins_index(attained: Floats, services: Floats, quantum: float) -> Floats:
    """Return the index of jobs by attained service, shape (n,); larger should run first.

    With S the total service, the index at attained service a over a quantum q is

        P(a < S <= a + q | S > a) / E[min(S - a, q) | S > a]

    (Gu et al., Tiresias, NSDI 2019, section 3.1, with the distribution given by a sample).

    Parameters
    ----------
    attained
        Attained service, shape (n,).
    services
        Sample of total services, shape (m,), sorted.
    quantum
        Service that a job gets before it is ranked again, > 0.

    Notes
    -----
    A job that has outlived the whole sample has index 0: it runs last.
    """
    sample = services
    sums = np.concatenate(([0.0], np.cumsum(sample)))
    alive_from = np.searchsorted(sample, attained, side="right")
    done_from = np.searchsorted(sample, attained + quantum, side="right")
    alive = len(sample) - alive_from
    ends = done_from - alive_from
    spent = (sums[done_from] - sums[alive_from]) - ends * attained + (alive - ends) * quantum
    index: Floats = np.divide(ends, spent, out=np.zeros(len(attained)), where=spent > 0)
    return index
