"""The figure of the time of all GPUs by cause, where machines fail."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from artist.drawing.looks import style
from artist.drawing.panels import WIDTH_IN, head, label_columns, label_rows, legend, panels
from artist.drawing.time_axis import log_axis, log_time_axis
from artist.recording.names import GPU_CAUSES
from artist.report.figures.bars import bar_panels, part_key, stack
from artist.report.figures.drawing import Drawing, pooled, several
from artist.report.figures.facets import facets, only
from artist.results.digest import Digest
from artist.results.failures import Interrupted, by_machines, gpu_hours, has_failures
from artist.results.scenarios import Contest

_CAPTION = (
    "The time of all GPUs over the whole run, by use; the number at the end of a bar is the part "
    "that is useful work. table.csv has all numbers. Waiting for a replacement: idle GPUs, while "
    "a job that lost its machine to a failure waits for enough others."
)
_BARE = " Rows whose machines do not fail have no bar."
_MEANS = " Means over seeds."
_MTTF = (
    "The time for which jobs hold their machines, per failure that stops one, with 95 % "
    "intervals. Jobs are grouped by their number of machines (1, 2 to 3, 4 to 7, and so on); the "
    "point of a group lies at its mean number of machines, and a group that no failure stopped "
    "has none. The line is 1 / (N r), the expectation for N machines that fail at the rate r of "
    "the causes."
)
_CURVE = "1 / (N r)"
_LINE: dict[str, Any] = {"color": "#888888", "linestyle": "--", "linewidth": 1}
_SHADES = (0, 2, 4, 3, 5, 7, 8, 1, 9, 12, 10, 13, 11, 14, 6)  # of GPU_CAUSES
_SEEN = 1e-3  # of the longest bar


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figure, if machines fail in some row."""
    failing = [has_failures(digest.group) for digest in digests]
    if not any(failing):
        return []
    caption = _CAPTION + _BARE * (not all(failing)) + _MEANS * several(digests)
    draw = partial(hours_by_cause, digests, contest)
    figures = [Drawing("gpu_hours", "Where the GPU-hours went", caption, draw)]
    if any(row.failures for digest in digests for row in by_machines(digest.group)[0]):
        caption = _MTTF + pooled(digests)
        draw = partial(mttf_by_machines, digests, contest)
        figures.append(Drawing("mttf", "Time between failures by machines of a job", caption, draw))
    return figures


def mttf_by_machines(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> Figure:
    """Draw the mean time between failures of jobs by their machines, with 95 % intervals, and 1 / (N r)."""
    of_rows = [by_machines(digest.group) for digest in digests]
    failed = [[row for row in rows if row.failures] for rows, _ in of_rows]
    layout = only(facets([digest.group for digest in digests], contest), [bool(rows) for rows in failed])
    texts = [*layout.texts, _CURVE]
    machines = [size.machines for rows in failed for size in rows]
    ends = np.array([min(machines), max(machines)])
    times_s = [time_s for rows in failed for size in rows for time_s in size.mttf_s]
    with style():
        figure, places = panels(len(layout.sets), 3.0, texts, width_in=width_in)
        for axes, (name, members) in zip(places, layout.sets, strict=True):
            for rate in dict.fromkeys(of_rows[row][1] for row in members):
                axes.plot(ends, 3600 / (ends * (rate or np.nan)), **_LINE)
            for row in members:
                _points(axes, failed[row], layout.points[row])
            head(axes, name, places, width_in)
            log_axis(axes, *ends)
            log_time_axis(axes, min(times_s), max(times_s), "y")
        label_columns(places, "machines of a job")
        label_rows(figure, "time between failures", texts)
        dots = [Line2D([], [], **layout.points[row]) for row in layout.examples]
        legend(figure, texts, [*dots, Line2D([], [], **_LINE)])
        return figure


def _points(axes: Axes, sizes: Sequence[Interrupted], look: dict[str, Any]) -> None:
    """Draw the time between failures of a row, with its intervals."""
    for size in sizes:
        low_s, mttf_s, high_s = size.mttf_s
        axes.vlines(size.machines, low_s, high_s, color=look["color"], linewidth=1)
        axes.plot(size.machines, mttf_s, **look)


def hours_by_cause(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> Figure:
    """Draw the GPU-hours of each row, split by cause; rows of a scenario together."""
    hours = np.array([list(gpu_hours(digest.group).values()) for digest in digests])
    totals = hours.sum(axis=1)
    names = list(GPU_CAUSES.values())
    shown = [i for i in range(len(names)) if hours[:, i].max() > _SEEN * totals.max()]
    with style():
        figure, (axes,) = bar_panels(1, digests, contest, width_in)
        shades = [_SHADES[i] for i in shown]
        y = stack(axes, digests, contest, hours[:, shown], [names[i] for i in shown], shades)
        for at, total, useful in zip(y, totals, hours[:, 0], strict=True):
            text = f"{useful / total:.0%}".replace("%", " %") if total else ""
            axes.annotate(text, (total, at), (4, 0), textcoords="offset points", va="center", fontsize=8)
        axes.set_xlim(0, 1.12 * totals.max() or 1.0)
        axes.set_xlabel("GPU-hours")
        part_key(figure, axes, width_in)
        return figure
