"""Plots of runs, as on the page of `artist-report`, on axes of your own: for notebooks and papers.

Each function takes a `Sweep` or `Run`s, and axes of matplotlib, by default those of a new figure, and returns
the axes. A line, or a dot, is a row of the comparison: runs that are equal but for the seed. `labels` gives
names of your own to words in the rows' names: `{"fairnet": "FairNet"}`.

Examples
--------
>>> import artist
>>> from artist import plot
>>> runs = artist.sweep(["policy=fifo,srtf", "workload.jobs=50", "workload.load=1.2"])  # doctest: +SKIP
>>> axes = plot.cdf(runs)  # doctest: +SKIP
>>> axes.figure.savefig("cdf.pdf")  # doctest: +SKIP
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from artist.drawing.looks import example_lines, look, style
from artist.drawing.render import rendered
from artist.drawing.time_axis import log_time_axis
from artist.report.figures.distributions import cdf_line
from artist.report.figures.glance import mean_dots
from artist.report.figures.over_time import GAUGE_LABELS, draw_gauge
from artist.report.figures.time_span import time_span
from artist.results.compare import Comparison, compare
from artist.results.digest import MIN_WAIT_S, Digest, digest
from artist.results.run import Run
from artist.results.scenarios import contest
from artist.results.sweep import Sweep

Runs = Sweep | Run | Iterable[Run]
Labels = Mapping[str, str]
__all__ = ["cdf", "means", "over_time"]


def cdf(
    runs: Runs,
    axes: Axes | None = None,
    *,
    times: Literal["completion", "queueing"] = "completion",
    labels: Labels | None = None,
) -> Axes:
    """Draw the fraction of jobs by completion time, or by time in the queue; seeds of a row are pooled.

    Completion times count all submitted jobs: a line ends below 1 if some are unfinished. Times in the queue
    are of finished jobs, from 1 s on.
    """
    digests = _digests(runs)
    waits = times == "queueing"
    lines = [of.queueing if waits else of.jct for of in digests]
    low = max(
        MIN_WAIT_S * waits, min((float(line.times_s[0]) for line in lines if len(line.times_s)), default=1.0)
    )
    high = max((float(line.times_s[-1]) for line in lines if len(line.times_s)), default=2 * low)
    with style():
        axes = _axes(axes)
        for number, line in enumerate(lines):
            cdf_line(axes, line, look(number), (low, high) if waits else None)
        axes.set(ylim=(0, 1.01), ylabel="fraction of jobs")
        axes.set_xlabel("time in the queue" if waits else "job completion time")
        log_time_axis(axes, low, high)
        _legend(axes, digests, labels)
    return axes


def over_time(
    runs: Runs, axes: Axes | None = None, *, gauge: str = "queue_length", labels: Labels | None = None
) -> Axes:
    """Draw a gauge over time: `queue_length`, `unfinished_jobs` or `busy_gpus`, of each row's first seed.

    Raises
    ------
    ValueError
        If there is no such gauge.
    """
    if gauge not in GAUGE_LABELS:
        raise ValueError(f"no such gauge: {gauge!r}; there are {', '.join(GAUGE_LABELS)}")
    digests = _digests(runs)
    span = time_span(digests)
    with style():
        axes = _axes(axes)
        for number, of in enumerate(digests):
            if gauge in of.gauges:
                draw_gauge(axes, of.gauges[gauge], span.scale, look(number) | {"linewidth": 1.1}, band=False)
        axes.set(xlim=span.limits, xlabel=span.label, ylabel=GAUGE_LABELS[gauge])
        span.mark(axes)
        axes.set_ylim(bottom=0)
        _legend(axes, digests, labels)
    return axes


def means(runs: Runs, axes: Axes | None = None, *, labels: Labels | None = None) -> Axes:
    """Draw the mean completion time of each row as a dot; from three seeds on, with its 95 % interval."""
    comparison = _comparison(runs)
    with style():
        axes = mean_dots(_axes(axes), comparison.groups, contest(comparison))
        axes.set_yticklabels([_labelled(text.get_text(), labels) for text in axes.get_yticklabels()])
    return axes


PANELS: dict[str, Callable[..., Axes]] = {
    "cdf": cdf,
    "queueing": partial(cdf, times="queueing"),
    "queue": over_time,
    "unfinished": partial(over_time, gauge="unfinished_jobs"),
    "gpus": partial(over_time, gauge="busy_gpus"),
    "means": means,
}
"""The plots by the name that `artist-report --panel` takes."""


def panel(
    name: str, runs: Runs, size_in: tuple[float, float], labels: Labels, kind: Literal["pdf", "svg", "png"]
) -> bytes:
    """Return a plot of `PANELS` as the bytes of a file."""
    with style():
        figure = Figure(figsize=size_in, layout="constrained")
        axes = figure.subplots()
    PANELS[name](runs, axes, labels=labels)
    return rendered(figure, kind)


def _comparison(runs: Runs) -> Comparison:
    many = runs.runs if isinstance(runs, Sweep) else [runs] if isinstance(runs, Run) else list(runs)
    if not many:
        raise ValueError("no runs to draw")
    return compare(many)


def _digests(runs: Runs) -> list[Digest]:
    return [digest(group) for group in _comparison(runs).groups]


def _axes(axes: Axes | None) -> Axes:
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def _legend(axes: Axes, digests: Sequence[Digest], labels: Labels | None) -> None:
    names = [_labelled(of.group.label, labels) for of in digests]
    axes.legend(example_lines([look(number) for number in range(len(names))]), names, fontsize="small")


def _labelled(text: str, labels: Labels | None) -> str:
    """Return a row's name with the user's words.

    >>> [_labelled(name, {"mine": "FairNet"}) for name in ("mine, 4 racks", "mine2")]
    ['FairNet, 4 racks', 'mine2']
    """
    for name, label in (labels or {}).items():
        text = re.sub(_word(name), label.replace("\\", r"\\"), text)
    return text


def has_word(text: str, name: str) -> bool:
    """Return whether `labels` would rename something in a row's name."""
    return re.search(_word(name), text) is not None


def _word(name: str) -> str:
    return rf"(?<!\w){re.escape(name)}(?!\w)"
