"""Run the first jobs of a ranking and preempt the others. Shared by the policies."""

from collections.abc import Callable, Mapping, Sequence

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
) -> None:
    """Plan to run the first jobs of a ranking; those of them that already run keep their places.

    Running jobs that are no longer among the first make room, then the others are placed in order. If the
    placement leaves GPUs over, the rest of the ranking is offered them: a job that was to make room stays if
    its GPUs are still free or moves to others, and with `backfill` waiting jobs start. Room is made only by
    the number of GPUs (of each type): a job that its placement refuses because GPUs are not close together,
    or for lack of CPUs, waits. CPU-only jobs are placed last, in order, where CPUs are free; they are never
    stopped.

    Parameters
    ----------
    rank
        Returns the rows of the columns it is given, first to last; the order of two jobs must not depend on
        the others.
    placer
        Returns the placer of a job number.
    backfill
        Whether jobs may overtake one that does not fit.
    """
    if not view.n_waiting:
        return
    room_for_all = view.cluster.uniform and view.waiting_gpus <= view.free_gpus
    columns = view.waiting if room_for_all else view.jobs  # with room for all, running jobs do not matter
    ranked = _without_pinned(view, columns, rank(columns))
    cpu_jobs: list[int] = []
    if np.count_nonzero(columns.gpus) < len(columns):
        by_cpu = columns.gpus[ranked] == 0
        cpu_jobs = columns.job[ranked[by_cpu & ~columns.running[ranked]]].tolist()
        ranked = ranked[~by_cpu]
    jobs = columns.job[ranked]
    if room_for_all:
        packing = Packing(view.free())
        _place(view, plan, packing, jobs.tolist(), placer, backfill=backfill)
        start_cpu_jobs(view, plan, packing.free, cpu_jobs, backfill=backfill)
        return
    held = columns.held_gpus[ranked]
    running = held > 0
    wanted = _wanted(view, columns, ranked, held, backfill=backfill)
    stopped, started = jobs[running > wanted].tolist(), jobs[wanted > running].tolist()
    if not (cpu_jobs or stopped or started):
        return
    packing = Packing(view.free())
    victims, free = dict[int, Allocation](), packing.free
    for job in stopped:
        allocation = view.allocation(job)
        assert allocation is not None
        victims[job] = allocation
        free.give(allocation)
        plan.stop(job)
    _place(view, plan, packing, started, placer, backfill=backfill)
    if packing.free.total_gpus:  # placed jobs are taken from it only now
        others = ~wanted if backfill else running > wanted
        rest = jobs[others & (columns.min_feasible_gpus[ranked] <= free.total_gpus)]
        _use_leftovers(view, plan, packing, victims, rest.tolist(), placer)
    start_cpu_jobs(view, plan, packing.free, cpu_jobs, backfill=backfill)


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


def _place(
    view: ClusterView,
    plan: PlanBuilder,
    packing: Packing,
    jobs: Sequence[int],
    placer: Callable[[int], Placer],
    *,
    backfill: bool,
) -> None:
    """Place waiting jobs in order; without `backfill`, stop at the first that is refused."""
    for job in jobs:
        placed = packing.place(view.demand(job), placer(job))
        if placed is not None:
            plan.place(job, placed)
        elif not backfill:
            return


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
