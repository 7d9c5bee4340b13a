"""The HTML page of a report: one file that needs nothing else, with links to the runs. Pure."""

import re
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from artist.results.tables import Grid

_CSS = """
body { font: 16px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 90rem; padding: 1rem; color: #222; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .8rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .45rem; text-align: right; vertical-align: top; }
td { white-space: nowrap; }
th { vertical-align: bottom; border-bottom: 2px solid #444; } small { font-weight: normal; color: #555; }
tbody tr:nth-child(even) { background: #f4f4f4; }
.word { text-align: left; white-space: normal; }
img { display: block; width: 100%; min-width: 48rem; max-width: 72rem; height: auto; }
figure { margin: 0; } figcaption, .note { color: #555; font-size: .85rem; max-width: 60rem; }
li { overflow-wrap: anywhere; }
"""

Entry = tuple[str, str]  # a text, and the relative path of a folder to open; may be empty


def report_page(
    grid: Grid,
    figures: Sequence[tuple[str, str, bytes]],
    notes: Sequence[str],
    lists: Sequence[tuple[str, Sequence[Entry]]],
) -> str:
    """Return the page.

    Parameters
    ----------
    figures
        Heading, caption and SVG of each.
    notes
        Sentences under the table.
    lists
        Heading and entries of the lists at the end; empty ones are left out.
    """
    parts = [f'<div class="wide">{_table(grid)}</div>']
    parts += [f'<p class="note">{escape(note)}</p>' for note in notes]
    parts += [_figure(*figure) for figure in figures]
    parts += [_list(title, entries) for title, entries in lists if entries]
    return _PAGE.format(css=_CSS, body="\n".join(parts))


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>artist-sim report</title>
<style>{css}</style>
</head>
<body>
<h1>artist-sim report</h1>
{body}
</body>
</html>
"""


def _table(grid: Grid) -> str:
    heads = [
        _cell("th", i, grid, f"{_head(first, second)}<br><small>{escape(unit)}</small>")
        for i, (first, second, unit) in enumerate(grid.heads)
    ]
    rows = [
        "<tr>"
        + "".join(_cell("td", i, grid, _text(cell, i < grid.words)) for i, cell in enumerate(row))
        + "</tr>"
        for row in grid.rows
    ]
    return f"<table><thead><tr>{''.join(heads)}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _cell(tag: str, column: int, grid: Grid, content: str) -> str:
    side = ' class="word"' if column < grid.words else ""
    return f"<{tag}{side}>{content}</{tag}>"


def _head(first: str, second: str) -> str:
    text = first[:-1] + second if first.endswith("-") else f"{first} {second}".strip()
    return _breakable(text)


def _text(cell: str, word: bool) -> str:
    """Return a cell; a half width goes below its mean, which keeps the table narrow."""
    if word:
        return _breakable(cell)
    mean, interval, half = cell.partition(" +- ")
    return escape(mean) + (f"<br><small>&plusmn; {escape(half)}</small>" if interval else "")


def _breakable(text: str) -> str:
    """Return a text that may go on in the next line after each of its words."""
    return re.sub(r"(?<=[A-Za-z0-9])([._/=-]+)(?=[A-Za-z0-9])", r"\1<wbr>", escape(text))


def _figure(title: str, caption: str, svg: bytes) -> str:
    # As images, since the two drawings use the same ids inside.
    source = f"data:image/svg+xml;base64,{b64encode(svg).decode()}"
    return (
        f'<h2>{escape(title)}</h2><figure><div class="wide"><img alt="{escape(title)}" src="{source}"></div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _list(title: str, entries: Sequence[Entry]) -> str:
    items = "".join(f"<li>{_entry(*entry)}</li>" for entry in entries)
    return f"<h2>{escape(title)}</h2><ul>{items}</ul>"


def _entry(text: str, folder: str) -> str:
    link = f'<a href="{escape(quote(folder))}/">{escape(folder)}</a>' if folder else ""
    return " ".join(filter(None, (escape(text), link)))
