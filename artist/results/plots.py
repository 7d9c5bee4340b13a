"""Figures of finished runs: completion times, and busy GPUs over time. Reads run folders, nothing else."""

import io
import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from artist.results.compare import Replicates
from artist.results.folder import Run
from artist.results.looks import (
    label_rows,
    legend,
    log_time_axis,
    look,
    looks,
    panels,
    style,
    time_unit,
    title,
)
from artist.results.steps import Floats, distribution_steps, thin_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_GROUPS = 20  # more lines than this cannot be told apart
_OVERLAID = 3  # busy GPUs of more groups get a panel each
_ALIKE = 3.0  # spans of time that differ by more do not share an axis
_BINS = 600
_BUSY = "busy GPUs (dashed grey: capacity)"

_Timeline = tuple[Floats, Floats, Floats]


def jct_cdf(groups: Sequence[Replicates]) -> "Figure":
    """Draw the distribution of completion times, one line a group, replicates pooled.

    The fraction is of all jobs: a line that ends below 1 belongs to a run with unfinished jobs.
    """
    with style():
        figure, (axes,) = panels(1, 4.2, groups)
        low, high = math.inf, 0.0
        lines = []
        for group, group_look in zip(groups, looks(groups), strict=True):
            times = np.concatenate([run.numbers("jobs", ["jct_s"])[0] for run in group.runs])
            finished = times[times > 0]
            x, y = np.empty(0), np.empty(0)  # a group without a finished job has its place in the legend
            if len(finished):
                x, y = distribution_steps(finished, len(times), _BINS)
                low, high = min(low, float(x[0])), max(high, float(x[-1]))
                x, y = np.insert(x, 0, x[0]), np.insert(y, 0, 0.0)
            lines += axes.plot(x, y, drawstyle="steps-post", **group_look)
        axes.set(xlabel="job completion time", ylabel="fraction of jobs", ylim=(0, 1.01))
        if high:
            log_time_axis(axes, low, high)
        else:
            axes.text(0.5, 0.5, "no job has finished", ha="center", transform=axes.transAxes)
        legend(figure, groups, lines)
        return figure


def busy_gpus(groups: Sequence[Replicates]) -> "Figure":
    """Draw busy GPUs over time against the capacity; of replicates, the first.

    A few groups of one capacity share a pair of axes, others have a panel each, and each its own axis
    of time if their spans are very different. Long runs are averaged over short spans of time, which
    keeps the area under the curve; where a line has its panel to itself, a light band shows the least
    and the greatest.
    """
    timelines = [_timeline(group.runs[0]) for group in groups]
    ends_s = [float(times[-1]) or 1.0 for times, _, _ in timelines]
    alike = max(ends_s) <= _ALIKE * min(ends_s)
    if alike:
        ends_s = [max(ends_s)] * len(ends_s)
    tops = [1.1 * float(np.maximum(busy, capacity).max()) or 1.0 for _, busy, capacity in timelines]
    with style():
        if len(groups) <= _OVERLAID and len(set(tops)) == 1 and alike:
            return _overlaid(groups, timelines, ends_s[0], tops[0])
        return _side_by_side(groups, timelines, ends_s, tops, shared=alike)


def rendered(figure: "Figure", kind: Literal["png", "svg"]) -> bytes:
    """Return a figure as the bytes of a file; equal figures give equal bytes."""
    data = io.BytesIO()
    with style(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font lacks is drawn as a box; nobody need be told
        if kind == "svg":
            figure.savefig(data, format="svg", metadata={"Date": None})
        else:
            figure.savefig(data, format="png", dpi=160)
    return data.getvalue()


def _overlaid(
    groups: Sequence[Replicates], timelines: Sequence[_Timeline], end_s: float, top: float
) -> "Figure":
    figure, (axes,) = panels(1, 3.6, groups)
    lines = []
    for i, timeline in enumerate(timelines):
        line_look = look(i) | {"marker": "", "linewidth": 1.1}
        lines.append(_draw_busy(axes, timeline, end_s, line_look, bins=_BINS, band=len(groups) == 1))
    axes.set(ylim=(0, top), ylabel=_BUSY, xlabel=f"time ({time_unit(end_s)[1]})")
    legend(figure, groups, lines)
    return figure


def _side_by_side(
    groups: Sequence[Replicates],
    timelines: Sequence[_Timeline],
    ends_s: Sequence[float],
    tops: Sequence[float],
    *,
    shared: bool,
) -> "Figure":
    keyed = groups if any(group.letter for group in groups) else ()
    figure, places = panels(len(groups), 1.6 if shared else 1.9, keyed, shared=shared)
    line_look = look(0) | {"marker": "", "linewidth": 1.1}
    for i, (axes, timeline) in enumerate(zip(places, timelines, strict=True)):
        _draw_busy(axes, timeline, ends_s[i], line_look, bins=_BINS // 2, band=True)
        axes.set(ylim=(0, tops[i]))
        axes.set_title(title(groups[i]), fontsize=9, loc="left")
        if not shared or i >= len(places) - 2:
            axes.set_xlabel(f"time ({time_unit(ends_s[i])[1]})")
    label_rows(figure, _BUSY, keyed)
    if keyed:
        legend(figure, keyed, ())
    return figure


def _timeline(run: Run) -> _Timeline:
    times, busy, capacity = run.numbers("timeline", ["time_s", "busy_gpus", "capacity_gpus"])
    return (times, busy, capacity) if len(times) else (np.zeros(1), np.zeros(1), np.zeros(1))


def _draw_busy(
    axes: "Axes",
    timeline: _Timeline,
    end_s: float,
    line_look: dict[str, Any],
    *,
    bins: int,
    band: bool,
) -> Any:
    times, busy, capacity = timeline
    scale, _ = time_unit(end_s)
    x, y = times / scale, busy
    if len(times) > 2 * bins:
        # The bins of all lines are equally wide, and those of a short run are fewer.
        edges = np.linspace(0, times[-1], max(2, math.ceil(bins * times[-1] / end_s)) + 1)
        mean, least, most = (np.append(part, busy[-1]) for part in thin_steps(times, busy, edges))
        x, y = edges / scale, mean
        if band:
            axes.fill_between(x, least, most, step="post", alpha=0.3, linewidth=0, color=line_look["color"])
    grey: dict[str, Any] = {"color": "#777777", "linewidth": 1.0, "linestyle": (0, (4, 3))}
    kept = np.append(np.flatnonzero(np.diff(capacity, prepend=np.nan)), len(times) - 1)
    axes.plot(times[kept] / scale, capacity[kept], drawstyle="steps-post", **grey)
    (line,) = axes.plot(x, y, drawstyle="steps-post", **line_look)
    axes.set_xlim(0, end_s / scale)
    return line
