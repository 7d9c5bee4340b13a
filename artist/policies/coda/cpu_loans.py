"""CPU-only jobs by machine, and their loans of CPUs that are reserved for GPU jobs. For Coda.

A machine's part of the CPU array is its CPUs beyond the reserve. A job starts on the machine with the most
room: that part less the CPUs of other such jobs, at most the free CPUs. If none has room
it may borrow: it takes free CPUs of the reserve, on the machine with the most. While GPU jobs wait the
reserve is lent only where no GPU is free, because elsewhere one of them may need it. A borrower counts as a
job of the array as soon as the array has room for it. When a GPU job needs CPUs that borrowers hold, as few
of these as possible are aborted, those that started last first.

Source: Zhao et al., CODA, ICDCS 2020, section V-C.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from artist.core.arrays import Bools, Ints
from artist.core.cluster import Allocation, Cluster, Slice
from artist.core.cpu_search import find_cpus
from artist.core.free import Free
from artist.core.job import Demand


@dataclass(slots=True)
class CpuHeld:
    """A running CPU-only job: its user, demand, allocation and loan; `started` counts starts."""

    user: str
    demand: Demand
    allocation: Allocation
    borrows: bool
    started: int

    @property
    def cpus(self) -> int:
        """CPUs on all machines together."""
        return self.allocation.cpus


class CpuArray:
    """The CPU-only jobs that run.

    Parameters
    ----------
    free
        Resources that are free while no job runs.
    reserve : ndarray of int64, shape (n_machines,)
        CPUs reserved for GPU jobs.

    Attributes
    ----------
    avail
        Resources that a GPU job may take: free CPUs, and those of borrowers.
    jobs
        The running CPU-only jobs.
    """

    def __init__(self, cluster: Cluster, free: Free, reserve: Ints) -> None:
        self.avail = free
        self.jobs: dict[int, CpuHeld] = {}
        self._cpus = cluster.cpus
        self._left = cluster.cpus - reserve  # of the array, by machine
        self._reserve = reserve
        self._borrowed = np.zeros(len(cluster), dtype=np.int64)
        self._borrowers: dict[int, dict[int, int]] = {}  # CPUs by job, by machine
        self._more_left: dict[int, None] = {}  # machines where the array may have room for borrowers
        self._starts = 0
        self._largest = int(self._cpus.max(initial=0))

    def reserved(self, reserve: Ints) -> None:
        """Reserve other numbers of CPUs; this turns no job into a borrower."""
        self._left += self._reserve - reserve
        self._reserve = reserve
        self._more_left.update(dict.fromkeys(self._borrowers))

    def recount(self, free: Free) -> None:
        """Recount from the free resources: machines joined, left, opened or closed."""
        self.avail = free
        for held in self.jobs.values():
            if held.borrows:
                free.give(_cpus_of(held.allocation))

    # --- starts and ends

    def room(self, *, gpu_jobs_wait: bool) -> "Room":
        """Return the CPUs that jobs may have now, by machine."""
        kept = (self.avail.gpus > 0) & gpu_jobs_wait
        return Room(self._left.copy(), self.avail.cpus - self._borrowed, kept, self.avail, self._largest)

    def start(self, job: int, user: str, demand: Demand, allocation: Allocation, *, borrows: bool) -> None:
        """Track a job that starts."""
        self._starts += 1
        self._hold(job, CpuHeld(user, demand, allocation, borrows, self._starts))

    def end(self, job: int) -> CpuHeld:
        """Track a job that finished or stopped."""
        held = self._let_go(job)
        self._more_left.update((s.machine, None) for s in held.allocation.slices)
        return held

    def change(self, job: int, allocation: Allocation) -> int:
        """Record a job's new CPUs or cap; return the CPUs that it gave up."""
        held = self.jobs[job]
        before = held.cpus
        if allocation.slices == held.allocation.slices:
            held.allocation = allocation
            return 0
        self._let_go(job)
        held.allocation = allocation
        self._hold(job, held)
        self._more_left.update((s.machine, None) for s in allocation.slices)
        return before - held.cpus

    def stop_borrowing(self) -> None:
        """Count borrowers as jobs of the array where it has room for them, in order of start."""
        machines, self._more_left = self._more_left, {}
        for machine in machines:
            for job in self._in_order(machine):
                held = self.jobs[job]
                if all(self._left[s.machine] >= s.cpus for s in held.allocation.slices):
                    self._return(job, held)
                    held.borrows = False
                    self.avail.take(_cpus_of(held.allocation))
                    for s in held.allocation.slices:
                        self._left[s.machine] -= s.cpus

    # --- demand of GPU jobs

    def abort(self, machines: Iterable[int]) -> list[tuple[int, CpuHeld]]:
        """Return the borrowers to abort so that no machine has more CPUs allocated than it has."""
        aborted = []
        for machine in machines:
            if machine not in self._borrowers:
                continue
            short = int(self._borrowed[machine]) - self.avail.cpus_and_memory(machine)[0]
            if short > 0:
                there = [(job, self._borrowers[machine][job]) for job in self._in_order(machine)]
                aborted += [(job, self._let_go(job)) for job in fewest_latest(there, short)]
        return aborted

    # --- accounts

    def _in_order(self, machine: int) -> list[int]:
        """Return the borrowers on a machine in order of start."""
        return sorted(self._borrowers.get(machine, ()), key=lambda job: self.jobs[job].started)

    def _hold(self, job: int, held: CpuHeld) -> None:
        self.jobs[job] = held
        if not held.borrows:
            self.avail.take(held.allocation)
            for s in held.allocation.slices:
                self._left[s.machine] -= s.cpus
            return
        self.avail.take(_memory_of(held.allocation))
        for s in held.allocation.slices:
            self._borrowed[s.machine] += s.cpus
            self._borrowers.setdefault(s.machine, {})[job] = s.cpus

    def _let_go(self, job: int) -> CpuHeld:
        held = self.jobs.pop(job)
        if not held.borrows:
            self.avail.give(held.allocation)
            for s in held.allocation.slices:
                self._left[s.machine] += s.cpus
            return held
        self.avail.give(_memory_of(held.allocation))
        self._return(job, held)
        return held

    def _return(self, job: int, held: CpuHeld) -> None:
        for s in held.allocation.slices:
            self._borrowed[s.machine] -= s.cpus
            there = self._borrowers[s.machine]
            del there[job]
            if not there:
                del self._borrowers[s.machine]


