"""Machines onto which jobs are packed, sorted from the least free."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from copy import copy

from artist.core.buckets import ALL
from artist.core.cluster import Cluster, Machine, Slice
from artist.core.free import Free
from artist.policies.synergy.needs import Need

Where = Sequence[tuple[int, int]]  # (machine, GPUs), sorted
Amounts = tuple[int, int]  # CPUs and bytes of memory
Level = Callable[[Need, int, Machine], Amounts]  # of a need with some of its GPUs on a machine
Key = tuple[int, int, int, int]


class Room:
    """Free resources, and the jobs that are packed, by machine.

    Least free is the machine with the fewest GPUs, then CPUs, then memory, then the one that the job holds
    now, then the lowest number.

    Attributes
    ----------
    gpus, cpus, memory_bytes
        Free, by machine.
    slices
        Slices by job.
    floors
        Lower bounds of jobs on several machines, by job.
    needs_on
        Needs by machine, in the order of packing.
    refused
        Needs that fit nowhere, for a mechanism that never makes room.
    """

    def __init__(self, free: Free) -> None:
        self.gpus = free.gpus.tolist()
        self.cpus = free.cpus.tolist()
        self.memory_bytes = free.memory_bytes.tolist()
        self.slices: dict[int, tuple[Slice, ...]] = {}
        self.floors: dict[int, tuple[Slice, ...]] = {}
        self.needs_on: list[list[Need]] = [[] for _ in self.gpus]
        self.refused: set[tuple[int, ...]] = set()
        self._types = _types(free.cluster)
        self._order = sorted(map(self.key, range(len(self.gpus))))

    def copy(self) -> "Room":
        """Return an independent copy."""
        twin = copy(self)
        twin.gpus, twin.cpus, twin.memory_bytes = self.gpus[:], self.cpus[:], self.memory_bytes[:]
        twin.slices, twin.refused, twin._order = dict(self.slices), set(self.refused), self._order[:]
        twin.floors = dict(self.floors)
        twin.needs_on = [needs[:] for needs in self.needs_on]
        return twin

    def machine(self, m: int) -> Machine:
        """Return the facts of a machine that matter; identical machines share one object."""
        return self._types[m]

    def max_gpus(self, among: int = ALL) -> int:
        """Return the free GPUs of the emptiest of some machines."""
        if among == ALL:
            return self._order[-1][0]
        return max((gpus for m, gpus in enumerate(self.gpus) if among >> m & 1), default=0)

    def largest_machine(self, among: int = ALL) -> int:
        """Return the GPUs of the largest of some machines, free or not."""
        return max((t.gpus for m, t in enumerate(self._types) if among >> m & 1), default=0)

    def holds(self, slices: Iterable[Slice]) -> bool:
        """Return whether CPUs and memory of slices are free."""
        return all(
            s.cpus <= self.cpus[s.machine] and s.memory_bytes <= self.memory_bytes[s.machine] for s in slices
        )

    def tightest(self, need: Need, level: Level, held: int | None) -> int | None:
        """Return the least free machine that holds a whole need, or None.

        Parameters
        ----------
        held
            A machine preferred to others that are as free.
        """
        order, cpus_of, memory_of, types = self._order, self.cpus, self.memory_bytes, self._types
        gpus, among = need.gpus, need.among
        machine: Machine | None = None
        cpus = memory = 0
        for entry in order[bisect_left(order, (gpus,)) :]:
            m = entry[3]
            if types[m] is not machine:
                machine = types[m]
                cpus, memory = level(need, gpus, machine)
            if cpus_of[m] >= cpus and memory_of[m] >= memory and (among == ALL or among >> m & 1):
                if held is not None and held != m and self.as_good(held, entry, need):
                    return held
                return m
        return None

    def fewest(self, need: Need, level: Level) -> Where | None:
        """Return GPUs on as few machines as possible for a level; None if it does not fit.

        Machines that can take the most GPUs come first, of equals the least free; the last is the least free
        that can take the rest.
        """
        able = []
        for entry in self._order:
            gpus = self._takes(need, level, entry[3])
            if gpus:
                able.append((-gpus, entry))
        able.sort()
        rest, taken = need.gpus, []
        while able:
            if -able[0][0] >= rest:
                last = min(entry for gpus, entry in able if -gpus >= rest)
                taken.append((last[3], rest))
                return sorted(taken)
            gpus, entry = able.pop(0)
            taken.append((entry[3], -gpus))
            rest += gpus
        return None

    def take(self, need: Need, slices: tuple[Slice, ...]) -> None:
        """Allocate slices to a job."""
        self.slices[need.job] = slices
        for s in slices:
            self._change(s.machine, -s.gpus, -s.cpus, -s.memory_bytes)
            self.needs_on[s.machine].append(need)

    def retune(self, need: Need, slices: tuple[Slice, ...]) -> None:
        """Allocate other CPUs and memory to a job with the GPUs that it has."""
        for before, after in zip(self.slices[need.job], slices, strict=True):
            cpus, memory = before.cpus - after.cpus, before.memory_bytes - after.memory_bytes
            self._change(before.machine, 0, cpus, memory)
        self.slices[need.job] = slices

    def _takes(self, need: Need, level: Level, m: int) -> int:
        """Return the number of its GPUs that a machine can take at a level."""
        if need.among != ALL and not need.among >> m & 1:
            return 0
        unit = need.demand.unit
        for gpus in range(min(need.gpus, self.gpus[m] // unit * unit), 0, -unit):
            cpus, memory = level(need, gpus, self._types[m])
            if self.cpus[m] >= cpus and self.memory_bytes[m] >= memory:
                return gpus
        return 0

    def as_good(self, held: int, entry: Key, need: Need) -> bool:
        """Return whether a machine is as free as another that fits."""
        if self.key(held)[:3] != entry[:3]:
            return False
        same_type = self._types[held] is self._types[entry[3]]
        return same_type and (need.among == ALL or bool(need.among >> held & 1))

    def _change(self, m: int, gpus: int, cpus: int, memory_bytes: int) -> None:
        order = self._order
        del order[bisect_left(order, self.key(m))]
        self.gpus[m] += gpus
        self.cpus[m] += cpus
        self.memory_bytes[m] += memory_bytes
        insort(order, self.key(m))

    def key(self, m: int) -> Key:
        """Return the key of a machine in the order from the least free, its number last."""
        return self.gpus[m], self.cpus[m], self.memory_bytes[m], m


def slices_of(need: Need, where: Iterable[tuple[int, int]], level: Level, room: Room) -> tuple[Slice, ...]:
    """Return the slices of a need on some GPUs at a level."""
    return tuple([Slice(m, gpus, *level(need, gpus, room.machine(m))) for m, gpus in where])


def _types(cluster: Cluster) -> list[Machine]:
    """Return the first machine of the same hardware and size, by machine."""
    first: dict[tuple[object, ...], Machine] = {}
    return [first.setdefault((m.gpus, m.cpus, m.memory_bytes, m.hardware), m) for m in cluster.machines]
