"""DRF: the user that holds least is served first.

In plain words: jobs wait in a queue for each user and kind (GPU jobs, CPU-only jobs), in which none overtakes
another. Next is the first job of the user that holds least: the fewest GPUs, then the fewest CPUs (`resource`
gpu), or the smallest dominant share, the larger of a user's shares of the cluster's GPUs and CPUs
(`dominant`); ties by the number of the job. If it finds no room, its user is passed over for jobs of that
kind until something becomes free or a machine changes. No job is stopped. With one user this is first come,
first served, with a queue for each kind.

Paper: Ghodsi et al., Dominant Resource Fairness, NSDI 2011, section 4.1. As the baseline of Zhao et al.,
CODA, ICDCS 2020, section VI-A: GPUs are the dominant resource, and jobs get the CPUs that they ask for.

Differs from the paper: users have equal weights, and memory does not count. CODA's tenants are the users of
jobs here; jobs without one belong to one user. CODA specifies neither ties nor whether a user whose job does
not fit holds up the others. CPUs count as at the start of a job.
"""

from collections.abc import Callable, Sequence
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from artist.core.cluster import Cluster
from artist.core.events import Arrival, Finish, Stop
from artist.core.free import Free
from artist.core.job import JobSpec
from artist.core.plan import Plan, PlanBuilder
from artist.core.view import ClusterView
from artist.policies.basic.freed_machines import Freed
from artist.policies.parts.fill import AnyFill
from artist.policies.parts.parameters import STRICT
from artist.policies.parts.placement import AnyChooser, Split
from artist.policies.parts.placer import Packing, placer_of
from artist.policies.parts.units import Align
from artist.policies.parts.user_queues import First, Holdings, Rank, UserQueues, notes_on_users


@dataclass(config=STRICT)
class Drf:
    """Serves the user that holds least."""

    resource: Literal["gpu", "dominant"] = "gpu"
    placement: AnyChooser = "consolidate"
    split: Split = "packed"
    align: Align = "none"
    fill: AnyFill = "as_asked"
    seed: int = Field(default=0, ge=0)

    def __post_init__(self) -> None:
        self._placer = placer_of(self.placement, self.fill, self.seed, self.split, self.align)
        self._freed = Freed(self.placement, self.fill)
        self._held: dict[int, tuple[str, int, int]] = {}  # by running job: user, GPUs, CPUs

    def notes(self, cluster: Cluster, jobs: Sequence[JobSpec]) -> Sequence[str]:
        """Return notes on the users of jobs."""
        return notes_on_users(jobs)

    def decide(self, view: ClusterView) -> Plan:
        """Start jobs as far as there is room, those of the user that holds least first."""
        made_room = self._look(view)
        plan = view.plan()
        if view.n_waiting:
            free = self._try_again(view) if made_room else None
            self._start(view, plan, free)
        return plan.done()

    def _begin(self, view: ClusterView) -> None:
        """Set up the queues, which depend on the cluster."""
        self._holdings = Holdings((lambda *held: held) if self.resource == "gpu" else _by_share(view.cluster))
        self._queues = {with_gpus: UserQueues(self._holdings) for with_gpus in (True, False)}

    def _look(self, view: ClusterView) -> bool:
        """Track waiting jobs and users' holdings; return whether anything may have become free."""
        if not hasattr(self, "_queues"):
            self._begin(view)
        for event in view.news:
            if isinstance(event, Finish | Stop):
                self._holdings.give(*self._held.pop(event.job))
            if isinstance(event, Arrival | Stop):
                self._wait(view, event.job)
        return self._freed.look(view)

    def _wait(self, view: ClusterView, job: int) -> None:
        demand = view.demand(job)
        user = str(view.columns([job]).user[0])
        self._queues[demand.gpus > 0].push(job, user, demand)

    def _try_again(self, view: ClusterView) -> Free:
        """Consider users again whose refused jobs may fit the free resources; return these."""
        free = view.free()
        for queue in self._queues.values():
            queue.look_again(lambda demand: self._freed.may_fit(free, demand))
        return free

    def _start(self, view: ClusterView, plan: PlanBuilder, free: Free | None) -> None:
        packing: Packing | None = None
        while (first := self._next()) is not None:
            packing = packing or Packing(free or view.free())
            allocation = packing.place(first.demand, self._placer)
            queue = self._queues[first.demand.gpus > 0]
            if allocation is None:
                queue.pass_over_alike(first.demand)
                continue
            queue.take(first.user)
            plan.place(first.job, allocation)
            held = self._held[first.job] = first.user, allocation.gpus, allocation.cpus
            self._holdings.hold(*held)
            self._freed.hold(first.job)

    def _next(self) -> First | None:
        """Return the job to try next, of either kind."""
        of_gpus, of_cpus = self._queues[True].next(), self._queues[False].next()
        if of_gpus is None or of_cpus is None:
            return of_gpus or of_cpus
        return min(of_gpus, of_cpus)


def _by_share(cluster: Cluster) -> Callable[[int, int], Rank]:
    """Return the rank by dominant share, as a whole number: a share x all GPUs x all CPUs."""
    all_gpus, all_cpus = max(1, int(cluster.gpus.sum())), max(1, int(cluster.cpus.sum()))
    return lambda gpus, cpus: (max(gpus * all_cpus, cpus * all_gpus),)
