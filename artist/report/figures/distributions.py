"""The figures of how completion times, and times in the queue, are distributed over jobs."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from artist.drawing.looks import example_lines, style
from artist.drawing.panels import WIDTH_IN, columns, head, label_columns, label_rows, legend, panels
from artist.drawing.time_axis import log_time_axis
from artist.report.figures.drawing import Drawing, pooled, without_panel
from artist.report.figures.facets import Facets, facets, without_idle
from artist.results.digest import MIN_WAIT_S, Digest, Distribution
from artist.results.scenarios import Contest

_CDF = (
    "The fraction of all submitted jobs that completed within the time on the horizontal axis. "
    "The earlier a line rises, the better."
)
_UNFINISHED = " A line that ends below 1 belongs to a run with unfinished jobs."
_QUEUE_CDF = (
    "The fraction of finished jobs whose total wait is at most the time on the horizontal axis. "
    "The axis begins at 1 s, each line at the fraction that waited less. Higher is better."
)


def jct_drawing(digests: Sequence[Digest], contest: Contest) -> Drawing:
    """Return the figure of completion times."""
    ends = [[digest.jct.below, *digest.jct.fractions][-1] for digest in digests]
    caption = _CDF + _UNFINISHED * bool(min(ends) < 1 - 1e-9) + pooled(digests)
    return Drawing("jct_cdf", "Job completion times", caption, partial(jct_cdf, digests, contest))


def queueing_drawing(digests: Sequence[Digest], contest: Contest) -> Drawing:
    """Return the figure of waiting times."""
    _, idle = queueing_panels(digests, contest)
    caption = _QUEUE_CDF + without_panel(idle, "no job waited 1 s or longer") + pooled(digests)
    return Drawing("queueing_cdf", "Queueing times", caption, partial(queueing_cdf, digests, contest))


def jct_cdf(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> Figure:
    """Draw the distribution of completion times, one line per row, replicates pooled.

    The fraction is of all jobs: a line that ends below 1 belongs to a run with unfinished jobs.
    """
    layout = facets([digest.group for digest in digests], contest)
    lines = [(name, {row: digests[row].jct for row in rows}) for name, rows in layout.sets]
    return draw_cdf(layout, lines, "job completion time", "no job has finished", width_in)


def queueing_cdf(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> Figure:
    """Draw the distribution of waiting times over finished jobs; lines begin at those that did not wait."""
    layout, _ = queueing_panels(digests, contest)
    lines = [(name, {row: digests[row].queueing for row in rows}) for name, rows in layout.sets]
    return draw_cdf(layout, lines, "time in the queue", "no job has waited", width_in, MIN_WAIT_S)


def queueing_panels(digests: Sequence[Digest], contest: Contest) -> tuple[Facets, tuple[str, ...]]:
    """Return the panels of waiting times, and the titles of those left out: no job waits there."""
    layout = facets([digest.group for digest in digests], contest)
    return without_idle(layout, [len(digest.queueing.times_s) > 0 for digest in digests])


def draw_cdf(
    layout: Facets,
    lines: Sequence[tuple[str, Mapping[int, Distribution]]],
    label: str,
    nothing: str,
    width_in: float,
    min_s: float = 0.0,
    *,
    dots: bool = False,
    axis: Callable[..., None] = log_time_axis,
) -> Figure:
    """Draw distributions.

    Parameters
    ----------
    layout
        Looks of rows, and the legend.
    lines
        Title, and the distribution of each row, of each panel.
    label, nothing
        Label of the horizontal axes, and the text in place of lines without points.
    min_s
        If not 0, lines begin at the fraction that is less than this.
    dots
        Whether there is a dot where they begin.
    axis
        Function that makes the horizontal axis: `log_time_axis`, or one for other numbers.
    """
    drawn = [line for _, rows in lines for line in rows.values() if len(line.times_s)]
    low = max(min_s, min((float(line.times_s[0]) for line in drawn), default=0.0))
    high = max((float(line.times_s[-1]) for line in drawn), default=0.0)
    only = len(lines) == 1
    height = 1.9 if not only else 4.2 if width_in == WIDTH_IN else 3.4
    with style():
        figure, places = panels(len(lines), height, layout.texts, same_y=True, width_in=width_in)
        for axes, (name, rows) in zip(places, lines, strict=True):
            for row, of_row in rows.items():
                cdf_line(axes, of_row, layout.looks[row], (low, high) if min_s else None)
                if dots:
                    axes.plot(low, of_row.below, clip_on=False, zorder=3, **layout.points[row])
            axes.set_ylim(0, 1.01)
            head(axes, name, places, width_in)
            if drawn:
                axis(axes, low, high, room=columns(places))
            else:
                axes.text(0.5, 0.5, nothing, ha="center", transform=axes.transAxes)
                axes.set_xticks([])
        label_columns(places, label)
        label_rows(figure, "fraction of jobs", layout.texts)
        legend(figure, layout.texts, example_lines([layout.looks[row] for row in layout.examples]))
        return figure


def cdf_line(
    axes: Axes, of_row: Distribution, look: dict[str, Any], span_s: tuple[float, float] | None = None
) -> None:
    """Draw a distribution; from end to end of the span if there is one, else from its first point."""
    x, y = of_row.times_s, of_row.fractions
    if span_s is not None:
        x = np.concatenate([[span_s[0]], x, [span_s[1]]])  # jobs that have not waited are at the left edge
        y = np.concatenate([[of_row.below], y, [y[-1] if len(y) else of_row.below]])
    elif len(x):
        x, y = np.insert(x, 0, x[0]), np.insert(y, 0, 0.0)
    axes.plot(x, y, drawstyle="steps-post", **look)


_HISTOGRAM = (
    "The fraction of all submitted jobs with each completion time; bins are equally wide on the "
    "logarithmic axis. Each line ends where 95 % of its jobs are done (p95)."
)
_BARS = 30  # of a histogram


def histogram_drawing(digests: Sequence[Digest], contest: Contest) -> Drawing:
    """Return the figure."""
    draw = partial(jct_histogram, digests, contest)
    return Drawing("jct_histogram", "Histogram of completion times", _HISTOGRAM + pooled(digests), draw)


def jct_histogram(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> Figure:
    """Draw how many of the jobs have which completion time, each row up to its 95th percentile."""
    layout = facets([digest.group for digest in digests], contest)
    ends_s = [_time_below(digest.jct, 0.95) for digest in digests]
    low_s = min((float(digest.jct.times_s[0]) for digest in digests if len(digest.jct.times_s)), default=1.0)
    edges = np.geomspace(0.999 * low_s, 1.001 * max(*ends_s, 2 * low_s), _BARS + 1)
    with style():
        height_in = 2.6 if len(layout.sets) == 1 else 1.9
        figure, places = panels(len(layout.sets), height_in, layout.texts, same_y=True, width_in=width_in)
        for axes, (name, rows) in zip(places, layout.sets, strict=True):
            for row in rows:
                jct = digests[row].jct
                if not len(jct.times_s):
                    continue
                below = np.concatenate([[0.0], jct.fractions])[
                    np.searchsorted(jct.times_s, edges, side="right")
                ]
                shown = int(np.searchsorted(edges, ends_s[row]))
                line = {key: layout.looks[row][key] for key in ("color", "linestyle", "linewidth")}
                axes.stairs(np.diff(below)[:shown], edges[: shown + 1], **line)
            head(axes, name, places, width_in)
            log_time_axis(axes, low_s, float(edges[-1]), room=columns(places))
        places[0].set_ylim(bottom=0)  # they share it
        label_columns(places, "job completion time")
        label_rows(figure, "fraction of jobs", layout.texts)
        legend(figure, layout.texts, example_lines([layout.looks[row] for row in layout.examples], marker=""))
        return figure


def _time_below(jct: Distribution, part: float) -> float:
    """Return the time that this part of the jobs need at most; of all that have finished if fewer have."""
    if not len(jct.times_s):
        return 0.0
    return float(jct.times_s[min(int(np.searchsorted(jct.fractions, part)), len(jct.times_s) - 1)])
