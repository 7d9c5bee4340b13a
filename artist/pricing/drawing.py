"""A picture of a fabric: the core on top, GPUs at the bottom, the capacity of links beside each tier.

A switch is a box with a line to each member. Members of a ring or a mesh stand in a frame and are linked to
each other: GPUs on a circle, all else in a row with arcs above. Of repeated parts, some are drawn and the
rest counted. Positions are in inches from the upper left corner.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from artist.drawing.looks import look, style
from artist.errors import InputError
from artist.pricing.layout import (
    BOX,
    GAP,
    LABEL,
    MAX_SCALE,
    WIDTH_IN,
    Cell,
    Layer,
    cell_of,
    heights,
    layers_of,
    radius,
    shown_members,
)
from artist.tables.grid import clip
from netmodels.api import TIERS, MachineType, Tier, Topology, fabric_graph
from netmodels.fabric.fabric import DimensionKind
from netmodels.fabric.graph import Node

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The page
_MARGIN, _LINE, _COLUMN, _ICON, _LEAST = 0.15, 0.15, 2.75, 0.42, 6.6
_INK, _FAINT, _FRAME = "#222222", "#555555", "#8c8c8c"
_COLOURS: dict[Tier, str] = {tier: look(number)["color"] for number, tier in enumerate(TIERS)}
_TINTS: dict[Tier, str] = {"machine": "#dcebf5", "rack": "#f9e2d2", "network": "#d5f0e6"}

_MADE_OF: dict[DimensionKind, tuple[str, str]] = {  # the whole, and one of several groups
    "switch": ("switch of", "switches of"),
    "ring": ("ring of", "rings of"),
    "fully_connected": ("full mesh of", "full meshes of"),
}
_MAX_LINKS = 2_000_000  # of GPUs, if all were fully connected: seconds, and some 100 MB
_PLURALS = {"gpu": "GPUs", "group": "groups", "machine": "machines", "rack": "racks"}

_Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Canvas:
    """State shared by all parts of a drawing; `tops` and `bottoms` are those of each layer, GPUs first."""

    axes: "Axes"
    graph: "nx.Graph[Node]"
    layers: Sequence[Layer]
    tops: Sequence[float]
    bottoms: Sequence[float]
    scale: float

    @property
    def font(self) -> float:
        """Size of names."""
        return 6.0 if self.scale < 1.5 else 7.5


@dataclass(frozen=True, slots=True)
class _Entry:
    """A layer's entry in the column at the side, and its position."""

    layer: Layer
    lines: tuple[str, ...]
    top: float


def draw_fabric(
    topology: Topology, racks: int, machines_per_rack: int | None = None, machine_type: str | None = None
) -> "Figure":
    """Draw a data centre of equal machines.

    Parameters
    ----------
    topology
        The fabric and its machine types.
    racks
        Number of racks, 1 or more; few of many racks and machines are drawn.
    machines_per_rack
        1 or more; the topology's own number without.
    machine_type
        Of all machines; the topology's default without.

    Raises
    ------
    InputError
        If there is no rack, machine or GPU, no such machine type, or too many of them.
    """
    from matplotlib.figure import Figure

    _check_size(topology, racks, machines_per_rack or topology.machines_per_rack, machine_type)
    graph = fabric_graph(topology, racks, machines_per_rack, machine_type)
    machine = topology.machine_type(machine_type, "machine_type")
    layers = layers_of(graph, topology.fabric.tiers(machine.name))
    cell = cell_of(graph, layers, ("core",), shown_members(graph, layers))
    scale = min(MAX_SCALE, max(1.0, WIDTH_IN / cell.width))
    tops, bottoms = heights(layers, cell, scale)
    entries = _entries(layers, tops, topology.fabric.uplinks)
    width = max(_LEAST, cell.width * scale + _COLUMN + 4 * _MARGIN)
    height = max(bottoms[-1], entries[-1].top + _LINE * (len(entries[-1].lines) + 2.6)) + _MARGIN
    with style():
        figure = Figure(figsize=(width, height))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, width), ylim=(height, 0))
        axes.set_axis_off()
        canvas = _Canvas(axes, graph, layers, tops, bottoms, scale)
        _draw_title(canvas, topology, machine, cell, width)
        column = width - _COLUMN - _MARGIN
        _draw(canvas, cell, (column - cell.width * scale) / 2)
        _draw_column(canvas, entries, column)
    return figure


def _check_size(topology: Topology, racks: int, machines: int, machine_type: str | None) -> None:
    """Raise InputError for a fabric too large to be built link by link."""
    gpus = topology.machine_type(machine_type, "machine_type").gpus
    if racks * machines * gpus * max(machines, gpus) > _MAX_LINKS:
        extent = f"{racks} racks of {machines} machines of {gpus} GPUs"
        allowed = "fewer racks, such as racks=2, or a topology with fewer machines and GPUs"
        raise InputError("a fabric too large to be drawn", where="draw", found=extent, allowed=allowed)


