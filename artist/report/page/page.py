"""The HTML page of a report: one file that needs nothing else, with links to the runs. Pure."""

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from urllib.parse import quote

from artist.report.page.datatable import DataTable, html_table

TITLE = "artist-sim report"
_TALL = 1.7  # height / width
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
        f'<div class="figures">{"".join(map(_figure, figures))}</div>',
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


def _figure(figure: PageFigure) -> str:
    head = f'<h2 id="{escape(figure.name)}">{escape(figure.title)}</h2>'
    return f'<section class="figure{" tall" * _is_tall(figure.narrow)}">{head}{_image(figure)}</section>'


def _is_tall(svg: bytes) -> bool:
    """Return whether an SVG is too tall for half a sheet of paper."""
    size = re.search(rb'width="([\d.]+)pt" height="([\d.]+)pt"|height="([\d.]+)pt".*?width="([\d.]+)pt"', svg)
    if size is None:
        return False
    width, height = (size[1], size[2]) if size[1] else (size[4], size[3])
    return float(height) > _TALL * float(width)


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
