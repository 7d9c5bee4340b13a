"""Prices of iterations of jobs that share the links of one fabric."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from artist.errors import InputError
from artist.pricing.placements import parse_machines
from artist.pricing.price import within_64_bits
from netmodels.api import (
    Contention,
    JobTraffic,
    Link,
    Profile,
    Slice,
    SystemSettings,
    Tier,
    Topology,
    shape_of,
)
from netmodels.contention.contention import Way
from netmodels.contention.packet_level import Runner
from netmodels.contention.transfers import overloaded
from netmodels.fabric.shape import gpus, tier

_log = logging.getLogger("artist")
_PACKETS_PER_MINUTE = 3_000_000  # on one core, with those of the jobs alone
_CELLS = "in %d cells per window, or per message without windows: %s %% off at the median of ns-3's cases"
_WAYS: Mapping[tuple[int, int] | None, str] = {
    None: "at flow level: 2 to 6 % off at the median of ns-3's cases",
    (0, 1): "packet by packet",
    **{(cells, 1): _CELLS % (cells, off) for cells, off in ((24, "1"), (6, "2"), (4, "2 to 5"))},
}
_SHORTER = "in 4 cells per window or message, and in 1/%d of the time: up to tens of %% off"
_ALLOWED = "a model and its placement, such as 'GPT-2 4|4'"


@dataclass(frozen=True, slots=True)
class Job:
    """A job to be priced; its placement in words, and as (rack, machine type, GPUs) of its machines."""

    model: str
    placement: str
    machines: Sequence[tuple[int, str, int]]


@dataclass(frozen=True, slots=True)
class JobPrice:
    """The price of one iteration of a job beside others.

    Parameters
    ----------
    number
        Of the job, from 1.
    model, placement
        Of the job, as they were given.
    gpus, tier
        GPUs of the job, and the widest tier that it crosses.
    alone_ns, mean_field_ns, packets_ns
        Mean time of an iteration alone, and beside the others by either way of
        `netmodels.contention.contention`.
    lead
        Further columns that tell it from others, such as the topology.
    """

    number: int
    model: str
    placement: str
    gpus: int
    tier: Tier
    alone_ns: float
    mean_field_ns: float
    packets_ns: float
    lead: tuple[str, ...] = field(default=())

    def slowdown(self, together_ns: float) -> float:
        """Return the time together / alone."""
        return together_ns / self.alone_ns if self.alone_ns else 1.0


@dataclass(frozen=True, slots=True)
class LinkPrice:
    """A link that jobs could overload together.

    Parameters
    ----------
    name
        Such as `uplink of rack 0`.
    jobs
        Numbers of the jobs that send on it.
    bytes_per_ns, paths
        Capacity of one of its parallel links, and their number.
    asked, use
        The jobs' sending rates if all were at their peak on the same path, as a share of its capacity; and
        their mean rates (`packets_ns`), as a share of that of all paths.
    lead
        As in `JobPrice`.
    """

    name: str
    jobs: tuple[int, ...]
    bytes_per_ns: float
    paths: int
    asked: float
    use: float
    lead: tuple[str, ...] = field(default=())


def parse_jobs(texts: Sequence[str], topology: Topology) -> list[Job]:
    """Return the jobs that texts such as `GPT-2 4|4` describe.

    Raises
    ------
    InputError
        If there are fewer than two, or one is not a model and a placement.
    """
    if len(texts) < 2:
        jobs_text, allowed = ", ".join(texts), "two or more, such as '[GPT-2 4|4, VGG16 4|4]'"
        raise InputError("a job alone shares no links", where="jobs", found=jobs_text, allowed=allowed)
    jobs = []
    for text in texts:
        model, _, placement = text.strip().partition(" ")
        if not placement:
            raise InputError("not a job", where="jobs", found=text, allowed=_ALLOWED)
        jobs.append(Job(model, placement.strip(), parse_machines(placement, topology, "jobs")))
    return jobs


def placed(jobs: Sequence[Job], topology: Topology) -> list[list[Slice]]:
    """Place jobs on one fabric, one after the other, and return the machines of each.

    Rack k of a job is rack k of the fabric. A job takes the first machines that have the GPUs free, each
    after the one before; 0 GPUs pass over a machine. The first job on a machine decides its type.

    Raises
    ------
    InputError
        If a rack has no such machines left.
    """
    per_rack = topology.machines_per_rack
    kinds: dict[tuple[int, int], str] = {}
    free: dict[tuple[int, int], int] = {}
    placements = []
    for job in jobs:
        slices: list[Slice] = []
        following: dict[int, int] = {}
        for rack, kind, count in job.machines:
            at = following.get(rack, 0)
            while count and at < per_rack:
                room = free.get((rack, at), topology.machine_type(kind).gpus)
                if room >= count and kinds.get((rack, at), kind) == kind:
                    break
                at += 1
            following[rack] = at + 1
            if count and at >= per_rack:
                what = f"no machine is left in rack {rack} with as many free GPUs as {count}"
                allowed = f"jobs that fit {per_rack} machines per rack together"
                raise InputError(what, where="jobs", found=f"{job.model} {job.placement}", allowed=allowed)
            if count:
                kinds[rack, at], free[rack, at] = kind, room - count
                slices.append((rack, rack * per_rack + at, kind, count))
        placements.append(slices)
    return placements


def price_together(
    jobs: Sequence[Job],
    profiles: Sequence[Profile],
    network: Any,
    topology: Topology,
    system: SystemSettings,
    lead: tuple[str, ...] = (),
    *,
    max_packets: int | None = None,
) -> tuple[list[JobPrice], list[LinkPrice]]:
    """Return the prices of jobs on one fabric, and the links that they could overload together.

    Parameters
    ----------
    jobs, profiles
        The jobs, and the profile of the model of each.
    network
        Prices the parts of an iteration's collectives; not every model does.
    topology, system, lead
        As for `price_iterations`.
    max_packets
        As for `netmodels.contention.packet_level.followed`. A warning says if jobs have more, or take
        minutes.

    Raises
    ------
    InputError
        If the jobs do not fit, or the network model cannot answer.
    """
    if not hasattr(network, "parts"):
        what, allowed = "this network model prices one job at a time", "network=analytical, or leave jobs out"
        raise InputError(what, where="network.model", allowed=allowed)
    placements = placed(jobs, topology)
    with within_64_bits():
        ways: Sequence[Way] = ("mean_field", "packets")
        machines = _machines(placements, topology)
        fabric = topology.fabric
        asked = [Contention(way, machines, fabric, system, network, max_packets) for way in ways]
        scaled = [_scaled(*pair, topology) for pair in zip(profiles, placements, strict=True)]
        sendings = [asked[1].traffic(*pair) for pair in zip(scaled, placements, strict=True)]
        if not isinstance(network, Runner):
            _warn_of_packets(asked[1].packets(sendings), max_packets, asked[1].resolutions(sendings))
        mean_field_ns, packets_ns = (links.together(sendings) for links in asked)
    prices = []
    for number, (job, sending) in enumerate(zip(jobs, sendings, strict=True)):
        shape = shape_of(job.machines)
        times = sending.alone_ns, mean_field_ns[number], packets_ns[number]
        of = job.model, job.placement, gpus(shape), tier(shape)
        prices.append(JobPrice(number + 1, *of, *times, lead))
    return prices, list(_links(sendings, asked[1].capacity, packets_ns, topology, lead))


def _warn_of_packets(
    counts: Sequence[int], most: int | None, resolutions: Sequence[tuple[int, int] | None]
) -> None:
    """Warn of components with more packets than are followed of one, or with minutes of them."""
    too_many = [] if most is None else [count for count in counts if count > most]
    count = sum(too_many or counts)
    minutes = ceil(count / _PACKETS_PER_MINUTE)
    if too_many:
        note = (
            "following all of about %s packets would take %d min (contention_packets=null); "
            "jobs are followed %s"
        )
        ways = dict.fromkeys(_SHORTER % way[1] if way and way[1] > 1 else _WAYS[way] for way in resolutions)
        _log.warning(note, f"{count:,}", minutes, "; ".join(ways))
    elif minutes > 1:
        _log.warning("following about %s packets, which takes about %d min", f"{count:,}", minutes)


def _scaled(profile: Profile, slices: Iterable[Slice], topology: Topology) -> Profile:
    return profile.scaled(1 / min(topology.machine_type(kind).speed for _, _, kind, _ in slices))


def _machines(placements: Sequence[Sequence[Slice]], topology: Topology) -> list[Slice]:
    """Return all machines of the racks in use, each with all its GPUs; the default type where no job is."""
    kinds = {machine: kind for slices in placements for _, machine, kind, _ in slices}
    per_rack = topology.machines_per_rack
    racks = max(machine for machine in kinds) // per_rack + 1
    machines = []
    for number in range(racks * per_rack):
        machine = topology.machine_type(kinds.get(number))
        machines.append((number // per_rack, number, machine.name, machine.gpus))
    return machines


def _links(
    jobs: Sequence[JobTraffic],
    capacity: Mapping[Link, float],
    iteration_ns: Sequence[float],
    topology: Topology,
    lead: tuple[str, ...],
) -> Iterator[LinkPrice]:
    """Yield the links that jobs could overload together; both directions carry the same."""
    for link in overloaded(jobs, capacity):
        if link.way == "out":
            at = {number: job.links.index(link) for number, job in enumerate(jobs) if link in job.links}
            peaks = (jobs[job].peaks(jobs[job].limits(capacity))[place] for job, place in at.items())
            asked = float(sum(peaks))
            sent = (jobs[job].sent_bytes[:, place].sum() / iteration_ns[job] for job, place in at.items())
            paths, limit = topology.fabric.uplinks if link.tier == "rack" else 1, capacity[link]
            uses = asked / limit, float(sum(sent)) / limit / paths
            name, numbers = _name(link, topology.machines_per_rack), tuple(job + 1 for job in at)
            yield LinkPrice(name, numbers, limit, paths, *uses, lead)


def _name(link: Link, per_rack: int) -> str:
    if link.tier == "rack":
        return f"uplink of rack {link.place}"
    port = f"port of machine {link.place % per_rack} in rack {link.place // per_rack}"
    return port if link.tier == "machine" else f"{port}, beyond the rack"
