"""A table of the page, which a reader can sort and filter, and its HTML. Pure."""

from dataclasses import dataclass
from html import escape

MINUS = "\u2212"
_MAX_SLIM, _MIN_LONG = 9, 16  # columns and rows of a table that is printed in two columns


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes
    ----------
    name
        Its name in the page's script.
    title, unit
        Its heading; the title may be broken after a space.
    word
        Whether it holds words, not numbers.
    more
        Whether it is hidden until all columns are asked for.
    compared
        Whether its cells have a difference to the baseline.
    """

    name: str
    title: str
    unit: str = ""
    word: bool = False
    more: bool = False
    compared: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: text, sort value, and difference to the baseline.

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
        Search text of each row.
    breaks
        Rows above which there is a line, before anything is sorted.
    """

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    texts: tuple[str, ...]
    breaks: frozenset[int] = frozenset()


def html_table(table: DataTable) -> str:
    """Return a table with its tools."""
    heads = "".join(_head(i, column) for i, column in enumerate(table.columns))
    rows = []
    for at, (row, text) in enumerate(zip(table.rows, table.texts, strict=True)):
        new = ' class="new"' if at in table.breaks else ""
        cells = "".join(_cell(i, *pair) for i, pair in enumerate(zip(table.columns, row, strict=True)))
        rows.append(f'<tr{new} data-text="{escape(text)}">{cells}</tr>')
    more = any(column.more for column in table.columns)
    slim = " slim" * is_slim(table)
    box = '<label><input type="checkbox"> all columns</label>' if more else ""
    return (
        f'<div class="tools" data-for="{table.name}" hidden><input type="search" '
        f'placeholder="filter rows: type words" aria-label="filter rows of the table">{box}'
        f'<span class="count" aria-live="polite"></span></div>'
        f'<div class="wide{slim}"><table class="data" id="{table.name}"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def is_slim(table: DataTable) -> bool:
    """Return whether a table is printed in two columns."""
    return len(table.columns) <= _MAX_SLIM and len(table.rows) >= _MIN_LONG


def signed_per_cent(part: float) -> str:
    """Return a difference as text, +3.2 %, with its significant digits."""
    if not part:
        return "="
    size = abs(100 * part)
    if size < 0.05:
        return "&asymp; 0 %"
    text = f"{size:.1f}" if size < 99.95 else f"{size:.0f}"
    return f"{'+' if part > 0 else MINUS}{text} %"


def _classes(number: int, column: Column, *others: str) -> str:
    names = [*(["word"] * column.word), *(["more"] * column.more), *(["first"] * (number == 0)), *others]
    return f' class="{" ".join(names)}"' if names else ""


def _head(number: int, column: Column) -> str:
    unit = f"<br><small>{escape(column.unit)}</small>" if column.unit else ""
    title = escape(column.title).replace(" ", "<br>", 1).replace(".", ".<wbr>") or "&nbsp;"
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
