"""Read the user's files: plain or gzipped, CSV or JSON; every fault is an InputError."""

import csv
import io
import json
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from artist.errors import InputError, regular
from artist.tables.rows import BadRowsError, Column, Table
from netmodels.inputs.files import read_text as read_text

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_PARQUET = b"PAR1"
_END = 'end"'  # not what it says if the last quotation is open


def is_parquet(path: Path) -> bool:
    """Return whether a file is a Parquet table, by its first bytes; False if it cannot be read."""
    try:
        with regular(path.expanduser()).open("rb") as file:
            return file.read(len(_PARQUET)) == _PARQUET
    except (OSError, RuntimeError, ValueError):
        return False


def read_parquet(path: Path) -> Table:
    """Return a Parquet table; all values as text, dates ISO, spans in seconds, lists as a|b.

    Raises
    ------
    InputError
        If it is broken, or has no rows.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path.expanduser())
    except (pa.ArrowException, OSError) as error:
        problem = str(error).partition("\n")[0]
        raise InputError(
            "broken Parquet table", where=str(path), found=problem, allowed="a whole file"
        ) from None
    if not table.num_rows:
        raise InputError("no jobs", where=str(path), found="0 rows", allowed="at least one job")
    names = checked_names(table.column_names, str(path))
    return Table({name: _as_text(table.column(at)) for at, name in enumerate(names)})


def _as_text(column: Any) -> Column:
    """Return a column of Parquet as text; missing values are empty."""
    values = column.to_pandas(date_as_object=True)
    if values.dtype.kind in "mM":
        values = values.dt.total_seconds() if values.dtype.kind == "m" else values.astype(str)
    elif values.dtype.kind == "b":
        values = values.astype(int)
    return np.fromiter(map(_cell, values.tolist()), object, len(values))


def _cell(value: Any) -> str:
    if isinstance(value, list | tuple | np.ndarray):
        return "|".join(map(str, value))
    if isinstance(value, bool):
        return str(int(value))
    if value is None or value != value:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def read_csv(path: Path, kind: str = "trace") -> Table:
    """Return a comma-separated file with a header; all values as text.

    Parameters
    ----------
    kind
        Kind of the file, for messages.

    Raises
    ------
    InputError
        As `read_text`; and if the file is empty, or a row has more fields than the header.
    """
    text = read_text(path, kind)
    if not text.strip():
        allowed = f"a header, and the rows of a {kind} file"
        raise InputError("empty file", where=str(path), found="", allowed=allowed)
    header = text.partition("\n")[0]
    _check_commas(header, header_of(header, f"{path}, line 1"), f"{path}, line 1")
    return parse(text, path, 2, "the header", ", as in the header")


def parse(text: str, path: Path, first: int, columns: str, as_there: str = "", separator: str = ",") -> Table:
    """Return the rows of a table with a header that are not blank; all values as text.

    Parameters
    ----------
    first
        Number of the line below the header.
    columns, as_there
        Name of the line that sets the number of fields, for messages.

    Raises
    ------
    BadRowsError
        If rows have more fields than the header.
    InputError
        If it is not a table.
    """
    before = csv.field_size_limit(len(text) + len(_END))
    try:
        header, *rows = csv.reader(chain(io.StringIO(text), [_END]), delimiter=separator)
    finally:
        csv.field_size_limit(before)
    names = [name.strip() if name else f"Unnamed: {at}" for at, name in enumerate(header)]
    end = rows.pop() if rows else header
    width = len(names)
    problem = ""
    if not width:
        problem = "No columns to parse from file"
    elif end != [_END]:
        problem = f"EOF inside string starting at row {len(rows) + 1 if end is not header else 0}"
    if problem:
        raise InputError("not a table", where=str(path), found=problem, allowed="one row per job")
    lines = [number for number, row in enumerate(rows) if any(row)]
    cells = np.empty((len(lines), width), dtype=object)
    for at, number in enumerate(lines):
        row = rows[number]
        cells[at] = row if len(row) == width else (row + [""] * (width - len(row)))[:width]
    table = Table(dict(zip(names, cells.T, strict=True)), np.array(lines, dtype=np.int64) + first, "line")
    if max(map(len, rows), default=0) > width:
        long = np.array([len(rows[number]) > width for number in lines])
        fields = f"{len(rows[lines[np.argmax(long)]])} fields"
        what, allowed = f"more fields than {columns}", f"{width} fields{as_there}"
        bad = BadRowsError(what, table, long, where=str(path), value=fields, allowed=allowed)
        bad.rest = table.take(~long)
        raise bad
    return table


def header_of(line: str, where: str, separator: str = ",") -> list[str]:
    """Return the names in the first line of a table.

    Raises
    ------
    InputError
        If it is not such a line, or as in `checked_names`.
    """
    try:
        return checked_names(next(csv.reader([line], delimiter=separator), []), where)
    except csv.Error as error:
        allowed = "names of the columns"
        raise InputError("not a header", where=where, found=str(error), allowed=allowed) from None


def checked_names(names: Sequence[str], where: str) -> list[str]:
    """Return names of columns without surrounding spaces; raise InputError if two are the same."""
    stripped = [name.strip() for name in names]
    twice = next((name for name in stripped if name and stripped.count(name) > 1), None)
    if twice is not None:
        raise InputError("two columns of one name", where=where, found=twice, allowed="each column once")
    return stripped


def _check_commas(header: str, names: Sequence[str], where: str) -> None:
    """Raise InputError for separators other than commas."""
    if len(names) == 1 and (";" in header or "\t" in header):
        allowed = "commas between the columns"
        raise InputError("not separated by commas", where=where, found=header, allowed=allowed)


def read_json(path: Path, allowed: str) -> Any:
    """Return the content of a JSON file; `allowed` describes valid content.

    Raises
    ------
    InputError
        As `read_text`; and if it is not JSON.
    """
    text, where = read_text(path), str(path)
    try:
        content = json.loads(text)
        if _HALF.search(text):  # half a character, which results cannot hold
            json.dumps(content, ensure_ascii=False).encode()
        return content
    except json.JSONDecodeError as error:
        where, problem = f"{where}, line {error.lineno}, column {error.colno}", error.msg
    except RecursionError:
        problem = "too deep"
    except ValueError as error:  # a number of thousands of digits, or half a character
        problem = str(error)
    raise InputError("malformed JSON", where=where, found=problem, allowed=allowed)


def read_json_records(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file that holds one JSON array of objects.

    Raises
    ------
    InputError
        As `read_text`; and if the file is not such an array.
    """
    records = read_json(path, "one JSON array")
    if not isinstance(records, list):
        type_name = type(records).__name__
        raise InputError(
            "not a list of jobs", where=str(path), found=type_name, allowed="one JSON array of objects"
        )
    if not records:
        raise InputError("no jobs", where=str(path), found=[], allowed="at least one job")
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            where = f"{path}, entry {number}"
            raise InputError("not a job", where=where, found=record, allowed="a JSON object")
    return records
