"""NCCL's parameters of a fabric where nothing was measured.

Without measured runs, latencies and bandwidths come from the dimensions of the tiers, all else from the
constants of NCCL's own cost model (github.com/NVIDIA/nccl at 5067397, src/graph/tuning.cc: hwLatencies,
baseLatencies, the factors of ncclTopoTuneModel), or is the round figure that published runs agree on.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from netmodels.fabric.fabric import Dimension, Fabric, Tiers
from netmodels.fabric.nccl import NcclFabric, NcclTier

_EFFICIENCY = 0.92  # of a link's bandwidth: NCCL's factor for trees and for the LL128 protocol
_TREE_STEP = 5.0 / 2.7  # a step of a tree to one of a ring, network, LL: hwLatencies
_NETWORK_STEP_US = 5.0  # that of a tree


@lru_cache(maxsize=4096)
def nccl_of(fabric: Fabric, machine_type: str | None = None) -> NcclFabric:
    """Return the parameters of a fabric: its own, or derived from its tiers as a machine type sees them."""
    if fabric.nccl is not None:
        return fabric.nccl
    (_, machine), (_, rack), (_, network) = fabric.tiers(machine_type)
    return derived((machine, rack, network))


def derived(tiers: Tiers) -> NcclFabric:
    """Return parameters from the dimensions of the tiers and NCCL's constants.

    A tier's latency counts as a ring's step of LL, which NCCL's constants put at 2.7 us on the network, and
    steps of rings and messages grow with that of the rack tier; messages between racks that are NVLink
    domains with that of the network.
    """
    joined = _links(tiers[1]) == _links(tiers[0])
    steps = (1.0, 1.0 if joined else _TREE_STEP, _TREE_STEP)
    machine, rack, network = (_tier(dimensions, step) for dimensions, step in zip(tiers, steps, strict=True))
    slower = rack.step_us / _NETWORK_STEP_US
    usual = NcclFabric(machine, rack, network)
    return replace(
        usual,
        round_us=slower * usual.round_us,
        bulk_round_us=slower * usual.bulk_round_us,
        message_us=(network if joined else rack).step_us / _NETWORK_STEP_US * usual.message_us,
    )


def _links(dimensions: Sequence[Dimension]) -> list[tuple[str, float]]:
    """Return kinds and latencies: equal ones are of the same switches, however wide."""
    return [(dimension.kind, dimension.latency_ns) for dimension in dimensions]


def _tier(dimensions: Sequence[Dimension], step: float) -> NcclTier:
    narrowest = min(dimensions, key=lambda dimension: dimension.bandwidth_bytes_per_ns)
    hops_ns = max((2 if dimension.kind == "switch" else 1) * dimension.latency_ns for dimension in dimensions)
    return NcclTier(
        max(step * hops_ns / 1e3, 1e-3),
        _EFFICIENCY * narrowest.bandwidth_bytes_per_ns,
        _EFFICIENCY * narrowest.machine_bytes_per_ns,
        _EFFICIENCY * narrowest.rack_bytes_per_ns,
    )
