"""Network dimensions of a shape, and the number of members of each.

A regular placement (identical machines, identical racks) has whole numbers of members: 8+8 | 8+8 has 8 GPUs
in a machine, 2 machines in a rack, 2 racks. An irregular one is priced by averages: 5+3 as 4+4, 8+8 | 4 with
20 / 3 GPUs in a machine, 3 / 2 machines in a rack, 2 racks. The members of all levels always multiply to the
number of GPUs. So the bytes that rings move depend only on the numbers of GPUs, machines and racks, and grow
with the latter two if links outside are no faster: spreading never helps, except for latency.

Averages ignore that the smallest machine has the fewest ports for traffic that must leave and enter it, as 1
GPU of 7+1. So an irregular placement also has *gates*: its machines and racks with their bandwidths. No
collective is faster than its narrowest gate (`netmodels.collectives.collectives`). Real libraries are as
slow: NCCL gives all machines the number of channels of the one with the fewest (`src/init.cc`), and its rings
would take up to twice this bound.

Machines of several types are seen as if all were of one, type by type; the slowest counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf

from netmodels.collectives.algorithms import link_bandwidth_bytes_per_ns
from netmodels.fabric.fabric import Dimension, Fabric
from netmodels.fabric.shape import Shape, Tier


@dataclass(frozen=True, slots=True)
class Level:
    """One dimension of the fabric as a placement uses it.

    Parameters
    ----------
    tier
        Tier of the dimension.
    dimension
        Latency, kind, and the bandwidth left to one GPU.
    members
        Members of one group, more than 1; a fraction where groups differ in size.
    """

    tier: Tier
    dimension: Dimension
    members: int | float


@dataclass(frozen=True, slots=True)
class Gate:
    """A machine or a rack of an irregular placement, and the bandwidth of all its GPUs together.

    Parameters
    ----------
    gpus
        GPUs of the job inside.
    bytes_per_ns
        Of its ports.
    """

    gpus: int
    bytes_per_ns: float


@dataclass(frozen=True, slots=True)
class View:
    """A placement as the network model prices it; the hash is cached.

    Parameters
    ----------
    levels
        Innermost first; levels of one member are left out.
    gates
        None for a regular placement, which needs none.
    gpus
        Of the placement.
    """

    levels: tuple[Level, ...]
    gates: tuple[Gate, ...] = ()
    gpus: int = 1
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.levels, self.gates, self.gpus)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def servers(self) -> tuple[Tier, ...]:
        """The tier of each dimension."""
        return tuple(level.tier for level in self.levels)

    @property
    def regular(self) -> bool:
        """True if machines have equal GPUs, racks equal machines, and groups equal members."""
        return not self.gates and all(isinstance(level.members, int) for level in self.levels)


SeenTiers = tuple[tuple[Tier, tuple[Dimension, ...]], ...]
"""Each tier with its dimensions, innermost first, as machines of one type see them."""


@lru_cache(maxsize=65_536)
def views_of(shape: Shape, fabric: Fabric) -> tuple[View, ...]:
    """Return the views of a placement by each of its machine types; one view if there is one type.

    The dimensions of a tier are filled innermost first: a machine with 6 GPUs on dimensions of size 4 and 2
    makes two groups at the first and one at the second. The members of a level are the groups below it
    divided by its own.

    Parameters
    ----------
    shape
        The placement.
    fabric
        The network.
    """
    return tuple(dict.fromkeys(view_of(shape, tiers) for tiers in tiers_of(shape, fabric)))


def tiers_of(shape: Shape, fabric: Fabric) -> tuple[SeenTiers, ...]:
    """Return the fabric as each machine type of a placement sees it, without repetition."""
    types = sorted({name for rack in shape for name, _ in rack})
    return tuple(dict.fromkeys(fabric.tiers(name) for name in types)) or (fabric.tiers(),)


def view_of(shape: Shape, tiers: SeenTiers) -> View:
    """Return the view of a placement with the dimensions of `tiers`; see `views_of`."""
    machines = [count for rack in shape for _, count in rack]
    racks = [len(rack) for rack in shape]
    gpus = sum(machines)
    in_machine, in_rack = gpus / max(1, len(machines)), gpus / max(1, len(racks))
    units = {"machine": machines, "rack": racks, "network": [len(shape)]}
    levels: list[Level] = []
    for tier, dimensions in tiers:
        for dimension, below, groups in _filled(dimensions, units[tier]):
            if below > groups:
                members = below / groups if below % groups else below // groups
                levels.append(Level(tier, _as_shared(dimension, in_machine, in_rack), members))
    regular = len(set(machines)) <= 1 and len(set(racks)) <= 1
    return View(tuple(levels), () if regular else _gates(shape, tiers), gpus)


def _filled(dimensions: Sequence[Dimension], units: Sequence[int]) -> list[tuple[Dimension, int, int]]:
    """Fill the dimensions of one tier; `units` is the number of members of each instance of the tier.

    Return each dimension with the groups below it and its own.
    """
    filled: list[tuple[Dimension, int, int]] = []
    for place, dimension in enumerate(dimensions):
        below = sum(units)
        last = place == len(dimensions) - 1
        units = [1 if last else -(-count // dimension.size) for count in units]
        filled.append((dimension, below, sum(units)))
    return filled


def _as_shared(dimension: Dimension, machine_gpus: float, rack_gpus: float) -> Dimension:
    """Return the dimension with the bandwidth left to a GPU that shares ports with its job."""
    if not (dimension.machine_bytes_per_ns or dimension.rack_bytes_per_ns):
        return dimension
    least = capacity(dimension, machine_gpus, rack_gpus, 1.0)
    return replace(dimension, bandwidth_bytes_per_ns=least, machine_bytes_per_ns=0.0, rack_bytes_per_ns=0.0)


def capacity(dimension: Dimension, machine_gpus: float, rack_gpus: float, gpus: float) -> float:
    """Return the bandwidth of some GPUs together, each with its share of the ports of machine and rack.

    No limit if members have as many links as there are members: no port of one link is narrow there.
    """
    if dimension.links == "members":
        return inf
    shares = [dimension.bandwidth_bytes_per_ns]
    if dimension.machine_bytes_per_ns:
        shares.append(dimension.machine_bytes_per_ns / machine_gpus)
    if dimension.rack_bytes_per_ns:
        shares.append(dimension.rack_bytes_per_ns / rack_gpus)
    return gpus * min(shares)


def sent_together(below: Sequence[tuple[int, int, int]], dimension: Dimension, members: int) -> float:
    """Return the bandwidth of all GPUs of a part of a placement on a dimension, byte/ns.

    Parameters
    ----------
    below
        (GPUs, GPUs of the machine, GPUs of the rack), machine by machine.
    dimension
        Its links.
    members
        Members of the part's group.
    """
    if dimension.links == "members":
        return sum(count for count, _, _ in below) * link_bandwidth_bytes_per_ns(dimension, members)
    return sum(capacity(dimension, in_machine, in_rack, count) for count, in_machine, in_rack in below)


def _gates(shape: Shape, tiers: SeenTiers) -> tuple[Gate, ...]:
    """Return the distinct machines and racks, each with the bandwidth of its widest exit."""
    (_, _), (_, rack_tier), (_, network_tier) = tiers
    gates: dict[Gate, None] = {}
    for rack in shape:
        in_rack = sum(count for _, count in rack)
        leaving = 0.0
        for _, count in rack:
            in_use = [dimension for dimension in rack_tier if len(rack) > 1]
            between = [dimension for dimension in network_tier if len(shape) > 1]
            if in_use or between:
                exits = [capacity(dimension, count, count, count) for dimension in (*in_use, *between)]
                gates[Gate(count, max(exits))] = None
            to_core = (capacity(dimension, count, in_rack, count) for dimension in between)
            leaving += max(to_core, default=0.0)
        if leaving:
            gates[Gate(in_rack, leaving)] = None
    return tuple(gates)
