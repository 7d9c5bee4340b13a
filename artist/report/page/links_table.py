"""The table of the links that jobs contended for longest. Pure."""

from collections.abc import Mapping, Sequence

from artist.report.page.datatable import Cell, Column, DataTable
from artist.results.links import SharedLink
from artist.results.measures import number_texts

_COLUMNS = (
    Column("row", "row", word=True),
    Column("link", "link", word=True),
    Column("gbit_s", "capacity", "Gb/s"),
    Column("contended", "contended", "% of time"),
    Column("use", "mean use", "%"),
)


def links_table(links: Mapping[str, Sequence[SharedLink]]) -> DataTable | None:
    """Return the table of links by name of a row; None if there are none."""
    found = [(name, link) for name, each in links.items() for link in each]
    if not found:
        return None
    numbers = [[link.gbit_s, link.contended, link.use] for _, link in found]
    shown = [
        number_texts([(number, None) for number in column], scale, kind)
        for column, scale, kind in zip(
            zip(*numbers, strict=True), (1, 100, 100), ("ratio", "fraction", "fraction"), strict=True
        )
    ]
    rows = tuple(
        (
            *(Cell(name, name), Cell(link.name, link.name)),
            *(Cell(texts[at][0], number) for texts, number in zip(shown, numbers[at], strict=True)),
        )
        for at, (name, link) in enumerate(found)
    )
    breaks = frozenset(at for at in range(1, len(found)) if found[at][0] != found[at - 1][0])
    return DataTable("links", _COLUMNS, rows, tuple(f"{n} {link.name}".lower() for n, link in found), breaks)
