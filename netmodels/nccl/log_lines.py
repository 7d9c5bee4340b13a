"""Parses one line of a log of nccl-tests or rccl-tests.

The formats are those of `src/common.cu` and `src/util.cu` of github.com/NVIDIA/nccl-tests from version 2.0 to
2.19, and of github.com/ROCm/rccl-tests. Tags of launchers (`[1,0]<stdout>:`, `3: `), in front of a line or in
the middle of a row, whose parts are printed one after the other, are skipped, and so are messages of NCCL.
"""

import re
from dataclasses import dataclass
from typing import Literal

_TYPES = "u?int(?:8|16|32|64)|half|float|double|bfloat16|bf16|fp16|fp32|fp64|(?:fp8_|f8)e\\dm\\d|char"
_ROW = re.compile(rf"(?:^|[^\d.])(\d+)\s+(\d+)\s+({_TYPES})\b(.*)")
_HEAD = re.compile(r"\bsize\s+count\s+type\b(.*)")
_RANK = re.compile(
    r"\bRank\s+(\d+)\s+(?:Group\s+(\d+)\s+)?Pid\s+\d+\s+on\s+(\S+)\s+device\s+(\d+)\s+\[([^\]]*)\]\s*(.*)"
)
_BEGINS = re.compile(r"\bnThreads?:?\s+(\d+)\s+nGpus:?\s+(\d+)\s+minBytes")
_STARTING = re.compile(r"\bCollective test starting: (\S+)")
_ENDS = re.compile(r"# (?:Avg bus bandwidth|Out of bounds values|Collective test concluded)")
_PROGRAM = re.compile(
    r"\b(all_?reduce|all_?gather|reduce_?scatter|all_?to_?allv?|sendrecv|broadcast|reduce|gather|scatter|hypercube)"
    r"_perf(?:_mpi)?\b"
)
_LIBRARY = re.compile(r"\b[NR]CCL version\s*:?\s*(\d[\w.]*)")
_LIBRARY_CODE = re.compile(r"\bnccl-library=(\d+)")
_MESSAGE = re.compile(r"(-1|\d(?=[A-Za-z]))?[\w.-]*:\d+:\d+ \[[-\d]+\].*|[NR]CCL version.*")
_TAG = re.compile(r"\[[^\]]*\]\s*<std\w+>\s*:?|(?<=\s)\d+:\s|(?<=\s-1)\d+:\s")
_PREFIX = re.compile(r"^\s*[\w.-]+:(?=\s)")
_VALUE = re.compile(r"[-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|nan|inf)|N/A", re.IGNORECASE)

LineType = Literal["begins", "starting", "rank", "head", "row", "values", "ends", "other"]


@dataclass(frozen=True, slots=True)
class Rank:
    """One GPU of a test.

    Parameters
    ----------
    number
        Its rank.
    group
        Number of the communicator, of several that run at once (NCCL_TESTS_SPLIT).
    host
        Name of its machine.
    device
        Number and address of the GPU in its machine.
    gpu
        Name of the GPU; empty in logs that do not print it.
    """

    number: int
    group: int
    host: str
    device: tuple[int, str]
    gpu: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a log.

    Parameters
    ----------
    type
        The beginning of a test (`# nThread`), its program (`# Collective test starting`), a rank,
        the names of the columns, a row or the rest of one, the end of a test, or another line.
    words
        Names of the columns after `size count type`; size, count, type and values of a row; values.
    rank
        Of a line of type `rank`.
    """

    type: LineType
    words: tuple[str, ...] = ()
    rank: Rank | None = None


def line_of(text: str) -> Line:
    """Return a parsed line."""
    if match := _RANK.search(text):
        number, group, host, device, address, gpu = match.groups()
        place = int(device), address
        return Line("rank", rank=Rank(int(number), int(group or 0), host, place, gpu.strip()))
    if _BEGINS.search(text):
        return Line("begins")
    if match := _STARTING.search(text):
        return Line("starting", (match[1],))
    if match := _HEAD.search(text):
        return Line("head", tuple(match[1].split()))
    if _ENDS.search(text):
        return Line("ends")
    return _table_line(_TAG.sub(" ", _MESSAGE.sub(r"\1", text)))


def _table_line(text: str) -> Line:
    if match := _ROW.search(text):
        return Line("row", (*match.groups()[:3], *match[4].split()))
    values = tuple(_PREFIX.sub("", text).split())
    if values and all(_VALUE.fullmatch(value) for value in values):
        return Line("values", values)
    return Line("other")


def program_of(text: str) -> str:
    """Return the collective of a program such as `./build/all_reduce_perf` in a line; empty without one."""
    match = _PROGRAM.search(text)
    return match[1] if match else ""


def library_of(text: str) -> str:
    """Return the version of NCCL, such as 2.21.5, that a line states; empty without one."""
    if match := _LIBRARY.search(text):
        return match[1]
    if match := _LIBRARY_CODE.search(text):
        code = int(match[1])
        return f"{code // 10_000}.{code // 100 % 100}.{code % 100}"
    return ""


def plain(name: str) -> str:
    """Return the letters of a name: `All-Reduce` and `all_reduce` are the same."""
    return "".join(letter for letter in name.lower() if letter.isalpha())
