"""The figures of single jobs: what each got against its best case, and its speed-up over the baseline."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from artist.drawing.looks import example_lines, style
from artist.drawing.panels import WIDTH_IN, columns, head, label_rows, legend, panels
from artist.drawing.time_axis import log_axis
from artist.report.figures.drawing import Drawing, of_scenario, pooled, without_panel
from artist.report.figures.facets import chosen, facets, only
from artist.report.figures.labels import group_texts
from artist.results.digest import BINS, Digest
from artist.results.job_by_job import AgainstBest, against_best, have_best, speedups
from artist.results.scenarios import Contest
from artist.results.steps import Floats, distribution_steps

_BEST = (
    "Fractions of jobs with GPUs that got no more than so much of what they could use: of the throughput of "
    "GPUs that never wait, computing / (computing + waiting for input), and of the CPUs and memory of their "
    "best case, the least with which a job is as fast as it gets; held, the mean over the time in which it "
    "held GPUs (more than 4 times as 4 times). Lines farther right got more."
)
_SPEEDUP = (
    "Fractions of jobs whose completion time under {} is no more than so many times their own: right of 1, "
    "jobs complete sooner."
)
_BEST_TITLES = ("throughput", "CPUs held", "memory held")
_ALIKE = 1e-6  # parts of a number that rounding makes
_LEAST, _MOST = 1e-3, 4.0  # of the best case: what lies beyond is not told apart


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figure of what jobs got, where they need CPUs and memory, and of speed-ups if asked for."""
    return [*_best_drawing(digests, contest), *_speedup_drawing(digests, contest)]


def _best_drawing(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    if not any(have_best(each.group) for each in digests):
        return []
    rows = chosen(digests, contest, lambda each: have_best(each.group))
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
        row: found
        for row, base in pairs
        if row != base
        and base < len(digests)
        and len(found := speedups(digests[row].group, digests[base].group))
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
    """Draw the distributions of what jobs got, a panel each and a line a row, replicates pooled."""
    layout = facets([each.group for each in digests], contest)
    texts = group_texts([digests[row].group for row in got])
    with style():
        numbers, _ = _telling(got)
        figure, places = panels(len(numbers), 2.6, texts, shared=False, same_y=True, width_in=width_in)
        for axes, number in zip(places, numbers, strict=True):
            for row, found in got.items():
                _draw_cdf(axes, np.clip(found[number], _LEAST, _MOST), layout.looks[row])
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
    """Draw the distribution of the jobs' speed-ups over the baseline, a panel a scenario and a line a row."""
    layout = facets([each.group for each in digests], contest)
    layout = only(layout, [row in ratios for row in range(len(digests))])
    drawn = [layout.looks[row] for row in ratios]
    named = [
        (text, row)
        for text, row in zip(layout.texts, layout.examples, strict=True)
        if layout.looks[row] in drawn
    ]
    texts = [text for text, _ in named]
    low, high = (float(end([end(each) for each in ratios.values()])) for end in (np.min, np.max))
    with style():
        figure, places = panels(len(layout.sets), 2.6, texts, same_y=True, width_in=width_in)
        for axes, (name, rows) in zip(places, layout.sets, strict=True):
            for row in rows:
                _draw_cdf(axes, ratios[row], layout.looks[row])
            axes.axvline(1.0, color="#777777", linewidth=1.0, linestyle=(0, (4, 3)))
            axes.set_ylim(0, 1.01)
            log_axis(axes, low, high)
            head(axes, name, places, width_in)
            if axes in places[-columns(places) :]:
                axes.set_xlabel("completion time under the baseline / own (times)")
        label_rows(figure, "fraction of jobs", texts)
        legend(figure, texts, example_lines([layout.looks[row] for _, row in named]))
        return figure


def _draw_cdf(axes: Axes, values: Floats, line_look: dict[str, Any]) -> None:
    if len(values):
        x, y = distribution_steps(values, len(values), BINS)
        axes.plot([x[0], *x], [0.0, *y], drawstyle="steps-post", **line_look)
