"""The HTML page of a report: one file that needs nothing else, with links to the runs. Pure."""

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from urllib.parse import quote

from artist.report.page.datatable import DataTable, html_table, is_slim

TITLE = "artist-sim report"
# The narrow form of a figure is printed in a column unless its height / width is above the first number, or
# above that of the wide form times the second: at 4.1, both need the same area.
_TALL, _BROAD = 2.6, 3.6
_SHEET_MM, _ACROSS_MM, _COLUMN_MM = 268.0, 190.0, 92.0  # height and widths on a sheet of A4
_HEAD_MM, _LINE_MM, _CHARS_PER_MM, _HEAD_ROWS = 11.0, 3.7, 0.68, 3  # of headings, lines of text, and tables
Entry = tuple[str, str]  # a text, and the relative path of a folder or file to open; may be empty
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{css}</style>
</head>
<body>
<h1>{title}</h1>
{body}
<script>
{script}</script>
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class PageFigure:
    """A figure of the page.

    Attributes
    ----------
    name
        Of its files, without their ending.
    wide, narrow
        SVG for a desk and for a phone.
    """

    name: str
    title: str
    caption: str
    wide: bytes
    narrow: bytes


@dataclass(frozen=True, slots=True)
class Glance:
    """The picture below the answers, and the small table of words below it, with its note."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str
    figure: PageFigure | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the page with its heading and the sentences below it.

    Attributes
    ----------
    more
        Sentences that are shown with all columns.
    """

    name: str
    title: str
    table: DataTable
    notes: tuple[str, ...]
    more: tuple[str, ...] = ()


def report_page(
    title: str,
    lead: str,
    about: Sequence[tuple[str, str]],
    answers: Sequence[tuple[str, str]],
    lines: Sequence[tuple[str, str]],
    glance: Glance | None,
    more: Sequence[tuple[str, Sequence[tuple[str, str]]]],
    tables: Sequence[Section],
    figures: Sequence[PageFigure],
    sections: Sequence[Section],
    lists: Sequence[tuple[str, Sequence[Entry]]],
    footer: str,
) -> str:
    """Return the page.

    Parameters
    ----------
    title
        Heading.
    lead
        The subject of the comparison, in a sentence.
    about
        Topics and texts on the origin of the runs.
    answers, lines
        The main questions and their answers; further ones, below picture and table.
    glance
        Picture and small table.
    more
        Heading, topics and sentences of folded parts.
    tables, sections
        Tables before and after the figures.
    lists
        Heading and entries of the lists at the end; empty ones are left out.
    """
    order = _sheet_order(figures, _HEAD_MM + sum(map(_table_mm, sections)))
    places = [(f"of-{section.name}", section.title) for section in tables]
    places += [(figure.name, figure.title) for figure in figures]
    places += [(f"of-{section.name}", section.title) for section in sections]
    links = "".join(f'<a href="#{name}">{escape(title)}</a>' for name, title in places)
    parts = [
        f'<p class="lead">{escape(lead)}</p>',
        f'<div class="about">{_findings(about)}</div>' * bool(about),
        f'<section class="answer" id="answer">{_findings(answers)}</section>' * bool(answers),
        "" if glance is None else _glance(glance),
        f'<section class="findings" id="findings" aria-label="findings">{_findings(lines)}</section>'
        * bool(lines),
        *(
            f"<details><summary>{escape(title)}</summary>{_findings(findings)}</details>"
            for title, findings in more
            if findings
        ),
        f"<nav>{links}</nav>",
        *map(_section, tables),
        f'<div class="figures">{"".join(map(_figure, figures, order))}</div>',
        *map(_section, sections),
        *(_list(title, entries) for title, entries in lists if entries),
        f"<footer>{escape(footer)}</footer>",
    ]
    css, script = asset("page.css"), asset("page.js")
    return _PAGE.format(title=escape(title), css=css, script=script, body="\n".join(parts))


