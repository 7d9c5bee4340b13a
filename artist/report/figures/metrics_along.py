"""The figures of metrics along a swept number, as they are and against the baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from artist.drawing.looks import example_lines, marked_look, style
from artist.drawing.panels import WIDTH_IN, head, label_columns, legend, panels
from artist.drawing.time_axis import log_axis
from artist.report.figures.drawing import Drawing, several
from artist.results.compare import Comparison, Replicates, of_policy
from artist.results.digest import Digest
from artist.results.measures import BY_NAME, Estimate, Metric, change, column_unit, estimate
from artist.results.names import is_number, labels, noun, spoken
from artist.results.scenarios import Contest

_MAX_SETS, _MAX_LINES, _MAX_VALUES = 4, 8, 12


@dataclass(frozen=True, slots=True)
class Along:
    """Rows of a comparison along a swept number.

    Attributes
    ----------
    key
        The swept setting.
    at
        Its values, ascending, as texts.
    lines, numbers
        Names of the contenders, and the number of the look that each has in other figures.
    sets
        Other differences, in words, and the row of each contender at each value, (n_lines, n_values); -1 for
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
    swept = _swept(comparison)
    if swept is None:
        return None
    groups = comparison.groups
    value_of = {
        row: group.values[swept] for row, group in enumerate(groups) if is_number(group.values[swept])
    }
    at = sorted(set(value_of.values()), key=float)
    names = _line_names(comparison, swept, list(value_of))
    lines = tuple(dict.fromkeys(names.values()))
    rest = [i for i, key in enumerate(comparison.keys) if i != swept and not of_policy(key)]
    rows = _by_scenario(comparison, rest, value_of, names)
    if not rows or len(rows) > _MAX_SETS or len(lines) > _MAX_LINES or not 2 <= len(at) <= _MAX_VALUES:
        return None
    titles = _set_titles([comparison.keys[i] for i in rest], list(rows))
    row_sets = [
        tuple(tuple(of_set.get((line, value), -1) for value in at) for line in lines)
        for of_set in rows.values()
    ]
    shown = {group.values[swept]: group.shown[swept] for group in groups}
    contenders = list(dict.fromkeys(contest.contenders))
    looks = tuple(contenders.index(line) if line in contenders else i for i, line in enumerate(lines))
    texts = tuple(shown[value] for value in at)
    return Along(comparison.keys[swept], texts, lines, looks, tuple(zip(titles, row_sets, strict=True)))


def _by_scenario(
    comparison: Comparison, rest: Sequence[int], value_of: Mapping[int, str], names: Mapping[int, str]
) -> dict[tuple[str, ...], dict[tuple[str, str], int]]:
    """Return rows by line and value, by their values in the other columns; without scenarios of one value."""
    rows: dict[tuple[str, ...], dict[tuple[str, str], int]] = {}
    for row, value in value_of.items():
        scenario = tuple(comparison.groups[row].shown[i] for i in rest)
        rows.setdefault(scenario, {})[names[row], value] = row
    return {scenario: of for scenario, of in rows.items() if len({value for _, value in of}) > 1}


def _swept(comparison: Comparison) -> int | None:
    """Return the column of the first number that was swept over, those of policies last; None without one."""
    in_order = sorted(range(len(comparison.keys)), key=lambda i: of_policy(comparison.keys[i]))
    for i in in_order:
        values = (group.values[i] for group in comparison.groups)
        if len({value for value in values if is_number(value)}) > 1:
            return i
    return None


def _line_names(comparison: Comparison, swept: int, rows: Sequence[int]) -> dict[int, str]:
    """Return the contender of each row, named by its policy and the policy's settings."""
    policy = [i for i, key in enumerate(comparison.keys) if of_policy(key) and i != swept]
    shown = {row: tuple(comparison.groups[row].shown[i] for i in policy) for row in rows}
    different = list(dict.fromkeys(shown.values()))
    names = dict(zip(different, labels([comparison.keys[i] for i in policy], different), strict=True))
    return {row: names[values] for row, values in shown.items()}


