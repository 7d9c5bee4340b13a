"""Contention: the iteration times of jobs that share the links of one cluster.

Jobs are joined by links that they could overload together (`netmodels.contention.transfers`); those joined in
this way, directly or through others, are a *component*, and components do not affect each other.

`mean_field` prices a component by how often its jobs send (`netmodels.contention.mean_field`).

`packets` multiplies the price alone, whatever transport has priced it, by together / alone at packet level
(`netmodels.contention.packet_level`). Components that take too many packets, or whose collectives are no
rings of messages, are followed at flow level (`netmodels.contention.flow_level`). Components of more than 8
jobs, and jobs some of which do dozens of iterations while others do one, so that they meet all of its phases
anyhow, are priced by the mean field; the large ones with the overlap of their sending. So are components of a
job with a plan: the messages of its layers recur hundreds of times in an iteration.

The same constellations occur on other machines again, so a question names machines and racks by first
occurrence, jobs in an order of their content, and answers are kept. Jobs that differ by less than 0.1 % in
speed, or that wait for less than 0.1 % of an iteration more, are one question; answers for more than 8 jobs
come in steps of 0.1 % of an iteration alone, so that a job that starts or ends does not change the times of
all jobs that others join to it. Both directions of a link carry the same, so only one is looked at.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from math import inf, log, log1p
from typing import Literal, NamedTuple

import numpy as np

from netmodels.collectives.algorithms import Ints
from netmodels.collectives.ring_steps import Floats
from netmodels.contention.constellation import Names, order_of
from netmodels.contention.flow_level import ITERATIONS, followed_ns, together
from netmodels.contention.mean_field import (
    Bools,
    MeanJob,
    Overlap,
    mean_of,
    mean_of_role,
    slowdowns_of,
)
from netmodels.contention.packet_level import Runner, followed, packets_of, resolution_of
from netmodels.contention.traffic import Priced, in_ring_order, in_rings, job_traffic
from netmodels.contention.transfers import MAX_JOBS, JobTraffic, LinkLoad
from netmodels.fabric.fabric import Fabric
from netmodels.fabric.links import FULL, Link, Slice, capacities
from netmodels.fabric.shape import gpus
from netmodels.fabric.system import SystemSettings
from netmodels.profiles.layers import Profile

_log = logging.getLogger(__name__)

Way = Literal["mean_field", "packets"]

_STEP = 1e-3
"""Relative difference of two times from which on they differ."""
_MAX_EVENTS = 20_000
"""Events at flow level: 0.1 s. Only jobs some 50 times as quick as another one have more of them."""
_MAX_ITERATIONS = 10_000
"""Iterations of all jobs together: what is followed at flow level has fewer anyhow."""
_MAX_KEPT = 50_000  # answers, and likewise jobs
_BUFFER_BYTES = 1 << 22
"""Bytes that a port of a switch queues before it pauses their sender: in ns-3 an eighth of 32 MiB."""
_FLOWS = "jobs that share links are in part followed at flow level: packets would be too many"
_NO_RINGS = (
    "jobs that share links are followed at flow level: only flat rings of one chunk are followed in packets"
)
_PAUSES = (
    "without windows, messages of more than 4 MiB fill switches, which then pause their senders (PFC): that "
    "is not followed, and jobs that share links may take far longer"
)


@dataclass(frozen=True, eq=False)
class _Job:
    """A job wherever it is placed, with the capacities of its links.

    Parameters
    ----------
    traffic
        Its iteration, on some links.
    limits
        Capacity of each of its links, byte/ns.
    alone_ns
        Time of an iteration alone.
    shared
        Columns of the links that have a capacity, are the way out of a place, and carry anything.
    loads
        Its highest rate on each of these, byte/ns.
    alike
        Whether it sends on all of these in the same transfers, and has no plan.
    means
        Its mean job, by the links on which others can meet it.
    """

    traffic: JobTraffic
    limits: Floats
    alone_ns: float
    shared: Ints
    loads: Floats
    alike: bool
    means: dict[bytes, MeanJob]

    @classmethod
    def of(cls, traffic: JobTraffic, limits: Floats) -> "_Job":
        """Return a job with the capacities of its links, byte/ns."""
        sends = (limits < inf) & traffic.sent_bytes.any(axis=0)
        columns = [column for column, link in enumerate(traffic.links) if link.way == "out" and sends[column]]
        shared = np.array(columns, dtype=np.int64)
        on_shared = traffic.sent_bytes[:, shared] > 0
        alike = traffic.exposure is None and bool((on_shared == on_shared[:, :1]).all())
        return cls(traffic, limits, traffic.alone_ns, shared, traffic.peaks(limits)[shared], alike, {})

    @cached_property
    def key(self) -> bytes:
        """Digest of all but the places of its links; of a job without a plan: others are not followed."""
        job = self.traffic
        words = repr((job.compute_ns, job.ring, [link.tier for link in job.links]))
        digest = blake2b(words.encode(), digest_size=16)
        for array in (job.issued_ns, job.transfers_ns, job.updates_ns, job.sent_bytes):
            digest.update(repr(array.shape).encode())
            digest.update(array.tobytes())
        return blake2b(digest.digest() + self.limits.tobytes(), digest_size=16).digest()

    @cached_property
    def whole(self) -> MeanJob:
        """Its mean job, if others can meet it on all of its shared links."""
        return self.mean(np.ones(len(self.shared), dtype=np.bool_))

    @cached_property
    def roles(self) -> tuple["_Role", ...]:
        """Roles of a job with a plan that send on shared links; none of another job."""
        if self.traffic.exposure is None:
            return ()
        sends = self.traffic.sent_bytes[:, self.shared] > 0
        numbers = np.flatnonzero(sends.any(axis=1)).tolist()
        means = [mean_of_role(self.traffic, number, self.limits) for number in numbers]
        shares = [mean.rates[self.shared] / self.limits[self.shared] for mean in means]
        return tuple(
            _Role(mean._replace(rates=share[share > 0]), np.flatnonzero(share))
            for mean, share in zip(means, shares, strict=True)
        )

    @cached_property
    def slack(self) -> float:
        """Factor by which its transfers may take longer at no cost, 1 or more."""
        if not len(self.loads):
            return inf
        if self.roles:
            whole = self.alone_ns / sum(mean.sending_ns for mean, _ in self.roles)
            return max(1.0, min(whole, *(mean.slack for mean, _ in self.roles)))
        return self.whole.slack

    @cached_property
    def busy(self) -> float:
        """The largest share of its time that it sends at no cost."""
        if not len(self.loads):
            return 0.0
        sending_ns = sum(mean.sending_ns for mean, _ in self.roles) or self.whole.sending_ns
        return min(1.0, sending_ns * self.slack / self.alone_ns)

    def mean(self, full: Bools) -> MeanJob:
        """Return the mean job, if others can meet it on some of its shared links; rates of all of these."""
        key = b"" if self.alike else full.tobytes()
        mean = self.means.get(key)
        if mean is None:
            met = self.shared if self.alike else self.shared[full]
            mean = mean_of(self.traffic, np.any(self.traffic.sent_bytes[:, met] > 0, axis=1), self.limits)
            mean = self.means[key] = mean._replace(rates=mean.rates[self.shared] / self.limits[self.shared])
        return mean


class _Role(NamedTuple):
    """A role of a job with a plan, and those of the job's shared links on which it sends, by place."""

    mean: MeanJob
    on: Ints


