"""Dumps of Slurm's sacct as tables.

sacct escapes nothing: the name or the command of a job may hold the delimiter and ends of lines. Such rows
are put together again, by the number of fields and by the forms of states, times and TRES.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from artist.errors import InputError
from artist.tables.files import parse, read_text
from artist.tables.rows import BadRowsError, Column, Table

COMMAND = (
    "sacct -aDP -S START -E END -o JobID,User,Account,Partition,QOS,Submit,Start,End,Elapsed,Suspended,State,"
    "Timelimit,Priority,AllocTRES,ReqTRES,NNodes,Reservation,Flags"
)
JOB_ID = re.compile(r"\d+(?:_(?:\d+|\[[^\]]*\]?))?(?:\+\d+)?(?:\.[\w+]+)?")
_OTHER_NAMES = {  # of the accounting database, which some sites publish
    **{f"time_{name}": name for name in ("submit", "eligible", "start", "end", "suspended")},
    **{"id_job": "jobidraw", "id_user": "uid", "nodes_alloc": "allocnodes", "cpus_req": "reqcpus"},
    **{"tres_alloc": "alloctres", "tres_req": "reqtres", "mem_req": "reqmem"},
    **{"gres_used": "allocgres", "gres_alloc": "allocgres", "gres_req": "reqgres"},
}
_FREE = (
    *("jobname", "submitline", "comment", "admincomment", "systemcomment", "constraints", "workdir"),
    *("container", "extra", "stdin", "stdout", "stderr"),
)
_LISTS = (*_FREE, "nodelist", "flags", "allocgres", "reqgres")  # whose own commas may be the delimiter
SPAN = re.compile(r"(?:(\d+)(?:-| days? ?))?(?:(?:(\d+):)?(\d+):(\d\d(?:\.\d+)?))?")
_NUMBER, _WORD = re.compile(r"\d*"), re.compile(r"[\w.,@:+-]*")
_TIME = re.compile(r"\d{4}-\d\d-.*|\d*|[A-Z][a-z]+|N/A")
_SPAN = re.compile(rf"{SPAN.pattern}|\d*|[A-Z]\w*")
_TRES = re.compile(r"(?:[\w/:.+-]+=[^=,]*(?:,|$))*")
_FORMS = {
    **dict.fromkeys(("jobid", "jobidraw"), JOB_ID),
    **dict.fromkeys(("submit", "eligible", "start", "end"), _TIME),
    **dict.fromkeys(("elapsed", "timelimit", "suspended"), _SPAN),
    **dict.fromkeys(("alloctres", "reqtres"), _TRES),
    **dict.fromkeys(("user", "account", "partition", "qos", "cluster"), _WORD),
    **dict.fromkeys(("elapsedraw", "nnodes", "allocnodes", "ncpus", "alloccpus", "priority", "uid"), _NUMBER),
    "nodelist": re.compile(r"[\w.,\[\]-]*|None assigned"),
    "exitcode": re.compile(r"(?:\d+:\d+)?"),
    "state": re.compile(r"[A-Z_]+(?: by \d+)?\+?|\d+"),
}
_UNIT = "\x1f"  # ASCII's separator of fields, instead of that of the file
_MAX_PREAMBLE = 20  # lines


def read_sacct(path: Path, needed: Sequence[str]) -> Table:
    """Return the rows of a dump, plain or gzipped; all values as text.

    Parameters
    ----------
    needed
        Names of columns, in lower case; the table has those that the file has.

    Raises
    ------
    InputError
        If the file cannot be read, or has no header or no rows.
    BadRowsError
        For rows with more or fewer fields than the header.
    """
    text = read_text(path, "sacct", lenient=True)
    at, header, delimiter = _header(text, path)
    names = [name.strip(' "').lower() for name in header.split(delimiter)]
    names = [_OTHER_NAMES.get(name, name) for name in names]
    names = [f"{name}#{at}" if name in names[:at] else name for at, name in enumerate(names)]
    if delimiter in ",;\t" and (f'{delimiter}"' in text or header.startswith('"')):  # as spreadsheets write
        body = text.split("\n", at)[at] if text.count("\n") >= at else ""
        table = parse(f"{delimiter.join(names)}\n{body}", path, at + 1, "the header", separator=delimiter)
        return Table({name: table[name] for name in needed if name in table}, table.places, "line")
    data, repeated = text.replace(delimiter, _UNIT).encode(), f"\n{header}" in text
    del text  # a million jobs fill it
    columns = None if repeated or b"\n" not in data.rstrip(b"\n ") else _columns(data, at, names, needed)
    if columns is not None:
        count = len(next(iter(columns.values())))
        return Table(columns, np.arange(at + 1, at + 1 + count), "line")
    lines = data.decode().split("\n")
    rows, places, odd = _rows(lines[at:], at + 1, lines[at - 1], names)
    if not rows:
        raise InputError("no jobs", where=str(path), found="0 rows", allowed="at least one job")
    bad, whole = np.zeros(len(rows), dtype=bool), rows.copy()
    for row in odd:
        fields = rows[row].split(_UNIT)
        mended = _mended(fields, names, delimiter)
        bad[row] = mended is None
        whole[row] = _UNIT.join(mended or (fields + [""] * len(names))[: len(names)])
    columns = _columns("\n".join(whole).encode(), 0, names, needed) or {}
    table = Table(columns, np.array(places), "line")
    if bad.any():
        width = f"{rows[int(np.argmax(bad))].count(_UNIT) + 1} fields"
        what, allowed = "more or fewer fields than the header", f"{len(names)} fields, as in the header"
        fault = BadRowsError(what, table, bad, where=str(path), value=width, allowed=allowed)
        fault.rest = table.take(~bad)
        raise fault
    return table


def _header(text: str, path: Path) -> tuple[int, str, str]:
    """Return the number of the header's line, the line, and the delimiter."""
    where = str(path)
    if not text.strip():
        raise InputError("empty file", where=where, found="", allowed=f"the output of {COMMAND}")
    for at, line in enumerate(text.split("\n", _MAX_PREAMBLE)[:_MAX_PREAMBLE], 1):
        words = re.findall(r"\w+", line.lower())
        if {"submit", "time_submit"} & {*words} and len(words) > 2:
            header, where = line.strip("\r\n "), f"{path}, line {at}"
            between = re.match(r'"?\w+"?(\W+?)"?(?=\w)', header)
            delimiter = between[1].strip(" ") if between else ""
            if not delimiter:
                allowed = "a delimiter, as by sacct --parsable2"
                raise InputError("columns of fixed width", where=where, found=header, allowed=allowed)
            return at, header, delimiter
    first = next(line for line in text.split("\n") if line.strip())
    allowed = f"the output of {COMMAND}; of a dump by --noheader, the names of its --format as the first line"
    raise InputError("no header of sacct with Submit", where=where, found=first, allowed=allowed)


