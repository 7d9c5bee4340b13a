"""Jobs of one cluster that share links: how long their iterations take beside each other.

Jobs are joined by links that they could overload together (`netmodels.sharing.shares.crowded`); those joined
in this way, directly or through others, are a *component*, and components do not affect each other. How much
longer iterations take in a component is found by `netmodels.sharing.average` or `netmodels.sharing.phases`,
once: the same kinds of jobs meet on other machines again, so a question names machines and racks by first
occurrence, jobs in an order of their content, and answers are kept.

In a component of more than 8 jobs everybody's mean adds up (`netmodels.sharing.crowd`), in time as well: the
more jobs meet, the less it matters when each of them sends, and following them would take seconds.

Both directions of a link carry the same (`netmodels.sharing.traffic`), so only one is looked at.

Jobs that differ by less than 0.1 % in speed, or that wait for less than 0.1 % of an iteration more, are one
question. On average only shares of time and rates count, so there speed does not matter at all.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import inf, log, log1p
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from netmodels.algorithms import Ints
from netmodels.fabric import Fabric
from netmodels.layers import Profile
from netmodels.ring_steps import Floats
from netmodels.sharing.average import slowdowns
from netmodels.sharing.crowd import Mean, mean_of, slower
from netmodels.sharing.links import Link, Slice, capacities
from netmodels.sharing.phases import together
from netmodels.sharing.sending import Sending
from netmodels.sharing.shares import FULL
from netmodels.sharing.traffic import Priced, in_ring_order, job_traffic
from netmodels.system import SystemSettings

Way = Literal["average", "phases"]
Bools = npt.NDArray[np.bool_]

_STEP = 1e-3
"""Relative difference of two times that are told apart."""
_FEW = 8
"""Most jobs of a component that are told apart in time, or by which of them send."""
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
    loads
        The most that it sends on each of them, byte/ns.
    shared
        Which of them have a capacity, and are the way out of a place.
    alike
        Whether it sends on all of these in the same passages.
    means
        Its mean sending, by the links on which others can meet it.
    """

    key: bytes
    job: Sending
    limits: Floats
    loads: Floats
    shared: Ints
    alike: bool
    means: dict[bytes, Mean]

    def mean(self, full: Bools) -> Mean:
        """Return the mean sending of a job that others can meet on some of its shared links."""
        where = b"" if self.alike else full.tobytes()
        found = self.means.get(where)
        if found is None:
            met = self.shared if self.alike else self.shared[full]
            meets: Bools = np.any(self.job.sent_bytes[:, met] > 0, axis=1)
            made = mean_of(self.job, meets, self.limits)
            found = self.means[where] = replace(made, rates=made.rates[self.shared])
        return found


