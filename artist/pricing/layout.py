"""Layout of a fabric's picture: the drawn part, and the sizes in `artist.pricing.drawing`.

Of repeated parts, some are drawn and the rest counted. Sizes are in inches; natural ones are scaled up where
there is room.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netmodels.api import Dimension, Tier
from netmodels.fabric.graph import Node, members_of

if TYPE_CHECKING:
    import networkx as nx

# The drawn part
WIDTH_IN = 9.2  # machines that do not fit are counted
_MAX_OUTSIDE, _SOME_OUTSIDE = 4, 2  # racks and groups of machines, and the number drawn of more
_MAX_INSIDE, _SOME_INSIDE = 16, 7  # GPUs and groups of one machine, and the number drawn of more
_MAX_IN_MESH = 8

# Natural sizes in inches; widths and circles are scaled up where there is room
MAX_SCALE = 2.8
_PITCH = 0.062  # of GPUs in a row
_ARC = 0.14  # of GPUs on a circle
_PAD, GAP = 0.035, 0.05
_MORE = 0.5
BOX, LABEL = 0.19, 0.14
_FAN, _FAN_GPUS, _ARCH = 0.72, 0.36, 0.4
TITLE = 0.68  # height of the title


@dataclass(frozen=True, slots=True)
class Layer:
    """One dimension of the fabric, as it is drawn.

    Parameters
    ----------
    tier, dimension
        The dimension, whose links join the members, and its tier.
    whole, member
        Type of its nodes, and of their members.
    members
        Members of the fullest node.
    capacity_gbit_s
        Capacity of the greatest link.
    """

    tier: Tier
    dimension: Dimension
    whole: str
    member: str
    members: int
    capacity_gbit_s: float

    @property
    def labelled(self) -> bool:
        """True if nodes show their names; groups in a machine are too small."""
        return (self.whole, self.tier) != ("group", "machine")

    @property
    def circle(self) -> bool:
        """True if members are GPUs on a circle."""
        return self.member == "gpu" and self.dimension.kind != "switch"


@dataclass(frozen=True, slots=True)
class Cell:
    """A node with its drawn part, or, without a node, a number of undrawn members.

    `layer` is 0 for GPUs; `width` is natural.
    """

    node: Node | None
    layer: int
    width: float
    members: tuple["Cell", ...] = ()
    hidden: int = 0


def layers_of(graph: "nx.Graph[Node]", tiers: Sequence[tuple[Tier, tuple[Dimension, ...]]]) -> list[Layer]:
    """Return the dimensions, innermost first."""
    dimensions = [(tier, dimension) for tier, several in tiers for dimension in several]
    nodes: dict[int, Node] = {}  # the first of each layer, which is the fullest
    capacity = [0.0] * (len(dimensions) + 1)
    for node in graph:
        nodes.setdefault(graph.nodes[node]["layer"], node)
    for one, other, link in graph.edges(data=True):
        if link["link"]:
            above = min(graph.nodes[one]["layer"], graph.nodes[other]["layer"]) + 1
            capacity[above] = max(capacity[above], link["capacity_gbit_s"])
    return [
        Layer(
            tier,
            dimension,
            whole=graph.nodes[nodes[at]]["kind"],
            member=graph.nodes[nodes[at - 1]]["kind"],
            members=len(members_of(graph, nodes[at])),
            capacity_gbit_s=capacity[at],
        )
        for at, (tier, dimension) in enumerate(dimensions, start=1)
    ]


def shown_members(graph: "nx.Graph[Node]", layers: Sequence[Layer]) -> list[int]:
    """Return the number of drawn members of a node, by layer; the others share one more place."""
    inside = next(place for place, layer in enumerate(layers) if layer.member == "machine")
    shown = [layer.members for layer in layers]
    for place, layer in enumerate(layers[:inside]):
        mesh = layer.dimension.kind == "fully_connected"
        if layer.members > (_MAX_IN_MESH if mesh else _MAX_INSIDE):
            shown[place] = _SOME_INSIDE
    drawn = 1
    for place in range(len(layers) - 1, inside, -1):
        if drawn * shown[place] > _MAX_OUTSIDE:
            shown[place] = max(1, _SOME_OUTSIDE // drawn)
        drawn *= shown[place]
    machine = next(node for node in graph if graph.nodes[node]["kind"] == "machine")
    fit = max(2, int(WIDTH_IN / (cell_of(graph, layers, machine, shown).width + GAP) / drawn))
    if shown[inside] > fit:
        shown[inside] = fit - 1
    return shown


def cell_of(graph: "nx.Graph[Node]", layers: Sequence[Layer], node: Node, shown: Sequence[int]) -> Cell:
    """Return a node with its drawn part."""
    number = graph.nodes[node]["layer"]
    if number == 0:
        return Cell(node, 0, _PITCH)
    members = members_of(graph, node)
    count = shown[number - 1]
    cells = [cell_of(graph, layers, member, shown) for member in members[:count]]
    if len(members) > count:
        cells.append(Cell(None, number - 1, _MORE if number > 1 else 3 * _PITCH, hidden=len(members) - count))
    return Cell(node, number, _width(layers[number - 1], cells), tuple(cells))


def _width(layer: Layer, members: Sequence[Cell]) -> float:
    if layer.circle:
        return 2 * (radius(len(members)) + _PAD + _PITCH / 2)
    gaps = 0.0 if layer.member == "gpu" else GAP * (len(members) - 1)
    frame = 0.0 if layer.dimension.kind == "switch" else 2 * _PAD
    return max(0.2, sum(member.width for member in members) + gaps + frame)


def radius(members: int) -> float:
    """Return the radius of a circle of GPUs."""
    return 0.0 if members == 1 else max(0.06, _ARC * members / (2 * math.pi))


def heights(layers: Sequence[Layer], cell: Cell, scale: float) -> tuple[list[float], list[float]]:
    """Return tops and bottoms of the layers, GPUs first."""
    top = TITLE
    tops = [top]
    for layer in reversed(layers):
        top += _drop(layer)
        tops.append(top)
    while cell.layer > 1:
        cell = cell.members[0]
    bottom = top + _PITCH / 2
    if layers[0].circle:
        bottom = top + 2 * scale * (radius(len(cell.members)) + _PAD + _PITCH / 2)
    bottoms = [bottom, bottom]
    for layer in layers[1:]:
        bottoms.append(bottoms[-1] + (0.0 if layer.dimension.kind == "switch" else 2 * _PAD))
    return tops[::-1], bottoms


def _drop(layer: Layer) -> float:
    """Return the height from the top of a layer to its members."""
    label = LABEL if layer.labelled else 0.0
    if layer.circle:
        return label
    if layer.dimension.kind == "switch":
        return BOX + (_FAN_GPUS if layer.tier == "machine" else _FAN)
    return label + (_ARCH / 2 if layer.tier == "machine" else _ARCH)
