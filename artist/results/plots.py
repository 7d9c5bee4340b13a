"""Figures of finished runs: completion times, and busy GPUs over time. Reads run folders, nothing else."""

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from artist.results.compare import Replicates
from artist.results.folder import Run
from artist.results.steps import Floats, distribution_steps, thin_steps

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_GROUPS = 20  # more lines than this cannot be told apart
_OVERLAID = 3  # busy GPUs of more groups get a panel each
_BINS = 600
_BUSY = "busy GPUs (dashed grey: capacity)"
_MOST_TICKS = 10

# Colours of Okabe and Ito, distinct for most colour-blind readers; dash and marker tell lines apart in grey.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (9, 3)))
_MARKERS = ("", "o", "^", "s", "D", "v")
_STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "artist",
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

_Timeline = tuple[Floats, Floats, Floats]


def jct_cdf(groups: Sequence[Replicates]) -> "Figure":
    """Draw the distribution of completion times, one line a group, replicates pooled.

    The fraction is of all jobs: a line that ends below 1 belongs to a run with unfinished jobs.
    """
    with _style():
        figure, (axes,) = _panels(1, height=4.2)
        looks = _looks(groups)
        low, high = math.inf, 0.0
        for i, group in enumerate(groups):
            times = np.concatenate([run.numbers("jobs", ["jct_s"])[0] for run in group.runs])
            finished = times[times > 0]
            if len(finished):
                x, y = distribution_steps(finished, len(times), _BINS)
                low, high = min(low, float(x[0])), max(high, float(x[-1]))
                x, y = np.insert(x, 0, x[0]), np.insert(y, 0, 0.0)
                axes.plot(x, y, drawstyle="steps-post", label=group.label, **looks[i])
        axes.set(xlabel="job completion time", ylabel="fraction of jobs", ylim=(0, 1.01))
        if high:
            _log_time_axis(axes, low, high)
            _legend(figure, axes)
        else:
            axes.text(0.5, 0.5, "no job has finished", ha="center", transform=axes.transAxes)
        return figure


def busy_gpus(groups: Sequence[Replicates]) -> "Figure":
    """Draw busy GPUs over time against the capacity; of replicates, the first.

    A few groups of one capacity share a pair of axes, others have a panel each. Long runs are averaged
    over short spans of time, which keeps the area under the curve; where a line has its panel to itself,
    a light band shows the least and the greatest.
    """
    timelines = [_timeline(group.runs[0]) for group in groups]
    end_s = max(float(times[-1]) for times, _, _ in timelines) or 1.0
    tops = [1.1 * float(np.maximum(busy, capacity).max()) or 1.0 for _, busy, capacity in timelines]
    scale, unit = next((scale, unit) for least, scale, unit in _UNITS if end_s >= least)
    together = len(groups) <= _OVERLAID and len(set(tops)) == 1
    with _style():
        figure, panels = _panels(1) if together else _panels(len(groups), height=1.5)
        for i, (group, timeline) in enumerate(zip(groups, timelines, strict=True)):
            axes = panels[0 if together else i]
            looks = _look(i if together else 0) | {"marker": "", "linewidth": 1.1, "label": group.label}
            alone = len(groups) == 1 or not together
            _draw_busy(
                axes, timeline, end_s, scale, looks, bins=_BINS if together else _BINS // 2, band=alone
            )
            axes.set(xlim=(0, end_s / scale), ylim=(0, tops[i]))
            if not together:
                axes.set_title(group.label, fontsize=9, loc="left")
        if together:
            panels[0].set(xlabel=f"time ({unit})", ylabel=_BUSY)
            _legend(figure, panels[0])
        else:
            figure.supxlabel(f"time ({unit})", fontsize=9)
            figure.supylabel(_BUSY, fontsize=9)
        return figure


def rendered(figure: "Figure", kind: Literal["png", "svg"]) -> bytes:
    """Return a figure as the bytes of a file; equal figures give equal bytes."""
    data = io.BytesIO()
    with _style():
        if kind == "svg":
            figure.savefig(data, format="svg", metadata={"Date": None})
        else:
            figure.savefig(data, format="png", dpi=160)
    return data.getvalue()


def _style() -> "AbstractContextManager[None]":
    import matplotlib as mpl

    return mpl.rc_context(_STYLE)


