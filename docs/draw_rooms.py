"""Draw the rooms of artist/ and netmodels/ and the imports between them as docs/rooms.svg.

    python docs/draw_rooms.py

A room is a folder, drawn on the floor above the highest room that it imports: artist/ on the left, netmodels/
on the right. Arrows that a chain of others implies are left out. Imports inside functions count.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "rooms.svg"
PACKAGES = ("artist", "netmodels")
WIDTH, HEIGHT, GAP, MARGIN = 124, 40, 16, 20
FLOOR = 84
COLOURS = {"artist": "#dbe9f6", "netmodels": "#fdebd0"}


def room_of(module: str) -> str | None:
    """Return the folder of a module as `package/folder`, None for what lies beside the folders."""
    package, _, rest = module.partition(".")
    if package not in PACKAGES or not (ROOT / package / rest.partition(".")[0]).is_dir():
        return None
    return f"{package}/{rest.partition('.')[0]}" if rest else None


def imports_of(path: Path) -> Iterator[str]:
    """Yield the dotted names of the modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def rooms() -> nx.DiGraph:
    """Return the graph of rooms; an edge leads from a room to one that it imports."""
    graph = nx.DiGraph()
    for package in PACKAGES:
        for path in sorted((ROOT / package).glob("*/**/*.py")):
            room = f"{package}/{path.relative_to(ROOT / package).parts[0]}"
            graph.add_node(room)
            for module in imports_of(path):
                target = room_of(module)
                if target is not None and target != room:
                    graph.add_edge(room, target)
    return graph


def floors_of(graph: nx.DiGraph) -> list[list[str]]:
    """Return the rooms by floor, the ground first; rooms of a circle share a floor."""
    circles = nx.condensation(graph)
    floor: dict[int, int] = {}
    for circle in reversed(list(nx.topological_sort(circles))):
        floor[circle] = 1 + max((floor[below] for below in circles.successors(circle)), default=-1)
    height = 1 + max(floor.values())
    floors: list[list[str]] = [[] for _ in range(height)]
    for circle, members in circles.nodes(data="members"):
        floors[floor[circle]] += members
    return [sorted(names) for names in floors]


def arrows_of(graph: nx.DiGraph) -> list[tuple[str, str]]:
    """Return the arrows to draw: the least that imply all imports, and those within a circle."""
    circles = nx.condensation(graph)
    mapping = circles.graph["mapping"]
    needed = nx.transitive_reduction(circles).edges
    return sorted(
        (above, below)
        for above, below in graph.edges
        if mapping[above] == mapping[below] or (mapping[above], mapping[below]) in needed
    )


def ordered(floors: list[list[str]], arrows: list[tuple[str, str]]) -> list[list[str]]:
    """Return the floors, each sorted by the mean column of the rooms tied to its own: fewer arrows cross."""
    tied = nx.Graph(arrows)
    floors = [list(names) for names in floors]
    for _ in range(8):
        for names in floors:
            column = {room: (i + 0.5) / len(row) for row in floors for i, room in enumerate(row)}
            mean = {
                room: sum(column[other] for other in tied.adj.get(room, ())) / max(1, tied.degree(room))
                for room in names
                if room in tied
            }
            names.sort(key=lambda room, mean=mean: (mean.get(room, 0.5), room))
    return floors


def corners(floors: list[list[str]]) -> dict[str, tuple[float, float]]:
    """Return the upper left corner of every room; a package's rooms are centred in its own columns."""
    corner = {}
    left = float(MARGIN)
    for package in PACKAGES:
        rows = [[room for room in names if room.startswith(package)] for names in floors]
        columns = max(map(len, rows))
        for floor, row in enumerate(rows):
            indent = (columns - len(row)) / 2
            for i, room in enumerate(row):
                corner[room] = (
                    left + (indent + i) * (WIDTH + GAP),
                    MARGIN + (len(floors) - 1 - floor) * FLOOR,
                )
        left += columns * (WIDTH + GAP) + 2 * GAP
    return corner


def svg(graph: nx.DiGraph) -> str:
    """Return the picture as SVG text."""
    arrows = arrows_of(graph)
    corner = corners(ordered(floors_of(graph), arrows))
    width = max(x for x, _ in corner.values()) + WIDTH + MARGIN
    height = max(y for _, y in corner.values()) + HEIGHT + MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        'font-family="sans-serif">',
        f'<rect width="{width:g}" height="{height:g}" fill="white"/>',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
    ]
    for above, below in arrows:
        (x, y), (to_x, to_y) = corner[above], corner[below]
        start, end = (x + WIDTH / 2, y + HEIGHT), (to_x + WIDTH / 2, to_y)
        bend = (end[1] - start[1]) / 2
        lines.append(
            f'<path d="M{start[0]:g},{start[1]:g} C{start[0]:g},{start[1] + bend:g} '
            f'{end[0]:g},{end[1] - bend:g} {end[0]:g},{end[1]:g}" fill="none" stroke="#999" '
            'marker-end="url(#head)"/>'
        )
    for room, (x, y) in corner.items():
        package, name = room.split("/")
        lines += [
            f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="5" fill="{COLOURS[package]}" '
            'stroke="#777"/>',
            f'<text x="{x + WIDTH / 2:g}" y="{y + 25:g}" font-size="14" text-anchor="middle">{name}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(svg(rooms()), encoding="utf-8")
    print(PICTURE.relative_to(ROOT))
