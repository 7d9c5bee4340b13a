"""Reader of the Standard Workload Format, that of the Parallel Workloads Archive (Feitelson et al., 2014)."""

import re
from datetime import UTC, datetime

import numpy as np
from pydantic import Field, NaiveDatetime

from artist.errors import InputError
from artist.tables.files import read_text
from artist.tables.rows import BadRowsError, Column, Table, coded
from artist.workload.api import Durations
from artist.workload.readers import rules
from artist.workload.readers.trace import TraceParameters, TraceReader
from artist.workload.table import check, refuse, typed

_COLUMNS = (
    *("job_id", "submit_s", "wait", "duration_s", "allocated", "cpu_time", "used", "requested", "limit_s"),
    *("memory", "status", "user", "group", "program", "queue", "partition", "preceding", "think_s"),
)
_FIELDS = {
    **{"job_id": "job number", "submit_s": "submit time", "gpus": "processors", "duration_s": "run time"},
    **{"started_s": "wait time", "limit_s": "requested time"},
}
_STATES = {0: "failed", 1: "completed", 5: "cancelled"}
_PARTS = (2, 3, 4)
_ORIGIN = re.compile(r";\s*UnixStartTime:\s*(\d+)")


class SwfTrace(TraceReader):
    """Jobs of a file of 18 fields per line, plain or gzipped; lines that begin with ; are comments.

    Rules:

    - GPUs are the processors allocated, else those requested, divided by `processors_per_gpu`, rounded up.
    - The wait is kept as the real start, the requested time as the limit, the numbers of queue, partition,
      user and group as vc, partition, user and account; -1 is not known. All statuses count.
    - Lines of status 2 to 4 repeat parts of a job that has a line of its own: left out. Jobs without a run
      time or processors are left out, those of run time 0 follow `zero_duration`.
    - Dates are in UTC, from the comment UnixStartTime, or `origin`.
    """

    class Parameters(TraceParameters):
        """Parameters, beside those of every source."""

        durations: Durations = "observed"
        processors_per_gpu: int = Field(default=1, ge=1)
        zero_duration: rules.ZeroDuration = "drop"
        origin: NaiveDatetime | None = None

    parameters: Parameters
    _origin: datetime | None = None

    def _read(self) -> Table:
        path = self.parameters.path
        rows, places, wrong = list[Column](), list[int](), dict[int, str]()
        for place, line in enumerate(read_text(path, "SWF").split("\n"), 1):
            if line.startswith(";") and (match := _ORIGIN.match(line)):
                self._origin = datetime.fromtimestamp(int(match[1]), UTC).replace(tzinfo=None)
            if not line.strip() or line.startswith(";"):
                continue
            row = _numbers(line)
            if len(row) != len(_COLUMNS):
                wrong[place], row = line, np.full(len(_COLUMNS), -1.0)
            rows.append(row)
            places.append(place)
        if not rows:
            raise InputError("no jobs", where=str(path), found="0 rows", allowed="at least one job")
        columns = dict(zip(_COLUMNS, np.array(rows).T, strict=True))
        table = Table(columns, np.array(places), "line")
        if wrong:
            bad = np.isin(table.places, list(wrong))
            what, allowed = "no row of SWF", f"{len(_COLUMNS)} numbers between spaces"
            fault = BadRowsError(
                what, table, bad, where=str(path), value=next(iter(wrong.values())), allowed=allowed
            )
            fault.rest = table.take(~bad)
            raise fault
        return table

    def _jobs(self, raw: Table) -> Table:
        chosen, path = self.parameters, self.parameters.path
        known = {name: np.where(raw[name] == -1, np.nan, raw[name]) for name in _COLUMNS}
        processors = np.where(known["allocated"] > 0, known["allocated"], known["requested"])
        refuse(raw, np.isnan(known["submit_s"]), str(path), "submit_s", "is missing", "a time of submission")
        wait = np.where(known["wait"] >= 0, known["wait"], np.nan)
        columns = {
            "submit_s": known["submit_s"],
            "started_s": known["submit_s"] + wait,
            "duration_s": known["duration_s"],
            "limit_s": np.where(known["limit_s"] > 0, known["limit_s"], np.nan),
            "gpus": np.ceil(np.nan_to_num(processors) / chosen.processors_per_gpu),
            "job_id": _words(raw["job_id"]),
            "user": _words(raw["user"]),
            "account": _words(raw["group"]),
            "vc": _words(raw["queue"]),
            "partition": _words(raw["partition"]),
        }
        codes, statuses = coded(raw["status"])
        states = np.array([_STATES.get(int(status), "unknown") for status in statuses], dtype=object)
        table = typed(Table(columns, raw.places, raw.unit), str(path), _FIELDS).assign(state=states[codes])
        table = rules.drop(table, np.isin(raw["status"], _PARTS), path, "parts of jobs (status 2 to 4)")
        table = rules.drop_unfinished(table, path, "no run time")
        table = rules.drop(table, table["gpus"] == 0, path, "no processors")
        table = rules.apply_zero_duration(table, chosen.zero_duration, path)
        rules.note_order(table, path)
        return rules.dated(check(table, str(path), _FIELDS), chosen.origin or self._origin)


def _numbers(line: str) -> Column:
    """Return the numbers of a line; none if it has other words."""
    try:
        return np.array(line.split(), dtype=float)
    except ValueError:
        return np.zeros(0)


def _words(numbers: Column) -> Column:
    """Return numbers as text, "" for -1."""
    codes, values = coded(numbers)
    return np.array(["" if value == -1 else f"{value:.15g}" for value in values], dtype=object)[codes]
