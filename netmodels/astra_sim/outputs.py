"""Reports of ASTRA-sim about an iteration. Text in, times out."""

import csv
import io
import re
from dataclasses import dataclass

_FINISHED = re.compile(
    r"sys\[(\d{1,9})\] finished, (\d{1,18}) cycles, exposed communication (\d{1,20}) cycles", re.ASCII
)
_BUSY = re.compile(r"sys\[(\d{1,9})\], Comm time: (\d{1,18})\b", re.ASCII)
_CRITICAL = re.compile(r"^.*\[critical\].*$", re.MULTILINE)
_MAX_NS = 10**18  # 32 years
_NEGATIVE = 2**63  # exposed time is an unsigned difference and wraps around


class UnreadableError(ValueError):
    """An output that is not an answer; the text has the reason."""


@dataclass(frozen=True, slots=True)
class NpuTime:
    """Times of one NPU in ns.

    Parameters
    ----------
    total_ns
        End of its work.
    exposed_ns
        Part of that without compute.
    comm_ns
        Time during which it communicated.
    """

    total_ns: int
    exposed_ns: int
    comm_ns: int


def read_version2(stdout: str, npus: int) -> tuple[NpuTime, ...]:
    """Return the times of all NPUs, in order; ASTRA-sim 2.x, any back end.

    Exit status 0 is no proof: if NPUs wait for each other forever, the program ends normally, but without
    their lines.

    Raises
    ------
    UnreadableError
        If there is not exactly one answer for each NPU, or the program reports a critical error.
    """
    critical = _CRITICAL.search(stdout)
    if critical:
        raise UnreadableError(f"reports a critical error: {critical.group(0)[-160:]}")
    finished = {
        int(npu): (int(total), int(exposed) if int(exposed) < _NEGATIVE else 0)
        for npu, total, exposed in _FINISHED.findall(stdout)
    }
    if sorted(finished) != list(range(npus)):
        raise UnreadableError(f"reports that {len(finished)} NPUs finished; expected {npus}")
    busy = {int(npu): int(time) for npu, time in _BUSY.findall(stdout)}
    return tuple(NpuTime(*finished[npu], busy.get(npu, finished[npu][1])) for npu in range(npus))


def read_version1(end_to_end: str) -> NpuTime:
    """Return the times of an NPU from EndToEnd.csv of ASTRA-sim 1.0, in microseconds; equal for all NPUs.

    Columns, from 0: 8, 9, 10 communication of forward, weight gradient and input gradient by layer; in
    the first row also 12 all compute, 13 all exposed communication.

    Raises
    ------
    UnreadableError
        If the file is not such a table.
    """
    rows = [row for row in csv.reader(io.StringIO(end_to_end)) if row][1:]
    try:
        compute, exposed = round(float(rows[0][12]) * 1000), round(float(rows[0][13]) * 1000)
        busy = round(sum(float(cell or 0) for row in rows for cell in row[8:11]) * 1000)
        if not all(0 <= time_ns <= _MAX_NS for time_ns in (compute, exposed, busy)):
            raise OverflowError
    except (IndexError, ValueError, OverflowError, csv.Error):
        raise UnreadableError("wrote an EndToEnd.csv without the times of an iteration") from None
    total = compute + exposed
    return NpuTime(
        total, exposed, max(exposed, min(busy, total))
    )  # collectives overlap: their sum is a bound