class _Placed(NamedTuple):
    """A job, and the numbers of its shared links."""

    job: _Job
    numbers: Ints


class _Member(NamedTuple):
    """A job in a question, sorted by content; waiting and speed in steps of 0.1 %."""

    key: bytes
    waiting: int
    steps: int
    shift_ns: int
    number: int


_Answer = tuple[str, Sequence[float] | None]
"""Level, and together / alone of each job; None by the mean field."""
_NOT_FOLLOWED: _Answer = ("mean_field", None)

_Question = tuple[tuple[bytes, int, int, int, tuple[int, ...]], ...]
"""By member: digest, waiting, speed relative to the first, shift, and names of the places of its links."""


class Contention:
    """Jobs that share the links of a cluster.

    Parameters
    ----------
    way
        `mean_field` or `packets`; see the module.
    machines
        The machines of the cluster, each with all its GPUs.
    fabric, system
        As for `netmodels.api.NetworkModel.iteration`.
    model
        Prices the parts of a job's all-reduces; an `AnalyticalModel` by default.
    max_packets
        As for `netmodels.contention.packet_level.followed`; 0: all at flow level.

    Attributes
    ----------
    capacity
        Of every link of the cluster, byte/ns; inf where no link is shared.
    answers
        Number of answers for components at packet level (`packets`), at flow level (`flow_level`) and by the
        mean field (`mean_field`), kept answers included; `fallbacks`, of those, where packets were asked for.
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
        self.answers = Counter[str]()
        self._in_time = way == "packets"
        self._max_packets = max_packets
        self._fabric = fabric
        self._system = system
        self._model = model
        self._runner = model if isinstance(model, Runner) else None
        if self._runner is not None and system.transport is None:
            self._system = replace(system, transport="packets")
        self._in_packets = self._in_time and (self._runner is not None or max_packets != 0)
        self._noted: set[str] = set()
        self._numbers = {link: number for number, link in enumerate(self.capacity)}
        self._limits: Floats = np.array([*self.capacity.values()], dtype=np.float64)
        self._with_none = np.append(self._limits, inf)  # the last: of a link that no job shares
        self._paths = np.array([fabric.uplinks if link.tier == "rack" else 1 for link in self.capacity])
        self._traffic: dict[tuple[Profile, tuple[Slice, ...]], JobTraffic] = {}
        self._jobs: dict[tuple[JobTraffic, bytes], _Job] = {}
        self._placed: dict[JobTraffic, _Placed] = {}
        self._answers: dict[_Question, _Answer] = {}

    def traffic(self, profile: Profile, placement: Sequence[Slice]) -> JobTraffic:
        """Return the traffic of an iteration of a job alone.

        Parameters
        ----------
        profile
            The layers.
        placement
            (rack, machine, machine type, GPUs) for each machine of the job.
        """
        slices = in_ring_order(placement)
        names = Names()
        renamed = tuple((names.of("rack", r), names.of("machine", m), kind, n) for r, m, kind, n in slices)
        traffic = self._traffic.get((profile, renamed))
        if traffic is None:
            traffic = job_traffic(
                profile, renamed, self._fabric, self._system, self._model, packets=self._in_packets
            )
            self._traffic[profile, renamed] = traffic
        job = replace(traffic, links=names.back(traffic.links))
        self._keep(job, traffic)
        return job

    def load(self, traffic: JobTraffic) -> LinkLoad:
        """Return the load of a job on the links; in time others may meet all that it sends: always busy."""
        job, numbers = self._of(traffic)
        loads = job.loads.tolist()
        return LinkLoad(
            traffic,
            job.alone_ns,
            job.slack,
            1.0 if self._in_time else job.busy,
            dict(zip(numbers.tolist(), loads, strict=True)),
            max(loads, default=0.0),
        )

    def together(
        self,
        jobs: Sequence[JobTraffic],
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
            The traffic of each alone, on links of this cluster; of any number of components.
        shift_ns
            Delay of each job's iterations relative to the others'; by default none.
        stretch, waiting_ns
            As for `JobTraffic.stretched`, which need not be called before; by default 1 and 0.
        joined
            Whether they are known to be one component.
        """
        placed = [self._of(job) for job in jobs]
        times: Floats = np.array(stretch or [1.0] * len(jobs))
        waits: Floats = np.array(waiting_ns or [0] * len(jobs), dtype=np.float64)
        shifts = np.array(shift_ns or [0] * len(jobs), dtype=np.int64)
        together_ns = np.array([job.alone_ns for job, _ in placed]) * times + waits
        for numbers in [[*range(len(jobs))]] if joined else self._components(placed):
            links = [jobs[number].links for number in numbers]
            members = [placed[number] for number in numbers]
            part = times[numbers], waits[numbers] / times[numbers], shifts[numbers]
            level, ratios = self._followed(links, members, *part) if self._in_time else _NOT_FOLLOWED
            self.answers[level] += 1
            self.answers["fallbacks"] += self._in_packets and level != "packets"
            together_ns[numbers] *= self._mean_field(members, *part) if ratios is None else ratios
        answer: list[float] = together_ns.tolist()
        return answer

    def packets(self, jobs: Sequence[JobTraffic]) -> list[int]:
        """Return the packets of each component of few jobs, about; 0 if it cannot be followed."""
        network = self.capacity, self._fabric, self._system
        return [packets_of(members, *network) for members in self._small_components(jobs)]

    def resolutions(self, jobs: Sequence[JobTraffic]) -> list[tuple[int, int] | None]:
        """Return the resolution of each component of few jobs: cells per window, and divisor of time."""
        network = self.capacity, self._fabric, self._system, self._max_packets
        return [resolution_of(members, *network) for members in self._small_components(jobs)]

    def _small_components(self, jobs: Sequence[JobTraffic]) -> list[list[JobTraffic]]:
        components = self._components([self._of(job) for job in jobs])
        return [[jobs[number] for number in numbers] for numbers in components if len(numbers) <= MAX_JOBS]

    def _components(self, placed: Sequence[_Placed]) -> list[list[int]]:
        """Return the jobs of each component of two jobs or more, by place."""
        on = [numbers.tolist() for _, numbers in placed]
        return components(on, [job.loads.tolist() for job, _ in placed], self._limits.tolist())

    def _of(self, traffic: JobTraffic) -> _Placed:
        placed = self._placed.get(traffic)
        return self._keep(traffic, traffic) if placed is None else placed

    def _keep(self, job: JobTraffic, traffic: JobTraffic) -> _Placed:
        """Remember a job as the traffic that it is a placement of."""
        if len(self._placed) >= _MAX_KEPT:
            self._placed.clear()
            self._traffic.clear()
            self._jobs.clear()
        numbers = np.array([self._numbers.get(link, -1) for link in job.links], dtype=np.int64)
        limits = self._with_none[numbers]
        key = traffic, limits.tobytes()
        known = self._jobs.get(key)
        if known is None:
            known = self._jobs[key] = _Job.of(job, limits)
        placed = self._placed[job] = _Placed(known, numbers[known.shared])
        return placed

    def _mean_field(
        self, placed: Sequence[_Placed], times: Floats, waiting_ns: Floats, shift_ns: Ints
    ) -> Floats:
        """Return together / alone of the jobs of a component by the mean field; of many, in steps.

        Parameters
        ----------
        placed
            The jobs.
        times, waiting_ns, shift_ns
            As for `together`, but waiting relative to the profile.
        """
        numbers, owners = [numbers for _, numbers in placed], None
        means = [job.whole for job, _ in placed if job.alike]
        if len(means) < len(placed):
            loads = np.concatenate([job.loads for job, _ in placed])
            full = np.bincount(np.concatenate(numbers), loads, len(self._limits)) > self._limits * FULL
            met = [full[of_job] for of_job in numbers]
            met = [on if on.any() else np.ones_like(on) for on in met]
            if any(job.roles for job, _ in placed):
                means, numbers, owners = _by_role(placed, met)
                times, waiting_ns, shift_ns = times[owners], waiting_ns[owners], shift_ns[owners]
            else:
                means = [job.mean(on) for (job, _), on in zip(placed, met, strict=True)]
        overlap = None
        if self._in_time and len(placed) > MAX_JOBS:
            begins_ns = np.array([mean.begins_ns for mean in means]) + waiting_ns
            spans_ns = np.array([mean.span_ns for mean in means])
            overlap = Overlap(begins_ns * times + shift_ns, spans_ns * times, times)
        counts, link = np.array([len(of_job) for of_job in numbers]), np.concatenate(numbers)
        ratios = slowdowns_of(means, counts, link, self._paths, waiting_ns, overlap, owners)
        if owners is not None:
            ratios = ratios[np.searchsorted(owners, np.arange(len(placed)))]
        return np.rint(ratios / _STEP) * _STEP if len(placed) > MAX_JOBS else ratios

    def _followed(
        self,
        links: Sequence[Sequence[Link]],
        placed: Sequence[_Placed],
        times: Floats,
        waiting_ns: Floats,
        shift_ns: Ints,
    ) -> _Answer:
        """Return together / alone of the jobs of a component followed in time; see `_mean_field`."""
        if not _few(placed, times, waiting_ns):
            return _NOT_FOLLOWED
        members = []
        each_job = zip(placed, times.tolist(), waiting_ns.tolist(), shift_ns.tolist(), strict=True)
        for number, ((job, _), time, wait_ns, begin_ns) in enumerate(each_job):
            waiting = round(wait_ns / (job.alone_ns * _STEP)) if wait_ns else 0
            members.append(_Member(job.key, waiting, round(log(time) / log1p(_STEP)), begin_ns, number))
        members.sort()
        first = members[0].steps
        if self._in_packets:
            places = [
                [(link.tier == "rack", link.place) for link in links[member.number]] for member in members
            ]
            members = [members[at] for at in order_of([member[:-1] for member in members], places)]
            first = 0  # latency of packets does not scale
        names, earliest = Names(), min(member.shift_ns for member in members)
        scale = (1 + _STEP) ** first
        shifts = [round((member.shift_ns - earliest) / scale) for member in members]
        renamed = [tuple(map(names.renamed, links[member.number])) for member in members]
        question = tuple(
            (member.key, member.waiting, member.steps - first, shift, tuple(link.place for link in of_job))
            for member, shift, of_job in zip(members, shifts, renamed, strict=True)
        )
        level, ratios = self._answers.get(question, ("", None))
        if not level:
            if len(self._answers) >= _MAX_KEPT:
                self._answers.clear()
            jobs, capacity = [], dict[Link, float]()
            for member, of_job in zip(members, renamed, strict=True):
                job = placed[member.number].job
                time = (1 + _STEP) ** (member.steps - first)
                traffic = job.traffic.stretched(time, round(member.waiting * _STEP * time * job.alone_ns))
                jobs.append(replace(traffic, links=of_job))
                capacity.update(zip(of_job, job.limits.tolist(), strict=True))
            level, ratios = self._answers[question] = self._ask(jobs, capacity, shifts)
        if ratios is None:
            return _NOT_FOLLOWED
        by_number = sorted(zip([member.number for member in members], ratios, strict=True))
        return level, [ratio for _, ratio in by_number]

    def _ask(
        self, jobs: Sequence[JobTraffic], capacity: Mapping[Link, float], shifts: Sequence[int]
    ) -> _Answer:
        """Return together / alone of jobs in order, at packet level or else at flow level."""
        ratios = None
        if self._in_packets:
            ratios = followed(
                jobs,
                capacity,
                self._fabric,
                self._system,
                shifts,
                max_packets=self._max_packets,
                runner=self._runner,
            )
            if ratios is None:
                self._note(_FLOWS if in_rings(self._system) else _NO_RINGS)
            elif self._system.packets and not self._system.windows and _largest_bytes(jobs) > _BUFFER_BYTES:
                self._note(_PAUSES)
        if ratios is not None:
            return "packets", [max(1.0, ratio) for ratio in ratios]
        flows = [job.one_way().joined() for job in jobs]
        if _events(flows) > _MAX_EVENTS:
            return _NOT_FOLLOWED
        times_ns = together(flows, capacity, shifts, uplinks=self._fabric.uplinks)
        return "flow_level", [max(1.0, ns / job.alone_ns) for ns, job in zip(times_ns, flows, strict=True)]

    def _note(self, note: str) -> None:
        """Log a note once."""
        if note not in self._noted:
            self._noted.add(note)
            _log.warning(note, extra={"note": True})


