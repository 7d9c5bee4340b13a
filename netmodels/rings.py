"""One logical ring through all GPUs of a placement: machine after machine, rack after rack, and back.

GPUs of one innermost group (a machine, where it has one dimension) are a *block*. A message passes a block
over its inner links, and leaves it over a *crossing* to the next block: the links up to the switch of the
widest dimension between them, and down again. What leaves a machine, a rack passes what the ports of all its
GPUs pass together: one wide port stands for NCCL's channels, of which each leaves a machine by another port.
No two crossings share a link in one direction.

The graph is that of the files for ASTRA-sim's ns-3 back end (`netmodels.astra_sim.ns3`), where NPU i is the
i-th GPU in the order of the shape.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from netmodels.fabric import Dimension, Fabric
from netmodels.levels import SeenTiers, sent_together, tiers_of
from netmodels.packets import Way, way_over
from netmodels.shape import TIERS, Shape, Tier, gpus, tier


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbours in a ring that reach each other over links of one kind.

    Parameters
    ----------
    gpus
        How many.
    inside
        From one of them to the next; of no meaning for a single one.
    out
        From the last of them to the next block.
    """

    gpus: int
    inside: Way
    out: Way


@dataclass(frozen=True, slots=True)
class Ring:
    """A placement of several machines as one ring; hashing costs nothing.

    Parameters
    ----------
    blocks
        In order.
    gpus
        Of the placement.
    tiers
        Those that it uses, innermost first.
    machines
        How many.
    """

    blocks: tuple[Block, ...]
    gpus: int
    tiers: tuple[Tier, ...]
    machines: int
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.blocks, self.tiers)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def servers(self) -> tuple[Tier, ...]:
        """The tier that sets the pace, the widest: a ring is one phase on all of its links."""
        return self.tiers[-1:]


@lru_cache(maxsize=65_536)
def rings_of(shape: Shape, fabric: Fabric, *, windows: bool = False) -> tuple[Ring, ...]:
    """Return the ring of a placement as each of its machine types sees it.

    Parameters
    ----------
    shape
        A placement of two GPUs or more.
    fabric
        The network.
    windows
        Whether each message has at most a window on the way.
    """
    rings = (ring_of(shape, tiers) for tiers in tiers_of(shape, fabric))
    return tuple(dict.fromkeys(map(_with_windows, rings) if windows else rings))


def ring_of(shape: Shape, tiers: SeenTiers) -> Ring:
    """Return the ring of a placement where dimensions are those of `tiers`; see `rings_of`."""
    (_, machine), (_, rack), (_, network) = tiers
    racks = []
    for in_rack in shape:
        rack_gpus = sum(count for _, count in in_rack)
        racks.append(_joined([_machine(count, rack_gpus, machine) for _, count in in_rack], rack))
    whole = _joined(racks, network)
    blocks = (*whole.blocks[:-1], replace(whole.blocks[-1], out=whole.back))
    machines = sum(map(len, shape))
    used: list[Tier] = [TIERS[0]] if machines < gpus(shape) else []
    used += [TIERS[1]] if machines > len(shape) else []
    return Ring(blocks, gpus(shape), (*used, *([TIERS[2]] if tier(shape) == TIERS[2] else [])), machines)


def _with_windows(ring: Ring) -> Ring:
    blocks = (
        replace(block, inside=replace(block.inside, windows=True), out=replace(block.out, windows=True))
        for block in ring.blocks
    )
    return replace(ring, blocks=tuple(blocks))


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of the ring: some GPUs, machines or racks that switches have joined so far.

    `blocks` has a wrong way out in its last, `back` the way from its last GPU to its first; `leaving` and
    `entering` are the links between the last (first) GPU and the switch on top, GPU first; `below` has
    (GPUs, GPUs of the machine, GPUs of the rack), machine by machine.
    """

    blocks: tuple[Block, ...]
    back: Way
    leaving: tuple[tuple[float, float], ...]
    entering: tuple[tuple[float, float], ...]
    below: tuple[tuple[int, int, int], ...]


@lru_cache(maxsize=4096)
def _machine(count: int, rack_gpus: int, dimensions: tuple[Dimension, ...]) -> _Part:
    first, *others = dimensions
    size = first.size if first.size and others else count
    groups = [_group(min(size, count - at), count, rack_gpus, first) for at in range(0, count, size)]
    return _joined(groups, others)


def _group(count: int, machine_gpus: int, rack_gpus: int, dimension: Dimension) -> _Part:
    """Return GPUs of one innermost group; one alone hangs on the next switch."""
    below = ((count, machine_gpus, rack_gpus),)
    link = (sent_together(((1, machine_gpus, rack_gpus),), dimension, count), 1.0)
    inside = way_over(_latency_ns(dimension), (link, link))
    ends = (link,) if count > 1 else ()
    return _Part((Block(count, inside, inside),), inside, ends, ends, below)


def _joined(parts: list[_Part], dimensions: Sequence[Dimension]) -> _Part:
    """Join the parts of a machine, a rack or the network, innermost dimension first."""
    for place, dimension in enumerate(dimensions):
        last = place == len(dimensions) - 1
        size = len(parts) if last or not dimension.size else dimension.size
        parts = [_switched(parts[at : at + size], dimension) for at in range(0, len(parts), size)]
    (whole,) = parts
    return whole


def _switched(parts: list[_Part], dimension: Dimension) -> _Part:
    """Join some parts by one switch; one alone needs none."""
    if len(parts) == 1:
        return parts[0]
    links = [(sent_together(part.below, dimension, len(parts)), 1.0) for part in parts]
    up = [(*part.leaving, link) for part, link in zip(parts, links, strict=True)]
    down = [(link, *reversed(part.entering)) for part, link in zip(parts, links, strict=True)]
    latency_ns = _latency_ns(dimension)
    ways = [way_over(latency_ns, (*a, *b)) for a, b in zip(up, [*down[1:], down[0]], strict=True)]
    blocks: list[Block] = []
    for part, way in zip(parts, ways, strict=True):
        blocks += (*part.blocks[:-1], replace(part.blocks[-1], out=way))
    below = tuple(each for part in parts for each in part.below)
    return _Part(tuple(blocks), ways[-1], up[-1], tuple(reversed(down[0])), below)


def _latency_ns(dimension: Dimension) -> float:
    return dimension.latency_ns * (2 if dimension.kind == "switch" else 1)
