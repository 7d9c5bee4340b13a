"""Run the first jobs of a ranking and preempt the others. Shared by the policies."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from artist.core.cluster import Allocation
from artist.core.plan import PlanBuilder
from artist.core.view import ClusterView, JobColumns
from artist.policies.placement import Chooser, Packing

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def take_first(gpus: Ints, capacity: int, *, skip: bool) -> Bools:
    """Tell which jobs of a ranked list run if only the number of GPUs counts, shape (n,).

    The first jobs that fit together; with `skip`, a job that does not fit is passed over, without it
    nobody comes after it.

    >>> take_first(np.array([2, 4, 1, 1]), 4, skip=True)
    array([ True, False,  True,  True])
    """
    taken = np.zeros(len(gpus), dtype=np.bool_)
    rest = np.arange(len(gpus))
    while len(rest):
        total = np.cumsum(gpus[rest])
        fit = int(total.searchsorted(capacity, side="right"))
        if fit:
            taken[rest[:fit]] = True
            capacity -= int(total[fit - 1])
        if not skip or fit == len(rest):
            break
        rest = rest[fit + 1 :]
        rest = rest[gpus[rest] <= capacity]
    return taken


def run_first(
    view: ClusterView,
    plan: PlanBuilder,
    rank: Callable[[JobColumns], Ints],
    choose: Callable[[int], Chooser],
    *,
    skip: bool,
) -> None:
    """Plan to run the first jobs of a ranking; those among them that run stay where they are.

    Running jobs that are no longer among the first make room, then the others are placed in order.
    Where the placement leaves GPUs over, the rest of the ranking is offered them: a job that was to
    make room stays if its GPUs are still free, and with `skip` waiting jobs start. Room is made by the
    number of GPUs only: a job that its placement refuses for lack of GPUs close together waits.

    Parameters
    ----------
    rank
        Returns the rows of the columns it is given, first to last; the order of two jobs must not
        depend on the others.
    choose
        The placement chooser of a job number.
    skip
        Whether jobs may overtake one that does not fit.
    """
    if not view.waiting:
        return
    columns = view.jobs
    rows = np.flatnonzero(~columns.running)
    if columns.gpus[rows].sum() <= view.free_gpus:  # room for all that wait: who runs does not matter
        columns = view.columns(columns.job[rows].tolist())
    ranked = _without_pinned(view, columns, rank(columns))
    jobs, gpus, running = columns.job[ranked], columns.gpus[ranked], columns.running[ranked]
    capacity = view.free_gpus + int(columns.held_gpus[ranked].sum())
    wanted = take_first(gpus, capacity, skip=skip)
    if (wanted == running).all():
        return
    packing = Packing(view.free())
    victims: dict[int, Allocation] = {}
    for job in jobs[running & ~wanted].tolist():
        allocation = view.allocation(job)
        assert allocation is not None
        victims[job] = allocation
        packing.free.give(allocation)
        plan.stop(job)
    for job in jobs[wanted & ~running].tolist():
        placed = packing.place(view.demand(job), choose(job))
        if placed is not None:
            plan.place(job, placed)
        elif not skip:
            break
    _use_leftovers(view, plan, packing, victims, jobs[~wanted & (skip | running)].tolist(), choose)


def _use_leftovers(
    view: ClusterView,
    plan: PlanBuilder,
    packing: Packing,
    victims: Mapping[int, Allocation],
    jobs: Sequence[int],
    choose: Callable[[int], Chooser],
) -> None:
    """Offer the GPUs that the placement left over to jobs in order; victims want those they have."""
    for job in jobs:
        if not packing.free.total_gpus:
            return
        if job not in victims:
            placed = packing.place(view.demand(job), choose(job))
            if placed is not None:
                plan.place(job, placed)
        elif packing.free.fits(victims[job]):
            packing.free.take(victims[job])
            plan.keep(job)


def _without_pinned(view: ClusterView, columns: JobColumns, ranked: Ints) -> Ints:
    """Leave out jobs on machines that take no new work: to stop them would help nobody."""
    accepts = view.accepts
    if accepts.all():
        return ranked
    pinned = sorted({job for machine in np.flatnonzero(~accepts).tolist() for job in view.jobs_on(machine)})
    return ranked[~np.isin(columns.job[ranked], pinned)]
