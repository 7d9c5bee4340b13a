"""Figures over time: distributions of completion and queueing times, and the cluster's gauges."""

import io
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from artist.recording.names import BLOCKING
from artist.results.compare import Replicates
from artist.results.digest import LEAST_WAIT_S, Digest, Distribution, Gauge
from artist.results.facets import MOST_PANELS, Facets, facets, only
from artist.results.looks import (
    WIDTH_IN,
    columns,
    key_texts,
    label_rows,
    legend,
    log_time_axis,
    look,
    panels,
    points,
    style,
    time_unit,
    title,
)
from artist.results.names import clip
from artist.results.scenarios import Contest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BUSY_OVERLAID = 4  # busy GPUs of more rows get a panel each
_OVERLAID = 6  # queues of more rows get a panel each
_BARS = 30  # of a histogram
_TALL = 8  # more panels stand in two columns on a phone too
_FAR = 20.0  # blocking indices above it need a logarithmic scale
_ALIKE = 3.0  # spans of time, and greatest numbers, that differ by more do not share an axis
_LABELS = {
    "busy_gpus": "busy GPUs",
    "queue_length": "waiting jobs",
    "unfinished_jobs": "unfinished jobs",
    BLOCKING: "blocking index",
}

_TITLE: dict[str, Any] = {"fontsize": 9, "loc": "left"}
_TITLE_CHARS_PER_IN = 10