# --- the fabric


def _draw(canvas: _Canvas, cell: Cell, left: float) -> _Point:
    """Draw a cell and return the end of links to it."""
    centre = left + cell.width * canvas.scale / 2
    if cell.node is None:
        return _draw_more(canvas, cell, left)
    if cell.layer == 0:
        return _draw_gpu(canvas, (centre, canvas.tops[0]))
    layer = canvas.layers[cell.layer - 1]
    if layer.circle:
        _draw_frame(canvas, cell, left)
        _draw_circle(canvas, cell, centre)
    elif layer.dimension.kind == "switch":
        _draw_switch(canvas, cell, left)
    else:
        _draw_frame(canvas, cell, left)
        _draw_arcs(canvas, cell, _draw_members(canvas, cell, left))
    return centre, canvas.tops[cell.layer]


def _draw_gpu(canvas: _Canvas, place: _Point) -> _Point:
    size = min(6.0, 3.3 * canvas.scale)
    canvas.axes.plot(*place, "o", color=_INK, markersize=size, markeredgewidth=0, zorder=4)
    return place


def _draw_more(canvas: _Canvas, cell: Cell, left: float) -> _Point:
    """Draw the place of members that are counted only."""
    top, bottom, width = canvas.tops[cell.layer], canvas.bottoms[cell.layer], cell.width * canvas.scale
    centre = left + width / 2
    if cell.layer == 0:
        return _draw_more_gpus(canvas, cell, (centre, top))
    _rounded(
        canvas, left, top, width, bottom - top, edgecolor=_FRAME, facecolor="white", linestyle=(0, (3, 2))
    )
    canvas.axes.text(
        centre,
        (top + bottom) / 2,
        f"{cell.hidden}\nmore\nlike it",
        ha="center",
        va="center",
        fontsize=canvas.font,
    )
    return centre, top


def _draw_more_gpus(canvas: _Canvas, cell: Cell, place: _Point) -> _Point:
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # over the lines that end here
    text = f"+{cell.hidden}"
    canvas.axes.text(*place, text, ha="center", va="center", fontsize=canvas.font, bbox=paper, zorder=4)
    return place


def _draw_members(canvas: _Canvas, cell: Cell, left: float) -> list[_Point]:
    """Draw the members side by side, in the middle of the cell."""
    gap = 0.0 if cell.layer == 1 else GAP
    taken = sum(member.width for member in cell.members) + gap * (len(cell.members) - 1)
    at = left + (cell.width - taken) / 2 * canvas.scale
    ends = []
    for member in cell.members:
        ends.append(_draw(canvas, member, at))
        at += (member.width + gap) * canvas.scale
    return ends


def _draw_switch(canvas: _Canvas, cell: Cell, left: float) -> None:
    layer, width = canvas.layers[cell.layer - 1], cell.width * canvas.scale
    box = width if cell.layer == 1 else min(width, 1.0)
    start, top = left + (width - box) / 2, canvas.tops[cell.layer]
    _rounded(
        canvas, start, top, box, BOX, edgecolor=_COLOURS[layer.tier], facecolor=_TINTS[layer.tier], zorder=3
    )
    if layer.labelled:
        text = _fitting(canvas, cell, box)
        canvas.axes.text(
            start + box / 2, top + BOX / 2, text, ha="center", va="center", fontsize=canvas.font, zorder=5
        )
    for member, (x, y) in zip(cell.members, _draw_members(canvas, cell, left), strict=True):
        foot = start + box / 2 + (x - left - width / 2) * (0.9 * box / width)
        look_ = _line(canvas, cell.layer, cell, member)
        canvas.axes.plot([foot, x], [top + BOX, y], **look_)


def _draw_circle(canvas: _Canvas, cell: Cell, centre: float) -> None:
    layer = canvas.layers[cell.layer - 1]
    middle = (canvas.tops[0] + canvas.bottoms[0]) / 2
    places = _circle(centre, middle, radius(len(cell.members)) * canvas.scale, len(cell.members))
    for member, place in zip(cell.members, places, strict=True):
        if member.node is not None:
            _draw_gpu(canvas, place)
        else:
            _draw_more_gpus(canvas, member, place)
    for one, other in _pairs(layer.dimension.kind, len(places)):
        (x, y), (to_x, to_y) = places[one], places[other]
        canvas.axes.plot([x, to_x], [y, to_y], **_line(canvas, 1, cell.members[one], cell.members[other]))


