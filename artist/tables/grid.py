"""Tables of texts: aligned lines, or CSV."""

import csv
import io
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape

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
    ranks
        Of each column, 0 for those that stay; empty if all do. `fitted` leaves out the highest first.
    """

    heads: tuple[tuple[str, str, str], ...]
    rows: tuple[tuple[str, ...], ...]
    words: int
    note: str = ""
    ranks: tuple[int, ...] = ()

    def fitted(self, width: int | None) -> "Grid":
        """Return the table without columns for which it is too wide; its note names them."""
        if width is None or not self.ranks:
            return self
        widths = [max(map(len, column)) for column in zip(*self._lines(), strict=True)]
        kept = list(range(len(self.heads)))
        for column in sorted(filter(self.ranks.__getitem__, kept), key=lambda column: -self.ranks[column]):
            if sum(widths[one] + 2 for one in kept) - 2 > width:
                kept.remove(column)
        out = [_name(head) for column, head in enumerate(self.heads) if column not in kept]
        if not out:
            return self
        heads = tuple(self.heads[column] for column in kept)
        rows = tuple(tuple(row[column] for column in kept) for row in self.rows)
        words = sum(column < self.words for column in kept)
        note = f"left out at {width} characters: {', '.join(out)}; --wide shows all\n{self.note}".rstrip()
        return replace(self, heads=heads, rows=rows, words=words, note=note, ranks=())

    def text(self) -> str:
        """Return the table as aligned lines."""
        lines = self._lines()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = "\n".join([*(self._line(line, widths) for line in lines), *[self.note][: bool(self.note)]])
        return printable(text)

    def html(self, caption: str) -> str:
        """Return the table as HTML, such as notebooks show, with its note below."""

        def row(tag: str, cells: Sequence[str]) -> str:
            return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

        heads = ["".join(head) for head in self.heads[: self.words]]
        heads += [_name(head) + f" ({head[2]})" * bool(head[2]) for head in self.heads[self.words :]]
        body = "".join(row("td", cells) for cells in self.rows)
        note = f"<small>{escape(self.note)}</small>" if self.note else ""
        table = f"<thead>{row('th', heads)}</thead><tbody>{body}</tbody>"
        return f"<table><caption>{escape(caption)}</caption>{table}</table>{note}"

    def _lines(self) -> list[tuple[str, ...]]:
        return [*zip(*self.heads, strict=True), *self.rows]

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        padded = (
            cell.ljust(width) if i < self.words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join(padded).rstrip()


def _name(head: Sequence[str]) -> str:
    """Return the heading of a column as words.

    >>> _name(("preemp-", "tions", "")), _name(("JCT", "mean", "h"))
    ('preemptions', 'JCT mean')
    """
    return f"{head[0]} {head[1]}".replace("- ", "").strip()


def terminal_width() -> int | None:
    """Return the characters in a line of the terminal, also of one behind a pipe; None without one."""
    with suppress(ValueError):
        return int(os.environ.get("COLUMNS", ""))
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # no terminal; closed
            return os.get_terminal_size(stream.fileno()).columns
    return None


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
