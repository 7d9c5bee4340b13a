"""Placement of a GPU job, with as many as possible of the CPUs that it is to start with. For Coda.

First with all its CPUs on as few machines as possible, in the sub-array that it prefers, then in the other;
then with one CPU per GPU fewer, and so on, down to one per GPU (or its machine's share, if that is less).
Wider placements come after that. A job whose allocator never changes its CPUs waits for all of them.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

import numpy as np

from artist.core.buckets import ALL
from artist.core.cluster import Allocation, Cluster, Slice
from artist.core.free import Free
from artist.core.job import Demand
from artist.errors import PlanError
from artist.policies.coda.core_allocator import CoreAllocator, GpuJob
from artist.policies.parts.fill import divided
from artist.policies.parts.placement import Chooser
from artist.policies.parts.units import choose_whole

_ROUNDING = 1e-9


class Wish(NamedTuple):
    """Resources that a GPU job is to start with.

    Attributes
    ----------
    cpus
        Acceptable CPUs per GPU, the best first.
    fixed
        Whether it waits for exactly these.
    """

    info: GpuJob
    demand: Demand
    cpus: tuple[float, ...]
    fixed: bool


class Found(NamedTuple):
    """A place for a GPU job, and the CPUs per GPU that it has there."""

    allocation: Allocation
    cpus: float


@dataclass(slots=True)
class GpuPlaces:
    """Placements of GPU jobs."""

    cluster: Cluster
    chooser: Chooser
    allocator: CoreAllocator
    _max_cpus: int = field(init=False)
    _possible: dict[tuple[Demand, float], None] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._max_cpus = int(self.cluster.cpus.max(initial=0))

    def wish(self, info: GpuJob, demand: Demand, cpus: float | None = None) -> Wish:
        """Return the wish of a job: with `cpus` per GPU, by default those of the allocator.

        Raises
        ------
        PlanError
            If the job waits for exactly these CPUs, and has no room in the empty cluster.
        """
        start = self.allocator.start(info) if cpus is None else cpus
        if info.cpus and self.allocator.search(info, start, 1) is None:
            wish = Wish(info, demand, (start,), fixed=True)
            if (demand, start) not in self._possible:
                self._check(wish)
                self._possible[demand, start] = None
            return wish
        start = min(start, self._max_cpus or start)
        return Wish(info, demand, (start, *range(ceil(start) - 1, 0, -1)), fixed=False)

    def _check(self, wish: Wish) -> None:
        """Raise PlanError for a wish that the empty cluster has no room for."""
        cluster, cpus = self.cluster, wish.cpus[0]
        empty = Free(cluster, cluster.gpus, cluster.cpus, cluster.memory_bytes)
        if self._room(empty, wish, cpus, across=True) is None:
            job = f"a job of {wish.demand.gpus} GPUs that keeps them"
            given = f"policy.allocator: {cpus:g} CPUs per GPU for {job}"
            raise PlanError(f"{given}; the empty cluster has no room for that")

    def near(self, free: Free, wish: Wish, preferred: Sequence[int]) -> Found | None:
        """Return a place on as few machines as possible; `free` is unchanged.

        Parameters
        ----------
        preferred
            Sets of machines (`artist.core.buckets`), the best first.
        """
        if wish.demand.min_feasible_gpus > free.total_gpus:
            return None
        least = bisect_left(self.cluster.gpus_of_largest, wish.demand.gpus) + 1
        for place, cpus in enumerate(wish.cpus):
            room = self._room(free, wish, cpus, across=least > 1)
            for among in preferred:
                placed = self._find(free, room, wish, cpus, among)
                if placed is not None and len(placed.allocation.slices) <= least:
                    return placed
            if not place and len(wish.cpus) > 1 and not self._fits(free, wish):
                return None
        return None

    def anywhere(self, free: Free, wish: Wish, preferred: Sequence[int]) -> Found | None:
        """Return a place on any number of machines, if need be of all sets together."""
        if wish.demand.min_feasible_gpus > free.total_gpus or not self._fits(free, wish):
            return None
        together = [*preferred, ALL] if len(preferred) > 1 else preferred
        for among in together:
            for cpus in wish.cpus:
                room = self._room(free, wish, cpus, across=True)
                placed = self._find(free, room, wish, cpus, among)
                if placed is not None:
                    return placed
        return None

    def _fits(self, free: Free, wish: Wish) -> bool:
        """Return whether the job could start anywhere, with the fewest acceptable CPUs."""
        room = self._room(free, wish, wish.cpus[-1], across=True)
        return self._find(free, room, wish, wish.cpus[-1], ALL) is not None

    def _find(self, free: Free, room: Free | None, wish: Wish, cpus: float, among: int) -> Found | None:
        if room is None:
            return None
        gpus = choose_whole(self.chooser, room, wish.demand, among)
        if gpus is None:
            return None
        allocation = self._filled(free, wish, cpus, gpus)
        return None if allocation is None else Found(allocation, cpus)

    def _room(self, free: Free, wish: Wish, cpus: float, *, across: bool) -> Free | None:
        """Return the free resources, with the GPUs of each machine for which there are CPUs and memory.

        None if that is too little for the job.
        """
        need, asked = wish.demand.gpus, wish.demand.memory_bytes
        gpus, left = free.gpus, free.cpus
        short = (left < cpus * gpus) & (self.cluster.cpus > 0)
        if asked:
            short |= free.memory_bytes * need < asked * gpus
        fewer: dict[int, int] = {}
        lost = 0
        pairs: dict[int, int] = {}  # CPUs on each of two machines, by GPUs there
        for m in np.flatnonzero(short).tolist():
            count = int(gpus[m])
            if across and count not in pairs:
                pairs[count] = self.allocator.on_machines(cpus, [count, count])[0]
            fewer[m] = self._may(wish, cpus, int(left[m]), count, m, pairs.get(count))
            if asked:
                fewer[m] = min(fewer[m], int(free.memory_bytes[m]) * need // asked)
            lost += count - fewer[m]
        if free.total_gpus - lost < wish.demand.min_feasible_gpus:
            return None
        return free.with_fewer_gpus(fewer) if fewer else free

    def _may(self, wish: Wish, cpus: float, left: int, count: int, m: int, pair: int | None) -> int:
        """Return the GPUs, of `count` on a machine, that a job may have with `left` CPUs there.

        `pair`: the acceptable CPUs for these GPUs if the job has other machines, too.
        """
        if left >= cpus * count or not self.cluster.machines[m].cpus:
            return count
        may = min(count, int(left / self._each(wish, cpus, m) + _ROUNDING))
        if pair is not None and may < count and pair < int(cpus * count) and pair <= left:
            may = count if count < wish.demand.gpus else max(may, wish.demand.gpus - 1)
        return may

    def _each(self, wish: Wish, cpus: float, m: int) -> float:
        """Return the CPUs that each GPU of a machine must have."""
        machine = self.cluster.machines[m]
        return cpus if wish.fixed or cpus > 1 else min(cpus, machine.cpus / machine.gpus)

    def _filled(self, free: Free, wish: Wish, cpus: float, gpus: dict[int, int]) -> Allocation | None:
        """Return an allocation of these GPUs, or None if a machine has too few CPUs or too little memory."""
        numbers = sorted(gpus)
        counts = [gpus[m] for m in numbers]
        wanted = self.allocator.on_machines(cpus, counts)
        asked = wish.demand.memory_bytes
        memory = divided(asked, counts) if asked else [0] * len(counts)
        slices = []
        for m, count, want, bytes_ in zip(numbers, counts, wanted, memory, strict=True):
            left, left_bytes = free.cpus_and_memory(m)
            if want > left:
                if self.cluster.machines[m].cpus and (wish.fixed or cpus > 1):
                    return None
                want = left
            if not asked:
                bytes_ = min(self.cluster.machines[m].share(count)[1], left_bytes)
            elif bytes_ > left_bytes:
                return None
            slices.append(Slice(m, count, want, bytes_))
        return Allocation(tuple(slices))
