"""Run the first jobs of a ranking and preempt the others. Shared by the policies."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from artist.core.cluster import Allocation
from artist.core.plan import PlanBuilder
from artist.core.view import ClusterView
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
    view: ClusterView, plan: PlanBuilder, ranked: Ints, choose: Callable[[int], Chooser], *, skip: bool
) -> None:
    """Plan to run the first jobs of a ranking; those among them that run stay where they are.

    Running jobs that are no longer among the first make room, then the others are placed in order.
    Where the placement leaves GPUs over, the rest of the ranking is offered them: a job that was to
    make room stays if its GPUs are still free, and with `skip` waiting jobs start. Room is made by the
    number of GPUs only: a job that its placement refuses for lack of GPUs close together waits.

    Parameters
    ----------
    ranked
        Rows of `view.jobs`, first to last.
    choose
        The placement chooser of a job number.
    skip
        Whether jobs may overtake one that does not fit.
    """
    columns = view.jobs
    ranked = _without_pinned(view, ranked)
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
    leftover = ~wanted & (gpus <= packing.free.total_gpus)
    if not skip:
        leftover &= running
    for job in jobs[leftover].tolist():
        if job in victims:
            if packing.free.fits(victims[job]):
                packing.free.take(victims[job])
                plan.keep(job)
            continue
        if not packing.free.total_gpus:
            break
        placed = packing.place(view.demand(job), choose(job))
        if placed is not None:
            plan.place(job, placed)


def _without_pinned(view: ClusterView, ranked: Ints) -> Ints:
    """Leave out jobs on machines that take no new work: to stop them would help nobody."""
    closed = np.flatnonzero(~view.accepts).tolist()
    pinned = sorted({job for machine in closed for job in view.jobs_on(machine)})
    return ranked[~np.isin(view.jobs.job[ranked], pinned)] if pinned else ranked