def _circle(x: float, y: float, radius: float, count: int) -> list[_Point]:
    """Return places on a circle, clockwise from the upper left."""
    angles = [math.pi * (0.5 + (1 - 2 * number) / count) for number in range(count)]
    return [(x + radius * math.cos(angle), y - radius * math.sin(angle)) for angle in angles]


def _draw_arcs(canvas: _Canvas, cell: Cell, ends: Sequence[_Point]) -> None:
    """Link members that are in a row, the higher the farther apart they are."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    layer = canvas.layers[cell.layer - 1]
    rise = 0.9 * (canvas.tops[cell.layer - 1] - canvas.tops[cell.layer] - (LABEL if layer.labelled else 0.0))
    for one, other in _pairs(layer.dimension.kind, len(ends)):
        (x, y), (to_x, to_y) = sorted((ends[one], ends[other]))
        apart = abs(one - other)
        high = rise * (0.4 + 0.6 * (apart - 1) / max(1, len(ends) - 2)) * 4 / 3
        curve = Path([(x, y), (x, y - high), (to_x, to_y - high), (to_x, to_y)], [1, 4, 4, 4])
        line = _line(canvas, cell.layer, cell.members[one], cell.members[other])
        canvas.axes.add_patch(PathPatch(curve, facecolor="none", edgecolor=line.pop("color"), **line))


def _pairs(kind: DimensionKind, members: int) -> Iterator[tuple[int, int]]:
    """Yield the places that a ring or a mesh links, each pair once."""
    if kind == "fully_connected":
        yield from combinations(range(members), 2)
    else:
        yield from (
            (place, (place + 1) % members) for place in range(members if members > 2 else members - 1)
        )


def _line(canvas: _Canvas, layer: int, one: Cell, other: Cell) -> dict[str, Any]:
    """Return the look of a link between two cells: by its tier and capacity, dashed to undrawn cells."""
    drawn, capacity_gbit_s = False, canvas.layers[layer - 1].capacity_gbit_s
    if one.node is not None and other.node is not None:
        drawn, capacity_gbit_s = True, canvas.graph.edges[one.node, other.node]["capacity_gbit_s"]
    return {
        "color": _COLOURS[canvas.layers[layer - 1].tier],
        "linewidth": _line_width(capacity_gbit_s),
        "linestyle": "-" if drawn else (0, (2, 1.5)),
        "zorder": 2,
    }


def _line_width(capacity_gbit_s: float) -> float:
    """Return the width in points: 0.6 for 10 Gb/s, and 0.5 more per factor of ten."""
    return min(4.0, max(0.5, 0.1 + 0.5 * math.log10(capacity_gbit_s)))


def _draw_frame(canvas: _Canvas, cell: Cell, left: float) -> None:
    top, bottom, width = canvas.tops[cell.layer], canvas.bottoms[cell.layer], cell.width * canvas.scale
    grey = "#f5f5f5" if cell.layer % 2 else "#ffffff"
    _rounded(canvas, left, top, width, bottom - top, edgecolor=_FRAME, facecolor=grey, zorder=-cell.layer)
    if canvas.layers[cell.layer - 1].labelled:
        text = _fitting(canvas, cell, width - 0.03)
        canvas.axes.text(left + 0.04, top + 0.025, text, va="top", fontsize=canvas.font, zorder=5)


def _fitting(canvas: _Canvas, cell: Cell, width: float) -> str:
    """Return the name of a node, or the number in it if the name is too wide."""
    assert cell.node is not None
    text: str = canvas.graph.nodes[cell.node]["label"]
    return text if len(text) * 0.54 * canvas.font / 72 <= width else text.split()[-1]


def _rounded(canvas: _Canvas, left: float, top: float, width: float, height: float, **kwargs: Any) -> None:
    from matplotlib.patches import FancyBboxPatch

    shape = "round,pad=0,rounding_size=0.04"
    box = FancyBboxPatch((left, top), width, height, boxstyle=shape, **({"linewidth": 0.8} | kwargs))
    canvas.axes.add_patch(box)


# --- the words


def _draw_title(canvas: _Canvas, topology: Topology, machine: MachineType, cell: Cell, width: float) -> None:
    kinds = Counter(canvas.graph.nodes[node]["kind"] for node in canvas.graph)
    machines, drawn = kinds["machine"], _machines(canvas.graph, cell)
    racks, in_rack = _count(kinds["rack"], "rack"), _count(machines // kinds["rack"], "machine")
    text = f"{racks} with {in_rack} ({machine.name}) of {_count(machine.gpus, 'gpu')} ({machine.gpu_type})"
    if drawn < machines:
        text += f"; {drawn} of {machines} machines drawn"
    most = int(width * 12)
    canvas.axes.text(_MARGIN, 0.25, clip(topology.name, most), fontsize=12, fontweight="bold", va="center")
    canvas.axes.text(_MARGIN, 0.46, clip(text, most), fontsize=9, color=_FAINT, va="center")


def _machines(graph: "nx.Graph[Node]", cell: Cell) -> int:
    """Count the machines that are drawn."""
    if cell.node is None or graph.nodes[cell.node]["kind"] == "machine":
        return int(cell.node is not None)
    return sum(_machines(graph, member) for member in cell.members)


def _entries(layers: Sequence[Layer], tops: Sequence[float], uplinks: int) -> list[_Entry]:
    """Place the entries of the column beside their links, outermost first, without overlaps."""
    entries: list[_Entry] = []
    free = 0.2
    for number in range(len(layers), 0, -1):
        lines = _words(layers[number - 1], uplinks)
        height = _LINE * len(lines)
        middle = (tops[number] + tops[number - 1]) / 2 + (0.1 if layers[number - 1].circle else 0.0)
        top = max(free, middle - height / 2)
        entries.append(_Entry(layers[number - 1], lines, top))
        free = top + height + 0.13
    return entries


def _words(layer: Layer, uplinks: int) -> tuple[str, ...]:
    """Return the entry of the column about a layer, the heading first."""
    dimension = layer.dimension
    made_of = _MADE_OF[dimension.kind][layer.whole == "group"]
    heading = f"{layer.tier}: {made_of} {_count(layer.members, layer.member)}"
    speed, latency = _gbit(dimension.bandwidth_bytes_per_ns * 8), f"{dimension.latency_ns / 1000:g} us a link"
    if dimension.links == "members":
        return heading, f"{speed} and {latency},", "as many links as members"
    lines = [heading, f"{speed} a GPU, {latency}"]
    limits = {"machine": dimension.machine_bytes_per_ns * 8, "rack": dimension.rack_bytes_per_ns * 8}
    if limits["machine"]:
        lines.append(f"machine port {_gbit(limits['machine'])}, shared")
    if limits["rack"]:
        links = f"{uplinks} x " if uplinks > 1 else ""
        lines.append(f"rack uplink {links}{_gbit(limits['rack'] / uplinks)}, shared")
    if layer.member != "gpu" and layer.capacity_gbit_s not in (0.0, limits.get(layer.member)):
        lines.append(f"a {layer.member} sends {_gbit(layer.capacity_gbit_s)} in all")
    return tuple(lines)


def _count(number: int, kind: str) -> str:
    return f"{number} {_PLURALS[kind].removesuffix('s') if number == 1 else _PLURALS[kind]}"


def _gbit(gbit_s: float) -> str:
    return f"{gbit_s:.4g} Gb/s" if gbit_s < 10_000 else f"{gbit_s / 1000:.4g} Tb/s"


def _draw_column(canvas: _Canvas, entries: Sequence[_Entry], left: float) -> None:
    """Write the properties of the links beside them, each with a small picture of their topology."""
    for entry in entries:
        _draw_icon(canvas, entry, left)
        for number, line in enumerate(entry.lines):
            weight = "normal" if number else "bold"
            y = entry.top + _LINE * (number + 0.5)
            canvas.axes.text(left + _ICON, y, line, va="center", fontsize=8, fontweight=weight)
    note = "dots: GPUs; width of a line: what all\nGPUs below it may send together"
    y = max(entries[-1].top + _LINE * len(entries[-1].lines) + 0.13, canvas.bottoms[-1] - 2 * _LINE)
    canvas.axes.text(left + _ICON, y, note, va="top", fontsize=7, color=_FAINT)


def _draw_icon(canvas: _Canvas, entry: _Entry, left: float) -> None:
    layer = entry.layer
    colour, x, y = _COLOURS[layer.tier], left + _ICON / 2 - 0.06, entry.top + 0.17
    if layer.dimension.kind == "switch":
        ends = [(x + across, y + 0.1) for across in (-0.11, 0, 0.11)]
        links = [((x, y - 0.08), end) for end in ends]
        _rounded(
            canvas, x - 0.1, y - 0.13, 0.2, 0.08, edgecolor=colour, facecolor=_TINTS[layer.tier], zorder=3
        )
    else:
        ends = _circle(x, y, 0.12, 5)
        links = [(ends[one], ends[other]) for one, other in _pairs(layer.dimension.kind, 5)]
    for (one_x, one_y), (other_x, other_y) in links:
        canvas.axes.plot([one_x, other_x], [one_y, other_y], color=colour, linewidth=1.0, zorder=2)
    for end in ends:
        canvas.axes.plot(*end, "o", color=_INK, markersize=3, markeredgewidth=0, zorder=4)
