"""From a shape to the regular network slices that it is priced by.

A placement is a tree: GPUs in machines in racks, with inner groups where a tier has several dimensions. A GPU
sees the path to the root: how many members its group has in each dimension. In a regular placement all GPUs
see the same path, and their number is the product of it. In an irregular one they do not: of 5 + 3 GPUs, five
see (5, 2) and three see (3, 2), as if all machines were like their own.

    shape        views
    8            8
    8+8          8 x 2
    5+3          5 x 2, 3 x 2
    8+8+4        8 x 3, 4 x 3
    8+8 | 4      8 x 2 x 2, 4 x 1 x 2

The slowest view is the price: the members of a collective wait for each other in every step, so the smallest
machine, with the fewest ports for the same bytes, or the largest, with the longest ring inside, sets the
pace. (A real library does the same: NCCL gives all machines as many channels as the one with the fewest has.)
The number of GPUs lies between the products of the views, for 1 / product, summed over the GPUs of any tree,
is 1.

Machines of another type are seen with their own dimensions; a view never mixes types.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from netmodels.fabric import Dimension, Fabric
from netmodels.shape import Shape, Tier


@dataclass(frozen=True, slots=True)
class Level:
    """One dimension of the fabric as a regular placement uses it.

    Parameters
    ----------
    tier
        The tier that the dimension belongs to.
    dimension
        Latency, kind, and the bandwidth that is left to one GPU.
    members
        Members of each group.
    """

    tier: Tier
    dimension: Dimension
    members: int


View = tuple[Level, ...]
"""The levels that a GPU sees, innermost first; levels of one member are left out."""
_Path = tuple[int, ...]
_Tiers = Sequence[tuple[Tier, tuple[Dimension, ...]]]


@lru_cache(maxsize=65_536)
def views_of(shape: Shape, fabric: Fabric) -> tuple[View, ...]:
    """Return the distinct views of the GPUs of a placement, in a fixed order; one for a regular placement.

    The dimensions of a tier are filled innermost first: a machine with 6 GPUs on dimensions of size 4 and 2
    makes two groups at the first, of 4 and 2, and one of both at the second.

    Parameters
    ----------
    shape
        The placement.
    fabric
        The network.
    """
    types = sorted({name for rack in shape for name, _ in rack})
    views = [
        _view(path, fabric.tiers(seen_by)) for seen_by in types for path in _paths(shape, fabric, seen_by)
    ]
    return tuple(dict.fromkeys(views)) or ((),)


def _paths(shape: Shape, fabric: Fabric, seen_by: str) -> list[_Path]:
    """Return the paths that GPUs of a machine type see, through all dimensions."""
    machine, rack, network = (dimensions for _, dimensions in fabric.tiers(seen_by))
    racks = []
    for machines in shape:
        inside = [
            _grouped([{()}] * gpus, machine) if name == seen_by else _grouped([set()] * gpus, machine)
            for name, gpus in machines
        ]
        racks.append(_grouped(inside, rack))
    return sorted(_grouped(racks, network))


def _grouped(units: Sequence[set[_Path]], dimensions: Sequence[Dimension]) -> set[_Path]:
    """Group units by the dimensions of a tier until one is left; a group adds its members to the paths."""
    for place, dimension in enumerate(dimensions):
        last = place == len(dimensions) - 1
        size = len(units) if last else dimension.size
        groups = [units[start : start + size] for start in range(0, len(units), size)]
        units = [{(*path, len(group)) for unit in group for path in unit} for group in groups]
    return units[0]


def _view(path: _Path, tiers: _Tiers) -> View:
    """Return the levels of a regular placement that is like the path everywhere."""
    levels: list[Level] = []
    members = iter(path)
    gpus = {"machine": 1, "rack": 1}  # of the job, in one of them
    for tier, dimensions in tiers:
        for dimension in dimensions:
            count = next(members)
            if count > 1:
                levels.append(Level(tier, _as_shared(dimension, gpus["machine"], gpus["rack"]), count))
            for inside in _AROUND[tier]:
                gpus[inside] *= count
    return tuple(levels)


_AROUND: dict[Tier, tuple[str, ...]] = {"machine": ("machine", "rack"), "rack": ("rack",), "network": ()}


def _as_shared(dimension: Dimension, machine_gpus: int, rack_gpus: int) -> Dimension:
    """Return the dimension with the bandwidth that is left to a GPU that shares ports with its job."""
    limits = ((dimension.machine_bytes_per_ns, machine_gpus), (dimension.rack_bytes_per_ns, rack_gpus))
    shares = [limit / sharers for limit, sharers in limits if limit]
    if not shares:
        return dimension
    least = min(dimension.bandwidth_bytes_per_ns, *shares)
    return replace(dimension, bandwidth_bytes_per_ns=least, machine_bytes_per_ns=0.0, rack_bytes_per_ns=0.0)
