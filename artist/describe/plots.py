"""Figures of descriptions: small panels for workloads, and demand over time and by hour."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from artist.core.waiting import Floats
from artist.describe.demand import DemandSeries
from artist.describe.statistics import Description
from artist.describe.structure import DAY_S
from artist.drawing.looks import look, style
from artist.drawing.panels import WIDTH_IN
from artist.drawing.time_axis import log_time_axis, time_unit
from artist.errors import InputError
from artist.tables.grid import clip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_WORKLOADS, MAX_SERIES = 7, 8
_POINTS = 600
_NAME_CHARS = 60


def description_figure(descriptions: Sequence[Description]) -> "Figure":
    """Draw workloads in four panels: GPUs, durations, arrivals by hour, load over time.

    Raises
    ------
    InputError
        If there are too many workloads to distinguish.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    if len(descriptions) > MAX_WORKLOADS:
        what = f"{len(descriptions)} workloads cannot be told apart in one figure"
        raise InputError(what, where="plot", allowed=f"up to {MAX_WORKLOADS}")
    looks = [look(i) | {"marker": "", "linestyle": "-"} for i in range(len(descriptions))]
    with style():
        legend_in = 0.2 * (len(descriptions) + 1)
        waited = any(d.waits is not None for d in descriptions)
        figure = Figure(figsize=(WIDTH_IN, 5.6 + 2.8 * waited + legend_in), layout="constrained")
        panels: Any = figure.subplots(2 + waited, 2)
        jobs = [(d.name, d.jobs, d.gpu_h, d.span_s) for d in descriptions]
        once = [i for i, row in enumerate(jobs) if row not in jobs[:i]]  # not again for another cluster
        for axes, draw in zip(panels.flat, (_sizes, _durations, _hours), strict=False):
            draw(axes, [descriptions[i] for i in once], [looks[i] for i in once])
        _load(panels[1, 1], descriptions, looks)
        if waited:
            _seen(panels[2], descriptions, looks)
        handles = [Line2D([], [], color=line_look["color"], linewidth=5) for line_look in looks]
        labels = [f"{clip(d.name, _NAME_CHARS)}:{_words(d)}" for d in descriptions]
        figure.legend(handles, labels, loc="outside lower center", handlelength=1.2, fontsize=8.5)
    return figure


def _words(d: Description) -> str:
    case = f" {d.case}:" * bool(d.case)
    load = "all at once" if d.over_time is None else f"load {d.load:.2f} of {d.cluster_gpus:,} GPUs"
    return f"{case} {d.jobs:,} jobs, {d.gpu_h:,.0f} GPU-hours, {load}"


def _sizes(axes: "Axes", descriptions: Sequence[Description], looks: Sequence[dict[str, Any]]) -> None:
    """Draw bars of jobs and, beside each, hatched, of GPU time."""
    shown = [
        i for i, _ in enumerate(descriptions[0].sizes) if i or any(d.sizes[0].jobs for d in descriptions)
    ]
    width = 0.84 / (2 * len(descriptions))
    for place, (d, line_look) in enumerate(zip(descriptions, looks, strict=True)):
        for part, field in enumerate(("of_jobs", "of_gpu_time")):
            offset = (2 * place + part + 0.5) * width - 0.42
            heights = [100 * getattr(d.sizes[i], field) for i in shown]
            at = np.arange(len(shown)) + offset
            fill = (
                {"facecolor": "white", "edgecolor": line_look["color"]}
                if part
                else {"color": line_look["color"]}
            )
            hatch = "" if not part else "////" if len(descriptions) < 3 else "//////"
            axes.bar(at, heights, width * 0.94, hatch=hatch, linewidth=0.6, **fill)
    axes.set_xticks(range(len(shown)), [descriptions[0].sizes[i].name for i in shown])
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")
    axes.set(xlabel="GPUs of a job", ylabel="share (%)")
    _title(axes, "GPU demand (filled: jobs; hatched: GPU time)")


