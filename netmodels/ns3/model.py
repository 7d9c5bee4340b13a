"""ns-3's Python package as a network model."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from netmodels.collectives.across_machines import add_ns
from netmodels.collectives.algorithms import Collective, Ints
from netmodels.collectives.dimensions import SeenTiers, tiers_of
from netmodels.collectives.hosts import Network
from netmodels.collectives.iteration_time import IterationTime
from netmodels.collectives.timeline import Part, ring_iteration, ring_parts
from netmodels.fabric.fabric import Fabric
from netmodels.fabric.shape import Shape, gpus
from netmodels.fabric.system import SystemSettings
from netmodels.inputs.digest import sources_of
from netmodels.inputs.errors import InputError
from netmodels.ns3.process import Worker
from netmodels.ns3.question import Messages, Placement, messages_of, packets_in, question
from netmodels.ns3.tree import Tree
from netmodels.packets.channels import RingChannels
from netmodels.packets.engine import Network as Links
from netmodels.packets.rings import Layer, RingJob
from netmodels.profiles.buckets import bucketed
from netmodels.profiles.layers import Profile, refuse_program

_log = logging.getLogger(__name__)

Ends = tuple[tuple[int, ...], ...]
"""Ends of each job's iterations, ns."""

Kept = Callable[[Mapping[str, object], Callable[[], Mapping[str, Any]]], Mapping[str, Any]]
"""Returns the answer to a question that was asked before, or else the new one."""

_LONGEST_PAYLOAD = 65_000  # bytes; with headers, the limit of IPv4
_MAX_MESSAGE = 2**31 - 1  # bytes: two of them may wait on a connection

# No packet is lost and congestion control never limits: only the receiver's buffer limits a connection.
_ATTRIBUTES = {
    "ns3::TcpL4Protocol::SocketType": "ns3::TcpNewReno",
    "ns3::TcpSocket::InitialSlowStartThreshold": str(2**30),
    "ns3::TcpSocket::SndBufSize": str(2**32 - 1),  # a sender hands over whole messages
    "ns3::TcpSocket::DelAckCount": "1",  # RDMA acknowledges every packet (L2_ACK_INTERVAL 1)
    "ns3::TcpSocketBase::MinRto": "3600s",  # a queue may hold a packet for long
    "ns3::TcpSocketBase::Sack": "false",
    "ns3::TcpSocketBase::Timestamp": "false",  # headers of 42 bytes with PPP's 2, not 54
}