def jct_cdf(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> "Figure":
    """Draw the distribution of completion times, one line a row, replicates pooled.

    The fraction is of all jobs: a line that ends below 1 belongs to a run with unfinished jobs.
    """
    times = [each.jct for each in digests]
    layout = facets([each.group for each in digests], contest)
    return _cdf(layout, times, "job completion time", "no job has finished", width_in)


def queueing_cdf(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> "Figure":
    """Draw the distribution of waiting times over finished jobs; lines begin at those that did not wait."""
    times = [each.queueing for each in digests]
    layout, _ = queueing_panels(digests, contest)
    return _cdf(layout, times, "time in the queue", "no job has waited", width_in, LEAST_WAIT_S)


def jct_histogram(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> "Figure":
    """Draw how many of the jobs have which completion time, each row up to its 95th percentile."""
    layout = facets([each.group for each in digests], contest)
    ends_s = [_time_below(each.jct, 0.95) for each in digests]
    low_s = min((float(each.jct.times_s[0]) for each in digests if len(each.jct.times_s)), default=1.0)
    edges = np.geomspace(0.999 * low_s, 1.001 * max(*ends_s, 2 * low_s), _BARS + 1)
    with style():
        figure, places = panels(len(layout.sets), 2.6, layout.texts, same_y=True, width_in=width_in)
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
            axes.set_xlabel("job completion time" if axes in places[-columns(places) :] else "")
            axes.set_title(clip(name, int(_TITLE_CHARS_PER_IN * width_in / columns(places))), **_TITLE)
            log_time_axis(axes, low_s, float(edges[-1]), room=columns(places))
        places[0].set_ylim(bottom=0)  # they share it
        label_rows(figure, "fraction of jobs", layout.texts)
        legend(figure, layout.texts, _examples(layout, marker=""))
        return figure


def _time_below(jct: Distribution, part: float) -> float:
    """Return the time that this part of the jobs need at most; of all that have finished if fewer have."""
    if not len(jct.times_s):
        return 0.0
    return float(jct.times_s[min(int(np.searchsorted(jct.fractions, part)), len(jct.times_s) - 1)])


def over_time(
    digests: Sequence[Digest], gauge: str, contest: Contest, width_in: float = WIDTH_IN
) -> "Figure":
    """Draw a gauge, or the blocking index, over time; of replicates, the first.

    Rows share a panel where they can be told apart, and have one each otherwise; a panel has its own axis
    of time if spans are very different. Long runs are averaged over short spans of time, which keeps the
    area under the curve; where a line has its panel to itself, a light band shows the least and the
    greatest.
    """
    busy = gauge == "busy_gpus"
    ends_s = [each.end_s or 1.0 for each in digests]
    layout, _ = gauge_panels(digests, gauge, contest)
    spans_s = [max(ends_s[row] for row in rows) for _, rows in layout.sets]
    shared = max(spans_s) <= _ALIKE * min(spans_s)
    if shared:
        spans_s = [max(spans_s)] * len(spans_s)
    only = len(layout.sets) == 1
    tops = gauge_tops(digests, gauge, layout)
    far = on_a_far_scale(gauge, tops)
    with style():
        figure, places = panels(
            len(layout.sets), 3.6 if only else 1.6 if shared else 1.9, layout.texts,
            shared=shared, same_y=len(set(tops)) == 1, width_in=width_in,
            least_columns=2 if len(layout.sets) > _TALL else 1,
        )  # fmt: skip
        for axes, (name, rows), span_s, top in zip(places, layout.sets, spans_s, tops, strict=True):
            scale, unit = time_unit(span_s)
            for row in rows:
                alone = len(rows) == 1
                if busy and row == max(rows, key=ends_s.__getitem__):
                    _draw_capacity(axes, _of(digests[row], "capacity_gpus"), scale)
                row_look = layout.looks[row] | {"linewidth": 1.1} | ({"marker": ""} if alone else {})
                _draw(axes, _of(digests[row], gauge), scale, row_look, band=alone)
            axes.set(ylim=(0, 1.1 * top or 1.0), xlim=(0, span_s / scale))
            if far:
                axes.set_yscale("symlog", linthresh=1)
                axes.set_ylim(0, 2 * max(top, 1.0))
                axes.yaxis.set_major_formatter("{x:g}")
            axes.set_title(clip(name, int(_TITLE_CHARS_PER_IN * width_in / columns(places))), **_TITLE)
            if not shared or axes in places[-columns(places) :]:
                axes.set_xlabel(f"time ({unit})")
        if only:
            places[0].set_ylabel(_LABELS[gauge])
        else:
            label_rows(figure, _LABELS[gauge], layout.texts)
        legend(figure, layout.texts, _examples(layout, linewidth=1.1))
        return figure


def gauge_panels(digests: Sequence[Digest], gauge: str, contest: Contest) -> tuple[Facets, tuple[str, ...]]:
    """Return the panels of a gauge over time, and the titles of those left out as nobody waits in them.

    Nothing is left out if nobody waits at all.
    """
    groups = [each.group for each in digests]
    layout = facets(groups, contest)
    busy = gauge == "busy_gpus"
    lines_at_most = _BUSY_OVERLAID if busy else _OVERLAID
    ends_s = [each.end_s or 1.0 for each in digests]
    falls = gauge == "unfinished_jobs"  # to nothing: a short line is seen beside a long one
    apart = max(ends_s) > _ALIKE * min(ends_s) and not falls and len(groups) <= MOST_PANELS
    if apart or max(len(rows) for _, rows in layout.sets) > lines_at_most:
        layout = _one_each(groups)
    if busy and any(
        len({_top(digests[row], "capacity_gpus") for row in rows}) > 1 for _, rows in layout.sets
    ):
        layout = _one_each(groups)
    if gauge not in ("queue_length", BLOCKING):
        return layout, ()
    recorded = [each.gauge(gauge) is not None for each in digests]
    layout = only(layout, recorded)
    waits = [seen and _top(each, gauge) > 0 for each, seen in zip(digests, recorded, strict=True)]
    return without_idle(layout, waits)


def without_idle(layout: Facets, waits: Sequence[bool]) -> tuple[Facets, tuple[str, ...]]:
    """Leave out panels in which nothing is to be seen, and return their titles; not if that were all.

    Parameters
    ----------
    waits
        Of each row, whether there is something to be seen.
    """
    kept = tuple((name, rows) for name, rows in layout.sets if any(waits[row] for row in rows))
    if not kept:
        return layout, ()
    return replace(layout, sets=kept), tuple(name for name, rows in layout.sets if (name, rows) not in kept)


def queueing_panels(digests: Sequence[Digest], contest: Contest) -> tuple[Facets, tuple[str, ...]]:
    """Return the panels of waiting times, and the titles of those left out as nobody waits in them."""
    layout = facets([each.group for each in digests], contest)
    return without_idle(layout, [len(each.queueing.times_s) > 0 for each in digests])


def gauge_tops(digests: Sequence[Digest], gauge: str, layout: Facets) -> list[float]:
    """Return the greatest number of each panel, capacity included where it is drawn.

    They are the same, for one axis, if they are of one size, or the scale shows all sizes.
    """
    shown = [gauge, *["capacity_gpus"] * (gauge == "busy_gpus")]
    tops = [max(_top(digests[row], name) for row in rows for name in shown) for _, rows in layout.sets]
    alike = max(tops) <= _ALIKE * min(tops) or on_a_far_scale(gauge, tops)
    return [max(tops)] * len(tops) if alike else tops


def on_a_far_scale(gauge: str, tops: Sequence[float]) -> bool:
    """Return whether the scale is logarithmic above 1: ratios of times differ by orders of magnitude."""
    return gauge == BLOCKING and max(tops) > _FAR


def have_band(digests: Sequence[Digest], gauge: str, contest: Contest) -> bool:
    """Return whether some line over time lies in a band from least to greatest."""
    layout, _ = gauge_panels(digests, gauge, contest)
    return any(len(rows) == 1 and _of(digests[rows[0]], gauge).thinned for _, rows in layout.sets)


def rendered(figure: "Figure", kind: Literal["png", "svg"], *, outlines: bool = True) -> bytes:
    """Return a figure as the bytes of a file; equal figures give equal bytes.

    Parameters
    ----------
    outlines
        Whether letters of an SVG are drawn; otherwise they are text in the reader's font, which is smaller.
    """
    import matplotlib as mpl

    data = io.BytesIO()
    letters: Any = {"svg.fonttype": "path" if outlines else "none"}
    with style(), mpl.rc_context(letters), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font lacks is drawn as a box; nobody need be told
        if kind == "svg":
            figure.savefig(data, format="svg", metadata={"Date": None})
        else:
            figure.savefig(data, format="png", dpi=160)
    return data.getvalue()


def _cdf(
    layout: Facets,
    distributions: Sequence[Distribution],
    label: str,
    nothing: str,
    width_in: float,
    least_s: float = 0.0,
) -> "Figure":
    drawn = [each for each in distributions if len(each.times_s)]
    low = max(least_s, min((float(each.times_s[0]) for each in drawn), default=0.0))
    high = max((float(each.times_s[-1]) for each in drawn), default=0.0)
    only = len(layout.sets) == 1
    height = 2.6 if not only else 4.2 if width_in == WIDTH_IN else 3.4
    with style():
        figure, places = panels(len(layout.sets), height, layout.texts, same_y=True, width_in=width_in)
        for axes, (name, rows) in zip(places, layout.sets, strict=True):
            for row in rows:
                each = distributions[row]
                x, y = each.times_s, each.fractions
                if least_s:
                    x = np.concatenate([[low], x, [high]])  # what has not waited is at the left edge
                    y = np.concatenate([[each.below], y, [y[-1] if len(y) else each.below]])
                elif len(x):
                    x, y = np.insert(x, 0, x[0]), np.insert(y, 0, 0.0)
                axes.plot(x, y, drawstyle="steps-post", **layout.looks[row])
            axes.set(ylim=(0, 1.01), xlabel=label if axes in places[-columns(places) :] else "")
            axes.set_title(clip(name, int(_TITLE_CHARS_PER_IN * width_in / columns(places))), **_TITLE)
            if drawn:
                log_time_axis(axes, low, high, room=columns(places))
            else:
                axes.text(0.5, 0.5, nothing, ha="center", transform=axes.transAxes)
                axes.set_xticks([])
        if only:
            places[0].set_ylabel("fraction of jobs")
        else:
            label_rows(figure, "fraction of jobs", layout.texts)
        legend(figure, layout.texts, _examples(layout))
        return figure


def _examples(layout: Facets, **more: Any) -> list[Any]:
    """Return a line for each entry of the legend."""
    from matplotlib.lines import Line2D

    kept = [
        {name: value for name, value in layout.looks[row].items() if name != "markevery"}
        for row in layout.examples
    ]
    return [Line2D([], [], **(row_look | more)) for row_look in kept]


def _one_each(groups: Sequence[Replicates]) -> Facets:
    sets = tuple((title(group), (row,)) for row, group in enumerate(groups))
    texts = tuple(key_texts(groups))
    return Facets(sets, (look(0),) * len(groups), (points(0),) * len(groups), texts, ())


def _of(digest: Digest, name: str) -> Gauge:
    gauge = digest.gauge(name)
    assert gauge is not None  # rows without it are not drawn
    return gauge


def _top(digest: Digest, gauge: str) -> float:
    return float(_of(digest, gauge).most.max())


def _draw(axes: "Axes", gauge: Gauge, scale: float, line_look: dict[str, Any], *, band: bool) -> None:
    x = gauge.times_s / scale
    if band and gauge.thinned:
        axes.fill_between(
            x, gauge.least, gauge.most, step="post", alpha=0.3, linewidth=0, color=line_look["color"]
        )
    axes.plot(x, gauge.mean, drawstyle="steps-post", **line_look)


def _draw_capacity(axes: "Axes", gauge: Gauge, scale: float) -> None:
    grey: dict[str, Any] = {"color": "#777777", "linewidth": 1.0, "linestyle": (0, (4, 3))}
    axes.plot(gauge.times_s / scale, gauge.mean, drawstyle="steps-post", **grey)
