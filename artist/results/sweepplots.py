"""Figures of metrics along a number that was swept over, such as the size of the cluster."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from artist.results.compare import Comparison, Replicates
from artist.results.looks import (
    WIDTH_IN,
    columns,
    legend,
    marked_look,
    panels,
    style,
)
from artist.results.measures import BY_NAME, Estimate, Metric, column_unit, difference, estimate, estimated
from artist.results.names import clip, labels, short_key, spoken
from artist.results.scenarios import Contest, of_policy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METRICS = (
    "makespan_s", "jct_mean_s", "queueing_mean_s", "queueing_p95_s", "queueing_p99_s", "exposed_mean_s",
)  # fmt: skip
_TITLES = {
    "makespan_s": "makespan",
    "jct_mean_s": "mean JCT",
    "queueing_mean_s": "mean queueing",
    "queueing_p95_s": "queueing p95",
    "queueing_p99_s": "queueing p99",
    "exposed_mean_s": "exposed comm. a job",
}
_WIDE = 20.0  # numbers further apart stand on a logarithmic axis
_MOST_SETS, _MOST_LINES, _MOST_VALUES = 4, 8, 12
_ASIDE = 0.05  # how far apart whiskers of neighbours are, in steps between values
_TITLE_CHARS_PER_IN = 10


@dataclass(frozen=True, slots=True)
class Along:
    """Rows of a comparison along a swept number.

    Attributes
    ----------
    key
        What was swept over.
    at
        Its values, ascending, as texts.
    lines, numbers
        Names of the contenders, and the number of the look that each has in other figures.
    sets
        What else differs, in words, and the row of each contender at each value, (n_lines, n_values); -1 for
        none.
    """

    key: str
    at: tuple[str, ...]
    lines: tuple[str, ...]
    numbers: tuple[int, ...]
    sets: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...]


def along(comparison: Comparison, contest: Contest) -> Along | None:
    """Return the rows along the first number that was swept over, a policy's own only if there is no other.

    None if there is none, or too much else.
    """
    groups = comparison.groups
    own = [i for i, key in enumerate(comparison.keys) if of_policy(key)]
    others = [i for i in range(len(comparison.keys)) if i not in own]
    swept = next(
        (i for i in others + own if len({g.values[i] for g in groups if _is_number(g.values[i])}) > 1), None
    )
    if swept is None:
        return None
    rest = [i for i in others if i != swept]
    there = [row for row, group in enumerate(groups) if _is_number(group.values[swept])]
    at = sorted({groups[row].values[swept] for row in there}, key=float)
    policy = [i for i in own if i != swept]
    of_row = {row: tuple(groups[row].shown[i] for i in policy) for row in there}
    different = list(dict.fromkeys(of_row.values()))
    lines = tuple(labels([comparison.keys[i] for i in policy], different))
    names = {row: lines[different.index(shown)] for row, shown in of_row.items()}
    rows: dict[tuple[str, ...], dict[tuple[str, str], int]] = {}
    for row in there:
        kind = tuple(groups[row].shown[i] for i in rest)
        rows.setdefault(kind, {})[names[row], groups[row].values[swept]] = row
    if len(rows) > _MOST_SETS or len(lines) > _MOST_LINES or not 2 <= len(at) <= _MOST_VALUES:
        return None
    keys = [comparison.keys[i] for i in rest]
    telling = [len({kind[i] for kind in rows}) > 1 for i in range(len(rest))]
    sets = tuple(
        (
            ", ".join(
                spoken(key, [value])
                for key, value, tells in zip(keys, kind, telling, strict=True)
                if value and tells
            ),
            tuple(tuple(found.get((line, value), -1) for value in at) for line in lines),
        )
        for kind, found in rows.items()
    )
    shown = {group.values[swept]: group.shown[swept] for group in groups}
    known = list(dict.fromkeys(contest.contenders))
    numbers = tuple(known.index(line) if line in known else i for i, line in enumerate(lines))
    return Along(comparison.keys[swept], tuple(shown[value] for value in at), lines, numbers, sets)


def relative(found: Along, baseline: Sequence[int]) -> Along | None:
    """Return the lines that differ from their baselines; None if there are none."""
    kept = [
        number
        for number in range(len(found.lines))
        if any(row >= 0 and baseline[row] != row for _, rows in found.sets for row in rows[number])
    ]
    if not kept:
        return None
    sets = tuple((name, tuple(rows[number] for number in kept)) for name, rows in found.sets)
    lines, looks = tuple(found.lines[i] for i in kept), tuple(found.numbers[i] for i in kept)
    return replace(found, lines=lines, numbers=looks, sets=sets)


def metrics_along(
    groups: Sequence[Replicates],
    found: Along,
    width_in: float = WIDTH_IN,
    baseline: Sequence[int] | None = None,
) -> "Figure":
    """Draw metrics along a swept number: a panel each, a line a policy, whiskers for the intervals.

    A metric that is 0 everywhere has no panel.

    Parameters
    ----------
    baseline
        For each row the one that it is drawn relative to, seed by seed.
    """
    runs = [
        run for _, rows in found.sets for line in rows for row in line if row >= 0 for run in groups[row].runs
    ]
    wanted = [BY_NAME[name] for name in METRICS]
    chosen = [metric for metric in wanted if any(metric.of(run.summary) for run in runs)] or wanted
    with style():
        figure, places = panels(
            len(chosen) * len(found.sets), 1.9, found.lines, shared=False,
            width_in=width_in, most_columns=3, least_columns=2,
        )  # fmt: skip
        pairs = [(name, rows, metric) for name, rows in found.sets for metric in chosen]
        for axes, (name, rows, metric) in zip(places, pairs, strict=True):
            if baseline is None:
                _draw(axes, groups, rows, found.numbers, metric)
            else:
                _draw_relative(axes, groups, rows, found.numbers, metric, baseline)
            title = ", ".join(filter(None, (_TITLES[metric.name], name)))
            room = int(_TITLE_CHARS_PER_IN * width_in / columns(places)) + 6
            axes.set_title(clip(title, room), fontsize=8.5, loc="left")
            axes.set_xticks(range(len(found.at)), found.at)
            if axes in places[-columns(places) :]:
                axes.set_xlabel(short_key(found.key).rsplit(".", 1)[-1])
        legend(figure, found.lines, list(map(_example, found.numbers)))
        return figure


def _draw(
    axes: "Axes",
    groups: Sequence[Replicates],
    rows: Sequence[Sequence[int]],
    numbers: Sequence[int],
    metric: Metric,
) -> None:
    estimates = [
        [
            Estimate() if row < 0 else estimate(metric, [run.summary for run in groups[row].runs])
            for row in line
        ]
        for line in rows
    ]
    means = [each.mean for line in estimates for each in line if each.mean is not None]
    unit, scale = column_unit(metric.kind, [max(means, default=0.0)])
    _draw_lines(axes, estimates, scale, numbers)
    positive = [mean for mean in means if mean > 0]
    if positive and len(positive) == len(means) and max(positive) > _WIDE * min(positive):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(lambda value, _: "")
    else:
        axes.set_ylim(bottom=0)
    axes.set_ylabel(unit, fontsize=8)


def _draw_relative(
    axes: "Axes",
    groups: Sequence[Replicates],
    rows: Sequence[Sequence[int]],
    numbers: Sequence[int],
    metric: Metric,
    baseline: Sequence[int],
) -> None:
    def apart(row: int) -> Estimate:
        if row < 0 or baseline[row] == row:
            return Estimate()
        pair = (groups[row].runs, groups[baseline[row]].runs)
        own, other = ({run.summary["seed"]: run.summary for run in runs} for runs in pair)
        both = [(metric.of(own[seed]), metric.of(other[seed])) for seed in own if seed in other]
        changes = [difference(value, reference) for value, reference in both]
        known = [change for change in changes if change is not None]
        return estimated(known) if known and len(known) == len(changes) else Estimate()

    _draw_lines(axes, [[apart(row) for row in line] for line in rows], 100.0, numbers)
    axes.axhline(0.0, color="0.4", linewidth=0.8, linestyle="--")
    axes.set_ylabel("% more than the baseline", fontsize=8)


def _draw_lines(
    axes: "Axes", estimates: Sequence[Sequence[Estimate]], scale: float, numbers: Sequence[int]
) -> None:
    for number, line in enumerate(estimates):
        x = np.arange(len(line)) + _ASIDE * (number - (len(estimates) - 1) / 2)
        mean, low, high = scale * np.array(line, dtype=np.float64).T  # NaN for None
        whiskers = np.nan_to_num([mean - low, high - mean])
        axes.errorbar(x, mean, yerr=np.maximum(whiskers, 0.0), **_look(numbers[number]))


def _look(number: int) -> dict[str, Any]:
    return marked_look(number) | {"markevery": None, "capsize": 2, "elinewidth": 0.8}


def _example(number: int) -> object:
    from matplotlib.lines import Line2D

    return Line2D([], [], **(marked_look(number) | {"markevery": None}))


def _is_number(value: str) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False
