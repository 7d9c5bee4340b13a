"""The table of users or virtual clusters. Pure."""

from collections.abc import Sequence

from artist.report.page.datatable import Cell, Column, DataTable
from artist.results.digest import Digest, Member
from artist.results.measures import column_unit, number_texts

TOP_MEMBERS = 20


def members_table(name: str, title: str, digests: Sequence[Digest]) -> DataTable | None:
    """Return the table of users or virtual clusters; None if no row names any.

    Parameters
    ----------
    name
        "users" or "vcs". Those with most GPU time over all rows are shown, in every row.
    """
    totals: dict[str, float] = {}
    every: list[tuple[Digest, Member]] = []
    for each in digests:
        for member in getattr(each, name):
            totals[member.name] = totals.get(member.name, 0.0) + member.gpu_hours
            every.append((each, member))
    top = sorted(totals, key=lambda key: (-totals[key], key))[:TOP_MEMBERS]
    if not top:
        return None
    chosen = [(each, member) for wanted in top for each, member in every if member.name == wanted]
    numbers = [_member_numbers(member) for _, member in chosen]
    jct, queue = (
        column_unit("time", [row[i] for row in numbers for i in places]) for places in ((1, 2, 3), (4,))
    )
    columns = [
        Column(name, title, word=True),
        Column("row", "row", word=True),
        Column("jobs", "jobs"),
        *(Column(f"jct_{word}", f"JCT {word}", jct[0]) for word in ("mean", "median", "p95")),
        Column("queue", "queue mean", queue[0]),
        Column("gpu_hours", "GPU-hours"),
    ]
    factors = (1.0, jct[1], jct[1], jct[1], queue[1], 1.0)
    kinds = ("count", "time", "time", "time", "time", "time")
    texts = [
        number_texts([(row[i], None) for row in numbers], factors[i], kinds[i]) for i in range(len(factors))
    ]
    rows = []
    for at, (each, member) in enumerate(chosen):
        cells = [Cell(texts[i][at][0], numbers[at][i]) for i in range(len(factors))]
        rows.append((Cell(member.name, member.name), Cell(each.group.name, each.group.name), *cells))
    found_by = tuple(f"{row[0].text} {row[1].text}".lower() for row in rows)
    per_name = [member.name for _, member in chosen]
    breaks = frozenset(i for i in range(1, len(rows)) if per_name[i] != per_name[i - 1] and len(digests) > 1)
    return DataTable(name, tuple(columns), tuple(rows), found_by, breaks)


def _member_numbers(member: Member) -> tuple[float | None, ...]:
    times = member.jct_s or (None, None, None)
    return (member.jobs, *times, member.queueing_s, member.gpu_hours)
