"""The table of all metrics: absolute, and as difference to the baseline. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from artist.report.page.datatable import Cell, Column, DataTable
from artist.results.compare import Comparison
from artist.results.coverage import OVERLOADED, mark
from artist.results.measures import (
    METRICS,
    MORE_METRICS,
    Estimate,
    Metric,
    column_unit,
    comparable,
    difference,
    estimate,
    is_level,
    is_negligible,
    number_texts,
)
from artist.results.names import short_key
from artist.results.scenarios import Contest
from artist.results.stand_ins import stand_ins

# A phone shows the compared numbers first.
_COUNTS = tuple(metric for metric in METRICS if metric.name in ("jobs", "finished"))
_FIRST = (*(metric for metric in METRICS if metric not in _COUNTS), *_COUNTS)


def comparison_table(comparison: Comparison, contest: Contest, growing: Collection[int] = ()) -> DataTable:
    """Return the table of all metrics: absolute, and as difference to the baseline."""
    groups = comparison.groups
    columns = [*_setting_columns(comparison, growing)]
    stood_in = stand_ins([run.summary for group in groups for run in group.runs])
    for metric in (*_FIRST, *stood_in, *MORE_METRICS):
        compared = metric not in (*_COUNTS, *stood_in)
        column = _metric_column(comparison, contest, metric, compared)
        columns += [column] if column is not None else []
    if any(len(group.runs) > 1 for group in groups):
        runs = [Cell(str(len(group.runs)), float(len(group.runs))) for group in groups]
        columns.append((Column("runs", "runs"), runs))
    order = [row for scenario in contest.scenarios for row in scenario.rows]
    rows = tuple(tuple(cells[row] for _, cells in columns) for row in order)
    texts = tuple(_search_text(comparison, row) for row in order)
    first = {scenario.rows[0] for scenario in contest.scenarios}
    several = len(order) > len(contest.scenarios)
    breaks = frozenset(at for at, row in enumerate(order) if at and several and row in first)
    return DataTable("comparison", tuple(column for column, _ in columns), rows, texts, breaks)


def _setting_columns(comparison: Comparison, growing: Collection[int]) -> list[tuple[Column, list[Cell]]]:
    """Return the columns of the settings, after that of the letters if there are any; cells by row."""
    groups = comparison.groups
    letters = [Cell(group.letter, f"{row:04}") for row, group in enumerate(groups)]
    columns = [(Column("row", "", word=True), letters)] * any(group.letter for group in groups)
    for i, key in enumerate(comparison.keys):
        marks = [OVERLOADED * (not i and row in growing) for row in range(len(groups))]
        cells = [
            Cell(f"{group.shown[i]}{mark}", group.values[i])
            for group, mark in zip(groups, marks, strict=True)
        ]
        columns.append((Column(key, short_key(key), word=True), cells))
    return columns


def _metric_column(
    comparison: Comparison, contest: Contest, metric: Metric, compared: bool
) -> tuple[Column, list[Cell]] | None:
    """Return the column of a metric, cells by row; None where an optional one has no value."""
    groups = comparison.groups
    summaries = [[run.summary for run in group.runs] for group in groups]
    estimates = [estimate(metric, of_row) for of_row in summaries]
    if metric.optional and all(number.mean is None for number in estimates):
        return None
    unit, factor = column_unit(metric.quantity, [number.mean for number in estimates])
    column = Column(metric.name, _title(metric), unit, more=metric in MORE_METRICS, compared=compared)
    fair = [comparable(metric, group).mean for group in groups]
    cells = _metric_cells(estimates, fair, contest, metric, factor, compared)
    if metric.name == "finished":
        marks = map(mark, summaries)
        cells = [replace(cell, text=cell.text + star) for cell, star in zip(cells, marks, strict=True)]
    return column, cells


def _metric_cells(
    estimates: Sequence[Estimate],
    fair: Sequence[float | None],
    contest: Contest,
    metric: Metric,
    factor: float,
    compared: bool,
) -> list[Cell]:
    texts = number_texts([(number.mean, number.half) for number in estimates], factor, metric.quantity)
    best = _best(contest, metric.quantity, fair) if metric.low_is_good else set()
    cells = []
    for row, ((mean, *_), (text, half)) in enumerate(zip(estimates, texts, strict=True)):
        base = contest.baseline[row]
        apart = _apart(metric.quantity, fair[row], fair[base]) if compared and base != row else None
        cells.append(Cell(text, mean, half, apart, row in best))
    return cells


def _apart(quantity: str, value: float | None, reference: float | None) -> float | None:
    """Return the difference to the baseline as part of it, 0 where the two are as good as equal."""
    if value is not None and reference is not None and is_negligible(quantity, value, reference):
        return 0.0
    return difference(value, reference)


def _best(contest: Contest, quantity: str, means: Sequence[float | None]) -> set[int]:
    """Return the rows that are the best of their scenario or level with it; none where all of them are."""
    best: set[int] = set()
    for scenario in contest.scenarios:
        known = [(mean, row) for row in scenario.rows if (mean := means[row]) is not None]
        least = min(known, default=(0.0, 0))[0]
        level = {row for mean, row in known if is_level(quantity, mean, least)}
        best |= level if len(level) < len(known) else set()
    return best


def _title(metric: Metric) -> str:
    first, second = metric.title
    return first[:-1] + second if first.endswith("-") else f"{first} {second}".strip()


def _search_text(comparison: Comparison, row: int) -> str:
    group = comparison.groups[row]
    pairs = [f"{short_key(key)}={value}" for key, value in zip(comparison.keys, group.shown, strict=True)]
    return " ".join([group.letter, *pairs, group.label]).lower().strip()
