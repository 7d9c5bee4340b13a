"""Bars of parts beside each other, a bar per row, scenario by scenario."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from artist.drawing.panels import WIDTH_IN, legend, panels, width_of
from artist.report.figures.drawing import key_texts, title
from artist.results.digest import Digest
from artist.results.scenarios import Contest, scenario_rows
from artist.tables.grid import clip

# From dark to light, so that stacked parts can be told apart in grey; hatches help neighbours.
SHADES = (
    "#08306b", "#2f7ebc", "#f0a500", "#b35806", "#9ecae1", "#8c2d04", "#e8e8e8",
    "#d7301f", "#fdbb84", "#c994c7", "#a1d99b", "#888888", "#fafafa",
    "#ffe08a", "#cfc3e3",
)  # fmt: skip
HATCHES = ("", "", "//", "", "..", "xx", "\\\\", "", "//", "..", "", "xx", "", "\\\\", "//")
_BAR_IN = 0.24


def bar_panels(
    count: int, digests: Sequence[Digest], contest: Contest, width_in: float
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, each with room for a bar per row, and with the key to letters."""
    texts = key_texts([digest.group for digest in digests])
    bars = _order(digests, contest)[-1][1] + 1
    figure, places = panels(count, 0.9 + _BAR_IN * bars, texts, shared=False, width_in=width_in)
    legend(figure, texts, ())
    return figure, places


def _order(digests: Sequence[Digest], contest: Contest) -> list[tuple[int, float]]:
    """Return rows with their place from above: scenario by scenario, with gaps between them."""
    sets = scenario_rows(len(digests), contest)
    gap = 0.6 if any(len(rows) > 1 for _, rows in sets) else 0.0
    rows = [(row, number) for number, (_, members) in enumerate(sets) for row in members]
    return [(row, place + gap * number) for place, (row, number) in enumerate(rows)]


def stack(
    axes: Axes,
    digests: Sequence[Digest],
    contest: Contest,
    values: npt.NDArray[np.float64],
    names: Sequence[str],
    shades: Sequence[int],
) -> list[float]:
    """Draw a bar per row of parts beside each other; return the place of each row."""
    order = _order(digests, contest)
    place = dict(order)
    y = [place[row] for row in range(len(digests))]
    left = np.zeros(len(digests))
    for i, (name, shade) in enumerate(zip(names, shades, strict=True)):
        widths = np.nan_to_num(values[:, i])
        axes.barh(
            y, widths, left=left, height=0.72, label=name, color=SHADES[shade], hatch=HATCHES[shade],
            edgecolor="#333333", linewidth=0.4,
        )  # fmt: skip
        left += widths
    room = 44 if width_of(axes) == WIDTH_IN else 24
    axes.set_yticks(y, [digest.group.letter or clip(title(digest.group), room) for digest in digests])
    axes.set_ylim(order[-1][1] + 0.6, -0.6)
    axes.grid(visible=False, axis="y")
    axes.set_axisbelow(True)
    return y


def part_key(figure: Figure, axes: Axes, width_in: float) -> None:
    """Write the key to the parts of a bar above the panels."""
    handles, names = axes.get_legend_handles_labels()
    figure.legend(
        handles, names, loc="outside upper left", ncols=6 if width_in == WIDTH_IN else 2, fontsize=8.5,
        handleheight=1.1,
    )  # fmt: skip
