"""Prices of an iteration, or of a collective, on a placement."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from artist.errors import InputError
from artist.pricing.placements import show_shape
from netmodels.api import (
    CachedModel,
    NcclCollective,
    NetworkModel,
    Profile,
    Shape,
    SystemSettings,
    Tier,
    Topology,
)
from netmodels.fabric.shape import gpus, tier
from netmodels.models.analytical import PortBound
from netmodels.models.cache import Origin
from netmodels.nccl.runs import bus_factor

_MAX_NS = 10**18  # 32 years; sums of a few of them still fit 64 bits


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one iteration.

    Parameters
    ----------
    model, placement
        The job.
    gpus, tier
        GPUs of the placement, and the widest tier that it crosses.
    compute_ns, comm_ns, exposed_ns
        Times of the network model's answer.
    sent_bytes
        Bytes that each GPU sends, by tier.
    lead
        Values of further columns, such as the topology.
    origin
        Origin of the answer.
    bound
        The least time of its communication where that is faster than the ports; else None.
    """

    model: str
    placement: str
    gpus: int
    tier: Tier
    compute_ns: int
    comm_ns: int
    exposed_ns: int
    sent_bytes: dict[Tier, int]
    lead: tuple[str, ...] = field(default=())
    origin: Origin = "model"
    bound: PortBound | None = None

    @property
    def total_ns(self) -> int:
        """Time of the iteration."""
        return self.compute_ns + self.exposed_ns

    @property
    def overhead(self) -> float:
        """Exposed communication / compute; infinite for a model that computes nothing."""
        if not self.compute_ns:
            return math.inf if self.exposed_ns else 0.0
        return self.exposed_ns / self.compute_ns


@dataclass(frozen=True, slots=True)
class CollectivePrice:
    """The price of one collective with the network to itself.

    Parameters
    ----------
    collective, placement
        The collective and its GPUs.
    gpus, tier
        GPUs of the placement, and the widest tier that it crosses.
    bytes
        Size of the whole tensor.
    time_ns
        Its duration.
    lead, bound
        As for `Price`.
    """

    collective: NcclCollective
    placement: str
    gpus: int
    tier: Tier
    bytes: int
    time_ns: int
    lead: tuple[str, ...] = field(default=())
    bound: PortBound | None = None

    @property
    def algorithm_gb_s(self) -> float:
        """Bytes of the tensor over time, 10^9 byte/s (`algbw` of nccl-tests)."""
        return self.bytes / self.time_ns if self.time_ns else 0.0

    @property
    def bus_gb_s(self) -> float:
        """Bandwidth of a GPU's links, 10^9 byte/s, for any number of GPUs (`busbw` of nccl-tests)."""
        return self.algorithm_gb_s * bus_factor(self.collective, self.gpus)


def price_iterations(
    profiles: Sequence[Profile],
    shapes: Sequence[Shape],
    network: NetworkModel,
    topology: Topology,
    system: SystemSettings,
    lead: tuple[str, ...] = (),
) -> list[Price]:
    """Return the prices of models on placements; the slowest GPU type of a placement computes.

    Raises
    ------
    InputError
        If the network model cannot answer.
    """
    prices = []
    for profile in profiles:
        for shape in shapes:
            slowest = min(topology.machine_type(name).speed for rack in shape for name, _ in rack)
            scaled = profile.scaled(1 / slowest)
            with within_64_bits():
                question = (scaled, shape, topology.fabric, system)
                answer = network.iteration(*question)
                spans = answer.spans
                _check_ns(scaled.compute_ns, answer.comm_ns, answer.total_ns)
            origin: Origin = "model"
            bound = None
            if isinstance(network, CachedModel):
                origin, bound = network.origin(*question), network.above_port(*question)
            sent: dict[Tier, int] = {}
            for span in spans:
                sent[span.tier] = sent.get(span.tier, 0) + span.bytes
            times = (answer.compute_ns, answer.comm_ns, answer.exposed_ns)
            place = (show_shape(shape, topology), gpus(shape), tier(shape))
            prices.append(Price(profile.name, *place, *times, sent, lead, origin, bound))
    return prices


def price_collectives(
    collective: NcclCollective,
    bytes_: int,
    shapes: Sequence[Shape],
    network: Any,
    topology: Topology,
    system: SystemSettings,
    lead: tuple[str, ...] = (),
) -> list[CollectivePrice]:
    """Return the prices of a collective on placements; alone, a GPU has nothing to do.

    Raises
    ------
    InputError
        If the network model prices only whole iterations, or does not know the collective.
    """
    model = getattr(network, "collective_ns", None)
    if model is None:
        what = "this network model prices whole iterations, not single collectives"
        raise InputError(what, where="network.model", allowed="network=analytical, or leave collective out")
    if collective == "send_receive" and system.collectives != "nccl":
        what, allowed = "only NCCL sends from each GPU to the next", "network.system.collectives=nccl"
        raise InputError(what, where="collective", found=collective, allowed=allowed)
    above_port = getattr(network, "collective_above_port", None)
    prices = []
    for shape in shapes:
        count = gpus(shape)
        start_bytes = -(-bytes_ // count) if collective == "all_gather" else bytes_
        with within_64_bits():
            question = (collective, start_bytes, shape, topology.fabric, system)
            time_ns = model(*question)
            _check_ns(time_ns)
            bound = above_port(*question) if above_port is not None else None
        place = (show_shape(shape, topology), count, tier(shape))
        prices.append(CollectivePrice(collective, *place, bytes_, time_ns, lead, bound))
    return prices


def _check_ns(*times_ns: int) -> None:
    """Raise OverflowError for a time that is too long, or that has left 64 bits on its way."""
    if not all(0 <= time_ns <= _MAX_NS for time_ns in times_ns):
        raise OverflowError(f"{max(times_ns, key=abs)} ns")


@contextmanager
def within_64_bits() -> Iterator[None]:
    """Say in words that an answer does not fit the nanoseconds that it is counted in."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            yield
    except (OverflowError, FloatingPointError) as error:
        allowed = f"a smaller compute_scale, shorter latencies or more bandwidth: up to {_MAX_NS:g} ns"
        raise InputError("too long a time", where="network", found=str(error), allowed=allowed) from None
