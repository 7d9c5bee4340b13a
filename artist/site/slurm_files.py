"""Lines of Slurm's files: words KEY=VALUE, included files, lists of names, prints of sacctmgr.

Source: slurm.conf(5), sacctmgr(1). Keys have any case, `#` begins a comment, a backslash at its end continues
a line. `Include` is relative to the file that names it. A file is read once.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path

from artist.errors import InputError
from netmodels.inputs.files import read_text

_BESIDE = ("topology.conf", "gres.conf")  # read where they lie beside a file
_MAX_NAMES = 100_000
_COMMENT = re.compile(r"(?<!\\)#.*")
_WORD = re.compile(r'([\w.]+)\s*=\s*("[^"]*"|\S+)\s*')
_SHOWN = re.compile(r"(\S+)\s*=\s?(.*)")  # by scontrol show config
_INCLUDE = re.compile(r"include\s+(\S+)", re.IGNORECASE)
_DUMPED = re.compile(r"(Cluster|Parent|Account|User|QOS)\s+-\s+'?([^':]*)'?(.*)", re.IGNORECASE)
_OPTION = re.compile(r":\s*(\w+)\+?=('[^']*'|[^:']*)")
_NAMED = ("", "Name", "Cluster", "Account", "User", "Par Name")  # of tables
_NAMES = re.compile(r"(?:[^\s,\[\]]|\[\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*\])+")


@dataclass(frozen=True, slots=True)
class Line:
    """A line: file and number, its values by key in lower case, the first key, and the keys as written."""

    where: str
    values: dict[str, str]
    keys: dict[str, str]

    @property
    def head(self) -> str:
        """The first key, in lower case."""
        return next(iter(self.values))

    def get(self, *keys: str) -> str:
        """Return the value of the first of some keys that the line has, else an empty text."""
        return next((self.values[key] for key in keys if key in self.values), "")


def line_of(where: str, words: Iterable[tuple[str, str]]) -> Line:
    """Return a line of words; a later one replaces an earlier one with the same key."""
    pairs = [(key, value.strip("\"'")) for key, value in words]
    return Line(where, {key.lower(): value for key, value in pairs}, {key.lower(): key for key, _ in pairs})


def read_lines(paths: Iterable[Path]) -> tuple[list[Line], list[Path]]:
    """Return the lines of some files, of those that they include and of those beside them; and all files."""
    lines, files = list[Line](), list[Path]()
    for path in paths:
        for file in (path, *(path.parent / name for name in _BESIDE if (path.parent / name).is_file())):
            lines += _lines_of(file, files)
    return lines, files


def _lines_of(path: Path, files: list[Path]) -> Iterator[Line]:
    """Yield the lines of a file that is not in `files`, and add it there."""
    rows = list(_rows(read_text(path, "slurm.conf, or scontrol's or sacctmgr's")))
    if path.resolve() in [file.resolve() for file in files]:
        return
    files.append(path)
    if not rows:
        raise InputError(
            "the file is empty", where=str(path), allowed="lines such as NodeName=n[1-8] CPUs=64"
        )
    shown = rows[0][1].startswith("Configuration data as of")
    if "|" in rows[0][1]:
        yield from _table(rows, path)
        return
    for number, row in rows:
        where = f"{path}, line {number}"
        if shown:
            if match := _SHOWN.fullmatch(row):
                yield line_of(where, [(match[1], match[2])])
        elif (match := _DUMPED.fullmatch(row)) and not _OPTION.sub("", match[3]).strip(": "):
            yield line_of(where, [(match[1], match[2]), *_OPTION.findall(match[3])])
        elif match := _INCLUDE.fullmatch(row):
            parts = Path(match[1]).parts  # the folder may have moved
            places = [
                path.parent / match[1],
                *(path.parent.joinpath(*parts[i:]) for i in range(1, len(parts))),
            ]
            yield from _lines_of(next((place for place in places if place.is_file()), places[0]), files)
        elif (rest := _WORD.sub("", row)) or not _WORD.search(row):
            allowed = "words KEY=VALUE, with quotes around blanks"
            raise InputError("cannot be read", where=where, found=rest or row, allowed=allowed)
        else:
            yield line_of(where, _WORD.findall(row))


def _table(rows: Sequence[tuple[int, str]], path: Path) -> Iterator[Line]:
    """Yield the rows of a table of sacctmgr show qos, or show assoc, as lines of a dump.

    An account is below that of `Par Name`, else below the last one that is indented less (tree), else root.
    """
    header = rows[0][1].split("|")
    above = {-1: "root"}  # by indentation
    flat = "Par Name" not in header and "| " not in "".join(f"|{row}" for _, row in rows)
    for number, row in rows[1:]:
        where, cells = f"{path}, line {number}", dict(zip(header, row.split("|"), strict=False))
        if row.count("|") != len(header) - 1 or not {"Name", "Account"} & cells.keys():
            allowed = "a table of sacctmgr -p show qos, or show assoc, with all columns; or sacctmgr dump"
            raise InputError("cells are missing", where=where, found=row, allowed=allowed)
        rest = [("Fairshare" if key == "Share" else key, cells[key]) for key in cells if key not in _NAMED]
        if "Account" not in cells:
            yield line_of(where, [("QOS", cells["Name"]), *rest])
            continue
        account, user = cells["Account"].strip(), cells.get("User", "")
        rest += [("accounts below others (sacctmgr show assoc tree -p has them)", "")] * flat
        depth = len(cells["Account"]) - len(account)
        if not user:
            above = {at: name for at, name in above.items() if at < depth} | {depth: account}
            parent = cells.get("Par Name") or above[max(at for at in above if at < depth)]
        yield line_of(where, [("Parent", account if user else parent)])
        yield line_of(where, [("User", user) if user else ("Account", account), *rest])


def _rows(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers, without comments, joined with those that continue them."""
    kept, begin = "", 0
    for number, raw in enumerate([*text.splitlines(), ""], 1):
        row, begin = _COMMENT.sub("", raw).rstrip(), begin or number
        kept += row.removesuffix("\\")
        if not row.endswith("\\"):
            if kept.strip():
                yield begin, kept if "|" in kept else kept.strip()
            kept, begin = "", 0


def names_in(text: str, where: str) -> list[str]:
    """Return the names of a list.

    >>> names_in("n[1-2,10],a[01-02]b[3-4]", "")
    ['n1', 'n2', 'n10', 'a01b3', 'a01b4', 'a02b3', 'a02b4']
    """
    allowed = f"names such as n1,n[2-8,10],gpu[01-16]; ranges upwards, at most {_MAX_NAMES:,} names"
    fault = InputError("not a list of names", where=where, found=text, allowed=allowed)
    items, names = _NAMES.findall(text), list[str]()
    if not items or ",".join(items) != text:
        raise fault
    for item in items:
        pieces = re.split(r"\[([^\]]*)\]", item)
        choices = [_numbers(piece) if place % 2 else [piece] for place, piece in enumerate(pieces)]
        if not 0 < prod(map(len, choices)) <= _MAX_NAMES - len(names):
            raise fault
        names += map("".join, product(*choices))
    return names


def _numbers(ranges: str) -> list[str]:
    """Return the numbers of ranges such as 08-10, as long as the first; none if a range is wrong."""
    numbers: list[str] = []
    for one in ranges.split(","):
        first, _, last = one.partition("-")
        if len(one) > 30 or not 0 <= int(last or first) - int(first) < _MAX_NAMES:
            return []
        numbers += [str(number).zfill(len(first)) for number in range(int(first), int(last or first) + 1)]
    return numbers
