"""The figures of elastic jobs: numbers at their least and most GPUs, and each job's GPUs."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from artist.drawing.panels import WIDTH_IN
from artist.drawing.time_axis import time_unit
from artist.report.figures.bars import SHADES
from artist.report.figures.drawing import AVERAGED, Drawing, first, of_scenario
from artist.report.figures.facets import chosen
from artist.report.figures.row_panels import Key, row_panels
from artist.results.digest import Digest, Gauge, gauge_of_steps
from artist.results.elastic import LEVELS, Elastic, have_elastic, read_elastic
from artist.results.scenarios import Contest
from artist.tables.grid import clip

Rows = Mapping[int, Elastic]

_SPANS = 240  # areas with more corners make large files
_MAX_JOBS = 40  # with a line each
_LEVELS = (
    "Running elastic jobs, over time: those that hold as few GPUs as they can run with, those "
    "that hold as many as they can use, and those in between. Above a panel: the parts of their "
    "running time."
)
_JOBS = (
    "The GPUs of each elastic job over time, jobs in order of arrival. A band is as high as the "
    "most GPUs that the job can use; the part that it holds is filled, dark up to the fewest with "
    "which it runs and light above. A thin line lasts from submission to finish; where nothing "
    "stands on it, the job waits."
)
_WORTHS = " Several smaller GPUs that replace one of the cluster's own count as one."
_COLOURS = (SHADES[0], SHADES[1], SHADES[2])  # by LEVELS


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figures, where jobs are elastic; reads the events of a few runs."""
    if not any(_are_elastic(digest) for digest in digests):
        return []
    shown = chosen(digests, contest, _are_elastic)
    read = {row: read_elastic(digests[row].group.runs[0]) for row in shown}
    counts = {row: _counts(digests[row], elastic) for row, elastic in read.items()}
    more = of_scenario(shown, contest) + first(digests)
    averaged = f"{AVERAGED}." * any(gauge.thinned for gauges in counts.values() for gauge in gauges)
    levels = partial(levels_over_time, digests, read, counts)
    figures = [Drawing("elastic_jobs", "Elastic jobs", _LEVELS + averaged + more, levels)]
    few = {row: elastic for row, elastic in read.items() if 0 < len(elastic.jobs) <= _MAX_JOBS}
    if few:
        caption = _JOBS + _WORTHS + more
        lines = partial(job_by_job, digests, few)
        figures.append(Drawing("elastic_job_gpus", "GPUs of each elastic job", caption, lines))
    return figures


def _are_elastic(digest: Digest) -> bool:
    return have_elastic(digest.group.runs[:1])


def _counts(digest: Digest, elastic: Elastic) -> list[Gauge]:
    """Return the numbers of jobs that run at the first levels, cumulated so that they can be stacked."""
    times, running = elastic.running()
    times, running = np.append(times, digest.end_s), np.pad(running, ((0, 0), (0, 1)))
    return [gauge_of_steps(times, values, _SPANS) for values in running.cumsum(axis=0)]


def levels_over_time(
    digests: Sequence[Digest],
    read: Rows,
    counts: Mapping[int, Sequence[Gauge]],
    width_in: float = WIDTH_IN,
) -> Figure:
    """Draw how many elastic jobs run at each level, stacked, a panel per row."""
    end_s = _end_s(digests, read)
    scale, unit = time_unit(end_s)
    handles = [Patch(facecolor=colour, label=name) for colour, name in zip(_COLOURS, LEVELS, strict=True)]

    def draw(axes: Axes, gauges: Sequence[Gauge]) -> None:
        for gauge, colour in reversed(list(zip(gauges, _COLOURS, strict=True))):
            axes.fill_between(gauge.times_s / scale, 0.0, gauge.mean, step="post", color=colour, linewidth=0)

    shares = {
        row: " / ".join(f"{100 * share:.0f}" for share in elastic.shares()) for row, elastic in read.items()
    }
    figure = row_panels(
        digests,
        {row: counts[row] for row in read},
        draw,
        Key(handles, 3, 3, "GPUs that an elastic job holds"),
        height_in=2.1,
        label=f"time ({unit})",
        limits=(0, end_s / scale),
        width_in=width_in,
        subtitles={row: f"{text} %" for row, text in shares.items()},
    )
    figure.supylabel("running elastic jobs", fontsize=9)
    return figure


def _end_s(digests: Sequence[Digest], read: Rows) -> float:
    """Return the time of the last stop of an elastic job; other jobs may run for much longer."""
    ends_s = [float(elastic.end_s.max(initial=0.0)) for elastic in read.values()]
    return max(ends_s) or max(digests[row].end_s for row in read) or 1.0


def job_by_job(digests: Sequence[Digest], read: Rows, width_in: float = WIDTH_IN) -> Figure:
    """Draw the GPUs of each elastic job over time, a band per job and a panel per row."""
    end_s = _end_s(digests, read)
    scale, unit = time_unit(end_s)
    jobs = max(len(elastic.jobs) for elastic in read.values())
    parts = ((_COLOURS[0], "up to its least"), (_COLOURS[2], "beyond it"))
    return row_panels(
        digests,
        read,
        lambda axes, elastic: _draw_jobs(axes, elastic, end_s, scale),
        Key([Patch(facecolor=colour, label=name) for colour, name in parts], 2, 2),
        height_in=0.6 + 0.17 * max(jobs, 3),
        label=f"time ({unit})",
        limits=(0, end_s / scale),
        width_in=width_in,
        same_y=False,
    )


def _draw_jobs(axes: Axes, elastic: Elastic, end_s: float, scale: float) -> None:
    for number in range(len(elastic.jobs)):
        held = gauge_of_steps(*elastic.held(number)) if (elastic.job == number).any() else None
        last_s = end_s if np.isnan(elastic.finish_s[number]) else elastic.finish_s[number]
        line: dict[str, Any] = {"color": "#777777", "linewidth": 0.8}
        axes.plot([elastic.submit_s[number] / scale, last_s / scale], [number + 0.9] * 2, **line)
        if held is None:
            continue
        for colour, gpus in (
            (_COLOURS[2], held.mean),
            (_COLOURS[0], np.minimum(held.mean, elastic.least[number])),
        ):
            top = number + 0.9 - 0.8 * np.minimum(gpus / elastic.most[number], 1.0)
            axes.fill_between(held.times_s / scale, number + 0.9, top, step="post", color=colour, linewidth=0)
    axes.set_ylim(len(elastic.jobs), 0)
    axes.set_yticks(np.arange(len(elastic.jobs)) + 0.5, [clip(name, 12) for name in elastic.jobs], fontsize=8)
    axes.grid(visible=False, axis="y")
