"""Jobs of one cluster that share links: how long their iterations take beside each other.

Jobs are joined by links that they could overload together (`netmodels.sharing.shares.crowded`); those joined
in this way, directly or through others, are a *component*, and components do not affect each other. How much
longer iterations take in a component is found by `netmodels.sharing.average` or `netmodels.sharing.phases`,
once: the same kinds of jobs meet on other machines again, so a question names machines and racks by first
occurrence, jobs in an order of their content, and answers are kept.

Jobs that differ by less than 0.1 % in speed, or that wait for less than 0.1 % of an iteration more, are one
question. On average only shares of time and rates count, so there speed does not matter at all.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import inf, log, log1p
from typing import Literal, NamedTuple

import numpy as np

from netmodels.fabric import Fabric
from netmodels.layers import Profile
from netmodels.sharing.average import slowdowns
from netmodels.sharing.links import Link, Slice, capacities
from netmodels.sharing.phases import together
from netmodels.sharing.sending import Sending
from netmodels.sharing.shares import FULL
from netmodels.sharing.traffic import Priced, in_ring_order, job_traffic
from netmodels.system import SystemSettings

Way = Literal["average", "phases"]

_STEP = 1e-3
"""Relative difference of two times that are told apart."""
_MOST_KEPT = 50_000  # answers, and likewise jobs


@dataclass(frozen=True, slots=True, eq=False)
class _Kind:
    """A job wherever it lies, as far as links are concerned.

    Parameters
    ----------
    key
        Digest of all of it: equal for equal kinds.
    job
        The job, on some links.
    limits
        Capacity of each of its links, byte/ns.
    """

    key: bytes
    job: Sending
    limits: tuple[float, ...]


class _Known(NamedTuple):
    """What is remembered of a job: its kind, and what it sends at most on each link that has a capacity."""

    kind: _Kind
    loads: Mapping[Link, float]
    alone_ns: float


class _Member(NamedTuple):
    """A job in a question; relative times in steps. Sorted by content."""

    key: bytes
    steps: int
    waiting: int
    shift_ns: int
    number: int
    known: _Known
    job: Sending


_Question = tuple[tuple[bytes, int, int, int, tuple[int, ...]], ...]
"""By member: kind, speed relative to the first, waiting, shift, and names of the places of its links."""


class Contention:
    """Jobs that share the links of a cluster.

    Parameters
    ----------
    way
        `average`: how often others send; `phases`: when they do.
    machines
        The machines of the cluster, each with all its GPUs.
    fabric, system
        As for `netmodels.api.NetworkModel.iteration`.
    model
        Prices the parts of a job's all-reduces; an `AnalyticalModel` by default.

    Attributes
    ----------
    capacity
        Of every link of the cluster, byte/ns; inf where no link is shared.
    """

    def __init__(
        self,
        way: Way,
        machines: Iterable[Slice],
        fabric: Fabric,
        system: SystemSettings,
        model: Priced | None = None,
    ) -> None:
        self.capacity: Mapping[Link, float] = capacities(machines, fabric, fabric.uplinks)
        self._way = way
        self._fabric = fabric
        self._system = system
        self._model = model
        self._traffic: dict[tuple[Profile, tuple[Slice, ...]], Sending] = {}
        self._known: dict[Sending, _Known] = {}
        self._kinds: dict[bytes, _Kind] = {}
        self._answers: dict[_Question, tuple[float, ...]] = {}

    def sending(self, profile: Profile, placement: Sequence[Slice]) -> Sending:
        """Return what a job sends on which link in an iteration alone.

        Parameters
        ----------
        profile
            The layers.
        placement
            (rack, machine, machine type, GPUs) for each machine of the job.
        """
        slices = in_ring_order(placement)
        places = _Names()
        renamed = tuple((places.of("rack", r), places.of("machine", m), kind, n) for r, m, kind, n in slices)
        made = self._traffic.get((profile, renamed))
        if made is None:
            made = job_traffic(profile, renamed, self._fabric, self._system, self._model)
            self._traffic[profile, renamed] = made
        return replace(made, links=places.back(made.links))

    def loads(self, job: Sending) -> Mapping[Link, float]:
        """Return the most that a job alone sends on each of its links that has a capacity, byte/ns."""
        return self._of(job).loads

    def together(
        self,
        jobs: Sequence[Sending],
        shift_ns: Sequence[int] = (),
        *,
        stretch: Sequence[float] = (),
        waiting_ns: Sequence[int] = (),
    ) -> list[float]:
        """Return the mean time of an iteration of each of some jobs that run together, ns.

        Parameters
        ----------
        jobs
            What each sends alone, on links of this cluster; of any number of components.
        shift_ns
            How much later than the others each begins its iterations; by default none.
        stretch, waiting_ns
            As for `Sending.stretched`, which need not be called before; by default 1 and 0.
        """
        known = [self._of(job) for job in jobs]
        times = stretch or [1.0] * len(jobs)
        waits = waiting_ns or [0] * len(jobs)
        shifts = shift_ns or [0] * len(jobs)
        alone = [each.alone_ns * time + wait for each, time, wait in zip(known, times, waits, strict=True)]
        found = list(alone)
        for component in self._components(known):
            members = []
            for number in component:
                each, time = known[number], times[number]
                in_time = self._way == "phases"
                steps = round(log(time) / log1p(_STEP)) if in_time else 0
                waiting = round(waits[number] / (each.alone_ns * time * _STEP)) if each.alone_ns else 0
                shift = shifts[number] if in_time else 0
                members.append(_Member(each.kind.key, steps, waiting, shift, number, each, jobs[number]))
            members.sort(key=lambda member: member[:5])
            for member, slower in zip(members, self._slower(members), strict=True):
                found[member.number] = alone[member.number] * slower
        return found

    def _of(self, job: Sending) -> _Known:
        known = self._known.get(job)
        if known is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
                self._traffic.clear()
                self._kinds.clear()
            known = self._known[job] = self._found(job)
        return known

    def _found(self, job: Sending) -> _Known:
        limits = tuple(self.capacity.get(link, inf) for link in job.links)
        most = job.most(self.capacity).tolist()
        loads = {
            link: rate
            for link, rate, limit in zip(job.links, most, limits, strict=True)
            if rate and limit < inf
        }
        arrays = (job.issued_ns, job.rides_ns, job.updates_ns, job.sent_bytes, np.array(limits))
        digest = blake2b(repr((job.compute_ns, [link.tier for link in job.links])).encode(), digest_size=16)
        for array in arrays:
            digest.update(repr(array.shape).encode())
            digest.update(array.tobytes())
        kind = self._kinds.get(digest.digest())
        if kind is None:
            own = job.joined() if self._way == "phases" else job
            kind = self._kinds[digest.digest()] = _Kind(digest.digest(), own, limits)
        return _Known(kind, loads, job.alone_ns)

    def _components(self, known: Sequence[_Known]) -> list[list[int]]:
        """Return the jobs of each component of two jobs or more, by place."""
        on: dict[Link, list[int]] = {}
        for number, each in enumerate(known):
            for link in each.loads:
                on.setdefault(link, []).append(number)
        root = list(range(len(known)))

        def root_of(number: int) -> int:
            while root[number] != number:
                root[number] = number = root[root[number]]
            return number

        for link, numbers in on.items():
            if len(numbers) > 1:
                load = sum(known[number].loads[link] for number in numbers)
                if load > self.capacity[link] * FULL:
                    first = root_of(numbers[0])
                    for number in numbers[1:]:
                        root[root_of(number)] = first
        components: dict[int, list[int]] = {}
        for number in range(len(known)):
            components.setdefault(root_of(number), []).append(number)
        return [component for component in components.values() if len(component) > 1]

    def _slower(self, members: Sequence[_Member]) -> tuple[float, ...]:
        """Return together / alone of the jobs of a component, 1 or more."""
        places, first = _Names(), members[0]
        earliest = min(member.shift_ns for member in members)
        scale = (1 + _STEP) ** first.steps
        shifts = [round((member.shift_ns - earliest) / scale) for member in members]
        links = [tuple(map(places.renamed, member.job.links)) for member in members]
        question = tuple(
            (
                member.key,
                member.steps - first.steps,
                member.waiting,
                shift,
                tuple(link.place for link in own),
            )
            for member, shift, own in zip(members, shifts, links, strict=True)
        )
        answer = self._answers.get(question)
        if answer is None:
            if len(self._answers) >= _MOST_KEPT:
                self._answers.clear()
            jobs = [_asked(*each) for each in zip(members, links, [first.steps] * len(members), strict=True)]
            limits = (member.known.kind.limits for member in members)
            capacity = {
                link: limit
                for own, its in zip(links, limits, strict=True)
                for link, limit in zip(own, its, strict=True)
            }
            answer = self._answers[question] = self._ask(jobs, capacity, shifts)
        return answer

    def _ask(
        self, jobs: Sequence[Sending], capacity: Mapping[Link, float], shifts: Sequence[int]
    ) -> tuple[float, ...]:
        if self._way == "average":
            return slowdowns(jobs, capacity, self._fabric.uplinks)
        found = together(jobs, capacity, shifts, uplinks=self._fabric.uplinks).iteration_ns
        return tuple(max(1.0, each / job.alone_ns) for each, job in zip(found, jobs, strict=True))


def _asked(member: _Member, links: tuple[Link, ...], first_steps: int) -> Sending:
    """Return a member's iteration on renamed links, at its speed relative to the first member."""
    time = (1 + _STEP) ** (member.steps - first_steps)
    waiting_ns = round(member.waiting * _STEP * time * member.known.alone_ns)
    return replace(member.known.kind.job.stretched(time, waiting_ns), links=links)


class _Names:
    """Numbers of machines and racks by first occurrence."""

    def __init__(self) -> None:
        self._names: dict[tuple[bool, int], int] = {}

    def of(self, tier: str, place: int) -> int:
        return self._names.setdefault((tier == "rack", place), len(self._names))

    def renamed(self, link: Link) -> Link:
        return link._replace(place=self.of(link.tier, link.place))

    def back(self, links: Iterable[Link]) -> tuple[Link, ...]:
        real = [place for _, place in self._names]
        return tuple(link._replace(place=real[link.place]) for link in links)
