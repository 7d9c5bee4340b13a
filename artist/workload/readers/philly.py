"""Reader of the Philly trace (Microsoft), Jeon et al., ATC'19."""

from pathlib import Path
from typing import Any, Literal

import pandas as pd

from artist.bad_input.records import validated
from artist.errors import InputError
from artist.workload.api import FileParameters
from artist.workload.files import read_csv, read_json_records, read_text
from artist.workload.readers import rules
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
_ALL_ORIGIN = pd.Timestamp("2017-08-14 23:27:00")  # recovered from 4,262 matches with the original
_LOG_FIELDS = {"job_id": "jobid", "submit_s": "submitted_time", "vc": "vc", "user": "user"}

AttemptTime = Literal["sum", "last", "first_to_last"]


class PhillyTrace:
    """Jobs of the Philly cluster.

    Three files are read, plain or gzipped, told apart by their first lines:

    - the original `cluster_job_log`: a JSON array of objects with jobid, vc, user, status, submitted_time
      and attempts, each with start_time, end_time and the GPUs of each machine;
    - jobs that passed: timestamp, duration, num_gpus, gpu_time, cluster (a VC); duration is the sum of
      the attempts. It names no jobs, so a job is called philly-<line of the file>;
    - jobs of all states: #job id, arrival time (sec), topology, shape, size, duration (sec); seconds
      after 2017-08-14 23:27:00, duration from the first start to the last end.

    Rules:

    - Times are taken as they are, without a time zone. Durations are in seconds.
    - Original file: an attempt counts if it has a start, an end and GPUs. The run time is, by
      `attempt_time`, the sum of the attempts, the last one, or all from the first start to the last end.
      The GPUs are those of the last attempt that counts. Jobs without such an attempt are left out.
    - A job of duration 0 goes by `zero_duration`; jobs of all final states are kept, unless `states`
      (Pass, Killed, Failed; original file only) names some.
    - topology and shape, added by others, and gpu_time are not used.
    """

    class Parameters(FileParameters):
        """Parameters, beside those of every source."""

        states: tuple[str, ...] | None = None
        attempt_time: AttemptTime = "sum"
        zero_duration: rules.ZeroDuration = "drop"

    def __init__(self, **parameters: Any) -> None:
        self.parameters = validated(self.Parameters, parameters, "workload")
        self.input_files: tuple[Path, ...] = (self.parameters.path,)

    def table(self) -> pd.DataFrame:
        """Return all jobs as a canonical table."""
        path = self.parameters.path
        if read_text(path).lstrip()[:1] in ("[", "{"):
            return self._from_log(read_json_records(path))
        raw = read_csv(path)
        rules.refuse_states(self.parameters.states)
        if rules.same_header(raw, _PASS_HEADER):
            return self._from_passed(raw)
        if rules.same_header(raw, _ALL_HEADER):
            return self._from_all(raw)
        raise rules.unknown_header(raw, path, _PASS_HEADER, _ALL_HEADER)

    def _from_passed(self, raw: pd.DataFrame) -> pd.DataFrame:
        path = self.parameters.path
        width = len(str(raw.index[-1])) if len(raw) else 0
        names = [f"philly-{line:0{width}d}" for line in raw.index]
        table = rules.renamed(raw, _PASS_FIELDS).assign(job_id=names, submit_s=0.0)
        table = typed(table, str(path), _PASS_FIELDS)
        dates = rules.parse_dates(raw, "timestamp", str(path))
        table = table.assign(submit_s=rules.seconds_after_first(dates), submit_date=dates)
        table = rules.apply_zero_duration(table, self.parameters.zero_duration, path)
        return check(table, str(path), _PASS_FIELDS)

    def _from_all(self, raw: pd.DataFrame) -> pd.DataFrame:
        path = self.parameters.path
        table = typed(rules.renamed(raw, _ALL_FIELDS), str(path), _ALL_FIELDS)
        table = rules.apply_zero_duration(table, self.parameters.zero_duration, path)
        return rules.dated(check(table, str(path), _ALL_FIELDS), _ALL_ORIGIN)

    def _from_log(self, records: list[dict[str, Any]]) -> pd.DataFrame:
        path = self.parameters.path
        raw = rules.from_records(records, (*_LOG_FIELDS.values(), "status", "attempts"), path)
        attempts = _attempts(raw["attempts"], str(path))
        runs = _runs(attempts, self.parameters.attempt_time).reindex(raw.index)
        dates = rules.parse_dates(raw, "submitted_time", str(path))
        table = rules.renamed(raw, _LOG_FIELDS).assign(
            submit_s=rules.seconds_after_first(dates), submit_date=dates, gpus=runs["gpus"].fillna(0.0)
        )
        table = typed(table.assign(duration_s=runs["duration_s"]), str(path), _LOG_FIELDS)
        table = rules.keep_states(table, raw["status"], self.parameters.states, path)
        no_run = table["duration_s"].isna().to_numpy(bool)
        table = rules.drop(table, no_run, path, "no attempt with a start, an end and GPUs")
        table = rules.apply_zero_duration(table, self.parameters.zero_duration, path)
        return check(table, str(path), _LOG_FIELDS)


def _attempts(lists: pd.Series, where: str) -> pd.DataFrame:
    """Return one row an attempt that counts, in order: entry, start_s, end_s, gpus."""
    rows = []
    for entry, attempts in lists.items():
        try:
            rows += [(entry, a["start_time"], a["end_time"], _gpus(a)) for a in attempts]
        except (TypeError, KeyError) as error:
            allowed = "a list of objects with start_time, end_time and detail [{ip, gpus}]"
            place = f"{where}, entry {entry}"
            raise InputError("malformed attempts", where=place, found=str(error), allowed=allowed) from None
    table = pd.DataFrame(rows, columns=["entry", "start_time", "end_time", "gpus"]).set_index("entry")
    known = ~table[["start_time", "end_time"]].isin([None, "None", "null", ""]).any(axis=1)
    whole = table[known & (table["gpus"] > 0)]
    starts, ends = (rules.parse_dates(whole, column, where) for column in ("start_time", "end_time"))
    origin = starts.min()
    return pd.DataFrame(
        {
            "start_s": (starts - origin).dt.total_seconds(),
            "end_s": (ends - origin).dt.total_seconds(),
            "gpus": whole["gpus"],
        }
    )


def _gpus(attempt: dict[str, Any]) -> int:
    return sum(len(machine["gpus"]) for machine in attempt["detail"])


def _runs(attempts: pd.DataFrame, rule: AttemptTime) -> pd.DataFrame:
    """Return gpus and duration_s of each job that has an attempt."""
    by_job = attempts.assign(run_s=attempts["end_s"] - attempts["start_s"]).groupby(level="entry")
    if rule == "sum":
        duration_s = by_job["run_s"].sum()
    elif rule == "last":
        duration_s = by_job["run_s"].last()
    else:
        duration_s = by_job["end_s"].max() - by_job["start_s"].min()
    return pd.DataFrame({"gpus": by_job["gpus"].last(), "duration_s": duration_s})