def asset(name: str) -> str:
    """Return the text of a file beside this module, for the page."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def slim(svg: bytes) -> bytes:
    """Return an SVG with two decimals in its paths, which halves it invisibly."""
    return re.sub(
        rb' d="[^"]*"', lambda path: re.sub(rb"(\.\d\d)\d+", rb"\1", path.group()).replace(b"\n", b""), svg
    )


def _findings(findings: Sequence[tuple[str, str]]) -> str:
    heads = (f"<b>{escape(topic)}{'.' * (topic[-1:] != '?')}</b> " if topic else "" for topic, _ in findings)
    return "".join(
        f"<p>{head}{_formatted(text)}</p>" for head, (_, text) in zip(heads, findings, strict=True)
    )


def _glance(glance: Glance) -> str:
    head = "".join(f'<th class="word" scope="col">{escape(text)}</th>' for text in glance.heads)
    cells = ["".join(f'<td class="word">{_formatted(text)}</td>' for text in row) for row in glance.rows]
    body = "".join(f"<tr>{cell}</tr>" for cell in cells)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    picture = "" if glance.figure is None else _image(glance.figure)
    beside = " beside" * (glance.figure is not None and glance.figure.wide == glance.figure.narrow)
    note = f'<p class="note">{escape(glance.note)}</p>' * bool(glance.note)
    return f'<div class="glance{beside}">{picture}<div class="small">{table}{note}</div></div>'


def _formatted(text: str) -> str:
    """Return a text as HTML: a number and its unit in one line, a command between backticks as code."""
    glued = re.sub(r"(?<=\d) (?=%|(?:h|min|s)\b)", "&nbsp;", escape(text))
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", glued)


def _section(section: Section) -> str:
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in section.notes)
    notes += "".join(f'<p class="note more">{escape(note)}</p>' for note in section.more)
    return f'<h2 id="of-{section.name}">{escape(section.title)}</h2>{html_table(section.table)}{notes}'


def _figure(figure: PageFigure, order: int) -> str:
    head = f'<h2 id="{escape(figure.name)}">{escape(figure.title)}</h2>'
    broad = " broad" * _is_broad(figure)
    return f'<section class="figure{broad}" style="order: {order}">{head}{_image(figure)}</section>'


def _sheet_order(figures: Sequence[PageFigure], tail_mm: float) -> list[int]:
    """Return the place of each figure on paper, narrow ones in pairs.

    From the last one on, each goes to the last sheet with room for it, so that the first one is left with the
    fewest: it begins on the sheet of the tables before.

    Parameters
    ----------
    tail_mm
        Height of all that follows the figures.
    """
    narrow = [i for i, figure in enumerate(figures) if not _is_broad(figure)]
    pairs = [narrow[at : at + 2] for at in range(0, len(narrow), 2)]
    rows = sorted([*pairs, *([i] for i in range(len(figures)) if i not in narrow)])
    sheets, rooms_mm = [list[list[int]]()], [_SHEET_MM - tail_mm % _SHEET_MM]
    for row in reversed(rows):
        height_mm = max(_height_mm(figures[i]) for i in row)
        at = next((at for at, room_mm in enumerate(rooms_mm) if height_mm <= room_mm), len(sheets))
        if at == len(sheets):
            sheets.append([])
            rooms_mm.append(_SHEET_MM)
        sheets[at].insert(0, row)
        rooms_mm[at] -= height_mm
    order = [i for sheet in reversed(sheets) for row in sheet for i in row]
    return [order.index(i) for i in range(len(figures))]


def _table_mm(section: Section) -> float:
    """Return the height of a table on paper, with its heading and notes, about."""
    rows = (len(section.table.rows) + _HEAD_ROWS) / (1 + is_slim(section.table))
    return _HEAD_MM + _LINE_MM * (rows + sum(-(-len(note) // 130) for note in section.notes))


def _height_mm(figure: PageFigure) -> float:
    """Return the height of a figure on paper, with its heading and caption, about."""
    width_mm, svg = (_ACROSS_MM, figure.wide) if _is_broad(figure) else (_COLUMN_MM, figure.narrow)
    lines = -(-len(figure.caption) // (_CHARS_PER_MM * width_mm))
    return _HEAD_MM + _shape(svg) * width_mm + _LINE_MM * lines


def _is_broad(figure: PageFigure) -> bool:
    """Return whether a figure is printed across the sheet: no column holds it, or it takes less paper so."""
    wide, narrow = map(_shape, (figure.wide, figure.narrow))
    return narrow > min(_TALL, _BROAD * wide)


def _shape(svg: bytes) -> float:
    """Return height / width of an SVG; 0 if unknown."""
    size = re.search(rb'width="([\d.]+)pt" height="([\d.]+)pt"|height="([\d.]+)pt".*?width="([\d.]+)pt"', svg)
    if size is None:
        return 0.0
    width, height = (size[1], size[2]) if size[1] else (size[4], size[3])
    return float(height) / float(width)


def _image(figure: PageFigure) -> str:
    # As images, since the drawings use the same ids inside.
    wide, narrow = (
        f"data:image/svg+xml;base64,{b64encode(svg).decode()}" for svg in (figure.wide, figure.narrow)
    )
    name = escape(figure.name)
    alt = f'alt="{escape(figure.title)}"'
    images = f'<img class="desk" {alt} src="{wide}"><img class="phone" {alt} src="{narrow}">'
    if wide == narrow:
        images = f'<img {alt} src="{wide}">'
    return (
        f"<figure>{images}"
        f'<figcaption>{escape(figure.caption)} <span class="files"><a href="{name}.png">PNG</a> '
        f'<a href="{name}.svg">SVG</a></span></figcaption></figure>'
    )


def _list(title: str, entries: Sequence[Entry]) -> str:
    items = "".join(f"<li>{_entry(*entry)}</li>" for entry in entries)
    mark = ' class="to-runs"' * any(place for _, place in entries)
    return f"<section{mark}><h2>{escape(title)}</h2><ul>{items}</ul></section>"


def _entry(text: str, place: str) -> str:
    link = f'<a href="{escape(quote(place))}">{escape(place)}</a>' if place else ""
    return " ".join(filter(None, (escape(text), link)))
