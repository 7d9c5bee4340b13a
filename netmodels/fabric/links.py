"""The links that jobs share, and their capacities.

Every machine has a port to its rack, every rack an uplink to the core; each sends in two directions. Links of
the tiers inside a machine belong to one GPU and are shared by no other job. A port passes what all GPUs below
it may send together, as in `netmodels.fabric.graph.fabric_graph`; an uplink passes its configured capacity,
even if its machines send less, or, if unlimited, the sum of their ports. Where a machine may send less beyond
its rack than within it, its traffic beyond the rack passes a further link, of tier `network`.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Literal, NamedTuple

from netmodels.fabric.fabric import Dimension, Fabric
from netmodels.fabric.shape import Tier

FULL = 1 + 1e-9
"""A link is overloaded beyond this load, as a share of its capacity: less comes from rounding."""

Direction = Literal["out", "in"]
DIRECTIONS: tuple[Direction, ...] = ("out", "in")

Slice = tuple[int, int, str, int]
"""GPUs on one machine: (rack, machine, machine type, GPUs). Machine numbers are unique in the cluster."""


class Link(NamedTuple):
    """One direction of a port or an uplink.

    Parameters
    ----------
    tier
        `machine`: the port of a machine to its rack; `rack`: the uplink of a rack; `network`: a machine's
        limit beyond its rack, if that is lower than its port.
    place
        Number of the machine, or of the rack.
    way
        Out of it, or into it.
    path
        Number of one of the parallel links that an uplink may consist of.
    """

    tier: Tier
    place: int
    way: Direction
    path: int = 0


def capacities(machines: Iterable[Slice], fabric: Fabric, uplinks: int = 1) -> dict[Link, float]:
    """Return the capacity of every link of a cluster, byte/ns; inf where no link is shared.

    Dimensions whose members have as many links as members (`links: members`) have no port to share. A rack of
    several machine types has the widest uplink that its types see.

    Parameters
    ----------
    machines
        The machines of the cluster, each with all its GPUs.
    fabric
        The network.
    uplinks
        Parallel links of equal capacity that the uplink of a rack consists of.
    """
    racks: dict[int, dict[str, list[int]]] = {}
    capacity: dict[Link, float] = {}
    for rack, machine, machine_type, gpus in machines:
        racks.setdefault(rack, {}).setdefault(machine_type, []).append(gpus)
        near, far = ports(fabric, machine_type, gpus)
        capacity.update(_both_ways("machine", machine, near))
        if far < near:
            capacity.update(_both_ways("network", machine, far))
    for rack, by_type in racks.items():
        uplink = _uplink(fabric, by_type)
        for path in range(uplinks):
            capacity.update(_both_ways("rack", rack, uplink / uplinks, path))
    return capacity


def _both_ways(tier: Tier, place: int, capacity: float, path: int = 0) -> dict[Link, float]:
    return {Link(tier, place, way, path): capacity for way in DIRECTIONS}


def ports(fabric: Fabric, machine_type: str, gpus: int) -> tuple[float, float]:
    """Return the rates at which some GPUs of a machine may send within its rack and beyond it, byte/ns."""
    _, (_, rack), (_, network) = fabric.tiers(machine_type)
    return _widest(rack, gpus), _widest(network, gpus)


def _uplink(fabric: Fabric, machines: Mapping[str, Sequence[int]]) -> float:
    """Return the capacity of the widest uplink that types see, or, if unlimited, of the machines' ports."""
    port_sum, widest = 0.0, 0.0
    for machine_type, gpu_counts in machines.items():
        _, _, (_, network) = fabric.tiers(machine_type)
        port_sum += sum(_widest(network, gpus) for gpus in gpu_counts)
        widest = max(widest, *(dimension.rack_bytes_per_ns or inf for dimension in network))
    return port_sum if widest == inf else widest


def _widest(dimensions: Sequence[Dimension], gpus: int) -> float:
    """Return the rate at which GPUs of a machine send together on the widest dimension of a tier."""
    return max(
        inf if dimension.links == "members" else dimension.capacity(gpus, machines=1)
        for dimension in dimensions
    )
