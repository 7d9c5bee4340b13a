"""Reader of the Philly trace (Microsoft), Jeon et al., ATC'19."""

from datetime import datetime
from typing import Any, Literal

import numpy as np

from artist.tables.files import read_csv, read_json_records, read_text
from artist.tables.rows import BadRowsError, Column, Table
from artist.workload.missing import is_missing
from artist.workload.readers import rules
from artist.workload.readers.instants import TimeZone, arrivals, read_times, run_times, with_starts
from artist.workload.readers.trace import TraceParameters, TraceReader
from artist.workload.table import check, typed

_PASS_HEADER = ("timestamp", "duration", "num_gpus", "gpu_time", "cluster")
_PASS_FIELDS = {"submit_s": "timestamp", "gpus": "num_gpus", "duration_s": "duration", "vc": "cluster"}
_ALL_HEADER = ("#job id", "arrival time (sec)", "topology", "shape", "size", "duration (sec)")
_ALL_FIELDS = {
    "job_id": "#job id",
    "submit_s": "arrival time (sec)",
    "gpus": "size",
    "duration_s": "duration (sec)",
}
_ALL_ORIGIN = datetime(2017, 8, 14, 23, 27)  # recovered from 4,262 matches with the original
_LOG_FIELDS = {"job_id": "jobid", "submit_s": "submitted_time", "vc": "vc", "user": "user"}

AttemptTime = Literal["sum", "last", "first_to_last"]
_ATTEMPT = ("start_time", "end_time", "gpus")
_Attempt = tuple[float, float, int]


class PhillyTrace(TraceReader):
    """Jobs of the Philly cluster.

    Three files are read, plain or gzipped, recognised by their first lines:

    - the original `cluster_job_log`: a JSON array of objects with jobid, vc, user, status, submitted_time
      and attempts, each with start_time, end_time and the GPUs of each machine;
    - jobs that passed: timestamp, duration, num_gpus, gpu_time, cluster (a VC); duration is the sum of
      the attempts. It names no jobs, so a job is called philly-<line of the file>;
    - jobs of all states: #job id, arrival time (sec), topology, shape, size, duration (sec); seconds
      after 2017-08-14 23:27:00, duration from the first start to the last end.

    Rules:

    - Times are those of the clocks of `time_zone`, or, by default, taken unchanged. Durations are in seconds.
    - Original file: an attempt counts if it has a start, an end and GPUs. The run time is, by
      `attempt_time`, the sum of the attempts, the last one, or all from the first start to the last end.
      The real start is that of the first, the GPUs are those of the last attempt that counts. Jobs without
      such an attempt are left out.
    - A job of duration 0 follows `zero_duration`; jobs of all final states are kept, unless `states`
      (Pass, Killed, Failed; original file only) names some.
    - topology and shape, added by others, and gpu_time are not used.
    """

    class Parameters(TraceParameters):
        """Parameters, beside those of every source."""

        states: tuple[str, ...] | None = None
        attempt_time: AttemptTime = "sum"
        zero_duration: rules.ZeroDuration = "drop"
        time_zone: TimeZone | None = None

    parameters: Parameters

    def _read(self) -> Table:
        path = self.parameters.path
        if read_text(path).lstrip()[:1] in ("[", "{"):
            return rules.from_records(read_json_records(path))
        return read_csv(path)

    def _jobs(self, raw: Table) -> Table:
        path = self.parameters.path
        if raw.unit == "entry":
            return self._from_log(raw)
        rules.refuse_states(self.parameters.states)
        if rules.same_header(raw, _PASS_HEADER):
            return self._from_passed(raw)
        if rules.same_header(raw, _ALL_HEADER):
            return self._from_all(raw)
        raise rules.unknown_header(raw, path, _PASS_HEADER, _ALL_HEADER)

    def _from_passed(self, raw: Table) -> Table:
        path = self.parameters.path
        names = rules.line_names("philly", raw)
        table = rules.renamed(raw, _PASS_FIELDS).assign(job_id=names, submit_s=0.0)
        table = typed(table, str(path), _PASS_FIELDS)
        zone = self.parameters.time_zone
        (dates,) = read_times(raw, ["timestamp"], str(path), zone)
        table = table.assign(**arrivals(raw, "timestamp", str(path), dates, zone))
        table = rules.apply_zero_duration(table, self.parameters.zero_duration, path)
        return check(table, str(path), _PASS_FIELDS)

    def _from_all(self, raw: Table) -> Table:
        path = self.parameters.path
        table = typed(rules.renamed(raw, _ALL_FIELDS), str(path), _ALL_FIELDS)
        table = rules.apply_zero_duration(table, self.parameters.zero_duration, path)
        return rules.dated(check(table, str(path), _ALL_FIELDS), _ALL_ORIGIN)

    def _from_log(self, raw: Table) -> Table:
        path, zone = self.parameters.path, self.parameters.time_zone
        raw = rules.keys_of(raw, (*_LOG_FIELDS.values(), "status", "attempts"), path)
        (dates,) = read_times(raw, ["submitted_time"], str(path), zone)
        attempts = _attempts(raw, str(path), dates, zone)
        runs = [attempts.get(entry, []) for entry in raw.places.tolist()]
        table = rules.renamed(raw, _LOG_FIELDS).assign(
            **arrivals(raw, "submitted_time", str(path), dates, zone),
            gpus=[run[-1][2] if run else 0 for run in runs],
            duration_s=[_run_time_s(attempts, self.parameters.attempt_time) for attempts in runs],
        )
        table = typed(table, str(path), _LOG_FIELDS)
        submit_s = dates.astype("datetime64[s]").astype(float)
        starts = np.array([run[0][0] if run else np.nan for run in runs])
        table = with_starts(table, submit_s, starts)
        table = rules.keep_states(table, raw, "status", self.parameters.states, path)
        table = rules.drop_unfinished(table, path, "no attempt with a start, an end and GPUs")
        table = rules.apply_zero_duration(table, self.parameters.zero_duration, path)
        return check(table, str(path), _LOG_FIELDS)


