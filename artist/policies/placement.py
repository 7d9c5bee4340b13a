"""Placement choosers: which GPUs a job gets. Shared by the policies.

A chooser looks at a scratch copy of what is free and returns an allocation, or None if the job should
wait. CPUs and memory go along in proportion to the GPUs, as far as they are free. A job gets GPUs of
one type unless it allows a mix.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from math import ceil
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from artist.core.cluster import Allocation, Cluster, Slice
from artist.core.free import Free
from artist.core.job import Demand
from artist.randomness import child_generator

Ints = npt.NDArray[np.int64]
_TOO_MANY = np.iinfo(np.int64).max

PlacementName = Literal[
    "first_fit", "best_fit", "consolidate_machine", "consolidate_rack", "consolidate", "random"
]


class Chooser(Protocol):
    """Chooses GPUs for a job."""

    def choose(self, free: Free, demand: Demand) -> Allocation | None:
        """Return an allocation that fits, or None to wait; `free` is left as it is."""


class _Chooser(ABC):
    """Common part: candidate machines by GPU type, CPU-only jobs, CPUs and memory."""

    def choose(self, free: Free, demand: Demand) -> Allocation | None:
        """Return an allocation that fits, or None to wait; `free` is left as it is."""
        if not demand.gpus:
            return _cpu_only(free, demand)
        asked = gpus_to_place(free, demand)
        if demand.least_gpus > free.total_gpus:
            return None
        if free.cluster.same_kind and not demand.gpu_types:
            return self._on(free, free.gpus, free.sizes, asked, demand)
        for usable, speed in _by_type(free.cluster, demand):
            need = ceil(asked / speed - 1e-9) if demand.fungible else asked
            gpus, sizes = np.where(usable, free.gpus, 0), np.where(usable, free.sizes, 0)
            allocation = self._on(free, gpus, sizes, need, demand)
            if allocation is not None:
                return allocation
        return None

    def _on(self, free: Free, gpus: Ints, sizes: Ints, need: int, demand: Demand) -> Allocation | None:
        taken = self._machines(free.cluster, gpus, sizes, need)
        if taken is not None and demand.max_machines and len(taken) > demand.max_machines:
            taken = _fewest(gpus, np.arange(len(gpus)), need)
            if taken is not None and len(taken) > demand.max_machines:
                return None
        return None if taken is None else with_share(free, taken)

    @abstractmethod
    def _machines(self, cluster: Cluster, gpus: Ints, sizes: Ints, need: int) -> dict[int, int] | None:
        """Return GPUs by machine; `gpus` are free now, `sizes` if nobody were there, shape (n_machines,)."""


class FirstFit(_Chooser):
    """The first machine that fits, else GPUs of the machines in order."""

    def _machines(self, cluster: Cluster, gpus: Ints, sizes: Ints, need: int) -> dict[int, int] | None:
        first = int((gpus >= need).argmax())
        if gpus[first] >= need:
            return {first: need}
        return _fill(gpus, np.flatnonzero(gpus).tolist(), need)


class BestFit(_Chooser):
    """The machine that is left with the fewest GPUs, else the emptiest machines, wherever they are."""

    def _machines(self, cluster: Cluster, gpus: Ints, sizes: Ints, need: int) -> dict[int, int] | None:
        machine = _tightest(gpus, need)
        if machine is not None:
            return {machine: need}
        return _fewest(gpus, np.arange(len(gpus)), need)


class Consolidate(_Chooser):
    """The fewest machines, near to each other; waits rather than spread beyond `widest`.

    - machine: as few machines as the demand can do with at all, wherever they are;
    - rack: else the fewest machines of one rack (a demand larger than any rack: the fewest racks);
    - network: else the fewest racks, then the fewest machines.
    """

    def __init__(self, widest: Literal["machine", "rack", "network"] = "network") -> None:
        self._widest = widest

    def _machines(self, cluster: Cluster, gpus: Ints, sizes: Ints, need: int) -> dict[int, int] | None:
        machine = _tightest(gpus, need)
        if machine is not None:
            return {machine: need}
        if int(gpus.sum()) < need:
            return None
        if self._widest == "machine":
            least = _least_machines(sizes, need)
            if least < 2:
                return None
            near = self._in_rack(cluster, gpus, need) or self._over_racks(cluster, gpus, need)
            taken = near if near and len(near) <= least else _fewest(gpus, np.arange(len(gpus)), need)
            return taken if taken and len(taken) <= least else None
        taken = self._in_rack(cluster, gpus, need)
        if taken is None and (
            self._widest == "network" or need > int(np.bincount(cluster.rack, sizes).max())
        ):
            taken = self._over_racks(cluster, gpus, need)
        return taken

    @staticmethod
    def _in_rack(cluster: Cluster, gpus: Ints, need: int) -> dict[int, int] | None:
        """Return the fewest machines of one rack; among equals the rack with the fewest free GPUs."""
        in_rack = np.bincount(cluster.rack, gpus, cluster.n_racks)
        able = np.flatnonzero(in_rack >= need)
        least = -(-need // max(int(gpus.max()), 1))
        chosen: dict[int, int] | None = None
        for rack in able[np.argsort(in_rack[able], kind="stable")].tolist():
            taken = _fewest(gpus, cluster.machines_of[rack], need)
            if taken is not None and (chosen is None or len(taken) < len(chosen)):
                chosen = taken
                if len(chosen) == least:
                    break
        return chosen

    @staticmethod
    def _over_racks(cluster: Cluster, gpus: Ints, need: int) -> dict[int, int] | None:
        """Return GPUs of the fewest racks: the emptiest ones first, the tightest that fits last."""
        in_rack = np.bincount(cluster.rack, gpus, cluster.n_racks).astype(np.int64)
        taken: dict[int, int] = {}
        while need:
            rack = _tightest(in_rack, need)
            if rack is None:
                rack = int(in_rack.argmax())
            here = min(need, int(in_rack[rack]))
            if not here:
                return None
            taken.update(_fewest(gpus, cluster.machines_of[rack], here) or {})
            in_rack[rack] = 0
            need -= here
        return taken


class Random(_Chooser):
    """A random machine that fits, else GPUs of machines in random order."""

    def __init__(self, seed: int) -> None:
        self._rng = child_generator(seed, "placement")

    def _machines(self, cluster: Cluster, gpus: Ints, sizes: Ints, need: int) -> dict[int, int] | None:
        fits = np.flatnonzero(gpus >= need)
        if len(fits):
            return {int(self._rng.choice(fits)): need}
        return _fill(gpus, self._rng.permutation(np.flatnonzero(gpus)).tolist(), need)


_CHOOSERS: Mapping[PlacementName, Callable[[int], Chooser]] = {
    "first_fit": lambda seed: FirstFit(),
    "best_fit": lambda seed: BestFit(),
    "consolidate_machine": lambda seed: Consolidate("machine"),
    "consolidate_rack": lambda seed: Consolidate("rack"),
    "consolidate": lambda seed: Consolidate("network"),
    "random": Random,
}


def chooser(name: PlacementName, seed: int = 0) -> Chooser:
    """Return a chooser by name; `seed` matters to the random one only."""
    return _CHOOSERS[name](seed)


class Packing:
    """Places job after job on what is free, and remembers what was refused.

    What is free only shrinks between calls of `place`, so a refused demand stays refused.
    """

    def __init__(self, free: Free) -> None:
        self.free = free
        self._refused: set[tuple[Demand, int]] = set()

    def place(self, demand: Demand, choose: Chooser) -> Allocation | None:
        """Take what the chooser says, or return None if it refuses."""
        key = (demand, id(choose))
        if key in self._refused:
            return None
        allocation = choose.choose(self.free, demand)
        if allocation is None:
            self._refused.add(key)
        else:
            self.free.take(allocation)
        return allocation


def with_share(free: Free, gpus: Mapping[int, int]) -> Allocation:
    """Return an allocation of GPUs by machine, with CPUs and memory in proportion, as far as free."""
    slices = []
    for m in sorted(gpus):
        cpus, memory = free.cluster.machines[m].share(gpus[m])
        if cpus or memory:
            cpus, memory = min(cpus, int(free.cpus[m])), min(memory, int(free.memory_bytes[m]))
        slices.append(Slice(m, gpus[m], cpus, memory))
    return Allocation(tuple(slices))


def gpus_to_place(free: Free, demand: Demand) -> int:
    """Return the GPUs of speed 1 to place: what is asked, or less for an elastic job where it never fits."""
    if not demand.elastic:
        return demand.gpus
    most = 0.0
    for usable, speed in _by_type(free.cluster, demand):
        sizes = np.sort(free.sizes[usable])[::-1][: demand.max_machines or None]
        most = max(most, float(sizes.sum()) * (speed if demand.fungible else 1.0))
    return max((t for t in demand.targets() if t <= min(demand.gpus, most + 1e-9)), default=demand.gpus)


def _cpu_only(free: Free, demand: Demand) -> Allocation | None:
    """Return the machines with the most free CPUs: one if all fits there, else as few as can be."""
    room = np.where(free.memory_bytes >= demand.memory_bytes, free.cpus, -1)
    machine = int(room.argmax())
    if room[machine] >= demand.cpus:
        return Allocation((Slice(machine, 0, demand.cpus, demand.memory_bytes),))
    taken = _fewest(free.cpus, np.arange(len(free.cpus)), demand.cpus)
    if taken is None or (demand.max_machines and len(taken) > demand.max_machines):
        return None
    shares = {m: demand.memory_bytes * cpus // demand.cpus for m, cpus in taken.items()}
    shares[max(taken)] += demand.memory_bytes - sum(shares.values())
    if any(free.memory_bytes[m] < memory for m, memory in shares.items()):
        return None
    return Allocation(tuple(Slice(m, 0, taken[m], shares[m]) for m in sorted(taken)))


def _by_type(cluster: Cluster, demand: Demand) -> Iterable[tuple[npt.NDArray[np.bool_], float]]:
    """Yield machines that may serve a demand together, with the speed to count on: type by type."""
    wanted = [kind for kind in demand.gpu_types or cluster.of_type if kind in cluster.of_type]
    for kind in wanted:
        yield cluster.of_type[kind], cluster.speed_of[kind]
    if demand.mixed_types and not demand.fungible and wanted:
        usable = np.any([cluster.of_type[kind] for kind in wanted], axis=0)
        yield usable, min(cluster.speed_of[kind] for kind in wanted)


def _tightest(gpus: Ints, need: int) -> int | None:
    """Return the entry with the fewest GPUs that still fits, None if none does."""
    left = np.where(gpus >= need, gpus, _TOO_MANY)
    best = int(left.argmin())
    return best if left[best] != _TOO_MANY else None


def _fill(gpus: Ints, order: Iterable[int], need: int) -> dict[int, int] | None:
    """Take GPUs machine by machine in the given order."""
    taken: dict[int, int] = {}
    for m in order:
        taken[m] = min(need, int(gpus[m]))
        need -= taken[m]
        if not need:
            return taken
    return None


def _fewest(gpus: Ints, among: Ints, need: int) -> dict[int, int] | None:
    """Take the fewest machines: the emptiest first, the tightest that fits last."""
    order = among[np.argsort(-gpus[among], kind="stable")]
    total = np.cumsum(gpus[order])
    count = int(total.searchsorted(need)) + 1  # machines needed
    if count > len(order):
        return None
    taken = {int(m): int(gpus[m]) for m in order[: count - 1]}
    rest = need - sum(taken.values())
    others = order[count - 1 :]
    last = _tightest(gpus[others], rest)
    assert last is not None
    taken[int(others[last])] = rest
    return taken


def _least_machines(sizes: Ints, need: int) -> int:
    """Return how many machines a demand takes in an empty cluster; one too many if it never fits."""
    return int(np.cumsum(np.sort(sizes)[::-1]).searchsorted(need)) + 1