def _set_titles(keys: Sequence[str], scenarios: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the values in which some scenarios differ, in words."""
    varied = [len(set(values)) > 1 for values in zip(*scenarios, strict=True)]
    titles = []
    for scenario in scenarios:
        known = [i for i, value in enumerate(scenario) if value and varied[i]]
        titles.append(", ".join(spoken(keys[i], [scenario[i]]) for i in known))
    return titles


def relative(swept: Along, baseline: Sequence[int]) -> Along | None:
    """Return the lines that differ from their baselines; None if there are none."""
    kept = [
        number
        for number in range(len(swept.lines))
        if any(row >= 0 and baseline[row] != row for _, rows in swept.sets for row in rows[number])
    ]
    if not kept:
        return None
    sets = tuple((name, tuple(rows[number] for number in kept)) for name, rows in swept.sets)
    lines, looks = tuple(swept.lines[i] for i in kept), tuple(swept.numbers[i] for i in kept)
    return replace(swept, lines=lines, numbers=looks, sets=sets)


_TITLES = {
    "makespan_s": "makespan",
    "jct_mean_s": "mean JCT",
    "queueing_mean_s": "mean queueing",
    "queueing_p95_s": "queueing p95",
    "queueing_p99_s": "queueing p99",
    "exposed_mean_s": "exposed comm. a job",
}
METRICS = tuple(_TITLES)
_WIDE = 20.0  # numbers further apart need a logarithmic axis
_ROOM = 2.5  # of the greatest mean: whiskers may leave an axis, so that the means can be seen
_WHISKERS: Any = {"markevery": None, "capsize": 2, "elinewidth": 0.8}
_ASIDE = 0.05  # how far apart whiskers of neighbours are, in steps between values
_ALONG = (
    "The columns of the comparison, plotted against {key}. Lower is better. Scales are "
    "logarithmic where values are far apart."
)
_RELATIVE = (
    "The columns of the comparison, plotted against {key}, relative to the row of the baseline "
    "that is equal in all else, or in as much as possible. Below 0 is better than the baseline."
)
_SEEDS = " Differences are taken seed by seed; whiskers are their 95 % intervals (Student's t)."
_MEANS = (
    " Points are means over seeds; whiskers are their 95 % intervals (Student's t), which may "
    "reach beyond a panel."
)


def drawings(digests: Sequence[Digest], comparison: Comparison, contest: Contest) -> list[Drawing]:
    """Return the figure along the swept number, and that against the named baseline, if any."""
    swept = along(comparison, contest)
    if swept is None:
        return []
    key, replicated = noun(swept.key), several(digests)
    caption = _ALONG.format(key=key) + _MEANS * replicated
    figures = [Drawing("along", f"Along {key}", caption, partial(metrics_along, comparison.groups, swept))]
    apart = relative(swept, contest.baseline) if contest.asked else None
    if apart is not None:
        draw = partial(metrics_along, comparison.groups, apart, baseline=contest.baseline)
        caption = _RELATIVE.format(key=key) + _SEEDS * replicated
        figures.append(Drawing("along_relative", f"Along {key}, against the baseline", caption, draw))
    return figures


def metrics_along(
    groups: Sequence[Replicates],
    swept: Along,
    width_in: float = WIDTH_IN,
    baseline: Sequence[int] | None = None,
) -> Figure:
    """Draw metrics along a swept number: a panel each, a line per policy, whiskers for the intervals.

    A metric that is 0 everywhere has no panel.

    Parameters
    ----------
    baseline
        For each row the one that it is drawn relative to, seed by seed.
    """
    runs = [
        run for _, rows in swept.sets for line in rows for row in line if row >= 0 for run in groups[row].runs
    ]
    wanted = [BY_NAME[name] for name in METRICS]
    chosen = [metric for metric in wanted if any(metric.of(run.summary) for run in runs)] or wanted
    with style():
        figure, places = panels(
            len(chosen) * len(swept.sets), 1.7, swept.lines, shared=False,
            width_in=width_in, min_columns=2,
        )  # fmt: skip
        pairs = [(name, rows, metric) for name, rows in swept.sets for metric in chosen]
        for axes, (name, rows, metric) in zip(places, pairs, strict=True):
            if baseline is None:
                draw_metric(axes, groups, rows, swept.numbers, metric)
            else:
                draw_relative(axes, groups, rows, swept.numbers, metric, baseline)
            title = ", ".join(filter(None, (_TITLES[metric.name], name)))
            head(axes, title, places, width_in)
            axes.set_xticks(range(len(swept.at)), swept.at)
        label_columns(places, noun(swept.key))
        legend(figure, swept.lines, example_lines([marked_look(number) for number in swept.numbers]))
        return figure


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
    means = [number.mean for line in estimates for number in line if number.mean is not None]
    unit, scale = column_unit(metric.quantity, [max(means, default=0.0)])
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
        axes.errorbar(x, mean, yerr=np.maximum(whiskers, 0.0), **marked_look(numbers[number]) | _WHISKERS)
