"""The figure of a paper: its bars, and the means of our runs with their intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from artist.drawing.looks import AREAS, style
from artist.drawing.panels import NARROW_IN, head, legend, panels
from artist.report.figures.drawing import Drawing
from artist.results.measures import Estimate

_MAX_BESIDE = 14  # bars of a panel that has another beside it
_GROUP_WIDTH = 0.8
_MAX_WIDTH_IN = 6.5  # so that texts can be read where the picture is small
_POINT: Any = {"fmt": "o", "color": "#000000", "markersize": 3.5, "elinewidth": 1, "zorder": 3}


@dataclass(frozen=True, slots=True)
class BarPanel:
    """A panel of bars in groups.

    Attributes
    ----------
    names
        Of the bars of each group.
    bars
        Group by group: the paper's number, and ours.
    """

    title: str
    axis: str
    groups: tuple[str, ...]
    names: tuple[str, ...]
    bars: tuple[tuple[float | None, Estimate], ...]


def paper_drawing(name: str, title: str, caption: str, of_paper: Sequence[BarPanel]) -> Drawing:
    """Return the figure of a paper with ours beside it."""
    points = "Points: ours, the mean over seeds, from three seeds on with its 95 % interval (Student's t)"
    more = "no point: not run."
    return Drawing(name, title, f"{caption} {points}; {more}", partial(_drawn, of_paper))


def _drawn(of_paper: Sequence[BarPanel], width_in: float) -> Figure:
    with style():
        columns = 3 if max(len(panel.bars) for panel in of_paper) <= _MAX_BESIDE else 1
        names = list(dict.fromkeys(name for panel in of_paper for name in panel.names))
        texts = [*names, "ours (bars: paper)"]
        width_in = min(width_in, _MAX_WIDTH_IN)
        figure, places = panels(
            *(len(of_paper), 1.9, texts),
            shared=False,
            width_in=width_in,
            min_columns=1 if width_in == NARROW_IN else columns,
        )
        for axes, panel in zip(places, of_paper, strict=True):
            _draw(axes, panel, names)
            head(axes, panel.title, places, width_in)
        handles = [Patch(facecolor=_colour(names, name), alpha=0.55) for name in names]
        legend(figure, texts, [*handles, places[0].errorbar([], [], yerr=[], **_POINT)])
        return figure


def _draw(axes: Axes, panel: BarPanel, names: Sequence[str]) -> None:
    per_group = len(panel.names)
    width = _GROUP_WIDTH / per_group
    for at, (paper, ours) in enumerate(panel.bars):
        group, number = divmod(at, per_group)
        x = group + (number + 0.5) * width - _GROUP_WIDTH / 2
        if paper is not None:
            colour = _colour(names, panel.names[number])
            axes.bar(x, paper, width, color=colour, alpha=0.55, linewidth=0)
        if ours.mean is not None:
            spread = [[ours.mean - value] for value in (ours.low, ours.high) if value is not None]
            axes.errorbar(x, ours.mean, yerr=np.abs(spread) if spread else None, **_POINT)
    axes.set_xticks(range(len(panel.groups)), list(panel.groups), fontsize=8)
    axes.set_xlabel(panel.axis, fontsize=8.5)
    axes.set_xlim(-0.5, len(panel.groups) - 0.5)
    axes.set_ylim(bottom=0)
    axes.grid(visible=False, axis="x")
    axes.set_axisbelow(True)


def _colour(names: Sequence[str], name: str) -> str:
    return AREAS[names.index(name) % len(AREAS)]
