"""Running GPU jobs, their starts, and their moves to make room for a large job. For Coda.

A job starts in its own sub-array, else in the other (`artist.policies.coda.gpu_placement`). A large job that
finds no machine although small ones are in its sub-array takes these GPUs back: the fewest of them move
to the 1-GPU sub-array, if there is a place for each. Only then is a job spread over more machines than it
needs.

CPUs that a job gives up for a try stay its own until it continues with fewer, so that it can go back.

Source: Zhao et al., CODA, ICDCS 2020, section V-C.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import le, sub

from artist.core.buckets import members_of, set_of
from artist.core.cluster import Allocation, Cluster, Slice
from artist.policies.coda.arrays import Arrays
from artist.policies.coda.core_allocator import CpuSearch
from artist.policies.coda.cpu_loans import CpuArray
from artist.policies.coda.gpu_placement import Found, GpuPlaces, Wish


@dataclass(slots=True)
class GpuHeld:
    """A running GPU job.

    Attributes
    ----------
    allocation
        With the CPUs that it uses.
    owned
        Its own CPUs by slice: more than it uses while it tries fewer.
    cpus
        CPUs per GPU (or on each of several machines) that it is to have.
    started
        Counts starts.
    search
        Its CPU search; None if it keeps the CPUs that it starts with.
    """

    wish: Wish
    large: bool
    allocation: Allocation
    owned: list[int]
    cpus: float
    started: int
    search: CpuSearch | None = None


class GpuArray:
    """The GPU jobs that run.

    Attributes
    ----------
    jobs
        The running GPU jobs.
    released
        Machines where running jobs gave CPUs back since this was last emptied.
    """

    def __init__(self, cluster: Cluster, places: GpuPlaces, arrays: Arrays, cpus: CpuArray) -> None:
        self.jobs: dict[int, GpuHeld] = {}
        self.released: list[int] = []
        self._cluster = cluster
        self._places = places
        self._arrays = arrays
        self._cpus = cpus
        self._small_on: dict[int, dict[int, None]] = {}  # small jobs on a single machine, by machine
        self._starts = 0

    def recount(self) -> None:
        """Subtract the CPUs that jobs own beyond their use from the free ones."""
        for held in self.jobs.values():
            if held.allocation.cpus != sum(held.owned):
                more = (owned - s.cpus for owned, s in zip(held.owned, held.allocation.slices, strict=True))
                self._cpus.avail.take(cpus_on(held.allocation, list(more)))

    def may_use(self, machine: int) -> bool:
        """Return whether more CPUs or memory on a machine may help a GPU job start: whether it has GPUs.

        GPUs of small jobs in the 4-GPU sub-array count, since these may move.
        """
        if self._cpus.avail.gpus[machine] > 0:
            return True
        return bool(self._small_on.get(machine)) and bool(self._arrays.large >> machine & 1)

    # --- starts and ends

    def start(self, job: int, wish: Wish, *, large: bool) -> list[int]:
        """Start a job if it finds a place; return it after jobs that move for it, or nothing."""
        preferred = self._arrays.preferred(large=large)
        free = self._cpus.avail
        placed = self._places.near(free, wish, preferred)
        if placed is not None:
            self._hold(job, wish, placed, large=large)
            return [job]
        moved = self._take_back(job, wish) if large and self._arrays.large else []
        if moved:
            return [*moved, job]
        placed = self._places.anywhere(free, wish, preferred)
        if placed is not None:
            self._hold(job, wish, placed, large=large)
            return [job]
        return []

    def end(self, job: int) -> GpuHeld:
        """Track a job that finished or stopped."""
        held = self.jobs.pop(job)
        self._cpus.avail.give(_owned(held))
        self._count(held, -1)
        there = self._small_on.get(held.allocation.slices[0].machine)
        if there is not None:
            there.pop(job, None)
        return held

    def _hold(self, job: int, wish: Wish, placed: Found, *, large: bool) -> None:
        allocation, cpus = placed
        self._starts += 1
        owned = [s.cpus for s in allocation.slices]
        held = GpuHeld(wish, large, allocation, owned, cpus, self._starts)
        if held.allocation.cpus:
            held.search = self._places.allocator.search(wish.info, cpus, len(allocation.slices))
        self._cpus.avail.take(allocation)
        self._count(held, 1)
        self.jobs[job] = held
        if not large and len(allocation.slices) == 1:
            self._small_on.setdefault(allocation.slices[0].machine, {})[job] = None

    def _count(self, held: GpuHeld, sign: int) -> None:
        self._arrays.history.hold(sign * held.allocation.gpus, sign * held.allocation.cpus, large=held.large)

    # --- other CPUs

    def may_have(self, held: GpuHeld, cpus: float) -> bool:
        """Return whether a running job could have `cpus`, CPUs of borrowers included."""
        return all(map(le, self._wanted(held, cpus), self._left(held)))

    def give(self, held: GpuHeld, cpus: float, *, keep: float) -> None:
        """Set the CPUs that a job uses, as far as there are any, and the CPUs of its own that it keeps."""
        before, used = held.allocation.cpus, list(map(min, self._wanted(held, cpus), self._left(held)))
        kept = map(min, self._wanted(held, keep), held.owned)
        owned = list(map(max, used, kept))
        change = list(map(sub, owned, held.owned))
        self._cpus.avail.take(cpus_on(held.allocation, change))
        self.released += [s.machine for s, n in zip(held.allocation.slices, change, strict=True) if n < 0]
        slices = zip(held.allocation.slices, used, strict=True)
        held.allocation = replace(held.allocation, slices=tuple(s._replace(cpus=n) for s, n in slices))
        held.owned, held.cpus = owned, cpus
        self._arrays.history.hold(0, held.allocation.cpus - before, large=False)

    def _wanted(self, held: GpuHeld, cpus: float) -> list[int]:
        return self._places.allocator.on_machines(cpus, [s.gpus for s in held.allocation.slices])

    def _left(self, held: GpuHeld) -> list[int]:
        """Return the CPUs that a job could have on each of its machines; no more on one that closes."""
        avail, left = self._cpus.avail, []
        for owned, s in zip(held.owned, held.allocation.slices, strict=True):
            closed = avail.accepts is not None and not avail.accepts[s.machine]
            left.append(s.cpus if closed else owned + max(0, avail.cpus_and_memory(s.machine)[0]))
        return left

    # --- taking back

    def _take_back(self, job: int, wish: Wish) -> list[int]:
        """Move small jobs out of the 4-GPU sub-array and start a large one; return them, or nothing."""
        if not self._cpus.avail.buckets.total(self._arrays.small):
            return []
        for machines, moving in sorted(
            self._candidates(wish), key=lambda candidate: (len(candidate[1]), candidate[0])
        ):
            before = [self.end(other) for other in moving]
            places = self._moved(wish, machines, before)
            if places is None:
                for other, held in zip(moving, before, strict=True):
                    self._put_back(other, held)
                continue
            for other, held, place in zip(moving, before, places[1:], strict=True):
                self._hold(other, self._again(held), place, large=False)
            self._hold(job, wish, places[0], large=True)
            return moving
        return []

    def _candidates(self, wish: Wish) -> Iterator[tuple[list[int], list[int]]]:
        """Yield machines of the 4-GPU sub-array for a job, and the fewest small jobs that must leave them."""
        free, need = self._cpus.avail, wish.demand.gpus
        least = bisect_left(self._cluster.gpus_of_largest, need) + 1
        there: list[tuple[int, int, int]] = []  # GPUs that could be free, free GPUs, machine
        for count, machines in enumerate(free.buckets.sets):
            for m in members_of(machines & self._arrays.large):
                small = self._small_on.get(m, ())
                there.append((count + sum(self.jobs[other].allocation.gpus for other in small), count, m))
        if least == 1:
            sets = [[machine] for machine in there]
        else:
            sets = [sorted(there, key=lambda machine: (-machine[0], -machine[1], machine[2]))[:least]]
        for chosen in sets:
            lacking = need - sum(count for _, count, _ in chosen)
            if lacking > 0 and sum(could for could, _, _ in chosen) >= need:
                numbers = [m for _, _, m in chosen]
                yield numbers, self._fewest(numbers, lacking)

    def _fewest(self, machines: Sequence[int], gpus: int) -> list[int]:
        """Return the fewest small jobs on some machines that hold `gpus`: the largest first.

        Among equal counts and sizes the jobs that started last; the last one is no larger than needed.
        """
        held = {job: self.jobs[job].allocation.gpus for m in machines for job in self._small_on.get(m, ())}
        jobs = sorted(held, key=lambda job: (-held[job], -self.jobs[job].started))
        count = 0
        while gpus > held[jobs[count]]:
            gpus -= held[jobs[count]]
            count += 1
        last = max((place for place in range(count, len(jobs)) if held[jobs[place]] >= gpus), default=count)
        first = next(place for place in range(count, last + 1) if held[jobs[place]] == held[jobs[last]])
        return [*jobs[:count], jobs[first]]

    def _moved(self, wish: Wish, machines: Sequence[int], moving: Sequence[GpuHeld]) -> list[Found] | None:
        """Return places for a large job and for the jobs that move for it; None if one finds none."""
        free, places = self._cpus.avail, self._places
        taken: list[Found] = []
        most, largest = free.buckets.max_free(self._arrays.small), self._cluster.gpus_of_largest[0]
        if any(
            most < held.wish.demand.min_feasible_gpus <= held.wish.demand.gpus <= largest for held in moving
        ):
            return None
        asked = [(wish, set_of(machines))]
        asked += [(self._again(held), self._arrays.small) for held in moving]
        for demanded, among in asked:
            place = places.near(free, demanded, [among])
            if place is None:
                break
            free.take(place.allocation)
            taken.append(place)
        for place in taken:
            free.give(place.allocation)
        return taken if len(taken) == len(asked) else None

    def _again(self, held: GpuHeld) -> Wish:
        """Return the wish of a job that moves: with the best CPUs that its search knows of."""
        cpus = held.cpus if held.search is None else held.search.best
        return self._places.wish(held.wish.info, held.wish.demand, cpus)

    def _put_back(self, job: int, held: GpuHeld) -> None:
        self._cpus.avail.take(_owned(held))
        self._count(held, 1)
        self.jobs[job] = held
        self._small_on.setdefault(held.allocation.slices[0].machine, {})[job] = None


def _owned(held: GpuHeld) -> Allocation:
    slices = zip(held.allocation.slices, held.owned, strict=True)
    return Allocation(tuple(s._replace(cpus=owned) for s, owned in slices))


def cpus_on(allocation: Allocation, cpus: Sequence[int]) -> Allocation:
    """Return CPUs on the machines of an allocation, and nothing else."""
    slices = zip(allocation.slices, cpus, strict=True)
    return Allocation(tuple(Slice(s.machine, 0, count) for s, count in slices))
