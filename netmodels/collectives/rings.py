"""One logical ring through all GPUs of a placement: machine after machine, rack after rack, and back.

GPUs of one innermost group (a machine, if it has one dimension) are a *block*. A message passes a block over
its inner links, and leaves it over a *crossing* to the next block: the links up to the switch of the widest
dimension between them, and down again. Machines and racks have the bandwidth of the ports of all their GPUs
together: one wide port represents NCCL's channels, each of which leaves a machine by another port. No two
crossings share a link in one direction.

The graph is that of the files for ASTRA-sim's ns-3 back end (`netmodels.astra_sim.ns3`), where NPU i is the
i-th GPU in the order of the shape.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from netmodels.collectives.dimensions import SeenTiers, sent_together, tiers_of
from netmodels.collectives.packet_transport import Way, way_over
from netmodels.fabric.fabric import Dimension, Fabric
from netmodels.fabric.shape import TIERS, Shape, Tier, gpus, tier


class Block(NamedTuple):
    """Neighbours in a ring with equal links between them.

    Parameters
    ----------
    gpus
        Number of GPUs.
    inside
        From one of them to the next; meaningless for a single one.
    out
        From the last of them to the next block.
    """

    gpus: int
    inside: Way
    out: Way


class Hop(NamedTuple):
    """Latency and ns per byte of a hop, averaged over a ring, and ns per byte of its narrowest."""

    latency_ns: float
    ns_per_byte: float
    narrowest_ns_per_byte: float


@dataclass(frozen=True, slots=True)
class Ring:
    """A placement of several machines as one ring; the hash is cached.

    Parameters
    ----------
    hop
        Average over its hops.
    gpus
        Of the placement.
    tiers
        Tiers that it uses, innermost first.
    machines
        Number of machines.
    blocks
        In order; none if only the mean hop counts.
    """

    hop: Hop
    gpus: int
    tiers: tuple[Tier, ...]
    machines: int
    blocks: tuple[Block, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.hop, self.gpus, self.tiers)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def servers(self) -> tuple[Tier, ...]:
        """The widest tier, which limits the rate: a ring is one phase on all of its links."""
        return self.tiers[-1:]


@lru_cache(maxsize=16_384)
def rings_of(shape: Shape, fabric: Fabric, *, windows: bool = False, whole: bool = True) -> tuple[Ring, ...]:
    """Return the ring of a placement as each of its machine types sees it.

    Parameters
    ----------
    shape
        A placement of two GPUs or more.
    fabric
        The network.
    windows
        True if each message has at most a window in flight.
    whole
        True to include blocks; rings without them are equal if their mean hops are.
    """
    rings = (ring_of(shape, tiers, whole=whole) for tiers in tiers_of(shape, fabric))
    return tuple(dict.fromkeys(map(_with_windows, rings) if windows else rings))


def ring_of(shape: Shape, tiers: SeenTiers, *, whole: bool) -> Ring:
    """Return the ring of a placement with the dimensions of `tiers`; see `rings_of`."""
    (_, machine), (_, rack), (_, network) = tiers
    blocks = _joined([_rack(in_rack, machine, rack) for in_rack in shape], network).blocks
    machines = sum(map(len, shape))
    used: list[Tier] = [TIERS[0]] if machines < gpus(shape) else []
    used += [TIERS[1]] if machines > len(shape) else []
    used += [TIERS[2]] if tier(shape) == TIERS[2] else []
    total = gpus(shape)
    return Ring(_mean_hop(blocks, total), total, tuple(used), machines, blocks if whole else ())


def _mean_hop(blocks: Sequence[Block], gpus: int) -> Hop:
    ways = [(block.gpus - 1, block.inside) for block in blocks if block.gpus > 1]
    ways += [(1, block.out) for block in blocks]
    latency_ns = ns_per_byte = 0.0
    for count, way in ways:
        latency_ns += count * way.latency_ns
        ns_per_byte += count / way.bytes_per_ns
    return Hop(latency_ns / gpus, ns_per_byte / gpus, 1 / min(way.bytes_per_ns for _, way in ways))


def _with_windows(ring: Ring) -> Ring:
    blocks = (
        Block(gpus, replace(inside, windows=True), replace(out, windows=True))
        for gpus, inside, out in ring.blocks
    )
    return replace(ring, blocks=tuple(blocks))


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A section of the ring: GPUs, machines or racks joined by switches so far.

    The last of `blocks` is followed by the first; `leaving` are the links from the last GPU to the switch on
    top, `entering` those from it to the first GPU; `below` has (GPUs, GPUs of the machine, GPUs of the rack),
    machine by machine. Placements share parts, each of which is equal only to itself.
    """

    blocks: tuple[Block, ...]
    leaving: tuple[tuple[float, float], ...]
    entering: tuple[tuple[float, float], ...]
    below: tuple[tuple[int, int, int], ...]


@lru_cache(maxsize=16_384)
def _rack(
    machines: tuple[tuple[str, int], ...], machine: tuple[Dimension, ...], rack: tuple[Dimension, ...]
) -> _Part:
    rack_gpus = sum(count for _, count in machines)
    return _joined([_machine(count, rack_gpus, machine) for _, count in machines], rack)


@lru_cache(maxsize=4096)
def _machine(count: int, rack_gpus: int, dimensions: tuple[Dimension, ...]) -> _Part:
    first, *others = dimensions
    size = first.size if first.size and others else count
    groups = [_group(min(size, count - at), count, rack_gpus, first) for at in range(0, count, size)]
    return _joined(groups, others)


def _group(count: int, machine_gpus: int, rack_gpus: int, dimension: Dimension) -> _Part:
    """Return GPUs of one innermost group; a single one is attached to the next switch."""
    below = ((count, machine_gpus, rack_gpus),)
    link = (sent_together(((1, machine_gpus, rack_gpus),), dimension, count), 1.0)
    inside = way_over(_latency_ns(dimension), (link, link))
    ends = (link,) if count > 1 else ()
    return _Part((Block(count, inside, inside),), ends, ends, below)


def _joined(parts: list[_Part], dimensions: Sequence[Dimension]) -> _Part:
    """Join the parts of a machine, a rack or the network, innermost dimension first."""
    for place, dimension in enumerate(dimensions):
        last = place == len(dimensions) - 1
        size = len(parts) if last or not dimension.size else dimension.size
        parts = [_switched(parts[at : at + size], dimension) for at in range(0, len(parts), size)]
    (whole,) = parts
    return whole


def _switched(parts: list[_Part], dimension: Dimension) -> _Part:
    """Join some parts by one switch; a single part needs none."""
    if len(parts) == 1:
        return parts[0]
    links = [(_sent_together(part, dimension, len(parts)), 1.0) for part in parts]
    latency_ns = _latency_ns(dimension)
    blocks: list[Block] = []
    for place, part in enumerate(parts):
        to = (place + 1) % len(parts)
        way = way_over(latency_ns, (*part.leaving, links[place], links[to], *parts[to].entering))
        blocks += part.blocks
        blocks[-1] = Block(blocks[-1].gpus, blocks[-1].inside, way)
    below = tuple(chain.from_iterable(part.below for part in parts))
    entering, leaving = (links[0], *parts[0].entering), (*parts[-1].leaving, links[-1])
    return _Part(tuple(blocks), leaving, entering, below)


@lru_cache(maxsize=16_384)
def _sent_together(part: _Part, dimension: Dimension, members: int) -> float:
    return sent_together(part.below, dimension, members)


def _latency_ns(dimension: Dimension) -> float:
    return dimension.latency_ns * (2 if dimension.kind == "switch" else 1)
