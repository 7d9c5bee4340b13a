"""Jobs packed on the same GPUs, each at its own rate: they fill each other's idle time. Pure formulas.

A job that runs alone keeps its GPUs busy for a share u of its iteration; while it communicates or stalls they
are idle. Packed, jobs run as if alone as long as their shares sum to no more than 1. Beyond that the GPUs are
always busy and all jobs are slowed down by the sum: nothing is lost, and only idle time is gained. The same
holds for each other resource that jobs use for a part of their iterations, such as storage.
"""

from collections.abc import Iterable
from math import fsum


def busy_share(compute_ns: int, alone_ns: int, gpu_utilization: float) -> float:
    """Return the share u of its iteration alone in which a job keeps its GPUs busy.

    Half of the iteration is compute, which keeps the GPUs busy for 80 % of it:

    >>> busy_share(1000, 2000, 0.8)
    0.4
    """
    return compute_ns * gpu_utilization / alone_ns


def slowdown(busy: Iterable[float], gpus: int = 1) -> float:
    """Return the slowdown of the iterations of packed jobs, at least 1.

    Parameters
    ----------
    busy
        GPUs that each job would keep busy alone: its share u times the GPUs that it holds.
    gpus
        GPUs that they share.

    Examples
    --------
    >>> slowdown([0.4, 0.5]), slowdown([0.75, 0.75]), slowdown([2, 1, 1], gpus=2)
    (1.0, 1.5, 2.0)
    """
    return max(1.0, fsum(busy) / gpus)  # exact, so independent of the order
