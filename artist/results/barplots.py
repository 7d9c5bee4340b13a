"""Figures of shares: where time went, what jobs of each size waited for, where they were placed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from artist.results.digest import Digest
from artist.results.facets import facets, scenario_rows
from artist.results.jobcolumns import DEMANDS, PARTS, TIERS
from artist.results.looks import (
    HATCHES,
    SHADES,
    WIDTH_IN,
    columns,
    key_texts,
    label_rows,
    legend,
    log_time_axis,
    panels,
    style,
    time_unit,
    title,
    width_of,
)
from artist.results.measures import BY_NAME, estimate, number_texts
from artist.results.names import clip
from artist.results.scenarios import Contest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAR_IN = 0.24
_WHISKER: Any = {"color": "black", "linewidth": 1, "marker": "|", "markersize": 4}
_TIER_NAMES = ("in a machine", "in a rack", "over the network")
LEAST_OVERHEAD = 1e-4  # less is drawn there
_MOST_MODELS = 12
_HOURS_FROM_S = 5400  # as in the tables


def jct_parts(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> "Figure":
    """Draw the mean completion time of each row, split into where it went; rows of a scenario together."""
    values = np.nan_to_num(np.array([each.parts_s for each in digests]))
    totals = values.sum(axis=1)
    longest_s = float(totals.max())
    scale, unit = (3600, "hours") if longest_s >= _HOURS_FROM_S else time_unit(longest_s)
    used = drawn_parts(digests)
    with style():
        figure, (axes,) = _bar_panels(1, digests, contest, width_in)
        y = _stack(axes, digests, contest, values[:, used] / scale, [PARTS[i] for i in used], used)
        texts = number_texts([(float(total) or None, None) for total in totals], 1 / scale, "time")
        ends = []
        for at, total, each, (text, _) in zip(y, totals, digests, texts, strict=True):
            mean = estimate(BY_NAME["jct_mean_s"], [run.summary for run in each.group.runs])
            ends.append(max(float(total), mean.high or 0.0) / scale)
            if mean.low is not None and mean.high is not None:
                axes.plot([mean.low / scale, mean.high / scale], [at, at], **_WHISKER)
            axes.annotate(text, (ends[-1], at), (4, 0), textcoords="offset points", va="center", fontsize=8)
        axes.set_xlim(0, 1.12 * max(ends) or 1.0)
        axes.set_xlabel(f"mean over finished jobs ({unit})")
        _part_key(figure, axes, width_in)
        return figure


def drawn_parts(digests: Sequence[Digest]) -> list[int]:
    """Return which parts of the completion time are large enough to be seen in some row."""
    values = np.nan_to_num(np.array([each.parts_s for each in digests]))
    least = 1e-3 * values.sum(axis=1).max()
    return [i for i in range(len(PARTS)) if i < 3 or values[:, i].max() > least]


def placements_by_tier(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> "Figure":
    """Draw how many placements, and how many GPU-hours, lay in a machine, in a rack and over the network."""
    with style():
        figure, places = _bar_panels(2, digests, contest, width_in)
        pairs = (("placements", "placements"), ("tier_gpu_hours", "GPU-hours of jobs"))
        for axes, (name, label) in zip(places, pairs, strict=True):
            values = np.array([getattr(each, name) for each in digests])
            _stack(axes, digests, contest, values, _TIER_NAMES, (0, 3, 2))
            axes.set_xlabel(label)
            axes.locator_params(axis="x", nbins=5)
        if width_in == WIDTH_IN:
            places[1].set_yticklabels([])
        _part_key(figure, places[0], width_in)
        return figure


def jct_by_demand(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> "Figure":
    """Draw median and 95th percentile of the completion time of jobs that asked for so many GPUs."""
    layout = facets([each.group for each in digests], contest)
    there = np.flatnonzero(sum(each.by_demand[:, 0] for each in digests))
    both = [
        (column, f"{statistic}{', ' if name else ''}{name}", rows)
        for name, rows in layout.sets
        for column, statistic in ((1, "median"), (2, "p95"))
    ]
    values = np.concatenate([each.by_demand[:, 1:].ravel() for each in digests])
    values = values[values > 0]
    with style():
        height = 3.2 if len(both) == 2 else 2.3
        figure, places = panels(
            len(both), height, layout.texts,
            same_y=True, width_in=width_in, shared=False, most_columns=2,
        )  # fmt: skip
        lines: dict[int, Any] = {}
        for axes, (column, name, rows) in zip(places, both, strict=True):
            for row in rows:
                marker = {"marker": layout.points[row]["marker"], "markevery": None, "markersize": 4}
                times = digests[row].by_demand[there, column]
                (lines[row],) = axes.plot(range(len(there)), times, **layout.looks[row] | marker)
            axes.set_xticks(range(len(there)), [DEMANDS[i] for i in there])
            axes.set_title(clip(name, 48), fontsize=9, loc="left")
            if axes in places[-columns(places) :]:
                axes.set_xlabel("GPUs asked for")
            if len(values):
                log_time_axis(axes, float(values.min()), float(values.max()), along="y")
        label_rows(figure, "job completion time", layout.texts)
        legend(figure, layout.texts, [lines[row] for row in layout.examples])
        return figure


def overhead_by_model(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> "Figure":
    """Draw exposed communication over compute by model, a panel for each scenario and tier with such jobs."""
    layout = facets([each.group for each in digests], contest)
    found = [dict(each.overheads) for each in digests]
    tiers = [tier for tier in TIERS if any(tier == at for each in found for _, at in each)]
    models = sorted({model for each in found for model, _ in each})[:_MOST_MODELS]
    both = [(tier, name, rows) for name, rows in layout.sets for tier in tiers] or [("", "", ())]
    most = max(len(rows) for _, rows in layout.sets)
    with style():
        figure, places = panels(
            len(both), 0.5 + max(2, len(models)) * min(0.6, 0.12 + 0.05 * most), layout.texts,
            shared=False, same_y=True, width_in=width_in, most_columns=max(1, len(tiers)),
        )  # fmt: skip
        if not tiers:
            places[0].text(0.5, 0.5, "no job used several GPUs", ha="center", transform=places[0].transAxes)
        values = [100 * max(value, LEAST_OVERHEAD) for each in found for value in each.values()]
        for axes, (tier, name, rows) in zip(places, both, strict=True):
            for i, row in enumerate(rows):
                y = np.arange(len(models)) + 0.7 * ((i + 0.5) / len(rows) - 0.5)
                x = [found[row].get((model, tier), np.nan) for model in models]
                axes.plot(100 * np.maximum(x, LEAST_OVERHEAD), y, **layout.points[row])
            for edge in range(1, len(models)):
                axes.axhline(edge - 0.5, color="#dddddd", linewidth=0.6)
            if tier:
                _overhead_axes(axes, models, values, last=axes in places[-columns(places) :])
                told = f"{name}\n{_TIER_NAMES[TIERS.index(tier)]}" if name else _TIER_NAMES[TIERS.index(tier)]
                axes.set_title(told, fontsize=8.5, loc="left")
        legend(figure, layout.texts, [_dot(layout.points[row]) for row in layout.examples])
        return figure


def _overhead_axes(axes: "Axes", models: Sequence[str], values: Sequence[float], *, last: bool) -> None:
    axes.set_yticks(range(len(models)), [clip(model, 14) for model in models], fontsize=8)
    axes.set(xscale="log", ylim=(len(models) - 0.5, -0.5), xlim=(0.7 * min(values), 1.5 * max(values)))
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(lambda value, _: "")
    if last:
        axes.set_xlabel("communication / compute (%)")


def _dot(dot_look: dict[str, Any]) -> object:
    from matplotlib.lines import Line2D

    return Line2D([], [], **dot_look)


def _bar_panels(
    count: int, digests: Sequence[Digest], contest: Contest, width_in: float
) -> "tuple[Figure, list[Axes]]":
    texts = key_texts([each.group for each in digests])
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


def _stack(
    axes: "Axes",
    digests: Sequence[Digest],
    contest: Contest,
    values: npt.NDArray[np.float64],
    names: Sequence[str],
    shades: Sequence[int],
) -> list[float]:
    """Draw a bar a row of parts beside each other; return the place of each row."""
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
    axes.set_yticks(y, [each.group.letter or clip(title(each.group), room) for each in digests])
    axes.set_ylim(order[-1][1] + 0.6, -0.6)
    axes.grid(visible=False, axis="y")
    axes.set_axisbelow(True)
    return y


def _part_key(figure: "Figure", axes: "Axes", width_in: float) -> None:
    handles, names = axes.get_legend_handles_labels()
    figure.legend(
        handles, names, loc="outside upper left", ncols=6 if width_in == WIDTH_IN else 2, fontsize=8.5,
        handleheight=1.1,
    )  # fmt: skip
