"""How jobs on the same links affect each other: ports of machines, and uplinks of racks.

While others send on a link, a job's collectives take longer there. The iteration is walked again with those
times, so communication that computing hides costs nothing until it outlasts it; what the walk adds is
`contention_ns`. How fast each sends is the answer of `netmodels.api.SharedLinks`.

A job counts as long as it holds its GPUs, also in its delays (ASSUMPTION, as for memory bandwidth), and
members of a group count as senders each (ASSUMPTION).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

from artist.core.cluster import Allocation, Cluster
from artist.core.iteration import IterationParts
from artist.core.job import Demand, JobSpec
from artist.performance.api import Changed, Logged, Running
from artist.performance.couplings.api import Alone
from artist.performance.couplings.crossing import (
    Asked,
    Crosser,
    Index,
    Kept,
    LinkTable,
    Sender,
    components,
)
from artist.performance.effects.compute import Compute, scaled
from netmodels.api import Profile, Sending, SharedLinks

_MOST_KEPT = 50_000


class Links:
    """Jobs that could overload a link together make each other's iterations longer.

    Which jobs these are is found breadth-first from what changed, by the jobs that cross each link; the cost
    grows with the jobs that are affected, not with those that run.

    Parameters
    ----------
    shared
        The links, and how long jobs take that share them.
    profile, compute
        As for `artist.performance.effects.communication.Communication`.
    """

    def __init__(self, shared: SharedLinks, profile: Callable[[str], Profile], compute: Compute) -> None:
        self._shared = shared
        self._profile = profile
        self._compute = compute
        self._table = LinkTable(shared.capacity)
        self._senders: dict[tuple[str, Demand, Allocation], Sender] = {}
        self._crossers: dict[int, Crosser] = {}
        self._kept: WeakKeyDictionary[Running, Kept] = WeakKeyDictionary()
        # Of the question that is being answered: until the next one nothing changes.
        self._asked: tuple[Running, Index, list[dict[int, Crosser]]] | None = None

    def sending(
        self, spec: JobSpec, allocation: Allocation, cluster: Cluster, parts: IterationParts
    ) -> Sending | None:
        """Return what a job sends in an iteration with these parts; None if it sends on no shared link."""
        job = self._made(spec, allocation, cluster)
        return None if job is None else job.sender.iteration.stretched(job.stretch, _waiting_ns(job, parts))

    def touched(self, changed: Sequence[Changed], running: Running) -> Iterable[int]:
        """Return the jobs joined to a change by links that are, or were, offered too much."""
        seeds: dict[int, float] = {}  # links, and what was offered there by allocations that are gone
        for job, before, after in changed:
            if after is not None and len(after.slices) > 1:
                sender = self._sender(running.spec(job), after, running.cluster)
                seeds.update((link, seeds.get(link, 0.0)) for link in (sender.loads if sender else ()))
            if before is not None and before is not after and len(before.slices) > 1:
                sender = self._sender(running.spec(job), before, running.cluster)
                for link, load in sender.loads.items() if sender else ():
                    seeds[link] = seeds.get(link, 0.0) + load
        index = self._index(running)
        found = components(index, self._table.most, seeds) if seeds else []
        self._asked = running, index, found
        return [job for component in found for job in component]

    def coupled(
        self, prices: Mapping[int, IterationParts], running: Running, alone: Alone
    ) -> Mapping[int, IterationParts]:
        """Return the parts of those jobs whose iterations others on their links make longer."""
        if self._asked is None or self._asked[0] is not running:
            self.touched((), running)
        assert self._asked is not None
        _, index, found = self._asked
        known = {job for component in found for job in component}
        seeds: dict[int, float] = {}
        for job in prices:
            if job not in known and len((held := running.allocation(job)).slices) > 1:
                crosser = self._crosser(job, running.spec(job), held, running.cluster)
                seeds.update(dict.fromkeys(crosser.sender.loads if crosser else (), 0.0))
        if seeds:
            found += components(index, self._table.most, seeds)
        longer: dict[int, IterationParts] = {}
        for component in found:
            if len(component) > 1 and not component.keys().isdisjoint(prices):
                longer |= self._together(component, prices, running, alone)
        return longer

    def _index(self, running: Running) -> Index:
        """Return the jobs on each link."""
        cluster = running.cluster

        def crosser(job: int, spec: JobSpec, held: Allocation) -> Crosser | None:
            return self._crosser(job, spec, held, cluster)

        kept = self._kept.get(running)
        if kept is None:
            if not isinstance(running, Logged):
                return Asked(self._table, running, crosser)
            kept = self._kept[running] = Kept(self._table, running, crosser)
        kept.follow(running)
        return kept

    def _together(
        self,
        component: Mapping[int, Crosser],
        prices: Mapping[int, IterationParts],
        running: Running,
        alone: Alone,
    ) -> dict[int, IterationParts]:
        """Return the parts of those jobs of a component whose iterations the others make longer."""
        numbers = sorted(component)  # the answer must not depend on the order of the question
        jobs = [component[number] for number in numbers]
        parts = [prices[number] if number in prices else alone(number) for number in numbers]
        waiting_ns = list(map(_waiting_ns, jobs, parts))
        together = self._shared.together(
            [job.sender.iteration for job in jobs],
            [running.shift_ns(number) for number in numbers],
            stretch=[job.stretch for job in jobs],
            waiting_ns=waiting_ns,
            joined=True,
        )
        longer = {}
        for number, job, own, wait_ns, all_ns in zip(numbers, jobs, parts, waiting_ns, together, strict=True):
            added_ns = round(all_ns - job.stretch * job.sender.alone_ns - wait_ns)
            if added_ns > 0 and number in prices:
                longer[number] = own._replace(contention_ns=own.contention_ns + added_ns)
        return longer

    def _crosser(
        self, number: int, spec: JobSpec, allocation: Allocation, cluster: Cluster
    ) -> Crosser | None:
        """Return a running job that sends between machines; None for another."""
        job = self._crossers.get(number)
        if job is not None and job.allocation is allocation and job.spec is spec:
            return job
        job = self._made(spec, allocation, cluster)
        if job is not None:
            if len(self._crossers) >= _MOST_KEPT:
                self._crossers.clear()
            self._crossers[number] = job
        return job

    def _made(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> Crosser | None:
        sender = self._sender(spec, allocation, cluster)
        if sender is None:
            return None
        compute_ns = self._compute.ns(spec, allocation, cluster)
        if spec.stages is not None:  # as for exposed communication: the stage of the GPUs counts
            factor = self._compute.factor(spec.demand, allocation, cluster)
            compute_ns = min(compute_ns, scaled(spec.stages.gpu_ns, factor))
        if not compute_ns:
            return None  # communication is a share of computing
        return Crosser(spec, allocation, sender, compute_ns / max(sender.iteration.compute_ns, 1), compute_ns)

    def _sender(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> Sender | None:
        """Return a job that uses links between machines; None for another."""
        if not spec.model or len(allocation.slices) < 2 or not spec.demand.gpus:
            return None
        question = spec.model, spec.demand, allocation
        sender = self._senders.get(question)
        if sender is None:
            if len(self._senders) >= _MOST_KEPT:
                self._senders.clear()
            machines, profile = cluster.machines, self._profile(spec.model)
            factor = self._compute.factor(spec.demand, allocation, cluster, measured_speed=1.0)
            placement = [
                (machines[s.machine].rack, s.machine, machines[s.machine].type, s.gpus)
                for s in allocation.slices
            ]
            iteration = self._shared.sending(profile.scaled(factor) if factor != 1.0 else profile, placement)
            loads = {self._table.number(link): load for link, load in self._shared.loads(iteration).items()}
            slack = self._shared.slack(iteration)
            sender = self._senders[question] = Sender(iteration, iteration.alone_ns, slack, loads)
        return sender


def _waiting_ns(job: Crosser, parts: IterationParts) -> int:
    """Return how long a job waits in an iteration before its GPUs compute."""
    waiting_ns = parts.compute_ns - job.compute_ns + parts.input_stall_ns + parts.interference_ns
    return max(waiting_ns, 0)
