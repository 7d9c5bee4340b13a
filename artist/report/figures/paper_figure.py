"""The figure of a paper: its bars, and the means of our runs with their intervals."""

from collections.abc import Sequence
from itertools import product

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from artist.drawing.looks import AREAS, style
from artist.drawing.panels import NARROW_IN, head, panels
from artist.report.claims.bars import Bar
from artist.report.claims.schema import Panel, PaperFigure
from artist.report.figures.drawing import Drawing

_MAX_BESIDE = 14  # bars of a panel that has another beside it
_BAR_WIDTH = 0.8  # of all bars of a group
_INK = "#000000"


def paper_drawing(name: str, paper: str, figure: PaperFigure, bars: Sequence[Sequence[Bar]]) -> Drawing:
    """Return a figure of a paper with ours beside it, under the name of the paper's claims."""
    caption = (
        f"{figure.says}. Bars: {paper} ({figure.read}). Points: ours, the mean over seeds with its 95 % "
        f"interval (Student's t); no point: not run.{f' {figure.ours}' * bool(figure.ours)}"
    )
    place = figure.name.lower().removeprefix("fig. ").replace(" ", "_")

    def draw(width_in: float) -> Figure:
        with style():
            return _drawn(figure, bars, width_in)

    return Drawing(f"{name}_{place}", f"{paper.removeprefix('the ')}, {figure.name}", caption, draw)


def _drawn(figure: PaperFigure, bars: Sequence[Sequence[Bar]], width_in: float) -> Figure:
    most = max(len(panel.groups) * len(panel.bars) for panel in figure.panels)
    beside = 1 if most > _MAX_BESIDE else 3
    names = list(dict.fromkeys(name for panel in figure.panels for name in panel.bars))
    picture, places = panels(
        len(figure.panels), 1.9, [*names, "ours"], shared=False, width_in=width_in, max_columns=beside
    )
    for axes, panel, of_panel in zip(places, figure.panels, bars, strict=True):
        _panel(axes, panel, of_panel, names)
        head(
            axes,
            panel.says,
            places,
            width_in,
            f" ({panel.unit})" * (panel.against is None and bool(panel.unit)),
        )
    handles = [Patch(facecolor=_colour(names, name), alpha=0.55, label=name) for name in names]
    ours = Line2D([], [], color=_INK, marker="o", markersize=4, linewidth=1, label="ours")
    picture.legend(
        handles=[*handles, ours],
        loc="outside lower center",
        ncols=3 if width_in == NARROW_IN else 6,
        fontsize=8.5,
    )
    return picture


def _panel(axes: Axes, panel: Panel, bars: Sequence[Bar], names: Sequence[str]) -> None:
    width = _BAR_WIDTH / len(panel.bars)
    left = -_BAR_WIDTH / 2 + width / 2
    for (group, number), bar in zip(
        product(range(len(panel.groups)), range(len(panel.bars))), bars, strict=True
    ):
        x = group + left + number * width
        if bar.paper is not None:
            axes.bar(x, bar.paper, width, color=_colour(names, bar.name), alpha=0.55, linewidth=0)
        if bar.ours.mean is not None:
            axes.plot(x, bar.ours.mean, "o", color=_INK, markersize=3.5, zorder=3)
        if bar.ours.low is not None and bar.ours.high is not None:
            axes.vlines(x, bar.ours.low, bar.ours.high, color=_INK, linewidth=1, zorder=3)
    axes.set_xticks(range(len(panel.groups)), list(panel.groups), fontsize=8)
    axes.set_xlabel(panel.axis, fontsize=8.5)
    axes.set_ylim(bottom=0)
    axes.grid(visible=False, axis="x")
    axes.set_axisbelow(True)


def _colour(names: Sequence[str], name: str) -> str:
    return AREAS[names.index(name) % len(AREAS)]
