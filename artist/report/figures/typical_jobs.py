"""The figure of single jobs under two policies: time in the queue and the rest, beside each other."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from artist.drawing.looks import pale
from artist.drawing.panels import WIDTH_IN
from artist.drawing.time_axis import time_unit
from artist.report.figures.bars import SHADES
from artist.report.figures.drawing import Drawing, first, of_scenario
from artist.report.figures.facets import chosen
from artist.report.figures.row_panels import Key, row_panels
from artist.results.digest import Digest
from artist.results.job_by_job import Typical, typical_jobs
from artist.results.names import listed
from artist.results.scenarios import Contest
from artist.tables.grid import clip

_CAPTION = (
    "Completion times of single jobs, time in the queue below: at the left under {}, at the right under the "
    "row's policy. Of each model, the most frequent first, the job whose completion time at the left is the "
    "median of the model's jobs; x: its GPUs. Jobs without GPUs are left out."
)
_MOST = 12
_WIDTH = 0.4  # of a bar, in steps between jobs
_PARTS = ("in the queue", "the rest")
COLOURS = (pale("#555555"), "#555555", pale(SHADES[1]), SHADES[1])  # of both under the baseline, then own


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figure, if the user named a baseline that others ran the same jobs as."""
    if not contest.asked:
        return []
    rows = chosen(digests, contest)
    pairs = {row: contest.baseline[row] for row in rows if contest.baseline[row] < len(digests)}
    jobs = {
        row: found
        for row, base in pairs.items()
        if row != base and (found := typical_jobs(digests[row].group, digests[base].group, _MOST))
    }
    if not jobs:
        return []
    name = listed(list(dict.fromkeys(contest.contenders[pairs[row]] for row in jobs)))
    caption = _CAPTION.format(name) + of_scenario(rows, contest) + first(digests)
    return [Drawing("typical_jobs", "Jobs one by one", caption, partial(draw, digests, jobs, name))]


def draw(
    digests: Sequence[Digest],
    jobs: Mapping[int, Sequence[Typical]],
    baseline: str,
    width_in: float = WIDTH_IN,
) -> Figure:
    """Draw the jobs of each row, two bars a job and a panel a row."""
    scale, unit = time_unit(max(sum(times) for each in jobs.values() for job in each for times in job[2:]))
    names = [f"{part} under {name}" for name in (baseline, "the row's policy") for part in _PARTS]
    figure = row_panels(
        digests,
        jobs,
        lambda axes, each: _bars(axes, each, scale),
        Key([Patch(facecolor=colour, label=name) for colour, name in zip(COLOURS, names, strict=True)], 2, 1),
        height_in=2.4,
        label="",
        limits=(-0.7, max(map(len, jobs.values())) - 0.3),
        width_in=width_in,
        same_x=False,
    )
    figure.supylabel(f"completion time ({unit})", fontsize=9)
    return figure


def _bars(axes: Axes, jobs: Sequence[Typical], scale: float) -> None:
    x = np.arange(len(jobs))
    for side, times_s in enumerate(([job.other_s for job in jobs], [job.own_s for job in jobs])):
        bottom = np.zeros(len(jobs))
        for part, colour in zip(np.array(times_s).T / scale, COLOURS[2 * side :], strict=False):
            axes.bar(x + (side - 0.5) * _WIDTH, part, _WIDTH, bottom, color=colour, linewidth=0)
            bottom += part
    labels = [f"{clip(job.model, 16)} x {job.gpus}" for job in jobs]
    axes.set_xticks(x, labels, rotation=60, ha="right", rotation_mode="anchor", fontsize=7.5)
    axes.grid(visible=False, axis="x")
