"""The figures of single jobs: against their best case, over the baseline, and typical ones one by one."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from artist.drawing.looks import example_lines, pale, style
from artist.drawing.panels import WIDTH_IN, head, label_columns, label_rows, legend, panels
from artist.drawing.time_axis import log_axis, time_unit
from artist.report.figures.bars import SHADES
from artist.report.figures.drawing import Drawing, first, group_texts, of_scenario, pooled, without_panel
from artist.report.figures.facets import chosen, facets, only
from artist.report.figures.row_panels import Key, row_panels
from artist.results.digest import BINS, Digest
from artist.results.job_by_job import AgainstBest, Typical, against_best, have_best, speedups, typical_jobs
from artist.results.names import listed
from artist.results.scenarios import Contest
from artist.results.steps import Floats, distribution_steps
from artist.tables.grid import clip

_BEST = (
    "The fraction of GPU jobs that got at most the share on the horizontal axis of what they "
    "could use. Throughput: computing / (computing + waiting for input). CPUs and memory: those "
    "that a job held, on average while it held GPUs, divided by the fewest with which it is as "
    "fast as it gets; shares above 4 are drawn at 4. Lines farther right are better."
)
_SPEEDUP = (
    "The fraction of jobs for which completion time under {0} / completion time under the row's "
    "policy is at most the number on the horizontal axis. Right of 1, jobs complete sooner than "
    "under {0}."
)
_BEST_TITLES = ("throughput", "CPUs held", "memory held")
_ALIKE = 1e-6  # parts of a number that rounding makes
_LEAST, _MOST = 1e-3, 4.0  # of the best case: values beyond count as these


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figures: of best cases where jobs need CPUs and memory, others if a baseline was named."""
    figures = (_best_drawing, _speedup_drawing, _typical_drawings)
    return [drawing for figure in figures for drawing in figure(digests, contest)]


