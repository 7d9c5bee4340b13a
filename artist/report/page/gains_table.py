"""The table of who gains and who pays: groups of jobs in each row, against the baseline. Pure."""

from collections.abc import Sequence

from artist.report.page.datatable import Cell, Column, DataTable
from artist.results.compare import Comparison
from artist.results.gains import MIN_IDEAL_S, MIN_JOBS, Gain
from artist.results.measures import column_unit, difference, number_texts

NOTE = (
    f"Mean wait and bounded slowdown of groups of at least {MIN_JOBS} jobs, in the baseline and in each row; "
    "the group that pays most is first. Bounded slowdown: completion time / time without waiting and "
    f"communication, the latter at least {MIN_IDEAL_S:.0f} s, and at least 1. Groups overlap: every job has "
    "an owner, a size and, where the trace has them, a partition and a QOS. On a trace with real starts only "
    "jobs count whose wait is known: seen is their mean wait on the site."
)


def gains_table(comparison: Comparison, gains: Sequence[Gain]) -> DataTable | None:
    """Return the table; None without gains."""
    if not gains:
        return None
    names = [comparison.groups[gain.row].name for gain in gains]
    seen = [gain.seen_s for gain in gains]
    waits = [[gain.wait_s[i] for gain in gains] for i in (0, 1)]
    slowdowns = [[gain.slowdown[i] for gain in gains] for i in (0, 1)]
    changes = [gain.change_s for gain in gains]
    unit, scale = column_unit("time", [*waits[0], *waits[1]])
    times = number_texts([(value, None) for value in (*seen, *waits[0], *waits[1], *changes)], scale, "time")
    ratios = number_texts([(value, None) for of_row in slowdowns for value in of_row], 1.0, "ratio")
    count = len(gains)
    seen_texts, before, after, change = (times[i * count : (i + 1) * count] for i in range(4))
    columns = [
        (Column("row", "row", word=True), [Cell(name, name) for name in names]),
        (Column("jobs_of", "jobs", word=True), [Cell(gain.name, gain.name) for gain in gains]),
        (Column("jobs", "number"), [Cell(str(gain.jobs), float(gain.jobs)) for gain in gains]),
    ]
    if any(value is not None for value in seen):
        columns.append((Column("seen", "seen wait", unit), _cells(seen_texts, seen)))
    signed = [("+" if value > 0 else "") + text for (text, _), value in zip(change, changes, strict=True)]
    apart = [difference(*reversed(gain.slowdown)) for gain in gains]
    slow = [
        Cell(text, value, apart=part)
        for (text, _), value, part in zip(ratios[count:], slowdowns[1], apart, strict=True)
    ]
    columns += [
        (Column("baseline", "baseline wait", unit), _cells(before, waits[0])),
        (Column("wait", "mean wait", unit), _cells(after, waits[1])),
        (Column("change", "change of wait", unit), list(map(Cell, signed, changes))),
        (Column("baseline_slowdown", "baseline slowdown"), _cells(ratios[:count], slowdowns[0])),
        (Column("slowdown", "bounded slowdown", compared=True), slow),
    ]
    rows = tuple(zip(*(cells for _, cells in columns), strict=True))
    texts = tuple(f"{row[0].text} {row[1].text}".lower() for row in rows)
    breaks = frozenset(at for at in range(1, count) if gains[at].row != gains[at - 1].row)
    return DataTable("gains", tuple(column for column, _ in columns), rows, texts, breaks)


def _cells(texts: Sequence[tuple[str, str]], values: Sequence[float | None]) -> list[Cell]:
    return [Cell(text, value) for (text, _), value in zip(texts, values, strict=True)]
