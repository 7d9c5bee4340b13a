"""Placement of CPU-only jobs on free CPUs and memory, for policies and for the check before a run."""

from collections.abc import Mapping

import numpy as np

from artist.core.arrays import Ints
from artist.core.cluster import Allocation, Slice
from artist.core.job import Demand


def find_cpus(cpus: Ints, memory: Ints, demand: Demand) -> Allocation | None:
    """Return the machine with the most free CPUs if all fits there, else as few machines as possible.

    Memory is taken in proportion to the CPUs, or as it fits. None if the job does not fit.

    Parameters
    ----------
    cpus, memory : ndarray, shape (n_machines,)
        Free CPUs, and free bytes of memory.
    """
    room = np.where(memory >= demand.memory_bytes, cpus, -1)
    machine = int(room.argmax())
    if room[machine] >= demand.cpus:
        return Allocation((Slice(machine, 0, demand.cpus, demand.memory_bytes),))
    max_machines = min(demand.max_machines or demand.cpus, demand.cpus, len(cpus))  # at least 1 CPU on each
    if max_machines == 1:
        return None
    taken = _fewest_by_cpus(cpus, demand.cpus, max_machines)
    if taken is None:
        return None
    shares = {m: demand.memory_bytes * count // demand.cpus for m, count in taken.items()}
    shares[max(taken)] += demand.memory_bytes - sum(shares.values())
    if any(memory[m] < share for m, share in shares.items()):
        if sum(int(memory[m]) for m in taken) < demand.memory_bytes:
            both = _fewest(cpus, memory, demand, max_machines)
            if both is None:
                return None
            taken = both
        shares = _split({m: int(memory[m]) for m in taken}, demand.memory_bytes)
    return Allocation(tuple(Slice(m, 0, taken[m], shares[m]) for m in sorted(taken)))


def _fewest_by_cpus(cpus: Ints, need: int, max_machines: int) -> dict[int, int] | None:
    """Return CPUs by machine on the fewest machines: the most free CPUs first, the best fit last."""
    order = np.argsort(-cpus, kind="stable")
    count = int(np.cumsum(cpus[order]).searchsorted(need)) + 1  # machines needed
    if count > max_machines:
        return None
    taken = {int(m): int(cpus[m]) for m in order[: count - 1]}
    rest = need - sum(taken.values())
    others = order[count - 1 :]
    enough = others[cpus[others] >= rest]
    taken[int(enough[cpus[enough].argmin()])] = rest
    return taken


def _fewest(cpus: Ints, memory: Ints, demand: Demand, max_machines: int) -> dict[int, int] | None:
    """Return CPUs by machine on few machines that have enough CPUs and memory together.

    The machines with the most CPUs, the most memory, or the most of both as shares of the request: the
    shortest of the three lists.
    """
    has_cpus = np.flatnonzero(cpus)
    cpus, memory = cpus[has_cpus], memory[has_cpus]
    both = cpus / demand.cpus + memory / demand.memory_bytes
    best: Ints | None = None
    for rank in (both, cpus, memory):
        order = np.argsort(-rank, kind="stable")
        enough = (np.cumsum(cpus[order]) >= demand.cpus) & (np.cumsum(memory[order]) >= demand.memory_bytes)
        count = int(enough.argmax()) + 1
        if enough.any() and count <= max_machines and (best is None or count < len(best)):
            best = order[:count]
    if best is None:
        return None
    machines, free = has_cpus[best].tolist(), cpus[best].tolist()
    beyond = {m: count - 1 for m, count in zip(machines, free, strict=True)}  # at least one on each
    return {m: 1 + more for m, more in _split(beyond, demand.cpus - len(machines)).items()}


def _split(room: Mapping[int, int], amount: int) -> dict[int, int]:
    """Divide an amount in proportion to the free amounts, whose sum is enough.

    >>> _split({0: 10, 3: 5}, 14)
    {0: 10, 3: 4}
    """
    total = max(sum(room.values()), 1)
    parts = {m: amount * free // total for m, free in room.items()}
    for m, free in room.items():
        more = min(free - parts[m], amount - sum(parts.values()))
        parts[m] += more
    return parts
