"""Exact progress of a job at constant speed, without a step per iteration. All in integer ns."""

import numpy as np

from artist.core.arrays import Ints


def settle(done: int, remaining_ns: int, iteration_ns: int, elapsed_ns: int) -> tuple[int, int]:
    """Advance time: return (iterations done, remaining time of the open one).

    Three iterations of 10 ns, the first with 4 left: after 15 ns two are done and 9 remain.

    >>> settle(0, 4, 10, 15)
    (2, 9)
    """
    if elapsed_ns < remaining_ns:
        return done, remaining_ns - elapsed_ns
    whole, into = divmod(elapsed_ns - remaining_ns, iteration_ns)
    return done + 1 + whole, iteration_ns - into


def carry(remaining_ns: int, old_iteration_ns: int, new_iteration_ns: int) -> int:
    """Keep the share of the open iteration when its speed changes, rounded up.

    >>> carry(4, 10, 25)
    10
    """
    return -(-remaining_ns * new_iteration_ns // old_iteration_ns)


def time_left(remaining_ns: int, iterations_left: int, iteration_ns: int) -> int:
    """Return the time to the end of the job; the open iteration is one of those left."""
    return remaining_ns + (iterations_left - 1) * iteration_ns


def since_settled(remaining_ns: Ints, iteration_ns: Ints, elapsed_ns: Ints) -> tuple[Ints, Ints]:
    """Vectorised `settle`: return (further iterations, time spent on the open one), each (n,).

    `iteration_ns` is at least 1. Nothing was spent on an iteration not yet begun.
    """
    whole, spent = np.divmod(elapsed_ns - remaining_ns, iteration_ns)
    return whole + (remaining_ns > 0), spent
