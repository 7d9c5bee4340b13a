"""Comparisons as CSV, for programs."""

from collections.abc import Sequence
from dataclasses import astuple

from artist.results.compare import Comparison
from artist.results.fairness import FAIRNESS, Fairness
from artist.results.measures import ALL_METRICS, METRICS, change, estimate, estimate_of
from artist.tables.grid import csv_text


def comparison_csv(comparison: Comparison, fair: Sequence[Sequence[Fairness]] = ()) -> str:
    """Return a comparison as CSV in seconds and fractions, ends of intervals in columns of their own.

    Parameters
    ----------
    fair
        Slowdown and fairness of the runs of each row, for further columns.
    """
    names = [*(metric.name for metric in ALL_METRICS), *(FAIRNESS if fair else ())]
    columns = [column for name in names for column in _columns(name)]
    lines: list[Sequence[object]] = [[*comparison.keys, "runs", *columns]]
    for row, group in enumerate(comparison.groups):
        summaries = [run.summary for run in group.runs]
        estimates = [estimate(metric, summaries) for metric in ALL_METRICS]
        if fair:
            numbers = zip(*(astuple(of_run) for of_run in fair[row]), strict=True)
            estimates += [estimate_of(of_runs, summaries) for of_runs in numbers]
        cells = [_plain(number) for ends in estimates for number in ends]
        lines.append([*group.values, len(group.runs), *cells])
    return csv_text(lines)


def seeds_csv(comparison: Comparison, fair: Sequence[Sequence[Fairness]] = ()) -> str:
    """Return a comparison seed by seed as CSV in seconds and fractions: a line for each run.

    Parameters
    ----------
    fair
        As for `comparison_csv`.
    """
    names = [*(metric.name for metric in ALL_METRICS), *(FAIRNESS if fair else ())]
    lines: list[Sequence[object]] = [[*comparison.keys, "seed", *names]]
    for row, group in enumerate(comparison.groups):
        for number, run in enumerate(group.runs):
            numbers = [metric.of(run.summary) for metric in ALL_METRICS]
            numbers += astuple(fair[row][number]) if fair else ()
            lines.append([*group.values, run.summary["seed"], *map(_plain, numbers)])
    return csv_text(lines)


def changes_csv(comparison: Comparison, baseline: Sequence[int]) -> str:
    """Return the differences of rows from their baselines, seed by seed, as CSV of fractions.

    Parameters
    ----------
    baseline
        For each row the one that it is measured against; its own row has no line.
    """
    columns = [name for metric in METRICS for name in _columns(metric.name)]
    lines: list[Sequence[object]] = [[*comparison.keys, "baseline", *columns]]
    for row, group in enumerate(comparison.groups):
        other = comparison.groups[baseline[row]]
        if other is not group:
            changes = [change(metric, group, other) for metric in METRICS]
            cells = [_plain(number) for ends in changes for number in ends]
            lines.append([*group.values, other.label, *cells])
    return csv_text(lines)


def _columns(name: str) -> tuple[str, str, str]:
    return name, f"{name}_low95", f"{name}_high95"


def _plain(number: float | None) -> str:
    if number is None:
        return ""
    return str(int(number)) if number == int(number) else repr(number)
