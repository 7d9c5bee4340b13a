"""The figures of a cluster's pools over time, and of the machines returned to their own."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from artist.drawing.looks import AREAS, NEED, SHORT, pale, style
from artist.drawing.panels import MAX_STACKED, WIDTH_IN, label_rows
from artist.drawing.time_axis import time_unit
from artist.recording.names import RECLAIMED
from artist.report.figures.bars import SHADES, bar_panels, part_key, stack
from artist.report.figures.drawing import AVERAGED, Drawing, first, key_texts, of_scenario
from artist.report.figures.facets import chosen
from artist.report.figures.row_panels import Key, row_panels
from artist.report.figures.time_span import TimeSpan, on_cuts, time_span
from artist.results.digest import Digest
from artist.results.measures import number_texts
from artist.results.names import listed
from artist.results.pools import Pool, Pools, Returns, has_returns, have_pools, read_pools, read_returns
from artist.results.run import Run
from artist.results.scenarios import Contest
from artist.results.steps import Floats

_CAPTION = (
    "The GPUs of each pool over time, one pool above the other: GPUs that jobs hold in full "
    "colour, idle ones pale."
)
_NEEDED = (
    " Grey, from the top down: what {} needs for itself, the larger of the signal's present and "
    "next value, since use moves from one to the other meanwhile. White below the grey: machines "
    "of that pool that are neither needed nor on loan."
)
_SHORT = " Red: machines that it lacks; bars at the top mark these times."
_NEVER = " It never lacks a machine."
_SPANS = 240  # areas with more corners make large files
_BAR = (0.96, 0.03)  # bottom and height of the bar over times of shortage, in parts of the axis
Read = Mapping[int, Pools]


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figures, if some cluster has several pools, and machines of them were returned."""
    return [*_over_time(digests, contest), *_reclaim_drawings(digests, contest)]


