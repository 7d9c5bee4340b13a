"""Read tables that are not plain CSV: other separators, comments above the header, or no header."""

import io
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from artist.errors import InputError
from artist.workload.files import checked_names, header_of, read_text


def read_delimited(
    path: Path, *, separator: str = ",", header: Sequence[str] | None = None, comment: str | None = None
) -> pd.DataFrame:
    """Return a table, plain or gzipped; all values as text, the index being the line number.

    Parameters
    ----------
    separator
        One character between the columns.
    header
        Names of the columns of a file that has no header; None takes the first line.
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
        raise InputError("empty file", where=str(path), found="", allowed="one row a job")
    where = f"{path}, line {at + 1}"
    names = checked_names(header, where) if header else header_of(lines[at], where, separator)
    body = lines[at if header else at + 1 :]
    first = at + 1 if header else at + 2
    if comment:
        body = ["" if line.startswith(comment) else line for line in body]
    if not any(line.strip() for line in body):
        raise InputError("no jobs", where=str(path), found="0 rows", allowed="at least one job")
    return _parsed(body, names, separator, first, path)


def _parsed(body: list[str], names: list[str], separator: str, first: int, path: Path) -> pd.DataFrame:
    try:
        table = pd.read_csv(
            io.StringIO("\n".join([separator.join(map(_quoted, names)), *body])),
            sep=separator,
            dtype=str,
            keep_default_na=False,
            skip_blank_lines=False,
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        found = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise InputError("not a table", where=str(path), found=found, allowed="one row a job") from None
    if not isinstance(table.index, pd.RangeIndex):
        found = f"{table.index.nlevels + len(table.columns)} fields"
        where = f"{path}, line {first}"
        raise InputError("more fields than columns", where=where, found=found, allowed=f"{len(names)} fields")
    table.index = pd.RangeIndex(first, len(table) + first, name="line")
    blank = table.isna() | table.isin([""])
    return table[~blank.all(axis=1)]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
