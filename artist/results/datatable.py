"""Tables of the page, which a reader can sort and filter. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from artist.results.compare import Comparison
from artist.results.digest import Digest, Member
from artist.results.measures import (
    METRICS,
    MORE_METRICS,
    Estimate,
    Metric,
    column_unit,
    difference,
    estimate,
    is_level,
    is_negligible,
    number_texts,
)
from artist.results.names import short_key
from artist.results.scenarios import Contest

TOP_MEMBERS = 20
MINUS = "\u2212"
# What a phone shows first is what rows are compared by.
_COUNTS = tuple(metric for metric in METRICS if metric.name in ("jobs", "finished"))
_ORDER = (*(metric for metric in METRICS if metric not in _COUNTS), *_COUNTS, *MORE_METRICS)


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes
    ----------
    name
        What the page's script calls it.
    title, unit
        Its heading; the title may be broken after a space.
    word
        Whether it holds words, not numbers.
    more
        Whether it is hidden until all columns are asked for.
    compared
        Whether its cells say how far they are from the baseline.
    """

    name: str
    title: str
    unit: str = ""
    word: bool = False
    more: bool = False
    compared: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: what is shown, what it is sorted by, and its difference to the baseline.

    Attributes
    ----------
    half
        Text of the half width of its interval; may be empty.
    best
        Whether it is the best of its scenario, or level with it.
    """

    text: str
    value: float | str | None
    half: str = ""
    apart: float | None = None
    best: bool = False


@dataclass(frozen=True, slots=True)
class DataTable:
    """A table of the page.

    Attributes
    ----------
    texts
        What each row is found by.
    breaks
        Rows above which there is a line, before anything is sorted.
    """

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    texts: tuple[str, ...]
    breaks: frozenset[int] = frozenset()


def comparison_table(comparison: Comparison, contest: Contest) -> DataTable:
    """Return the table of all metrics: absolute, and as difference to the baseline."""
    groups = comparison.groups
    order = [row for scenario in contest.scenarios for row in scenario.rows]
    first = (
        {scenario.rows[0] for scenario in contest.scenarios} if len(order) > len(contest.scenarios) else set()
    )
    columns = [Column(key, short_key(key), word=True) for key in comparison.keys]
    cells = [[Cell(group.shown[i], group.values[i]) for group in groups] for i in range(len(comparison.keys))]
    if any(group.letter for group in groups):
        columns.insert(0, Column("row", "", word=True))
        cells.insert(0, [Cell(group.letter, f"{row:04}") for row, group in enumerate(groups)])
    for metric in _ORDER:
        compared = metric not in _COUNTS
        estimates = [estimate(metric, [run.summary for run in group.runs]) for group in groups]
        if metric.optional and all(each.mean is None for each in estimates):
            continue
        unit, factor = column_unit(metric.kind, [each.mean for each in estimates])
        columns.append(
            Column(metric.name, _title(metric), unit, more=metric not in METRICS, compared=compared)
        )
        cells.append(_metric_cells(estimates, contest, metric, factor, compared))
    if any(len(group.runs) > 1 for group in groups):
        columns.append(Column("runs", "runs"))
        cells.append([Cell(str(len(group.runs)), float(len(group.runs))) for group in groups])
    rows = tuple(tuple(column[row] for column in cells) for row in order)
    texts = tuple(_found_by(comparison, row) for row in order)
    breaks = frozenset(at for at, row in enumerate(order) if at and row in first)
    return DataTable("comparison", tuple(columns), rows, texts, breaks)


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
    lettered = any(each.group.letter for each in digests)
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
        label = f"{each.group.letter}: {each.group.label}" if lettered else each.group.label
        cells = [Cell(texts[i][at][0], numbers[at][i]) for i in range(len(factors))]
        rows.append((Cell(member.name, member.name), Cell(label, label), *cells))
    found_by = tuple(f"{row[0].text} {row[1].text}".lower() for row in rows)
    per_name = [member.name for _, member in chosen]
    breaks = frozenset(i for i in range(1, len(rows)) if per_name[i] != per_name[i - 1] and len(digests) > 1)
    return DataTable(name, tuple(columns), tuple(rows), found_by, breaks)


def html_table(table: DataTable) -> str:
    """Return a table with its tools."""
    heads = "".join(_head(i, column) for i, column in enumerate(table.columns))
    rows = []
    for at, (row, text) in enumerate(zip(table.rows, table.texts, strict=True)):
        new = ' class="new"' if at in table.breaks else ""
        cells = "".join(_cell(i, *pair) for i, pair in enumerate(zip(table.columns, row, strict=True)))
        rows.append(f'<tr{new} data-text="{escape(text)}">{cells}</tr>')
    more = any(column.more for column in table.columns)
    box = '<label><input type="checkbox"> all columns</label>' if more else ""
    return (
        f'<div class="tools" data-for="{table.name}" hidden><input type="search" '
        f'placeholder="filter rows: type words" aria-label="filter rows of the table">{box}'
        f'<span class="count" aria-live="polite"></span></div>'
        f'<div class="wide"><table class="data" id="{table.name}"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def signed_per_cent(part: float) -> str:
    """Return a difference as people read it: +3.2 %, with as many digits as say something."""
    if not part:
        return "="
    size = abs(100 * part)
    if size < 0.05:
        return "&asymp; 0 %"
    text = f"{size:.1f}" if size < 99.95 else f"{size:.0f}"
    return f"{'+' if part > 0 else MINUS}{text} %"


def _metric_cells(
    estimates: Sequence[Estimate], contest: Contest, metric: Metric, factor: float, compared: bool
) -> list[Cell]:
    texts = number_texts([(each.mean, each.half) for each in estimates], factor, metric.kind)
    best = _best(contest, metric.kind, [each.mean for each in estimates]) if metric.low_is_good else set()
    cells = []
    for row, ((mean, *_), (text, half)) in enumerate(zip(estimates, texts, strict=True)):
        base = contest.baseline[row]
        apart = _apart(metric.kind, mean, estimates[base].mean) if compared and base != row else None
        cells.append(Cell(text, mean, half, apart, row in best))
    return cells


def _apart(kind: str, value: float | None, reference: float | None) -> float | None:
    """Return the difference to the baseline as part of it, 0 where the two are as good as equal."""
    if value is not None and reference is not None and is_negligible(kind, value, reference):
        return 0.0
    return difference(value, reference)


def _best(contest: Contest, kind: str, means: Sequence[float | None]) -> set[int]:
    """Return the rows that are the best of their scenario or level with it; none where all of them are."""
    found: set[int] = set()
    for scenario in contest.scenarios:
        known = [(mean, row) for row in scenario.rows if (mean := means[row]) is not None]
        least = min(known, default=(0.0, 0))[0]
        level = {row for mean, row in known if is_level(kind, mean, least)}
        found |= level if len(level) < len(known) else set()
    return found


def _title(metric: Metric) -> str:
    first, second = metric.title
    return first[:-1] + second if first.endswith("-") else f"{first} {second}".strip()


def _found_by(comparison: Comparison, row: int) -> str:
    group = comparison.groups[row]
    pairs = [f"{short_key(key)}={value}" for key, value in zip(comparison.keys, group.shown, strict=True)]
    return " ".join([group.letter, *pairs, group.label]).lower().strip()


def _member_numbers(member: Member) -> tuple[float | None, ...]:
    times = member.jct_s or (None, None, None)
    return (member.jobs, *times, member.queueing_s, member.gpu_hours)


def _classes(number: int, column: Column, *others: str) -> str:
    names = [*(["word"] * column.word), *(["more"] * column.more), *(["first"] * (number == 0)), *others]
    return f' class="{" ".join(names)}"' if names else ""


def _head(number: int, column: Column) -> str:
    unit = f"<br><small>{escape(column.unit)}</small>" if column.unit else ""
    title = escape(column.title).replace(" ", "<br>", 1) or "&nbsp;"
    by = (
        '<button class="by" data-by="difference" title="sort by the difference">diff.</button>'
        * column.compared
    )
    return (
        f'<th{_classes(number, column)} data-name="{escape(column.name)}" scope="col">'
        f'<button data-by="value" title="sort">{title}{unit}</button>{by}</th>'
    )


def _cell(number: int, column: Column, cell: Cell) -> str:
    value = "" if cell.value is None else f' data-v="{escape(str(cell.value))}"'
    apart = "" if cell.apart is None else f' data-d="{cell.apart!r}"'
    text = escape(cell.text)
    if cell.best:
        text = f"<b>{text}</b>"
    if cell.half:
        text += f'<small class="half">&plusmn; {escape(cell.half)}</small>'
    if cell.apart is not None:
        text += f'<span class="diff">{signed_per_cent(cell.apart)}</span>'
    best = ["best"] * cell.best
    return f"<td{_classes(number, column, *best)}{value}{apart}>{text}</td>"
