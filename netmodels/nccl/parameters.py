"""The parameters of NCCL's collectives on a fabric, and their values if nothing was measured.

Without measured runs, latencies and bandwidths come from the dimensions of the tiers, all else from the
constants of NCCL's own cost model (github.com/NVIDIA/nccl at 5067397, src/graph/tuning.cc: hwLatencies,
baseLatencies, the factors of ncclTopoTuneModel), or is the round figure that published runs agree on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netmodels.fabric.fabric import Dimension, Fabric, Tiers

_EFFICIENCY = 0.92  # of a link's bandwidth: NCCL's factor for trees and for the LL128 protocol
_TREE_STEP = 5.0 / 2.7  # a step of a tree to one of a ring, network, LL: hwLatencies
_NETWORK_STEP_US = 5.0  # that of a tree


@dataclass(frozen=True, slots=True)
class NcclTier:
    """The links of one tier as NCCL can use them.

    Parameters
    ----------
    step_us
        Latency of a step of a tree with the quickest protocol (LL).
    gpu_gb_s
        What a GPU sends, 10^9 byte/s: its links times their efficiency.
    machine_gb_s, rack_gb_s
        What all GPUs of a machine (of a rack) send together at most; 0: as many as there are.
    """

    step_us: float
    gpu_gb_s: float
    machine_gb_s: float = 0.0
    rack_gb_s: float = 0.0

    def sends_gb_s(self, gpus: int, rack_gpus: int) -> float:
        """Return what some GPUs of one machine send together, of `rack_gpus` in their rack."""
        limits = [gpus * self.gpu_gb_s]
        if self.machine_gb_s:
            limits.append(self.machine_gb_s)
        if self.rack_gb_s:
            limits.append(self.rack_gb_s * gpus / rack_gpus)
        return min(limits)


@dataclass(frozen=True, slots=True)
class NcclFabric:
    """The parameters of NCCL's collectives on a fabric; `netmodels.nccl.model` has the formulas.

    Parameters
    ----------
    machine, rack, network
        The tiers.
    start_us
        Start-up time of any collective before its first step.
    skew
        How much slower a step of a tree becomes with each doubling of the machines after the first.
    pipeline
        Cost of filling the pipeline of large messages relative to sending them, while their chunks grow.
    ll_pipeline
        The same for small messages (LL): 1 for the best of constant chunks.
    bulk
        Latency of a tree's step with the protocol of large messages (Simple), relative to LL.
    ll_share
        Bandwidth of LL, relative to that of large messages.
    round_us, bulk_round_us
        A step of a ring over machines, with LL and with large messages.
    message_us
        A message of an all-to-all to another machine.
    exchange
        Share of the bandwidth that leaves a machine which all-to-all and send-receive reach.
    switch_gb_s
        Bus bandwidth of an all-reduce inside a machine, as with reduction in the switch (NVLS); 0: that of
        its links.
    channels_gb_s
        Most bus bandwidth of collectives over machines: what passes a machine between its network and its
        GPUs; 0: what passes inside.
    ring_from_mb
        Size of an all-reduce over machines, 10^6 bytes for each GPU in it, from which it runs as a ring if
        that is faster; smaller ones run as a tree. Published runs switch at 1 to 4.
    """

    machine: NcclTier
    rack: NcclTier
    network: NcclTier
    start_us: float = 6.8
    skew: float = 0.07
    pipeline: float = 1.6
    ll_pipeline: float = 0.7
    bulk: float = 2.8
    ll_share: float = 1 / 3.8
    round_us: float = 3.0
    bulk_round_us: float = 6.0
    message_us: float = 10.0
    exchange: float = 0.6
    switch_gb_s: float = 0.0
    channels_gb_s: float = 0.0
    ring_from_mb: float = 3.0

    @property
    def inside_gb_s(self) -> float:
        """Bus bandwidth of an all-reduce inside a machine."""
        return self.switch_gb_s or self.machine.gpu_gb_s


@lru_cache(maxsize=4096)
def nccl_of(fabric: "Fabric", machine_type: str | None = None) -> NcclFabric:
    """Return the parameters of a fabric: its own, or derived from its tiers as a machine type sees them."""
    if fabric.nccl is not None:
        return fabric.nccl
    (_, machine), (_, rack), (_, network) = fabric.tiers(machine_type)
    return derived((machine, rack, network))


def derived(tiers: "Tiers") -> NcclFabric:
    """Return parameters from the dimensions of the tiers and NCCL's constants.

    A tier's latency counts as a ring's step of LL, which NCCL's constants put at 2.7 us on the network, and
    steps of rings and messages grow with that of the rack tier.
    """
    machine, rack, network = (
        _tier(dimensions, step) for dimensions, step in zip(tiers, (1.0, _TREE_STEP, _TREE_STEP), strict=True)
    )
    slower = rack.step_us / _NETWORK_STEP_US
    usual = NcclFabric(machine, rack, network)
    return replace(
        usual,
        round_us=slower * usual.round_us,
        bulk_round_us=slower * usual.bulk_round_us,
        message_us=slower * usual.message_us,
    )


def _tier(dimensions: "Sequence[Dimension]", step: float) -> NcclTier:
    narrowest = min(dimensions, key=lambda each: each.bandwidth_bytes_per_ns)
    hops_ns = max((2 if each.kind == "switch" else 1) * each.latency_ns for each in dimensions)
    return NcclTier(
        max(step * hops_ns / 1e3, 1e-3),
        _EFFICIENCY * narrowest.bandwidth_bytes_per_ns,
        _EFFICIENCY * narrowest.machine_bytes_per_ns,
        _EFFICIENCY * narrowest.rack_bytes_per_ns,
    )
