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
        The most that it sends on each link that has a capacity, byte/ns.
    """

    iteration: Sending
    alone_ns: float
    loads: Mapping[Link, float]


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
        self._capacity = shared.capacity
        self._profile = profile
        self._compute = compute
        self._senders: dict[tuple[str, Demand, Allocation], _Sender] = {}

    def sending(
        self, spec: JobSpec, allocation: Allocation, cluster: Cluster, parts: IterationParts
    ) -> Sending | None:
        """Return what a job sends in an iteration with these parts; None if it sends on no shared link."""
        sender = self._sender(spec, allocation, cluster)
        if sender is None:
            return None
        return sender.iteration.stretched(*self._times(spec, allocation, cluster, parts, sender))

    def touched(self, changed: Sequence[Changed], running: Running) -> Iterable[int]:
        """Return the jobs joined to a change by links that are, or were, offered too much."""
        cluster, links = running.cluster, dict[Link, float]()  # what is offered by allocations that are gone
        for job, before, after in changed:
            if after is not None and len(after.slices) > 1:
                sender = self._sender(running.spec(job), after, cluster)
                links.update((link, links.get(link, 0.0)) for link in (sender.loads if sender else ()))
            if before is not None and before is not after and len(before.slices) > 1:
                sender = self._sender(running.spec(job), before, cluster)
                for link, rate in sender.loads.items() if sender else ():
                    links[link] = links.get(link, 0.0) + rate
        return self._joined(links, running)

    def coupled(
        self, prices: Mapping[int, IterationParts], running: Running, alone: Alone
    ) -> Mapping[int, IterationParts]:
        """Return the parts of those jobs whose iterations others on their links make longer."""
        cluster, links = running.cluster, dict[Link, float]()
        for job in prices:
            allocation = running.allocation(job)
            sender = self._sender(running.spec(job), allocation, cluster)
            links.update(dict.fromkeys(sender.loads if sender else (), 0.0))
        found = self._joined(links, running)
        if len(found) < 2:
            return {}
        jobs = sorted(found)  # the answer must not depend on the order of the question
        all_parts = [prices[job] if job in prices else alone(job) for job in jobs]
        times = [
            self._times(running.spec(job), running.allocation(job), cluster, parts, found[job])
            for job, parts in zip(jobs, all_parts, strict=True)
        ]
        stretch, waiting_ns = zip(*times, strict=True)
        iterations = [found[job].iteration for job in jobs]
        shift_ns = [running.shift_ns(job) for job in jobs]
        together = self._shared.together(iterations, shift_ns, stretch=stretch, waiting_ns=waiting_ns)
        longer = {}
        for job, parts, (time, wait_ns), together_ns in zip(jobs, all_parts, times, together, strict=True):
            added_ns = round(together_ns - time * found[job].alone_ns - wait_ns)
            if added_ns > 0 and job in prices:
                longer[job] = parts._replace(contention_ns=parts.contention_ns + added_ns)
        return longer

    def _joined(self, links: Mapping[Link, float], running: Running) -> dict[int, _Sender]:
        """Return the senders that links could join, directly or through others.

        Parameters
        ----------
        links
            Where to begin, and what is offered there besides, byte/ns.
        """
        found: dict[int, _Sender] = {}
        seen, todo = set(links), list(links)
        while todo:
            link = todo.pop()
            there, load = [], links.get(link, 0.0)
            for job in _crossing(link, running):
                sender = self._sender(running.spec(job), running.allocation(job), running.cluster)
                if sender is not None and link in sender.loads:
                    there.append((job, sender))
                    load += sender.loads[link]
            if load > self._capacity[link] * _FULL:
                found.update(there)
                new = dict.fromkeys(each for _, sender in there for each in sender.loads if each not in seen)
                seen.update(new)
                todo += new
        return found

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
            loads = self._shared.loads(iteration)
            sender = self._senders[question] = _Sender(iteration, iteration.alone_ns, loads)
        return sender

    def _times(
        self, spec: JobSpec, allocation: Allocation, cluster: Cluster, parts: IterationParts, sender: _Sender
    ) -> tuple[float, int]:
        """Return the compute time of the GPUs / that of the profile, and what comes before it, in ns."""
        compute_ns = self._compute.ns(spec, allocation, cluster)
        if spec.stages is not None:  # as for exposed communication: the stage of the GPUs counts
            factor = self._compute.factor(spec.demand, allocation, cluster)
            compute_ns = min(compute_ns, scaled(spec.stages.gpu_ns, factor))
        waiting_ns = parts.compute_ns - compute_ns + parts.input_stall_ns + parts.interference_ns
        return compute_ns / max(sender.iteration.compute_ns, 1), max(waiting_ns, 0)


def _crossing(link: Link, running: Running) -> Sequence[int]:
    """Return the running jobs that may use a link."""
    if link.tier == "rack":
        return running.crossing_rack(link.place)
    return running.crossing_machine(link.place)