def _rows(
    lines: list[str], first: int, header: str, names: Sequence[str]
) -> tuple[list[str], list[int], list[int]]:
    """Return the rows with the lines that continue them, their first lines, and the rows of other lengths."""
    full, free = len(names) - 1, [at for at, name in enumerate(names) if name in _FREE]
    at = next((names.index(name) for name in ("jobid", "jobidraw") if name in names), len(names))
    led = at < min(free, default=len(names))  # no delimiter in a text moves the number of the job
    rows, places = list[str](), list[int]()
    for number, line in enumerate(lines, first):
        if not line.strip() or line == header:
            continue
        fields, before = line.count(_UNIT), rows[-1].count(_UNIT) if rows else full
        begins = not free or not rows
        if not begins and led:
            begins = fields == full <= before or (
                fields >= at and JOB_ID.fullmatch(line.split(_UNIT, at + 1)[at]) is not None
            )
        elif not begins:
            begins = fields >= full or before == full
        if begins:
            rows.append(line)
            places.append(number)
        else:
            rows[-1] += f" {line}"
    return rows, places, [row for row, line in enumerate(rows) if line.count(_UNIT) != full]


def _mended(fields: list[str], names: Sequence[str], delimiter: str) -> list[str] | None:
    """Return the fields with delimiters put back into the texts that hold them; None if there is no way."""
    if delimiter == ",":
        fields = list(_with_tres(fields))
    free = _LISTS if delimiter == "," else _FREE
    more, dead = len(fields) - len(names), set[tuple[int, int]]()

    def rest(at: int, put_back: int) -> list[str] | None:
        """Return the columns from one on, some delimiters having been put back before it."""
        end = next((n for n in range(at, len(names)) if names[n] in free), len(names))
        cells = fields[at + put_back : end + put_back]
        forms = (_FORMS.get(name) for name in names[at:end])
        if not all(form is None or form.fullmatch(one) for form, one in zip(forms, cells, strict=True)):
            return None
        if end == len(names):
            return cells if put_back == more else None
        for here in range(more - put_back + 1):
            if (end, put_back + here) not in dead:
                if (tail := rest(end + 1, put_back + here)) is not None:
                    text = delimiter.join(fields[end + put_back : end + put_back + here + 1])
                    return [*cells, text, *tail]
                dead.add((end, put_back + here))
        return None

    return rest(0, 0) if more >= 0 else None


def _with_tres(fields: list[str]) -> Iterator[str]:
    """Yield the fields of a row delimited by commas, those of a list of TRES as one."""
    known, text = set[str](), ""
    for field in fields:
        name, equals, _ = field.partition("=")
        if equals and known and name not in known:
            text += f",{field}"
        else:
            if known:
                yield text
            text = field
            if not equals:
                yield field
            known = set()
        known |= {name} if equals else set()
    if known:
        yield text


def _columns(data: bytes, skip: int, names: Sequence[str], needed: Sequence[str]) -> dict[str, Column] | None:
    """Return the needed columns as text, equal values being one object; None if a row has other lengths."""
    import pyarrow as pa
    from pyarrow import csv

    kept, odd = [name for name in needed if name in names], list[csv.InvalidRow]()

    def note(row: csv.InvalidRow) -> str:
        odd.append(row)
        return "skip"

    text, padded = pa.dictionary(pa.int32(), pa.string()), any(one in data for one in (b" \x1f", b"\x1f "))
    table = csv.read_csv(
        pa.BufferReader(data),
        csv.ReadOptions(column_names=list(names), skip_rows=skip, block_size=1 << 24),
        csv.ParseOptions(
            delimiter=_UNIT, quote_char=False, ignore_empty_lines=False, invalid_row_handler=note
        ),
        csv.ConvertOptions(include_columns=kept, column_types=dict.fromkeys(kept, text)),
    )
    if odd or not table.num_rows:
        return None
    columns = {}
    for name in kept:
        column = table[name].combine_chunks()
        values = column.dictionary.to_pylist()
        values = np.array([value.strip() for value in values] if padded else values, dtype=object)
        columns[name] = values[column.indices.to_numpy()]
    return columns
