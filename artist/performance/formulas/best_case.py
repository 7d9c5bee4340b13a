"""The least CPUs and memory with which a job reaches its highest speed. Pure.

The least CPUs with which, given all memory, an iteration takes at most 1 % longer than with all CPUs; then
the least memory with which, given these CPUs, it takes at most 1 % longer than with all memory. If the
proportional share is as good as that, no longer than with the share, in either step. So a job that holds the
lesser of best case and share, in each of CPUs and memory, is as fast as with its share; if it is not, because
CPUs and memory make up for one another, the best case is at least the share.

Source: Mohan et al., Synergy, OSDI 2022, section 3 (best-case demand), section 6 (a machine's worth at most).
"""

from collections.abc import Callable, Sequence

import numpy as np

from artist.core.arrays import Ints
from artist.core.cluster import Machine
from artist.units import BYTES_PER_GIB

Grid = Callable[[Sequence[int], Sequence[int]], Ints]
MEMORY_POINTS_GIB = (20.0, 62.5, 125.0, 187.5, 250.0)  # per GPU
TOLERANCE = 0.01  # saturated: at most this share slower than the best


def points(
    machine: Machine, gpus: int, memory_points_gib: Sequence[float] = MEMORY_POINTS_GIB
) -> tuple[list[int], list[int]]:
    """Return the CPUs and the bytes of memory to try for a job on some GPUs, ascending.

    Parameters
    ----------
    machine
        A job gets at most the CPUs and memory of as many such machines as its GPUs need.
    memory_points_gib
        Amounts of memory to try, per GPU; CPUs are tried one by one.

    Examples
    --------
    >>> points(Machine("m", 0, "box", gpus=2, cpus=3, memory_bytes=100 << 30), 1)
    ([1, 2, 3], [21474836480, 67108864000, 107374182400])
    """
    machines = -(-gpus // machine.gpus)
    max_cpus, max_bytes = machine.cpus * machines, machine.memory_bytes * machines
    memory = sorted({min(round(point * BYTES_PER_GIB) * gpus, max_bytes) for point in memory_points_gib})
    return list(range(min(max_cpus, 1), max_cpus + 1)), memory


def share_of(machine: Machine, gpus: int) -> tuple[int, int]:
    """Return the CPUs and bytes that go with some GPUs, in proportion, on the fewest of such machines.

    >>> share_of(Machine("m", 0, "box", gpus=2, cpus=3, memory_bytes=100), 3)
    (4, 150)
    """
    cpus, memory = zip(*map(machine.share, machine.fewest(gpus)), strict=True)
    return sum(cpus), sum(memory)


def best_case(
    iteration_ns: Grid, cpus: Sequence[int], memory_bytes: Sequence[int], share: tuple[int, int]
) -> tuple[int, int]:
    """Return the CPUs and the bytes of memory, of those tried, that saturate a job.

    The share of memory is tried, too.

    Parameters
    ----------
    iteration_ns
        Iteration times on a grid of CPUs and memory, shape (n_cpus, n_memory).
    cpus, memory_bytes
        Amounts to try, ascending.
    share
        Of CPUs and memory in proportion to GPUs.

    Examples
    --------
    An iteration needs 2 CPUs, and 3 bytes to be twice as fast as with less:

    >>> times = lambda c, m: np.array([[max(60 // x, 30) * (1 if y >= 3 else 2) for y in m] for x in c])
    >>> best_case(times, [1, 2, 3, 4], [1, 2, 3, 4], share=(1, 1))
    (2, 3)
    """
    share_cpus, share_bytes = share
    memory = sorted({*memory_bytes, share_bytes})
    tried = [*cpus] if share_cpus in cpus else [*cpus, share_cpus]
    by_cpus = iteration_ns(tried, memory[-1:])[:, 0]
    best_cpus = cpus[_first_saturated(by_cpus[: len(cpus)], by_cpus[tried.index(share_cpus)])]
    at_best, at_share = iteration_ns([best_cpus, share_cpus], memory)
    place = memory.index(share_bytes)
    best = _first_saturated(at_best, at_best[place])
    at_least = at_best if best_cpus <= share_cpus else at_share
    if at_least[min(best, place)] > at_share[place]:
        return max(best_cpus, share_cpus), memory[max(best, place)]
    return best_cpus, memory[best]


def _first_saturated(iteration_ns: Ints, at_share_ns: int) -> int:
    """Return the first point at most TOLERANCE slower than the fastest, or than a share that is no slower."""
    best = iteration_ns.min()
    return int(np.argmax(iteration_ns <= min(best * (1 + TOLERANCE), max(best, at_share_ns))))