def _over_time(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figure, if some cluster has several pools."""
    if not any(_has_pools(digest) for digest in digests):
        return []
    shown = chosen(digests, contest, _has_pools)
    read = {row: read_pools(digests[row].group.runs[0], _SPANS, digests[row].work_end_s) for row in shown}
    caption = _CAPTION + _on_need([pool for of_row in read.values() for pool in of_row.pools])
    caption += f"{AVERAGED}." * any(of_row.thinned for of_row in read.values())
    caption += on_cuts([time_span([digests[row] for row in shown])])
    caption += of_scenario(shown, contest) + first(digests)
    return [Drawing("pools", "Pools", caption, partial(pools_over_time, digests, read))]


def _has_pools(digest: Digest) -> bool:
    return have_pools(digest.group.runs[0])


def _on_need(pools: Sequence[Pool]) -> str:
    names = list(dict.fromkeys(spoken(pool.name) for pool in pools if pool.needed is not None))
    if not names:
        return ""
    return _NEEDED.format(listed(names)) + (_SHORT if any(map(_is_short, pools)) else _NEVER)


def _is_short(pool: Pool) -> bool:
    return pool.worst is not None and pool.worst.max() > 0


def spoken(name: str) -> str:
    """Return a pool's name as people write it."""
    return name.replace("_", " ")


def pools_over_time(digests: Sequence[Digest], read: Read, width_in: float = WIDTH_IN) -> Figure:
    """Draw the pools of each row above each other, a panel per row."""
    span = time_span([digests[row] for row in read])
    every = sorted(
        (pool for of_row in read.values() for pool in of_row.pools), key=lambda p: p.needed is not None
    )
    areas = dict(zip(dict.fromkeys(pool.name for pool in every), cycle(AREAS), strict=False))
    figure = row_panels(
        digests,
        read,
        lambda axes, of_row: _draw(axes, of_row, areas, span),
        Key(_key(read, areas), 3, 2),
        height_in=2.1,
        label=span.label,
        limits=span.limits,
        width_in=width_in,
        max_columns=1 if len(read) <= MAX_STACKED else None,
    )
    figure.supylabel("GPUs", fontsize=9)
    return figure


def _draw(axes: Axes, pools: Pools, areas: Mapping[str, str], span: TimeSpan) -> None:
    """Draw the pools of a run, the first one at the bottom."""
    span.mark(axes)
    x = pools.times_s / span.scale
    bottom = np.zeros(len(x))
    for pool in pools.pools:
        top = bottom + pool.gpus
        if pool.needed is None:
            _fill(axes, x, bottom + pool.held, top, pale(areas[pool.name]))
        else:
            _fill(axes, x, top - pool.needed, top, NEED)
        _fill(axes, x, bottom, bottom + pool.held, areas[pool.name])
        axes.plot(x, top, color="#555555", linewidth=0.8, drawstyle="steps-post")
        if pool.short is not None and pool.worst is not None:
            _fill(axes, x, bottom - pool.short, bottom, SHORT)
            missing = np.flatnonzero(pool.worst[:-1] > 0)
            spans = list(zip(x[missing], np.diff(x)[missing], strict=True))
            axes.broken_barh(spans, _BAR, color=SHORT, linewidth=0.8, transform=axes.get_xaxis_transform())
        bottom = top


def _fill(axes: Axes, x: Floats, low: Floats, high: Floats, colour: str) -> None:
    axes.fill_between(x, low, high, step="post", color=colour, linewidth=0)


def _key(read: Read, areas: Mapping[str, str]) -> list[Patch]:
    """Return the key to the areas."""
    pools = [pool for of_row in read.values() for pool in of_row.pools]
    key = []
    for name, colour in areas.items():
        name_of = [pool for pool in pools if pool.name == name]
        if any(pool.held.max() > 0 for pool in name_of):
            key.append(Patch(facecolor=colour, label=f"{spoken(name)}, in use by jobs"))
        if all(pool.needed is None for pool in name_of):
            key.append(Patch(facecolor=pale(colour), label=f"{spoken(name)}, idle"))
        else:
            key.append(Patch(facecolor=NEED, label=f"needed by {spoken(name)}"))
        if any(map(_is_short, name_of)):
            key.append(Patch(facecolor=SHORT, label=f"{spoken(name)} is short"))
    return key


_RETURNED = (
    "Machines on loan that went back to their pool, and the jobs that were preempted for it. "
    "Idle: no job was on the machine. Flexible: its jobs shrank or moved, and none was preempted."
)
_RETURNED_OVER_TIME = "Machines that went back by {}, and jobs that were preempted for it (dots)."
_CLEARED = ("idle", "flexible", "by preemption")
_SHADES = (6, 2, 0)
_BIN_WIDTHS = (
    (60.0, "minute"), (300.0, "5 minutes"), (3600.0, "hour"), (6 * 3600.0, "6 hours"), (86_400.0, "day"),
    (7 * 86_400.0, "week"), (28 * 86_400.0, "4 weeks"),
)  # fmt: skip
_MAX_BARS = 32
_DOTS: Any = {
    "color": "white", "linestyle": "none", "marker": "o", "markersize": 4.5, "markeredgecolor": "black",
}  # fmt: skip


def _reclaim_drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figures, if machines returned to their pools in some run."""
    if not any(_returns_some(digest) for digest in digests):
        return []
    figures = [Drawing("reclaims", "Machines returned", _RETURNED, partial(reclaims, digests, contest))]
    if not any(_has_return_times(digest) for digest in digests):
        return figures
    shown = chosen(digests, contest, _has_return_times)
    width_s, word = bin_width(max(digests[row].end_s for row in shown))
    read = {row: read_returns(digests[row].group.runs[0], width_s, digests[row].end_s) for row in shown}
    caption = _RETURNED_OVER_TIME.format(word) + of_scenario(shown, contest) + first(digests)
    draw = partial(reclaims_over_time, digests, read, width_s)
    return [*figures, Drawing("reclaims_over_time", "Machines returned over time", caption, draw)]


def _returns_some(digest: Digest) -> bool:
    return any(_reclaims_of(run).get("machines") for run in digest.group.runs)


def _reclaims_of(run: Run) -> dict[str, int]:
    """Return the counts of a summary; none where there is one pool."""
    return run.summary.get("reclaims") or {}


def _has_return_times(digest: Digest) -> bool:
    return _returns_some(digest) and has_returns(digest.group.runs[0])


def bin_width(end_s: float) -> tuple[float, str]:
    """Return a span of time, and its name, of which a run has as few as can be drawn beside each other."""
    return next((width for width in _BIN_WIDTHS if end_s <= _MAX_BARS * width[0]), _BIN_WIDTHS[-1])


def reclaims(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> Figure:
    """Draw returned machines, by how they were cleared, and jobs preempted for them, a bar per row."""
    counts = np.array([_counts(digest) for digest in digests])
    with style():
        figure, places = bar_panels(2, digests, contest, width_in)
        stack(places[0], digests, contest, counts[:, :3], _CLEARED, _SHADES)
        y = stack(places[1], digests, contest, counts[:, 3:], _CLEARED[2:], _SHADES[2:])
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
    counts = [_reclaims_of(run) for run in digest.group.runs]
    return [float(np.mean([entry.get(name, 0) for entry in counts])) for name in RECLAIMED]


def reclaims_over_time(
    digests: Sequence[Digest], read: Mapping[int, Returns], width_s: float, width_in: float = WIDTH_IN
) -> Figure:
    """Draw machines that were returned in each span of time, stacked by how, a panel per row."""
    end_s = max(digests[row].end_s for row in read) or 1.0
    scale, unit = time_unit(end_s)
    handles: list[Any] = [
        Patch(facecolor=SHADES[shade], edgecolor="#333333", lw=0.4, label=name)
        for name, shade in zip(_CLEARED, _SHADES, strict=True)
    ]
    figure = row_panels(
        digests,
        read,
        lambda axes, returns: _draw_returns(axes, returns, width_s / scale),
        Key([*handles, Line2D([], [], **_DOTS, label="jobs preempted")], 4, 2),
        height_in=1.9,
        label=f"time ({unit})",
        limits=(0, end_s / scale),
        width_in=width_in,
    )
    label_rows(figure, "machines, jobs", key_texts([digests[row].group for row in read]))
    return figure


def _draw_returns(axes: Axes, returns: Returns, width: float) -> None:
    x = width * (np.arange(len(returns.jobs)) + 0.5)
    bottom = np.zeros(len(x))
    for machines, shade in zip(returns.machines, _SHADES, strict=True):
        axes.bar(x, machines, 0.9 * width, bottom, color=SHADES[shade], edgecolor="#333333", linewidth=0.4)
        bottom += machines
    some = returns.jobs > 0
    axes.plot(x[some], returns.jobs[some], **_DOTS)
