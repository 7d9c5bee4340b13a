"""Read the user's files: plain or gzipped, CSV or JSON; every fault is an InputError."""

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from artist.errors import InputError
from netmodels.files import read_text as read_text

if TYPE_CHECKING:  # not every command reads a table, and pandas takes a quarter of a second
    import pandas as pd

_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def read_csv(path: Path, kind: str = "trace") -> "pd.DataFrame":
    """Return a comma-separated file with a header; all values as text, the index being the line number.

    Parameters
    ----------
    kind
        Kind of the file, for messages.

    Raises
    ------
    InputError
        As `read_text`; and if the file is empty, or a row has more fields than the header.
    """
    import pandas as pd

    text = read_text(path, kind)
    if not text.strip():
        allowed = f"a header, and the rows of a {kind} file"
        raise InputError("empty file", where=str(path), found="", allowed=allowed)
    header = text.partition("\n")[0]
    _check_commas(header, header_of(header, f"{path}, line 1"), f"{path}, line 1")
    table = parse(text, path)
    if not isinstance(table.index, pd.RangeIndex):
        found = f"{table.index.nlevels + len(table.columns)} fields"
        allowed = f"{len(table.columns)} fields, as in the header"
        raise InputError("more fields than the header", where=f"{path}, line 2", found=found, allowed=allowed)
    table.columns = table.columns.str.strip()
    return by_line(table, 2)


def parse(text: str, path: Path, separator: str = ",") -> "pd.DataFrame":
    """Return a table with a header as text values; surplus fields of its rows become its index.

    Raises
    ------
    InputError
        If it is not a table.
    """
    import pandas as pd

    try:
        return pd.read_csv(
            io.StringIO(text), sep=separator, dtype=str, keep_default_na=False, skip_blank_lines=False
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        found = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise InputError("not a table", where=str(path), found=found, allowed="one row a job") from None


def by_line(table: "pd.DataFrame", first: int) -> "pd.DataFrame":
    """Return the rows that are not blank, indexed by line number; the top row is on line `first`."""
    import pandas as pd

    table.index = pd.RangeIndex(first, len(table) + first, name="line")
    blank = table.isna() | table.isin([""])
    return table[~blank.all(axis=1)]


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
    """Return names of columns without surrounding spaces; raise InputError if two are the same.

    pandas would rename the second.
    """
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
    """Return the content of a JSON file; `allowed` says what it should be.

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
        where, found = f"{where}, line {error.lineno}, column {error.colno}", error.msg
    except RecursionError:
        found = "too deep"
    except ValueError as error:  # a number of thousands of digits, or half a character
        found = str(error)
    raise InputError("malformed JSON", where=where, found=found, allowed=allowed)


def read_json_records(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file that holds one JSON array of objects.

    Raises
    ------
    InputError
        As `read_text`; and if the file is not such an array.
    """
    records = read_json(path, "one JSON array")
    if not isinstance(records, list):
        found = type(records).__name__
        raise InputError(
            "not a list of jobs", where=str(path), found=found, allowed="one JSON array of objects"
        )
    if not records:
        raise InputError("no jobs", where=str(path), found=[], allowed="at least one job")
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            where = f"{path}, entry {number}"
            raise InputError("not a job", where=where, found=record, allowed="a JSON object")
    return records
