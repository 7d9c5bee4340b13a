"""Offers of GPUs at one instant by a policy with leases. For Dally."""

from collections.abc import Iterator, Mapping, Set
from functools import partial

from artist.core.cluster import TIERS, Allocation, Tier, tier_of
from artist.core.job import Demand
from artist.core.plan import PlanBuilder
from artist.core.view import ClusterView
from artist.policies.parts.locality import apart
from artist.policies.parts.placer import Placer


class Offers:
    """GPUs on offer at one instant: idle ones, and those of running jobs whose lease has ended.

    Attributes
    ----------
    ended
        Allocations of the jobs whose lease has ended and that no GPUs were offered to yet.
    stopped
        Allocations of those that were preempted.
    """

    def __init__(
        self,
        view: ClusterView,
        plan: PlanBuilder,
        placers: Mapping[Tier, Placer],
        ended: dict[int, Allocation],
    ) -> None:
        self.view = view
        self.ended = ended
        self._plan = plan
        self._placers = placers
        self.stopped: dict[int, Allocation] = {}
        self._idle = view.free()
        self._all = self._idle  # with the GPUs whose lease has ended
        if ended:
            self._all = view.free()
            for allocation in ended.values():
                self._all.give(allocation)
        self._no: set[tuple[Demand, Tier]] = set()

    def renew(self, key: Mapping[int, float], current: float) -> list[tuple[int, Allocation]]:
        """Renew leases of jobs whose key is at most that of the current job; return these jobs."""
        renewed: list[tuple[int, Allocation]] = []
        while self.ended and key[job := next(iter(self.ended))] <= current:
            renewed.append((job, self.ended.pop(job)))
            self._all.take(renewed[-1][1])
        return renewed

    def move_nearer(self, job: int, held: Allocation) -> Allocation | None:
        """Move a job whose lease was renewed to idle or own GPUs of a nearer tier; None if it stays."""
        demand, cluster = self.view.demand(job), self.view.cluster
        narrowest = int(demand.gpus > cluster.largest_machine)
        self._idle.give(held)
        for tier in TIERS[narrowest : tier_of(held, cluster)]:
            allocation = self._placers[tier].place(self._idle, demand)
            if allocation is not None:
                self._idle.take(allocation)
                if self._all is not self._idle:
                    self._all.give(held)
                    self._all.take(allocation)
                self._plan.place(job, allocation)
                return allocation
        self._idle.take(held)
        return None

    def take_back(self, job: int) -> None:
        """Preempt a job whose lease has ended; it is offered GPUs later in the order."""
        allocation = self.stopped[job] = self.ended.pop(job)
        self._idle.give(allocation)
        self._plan.stop(job)

    def place(self, job: int, demand: Demand, widest: Tier) -> Allocation | None:
        """Place a job as near as possible, idle GPUs first in each tier; None if it waits.

        A preempted job keeps its GPUs unless it can get nearer GPUs.
        """
        before = self.stopped.get(job)
        if before is not None and not self._idle.fits(before):
            before = None
        cluster = self.view.cluster
        allocation = (
            before if before and not apart(before, demand.gpus, cluster) else self._found(demand, widest)
        )
        if allocation is None:
            return None
        span = partial(self._placers[widest].span, demand, cluster)
        if before and span(allocation) >= span(before):
            allocation = before
        self._idle.take(allocation)
        if self._all is not self._idle:
            self._all.take(allocation)
        if self.stopped.get(job) == allocation:
            self._plan.keep(job)
        else:
            self._plan.place(job, allocation)
        return allocation

    def _found(self, demand: Demand, widest: Tier) -> Allocation | None:
        if (demand, widest) in self._no or demand.min_feasible_gpus > self._all.total_gpus:
            return None
        narrowest = int(demand.gpus > self.view.cluster.largest_machine)
        for tier in TIERS[narrowest : TIERS.index(widest) + 1]:
            allocation = self._placers[tier].place(self._idle, demand)
            if allocation is None and self.ended and demand.gpus:  # CPUs are never taken from a lease
                wanted = self._placers[tier].place(self._all, demand)
                if wanted is not None:
                    allocation = self._freed(wanted, demand, self._placers[tier])
            if allocation is not None:
                return allocation
        self._no.add((demand, widest))
        return None

    def _freed(self, wanted: Allocation, demand: Demand, placer: Placer) -> Allocation | None:
        """Preempt jobs whose lease has ended until the wanted GPUs are idle: the last in order first."""
        gpus = wanted.gpu_map()
        for machine, count in gpus.items():
            while self._idle.gpus[machine] < count:
                self.take_back(next(self._on({machine})))
        while (allocation := placer.fill.fill(self._idle, demand, gpus)) is None:  # CPUs, memory
            last = next(self._on(gpus.keys()), None)
            if last is None:
                return None
            self.take_back(last)
        return allocation

    def _on(self, machines: Set[int]) -> Iterator[int]:
        """Yield the jobs on some machines whose lease has ended, the last in order first."""
        return (job for job in reversed(self.ended) if machines & self.ended[job].gpu_map().keys())
