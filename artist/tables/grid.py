"""Tables of texts: aligned lines, or CSV."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of texts: three lines of heading and the rows.

    Attributes
    ----------
    words
        How many columns at the left are words.
    note
        Lines below the table; may be empty.
    """

    heads: tuple[tuple[str, str, str], ...]
    rows: tuple[tuple[str, ...], ...]
    words: int
    note: str = ""

    def text(self) -> str:
        """Return the table as aligned lines."""
        lines = [*zip(*self.heads, strict=True), *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = "\n".join([*(self._line(line, widths) for line in lines), *[self.note][: bool(self.note)]])
        return printable(text)

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        padded = (
            cell.ljust(width) if i < self.words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join(padded).rstrip()


def printable(text: str) -> str:
    """Return a text without characters that command a terminal, such as escapes in the name of a policy."""
    return "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in text)


def csv_text(lines: Iterable[Sequence[object]]) -> str:
    """Return lines as CSV; a text that a spreadsheet would take for a formula begins with an apostrophe."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_cell(cell) for cell in line] for line in lines)
    return text.getvalue()


def _cell(cell: object) -> object:
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def clip(text: str, limit: int) -> str:
    """Return a text without its middle if it is longer than `limit` characters; ends are most distinctive."""
    if len(text) <= limit:
        return text
    head = (limit - 3) // 2
    return f"{text[:head]}...{text[head + 3 - limit :]}"


def percent(fraction: float) -> str:
    """Return a percentage with two significant digits, or more if it is large."""
    percent = 100 * fraction
    if percent == 0:
        return "0"
    return f"{percent:,.1f}" if percent >= 10 else f"{percent:.2g}"
