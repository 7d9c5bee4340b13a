"""The parameters of NCCL's collectives on a fabric, and what they are where nothing was measured.

Without measured runs they come from the dimensions of the tiers and from the constants of NCCL's own cost
model (github.com/NVIDIA/nccl, src/graph/tuning.cc, function ncclTopoTuneModel and the tables above it).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netmodels.fabric import Dimension, Fabric, Tiers


@dataclass(frozen=True, slots=True)
class NcclTier:
    """What NCCL gets of the links of one tier.

    Parameters
    ----------
    step_us
        Latency of one step of its quickest protocol (LL).
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
    """The parameters of NCCL's collectives on a fabric.

    Parameters
    ----------
    machine, rack, network
        The tiers.
    start_us
        What any collective takes before its first step.
    skew
        How much slower a step of a tree becomes with each doubling of the machines after the first.
    pipeline
        How much of the time is lost where latency and bandwidth meet: 0 if none, 1 for a pipeline with the
        best of constant chunks.
    round_us
        A step of a ring, of which an all-gather has one a rank.
    message_us
        A message of an all-to-all, of which it has one a rank.
    switch_gb_s
        Bus bandwidth of an all-reduce in the switch of a machine (NVLS); 0 without.
    """

    machine: NcclTier
    rack: NcclTier
    network: NcclTier
    start_us: float = 6.8
    skew: float = 0.07
    pipeline: float = 0.4
    round_us: float = 8.0
    message_us: float = 15.0
    switch_gb_s: float = 0.0

    def tier(self, racks: int) -> NcclTier:
        """Return the tier that joins the machines of so many racks."""
        return self.network if racks > 1 else self.rack


def nccl_of(fabric: "Fabric", machine_type: str | None = None) -> NcclFabric:
    """Return the parameters of a fabric: its own, or derived from its tiers as a machine type sees them."""
    if fabric.nccl is not None:
        return fabric.nccl
    (_, machine), (_, rack), (_, network) = fabric.tiers(machine_type)
    return derived((machine, rack, network))


def derived(tiers: "Tiers") -> NcclFabric:
    """Return parameters from the dimensions of the tiers and NCCL's constants."""
    machine, rack, network = (_tier(dimensions) for dimensions in tiers)
    return NcclFabric(machine, rack, network)


def _tier(dimensions: "Sequence[Dimension]") -> NcclTier:
    narrowest = min(dimensions, key=lambda each: each.bandwidth_bytes_per_ns)
    hops = max((2 if each.kind == "switch" else 1) * each.latency_ns for each in dimensions)
    return NcclTier(
        hops / 1e3,
        _EFFICIENCY * narrowest.bandwidth_bytes_per_ns,
        _EFFICIENCY * narrowest.machine_bytes_per_ns,
        _EFFICIENCY * narrowest.rack_bytes_per_ns,
    )


_EFFICIENCY = 0.92  # of the links' bandwidth: headers and protocol, as of NCCL's LL128 and trees
