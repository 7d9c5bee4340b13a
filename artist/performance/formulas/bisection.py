"""Bisection: the CPU counts to measure for a throughput curve (Synergy, section 3.1). Pure."""

from collections.abc import Callable, Iterable


def bisected(
    throughput: Callable[[int], float], most: int, threshold: float, also: Iterable[int] = ()
) -> dict[int, float]:
    """Return throughput by CPUs, in the order of measuring: the most, then by bisection, then some others.

    If the CPUs beyond a point bring less than the threshold, the search continues below that point, else
    above it: it ends at the knee.

    Parameters
    ----------
    throughput
        Measured throughput by number of CPUs.
    most
        CPUs to begin with, at least 1.
    threshold
        Least gain, as a share, that makes CPUs worth a closer look.
    also
        More CPUs to measure.

    Examples
    --------
    A curve that is flat from 9 CPUs on: the 8 points of Fig. 5b.

    >>> list(bisected(lambda cpus: min(cpus, 9), 24, 0.1, also=(1, 3)))
    [24, 12, 6, 9, 7, 8, 1, 3]
    """
    low, high = 1, most
    known = {most: throughput(most)}
    while high - low > 1:
        middle = (low + high) // 2
        known[middle] = throughput(middle)
        if known[high] / known[middle] - 1 < threshold:
            high = middle
        else:
            low = middle
    for cpus in also:
        if cpus not in known:
            known[cpus] = throughput(cpus)
    return known
