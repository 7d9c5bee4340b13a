"""Growth: elastic jobs on GPUs that no other job wants. For Gandiva.

In plain words: when no job has arrived or waited for a while, running jobs that may have more GPUs take those
that are free on their own machines, in order of arrival, up to their maximum. Once a waiting job does not fit
beside them, all shrink to their former GPUs.
"""

from artist.core.cluster import Allocation
from artist.core.events import Arrival
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.plan import PlanBuilder
from artist.core.view import ClusterView
from artist.policies.parts.placement import BestFit
from artist.policies.parts.placer import Packing, Placer


class Growth:
    """The jobs that have grown, with their allocations before.

    Parameters
    ----------
    idle_ns
        Time without arrivals and waiting jobs after which jobs grow.
    placer
        Allocates the CPUs and memory of their GPUs; no growth may split more of the groups that it aligns.
    """

    def __init__(self, idle_ns: int, placer: Placer) -> None:
        self._placer, self._aligned = Placer(BestFit(), placer.fill), placer
        self._idle_ns = idle_ns
        self._quiet_since = 0
        self._grown: dict[int, tuple[Allocation, Allocation]] = {}  # before and after growth, by job

    def follow(self, view: ClusterView) -> None:
        """Track arrivals, waiting jobs, and grown jobs whose allocation has changed since."""
        if view.n_waiting or any(isinstance(event, Arrival) for event in view.news):
            self._quiet_since = view.now_ns
        gone = [job for job, (_, after) in self._grown.items() if view.allocation(job) != after]
        for job in gone:
            del self._grown[job]

    def shrink(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Shrink all grown jobs if a waiting job does not fit otherwise."""
        if not self._grown or self._all_fit(view):
            return
        for job, (before, _) in self._grown.items():
            plan.place(job, before)
        self._grown.clear()

    def grow(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Grow jobs if it has been quiet; if not, and some could grow, ask to be woken."""
        if view.n_waiting or not view.free_gpus:
            return
        free, accepts = view.free(), view.accepts
        for job in view.jobs.job[view.jobs.running].tolist():
            demand, held = view.demand(job), view.allocation(job)
            if not demand.elastic or held is None or held.group is not None:
                continue
            if not all(accepts[s.machine] for s in held.slices):
                continue
            gpus = _max_gpus(free, demand, held, self._aligned)
            if gpus is None:
                continue
            if view.now_ns < self._quiet_since + self._idle_ns:
                plan.wake_at(self._quiet_since + self._idle_ns)
                return
            free.give(held)
            after = self._placer.fill.fill(free, demand, gpus)
            free.take(after or held)
            if after is None:
                continue
            plan.place(job, after)
            before, _ = self._grown.get(job, (held, after))
            self._grown[job] = (before, after)

    def _all_fit(self, view: ClusterView) -> bool:
        """Return whether all waiting jobs fit on the free resources."""
        packing, waiting = Packing(view.free()), view.waiting.job.tolist()
        return all(packing.place(view.demand(job), self._placer) is not None for job in waiting)


def _max_gpus(free: Free, demand: Demand, held: Allocation, placer: Placer) -> dict[int, int] | None:
    """Return the most GPUs by machine that a job may have on its machines; None if it has them."""
    before, cluster = held.gpu_map(), free.cluster
    split = placer.split(demand, cluster, before)
    idle = free.gpus // demand.unit * demand.unit
    for more in range(sum(int(idle[m]) for m in before), 0, -1):
        gpus, left = {}, more
        for m, count in before.items():
            taken = min(left, int(idle[m]))
            gpus[m] = count + taken
            left -= taken
        allowed = demand.allows((count, cluster.machines[m].worth) for m, count in gpus.items())
        whole = demand.is_whole(gpus, cluster.rack_of) and placer.split(demand, cluster, gpus) <= split
        if allowed and whole:
            return gpus
    return None
