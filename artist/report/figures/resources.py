"""The figures of the use of storage, CPUs, GPUs and network, and of the cluster's shares, over time."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from matplotlib.figure import Figure

from artist.drawing.looks import example_lines, style
from artist.drawing.panels import WIDTH_IN, label_columns, label_rows, legend, panels
from artist.recording.names import RESOURCES
from artist.report.figures.drawing import (
    AVERAGED,
    UNRECORDED,
    Drawing,
    first,
    group_texts,
    of_scenario,
    without_panel,
)
from artist.report.figures.facets import chosen, facets
from artist.report.figures.time_span import on_cuts, time_span
from artist.results.digest import SHARE_GAUGES, Digest, Gauge
from artist.results.scenarios import Contest

Gauges = Callable[[Digest], Mapping[str, Gauge]]  # by title; empty if nothing was recorded

_CAPTION = (
    "The part of all GPUs whose job uses each resource, over time; idle GPUs, and those of jobs "
    "that are starting or moving, use none."
)
_SHARES = (
    "The parts of the cluster's GPUs, CPUs and memory that jobs hold, and that they use, over "
    "time. GPUs are used while they compute; CPUs, as many as prepare input at the speed at which "
    "a job runs; memory, by its processes and caches."
)
_MIN_TOP = 1.0  # of an axis, so that a line of next to nothing is at the bottom
_SHARE_ORDER = ("gpus_held", "cpus_held", "memory_held", "gpus_used", "cpus_used", "memory_used")


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figures of recorded resources, each of the rows of one scenario."""
    figures_of: tuple[tuple[str, str, str, str, Gauges], ...] = (
        ("resources", "Resources in use", _CAPTION, "in use (% of the GPUs' time)", _uses),
        ("shares", "Shares of the cluster", _SHARES, "% of the cluster's", _shares),
    )
    figures = []
    for name, title, caption, label, gauges in figures_of:
        rows = _rows(digests, contest, gauges)
        if rows:
            read, empty = _without_empty({row: gauges(digests[row]) for row in rows})
            text = caption + without_panel(empty, "none of it is used")
            text += _of_rows(digests, rows, contest, gauges) + first(digests)
            draw = partial(in_panels, digests, contest, read, label)
            figures.append(Drawing(name, title, text, draw))
    return figures


def _without_empty(
    read: Mapping[int, Mapping[str, Gauge]],
) -> tuple[Mapping[int, Mapping[str, Gauge]], list[str]]:
    """Return the gauges without those that are 0 throughout, unless all are, and titles of the latter."""
    titles = list(next(iter(read.values())))
    empty = [name for name in titles if not any(gauges[name].mean.any() for gauges in read.values())]
    if len(empty) == len(titles):
        return read, []
    return {
        row: {name: gauges[name] for name in titles if name not in empty} for row, gauges in read.items()
    }, empty


def _uses(digest: Digest) -> Mapping[str, Gauge]:
    return {title: digest.gauges[name] for name, title in RESOURCES.items() if name in digest.gauges}


def _shares(digest: Digest) -> Mapping[str, Gauge]:
    return {SHARE_GAUGES[name]: digest.shares[name] for name in _SHARE_ORDER if digest.shares}


def _of_rows(digests: Sequence[Digest], rows: Sequence[int], contest: Contest, gauges: Gauges) -> str:
    thinned = any(gauge.thinned for row in rows for gauge in gauges(digests[row]).values())
    text = UNRECORDED * any(not gauges(digest) for digest in digests) + f"{AVERAGED}." * thinned
    text += on_cuts([time_span([digests[row] for row in rows])])
    recorded_rows = [r for r in contest.scenario_of(rows[0]).rows if r < len(digests) and gauges(digests[r])]
    return (
        text + of_scenario(rows, contest) + f" The first {len(rows)} rows." * (len(rows) < len(recorded_rows))
    )


def _rows(digests: Sequence[Digest], contest: Contest, gauges: Gauges) -> list[int]:
    """Return the rows to draw: those of one scenario whose runs recorded it, if any did."""
    recorded = any(gauges(digest) for digest in digests)
    return chosen(digests, contest, lambda digest: bool(gauges(digest))) if recorded else []


def in_panels(
    digests: Sequence[Digest],
    contest: Contest,
    read: Mapping[int, Mapping[str, Gauge]],
    label: str,
    width_in: float = WIDTH_IN,
    *,
    scale_y: float = 100.0,
    same_y: bool = True,
    max_columns: int | None = None,
) -> Figure:
    """Draw gauges, a panel per gauge and a line per row; of replicates, the first.

    Parameters
    ----------
    read
        Of each row that is drawn, by title.
    label, scale_y
        Label of the vertical axes, and the value of 1 there.
    same_y
        Whether the panels have the same vertical axis.
    max_columns
        As for `panels`.
    """
    layout = facets([digest.group for digest in digests], contest)
    texts = group_texts([digests[row].group for row in read])
    span = time_span([digests[row] for row in read])
    titles = list(next(iter(read.values())))
    with style():
        figure, places = panels(
            len(titles),
            2.2 if len(titles) < 4 else 1.7,
            texts,
            same_y=same_y,
            width_in=width_in,
            max_columns=max_columns,
        )
        for axes, title in zip(places, titles, strict=True):
            for row, gauges in read.items():
                gauge, row_look = gauges[title], layout.looks[row] | {"linewidth": 1.1}
                if gauge.thinned:  # means of spans, in their middle: five lines of steps cannot be read
                    middles = (gauge.times_s[:-1] + gauge.times_s[1:]) / 2
                    axes.plot(middles / span.scale, scale_y * gauge.mean[:-1], **row_look)
                else:
                    axes.plot(
                        gauge.times_s / span.scale, scale_y * gauge.mean, drawstyle="steps-post", **row_look
                    )
            axes.set_xlim(span.limits)
            span.mark(axes)
            axes.set_title(title, fontsize=9, loc="left")
        for axes in places[: 1 if same_y else None]:
            axes.set_ylim(0, max(_MIN_TOP, axes.get_ylim()[1]))
        label_columns(places, span.label)
        label_rows(figure, label, texts)
        legend(figure, texts, example_lines([layout.looks[row] for row in read]))
        return figure
