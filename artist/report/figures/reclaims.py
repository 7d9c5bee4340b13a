"""The figures of machines that went back to their pools: how they were cleared, in all and over time."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from artist.drawing.looks import style
from artist.drawing.panels import WIDTH_IN, label_rows
from artist.drawing.time_axis import time_unit
from artist.recording.names import RECLAIMED
from artist.report.figures.bars import SHADES, bar_panels, part_key, stack
from artist.report.figures.drawing import Drawing, first, of_scenario
from artist.report.figures.facets import chosen
from artist.report.figures.labels import key_texts
from artist.report.figures.row_panels import Key, row_panels
from artist.results.digest import Digest
from artist.results.measures import number_texts
from artist.results.pools import Returns, has_returns, read_returns
from artist.results.run import Run
from artist.results.scenarios import Contest

_CAPTION = (
    "Machines that were returned to the pools that they had been lent by, and the jobs that were preempted "
    "for it. Idle: no job was on the machine. Flexible: its jobs shrank or moved, and none was preempted."
)
_OVER_TIME = "Machines returned by {}, and jobs that were preempted for it (dots)."
_NAMES = ("idle", "flexible", "by preemption")
_SHADES = (6, 2, 0)
_SPANS = (
    (60.0, "minute"), (300.0, "5 minutes"), (3600.0, "hour"), (6 * 3600.0, "6 hours"), (86_400.0, "day"),
    (7 * 86_400.0, "week"), (28 * 86_400.0, "4 weeks"),
)  # fmt: skip
_MAX_BARS = 32
_DOTS: Any = {
    "color": "white", "linestyle": "none", "marker": "o", "markersize": 4.5, "markeredgecolor": "black",
}  # fmt: skip


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figures, if machines went back to their pools in some run."""
    if not any(_has_some(each) for each in digests):
        return []
    made = [Drawing("reclaims", "Machines returned", _CAPTION, partial(reclaims, digests, contest))]
    if not any(_is_recorded(each) for each in digests):
        return made
    shown = chosen(digests, contest, _is_recorded)
    width_s, word = span(max(digests[row].end_s for row in shown))
    read = {row: read_returns(digests[row].group.runs[0], width_s, digests[row].end_s) for row in shown}
    caption = _OVER_TIME.format(word) + of_scenario(shown, contest) + first(digests)
    draw = partial(reclaims_over_time, digests, read, width_s)
    return [*made, Drawing("reclaims_over_time", "Machines returned over time", caption, draw)]


def _has_some(digest: Digest) -> bool:
    return any(_of(run).get("machines") for run in digest.group.runs)


def _of(run: Run) -> dict[str, int]:
    """Return the counts of a summary; none where there is one pool."""
    return run.summary.get("reclaims") or {}


def _is_recorded(digest: Digest) -> bool:
    return _has_some(digest) and has_returns(digest.group.runs[0])


def span(end_s: float) -> tuple[float, str]:
    """Return a span of time, and its name, of which a run has as few as can be drawn beside each other."""
    return next((each for each in _SPANS if end_s <= _MAX_BARS * each[0]), _SPANS[-1])


def reclaims(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> Figure:
    """Draw machines that were returned, by how they were cleared, and jobs preempted for it, a bar a row."""
    counts = np.array([_counts(each) for each in digests])
    with style():
        figure, places = bar_panels(2, digests, contest, width_in)
        stack(places[0], digests, contest, counts[:, :3], _NAMES, _SHADES)
        y = stack(places[1], digests, contest, counts[:, 3:], _NAMES[2:], _SHADES[2:])
        totals = (counts[:, :3].sum(axis=1), counts[:, 3])
        labels = ("machines returned", "jobs preempted for it")
        for axes, total, label in zip(places, totals, labels, strict=True):
            texts = number_texts([(count, None) for count in total], 1.0, "count")
            for at, count, (text, _) in zip(y, total, texts, strict=True):
                axes.annotate(text, (count, at), (4, 0), textcoords="offset points", va="center", fontsize=8)
            axes.set_xlim(0, 1.15 * total.max() or 1.0)
            axes.set_xlabel(label)
            axes.locator_params(axis="x", nbins=5)
        if width_in == WIDTH_IN:
            places[1].set_yticklabels([])
        part_key(figure, places[0], width_in)
        return figure


def _counts(digest: Digest) -> list[float]:
    """Return machines by how they were cleared, and preempted jobs; means over replicates."""
    counts = [_of(run) for run in digest.group.runs]
    return [float(np.mean([each.get(name, 0) for each in counts])) for name in RECLAIMED]


def reclaims_over_time(
    digests: Sequence[Digest], read: Mapping[int, Returns], width_s: float, width_in: float = WIDTH_IN
) -> Figure:
    """Draw machines that were returned in each span of time, stacked by how, a panel a row."""
    end_s = max(digests[row].end_s for row in read) or 1.0
    scale, unit = time_unit(end_s)
    handles: list[Any] = [
        Patch(facecolor=SHADES[shade], edgecolor="#333333", lw=0.4, label=name)
        for name, shade in zip(_NAMES, _SHADES, strict=True)
    ]
    figure = row_panels(
        digests,
        read,
        lambda axes, each: _draw(axes, each, width_s / scale),
        Key([*handles, Line2D([], [], **_DOTS, label="jobs preempted")], 4, 2),
        height_in=1.9,
        label=f"time ({unit})",
        limits=(0, end_s / scale),
        width_in=width_in,
    )
    label_rows(figure, "machines, jobs", key_texts([digests[row].group for row in read]))
    return figure


def _draw(axes: Axes, each: Returns, width: float) -> None:
    x = width * (np.arange(len(each.jobs)) + 0.5)
    bottom = np.zeros(len(x))
    for machines, shade in zip(each.machines, _SHADES, strict=True):
        axes.bar(x, machines, 0.9 * width, bottom, color=SHADES[shade], edgecolor="#333333", linewidth=0.4)
        bottom += machines
    some = each.jobs > 0
    axes.plot(x[some], each.jobs[some], **_DOTS)