def _best_drawing(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    if not any(have_best(digest.group) for digest in digests):
        return []
    rows = chosen(digests, contest, lambda digest: have_best(digest.group))
    got = {row: against_best(digests[row].group) for row in rows}
    _, same = _telling(got)
    alike = without_panel(same, "all jobs have as much")
    caption = _BEST + alike + of_scenario(rows, contest) + pooled(digests)
    draw = partial(got_of_best, digests, contest, got)
    return [Drawing("against_best", "What jobs got of their best case", caption, draw)]


def _speedup_drawing(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    if not contest.asked:
        return []
    pairs = [(row, contest.baseline[row]) for row in range(len(digests))]
    ratios = {
        row: of_row
        for row, base in pairs
        if row != base
        and base < len(digests)
        and len(of_row := speedups(digests[row].group, digests[base].group))
    }
    if not ratios:
        return []
    names = list(dict.fromkeys(contest.contenders[contest.baseline[row]] for row in ratios))
    caption = _SPEEDUP.format(" or ".join(names)) + pooled(digests)
    draw = partial(jct_speedups, digests, contest, ratios)
    return [Drawing("jct_speedup", "Speed-up of each job", caption, draw)]


def got_of_best(
    digests: Sequence[Digest], contest: Contest, got: Mapping[int, AgainstBest], width_in: float = WIDTH_IN
) -> Figure:
    """Draw the distributions of the jobs' shares, a panel per share and a line per row, pooled."""
    layout = facets([digest.group for digest in digests], contest)
    texts = group_texts([digests[row].group for row in got])
    with style():
        numbers, _ = _telling(got)
        figure, places = panels(len(numbers), 2.6, texts, shared=False, same_y=True, width_in=width_in)
        for axes, number in zip(places, numbers, strict=True):
            for row, values in got.items():
                _draw_cdf(axes, np.clip(values[number], _LEAST, _MOST), layout.looks[row])
            axes.axvline(1.0, color="#777777", linewidth=1.0, linestyle=(0, (4, 3)))
            axes.set(xlim=(0, None), ylim=(0, 1.01), xlabel="of the best case (times)")
            axes.set_title(_BEST_TITLES[number], fontsize=9, loc="left")
        label_rows(figure, "fraction of jobs", texts)
        legend(figure, texts, example_lines([layout.looks[row] for row in got]))
        return figure


def _telling(got: Mapping[int, AgainstBest]) -> tuple[list[int], list[str]]:
    """Return the numbers in which jobs differ, all three if in none, and the others with their value."""
    ends = []
    for values in (np.concatenate(column) for column in zip(*got.values(), strict=True)):
        shown = np.clip(values, _LEAST, _MOST)
        ends.append((shown.min(), shown.max()) if len(shown) else (0.0, 0.0))
    telling = [number for number, (least, most) in enumerate(ends) if most - least > _ALIKE * most]
    if not telling:
        return list(range(len(ends))), []
    same = [number for number in range(len(ends)) if number not in telling]
    return telling, [f"{_BEST_TITLES[number]} ({ends[number][0]:.3g})" for number in same]


def jct_speedups(
    digests: Sequence[Digest], contest: Contest, ratios: Mapping[int, Floats], width_in: float = WIDTH_IN
) -> Figure:
    """Draw the distribution of the jobs' speed-ups over the baseline, panels per scenario, lines per row."""
    layout = facets([digest.group for digest in digests], contest)
    layout = only(layout, [row in ratios for row in range(len(digests))])
    drawn = [layout.looks[row] for row in ratios]
    named = [
        (text, row)
        for text, row in zip(layout.texts, layout.examples, strict=True)
        if layout.looks[row] in drawn
    ]
    texts = [text for text, _ in named]
    low, high = (float(end([end(of_row) for of_row in ratios.values()])) for end in (np.min, np.max))
    with style():
        figure, places = panels(len(layout.sets), 2.6, texts, same_y=True, width_in=width_in)
        for axes, (name, rows) in zip(places, layout.sets, strict=True):
            for row in rows:
                _draw_cdf(axes, ratios[row], layout.looks[row])
            axes.axvline(1.0, color="#777777", linewidth=1.0, linestyle=(0, (4, 3)))
            axes.set_ylim(0, 1.01)
            log_axis(axes, low, high)
            head(axes, name, places, width_in)
        label_columns(places, "completion time under the baseline / own (times)")
        label_rows(figure, "fraction of jobs", texts)
        legend(figure, texts, example_lines([layout.looks[row] for _, row in named]))
        return figure


def _draw_cdf(axes: Axes, values: Floats, line_look: dict[str, Any]) -> None:
    if len(values):
        x, y = distribution_steps(values, len(values), BINS)
        axes.plot([x[0], *x], [0.0, *y], drawstyle="steps-post", **line_look)


_TYPICAL = (
    "Completion times of single jobs, the wait at the bottom of each bar: at the left under {}, "
    "at the right under the row's policy. Each model, the most frequent first, is represented by "
    "the job with the median completion time at the left; its number of GPUs follows the x. Jobs "
    "without GPUs are left out."
)
_MAX_TYPICAL = 12
_WIDTH = 0.4  # of a bar, in steps between jobs
_TIME_PARTS = ("in the queue", "the rest")
COLOURS = (pale("#555555"), "#555555", pale(SHADES[1]), SHADES[1])  # of both under the baseline, then own


def _typical_drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figure, if the user named a baseline that others ran the same jobs as."""
    if not contest.asked:
        return []
    rows = chosen(digests, contest)
    pairs = {row: contest.baseline[row] for row in rows if contest.baseline[row] < len(digests)}
    jobs = {
        row: pairs_of_row
        for row, base in pairs.items()
        if row != base
        and (pairs_of_row := typical_jobs(digests[row].group, digests[base].group, _MAX_TYPICAL))
    }
    if not jobs:
        return []
    name = listed(list(dict.fromkeys(contest.contenders[pairs[row]] for row in jobs)))
    caption = _TYPICAL.format(name) + of_scenario(rows, contest) + first(digests)
    return [Drawing("typical_jobs", "Jobs one by one", caption, partial(typical_bars, digests, jobs, name))]


def typical_bars(
    digests: Sequence[Digest],
    jobs: Mapping[int, Sequence[Typical]],
    baseline: str,
    width_in: float = WIDTH_IN,
) -> Figure:
    """Draw the jobs of each row, two bars per job and a panel per row."""
    scale, unit = time_unit(
        max(sum(times) for of_row in jobs.values() for job in of_row for times in job[2:])
    )
    names = [f"{part} under {name}" for name in (baseline, "the row's policy") for part in _TIME_PARTS]
    figure = row_panels(
        digests,
        jobs,
        lambda axes, of_row: _draw_typical(axes, of_row, scale),
        Key([Patch(facecolor=colour, label=name) for colour, name in zip(COLOURS, names, strict=True)], 2, 1),
        height_in=2.4,
        label="",
        limits=(-0.7, max(map(len, jobs.values())) - 0.3),
        width_in=width_in,
        same_x=False,
    )
    figure.supylabel(f"completion time ({unit})", fontsize=9)
    return figure


def _draw_typical(axes: Axes, jobs: Sequence[Typical], scale: float) -> None:
    x = np.arange(len(jobs))
    for side, times_s in enumerate(([job.other_s for job in jobs], [job.own_s for job in jobs])):
        bottom = np.zeros(len(jobs))
        for part, colour in zip(np.array(times_s).T / scale, COLOURS[2 * side :], strict=False):
            axes.bar(x + (side - 0.5) * _WIDTH, part, _WIDTH, bottom, color=colour, linewidth=0)
            bottom += part
    labels = [f"{clip(job.model, 16)} x {job.gpus}" for job in jobs]
    axes.set_xticks(x, labels, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
    axes.grid(visible=False, axis="x")