def _durations(axes: "Axes", descriptions: Sequence[Description], looks: Sequence[dict[str, Any]]) -> None:
    lows, highs = [], []
    for d, line_look in zip(descriptions, looks, strict=True):
        if not len(d.durations_s):
            continue
        order = np.argsort(d.durations_s, kind="stable")
        times_s = d.durations_s[order]
        weights = d.gpu_time_s[order]
        jobs = np.arange(1, len(times_s) + 1) / len(times_s)
        for fractions, dash in ((jobs, "-"), (np.cumsum(weights) / weights.sum(), (0, (4, 1.5)))):
            x, y = _thinned(times_s, fractions)
            axes.plot(x, y, drawstyle="steps-post", **(line_look | {"linestyle": dash}))
        lows.append(float(times_s[0]))
        highs.append(float(times_s[-1]))
    if lows:
        log_time_axis(axes, max(min(lows), 0.1), 1.2 * max(highs))
        axes.tick_params(axis="x", rotation=30)
    axes.set(xlabel="run time without waiting", ylabel="fraction", ylim=(0, 1.01))
    _title(axes, "Durations (line: of jobs; dashed: of GPU time)")


def _thinned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return at most some hundred points of a distribution, with its first step."""
    last = np.append(x[1:] != x[:-1], True)
    x, y = x[last], y[last]
    if len(x) > _POINTS:
        kept = np.unique(
            np.searchsorted(x, np.geomspace(max(x[0], 1e-3), x[-1], _POINTS)).clip(0, len(x) - 1)
        )
        x, y = x[kept], y[kept]
    return np.insert(x, 0, x[0]), np.insert(y, 0, 0.0)


def _hours(axes: "Axes", descriptions: Sequence[Description], looks: Sequence[dict[str, Any]]) -> None:
    undated = [d.first_date is None for d in descriptions]
    for d, line_look in zip(descriptions, looks, strict=True):
        heights = [100 * share for share in d.by_hour]
        if len(descriptions) == 1:
            axes.bar(np.arange(24) + 0.5, heights, 0.86, color=line_look["color"])
        else:
            dash = (0, (4, 1.5)) if d.first_date is None else "-"
            axes.stairs(
                heights, np.arange(25), color=line_look["color"], linewidth=1.4, linestyle=dash, baseline=None
            )
    axes.axhline(100 / 24, color="#777777", linewidth=0.8, linestyle=(0, (1, 2)))
    axes.set_xticks(range(0, 25, 3))
    what = "hour after the first arrival, mod 24" if all(undated) else "hour of the day"
    if any(undated) and not all(undated):
        what += " (dashed: after the first arrival; no dates)"
    axes.set(xlabel=what, ylabel="jobs (%)", xlim=(0, 24), ylim=(0, None))
    _title(axes, "Arrivals by hour (dotted: even)")


def _load(axes: "Axes", descriptions: Sequence[Description], looks: Sequence[dict[str, Any]]) -> None:
    """Draw the load that arrives in each step as stairs, and the use if nothing waited."""
    known = [
        (d, line_look) for d, line_look in zip(descriptions, looks, strict=True) if d.over_time is not None
    ]
    shaded = len(known) < 3
    _title(axes, f"Load over time ({'shade: arriving; line: ' * shaded}if none waited)")
    if not known:
        axes.text(0.5, 0.5, "all jobs arrive at once", ha="center", transform=axes.transAxes)
        axes.set_axis_off()
        return
    scale, unit = time_unit(max(d.span_s for d, _ in known))
    top = 0.0
    for d, line_look in known:
        series = d.over_time
        assert series is not None
        edges = series.edges_s / scale
        if shaded:
            axes.stairs(series.arriving, edges, color=line_look["color"], fill=True, alpha=0.28, linewidth=0)
            usual = float(np.percentile(series.arriving, 98))
            top = max(top, min(float(series.arriving.max()), 2 * usual))  # one giant job may stand out above
        middles = (edges[1:] + edges[:-1]) / 2
        axes.plot(middles, series.in_use, color=line_look["color"], linewidth=1.4)
        top = max(top, float(series.in_use.max()))
    axes.axhline(1.0, color="#777777", linewidth=0.9, linestyle=(0, (4, 2)))
    axes.set(xlabel=f"time ({unit})", ylabel="load (1: all GPUs of the cluster)")
    axes.set(xlim=(0, max(d.span_s for d, _ in known) / scale), ylim=(0, 1.08 * max(top, 1.0)))


def _seen(
    panels: Sequence["Axes"], descriptions: Sequence[Description], looks: Sequence[dict[str, Any]]
) -> None:
    """Draw waiting jobs and busy GPUs of the sites, means by hour."""
    pairs = zip((d.waits for d in descriptions), looks, strict=True)
    shown = [(waits, line_look["color"]) for waits, line_look in pairs if waits is not None]
    scale, unit = time_unit(max(float(waits.edges_s[-1]) for waits, _ in shown))
    for axes, name, label in zip(panels, ("waiting", "busy"), ("waiting jobs", "busy GPUs"), strict=True):
        for waits, color in shown:
            axes.stairs(getattr(waits, name), waits.edges_s / scale, color=color, baseline=None)
        axes.set(xlabel=f"time ({unit})", ylabel=label, xlim=(0, None), ylim=(0, None))
        _title(axes, f"{label[0].upper()}{label[1:]} on the site, by hour")


def demand_figure(series: Sequence[DemandSeries]) -> "Figure":
    """Draw demand over time, and by hour of the day with the range of the days, one row per series.

    Raises
    ------
    InputError
        If there are more series than rows.
    """
    from matplotlib.figure import Figure

    if len(series) > MAX_SERIES:
        what = f"{len(series)} series do not fit one figure"
        raise InputError(what, where="plot", allowed=f"up to {MAX_SERIES}")
    with style():
        figure = Figure(figsize=(WIDTH_IN, 0.4 + 2.5 * len(series)), layout="constrained")
        panels: Any = figure.subplots(len(series), 2, squeeze=False, width_ratios=(2, 1), sharey="row")
        for row, demand in zip(panels, series, strict=True):
            _over_time(row[0], demand)
            _by_hour(row[1], demand)
    return figure


def _over_time(axes: "Axes", series: DemandSeries) -> None:
    edges = (series.start_s + series.step_s * np.arange(len(series.gpus) + 1)) / DAY_S
    axes.stairs(series.gpus, edges, color=look(0)["color"], linewidth=0.9, baseline=None)
    mean = float(series.gpus.mean())
    axes.axhline(mean, color="#777777", linewidth=0.9, linestyle=(0, (4, 2)))
    day = "days after the start" if series.date is None else f"days after {series.date:%Y-%m-%d}"
    axes.set(xlabel=day, ylabel="GPUs", xlim=(edges[0], edges[-1]), ylim=(0, None))
    _title(axes, f"{clip(series.name, _NAME_CHARS)} (dashed: mean)")


def _by_hour(axes: "Axes", series: DemandSeries) -> None:
    hours = (series.times_s // 3600).astype(np.int64) % 24
    present = [hour for hour in range(24) if (hours == hour).any()]
    groups = [series.gpus[hours == hour] for hour in present]
    at = np.array(present) + 0.5
    low, high = ([float(np.percentile(group, q)) for group in groups] for q in (10, 90))
    axes.fill_between(at, low, high, color=look(0)["color"], alpha=0.25, linewidth=0)
    axes.plot(at, [float(group.mean()) for group in groups], color=look(0)["color"], linewidth=1.4)
    axes.set_xticks(range(0, 25, 6))
    what = "hour from the start, mod 24" if series.date is None else "hour of the day"
    axes.set(xlabel=what, xlim=(0, 24))
    _title(axes, "By hour (mean; shade: p10 to p90)")


def _title(axes: "Axes", text: str) -> None:
    axes.set_axisbelow(True)
    axes.set_title(text, fontsize=9, loc="left")