def _panels(count: int, height: float = 3.6) -> "tuple[Figure, list[Axes]]":
    from matplotlib.figure import Figure

    columns = 1 if count == 1 else 2
    rows = -(-count // columns)
    figure = Figure(figsize=(7.0, 0.5 + height * rows), layout="constrained")
    panels = list(figure.subplots(rows, columns, sharex=True, squeeze=False).flat)
    for spare in panels[count:]:
        spare.set_axis_off()
    return figure, panels[:count]


def _looks(groups: Sequence[Replicates]) -> list[dict[str, Any]]:
    """Return a look for each group.

    If it fits, colour and marker stand for the first key that differs, and the dash for all others.
    """
    differing = [len(set(column)) > 1 for column in zip(*(group.values for group in groups), strict=True)]
    at = differing.index(True) if any(differing) else 0
    firsts = list(dict.fromkeys(group.values[at] for group in groups))
    others = list(dict.fromkeys(_without(group.values, at) for group in groups))
    if len(firsts) > len(_MARKERS) or not 1 < len(others) <= len(_DASHES):
        return [_look(i) for i in range(len(groups))]
    places = [(firsts.index(group.values[at]), others.index(_without(group.values, at))) for group in groups]
    return [_look(dash) | {"color": _COLOURS[first], "marker": _MARKERS[first]} for first, dash in places]


def _without(values: tuple[str, ...], at: int) -> tuple[str, ...]:
    return values[:at] + values[at + 1 :]


def _look(number: int) -> dict[str, Any]:
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "linestyle": _DASHES[number % len(_DASHES)],
        "linewidth": 1.4,
        "marker": _MARKERS[number // len(_DASHES) % len(_MARKERS)],
        "markersize": 3.5,
        "markevery": (0.03 + 0.01 * (number % 5), 0.12),
    }


def _log_time_axis(axes: "Axes", low: float, high: float) -> None:
    below = [at for at, _ in _FINE_TICKS if at <= low]
    above = [at for at, _ in _FINE_TICKS if at >= high]
    left, right = (below[-1] if below else low), (above[0] if above else high)
    inside = [tick for tick in _FINE_TICKS if left <= tick[0] <= right]
    if len(inside) > _MOST_TICKS:
        inside = [tick for tick in _COARSE_TICKS if left <= tick[0] <= right]
    axes.set_xscale("log")
    axes.set_xlim(left, right)
    axes.set_xticks([at for at, _ in inside], [text for _, text in inside])
    axes.set_xticks([], minor=True)


def _legend(figure: "Figure", axes: "Axes") -> None:
    handles, labels = axes.get_legend_handles_labels()
    most = max(1, min(4, 90 // (max(map(len, labels)) + 8)))
    columns = -(-len(labels) // -(-len(labels) // most))  # as few as fill the same number of rows
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=4, fontsize=8.5)


def _timeline(run: Run) -> _Timeline:
    times, busy, capacity = run.numbers("timeline", ["time_s", "busy_gpus", "capacity_gpus"])
    return (times, busy, capacity) if len(times) else (np.zeros(1), np.zeros(1), np.zeros(1))


def _draw_busy(
    axes: "Axes",
    timeline: _Timeline,
    end_s: float,
    scale: float,
    looks: dict[str, Any],
    *,
    bins: int,
    band: bool,
) -> None:
    times, busy, capacity = timeline
    x, y = times / scale, busy
    if len(times) > 2 * bins:
        # The bins of all lines are equally wide, and those of a short run are fewer.
        edges = np.linspace(0, times[-1], max(2, math.ceil(bins * times[-1] / end_s)) + 1)
        mean, least, most = (np.append(part, busy[-1]) for part in thin_steps(times, busy, edges))
        x, y = edges / scale, mean
        if band:
            axes.fill_between(x, least, most, step="post", alpha=0.3, linewidth=0, color=looks["color"])
    grey: dict[str, Any] = {"color": "#777777", "linewidth": 1.0, "linestyle": (0, (4, 3))}
    kept = np.append(np.flatnonzero(np.diff(capacity, prepend=np.nan)), len(times) - 1)
    axes.plot(times[kept] / scale, capacity[kept], drawstyle="steps-post", **grey)
    axes.plot(x, y, drawstyle="steps-post", **looks)
