"""Lines of a metric along a swept number: means with whiskers, as they are or against a baseline."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from artist.report.figures.looks import marked_look
from artist.report.figures.time_axis import log_axis
from artist.results.compare import Replicates
from artist.results.measures import Estimate, Metric, change, column_unit, estimate

_WIDE = 20.0  # numbers further apart stand on a logarithmic axis
_ROOM = 2.5  # of the greatest mean: whiskers may leave an axis, so that the means can be seen
_ASIDE = 0.05  # how far apart whiskers of neighbours are, in steps between values


def draw_metric(
    axes: Axes,
    groups: Sequence[Replicates],
    rows: Sequence[Sequence[int]],
    numbers: Sequence[int],
    metric: Metric,
) -> None:
    """Draw a line for each contender, with whiskers for the intervals."""
    estimates = [
        [
            Estimate() if row < 0 else estimate(metric, [run.summary for run in groups[row].runs])
            for row in line
        ]
        for line in rows
    ]
    means = [each.mean for line in estimates for each in line if each.mean is not None]
    unit, scale = column_unit(metric.kind, [max(means, default=0.0)])
    _lines(axes, estimates, scale, numbers)
    positive = [mean for mean in means if mean > 0]
    if positive and max(positive) > _WIDE * min(positive):
        log_axis(axes, scale * min(positive), scale * max(positive), "y", zero=len(positive) < len(means))
    else:
        axes.set_ylim(0, min(axes.get_ylim()[1], _ROOM * scale * max(positive, default=1.0)))
    axes.set_ylabel(unit, fontsize=8)


def draw_relative(
    axes: Axes,
    groups: Sequence[Replicates],
    rows: Sequence[Sequence[int]],
    numbers: Sequence[int],
    metric: Metric,
    baseline: Sequence[int],
) -> None:
    """Draw a line for each contender that differs from its baseline, by how much, seed by seed."""

    def apart(row: int) -> Estimate:
        if row < 0 or baseline[row] == row:
            return Estimate()
        return change(metric, groups[row], groups[baseline[row]])

    _lines(axes, [[apart(row) for row in line] for line in rows], 100.0, numbers)
    axes.axhline(0.0, color="0.4", linewidth=0.8, linestyle="--")
    axes.set_ylabel("% more than the baseline", fontsize=8)


def _lines(axes: Axes, estimates: Sequence[Sequence[Estimate]], scale: float, numbers: Sequence[int]) -> None:
    for number, line in enumerate(estimates):
        x = np.arange(len(line)) + _ASIDE * (number - (len(estimates) - 1) / 2)
        mean, low, high = scale * np.array(line, dtype=np.float64).T  # NaN for None
        whiskers = np.nan_to_num([mean - low, high - mean])
        axes.errorbar(x, mean, yerr=np.maximum(whiskers, 0.0), **_look(numbers[number]))


def _look(number: int) -> dict[str, Any]:
    return marked_look(number) | {"markevery": None, "capsize": 2, "elinewidth": 0.8}
