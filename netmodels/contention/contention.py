"""Jobs of one cluster that share links: how long their iterations take beside each other.

Jobs are joined by links that they could overload together (`netmodels.contention.shares.crowded`); those
joined in this way, directly or through others, are a *component*, and components do not affect each other.
How much longer iterations take in a component is found by `netmodels.contention.average` or
`netmodels.contention.phases`, once: the same kinds of jobs meet on other machines again, so a question names
machines and racks by first occurrence, jobs in an order of their content, and answers are kept.

In a component of more than 8 jobs the mean of what others send counts (`netmodels.contention.mean_field`):
following them event by event would take seconds. In time, so does how far sending of jobs with equal periods
overlaps. Answers come in steps of 0.1 % of an iteration alone, finer than they are good for: a job that comes
or leaves changes the times of those near it, not those of all that others join to it.
Few jobs are not followed either, but met on average, if some do dozens of iterations while others do one, so
that they meet all of its phases anyhow.

Jobs that send packets (`transport`) are followed packet by packet where that is affordable
(`netmodels.contention.packet_phases`; by the model itself if it runs packets), else as fluids. As fluids,
too, where ports are wider than one of parallel uplinks: alone jobs are priced on all of these, and packets,
hashed one by one, would not fill them.

Both directions of a link carry the same (`netmodels.contention.traffic`), so only one is looked at.

Jobs that differ by less than 0.1 % in speed, or that wait for less than 0.1 % of an iteration more, are one
question. On average only shares of time and rates count, so there speed does not matter at all.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf, log, log1p
from typing import Literal, NamedTuple

import numpy as np

from netmodels.collectives.algorithms import Ints
from netmodels.collectives.ring_steps import Floats
from netmodels.contention.average import slowdowns
from netmodels.contention.kinds import Kind, Known, Names, kind_of, one_way
from netmodels.contention.links import FULL, MAX_JOBS, Link, Slice, capacities
from netmodels.contention.mean_field import Timing, components, slower
from netmodels.contention.order import order_of
from netmodels.contention.packet_budget import Runner
from netmodels.contention.packet_phases import followed, packets_of
from netmodels.contention.phases import ITERATIONS, followed_ns, together
from netmodels.contention.sending import Sender, Sending
from netmodels.contention.traffic import Priced, in_ring_order, job_traffic
from netmodels.fabric.fabric import Fabric
from netmodels.fabric.shape import gpus
from netmodels.fabric.system import SystemSettings
from netmodels.profiles.layers import Profile

_log = logging.getLogger(__name__)

Way = Literal["average", "phases"]

_STEP = 1e-3
"""Relative difference of two times that are told apart."""
_MAX_EVENTS = 20_000
"""That are followed in time: 0.1 s. Only jobs some 50 times as quick as another one have more of them."""
_MAX_KEPT = 50_000  # answers, and likewise jobs
_BUFFER_BYTES = 1 << 22
"""That may wait for a port of a switch before it pauses who sends there: in ns-3 an eighth of 32 MiB."""
_FLUIDS = "jobs that share links are in part followed as fluids: packets would be too many"
_NO_RINGS = (
    "jobs that share links are followed as fluids: only flat rings of one chunk are followed in packets"
)
_NARROW = (
    "jobs that share links are followed as fluids: packets are not, over parallel uplinks (topology.uplinks) "
    "that are narrower than ports"
)
_PAUSES = (
    "without windows, messages of more than 4 MiB fill switches, which then pause who sends (PFC): that is "
    "not followed, and jobs that share links may take far longer"
)


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
    max_packets
        As for `netmodels.contention.packet_phases.followed`.

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
        max_packets: int | None = None,
    ) -> None:
        self.capacity: Mapping[Link, float] = capacities(machines, fabric, fabric.uplinks)
        self._way = way
        self._max_packets = max_packets
        self._fabric = fabric
        self._system = system
        self._model = model
        self._runner = model if isinstance(model, Runner) else None
        self._noted: set[str] = set()
        if self._runner is not None and system.transport is None:
            self._system = replace(system, transport="packets")
        self._numbers = {link: number for number, link in enumerate(self.capacity)}
        self._limits: Floats = np.array([*self.capacity.values()], dtype=np.float64)
        self._with_none = np.append(self._limits, inf)  # the last: of a link that no job shares
        self._paths = np.array([fabric.uplinks if link.tier == "rack" else 1 for link in self.capacity])
        self._traffic: dict[tuple[Profile, tuple[Slice, ...]], Sending] = {}
        self._kinds: dict[tuple[Sending, bytes], Kind] = {}
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
        made = self._traffic.get((profile, renamed))
        if made is None:
            made = job_traffic(profile, renamed, self._fabric, self._system, self._model)
            self._traffic[profile, renamed] = made
        job = replace(made, links=places.back(made.links))
        self._keep(job, made)
        return job

    def sender(self, job: Sending) -> Sender:
        """Return what a job does to the links; in time others may meet all that it sends: always busy."""
        kind, numbers = self._of(job)
        busy = 1.0 if self._way == "phases" else kind.busy
        loads = dict(zip(numbers.tolist(), kind.most, strict=True))
        return Sender(job, kind.alone_ns, kind.slack, busy, loads, max(kind.most, default=0.0))

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
        times: Floats = np.array(stretch or [1.0] * len(jobs))
        waits: Floats = np.array(waiting_ns or [0] * len(jobs), dtype=np.float64)
        shifts = np.array(shift_ns or [0] * len(jobs), dtype=np.int64)
        found = np.array([each.kind.alone_ns for each in known]) * times + waits
        if joined:
            found *= self._longer(jobs, known, times, waits / times, shifts)
        else:
            for component in self._components(known):
                which = np.array(component)
                found[which] *= self._longer(
                    [jobs[number] for number in component],
                    [known[number] for number in component],
                    times[which],
                    waits[which] / times[which],
                    shifts[which],
                )
        answer: list[float] = found.tolist()
        return answer

    def _longer(
        self,
        jobs: Sequence[Sending],
        known: Sequence[Known],
        times: Floats,
        waiting_ns: Floats,
        shift_ns: Ints,
    ) -> Floats:
        """Return together / alone of the jobs of a component, 1 or more.

        Parameters
        ----------
        jobs, known
            The jobs, and what is remembered of each.
        times, waiting_ns, shift_ns
            As for `together`, but waiting relative to the profile.
        """
        if len(jobs) > MAX_JOBS:
            return self._crowd(known, times, waiting_ns, shift_ns)
        return np.array(self._few([job.links for job in jobs], known, times, waiting_ns, shift_ns))

    def packets(self, jobs: Sequence[Sending]) -> list[int]:
        """Return how many packets each component of few jobs has to be followed, about; 0 if it has none."""
        found = self._components([self._of(job) for job in jobs])
        few = [[jobs[number] for number in each] for each in found if len(each) <= MAX_JOBS]
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
        return self._keep(job, job) if known is None else known

    def _keep(self, job: Sending, made: Sending) -> Known:
        """Remember a job as what was made, where its links are."""
        if len(self._known) >= _MAX_KEPT:
            self._known.clear()
            self._traffic.clear()
            self._kinds.clear()
        numbers = np.array([self._numbers.get(link, -1) for link in job.links], dtype=np.int64)
        limits = self._with_none[numbers]
        question = made, limits.tobytes()
        kind = self._kinds.get(question)
        if kind is None:
            kind = self._kinds[question] = kind_of(job, limits)
        known = self._known[job] = Known(kind, numbers[kind.shared])
        return known

    def _crowd(
        self,
        known: Sequence[Known],
        times: Floats,
        waiting_ns: Floats,
        shift_ns: Ints,
    ) -> Floats:
        """Return the same where many meet, in steps."""
        numbers = [each.numbers for each in known]
        link = np.concatenate(numbers)
        means = [each.kind.whole for each in known if each.kind.alike]
        if len(means) < len(known):
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
            begins_ns = np.array([each.begins_ns for each in means]) + waiting_ns
            spans_ns = np.array([each.span_ns for each in means])
            timing = Timing(begins_ns * times + shift_ns, spans_ns * times, times)
        longer = slower(means, lengths, link, self._paths, waiting_ns, timing)
        return np.rint(longer / _STEP) * _STEP

    def _few(
        self,
        links: Sequence[Sequence[Link]],
        known: Sequence[Known],
        times: Floats,
        waiting_ns: Floats,
        shift_ns: Ints,
    ) -> Sequence[float]:
        """Return the same where few meet, by the links on which they are."""
        in_time = self._way == "phases"
        members = []
        given = zip(known, times.tolist(), waiting_ns.tolist(), shift_ns.tolist(), strict=True)
        for number, (each, time, wait_ns, begin_ns) in enumerate(given):
            waiting = round(wait_ns / (each.kind.alone_ns * _STEP)) if wait_ns else 0
            steps = round(log(time) / log1p(_STEP)) if in_time else 0
            members.append(_Member(each.kind.key, waiting, steps, begin_ns if in_time else 0, number))
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
            if len(self._answers) >= _MAX_KEPT:
                self._answers.clear()
            jobs, capacity = [], dict[Link, float]()
            for member, own in zip(members, renamed, strict=True):
                kind = known[member.number].kind
                time = (1 + _STEP) ** (member.steps - first)
                job = kind.job.stretched(time, round(member.waiting * _STEP * time * kind.alone_ns))
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
        if uplinks > 1 and _wider_ports(jobs, capacity):
            self._note(_NARROW)
        elif self._system.packets:
            found = followed(
                jobs,
                capacity,
                self._fabric,
                self._system,
                shifts,
                max_packets=self._max_packets,
                runner=self._runner,
            )
            if found is None:
                self._note(_FLUIDS if all(job.ring for job in jobs) else _NO_RINGS)
            elif not self._system.windows and _largest_bytes(jobs) > _BUFFER_BYTES:
                self._note(_PAUSES)
        if found is None:
            fluids = [job.joined() for job in fluids]
            if _events(fluids) > _MAX_EVENTS:
                return slowdowns(fluids, capacity, uplinks)
            times_ns = together(fluids, capacity, shifts, uplinks=uplinks)
            found = [each / job.alone_ns for each, job in zip(times_ns, fluids, strict=True)]
        return tuple(max(1.0, each) for each in found)

    def _note(self, what: str) -> None:
        """Say something once."""
        if what not in self._noted:
            self._noted.add(what)
            _log.warning(what, extra={"note": True})


def _largest_bytes(jobs: Sequence[Sending]) -> int:
    """Return the size of the largest message of some jobs."""
    rings = [job.ring for job in jobs if job.ring]
    return max((layer.bytes // gpus(ring.shape) for ring in rings for layer in ring.layers), default=0)


def _wider_ports(jobs: Sequence[Sending], capacity: Mapping[Link, float]) -> bool:
    """Return whether packets may come to an uplink faster than one of its links passes them."""
    return any(
        link.tier == "rack" and peak > capacity.get(link, inf) * FULL
        for job in jobs
        if job.ring
        for link, peak in zip(job.links, job.ring.peaks, strict=True)
    )


def _events(jobs: Sequence[Sending]) -> float:
    """Return how often jobs begin or end a passage until all have done enough iterations."""
    alone_ns = [job.alone_ns for job in jobs]
    until_ns = followed_ns(alone_ns, ITERATIONS)
    return sum(2 * len(job.rides_ns) * until_ns / each for job, each in zip(jobs, alone_ns, strict=True))