class _Known(NamedTuple):
    """What is remembered of a job.

    Attributes
    ----------
    kind
        What it is, wherever it lies.
    loads
        What it sends at most on each link that has a capacity, on the way out of a place, byte/ns.
    numbers, pairs
        The numbers of these links, and the same with what it sends there.
    alone_ns
        Time of an iteration alone.
    """

    kind: _Kind
    loads: Mapping[Link, float]
    numbers: Ints
    pairs: list[tuple[int, float]]
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
        self._numbers = {link: number for number, link in enumerate(self.capacity)}
        self._limits: Floats = np.array([*self.capacity.values()], dtype=np.float64)
        self._paths = np.array([fabric.uplinks if link.tier == "rack" else 1 for link in self.capacity])
        self._traffic: dict[tuple[Profile, tuple[Slice, ...]], Sending] = {}
        self._kinds: dict[bytes, _Kind] = {}
        self._known: dict[Sending, _Known] = {}
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
        """Return the most that a job alone sends on each of its links that has a capacity, byte/ns.

        Of the two directions of a link, which carry the same, only the way out is mentioned.
        """
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
        found = [each.alone_ns * time + wait for each, time, wait in zip(known, times, waits, strict=True)]
        for component in self._components(known):
            answer: Sequence[float]
            if len(component) > _FEW:
                answer = self._crowd([known[n] for n in component], [waits[n] / times[n] for n in component])
            else:
                members = []
                for number in component:
                    each, time, shift = known[number], times[number], shifts[number]
                    waiting = round(waits[number] / (each.alone_ns * time * _STEP)) if waits[number] else 0
                    steps = round(log(time) / log1p(_STEP))
                    if self._way == "average":
                        steps = shift = 0
                    members.append(_Member(each.kind.key, steps, waiting, shift, number, each, jobs[number]))
                members.sort(key=lambda member: member[:5])
                component = [member.number for member in members]
                answer = self._few(members)
            for number, longer in zip(component, answer, strict=True):
                found[number] *= longer
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
        limits = np.array([self.capacity.get(link, inf) for link in job.links])
        digest = blake2b(repr((job.compute_ns, [link.tier for link in job.links])).encode(), digest_size=16)
        for array in (job.issued_ns, job.rides_ns, job.updates_ns, job.sent_bytes, limits):
            digest.update(repr(array.shape).encode())
            digest.update(array.tobytes())
        key = digest.digest()
        kind = self._kinds.get(key)
        if kind is None:
            out = [place for place, link in enumerate(job.links) if link.way == "out" and limits[place] < inf]
            most, shared = job.most(self.capacity), np.array(out, dtype=np.int64)
            sends = job.sent_bytes[:, shared] > 0
            alike = bool((sends == sends[:, :1]).all())
            kind = self._kinds[key] = _Kind(key, job, limits, most, shared, alike, {})
        links, loads = [job.links[place] for place in kind.shared], kind.loads[kind.shared].tolist()
        numbers = [self._numbers[link] for link in links]
        return _Known(
            kind,
            dict(zip(links, loads, strict=True)),
            np.array(numbers, dtype=np.int64),
            list(zip(numbers, loads, strict=True)),
            job.alone_ns,
        )

    def _crowd(self, known: Sequence[_Known], waiting_ns: Sequence[float]) -> list[float]:
        """Return together / alone of the jobs of a component of many, 1 or more."""
        loads = [each.kind.loads[each.kind.shared] for each in known]
        links = [each.numbers for each in known]
        link = np.concatenate(links)
        offered = np.bincount(link, np.concatenate(loads), len(self._limits))
        full = offered > self._limits * FULL
        means = [each.kind.mean(full[each.numbers]) for each in known]
        return slower(means, links, self._limits, self._paths, waiting_ns)

    def _components(self, known: Sequence[_Known]) -> list[list[int]]:
        """Return the jobs of each component of two jobs or more, by place."""
        first, offered = dict[int, int](), dict[int, float]()
        others: list[tuple[int, int, int]] = []  # link, and two jobs on it
        for number, each in enumerate(known):
            for link, load in each.pairs:
                if link in first:
                    others.append((link, first[link], number))
                    offered[link] += load
                else:
                    first[link], offered[link] = number, load
        full = {link for link, _, _ in others if offered[link] > self._limits[link] * FULL}
        root = list(range(len(known)))

        def root_of(number: int) -> int:
            while root[number] != number:
                root[number] = number = root[root[number]]
            return number

        for link, one, other in others:
            if link in full:
                root[root_of(other)] = root_of(one)
        components: dict[int, list[int]] = {}
        for number in range(len(known)):
            components.setdefault(root_of(number), []).append(number)
        return [component for component in components.values() if len(component) > 1]

    def _few(self, members: Sequence[_Member]) -> tuple[float, ...]:
        """Return together / alone of the jobs of a component of few, 1 or more."""
        places, first = _Names(), members[0]
        earliest = min(member.shift_ns for member in members)
        scale = (1 + _STEP) ** first.steps
        shifts = [round((member.shift_ns - earliest) / scale) for member in members]
        links = [tuple(map(places.renamed, member.job.links)) for member in members]
        question = tuple(
            (each.key, each.steps - first.steps, each.waiting, shift, tuple(link.place for link in own))
            for each, shift, own in zip(members, shifts, links, strict=True)
        )
        answer = self._answers.get(question)
        if answer is None:
            if len(self._answers) >= _MOST_KEPT:
                self._answers.clear()
            jobs = [_asked(member, own, first.steps) for member, own in zip(members, links, strict=True)]
            capacity: dict[Link, float] = {}
            for member, own in zip(members, links, strict=True):
                capacity.update(zip(own, member.known.kind.limits.tolist(), strict=True))
            answer = self._answers[question] = self._ask(jobs, capacity, shifts)
        return answer

    def _ask(
        self, jobs: Sequence[Sending], capacity: Mapping[Link, float], shifts: Sequence[int]
    ) -> tuple[float, ...]:
        """Return together / alone of jobs in order."""
        if self._way == "average":
            return slowdowns([_one_way(job) for job in jobs], capacity, self._fabric.uplinks)
        jobs = [_one_way(job).joined() for job in jobs]
        found = together(jobs, capacity, shifts, uplinks=self._fabric.uplinks).iteration_ns
        return tuple(max(1.0, each / job.alone_ns) for each, job in zip(found, jobs, strict=True))


def _asked(member: _Member, links: tuple[Link, ...], first_steps: int) -> Sending:
    """Return a member's iteration on renamed links, at its speed relative to the first member."""
    time = (1 + _STEP) ** (member.steps - first_steps)
    waiting_ns = round(member.waiting * _STEP * time * member.known.alone_ns)
    return replace(member.known.kind.job.stretched(time, waiting_ns), links=links)


def _one_way(job: Sending) -> Sending:
    """Return a job without the ways into places, which carry what the ways out do."""
    out = [place for place, link in enumerate(job.links) if link.way == "out"]
    return replace(job, links=tuple(job.links[place] for place in out), sent_bytes=job.sent_bytes[:, out])


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