def _attempts(raw: Table, where: str, submit: Column, zone: str | None) -> dict[int, list[_Attempt]]:
    """Return the attempts that count by entry, in order."""
    rows, faults = [], {}
    for row, attempts in enumerate(raw["attempts"].tolist()):
        try:
            rows += [(int(raw.places[row]), a["start_time"], a["end_time"], _gpus(a)) for a in attempts]
        except (TypeError, KeyError) as error:
            faults[row] = str(error)
    if faults:
        allowed = "a list of objects with start_time, end_time and detail [{ip, gpus}]"
        bad = np.isin(np.arange(len(raw)), list(faults))
        raise BadRowsError(
            "malformed attempts", raw, bad, where=where, value=faults[min(faults)], allowed=allowed
        )
    whole = [row for row in rows if row[3] > 0 and not any(map(is_missing, row[1:3]))]
    entries, *columns = map(list, zip(*whole, strict=True)) if whole else ([], [], [], [])
    table = Table(dict(zip(_ATTEMPT, columns, strict=True)), np.array(entries, dtype=np.int64), "entry")
    start, end = read_times(table, _ATTEMPT[:2], where, zone)
    asked = submit[np.searchsorted(raw.places, table.places)]
    run_times(table, where, _ATTEMPT[:2], asked, start, end, np.full(len(table), np.nan))
    seconds = [column.astype("datetime64[s]").astype(float).tolist() for column in (start, end)]
    by_entry: dict[int, list[_Attempt]] = {}
    for entry, *attempt in zip(entries, *seconds, columns[2], strict=True):
        by_entry.setdefault(entry, []).append(tuple(attempt))
    return by_entry


def _gpus(attempt: dict[str, Any]) -> int:
    return sum(len(machine["gpus"]) for machine in attempt["detail"])


def _run_time_s(attempts: list[_Attempt], rule: AttemptTime) -> float:
    """Return the run time of a job; NaN if no attempt counts."""
    if not attempts:
        return np.nan
    if rule == "first_to_last":
        return max(end for _, end, _ in attempts) - min(start for start, _, _ in attempts)
    return sum(end - start for start, end, _ in (attempts if rule == "sum" else attempts[-1:]))
