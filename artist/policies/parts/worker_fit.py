"""Best fit, worker by worker: the machine in use that fits it best, else an empty one.

Source: Lyra, section 5.3 (best-fit decreasing; the policy determines the order of the jobs).
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from artist.core.buckets import first_of


def largest_of(sizes: Sequence[int], usable: int) -> int:
    """Return the GPUs of the largest of some machines, 0 if there is none.

    Parameters
    ----------
    sizes
        As `artist.core.cluster.Cluster.size_sets`.
    """
    return next((size for size in range(len(sizes) - 1, 0, -1) if sizes[size] & usable), 0)


def fit_workers(
    sets: list[int], sizes: Sequence[int], usable: int, need: int, worker: int, unit: int = 1
) -> tuple[dict[int, int], int]:
    """Place workers one by one; return their GPUs by machine, and the GPUs that do not fit.

    The last worker may be smaller than the others, and none is larger than the largest machine. Once one
    does not fit, no other is tried.

    Parameters
    ----------
    sets
        Machines by free GPUs, as `artist.core.buckets.Buckets.sets`; changed to those left.
    sizes
        Machines by GPUs, free or not, as `artist.core.cluster.Cluster.size_sets`.
    usable
        The machines that may serve.
    need, worker
        GPUs in all, and of a worker.
    unit
        GPUs of which a worker, and `need`, are a multiple.
    """
    taken: dict[int, int] = {}
    largest = largest_of(sizes, usable & reduce(or_, sets))
    worker = min(max(worker, unit), largest // unit * unit)
    while need and worker:
        size = min(worker, need)
        best = _best(sets, sizes, usable, size)
        if best is None:
            break
        machine, free = best
        gpus = min(free - free % size, need - need % size)  # the next worker fits nowhere better
        sets[free] ^= 1 << machine
        sets[free - gpus] |= 1 << machine
        taken[machine] = taken.get(machine, 0) + gpus
        need -= gpus
    return taken, need


def _best(sets: Sequence[int], sizes: Sequence[int], usable: int, size: int) -> tuple[int, int] | None:
    """Return the machine in use with the fewest free GPUs that suffice, else such an empty one."""
    empty: tuple[int, int] | None = None
    for free in range(size, len(sets)):
        there = sets[free] & usable
        if there:
            in_use = there & ~sizes[free]
            if in_use:
                return first_of(in_use), free
            empty = empty or (first_of(there), free)
    return empty
