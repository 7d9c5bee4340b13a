"""How figures look: lines, fills, axes of time, panels, and the legend or key below them."""

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from artist.results.compare import Replicates
from artist.results.names import clip

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN = 9.0
NARROW_IN = 4.2  # for a phone
_TICKS_PER_IN = 1.2
_LEGEND_CHARS_PER_IN = 110 / 9  # as many of its font are as wide
_LINE_IN = 0.2  # height of a line of the legend
_TITLE_CHARS = 44  # as many are as wide as a panel

# Colours of Okabe and Ito, distinct for most colour-blind readers; dash and marker tell lines apart in grey.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (9, 3)))
_MARKERS = ("", "o", "^", "s", "D", "v")
_FILLS = ("full", "none", "left", "top", "right")  # of points, as many as dashes
_POINTS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "*")
# From dark to light, so that stacked parts can be told apart in grey; hatches help neighbours.
SHADES = ("#08306b", "#2f7ebc", "#f0a500", "#9ecae1", "#8c2d04", "#e8e8e8")
HATCHES = ("", "", "//", "..", "xx", "\\\\")
_STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "artist",
    "text.parse_math": False,  # a $ in a name is a $
}
_FINE_TICKS = tuple(
    (count * scale, f"{count:g} {unit}")
    for scale, unit, counts in (
        (1e-3, "ms", (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (1, "s", (1, 2, 5, 10, 20, 30)),
        (60, "min", (1, 2, 5, 10, 20, 30)),
        (3600, "h", (1, 2, 5, 10)),
        (86_400, "d", (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000)),
    )
    for count in counts
)
_COARSE_TICKS = tuple(tick for tick in _FINE_TICKS if tick[1].split()[0] in ("1", "10", "100", "1000"))
_UNITS = ((2 * 86_400, 86_400, "days"), (2 * 3600, 3600, "hours"), (120, 60, "minutes"), (0, 1, "seconds"))


def style() -> "AbstractContextManager[None]":
    """Return the context to draw in."""
    import matplotlib as mpl

    return mpl.rc_context(_STYLE)


def panels(
    count: int,
    height_in: float,
    texts: Sequence[str],
    *,
    shared: bool = True,
    same_y: bool = False,
    width_in: float = WIDTH_IN,
    most_columns: int | None = None,
    least_columns: int = 1,
) -> "tuple[Figure, list[Axes]]":
    """Return a figure and its panels, with room below for the legend.

    Parameters
    ----------
    height_in
        Of one panel.
    texts
        What the legend will say.
    shared, same_y
        Whether all have the same axis of time, and the same vertical axis.
    most_columns, least_columns
        Panels beside each other, in a wide figure (if None, 2 or 3, whichever fills rows) and in a narrow
        one.
    """
    from matplotlib.figure import Figure

    most_columns = most_columns or (3 if count in (3, 5, 6) else 2)
    columns = min(count, least_columns if width_in < WIDTH_IN else most_columns)
    rows = -(-count // columns)
    legend_in = _LINE_IN * (_legend_lines(texts, width_in) + 1)
    figure = Figure(figsize=(width_in, 0.5 + height_in * rows + legend_in), layout="constrained")
    places = list(figure.subplots(rows, columns, sharex=shared, sharey=same_y, squeeze=False).flat)
    for spare in places[count:]:
        spare.set_axis_off()
        places[count - columns].tick_params(labelbottom=True)  # it has none below it to read times from
    return figure, places[:count]


def width_of(axes: "Axes") -> float:
    """Return the width of a panel's figure, in inches."""
    figure = axes.get_figure(root=True)
    return float(figure.get_figwidth()) if figure else WIDTH_IN


def columns(places: "Sequence[Axes]") -> int:
    """Return how many columns panels stand in."""
    spec = places[0].get_subplotspec()
    return spec.get_gridspec().ncols if spec else 1


def label_rows(figure: "Figure", text: str, texts: Sequence[str]) -> None:
    """Write the label of all panels beside the middle of them, with a legend of `texts` below."""
    height_in = figure.get_figheight()
    legend_in = _LINE_IN * _legend_lines(texts, figure.get_figwidth())
    figure.supylabel(text, y=(height_in + legend_in) / 2 / height_in, fontsize=9)


def title(group: Replicates) -> str:
    """Return what stands above the panel of a group: its label, or the letter for it with its first word."""
    return clip(f"{group.letter}: {group.shown[0]}" if group.letter else group.label, _TITLE_CHARS)


def group_texts(groups: Sequence[Replicates]) -> list[str]:
    """Return what a legend says of each group."""
    return [f"{group.letter}: {group.label}" if group.letter else group.label for group in groups]


def key_texts(groups: Sequence[Replicates]) -> list[str]:
    """Return what a key to letters says; nothing if the groups need none."""
    return group_texts(groups) if any(group.letter for group in groups) else []


def legend(figure: "Figure", texts: Sequence[str], lines: Sequence[Any]) -> None:
    """Write texts below the axes, each with its line if there are lines."""
    from matplotlib.lines import Line2D

    if not texts:
        return
    width_in = figure.get_figwidth()
    wrapped = _wrapped(texts, width_in)
    handles = list(lines) or [Line2D([], [], linestyle="none") for _ in texts]
    figure.legend(
        handles,
        [f" {text}" if text.startswith("_") else text for text in wrapped],  # matplotlib hides those
        loc="outside lower center" if lines else "outside lower left",
        ncols=_legend_columns(wrapped, width_in),
        handlelength=4 if lines else 0,
        fontsize=8.5,
    )


def looks(groups: Sequence[Replicates]) -> list[dict[str, Any]]:
    """Return a look for each group.

    If it fits, colour and marker stand for the first key that differs, and the dash for all others.
    """
    places = _two_places(groups)
    if places is None:
        return [look(i) for i in range(len(groups))]
    return [look(dash) | {"color": _COLOURS[first], "marker": _MARKERS[first]} for first, dash in places]


def point_looks(groups: Sequence[Replicates]) -> list[dict[str, Any]]:
    """Return a look of lone points for each group, coloured as its line is.

    Where colour stands for the first key that differs, so does the marker, and its filling for all others.
    """
    places = _two_places(groups)
    if places is None:
        return [points(i) for i in range(len(groups))]
    return [points(first) | {"fillstyle": _FILLS[other]} for first, other in places]


def _two_places(groups: Sequence[Replicates]) -> list[tuple[int, int]] | None:
    """Return numbers of the first key that differs and of all others; None if they are too many."""
    differing = [len(set(column)) > 1 for column in zip(*(group.values for group in groups), strict=True)]
    at = differing.index(True) if any(differing) else 0
    firsts = list(dict.fromkeys(group.values[at] for group in groups))
    others = list(dict.fromkeys(_without(group.values, at) for group in groups))
    if len(firsts) > len(_MARKERS) or not 1 < len(others) <= len(_DASHES):
        return None
    return [(firsts.index(group.values[at]), others.index(_without(group.values, at))) for group in groups]


def _without(values: tuple[str, ...], at: int) -> tuple[str, ...]:
    return values[:at] + values[at + 1 :]


def look(number: int) -> dict[str, Any]:
    """Return a look that differs from those of other numbers up to 20, in grey too."""
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "linestyle": _DASHES[number % len(_DASHES)],
        "linewidth": 1.4,
        "marker": _MARKERS[number // len(_DASHES) % len(_MARKERS)],
        "markersize": 3.5,
        "markevery": (0.03 + 0.01 * (number % 5), 0.12),
    }


def marked_look(number: int) -> dict[str, Any]:
    """Return a look of a few lines, each with a colour, a dash and a marker of its own, that of `points`."""
    return look(number) | {"marker": _POINTS[number % len(_POINTS)]}


def points(number: int) -> dict[str, Any]:
    """Return the look of lone points, which differs from those of other numbers up to 20, in grey too."""
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "linestyle": "none",
        "marker": _POINTS[number % len(_POINTS)],
        "markersize": 5,
        "fillstyle": "none" if number // len(_POINTS) % 2 else "full",
    }


def log_time_axis(axes: "Axes", low: float, high: float, along: str = "x", *, room: int = 1) -> None:
    """Give an axis the times from `low` to `high`, in seconds, with ticks as people count time.

    Parameters
    ----------
    along
        "x" or "y".
    room
        How many panels share the width of the figure.
    """
    below = [at for at, _ in _FINE_TICKS if at <= low]
    above = [at for at, _ in _FINE_TICKS if at >= high]
    left, right = (below[-1] if below else low), (above[0] if above else high)
    inside = [tick for tick in _FINE_TICKS if left <= tick[0] <= right]
    most = _TICKS_PER_IN * width_of(axes) / room if along == "x" else 10
    if len(inside) > most:
        inside = [tick for tick in _COARSE_TICKS if left <= tick[0] <= right]
    inside = inside[:: math.ceil(len(inside) / most)]
    at, texts = [tick for tick, _ in inside], [text for _, text in inside]
    if along == "x":
        axes.set(xscale="log", xlim=(left, right))
        axes.set_xticks(at, texts)
        axes.set_xticks([], minor=True)
    else:
        axes.set(yscale="log", ylim=(left, right))
        axes.set_yticks(at, texts)
        axes.set_yticks([], minor=True)


def time_unit(end_s: float) -> tuple[float, str]:
    """Return seconds in a unit, and its name, for an axis that ends there."""
    return next((scale, unit) for least, scale, unit in _UNITS if end_s >= least)


def _wrapped(texts: Sequence[str], width_in: float) -> list[str]:
    room = int(_LEGEND_CHARS_PER_IN * width_in)
    return ["\n".join(textwrap.wrap(text, room, subsequent_indent="    ")) for text in texts]


def _legend_columns(texts: Sequence[str], width_in: float) -> int:
    """Return as few columns as fill the number of rows that the widest text allows."""
    room = int(_LEGEND_CHARS_PER_IN * width_in)
    most = max(1, min(4, (room + 10) // (max(map(len, texts)) + 8)))
    return -(-len(texts) // -(-len(texts) // most))


def _legend_lines(texts: Sequence[str], width_in: float) -> int:
    if not texts:
        return 0
    wrapped = _wrapped(texts, width_in)
    return -(-sum(text.count("\n") + 1 for text in wrapped) // _legend_columns(wrapped, width_in))
