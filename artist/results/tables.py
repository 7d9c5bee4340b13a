"""Summaries as tables: aligned text for people, CSV for programs."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from artist.results.compare import POLICY, Comparison, compare
from artist.results.folder import Run
from artist.results.interval import half_width_95
from artist.results.names import short_key

INTERVAL = (
    "+-: half width of the 95 % confidence interval of the mean over the runs (seeds) of a row; "
    "from 2 or 3 runs it is wide"
)
_HOURS_FROM_S = 7200.0  # mean completion times from here on are shown in hours


@dataclass(frozen=True, slots=True)
class Metric:
    """A number of the summary as a column.

    Attributes
    ----------
    name
        Name in table.csv, unit included.
    title
        Lines of the heading.
    path
        Where it stands in the summary.
    """

    name: str
    title: tuple[str, str]
    path: tuple[str, ...]
    kind: Literal["count", "time", "fraction"]

    def of(self, summary: Mapping[str, Any]) -> float | None:
        """Return its value in a summary; None where it needs jobs that the run has not."""
        value: Any = summary
        for key in self.path:
            value = value[key]
        return None if value is None else float(value)


METRICS = (
    Metric("jobs", ("", "jobs"), ("jobs",), "count"),
    Metric("finished", ("", "done"), ("finished",), "count"),
    Metric("jct_mean_s", ("JCT", "mean"), ("jct_s", "mean"), "time"),
    Metric("jct_median_s", ("JCT", "median"), ("jct_s", "median"), "time"),
    Metric("jct_p95_s", ("JCT", "p95"), ("jct_s", "p95"), "time"),
    Metric("jct_p99_s", ("JCT", "p99"), ("jct_s", "p99"), "time"),
    Metric("queueing_mean_s", ("queue", "mean"), ("queueing_s", "mean"), "time"),
    Metric("makespan_s", ("", "makespan"), ("makespan_s",), "time"),
    Metric("gpu_utilization", ("GPUs", "used"), ("gpu_utilization",), "fraction"),
    Metric("comm_overhead_mean", ("comm.", "overhead"), ("comm_overhead", "mean"), "fraction"),
    Metric("preemptions", ("preemp-", "tions"), ("preemptions",), "count"),
)


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of texts: three lines of heading and the rows.

    Attributes
    ----------
    words
        How many columns at the left are words.
    note
        A line below the table; may be empty.
    """

    heads: tuple[tuple[str, str, str], ...]
    rows: tuple[tuple[str, ...], ...]
    words: int
    note: str = ""

    def text(self) -> str:
        """Return the table as aligned lines."""
        lines = [*zip(*self.heads, strict=True), *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join([*(self._line(line, widths) for line in lines), *[self.note][: bool(self.note)]])

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        padded = (
            cell.ljust(width) if i < self.words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join(padded).rstrip()


def run_table(summary: Mapping[str, Any]) -> str:
    """Return the table of one run as aligned text."""
    return _grid((POLICY,), [((str(summary["policy"]),), (summary,))]).text()


def compare_table(runs: Sequence[Run]) -> str:
    """Return the table of many runs as aligned text: a row for each group of replicates.

    Leading columns are the config keys that differ; replicates show their mean and, after +-, half
    the width of its 95 % confidence interval.
    """
    return comparison_grid(compare(runs)).text()


def comparison_grid(comparison: Comparison, *, letters: bool = False, most_keys: int | None = None) -> Grid:
    """Return the table of a comparison.

    Parameters
    ----------
    letters
        Lead with the letters that figures use for long labels.
    most_keys
        Put more keys than this into one column of labels.
    """
    groups = comparison.groups
    keys = [short_key(key) for key in comparison.keys]
    leads = [group.shown for group in groups]
    if most_keys is not None and len(keys) > most_keys:
        keys, leads = ["run"], [(group.label,) for group in groups]
    if letters and any(group.letter for group in groups):
        keys = ["", *keys]
        leads = [(group.letter, *lead) for group, lead in zip(groups, leads, strict=True)]
    summaries = [[run.summary for run in group.runs] for group in groups]
    return _grid(keys, list(zip(leads, summaries, strict=True)))


def comparison_csv(comparison: Comparison) -> str:
    """Return a comparison as CSV in seconds and fractions, half widths in columns of their own."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [name for metric in METRICS for name in (metric.name, f"{metric.name}_ci95")]
    writer.writerow([*comparison.keys, "runs", *columns])
    for group in comparison.groups:
        estimates = [_estimate(metric, [run.summary for run in group.runs]) for metric in METRICS]
        cells = [_plain(number) for estimate in estimates for number in estimate]
        writer.writerow([*group.values, len(group.runs), *cells])
    return text.getvalue()


_Estimate = tuple[float | None, float | None]
_Rows = Sequence[tuple[Sequence[str], Sequence[Mapping[str, Any]]]]


def _grid(keys: Sequence[str], rows: _Rows) -> Grid:
    unit, scale = _time_unit([summary for _, summaries in rows for summary in summaries])
    units = {"count": "", "time": unit, "fraction": "%"}
    scales = {"count": 1.0, "time": scale, "fraction": 100.0}
    replicated = any(len(summaries) > 1 for _, summaries in rows)
    heads = [("", key, "") for key in keys] + [("", "runs", "")] * replicated
    columns = [[values[i] for values, _ in rows] for i in range(len(keys))]
    columns += [[str(len(summaries)) for _, summaries in rows]] * replicated
    for metric in METRICS:
        heads.append((*metric.title, units[metric.kind]))
        estimates = [_estimate(metric, summaries) for _, summaries in rows]
        columns.append(_column(estimates, scales[metric.kind], metric.kind))
    note = INTERVAL if replicated else ""
    return Grid(tuple(heads), tuple(zip(*columns, strict=True)), len(keys), note)


def _estimate(metric: Metric, summaries: Sequence[Mapping[str, Any]]) -> _Estimate:
    """Return mean and half width; nothing if any replicate lacks the number, for that is no sample."""
    values = [value for summary in summaries if (value := metric.of(summary)) is not None]
    if len(values) < len(summaries):
        return None, None
    return math.fsum(values) / len(values), half_width_95(values)


def _plain(number: float | None) -> str:
    if number is None:
        return ""
    return str(int(number)) if number == int(number) else repr(number)


def _time_unit(summaries: Sequence[Mapping[str, Any]]) -> tuple[str, float]:
    means = sorted(summary["jct_s"]["mean"] or 0.0 for summary in summaries)
    return ("h", 1 / 3600) if means[len(means) // 2] >= _HOURS_FROM_S else ("s", 1.0)


def _column(estimates: Sequence[_Estimate], scale: float, kind: str) -> list[str]:
    """Return the cells of a column, all with the same number of decimals."""
    scaled = [
        (None if mean is None else mean * scale, None if half is None else half * scale)
        for mean, half in estimates
    ]
    if kind == "count":
        whole = all(mean is None or (mean == int(mean) and not half) for mean, half in scaled)
        scaled = [(mean, half or None) for mean, half in scaled]  # equal counts need no interval
        decimals = 0 if whole else 1
    else:
        decimals = _decimals([mean for mean, _ in scaled if mean], 4 if kind == "time" else 3)
        decimals = max(decimals, 1 if kind == "fraction" else 0)  # 100.0 does not cost 85.3 its decimal
    return [_cell(mean, half, decimals) for mean, half in scaled]


def _cell(mean: float | None, half: float | None, decimals: int) -> str:
    if mean is None:
        return "-"
    text = f"{mean:.{decimals}f}"
    return text if half is None else f"{text} +- {half:.{decimals}f}"


def _decimals(values: Sequence[float], digits: int) -> int:
    """Return the decimals that show so many digits of the greatest value, and nearly so of the least.

    The least has one digit less, unless that takes more than two further decimals.
    """
    if not values:
        return 0
    of_greatest, of_least = (
        max(count - 1 - int(f"{value:.{count - 1}e}".partition("e")[2]), 0)  # after rounding: 999.96 is 1000
        for value, count in ((max(values), digits), (min(values), digits - 1))
    )
    return min(max(of_greatest, min(of_least, of_greatest + 2)), 6)
