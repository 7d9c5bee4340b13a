"""Read tables that are not plain CSV: other separators, comments above the header, or no header."""

from collections.abc import Sequence
from pathlib import Path

from artist.errors import InputError
from artist.tables.files import checked_names, header_of, parse, read_text
from artist.tables.rows import Table

_TAB = "\t"
_SEPARATORS = (_TAB, ";", "|", ",")


def read_delimited(
    path: Path, *, separator: str = ",", header: Sequence[str] | None = None, comment: str | None = None
) -> Table:
    """Return a table, plain or gzipped; all values as text.

    Parameters
    ----------
    separator
        One character between the columns.
    header
        Names of the columns of a file without a header; None takes the first line.
    comment
        Lines that begin with this are skipped; None for no comments.

    Raises
    ------
    InputError
        If the file cannot be read, is empty, or a row has more or fewer fields than the header.
    """
    lines = read_text(path).split("\n")
    at = 0
    while at < len(lines) and (not lines[at].strip() or (comment and lines[at].startswith(comment))):
        at += 1
    if at == len(lines):
        raise InputError("empty file", where=str(path), found="", allowed="one row per job")
    where = f"{path}, line {at + 1}"
    if lines[at][:1] in ("{", "["):
        raise InputError("JSON", where=where, found=lines[at], allowed="a table, as text or Parquet")
    names = checked_names(header, where) if header else header_of(lines[at], where, separator)
    others = [one for one in _SEPARATORS if one in lines[at]]
    if len(names) == 1 and others:
        allowed = f"workload.separator={'tab' if others[0] == _TAB else repr(others[0])}"
        raise InputError(
            f"no {separator!r} between the columns", where=where, found=lines[at], allowed=allowed
        )
    body = lines[at if header else at + 1 :]
    first = at + 1 if header else at + 2
    if comment:
        body = ["" if line.startswith(comment) else line for line in body]
    if not any(line.strip() for line in body):
        raise InputError("no jobs", where=str(path), found="0 rows", allowed="at least one job")
    text = "\n".join([separator.join(map(_quoted, names)), *body])
    return parse(text, path, first, "columns", separator=separator)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
