"""Room for a job by stopping others: the fewest without which its placement finds GPUs. Shared by policies.

The placement itself is asked, on the resources that would be free, so all that it requires counts: the number
of machines, racks, GPU types, CPUs and memory. It is asked for the heads of lists of running jobs, the
shortest head first: of those on a machine, in a rack and in the cluster, the largest first, and machine by
machine. Jobs of a head that may keep their GPUs do so. If there are few sets of fewer jobs, all are tried.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate, combinations
from math import comb
from typing import NamedTuple

from artist.core.cluster import Allocation
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.parts.placer import Placer

_MAX_SETS = 256  # that are all tried


class Room(NamedTuple):
    """The jobs to stop for a job, and the allocation that it finds then."""

    victims: list[int]
    allocation: Allocation


def find_room(free: Free, demand: Demand, placer: Placer, running: Mapping[int, Allocation]) -> Room | None:
    """Return the fewest jobs to stop so that a job finds GPUs, or None if it finds none.

    Parameters
    ----------
    free
        Resources that are free now; they are the same afterwards.
    running
        Allocations of the jobs that may be stopped, those to stop before others first.

    Examples
    --------
    A job of one GPU without which there are two GPUs free on one machine:

    >>> from artist.core.cluster import Cluster, Machine, Slice
    >>> from artist.policies.parts.placer import placer_of
    >>> cluster = Cluster([Machine("m0", 0, "box", 2), Machine("m1", 0, "box", 2)])
    >>> free = Free(cluster, [1, 1], [0, 0], [0, 0])
    >>> running = {3: Allocation((Slice(1, 1),)), 2: Allocation((Slice(0, 1),))}
    >>> placer = placer_of("best_fit", "proportional")
    >>> find_room(free, Demand(2, max_machines=1), placer, running).victims
    [3]
    """
    return _Search(free, demand, placer, running).fewest()


class _Search:
    def __init__(self, free: Free, demand: Demand, placer: Placer, running: Mapping[int, Allocation]) -> None:
        self._free, self._demand, self._placer, self._running = free, demand, placer, running
        self._rank = {job: rank for rank, job in enumerate(running)}

    def fewest(self) -> Room | None:
        best = self._shortest_head()
        sets = 0
        for size in range(1, len(best.victims) if best else 1):
            sets += comb(len(self._running), size)
            if sets > _MAX_SETS:
                break
            for jobs in combinations(self._running, size):
                if (room := self._without(jobs)) is not None:
                    return room
        return best

    def _shortest_head(self) -> Room | None:
        """Return the room of the shortest head; of equal ones that whose jobs are stopped before others."""
        best: Room | None = None
        lists = [(jobs, least) for jobs, least in self._lists() if least <= len(jobs)]
        heads = [(least, self._last(jobs[:least]), i) for i, (jobs, least) in enumerate(lists)]
        heapify(heads)
        while heads and (best is None or heads[0][0] < len(best.victims)):
            size, _, i = heappop(heads)
            jobs = lists[i][0]
            room = self._without(jobs[:size])
            if room is not None:
                best = room if best is None or len(room.victims) < len(best.victims) else best
            elif size < len(jobs):
                size = min(len(jobs), size + 1 + size // 8)
                heappush(heads, (size, self._last(jobs[:size]), i))
        return best

    def _last(self, jobs: Iterable[int]) -> int:
        return max(map(self._rank.__getitem__, jobs))

    def _lists(self) -> Iterator[tuple[list[int], int]]:
        """Yield lists of running jobs, and the length from which a head makes the GPUs enough there."""
        free, rack_of = self._free, self._free.cluster.rack_of
        machines: dict[int, dict[int, int]] = {}  # GPUs by job
        for job, allocation in self._running.items():
            for s in allocation.slices:
                machines.setdefault(s.machine, {})[job] = s.gpus
        for machine, held in machines.items():
            yield self._list([held], int(free.gpus[machine]))
        if self._demand.max_machines == 1:
            return
        racks: dict[int, list[dict[int, int]]] = {}
        for machine, held in machines.items():
            racks.setdefault(rack_of[machine], []).append(held)
        areas = [(there, free.buckets.in_rack[rack]) for rack, there in racks.items()]
        if len(racks) > 1:
            areas.append((list(machines.values()), free.total_gpus))
        for there, idle in areas:
            together: dict[int, int] = {}
            for job, gpus in (item for held in there for item in held.items()):
                together[job] = together.get(job, 0) + gpus
            yield self._list([together], idle)
            yield self._list(sorted(there, key=len), idle)

    def _list(self, areas: Sequence[Mapping[int, int]], idle: int) -> tuple[list[int], int]:
        """Return the jobs of some areas, given with their GPUs, area by area and the largest first."""
        jobs: dict[int, int] = {}
        for held in areas:
            for job in sorted(held, key=lambda job: (-held[job], self._rank[job])):
                jobs[job] = jobs.get(job, 0) + held[job]
        lacking = self._demand.min_feasible_gpus - idle
        return list(jobs), 1 + sum(gpus < lacking for gpus in accumulate(jobs.values()))

    def _without(self, jobs: Sequence[int]) -> Room | None:
        """Return the room if some jobs are stopped, less those of them that may keep their GPUs."""
        free, held = self._free, self._running
        for job in jobs:
            free.give(held[job])
        allocation = self._placer.place(free, self._demand)
        victims: list[int] = []
        if allocation is not None:
            free.take(allocation)
            for job in sorted(jobs, key=self._rank.__getitem__, reverse=True):
                if free.fits(held[job]):
                    free.take(held[job])
                else:
                    victims.append(job)
            free.give(allocation)
            jobs = victims
        for job in jobs:
            free.take(held[job])
        return None if allocation is None else Room(victims, allocation)
