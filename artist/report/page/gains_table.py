"""The table of who gains and who pays: groups of jobs in each row, against the baseline. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from artist.report.page.datatable import Cell, Column, DataTable
from artist.results.compare import Comparison
from artist.results.gains import MIN_IDEAL_S, MIN_JOBS, Gain
from artist.results.measures import column_unit, difference, number_texts

NOTE = (
    f"Mean wait and bounded slowdown of groups of at least {MIN_JOBS} jobs, in the baseline and in each row; "
    "the group that pays most is first. Bounded slowdown: completion time / time without waiting and "
    f"communication, the latter at least {MIN_IDEAL_S:.0f} s, and at least 1. A job counts in "
    "several groups: its owner's, its size's and, where the trace has them, its partition's and its QOS's. "
    "On a trace with real starts only jobs count whose wait is known: seen is their mean wait on the site."
)


def gains_table(comparison: Comparison, gains: Sequence[Gain]) -> DataTable | None:
    """Return the table; None without gains."""
    if not gains:
        return None
    unit, scale = column_unit("time", [wait_s for gain in gains for wait_s in gain.wait_s])
    before, after = zip(*(gain.wait_s for gain in gains), strict=True)
    slow_before, slow = zip(*(gain.slowdown for gain in gains), strict=True)
    columns = [
        (Column("row", "row", word=True), _words(comparison.groups[gain.row].name for gain in gains)),
        (Column("jobs_of", "jobs", word=True), _words(gain.name for gain in gains)),
        (Column("jobs", "number"), _cells([gain.jobs for gain in gains], "count")),
        (Column("seen", "seen wait", unit), _cells([gain.seen_s for gain in gains], "time", scale)),
        (Column("baseline", "baseline wait", unit), _cells(before, "time", scale)),
        (Column("wait", "mean wait", unit), _cells(after, "time", scale)),
        (Column("change", "change of wait", unit), _signed([gain.change_s for gain in gains], scale)),
        (Column("baseline_slowdown", "baseline slowdown"), _cells(slow_before, "ratio")),
        (Column("slowdown", "bounded slowdown", compared=True), _compared(slow, slow_before)),
    ]
    known = [pair for pair in columns if pair[0].name != "seen" or any(cell.value for cell in pair[1])]
    rows = tuple(zip(*(cells for _, cells in known), strict=True))
    texts = tuple(f"{row[0].text} {row[1].text}".lower() for row in rows)
    breaks = frozenset(at for at in range(1, len(gains)) if gains[at].row != gains[at - 1].row)
    return DataTable("gains", tuple(column for column, _ in known), rows, texts, breaks)


def _words(texts: Iterable[str]) -> list[Cell]:
    return [Cell(text, text) for text in texts]


def _cells(values: Sequence[float | None], quantity: str, scale: float = 1.0) -> list[Cell]:
    texts = number_texts([(value, None) for value in values], scale, quantity)
    return [Cell(text, value) for (text, _), value in zip(texts, values, strict=True)]


def _signed(values: Sequence[float], scale: float) -> list[Cell]:
    cells = _cells(values, "time", scale)
    return [Cell("+" * (value > 0) + cell.text, value) for cell, value in zip(cells, values, strict=True)]


def _compared(values: Sequence[float], others: Sequence[float]) -> list[Cell]:
    pairs = zip(_cells(values, "ratio"), values, others, strict=True)
    return [replace(cell, apart=difference(value, other)) for cell, value, other in pairs]
