"""Jobs that ask for no GPUs: they run where CPUs are free, and are never stopped. Shared by the policies."""

from collections.abc import Iterable

import numpy as np

from artist.core.buckets import ALL, members_of
from artist.core.cluster import Allocation
from artist.core.cpu_search import find_cpus
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.plan import PlanBuilder
from artist.core.view import ClusterView


def start_cpu_jobs(
    view: ClusterView, plan: PlanBuilder, free: Free, jobs: Iterable[int], *, backfill: bool = True
) -> None:
    """Start CPU-only jobs in the given order, as far as CPUs are free; take their resources.

    Parameters
    ----------
    backfill
        Whether jobs may overtake one that does not fit.
    """
    refused: set[Demand] = set()
    for job in jobs:
        demand = view.demand(job)
        allocation = None if demand in refused else place_cpus(free, demand)
        if allocation is not None:
            free.take(allocation)
            plan.place(job, allocation)
        elif backfill:
            refused.add(demand)
        else:
            return


def place_cpus(free: Free, demand: Demand, among: int = ALL) -> Allocation | None:
    """Return the allocation of a CPU-only job by `find_cpus`, or None to wait.

    Parameters
    ----------
    among
        The machines that may serve, as a set of `artist.core.buckets`.
    """
    cpus, memory = free.cpus, free.memory_bytes
    if among != ALL:
        may = np.isin(np.arange(len(cpus)), members_of(among))
        cpus, memory = np.where(may, cpus, 0), np.where(may, memory, 0)
    return find_cpus(cpus, memory, demand)
