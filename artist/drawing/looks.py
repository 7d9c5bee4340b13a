"""Styles of lines and points in figures, in colour and in grey."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

# Colours of Okabe and Ito, distinct for most colour-blind readers; dash and marker tell lines apart in grey.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (9, 3)))
_MARKERS = ("", "o", "^", "s", "D", "v")
_FILLS = ("full", "none", "left", "top", "right")  # of points, one per dash
AREAS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#000000")  # filled, beside each other
# What becomes of paper, ink, lines and dark areas where the reader prefers dark pages.
DARK = {
    "#ffffff": "#16181c", "#000000": "#e6e6e6", "#e4e4e4": "#33373d", "#dddddd": "#33373d",
    "#333333": "#101215", "#555555": "#a8adb3", "#666666": "#a8adb3", "#777777": "#a8adb3",
    "#08306b": "#8fbdf0", "#8c2d04": "#dd6b33",
}  # fmt: skip
NEED, SHORT = "#b4b4b4", "#a50f15"
_POINTS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "*")
_STYLE: Any = {
    "font.size": 9,
    "font.sans-serif": ["DejaVu Sans"],  # it comes with matplotlib; a search through others takes a while
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # TrueType, as publishers ask for
    "axes.titley": 1.0,  # else it is looked for, which takes a while
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "xtick.bottom": False,  # the grid shows where they are
    "ytick.left": False,
    "legend.frameon": False,
    "svg.hashsalt": "artist",
    "text.parse_math": False,  # a $ in a name is a $
}


def style() -> "AbstractContextManager[None]":
    """Return the context to draw in."""
    import matplotlib as mpl

    return mpl.rc_context(_STYLE)


def looks(keys: Sequence[tuple[str, ...]]) -> list[dict[str, Any]]:
    """Return a look per line.

    If it fits, colour and marker encode the first key that differs, and the dash all others.

    Parameters
    ----------
    keys
        Values of the keys in which the lines differ, in one order.
    """
    places = _two_places(keys)
    if places is None:
        return [look(i) for i in range(len(keys))]
    return [look(dash) | {"color": _COLOURS[first], "marker": _MARKERS[first]} for first, dash in places]


def point_looks(keys: Sequence[tuple[str, ...]]) -> list[dict[str, Any]]:
    """Return a look of lone points per line, in the line's colour.

    Where colour encodes the first key that differs, so does the marker, and its filling all others.

    Parameters
    ----------
    keys
        As for `looks`.
    """
    places = _two_places(keys)
    if places is None:
        return [points(i) for i in range(len(keys))]
    return [points(first) | {"fillstyle": _FILLS[other]} for first, other in places]


def _two_places(keys: Sequence[tuple[str, ...]]) -> list[tuple[int, int]] | None:
    """Return numbers of the first key that differs and of all others; None if they are too many."""
    differing = [len(set(column)) > 1 for column in zip(*keys, strict=True)]
    at = differing.index(True) if any(differing) else 0
    firsts = list(dict.fromkeys(values[at] for values in keys))
    others = list(dict.fromkeys(_without(values, at) for values in keys))
    if len(firsts) > len(_MARKERS) or not 1 < len(others) <= len(_DASHES):
        return None
    return [(firsts.index(values[at]), others.index(_without(values, at))) for values in keys]


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


def example_lines(line_looks: Sequence[dict[str, Any]], **more: Any) -> list[Any]:
    """Return a line for each look, for a legend."""
    from matplotlib.lines import Line2D

    kept = [
        {name: value for name, value in line_look.items() if name != "markevery"} for line_look in line_looks
    ]
    return [Line2D([], [], **(line_look | more)) for line_look in kept]


def pale(colour: str) -> str:
    """Return a light tint of a colour written as #rrggbb."""
    return "#" + bytes(255 - (255 - part) // 4 for part in bytes.fromhex(colour[1:])).hex()
