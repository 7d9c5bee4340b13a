"""Panels of a figure, their titles, and the legend or key below them."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from artist.tables.grid import clip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN = 9.0
NARROW_IN = 4.2  # for a phone
_LEGEND_CHARS_PER_IN = 110 / 9  # of its font
_LINE_IN = 0.2  # height of a line of the legend
_TITLE: dict[str, Any] = {"fontsize": 9, "loc": "left"}
_TITLE_CHARS_PER_IN = 10
MAX_STACKED = 3  # panels that are as wide as the figure, where they may be


def panels(
    count: int,
    height_in: float,
    texts: Sequence[str],
    *,
    shared: bool = True,
    same_y: bool = False,
    width_in: float = WIDTH_IN,
    max_columns: int | None = None,
    min_columns: int = 1,
) -> "tuple[Figure, list[Axes]]":
    """Return a figure and its panels, with room below for the legend.

    Parameters
    ----------
    height_in
        Of one panel.
    texts
        Texts of the legend.
    shared, same_y
        Whether all have the same axis of time, and the same vertical axis.
    max_columns, min_columns
        Panels beside each other, in a wide figure (if None, 2 to 4: the more, the more panels there are) and
        in a narrow one.
    """
    from matplotlib.figure import Figure

    max_columns = max_columns or (3 if count in (3, 5, 6, 9) else 2 if count < 5 else 4)
    columns = min(count, min_columns if width_in < WIDTH_IN else max_columns)
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
    """Return the number of columns of panels."""
    spec = places[0].get_subplotspec()
    return spec.get_gridspec().ncols if spec else 1


def head(axes: "Axes", name: str, places: "Sequence[Axes]", width_in: float, more: str = "") -> None:
    """Write the name of a panel above it, wrapped into lines, and `more` after it."""
    room = int(_TITLE_CHARS_PER_IN * width_in / columns(places))
    lines = textwrap.wrap(name, room, break_long_words=False)
    axes.set_title("\n".join(clip(line, room * 4 // 3) for line in lines) + more, **_TITLE)


def label_columns(places: "Sequence[Axes]", text: str) -> None:
    """Write the label of the horizontal axes below the last panel of each column."""
    for axes in places[-columns(places) :]:
        axes.set_xlabel(wrapped_label(text, places))


def wrapped_label(text: str, places: "Sequence[Axes]") -> str:
    """Return the label of a horizontal axis, wrapped into lines as wide as a panel."""
    return textwrap.fill(text, int(_TITLE_CHARS_PER_IN * width_of(places[0]) / columns(places)))


def label_rows(figure: "Figure", text: str, texts: Sequence[str]) -> None:
    """Write the label of all panels beside the middle of them, with a legend of `texts` below."""
    height_in = figure.get_figheight()
    legend_in = _LINE_IN * _legend_lines(texts, figure.get_figwidth())
    figure.supylabel(text, y=(height_in + legend_in) / 2 / height_in, fontsize=9)


def legend(figure: "Figure", texts: Sequence[str], lines: Sequence[Any]) -> None:
    """Write texts below the axes, each with its line if there are lines."""
    from matplotlib.lines import Line2D

    if not texts:
        return
    width_in = figure.get_figwidth()
    wrapped = _wrapped(texts, width_in)
    handles = list(lines) or [Line2D([], [], linestyle="none") for _ in texts]
    ncols = _legend_columns(wrapped, width_in, len(lines))
    order = [i for column in range(ncols) for i in range(column, len(texts), ncols)]  # it fills columns first
    figure.legend(
        [handles[i] for i in order],
        [" " * wrapped[i].startswith("_") + wrapped[i] for i in order],  # matplotlib hides those
        loc="outside lower center" if lines else "outside lower left",
        ncols=ncols,
        handlelength=4 if lines else 0,
        fontsize=8.5,
    )


def _wrapped(texts: Sequence[str], width_in: float) -> list[str]:
    room = int(_LEGEND_CHARS_PER_IN * width_in)
    return ["\n".join(textwrap.wrap(text, room, subsequent_indent="    ")) for text in texts]


def _legend_columns(texts: Sequence[str], width_in: float, lines: int = 1) -> int:
    """Return as few columns as fill the number of rows that the widest text, with its line, allows."""
    room = int(_LEGEND_CHARS_PER_IN * width_in)
    gap = 8 if lines else 3
    most = max(1, min(4, (room + gap + 2) // (max(map(len, texts)) + gap)))
    return -(-len(texts) // -(-len(texts) // most))


def _legend_lines(texts: Sequence[str], width_in: float) -> int:
    if not texts:
        return 0
    wrapped = _wrapped(texts, width_in)
    return -(-sum(text.count("\n") + 1 for text in wrapped) // _legend_columns(wrapped, width_in))
