"""Run the first jobs of a ranking and preempt the others. Shared by the policies."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from artist.core.arrays import Bools, Ints
from artist.core.cluster import Allocation
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.plan import PlanBuilder
from artist.core.view import ClusterView, JobColumns
from artist.policies.parts.cpu_jobs import start_cpu_jobs
from artist.policies.parts.placement import gpus_to_place
from artist.policies.parts.placer import Packing, Placer
from artist.policies.parts.room import find_room


def take_first(gpus: Ints, capacity: int, *, backfill: bool) -> Bools:
    """Return a mask of the jobs of a ranked list that run if only the number of GPUs counts, shape (n,).

    The first jobs that fit together; with `backfill`, a job that does not fit is passed over, without it no
    later job runs.

    >>> take_first(np.array([2, 4, 1, 1, 1]), 4, backfill=True)
    array([ True, False,  True,  True, False])
    """
    taken = np.zeros(len(gpus), dtype=np.bool_)
    total = gpus.cumsum()
    first = int(total.searchsorted(capacity, side="right"))  # those before it fit
    taken[:first] = True
    if backfill and first < len(gpus):
        left = capacity - int(total[first - 1]) if first else capacity
        rows = (gpus[first:] <= left).nonzero()[0] + first
        for row, count in zip(rows.tolist(), gpus[rows].tolist(), strict=True):
            if count <= left:
                taken[row] = True
                left -= count
    return taken


def waiting_after(view: ClusterView, plan: PlanBuilder) -> int:
    """Return the number of jobs that wait after a plan."""
    waits = view.n_waiting
    for job, allocation in plan.changes.items():
        waits += 1 if allocation is None else -(view.allocation(job) is None)
    return waits


def in_order(jobs: Sequence[int]) -> Callable[[JobColumns], Ints]:
    """Return the ranking, for `run_first`, of jobs already in order."""
    rank = {job: position for position, job in enumerate(jobs)}
    return lambda columns: np.argsort([rank[job] for job in columns.job.tolist()])


def run_first(
    view: ClusterView,
    plan: PlanBuilder,
    rank: Callable[[JobColumns], Ints],
    placer: Callable[[int], Placer],
    *,
    backfill: bool,
    lenient: Placer | None = None,
) -> None:
    """Plan to run the first jobs of a ranking; those of them that already run keep their places.

    Running jobs that are not among the first that fit together, by the number of GPUs (of each type), make
    room; the others are placed in order. If the placement leaves GPUs over, the rest of the ranking is
    offered them: a job that was to make room stays if its GPUs are still free or moves to others, and with
    `backfill` waiting jobs start.

    If the placement refuses one of the first, because GPUs are not where it may use them or for lack of CPUs,
    jobs get GPUs in order instead: those that are free, else also those of the fewest jobs later in the
    ranking without which the placement finds some (`artist.policies.parts.room`). No job is stopped for one
    that still finds none.

    CPU-only jobs are placed last, in order, where CPUs are free; they are never stopped.

    Parameters
    ----------
    rank
        Returns the rows of the columns it is given, first to last; the order of two jobs must not depend on
        the others.
    placer
        Returns the placer of a job number.
    backfill
        Whether jobs may overtake one that does not fit.
    lenient
        A job that this places waits for GPUs that its own placer prefers, and no job is stopped for it.
    """
    if not view.n_waiting:
        return
    room_for_all = view.cluster.uniform and view.waiting_gpus <= view.free_gpus
    columns = view.waiting if room_for_all else view.jobs  # with room for all, running jobs do not matter
    ranked, cpu_jobs = _ranked(view, columns, rank)
    jobs = columns.job[ranked]
    stopped, started, rest = list[int](), jobs.tolist(), None
    if not room_for_all:
        held = columns.held_gpus[ranked]
        running = held > 0
        wanted = _wanted(view, columns, ranked, held, backfill=backfill)
        stopped, started = jobs[running > wanted].tolist(), jobs[wanted > running].tolist()
        rest = ~wanted if backfill else running > wanted
    if not (cpu_jobs or stopped or started):
        return
    packing, victims = Packing(view.free()), _held(view, stopped)
    for allocation in victims.values():
        packing.free.give(allocation)
    placed = _placed(view, packing, started, placer, lenient, backfill=backfill)
    if placed is None:
        if room_for_all:
            jobs = view.jobs.job[_ranked(view, view.jobs, rank)[0]]
        in_order = _InOrder(view, plan, jobs.tolist(), lenient)
        in_order.run(placer, backfill=backfill)
        start_cpu_jobs(view, plan, in_order.free, cpu_jobs, backfill=backfill)
        return
    for job in stopped:
        plan.stop(job)
    for job, allocation in placed.items():
        plan.place(job, allocation)
    if rest is not None and packing.free.total_gpus:  # placed jobs are taken from it only now
        rest &= columns.min_feasible_gpus[ranked] <= packing.free.total_gpus
        _use_leftovers(view, plan, packing, victims, jobs[rest].tolist(), placer)
    start_cpu_jobs(view, plan, packing.free, cpu_jobs, backfill=backfill)


def _ranked(
    view: ClusterView, columns: JobColumns, rank: Callable[[JobColumns], Ints]
) -> tuple[Ints, list[int]]:
    """Return the rows of GPU jobs, ranked, and the waiting CPU-only jobs in order."""
    ranked = _without_pinned(view, columns, rank(columns))
    if np.count_nonzero(columns.gpus) == len(columns):
        return ranked, []
    by_cpu = columns.gpus[ranked] == 0
    return ranked[~by_cpu], columns.job[ranked[by_cpu & ~columns.running[ranked]]].tolist()


def _held(view: ClusterView, jobs: Iterable[int]) -> dict[int, Allocation]:
    """Return the allocations of the running ones of some jobs."""
    return {job: held for job in jobs if (held := view.allocation(job)) is not None}


def _placed(
    view: ClusterView,
    packing: Packing,
    jobs: Sequence[int],
    placer: Callable[[int], Placer],
    lenient: Placer | None,
    *,
    backfill: bool,
) -> dict[int, Allocation] | None:
    """Return the allocations of waiting jobs; None if room has to be made for one of them."""
    placed: dict[int, Allocation] = {}
    patient: dict[tuple[int, int], Demand] = {}  # by identity and the GPUs left: jobs share demands
    for job in jobs:
        demand = view.demand(job)
        allocation = packing.place(demand, placer(job))
        if allocation is not None:
            placed[job] = allocation
            continue
        key = id(demand), packing.free.total_gpus
        if lenient is None or (key not in patient and lenient.place(packing.free, demand) is None):
            return None
        if not backfill:
            break
        patient[key] = demand
    return placed


class _InOrder:
    """GPUs for one job after the other: free ones, else those of running jobs later in the order."""

    def __init__(
        self, view: ClusterView, plan: PlanBuilder, jobs: Sequence[int], lenient: Placer | None
    ) -> None:
        self.free = view.free()
        self._view, self._plan, self._jobs, self._lenient = view, plan, jobs, lenient
        self._later = _held(view, jobs)
        self._reach = view.free()  # what is free, and what those jobs hold
        for allocation in self._later.values():
            self._reach.give(allocation)
        self._stopped: dict[int, Allocation] = {}
        self._refused: dict[tuple[int, int], tuple[Demand, Placer]] = {}  # by identity, as in `Packing`

    def run(self, placer: Callable[[int], Placer], *, backfill: bool) -> None:
        """Plan to give GPUs to the jobs, as `run_first` does."""
        for job in self._jobs:
            if not self._reach.total_gpus:
                return
            if job in self._later:
                self._reach.take(self._later.pop(job))
                continue
            before = self._stopped.get(job)
            if before is not None and self.free.fits(before):
                self._plan.keep(job)
                allocation: Allocation | None = before
            elif backfill or before is not None or not self._refused:
                allocation = self._place(job, placer(job))
            else:
                allocation = None
            if allocation is not None:
                self.free.take(allocation)
                self._reach.take(allocation)

    def _place(self, job: int, placer: Placer) -> Allocation | None:
        """Plan to start or move a job, and to stop others for it; return its allocation."""
        demand = self._view.demand(job)
        key = id(demand), id(placer)
        if key in self._refused:
            return None
        allocation = placer.place(self.free, demand)
        if allocation is None and not (self._lenient and self._lenient.place(self.free, demand)):
            allocation = self._make_room(demand, placer)
        if allocation is None:
            self._refused[key] = demand, placer
        else:
            self._plan.place(job, allocation)
        return allocation

    def _make_room(self, demand: Demand, placer: Placer) -> Allocation | None:
        """Stop the fewest jobs later in the order for a demand; None if that is no help."""
        if placer.place(self._reach, demand) is None:
            return None
        room = find_room(self.free, demand, placer, dict(reversed(self._later.items())))
        if room is None:
            return None
        for job in room.victims:
            self._plan.stop(job)
            self._stopped[job] = self._later.pop(job)
            self.free.give(self._stopped[job])
        return room.allocation


def _wanted(view: ClusterView, columns: JobColumns, ranked: Ints, held: Ints, *, backfill: bool) -> Bools:
    """Return a mask of the first ranked jobs that fit together by the number of GPUs, shape (n,)."""
    if view.cluster.uniform:
        capacity = view.free_gpus + int(np.add.reduce(held))
        gpus = np.where(held, held, columns.gpus[ranked])
        too_large = (gpus > capacity).nonzero()[0]
        if len(too_large):  # elastic jobs may run with fewer
            free = view.free()
            demands = [view.demand(job) for job in columns.job[ranked[too_large]].tolist()]
            (worth,) = view.cluster.worth_of.values()
            gpus[too_large] = [demand.gpus_at(worth, gpus_to_place(free, demand)) for demand in demands]
        return take_first(gpus, capacity, backfill=backfill)
    return _take_first_by_type(view, columns.job[ranked].tolist(), backfill=backfill)


def _take_first_by_type(view: ClusterView, jobs: Sequence[int], *, backfill: bool) -> Bools:
    """`take_first` if machines differ: each job takes GPUs of a type that it allows.

    A running job takes those that it holds, so it is not stopped for others of another type.
    """
    free, cluster = view.free(), view.cluster
    left = {gpu_type: int(free.gpus[usable].sum()) for gpu_type, usable in cluster.of_type.items()}
    held: dict[int, dict[str, int]] = {}
    for job in jobs:
        allocation = view.allocation(job)
        for s in allocation.slices if allocation is not None else ():
            gpu_type = cluster.machines[s.machine].gpu_type
            left[gpu_type] += s.gpus
            by_type = held.setdefault(job, {})
            by_type[gpu_type] = by_type.get(gpu_type, 0) + s.gpus
    taken = np.zeros(len(jobs), dtype=np.bool_)
    for row, job in enumerate(jobs):
        needs = [held[job]] if job in held else ways(free, view.demand(job), left)
        way = next((w for w in needs if all(left[gpu_type] >= gpus for gpu_type, gpus in w.items())), None)
        if way is not None:
            taken[row] = True
            for gpu_type, gpus in way.items():
                left[gpu_type] -= gpus
        elif not backfill:
            break
    return taken


def ways(free: Free, demand: Demand, left: Mapping[str, int]) -> list[dict[str, int]]:
    """Return the ways to serve a demand, as GPUs by type: one type, or if allowed a mix of those left."""
    gpu_types = [gpu_type for gpu_type in demand.gpu_types or left if gpu_type in left]
    asked = gpus_to_place(free, demand)
    ways = [{gpu_type: demand.gpus_at(free.cluster.worth_of[gpu_type], asked)} for gpu_type in gpu_types]
    if demand.mixed_types and not demand.fungible:
        mix, need = {}, asked
        for gpu_type in gpu_types:
            mix[gpu_type] = min(left[gpu_type], need)
            need -= mix[gpu_type]
        if not need:
            ways.append(mix)
    return ways


def _use_leftovers(
    view: ClusterView,
    plan: PlanBuilder,
    packing: Packing,
    victims: Mapping[int, Allocation],
    jobs: Sequence[int],
    placer: Callable[[int], Placer],
) -> None:
    """Offer the GPUs that the placement left over to jobs in order; victims prefer those they have."""
    demand, place = view.demand, packing.place
    for job in jobs:
        if job in victims and packing.free.fits(victims[job]):
            packing.free.take(victims[job])
            plan.keep(job)
        elif (placed := place(demand(job), placer(job))) is not None:
            plan.place(job, placed)
        else:
            continue
        if not packing.free.total_gpus:
            return


def _without_pinned(view: ClusterView, columns: JobColumns, ranked: Ints) -> Ints:
    """Leave out jobs on closed machines: to stop them would help no job."""
    pinned = pinned_jobs(view)
    return ranked[~np.isin(columns.job[ranked], pinned)] if pinned else ranked


def pinned_jobs(view: ClusterView) -> list[int]:
    """Return the jobs on closed machines."""
    if view.all_open:
        return []
    return sorted(
        {job for machine in np.flatnonzero(~view.accepts).tolist() for job in view.jobs_on(machine)}
    )