class Room:
    """CPUs that jobs may have, by machine: one job after another takes some.

    Parameters
    ----------
    left, cpus : ndarray of int64, shape (n_machines,)
        CPUs of the array that are left, and free CPUs.
    kept : ndarray of bool, shape (n_machines,)
        Where the reserve is not lent.
    free
        For its memory.
    largest
        CPUs of the largest machine.
    """

    def __init__(self, left: Ints, cpus: Ints, kept: Bools, free: Free, largest: int) -> None:
        self._left, self._free, self._kept, self._largest = left, cpus, kept, largest
        self._own = np.minimum(left, cpus)
        self._lent = np.where(kept, self._own, cpus)
        self._memory = free.memory_bytes
        self._count()

    def find(self, demand: Demand, *, borrow: bool) -> Allocation | None:
        """Return the allocation of a job: on one machine; on several only if it is larger than any.

        Parameters
        ----------
        borrow
            Whether it may take reserved CPUs.
        """
        if demand.cpus <= self._largest and demand.cpus > self._most[borrow]:
            return None
        cpus = self._lent if borrow else self._own
        if demand.cpus > self._largest:
            return find_cpus(np.maximum(cpus, 0), self._memory, demand)
        if demand.memory_bytes:
            cpus = np.where(self._memory >= demand.memory_bytes, cpus, -1)
        machine = int(cpus.argmax())
        if cpus[machine] < demand.cpus:
            return None
        return Allocation((Slice(machine, 0, demand.cpus, demand.memory_bytes),))

    def take(self, allocation: Allocation, *, borrows: bool) -> None:
        """Use up the CPUs that a job gets."""
        for s in allocation.slices:
            self._free[s.machine] -= s.cpus
            if not borrows:
                self._left[s.machine] -= s.cpus
            self._own[s.machine] = unreserved = min(self._left[s.machine], self._free[s.machine])
            self._lent[s.machine] = unreserved if self._kept[s.machine] else self._free[s.machine]
        self._count()

    def _count(self) -> None:
        self._most = {False: int(self._own.max(initial=0)), True: int(self._lent.max(initial=0))}


def fewest_latest(there: list[tuple[int, int]], need: int) -> list[int]:
    """Return the fewest jobs that hold `need` CPUs; among equal counts the jobs that started last.

    Parameters
    ----------
    there
        (job, CPUs) in order of start.

    >>> fewest_latest([(1, 4), (2, 2), (3, 4), (4, 1)], 4)
    [3]
    """
    sizes = sorted((cpus for _, cpus in there), reverse=True)
    count = next(n for n in range(1, len(sizes) + 1) if sum(sizes[:n]) >= need)
    chosen: list[int] = []
    for place in range(len(there) - 1, -1, -1):
        job, cpus = there[place]
        others = sorted((cpus for _, cpus in there[:place]), reverse=True)[: count - len(chosen) - 1]
        if cpus + sum(others) >= need:
            chosen.append(job)
            need -= cpus
        if len(chosen) == count:
            break
    return chosen


def _cpus_of(allocation: Allocation) -> Allocation:
    return Allocation(tuple(Slice(s.machine, 0, s.cpus) for s in allocation.slices))


def _memory_of(allocation: Allocation) -> Allocation:
    return Allocation(tuple(Slice(s.machine, 0, 0, s.memory_bytes) for s in allocation.slices))
