"""Contention of jobs on the same links: ports of machines, and uplinks of racks.

While others send on a link, a job's collectives take longer there. The iteration is walked again with those
times, so communication that computing hides costs nothing until it outlasts it; the time added is
`contention_ns`. How fast each sends is the answer of `netmodels.api.SharedLinks`.

A job counts as long as it holds its GPUs, also in its delays (ASSUMPTION, as for memory bandwidth), and
members of a group count as senders each (ASSUMPTION).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Self
from weakref import WeakKeyDictionary

from artist.core.cluster import Allocation, Cluster
from artist.core.iteration import IterationParts
from artist.core.job import Demand, JobSpec
from artist.performance.api import Changed, Logged, Running
from artist.performance.couplings.api import Alone
from artist.performance.couplings.crossing import (
    Asked,
    Freed,
    Index,
    Kept,
    LinkTable,
    LinkUser,
    components,
)
from artist.performance.effects.communication import profile_on
from artist.performance.effects.compute import Compute, scaled
from netmodels.api import JobTraffic, LinkLoad, Profile, SharedLinks

_MAX_KEPT = 50_000


_AloneThere = Callable[[JobSpec, Allocation, Cluster], IterationParts]


@dataclass(slots=True)
class _Joined:
    """Jobs joined by links that they could overload, and how much longer the others make their iterations."""

    jobs: Mapping[int, LinkUser]
    added_ns: Mapping[int, int] | None = None


@dataclass(slots=True)
class _Asked:
    """A question: the jobs that run and change, and those joined to them."""

    running: Running
    index: Index
    changed: set[int]
    components: list[_Joined]


class Links:
    """Jobs that could overload a link together make each other's iterations longer.

    These jobs are found breadth-first from the change, by the jobs that cross each link; the cost
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
        self._alone: _AloneThere | None = None
        self._profile = profile
        self._compute = compute
        self._table = LinkTable(shared.capacity)
        self._senders: dict[tuple[str, Demand, Allocation], LinkLoad] = {}
        self._users: dict[int, LinkUser] = {}
        self._kept: WeakKeyDictionary[Running, Kept] = WeakKeyDictionary()
        # Of the question that is being answered: until the next one nothing changes.
        self._asked: _Asked | None = None

    def among(self, alone: _AloneThere | None) -> Self:
        """Return these links in a chain of couplings.

        Parameters
        ----------
        alone
            The parts of a job where it is placed, if no other coupling but groups affects it; else None.
        """
        other = copy(self)
        other._alone, other._asked, other._users, other._kept = alone, None, {}, WeakKeyDictionary()
        return other

    def sending(
        self, spec: JobSpec, allocation: Allocation, cluster: Cluster, parts: IterationParts
    ) -> JobTraffic | None:
        """Return the traffic of an iteration with these parts; None if the job sends on no shared link."""
        job = self._made(spec, allocation, cluster)
        return None if job is None else job.load.iteration.stretched(job.stretch, _waiting_ns(job, parts))

    def touched(self, changed: Sequence[Changed], running: Running) -> Iterable[int]:
        """Return the jobs joined to a change by links that are, or were, offered too much.

        Of jobs that run at known prices only those whose prices change, where no other coupling matters.
        """
        seeds = self._seeds(changed, running)
        index = self._index(running)
        joined = [_Joined(jobs) for jobs in components(index, self._table.most, seeds)] if seeds else []
        asked = self._asked = _Asked(running, index, {job for job, _, _ in changed}, joined)
        if self._alone is None or not isinstance(index, Kept):
            return [job for component in joined for job in component.jobs]
        news: list[int] = []
        for component in joined:
            component.added_ns = added_ns = {}
            was_ns = index.added_ns(component.jobs.keys() - asked.changed)
            if index.slows(component.jobs):
                component.added_ns = added_ns = self._added_ns(component.jobs, running)
            news += [job for job in component.jobs if was_ns.get(job, 0) != added_ns.get(job, 0)]
        return news

    def _seeds(self, changed: Sequence[Changed], running: Running) -> dict[int, Freed]:
        """Return the links that changed jobs load, or loaded before, with the loads that are gone."""
        seeds: dict[int, Freed] = {}
        for job, before, after in changed:
            if after is not None and len(after.slices) > 1:
                sender = self._sender(running.spec(job), after, running.cluster)
                seeds.update((link, seeds.get(link, Freed())) for link in (sender.loads if sender else ()))
            if before is not None and before is not after and len(before.slices) > 1:
                sender = self._sender(running.spec(job), before, running.cluster)
                for link, load in sender.loads.items() if sender else ():
                    gone = seeds.get(link, Freed())
                    seeds[link] = Freed(gone.load + load, gone.jobs + 1)
        return seeds

    def coupled(
        self, prices: Mapping[int, IterationParts], running: Running, alone: Alone
    ) -> Mapping[int, IterationParts]:
        """Return the parts of those jobs whose iterations others on their links make longer."""
        if self._asked is None or self._asked.running is not running:
            self.touched((), running)
        asked = self._asked
        assert asked is not None
        known = asked.changed.union(*(component.jobs for component in asked.components))
        seeds: dict[int, Freed] = {}
        for job in prices:
            if job not in known and len((held := running.allocation(job)).slices) > 1:
                user = self._user(job, running.spec(job), held, running.cluster)
                seeds.update(dict.fromkeys(user.load.loads if user else (), Freed()))
        if seeds:
            asked.components += map(_Joined, components(asked.index, self._table.most, seeds))
        longer: dict[int, IterationParts] = {}
        for component in asked.components:
            jobs = component.jobs
            if jobs.keys().isdisjoint(prices):
                continue
            if component.added_ns is None:
                component.added_ns = self._added_ns(jobs, running, lambda job: prices.get(job) or alone(job))
            for job, added_ns in component.added_ns.items():
                parts = prices.get(job)
                if parts is not None:
                    longer[job] = parts._replace(contention_ns=parts.contention_ns + added_ns)
        return longer

    def _index(self, running: Running) -> Index:
        """Return the jobs on each link."""
        cluster = running.cluster

        def user(job: int, spec: JobSpec, held: Allocation) -> LinkUser | None:
            return self._user(job, spec, held, cluster)

        kept = self._kept.get(running)
        if kept is None:
            if not isinstance(running, Logged):
                return Asked(self._table, running, user)
            kept = self._kept[running] = Kept(self._table, running, user)
        kept.follow(running)
        return kept

    def _added_ns(
        self, component: Mapping[int, LinkUser], running: Running, alone: Alone | None = None
    ) -> dict[int, int]:
        """Return the time that the others add to the iterations of the jobs of a component."""
        if len(component) < 2:
            return {}
        numbers = sorted(component)  # the answer must not depend on the order of the question
        jobs = [component[number] for number in numbers]
        waiting_ns = [
            _waiting_ns(job, alone(number)) if alone else job.waiting_ns
            for number, job in zip(numbers, jobs, strict=True)
        ]
        together = self._shared.together(
            [job.load.iteration for job in jobs],
            [running.shift_ns(number) for number in numbers],
            stretch=[job.stretch for job in jobs],
            waiting_ns=waiting_ns,
            joined=True,
        )
        longer = {}
        for number, job, wait_ns, all_ns in zip(numbers, jobs, waiting_ns, together, strict=True):
            added_ns = round(all_ns - job.stretch * job.load.alone_ns - wait_ns)
            if added_ns > 0:
                longer[number] = added_ns
        return longer

    def _user(self, number: int, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> LinkUser | None:
        """Return a running job that sends between machines; None for another."""
        job = self._users.get(number)
        if job is not None and job.allocation is allocation and job.spec is spec:
            return job
        job = self._made(spec, allocation, cluster)
        if job is not None:
            if len(self._users) >= _MAX_KEPT:
                self._users.clear()
            self._users[number] = job
        return job

    def _made(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> LinkUser | None:
        sender = self._sender(spec, allocation, cluster)
        if sender is None:
            return None
        compute_ns = self._compute.ns(spec, allocation, cluster)
        if spec.stages is not None:  # as for exposed communication: the stage of the GPUs counts
            factor = self._compute.factor(spec.demand, allocation, cluster)
            compute_ns = min(compute_ns, scaled(spec.stages.gpu_ns, factor))
        if not compute_ns:
            return None  # communication is a share of computing
        stretch = compute_ns / max(sender.iteration.compute_ns, 1)
        job = LinkUser(spec, allocation, sender, stretch, compute_ns, 0)
        if self._alone is None:
            return job
        return job._replace(waiting_ns=_waiting_ns(job, self._alone(spec, allocation, cluster)))

    def _sender(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> LinkLoad | None:
        """Return a job that uses links between machines; None for another."""
        if not spec.model or len(allocation.slices) < 2 or not spec.demand.gpus:
            return None
        question = spec.model, spec.demand, allocation
        sender = self._senders.get(question)
        if sender is None:
            if len(self._senders) >= _MAX_KEPT:
                self._senders.clear()
            machines = cluster.machines
            profile = profile_on(self._profile(spec.model), self._compute, spec.demand, allocation, cluster)
            placement = [
                (machines[s.machine].rack, s.machine, machines[s.machine].type, s.gpus)
                for s in allocation.slices
            ]
            sender = self._senders[question] = self._shared.load(self._shared.traffic(profile, placement))
        return sender


def _waiting_ns(job: LinkUser, parts: IterationParts) -> int:
    """Return the waiting of a job in an iteration before its GPUs compute."""
    waiting_ns = parts.compute_ns - job.compute_ns + parts.input_stall_ns + parts.interference_ns
    return max(waiting_ns, 0)
