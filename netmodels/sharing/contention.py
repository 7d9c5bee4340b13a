"""Jobs of one cluster that share links: how long their iterations take beside each other.

Jobs are joined by links that they could overload together (`netmodels.sharing.shares.crowded`); those joined
in this way, directly or through others, are a *component*, and components do not affect each other. How much
longer iterations take in a component is found by `netmodels.sharing.average` or `netmodels.sharing.phases`,
once: the same kinds of jobs meet on other machines again, so a question names machines and racks by first
occurrence, jobs in an order of their content, and answers are kept.

In a component of more than 8 jobs what all send adds up (`netmodels.sharing.crowd`): following them event by
event would take seconds. In time, how far the sending of jobs with equal periods overlaps is part of the sum.
Few jobs are not followed either, but met on average, if some do dozens of iterations while others do one, so
that they meet all of its phases anyhow.

Jobs that send packets (`transport`) are followed packet by packet where that is affordable
(`netmodels.sharing.packet_phases`; by the model itself if it runs packets), else as fluids.

Both directions of a link carry the same (`netmodels.sharing.traffic`), so only one is looked at.

Jobs that differ by less than 0.1 % in speed, or that wait for less than 0.1 % of an iteration more, are one
question. On average only shares of time and rates count, so there speed does not matter at all.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf, log, log1p
from typing import Literal, NamedTuple

import numpy as np

from netmodels.fabric import Fabric
from netmodels.layers import Profile
from netmodels.ring_steps import Floats
from netmodels.sharing.average import slowdowns
from netmodels.sharing.crowd import Timing, components, slower
from netmodels.sharing.kinds import Kind, Known, Names, digest_of, kind_of, one_way
from netmodels.sharing.links import FULL, MOST_JOBS, Link, Slice, capacities
from netmodels.sharing.order import order_of
from netmodels.sharing.packet_budget import Runner
from netmodels.sharing.packet_phases import followed, packets_of
from netmodels.sharing.phases import ITERATIONS, LEAST, together
from netmodels.sharing.sending import Sending
from netmodels.sharing.traffic import Priced, in_ring_order, job_traffic
from netmodels.system import SystemSettings

_log = logging.getLogger(__name__)

Way = Literal["average", "phases"]

_STEP = 1e-3
"""Relative difference of two times that are told apart."""
_MOST_EVENTS = 20_000
"""That are followed in time: 0.1 s. Only jobs some 50 times as quick as another one have more of them."""
_MOST_KEPT = 50_000  # answers, and likewise jobs


class _Member(NamedTuple):
    """A job in a question, sorted by content; waiting and speed in steps of what is told apart."""

    key: bytes
    waiting: int
    steps: int
    shift_ns: int
    number: int


_Question = tuple[tuple[bytes, int, int, int, tuple[int, ...]], ...]
"""By member: kind, waiting, speed relative to the first, shift, and names of the places of its links."""


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
    most_packets
        As for `netmodels.sharing.packet_phases.followed`.

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
        most_packets: int | None = None,
    ) -> None:
        self.capacity: Mapping[Link, float] = capacities(machines, fabric, fabric.uplinks)
        self._way = way
        self._most_packets = most_packets
        self._fabric = fabric
        self._system = system
        self._model = model
        self._runner = model if isinstance(model, Runner) else None
        self._warned = False
        if self._runner is not None and system.transport is None:
            self._system = replace(system, transport="packets")
        self._numbers = {link: number for number, link in enumerate(self.capacity)}
        self._limits: Floats = np.array([*self.capacity.values()], dtype=np.float64)
        self._paths = np.array([fabric.uplinks if link.tier == "rack" else 1 for link in self.capacity])
        self._traffic: dict[tuple[Profile, tuple[Slice, ...]], tuple[Sending, bytes]] = {}
        self._kinds: dict[tuple[bytes, tuple[float, ...]], Kind] = {}
        self._known: dict[Sending, Known] = {}
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
        places = Names()
        renamed = tuple((places.of("rack", r), places.of("machine", m), kind, n) for r, m, kind, n in slices)
        known = self._traffic.get((profile, renamed))
        if known is None:
            made = job_traffic(profile, renamed, self._fabric, self._system, self._model)
            known = self._traffic[profile, renamed] = made, digest_of(made)
        made, digest = known
        job = replace(made, links=places.back(made.links))
        self._keep(job, digest)
        return job

    def loads(self, job: Sending) -> Mapping[Link, float]:
        """Return the most that a job alone sends on each of its links that has a capacity, byte/ns.

        Of the two directions of a link, which carry the same, only the way out is mentioned.
        """
        return self._of(job).loads

    def slack(self, job: Sending) -> float:
        """Return how many times as long all that a job sends on such links may take, at no cost, 1 or more.

        Links that are overloaded by less, at worst, make no iteration longer.
        """
        return self._of(job).kind.slack

    def busy(self, job: Sending) -> float:
        """Return the largest share of its time that a job sends on such links, as long as that costs nothing.

        In time it is 1: others may meet all that it sends.
        """
        return 1.0 if self._way == "phases" else self._of(job).kind.busy

    def together(
        self,
        jobs: Sequence[Sending],
        shift_ns: Sequence[int] = (),
        *,
        stretch: Sequence[float] = (),
        waiting_ns: Sequence[int] = (),
        joined: bool = False,
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
        joined
            Whether they are known to be one component.
        """
        known = [self._of(job) for job in jobs]
        times = stretch or [1.0] * len(jobs)
        waits = waiting_ns or [0] * len(jobs)
        shifts = shift_ns or [0] * len(jobs)
        found = [each.alone_ns * time + wait for each, time, wait in zip(known, times, waits, strict=True)]
        for component in [list(range(len(jobs)))] if joined else self._components(known):
            those = [known[number] for number in component]
            own_times = [times[number] for number in component]
            waiting = [waits[number] / times[number] for number in component]
            own_shifts = [shifts[number] for number in component]
            if len(component) > MOST_JOBS:
                answer = self._crowd(those, own_times, waiting, own_shifts)
            else:
                links = [jobs[number].links for number in component]
                answer = self._few(those, links, own_times, waiting, own_shifts)
            for number, longer in zip(component, answer, strict=True):
                found[number] *= longer
        return found

    def packets(self, jobs: Sequence[Sending]) -> list[int]:
        """Return how many packets each component of few jobs has to be followed, about; 0 if it has none."""
        found = self._components([self._of(job) for job in jobs])
        few = [[jobs[number] for number in each] for each in found if len(each) <= MOST_JOBS]
        return [packets_of(each, self.capacity, self._fabric, self._system) for each in few]

    def _components(self, known: Sequence[Known]) -> list[list[int]]:
        """Return the jobs of each component of two jobs or more, by place."""
        if len(known) < 2:
            return []
        numbers, loads = [each.numbers for each in known], [each.kind.loads for each in known]
        lengths = np.array([len(each) for each in numbers])
        return components(lengths, np.concatenate(numbers), np.concatenate(loads), self._limits)

    def _of(self, job: Sending) -> Known:
        known = self._known.get(job)
        return self._keep(job, digest_of(job)) if known is None else known

    def _keep(self, job: Sending, digest: bytes) -> Known:
        """Remember a job by the digest of all but its links."""
        if len(self._known) >= _MOST_KEPT:
            self._known.clear()
            self._traffic.clear()
            self._kinds.clear()
        limits = tuple([self.capacity.get(link, inf) for link in job.links])
        kind = self._kinds.get((digest, limits))
        if kind is None:
            kind = self._kinds[digest, limits] = kind_of(job, digest, np.array(limits), self.capacity)
        links = [job.links[place] for place in kind.places]
        loads = dict(zip(links, kind.most, strict=True))
        numbers = np.array([self._numbers[link] for link in links], dtype=np.int64)
        known = self._known[job] = Known(kind, loads, numbers, job.alone_ns)
        return known

    def _crowd(
        self,
        known: Sequence[Known],
        times: Sequence[float],
        waiting_ns: Sequence[float],
        shift_ns: Sequence[int],
    ) -> Sequence[float]:
        """Return together / alone of the jobs of a component of many, 1 or more; parameters as for `_few`."""
        numbers = [each.numbers for each in known]
        link = np.concatenate(numbers)
        if all(each.kind.alike for each in known):
            means = [each.kind.whole for each in known]
        else:
            loads = np.concatenate([each.kind.loads for each in known])
            full = np.bincount(link, loads, len(self._limits)) > self._limits * FULL
            met = [full[each.numbers] for each in known]
            means = [
                each.kind.mean(on if on.any() else np.ones_like(on))
                for each, on in zip(known, met, strict=True)
            ]
        lengths = np.array([len(each) for each in numbers])
        timing = None
        if self._way == "phases":
            stretch = np.array(times)
            begins_ns = np.array([each.begins_ns for each in means]) + waiting_ns
            spans_ns = np.array([each.span_ns for each in means])
            timing = Timing(begins_ns * stretch + shift_ns, spans_ns * stretch, stretch)
        return slower(means, lengths, link, self._paths, waiting_ns, timing)

    def _few(
        self,
        known: Sequence[Known],
        links: Sequence[Sequence[Link]],
        times: Sequence[float],
        waiting_ns: Sequence[float],
        shift_ns: Sequence[int],
    ) -> Sequence[float]:
        """Return together / alone of the jobs of a component of few, 1 or more.

        Parameters
        ----------
        known, links
            The jobs, and the links on which they are.
        times, waiting_ns, shift_ns
            As for `together`, but waiting relative to the profile.
        """
        in_time = self._way == "phases"
        members = []
        for number, (each, time, wait_ns) in enumerate(zip(known, times, waiting_ns, strict=True)):
            waiting = round(wait_ns / (each.alone_ns * _STEP)) if wait_ns else 0
            steps = round(log(time) / log1p(_STEP)) if in_time else 0
            members.append(_Member(each.kind.key, waiting, steps, shift_ns[number] if in_time else 0, number))
        members.sort()
        if in_time and self._system.packets:
            places = [[(link.tier == "rack", link.place) for link in links[each.number]] for each in members]
            members = [members[place] for place in order_of([each[:-1] for each in members], places)]
        first = 0 if self._system.packets else members[0].steps  # latency of packets does not scale
        names, earliest = Names(), min(member.shift_ns for member in members)
        scale = (1 + _STEP) ** first
        shifts = [round((member.shift_ns - earliest) / scale) for member in members]
        renamed = [tuple(map(names.renamed, links[member.number])) for member in members]
        question = tuple(
            (each.key, each.waiting, each.steps - first, shift, tuple(link.place for link in own))
            for each, shift, own in zip(members, shifts, renamed, strict=True)
        )
        answer = self._answers.get(question)
        if answer is None:
            if len(self._answers) >= _MOST_KEPT:
                self._answers.clear()
            jobs, capacity = [], dict[Link, float]()
            for member, own in zip(members, renamed, strict=True):
                kind, alone_ns = known[member.number].kind, known[member.number].alone_ns
                time = (1 + _STEP) ** (member.steps - first)
                job = kind.job.stretched(time, round(member.waiting * _STEP * time * alone_ns))
                jobs.append(replace(job, links=own))
                capacity.update(zip(own, kind.limits.tolist(), strict=True))
            answer = self._answers[question] = self._ask(jobs, capacity, shifts)
        by_number = sorted(zip([member.number for member in members], answer, strict=True))
        return [longer for _, longer in by_number]

    def _ask(
        self, jobs: Sequence[Sending], capacity: Mapping[Link, float], shifts: Sequence[int]
    ) -> tuple[float, ...]:
        """Return together / alone of jobs in order."""
        uplinks, fluids = self._fabric.uplinks, [one_way(job) for job in jobs]
        if self._way == "average":
            return slowdowns(fluids, capacity, uplinks)
        found = None
        if self._system.packets:
            found = followed(
                jobs,
                capacity,
                self._fabric,
                self._system,
                shifts,
                most_packets=self._most_packets,
                runner=self._runner,
            )
            if found is None and self._runner is not None and not self._warned:
                self._warned = True
                what = "jobs that share links are in part followed as fluids: packets would be too many"
                _log.warning(what, extra={"note": True})
        if found is None:
            fluids = [job.joined() for job in fluids]
            if _events(fluids) > _MOST_EVENTS:
                return slowdowns(fluids, capacity, uplinks)
            times_ns = together(fluids, capacity, shifts, uplinks=uplinks)
            found = [each / job.alone_ns for each, job in zip(times_ns, fluids, strict=True)]
        return tuple(max(1.0, each) for each in found)


def _events(jobs: Sequence[Sending]) -> float:
    """Return how often jobs begin or end a passage until all have done enough iterations."""
    alone_ns = [job.alone_ns for job in jobs]
    mean_ns = len(jobs) / sum(1 / each for each in alone_ns)
    followed_ns = max(ITERATIONS * mean_ns, LEAST * max(alone_ns))
    return sum(2 * len(job.rides_ns) * followed_ns / each for job, each in zip(jobs, alone_ns, strict=True))