class Ns3Parameters(BaseModel):
    """Parameters of `Ns3Model`.

    Attributes
    ----------
    payload_bytes
        Of a packet. 8000 is ASTRA-sim's, to compare with; larger packets cost less time and follow sharing
        less closely.
    packets_a_message
        Messages of more packets go in longer ones, of up to 65,000 bytes, where one job is alone and there
        are no windows.
    max_packets
        A question that takes more is refused before ns-3 begins; a packet over two to six links takes 20 to
        60 us.
    packets_together
        Of a question about iterations of jobs that share links (`performance.contention=packets`), about: of
        more, time is scaled down (`netmodels.contention.packet_level`).
    timeout_s
        Longest time for an answer, that is for one collective, or for jobs together.
    attributes
        Defaults of ns-3's attributes instead of ours, by name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    payload_bytes: int = Field(8000, ge=500, le=_LONGEST_PAYLOAD)
    packets_a_message: int = Field(64, ge=16)
    max_packets: int = Field(10_000_000, ge=1)
    packets_together: int = Field(60_000, ge=1000)
    timeout_s: float = Field(3600, gt=0, le=1e6)
    attributes: dict[str, str | int | float | bool] | None = None


class Ns3Model:
    """Price an iteration by collectives that ns-3 simulates as TCP.

    A collective of each size that the iteration has is run alone on the hosts, switches and links that the
    placement uses (`netmodels.collectives.hosts`), as one ring through all its GPUs; they follow each other
    in one queue beside the backward pass. `together` runs whole iterations of several jobs.

    The transport is TCP without losses: queues are unbounded, and congestion control never limits. Each
    message has its own connection, opened before and reused when the message is over, which is when
    its last byte is acknowledged. With `transport=windows` the receiver's buffer holds the bytes that the
    slowest link of the way carries in an unloaded round trip; else it does not limit. So messages go as in
    ASTRA-sim's ns-3, whose queue pairs acknowledge every packet as well; headers are 42 bytes,
    acknowledgements 42.

    Parameters
    ----------
    parameters
        Fields of `Ns3Parameters`.

    Attributes
    ----------
    worker
        The process that has ns-3.

    Raises
    ------
    InputError
        If ns-3 is not installed.
    """

    heeded = (
        "endpoint_delay_ns",
        "local_memory_gb_s",
        "across_machines",
        "collectives",
        "transport",
        "bucket_cap_mb",
    )

    def __init__(self, **parameters: object) -> None:
        self.parameters = p = Ns3Parameters.model_validate(parameters)
        try:
            self._ns3 = version("ns3")
        except PackageNotFoundError:
            raise InputError(
                "ns-3 is not installed",
                where="network=ns3",
                found="no package ns3",
                allowed="pip install artist-sim[ns3]",
            ) from None
        self.worker = Worker(p.timeout_s)
        self._kept: Kept = _not_kept
        self._known: dict[tuple[Collective, int, Shape, SeenTiers, SystemSettings], int] = {}

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """Defaults of ns-3's attributes, by name, except those that depend on the size of packets."""
        chosen = {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in (self.parameters.attributes or {}).items()
        }
        return {**_ATTRIBUTES, **chosen}

    @property
    def version(self) -> str:
        """Version of ns-3, and the settings that change its answers."""
        p = self.parameters
        attributes = (f"{name}={value}" for name, value in sorted(self.attributes.items()))
        return " ".join([self._ns3, str(p.payload_bytes), str(p.packets_a_message), *attributes])

    def keep_with(self, kept: Kept) -> None:
        """Keep answers to single questions: equal collectives of other iterations, and jobs together."""
        self._kept = kept

    def iteration(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> IterationTime:
        """Return the time of one iteration; see `netmodels.api.NetworkModel`.

        Raises
        ------
        InputError
            If ns-3 cannot run the settings, or gives no answer.
        """
        _check(system)
        refuse_program(profile, "ns-3")
        profile = bucketed(profile, system.bucket_bytes)
        return ring_iteration(profile, shape, lambda sizes: self._durations_ns(sizes, shape, fabric, system))

    def parts(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> tuple[Part, ...]:
        """Return an iteration's all-reduces as one ring each; see `netmodels.models.analytical`.

        Raises
        ------
        InputError
            As for `iteration`.
        """
        _check(system)
        refuse_program(profile, "ns-3")
        profile = bucketed(profile, system.bucket_bytes)
        return ring_parts(profile, shape, lambda sizes: self._durations_ns(sizes, shape, fabric, system))

    def _durations_ns(self, sizes: Ints, shape: Shape, fabric: Fabric, system: SystemSettings) -> Ints:
        durations = [self.collective_ns("all_reduce", size, shape, fabric, system) for size in sizes.tolist()]
        return np.array(durations, dtype=np.int64)

    def collective_ns(
        self, collective: Collective, size_bytes: int, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> int:
        """Return the time of one collective alone; `size_bytes` is the size per GPU at the start.

        Raises
        ------
        InputError
            As for `iteration`.
        """
        _check(system)
        if gpus(shape) < 2:
            return 0
        times_ns = []
        for tiers in tiers_of(shape, fabric):
            key = (collective, size_bytes, shape, tiers, system)
            if key not in self._known:
                adds_ns = add_ns(size_bytes // gpus(shape), system)
                layer = Layer(0, size_bytes, collective, add_ns=adds_ns)
                job = RingJob(tuple(range(gpus(shape))), (layer,), 1)
                links = Placement(Network(shape, tiers))
                self._known[key] = self._asked([job], links, system, longer=not system.windows)[0][0]
            times_ns.append(self._known[key])
        return max(times_ns)

    def together(
        self, jobs: Sequence[RingJob], tree: Tree, *, windows: bool = True, endpoint_delay_ns: int = 10
    ) -> Ends:
        """Return the ends of each job's iterations, ns; see `netmodels.packets.rings.together`.

        Raises
        ------
        InputError
            If a message is too long or there are too many packets, or ns-3 gives no answer.
        """
        system = SystemSettings(
            transport="windows" if windows else "packets", endpoint_delay_ns=endpoint_delay_ns
        )
        return self._asked(jobs, tree, system, uplinks=tree.cores)

    @property
    def packets_together(self) -> int:
        """Packets of a question about jobs that share links, about."""
        return self.parameters.packets_together

    def packets_in(self, message_bytes: int) -> int:
        """Return the number of packets of a message."""
        return packets_in(message_bytes, self.parameters.payload_bytes)

    def run_rings(
        self, jobs: Sequence[RingJob], channels: RingChannels, system: SystemSettings, iterations: int
    ) -> Ends:
        """Return the ends of each job's iterations; see `netmodels.contention.packet_level.Runner`."""
        messages = messages_of([replace(job, iterations=iterations) for job in jobs])
        payload = self.parameters.payload_bytes
        return self._answer(
            jobs, channels, messages, system, payload, uplinks=channels.uplinks, iterations=iterations
        )

    def _asked(
        self,
        jobs: Sequence[RingJob],
        links: Links,
        system: SystemSettings,
        *,
        uplinks: int = 1,
        longer: bool = False,
    ) -> Ends:
        """Ask about jobs that run to their ends, if allowed in longer packets."""
        messages, payload = messages_of(jobs), self.parameters.payload_bytes
        if longer:
            largest = max(size for _, _, size in messages)
            payload = max(payload, min(-(-largest // self.parameters.packets_a_message), _LONGEST_PAYLOAD))
        packets = sum(count * packets_in(size, payload) for (_, _, size), count in messages.items())
        if packets > self.parameters.max_packets:
            raise InputError(
                "too many packets",
                where="network.model.max_packets",
                found=packets,
                allowed=f"at most {self.parameters.max_packets}; a larger network.model.payload_bytes "
                f"(now {payload}) takes fewer",
            )
        return self._answer(jobs, links, messages, system, payload, uplinks=uplinks)

    def _answer(
        self,
        jobs: Sequence[RingJob],
        links: Links,
        messages: Messages,
        system: SystemSettings,
        payload: int,
        *,
        uplinks: int,
        iterations: int | None = None,
    ) -> Ends:
        """Return the answer to a question that was asked before, or ask the worker."""
        largest = max(size for _, _, size in messages)
        if largest > _MAX_MESSAGE:
            raise InputError(
                "a message is longer than 2 GiB",
                where="network.system.bucket_cap_mb",
                found=largest,
                allowed="smaller buckets",
            )
        sizes = {
            "ns3::TcpSocket::SegmentSize": str(payload),
            "ns3::TcpSocket::InitialCwnd": str(2**30 // payload),
        }
        asked = question(
            jobs,
            links,
            messages,
            windows=system.windows,
            payload_bytes=payload,
            endpoint_delay_ns=system.endpoint_delay_ns,
            attributes={**sizes, **self.attributes},
            uplinks=uplinks,
            iterations=iterations,
        )
        key = {"ns3": self._ns3, "sources": sources_of(__name__), "question": asked}
        answer = self._kept(key, lambda: self._new(asked))
        return tuple(map(tuple, answer["ends_ns"]))

    def _new(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the worker's answer."""
        count = sum(len(job[0]) for job in asked["jobs"])
        _log.info("ns-3 is asked about %d jobs on %d GPUs", len(asked["jobs"]), count)
        answer = self.worker.ask(asked)
        if "attribute" in answer:
            name = answer["attribute"]
            raise InputError(
                "ns-3 knows no such attribute or value",
                where="network.model.attributes",
                found=f"{name}={asked['attributes'][name]}",
                allowed="names as ns3::TcpSocket::DelAckCount, values as ns-3 writes them",
            )
        return answer


def _not_kept(_: Mapping[str, object], answer: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    return answer()


def _check(system: SystemSettings) -> None:
    """Raise InputError for settings that it cannot run."""
    allowed = {
        "collectives": ("astra_sim",),
        "across_machines": ("flat_ring",),
        "transport": (None, "packets", "windows"),
    }
    for name, values in allowed.items():
        value = getattr(system, name)
        if value not in values:
            raise InputError(
                "ns-3 runs rings through all GPUs, as packets",
                where=f"network.system.{name}",
                found=value,
                allowed=" or ".join(option or "null" for option in values),
            )
