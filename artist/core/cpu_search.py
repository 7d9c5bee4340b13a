"""Where a job without GPUs may run, given what is free: used by policies and before a run starts."""

from collections.abc import Mapping

import numpy as np

from artist.core.arrays import Ints
from artist.core.cluster import Allocation, Slice
from artist.core.job import Demand


def find_cpus(cpus: Ints, memory: Ints, demand: Demand) -> Allocation | None:
    """Return the machine with the most free CPUs if all fits there, else as few machines as possible.

    Memory is taken in proportion to the CPUs, or as it fits. None if no machines are found.

    Parameters
    ----------
    cpus, memory : ndarray, shape (n_machines,)
        Free CPUs, and free bytes of memory.
    """
    room = np.where(memory >= demand.memory_bytes, cpus, -1)
    machine = int(room.argmax())
    if room[machine] >= demand.cpus:
        return Allocation((Slice(machine, 0, demand.cpus, demand.memory_bytes),))
    most = min(demand.max_machines or demand.cpus, demand.cpus, len(cpus))  # each gives a CPU at least
    if most == 1:
        return None
    taken = _fewest_by_cpus(cpus, demand.cpus, most)
    if taken is None:
        return None
    shares = {m: demand.memory_bytes * count // demand.cpus for m, count in taken.items()}
    shares[max(taken)] += demand.memory_bytes - sum(shares.values())
    if any(memory[m] < share for m, share in shares.items()):
        if sum(int(memory[m]) for m in taken) < demand.memory_bytes:
            found = _fewest(cpus, memory, demand, most)
            if found is None:
                return None
            taken = found
        shares = _split({m: int(memory[m]) for m in taken}, demand.memory_bytes)
    return Allocation(tuple(Slice(m, 0, taken[m], shares[m]) for m in sorted(taken)))


def _fewest_by_cpus(cpus: Ints, need: int, most: int) -> dict[int, int] | None:
    """Return CPUs by machine on the fewest: the most free CPUs first, the tightest that fits last."""
    order = np.argsort(-cpus, kind="stable")
    count = int(np.cumsum(cpus[order]).searchsorted(need)) + 1  # machines needed
    if count > most:
        return None
    taken = {int(m): int(cpus[m]) for m in order[: count - 1]}
    rest = need - sum(taken.values())
    others = order[count - 1 :]
    enough = others[cpus[others] >= rest]
    taken[int(enough[cpus[enough].argmin()])] = rest
    return taken


def _fewest(cpus: Ints, memory: Ints, demand: Demand, most: int) -> dict[int, int] | None:
    """Return CPUs by machine on few machines that have enough CPUs and memory together.

    Those with the most of one, of the other, or of both as shares of the request: whichever are fewest.
    """
    has_cpus = np.flatnonzero(cpus)
    cpus, memory = cpus[has_cpus], memory[has_cpus]
    both = cpus / demand.cpus + memory / demand.memory_bytes
    best: Ints | None = None
    for rank in (both, cpus, memory):
        order = np.argsort(-rank, kind="stable")
        enough = (np.cumsum(cpus[order]) >= demand.cpus) & (np.cumsum(memory[order]) >= demand.memory_bytes)
        count = int(enough.argmax()) + 1
        if enough.any() and count <= most and (best is None or count < len(best)):
            best = order[:count]
    if best is None:
        return None
    machines, free = has_cpus[best].tolist(), cpus[best].tolist()
    beyond = {m: count - 1 for m, count in zip(machines, free, strict=True)}  # each gives one at least
    return {m: 1 + more for m, more in _split(beyond, demand.cpus - len(machines)).items()}


def _split(room: Mapping[int, int], amount: int) -> dict[int, int]:
    """Divide an amount in proportion to the room that there is, which is enough.

    >>> _split({0: 10, 3: 5}, 14)
    {0: 10, 3: 4}
    """
    total = max(sum(room.values()), 1)
    parts = {m: amount * each // total for m, each in room.items()}
    for m, each in room.items():
        more = min(each - parts[m], amount - sum(parts.values()))
        parts[m] += more
    return parts
