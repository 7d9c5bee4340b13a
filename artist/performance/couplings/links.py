"""How jobs on the same links affect each other: ports of machines, and uplinks of racks.

While others send on a link, a job's collectives take longer there. The iteration is walked again with those
times, so communication that computing hides costs nothing until it outlasts it; what the walk adds is
`contention_ns`. How fast each sends is the answer of `netmodels.api.SharedLinks`.

A job counts as long as it holds its GPUs, also in its delays (ASSUMPTION, as for memory bandwidth), and
members of a group count as senders each (ASSUMPTION).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from artist.core.cluster import Allocation, Cluster
from artist.core.iteration import IterationParts
from artist.core.job import Demand, JobSpec
from artist.performance.api import Changed, Running
from artist.performance.couplings.api import Alone
from artist.performance.effects.compute import Compute, scaled
from netmodels.api import Link, Profile, Sending, SharedLinks

_FULL = 1 + 1e-10
"""A link may be overloaded beyond this load, as a share of its capacity; less is rounding."""
_MOST_KEPT = 50_000


class _Sender(NamedTuple):
    """What a job does to links where it is placed, at the compute time of its profile.

    Attributes
    ----------
    iteration
        Its iteration alone.
    alone_ns
        What that takes.
    loads
        The most that it sends on each link that has a capacity, byte/ns, by the number of the link.
    """

    iteration: Sending
    alone_ns: float
    loads: Mapping[int, float]


class _Job(NamedTuple):
    """What is remembered of a running job.

    Attributes
    ----------
    spec, allocation
        What it is and holds: what the rest holds for.
    sender
        What it sends.
    stretch
        Time that its GPUs compute in an iteration / that of the profile.
    compute_ns
        That time.
    """

    spec: JobSpec
    allocation: Allocation
    sender: _Sender
    stretch: float
    compute_ns: int


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
        self._numbers: dict[Link, int] = {}
        self._most: list[float] = []  # what links carry, by number, and where they are
        self._places: list[tuple[bool, int]] = []
        self._senders: dict[tuple[str, Demand, Allocation], _Sender] = {}
        self._jobs: dict[int, _Job] = {}
        self._touched: tuple[Running | None, dict[int, _Job]] = None, {}

    def sending(
        self, spec: JobSpec, allocation: Allocation, cluster: Cluster, parts: IterationParts
    ) -> Sending | None:
        """Return what a job sends in an iteration with these parts; None if it sends on no shared link."""
        job = self._made(spec, allocation, cluster)
        return None if job is None else job.sender.iteration.stretched(job.stretch, _waiting_ns(job, parts))

    def touched(self, changed: Sequence[Changed], running: Running) -> Iterable[int]:
        """Return the jobs joined to a change by links that are, or were, offered too much."""
        links: dict[int, float] = {}  # what is offered by allocations that are gone
        for job, before, after in changed:
            if after is not None and len(after.slices) > 1:
                sender = self._sender(running.spec(job), after, running.cluster)
                links.update((link, links.get(link, 0.0)) for link in (sender.loads if sender else ()))
            if before is not None and before is not after and len(before.slices) > 1:
                sender = self._sender(running.spec(job), before, running.cluster)
                for link, rate in sender.loads.items() if sender else ():
                    links[link] = links.get(link, 0.0) + rate
                self._jobs.pop(job, None)
        found = self._joined(links, running) if links else {}
        self._touched = running, found  # for `coupled`: until then nothing changes
        return found

    def coupled(
        self, prices: Mapping[int, IterationParts], running: Running, alone: Alone
    ) -> Mapping[int, IterationParts]:
        """Return the parts of those jobs whose iterations others on their links make longer."""
        last, known = self._touched
        found, links = dict(known) if last is running else {}, dict[int, float]()
        for number in prices:
            if number not in found and len(running.allocation(number).slices) > 1:
                job = self._job(number, running)
                links.update(dict.fromkeys(job.sender.loads if job else (), 0.0))
        if links:
            found |= self._joined(links, running)
        if len(found) < 2:
            return {}
        numbers = sorted(found)  # the answer must not depend on the order of the question
        jobs = [found[number] for number in numbers]
        parts = [prices[number] if number in prices else alone(number) for number in numbers]
        waiting_ns = list(map(_waiting_ns, jobs, parts))
        together = self._shared.together(
            [job.sender.iteration for job in jobs],
            [running.shift_ns(number) for number in numbers],
            stretch=[job.stretch for job in jobs],
            waiting_ns=waiting_ns,
        )
        longer = {}
        for number, job, own, wait_ns, all_ns in zip(numbers, jobs, parts, waiting_ns, together, strict=True):
            added_ns = round(all_ns - job.stretch * job.sender.alone_ns - wait_ns)
            if added_ns > 0 and number in prices:
                longer[number] = own._replace(contention_ns=own.contention_ns + added_ns)
        return longer

    def _joined(self, links: Mapping[int, float], running: Running) -> dict[int, _Job]:
        """Return the senders that links could join, directly or through others.

        Parameters
        ----------
        links
            Where to begin, and what is offered there besides, byte/ns, by the number of the link.
        """
        found: dict[int, _Job] = {}
        known: dict[int, _Job | None] = {}
        seen, todo = set(links), list(links)
        while todo:
            link = todo.pop()
            is_uplink, place = self._places[link]
            there, load = [], links.get(link, 0.0)
            for number in running.crossing_rack(place) if is_uplink else running.crossing_machine(place):
                if number not in known:
                    known[number] = self._job(number, running)
                job = known[number]
                if job is not None and link in job.sender.loads:
                    there.append((number, job))
                    load += job.sender.loads[link]
            if load > self._most[link]:
                for number, job in there:
                    if number not in found:
                        found[number] = job
                        todo += [each for each in job.sender.loads if each not in seen]
                        seen.update(job.sender.loads)
        return found

    def _job(self, number: int, running: Running) -> _Job | None:
        """Return a running job that sends between machines; None for another."""
        spec, allocation = running.spec(number), running.allocation(number)
        job = self._jobs.get(number)
        if job is not None and job.allocation is allocation and job.spec is spec:
            return job
        job = self._made(spec, allocation, running.cluster)
        if job is not None:
            if len(self._jobs) >= _MOST_KEPT:
                self._jobs.clear()
            self._jobs[number] = job
        return job

    def _made(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> _Job | None:
        sender = self._sender(spec, allocation, cluster)
        if sender is None:
            return None
        compute_ns = self._compute.ns(spec, allocation, cluster)
        if spec.stages is not None:  # as for exposed communication: the stage of the GPUs counts
            factor = self._compute.factor(spec.demand, allocation, cluster)
            compute_ns = min(compute_ns, scaled(spec.stages.gpu_ns, factor))
        return _Job(spec, allocation, sender, compute_ns / max(sender.iteration.compute_ns, 1), compute_ns)

    def _sender(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> _Sender | None:
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
            loads = {self._number(link): load for link, load in self._shared.loads(iteration).items()}
            sender = self._senders[question] = _Sender(iteration, iteration.alone_ns, loads)
        return sender

    def _number(self, link: Link) -> int:
        number = self._numbers.setdefault(link, len(self._numbers))
        if number == len(self._most):
            self._most.append(self._shared.capacity[link] * _FULL)
            self._places.append((link.tier == "rack", link.place))
        return number


def _waiting_ns(job: _Job, parts: IterationParts) -> int:
    """Return how long a job waits in an iteration before its GPUs compute."""
    waiting_ns = parts.compute_ns - job.compute_ns + parts.input_stall_ns + parts.interference_ns
    return max(waiting_ns, 0)