def components(
    links: Sequence[Sequence[int]], loads: Sequence[Sequence[float]], capacity: Sequence[float]
) -> list[list[int]]:
    """Return the jobs of each component of two jobs or more.

    Parameters
    ----------
    links, loads
        Numbers of each job's links, and its highest rate on each of them, byte/ns.
    capacity
        Of all links, byte/ns.
    """
    offered, on = [0.0] * len(capacity), list[list[int]]([] for _ in capacity)
    for job, (numbers, rates) in enumerate(zip(links, loads, strict=True)):
        for link, rate in zip(numbers, rates, strict=True):
            offered[link] += rate
            on[link].append(job)
    component = [[job] for job in range(len(links))]
    for link, load in enumerate(offered):
        if load > capacity[link] * FULL:
            joined = sorted({other for job in on[link] for other in component[job]})
            for job in joined:
                component[job] = joined
    return [jobs for job, jobs in enumerate(component) if len(jobs) > 1 and jobs[0] == job]


def _largest_bytes(jobs: Sequence[JobTraffic]) -> int:
    """Return the size of the largest message of some jobs."""
    rings = [job.ring for job in jobs if job.ring]
    return max((layer.bytes // gpus(ring.shape) for ring in rings for layer in ring.layers), default=0)


def _by_role(placed: Sequence[_Placed], met: Sequence[Bools]) -> tuple[list[MeanJob], list[Ints], Ints]:
    """Return mean jobs, the numbers of their links, and their owners; of a plan one for each role."""
    senders: list[tuple[MeanJob, Ints, int]] = []
    for number, ((job, links), on) in enumerate(zip(placed, met, strict=True)):
        if job.roles:
            senders += [(mean, links[at], number) for mean, at in job.roles]
        else:
            senders.append((job.mean(on), links, number))
    means, numbers, owners = zip(*senders, strict=True)
    return list(means), list(numbers), np.array(owners)


def _few(placed: Sequence[_Placed], times: Floats, waiting_ns: Floats) -> bool:
    """Return whether jobs, and their iterations until they have done enough, are few enough to follow.

    None is, where a job has a plan.
    """
    if any(job.traffic.exposure is not None for job, _ in placed):
        return False
    alone_ns = times * (waiting_ns + [job.alone_ns for job, _ in placed])
    iterations = (followed_ns(alone_ns.tolist(), ITERATIONS) / alone_ns).sum()
    return len(placed) <= MAX_JOBS and bool(iterations <= _MAX_ITERATIONS)


def _events(jobs: Sequence[JobTraffic]) -> float:
    """Return the number of begins and ends of transfers until all jobs have done enough iterations."""
    alone_ns = [job.alone_ns for job in jobs]
    until_ns = followed_ns(alone_ns, ITERATIONS)
    return sum(2 * len(job.transfers_ns) * until_ns / ns for job, ns in zip(jobs, alone_ns, strict=True))
