"""The figures of the cluster's gauges, and of the blocking index, over time."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from artist.drawing.looks import example_lines, look, style
from artist.drawing.panels import WIDTH_IN, columns, head, label_rows, legend, panels, wrapped_label
from artist.recording.names import BLOCKING
from artist.report.figures.drawing import (
    AVERAGED,
    UNRECORDED,
    Drawing,
    first,
    key_texts,
    title,
    without_panel,
)
from artist.report.figures.facets import MAX_PANELS, Facets, facets, only, without_idle
from artist.report.figures.time_span import TimeSpan, on_cuts, time_span
from artist.results.compare import Replicates
from artist.results.digest import Digest, Gauge
from artist.results.pools import have_pools
from artist.results.scenarios import Contest

_CAPACITY: dict[str, Any] = {"color": "#777777", "linewidth": 1.0, "linestyle": (0, (4, 3))}
_BUSY_OVERLAID = 4  # busy GPUs of more rows get a panel each
_OVERLAID = 6  # queues of more rows get a panel each
_TALL = 8  # more panels are in two columns on a phone too
_FAR = 20.0  # blocking indices above it, and rows of a panel farther apart, need a logarithmic scale
_ALIKE = 3.0  # spans of time, and greatest numbers, that differ by more do not share an axis
GAUGE_LABELS = {
    "busy_gpus": "busy GPUs",
    "queue_length": "waiting jobs",
    "unfinished_jobs": "unfinished jobs",
    BLOCKING: "blocking index (times)",
}
_CAPTIONS = {
    "busy_gpus": "The number of GPUs that jobs hold, over time. Dashed grey: all GPUs of the cluster.",
    "queue_length": "Jobs that wait, over time.",
    "unfinished_jobs": "Jobs that wait or run, over time.",
    BLOCKING: (
        "The time that a waiting job has waited so far, divided by the computing time that it still "
        "needs; the mean over waiting jobs, over time, 0 if none waits. Lower is better."
    ),
}
_ALL_POOLS = " All pools count, also machines that serve something else, such as inference."
_BAND = "; the light band reaches from the least to the greatest number in the span"
_LOG_ABOVE_1 = " The vertical scale is logarithmic above 1."
_AXES_DIFFER = " The vertical axes of the panels differ."


def drawing(digests: Sequence[Digest], gauge: str, contest: Contest) -> Drawing:
    """Return the figure of a gauge."""
    of_pools = gauge == "busy_gpus" and any(have_pools(digest.group.runs[0]) for digest in digests)
    caption = _CAPTIONS[gauge] + _ALL_POOLS * of_pools + _of_gauge(digests, gauge, contest) + first(digests)
    heading = GAUGE_LABELS[gauge][0].upper() + GAUGE_LABELS[gauge][1:].removesuffix(" (times)")
    return Drawing(gauge, heading, caption, partial(over_time, digests, gauge, contest))


def _of_gauge(digests: Sequence[Digest], name: str, contest: Contest) -> str:
    """Return the caption's sentences on a gauge's lines and panels."""
    layout, idle = gauge_panels(digests, name, contest)
    gauges = [gauge for digest in digests if (gauge := digest.gauges.get(name)) is not None]
    text = UNRECORDED * (len(gauges) < len(digests)) + without_panel(idle, "no job waited")
    tops = gauge_tops(digests, name, layout)
    text += on_cuts(_spans(digests, layout)[0])
    text += _LOG_ABOVE_1 * on_a_far_scale(digests, name, layout) + _AXES_DIFFER * (len(set(tops)) > 1)
    if any(gauge.thinned for gauge in gauges):
        text += AVERAGED + _BAND * have_band(digests, name, contest) + "."
    return text


def over_time(digests: Sequence[Digest], gauge: str, contest: Contest, width_in: float = WIDTH_IN) -> Figure:
    """Draw a gauge, or the blocking index, over time; of replicates, the first.

    Rows share a panel where they are distinguishable, and have one each otherwise; a panel has its own axis
    of time if spans are very different. Long runs are averaged over short spans of time, which keeps the
    area under the curve; where a line has its panel to itself, a light band shows the least and the
    greatest.
    """
    busy = gauge == "busy_gpus"
    layout, _ = gauge_panels(digests, gauge, contest)
    spans, shared = _spans(digests, layout)
    only = len(layout.sets) == 1
    tops = gauge_tops(digests, gauge, layout)
    far = on_a_far_scale(digests, gauge, layout)
    with style():
        figure, places = panels(
            len(layout.sets), 3.6 if only else 1.6 if shared else 1.9, layout.texts,
            shared=shared, same_y=len(set(tops)) == 1, width_in=width_in,
            min_columns=2 if len(layout.sets) > _TALL else 1,
        )  # fmt: skip
        for axes, (name, rows), span, top in zip(places, layout.sets, spans, tops, strict=True):
            for row in rows:
                alone = len(rows) == 1
                if busy and row == max(rows, key=lambda row: digests[row].end_s):
                    draw_gauge(axes, digests[row].gauges["capacity_gpus"], span.scale, _CAPACITY, band=False)
                row_look = layout.looks[row] | {"linewidth": 1.1} | ({"marker": ""} if alone else {})
                draw_gauge(axes, digests[row].gauges[gauge], span.scale, row_look, band=alone)
            axes.set(ylim=(0, 1.1 * top or 1.0), xlim=span.limits)
            span.mark(axes)
            if far:
                axes.set_yscale("symlog", linthresh=1)
                axes.set_ylim(0, 2 * max(top, 1.0))
                axes.yaxis.set_major_formatter("{x:g}")
            head(axes, name, places, width_in)
            if not shared or axes in places[-columns(places) :]:
                axes.set_xlabel(wrapped_label(span.label, places))
        label_rows(figure, GAUGE_LABELS[gauge], layout.texts)
        legend(
            figure, layout.texts, example_lines([layout.looks[row] for row in layout.examples], linewidth=1.1)
        )
        return figure


def _spans(digests: Sequence[Digest], layout: Facets) -> tuple[list[TimeSpan], bool]:
    """Return the span of time of each panel, and whether all share one: they are of one size."""
    spans = [time_span([digests[row] for row in rows]) for _, rows in layout.sets]
    if max(span.end_s for span in spans) > _ALIKE * min(span.end_s for span in spans):
        return spans, False
    drawn = {row for _, rows in layout.sets for row in rows}
    return [time_span([digests[row] for row in sorted(drawn)])] * len(spans), True


def gauge_panels(digests: Sequence[Digest], gauge: str, contest: Contest) -> tuple[Facets, tuple[str, ...]]:
    """Return the panels of a gauge over time, and the titles of those left out: no job waits there.

    Nothing is left out if no job waits at all.
    """
    groups = [digest.group for digest in digests]
    layout = facets(groups, contest)
    busy = gauge == "busy_gpus"
    lines_at_most = _BUSY_OVERLAID if busy else _OVERLAID
    ends_s = [time_span([digest]).end_s for digest in digests]
    falls = gauge == "unfinished_jobs"  # to nothing: a short line is seen beside a long one
    apart = max(ends_s) > _ALIKE * min(ends_s) and not falls and len(groups) <= MAX_PANELS
    if apart or max(len(rows) for _, rows in layout.sets) > lines_at_most:
        layout = _one_each(groups, contest)
    if busy and any(
        len({top_of(digests[row], "capacity_gpus") for row in rows}) > 1 for _, rows in layout.sets
    ):
        layout = _one_each(groups, contest)
    if gauge not in ("queue_length", BLOCKING):
        return layout, ()
    recorded = [gauge in digest.gauges for digest in digests]
    layout = only(layout, recorded)
    waits = [seen and top_of(digest, gauge) > 0 for digest, seen in zip(digests, recorded, strict=True)]
    return without_idle(layout, waits)


def gauge_tops(digests: Sequence[Digest], gauge: str, layout: Facets) -> list[float]:
    """Return the greatest number of each panel, capacity included where it is drawn.

    They are the same, for one axis, if they are of one size, or the scale shows all sizes.
    """
    shown = [gauge, *["capacity_gpus"] * (gauge == "busy_gpus")]
    far = on_a_far_scale(digests, gauge, layout)
    tops = [max(top_of(digests[row], name) for row in rows for name in shown) for _, rows in layout.sets]
    alike = max(tops) <= _ALIKE * min(tops) or far
    return [max(tops)] * len(tops) if alike else tops


def on_a_far_scale(digests: Sequence[Digest], gauge: str, layout: Facets) -> bool:
    """Return whether the scale is logarithmic above 1.

    So it is if ratios of times, or the greatest numbers of a panel's rows, differ by orders of magnitude.
    """
    tops = [[top_of(digests[row], gauge) for row in rows] for _, rows in layout.sets]
    if gauge == BLOCKING:
        return max(map(max, tops)) > _FAR
    return gauge != "busy_gpus" and any(max(top) > _FAR * max(min(top), 1.0) for top in tops)


def have_band(digests: Sequence[Digest], gauge: str, contest: Contest) -> bool:
    """Return whether some line over time has a band from least to greatest."""
    layout, _ = gauge_panels(digests, gauge, contest)
    return any(len(rows) == 1 and digests[rows[0]].gauges[gauge].thinned for _, rows in layout.sets)


def _one_each(groups: Sequence[Replicates], contest: Contest) -> Facets:
    """Return a panel per row; lines that need no dash and marker to differ keep their colour."""
    names = list(dict.fromkeys(contest.contenders))
    alone = {"linestyle": "-", "marker": ""}
    looks = tuple(look(names.index(contest.contenders[row])) | alone for row in range(len(groups)))
    sets = tuple((title(group), (row,)) for row, group in enumerate(groups))
    texts = tuple(key_texts(groups))
    return Facets(sets, looks, looks, texts, ())


def top_of(digest: Digest, gauge: str) -> float:
    """Return the greatest number of a gauge."""
    return float(digest.gauges[gauge].most.max())


def draw_gauge(axes: Axes, gauge: Gauge, scale: float, line_look: dict[str, Any], *, band: bool) -> None:
    """Draw a gauge, with its band if it is averaged; `scale` is the unit of time in seconds."""
    x = gauge.times_s / scale
    if band and gauge.thinned:
        axes.fill_between(
            x, gauge.least, gauge.most, step="post", alpha=0.3, linewidth=0, color=line_look["color"]
        )
    axes.plot(x, gauge.mean, drawstyle="steps-post", **line_look)
