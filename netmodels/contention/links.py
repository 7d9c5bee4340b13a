"""The links that jobs share, and what each carries.

Every machine has a port to its rack, every rack an uplink to the core; each sends in two directions. Links of
the tiers inside a machine are one GPU's own and shared by no other job. A port passes what all the GPUs below
it may send together, as in `netmodels.fabric.graph.fabric_graph`; an uplink what it is given, be it more than
its machines send, or, unlimited, what they do. Where a machine may send less beyond its rack than within it,
what it sends there passes a link of its own, of tier `network`.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Literal, NamedTuple

import numpy as np

from netmodels.collectives.ring_steps import Floats
from netmodels.fabric.fabric import Dimension, Fabric
from netmodels.fabric.shape import Tier

FULL = 1 + 1e-9
"""A link is overloaded beyond this load, as a share of its capacity: less comes from rounding."""

MAX_JOBS = 8
"""That are told apart, by which of them send or in time; of more of them the mean counts."""

Direction = Literal["out", "in"]
DIRECTIONS: tuple[Direction, ...] = ("out", "in")

Slice = tuple[int, int, str, int]
"""GPUs on one machine: (rack, machine, machine type, GPUs). Machine numbers are unique in the cluster."""


class Link(NamedTuple):
    """One direction of a port or an uplink.

    Parameters
    ----------
    tier
        `machine`: the port of a machine to its rack; `rack`: the uplink of a rack; `network`: what a machine
        sends beyond its rack, if that is limited further.
    place
        Number of the machine, or of the rack.
    way
        Out of it, or into it.
    path
        Which of the parallel links that an uplink may consist of.
    """

    tier: Tier
    place: int
    way: Direction
    path: int = 0


def at_a_time(uses: Floats) -> Floats:
    """Return on how many parallel links a job sends at a time, evenly, to fill so many of them.

    As many as it needs. In ns-3, what hashing leaves of narrow links is less (netmodels/README.md).
    """
    return np.maximum(np.ceil(uses / FULL), 1.0)


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
    found: dict[Link, float] = {}
    for rack, machine, kind, gpus in machines:
        racks.setdefault(rack, {}).setdefault(kind, []).append(gpus)
        near, far = ports(fabric, kind, gpus)
        found.update(_both_ways("machine", machine, near))
        if far < near:
            found.update(_both_ways("network", machine, far))
    for rack, kinds in racks.items():
        whole = _uplink(fabric, kinds)
        for path in range(uplinks):
            found.update(_both_ways("rack", rack, whole / uplinks, path))
    return found


def _both_ways(tier: Tier, place: int, capacity: float, path: int = 0) -> dict[Link, float]:
    return {Link(tier, place, way, path): capacity for way in DIRECTIONS}


def ports(fabric: Fabric, kind: str, gpus: int) -> tuple[float, float]:
    """Return what so many GPUs of a machine may send within its rack and beyond it, byte/ns."""
    _, (_, rack), (_, network) = fabric.tiers(kind)
    return _widest(rack, gpus), _widest(network, gpus)


def _uplink(fabric: Fabric, kinds: Mapping[str, Sequence[int]]) -> float:
    """Return what the widest uplink that types see passes, or, unlimited, what its machines send."""
    own, widest = 0.0, 0.0
    for kind, machines in kinds.items():
        _, _, (_, network) = fabric.tiers(kind)
        own += sum(_widest(network, gpus) for gpus in machines)
        widest = max(widest, *(each.rack_bytes_per_ns or inf for each in network))
    return own if widest == inf else widest


def _widest(dimensions: Sequence[Dimension], gpus: int) -> float:
    """Return what the GPUs of a machine may send together on the widest dimension of a tier."""
    return max(inf if each.links == "members" else each.capacity(gpus, machines=1) for each in dimensions)
