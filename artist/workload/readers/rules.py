"""Rules that several readers share; every job left out is counted in the log."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from artist.errors import InputError
from artist.workload.table import refuse

_log = logging.getLogger(__name__)

ZeroDuration = Literal["drop", "one_second"]
"""What becomes of a job with duration 0: it is left out, or it takes 1 s (traces count whole seconds)."""

CpuJobs = Literal["drop", "keep"]
"""Whether jobs without GPUs are left out or simulated on the CPUs that the trace names."""

FractionalGpus = Literal["round_up", "drop"]
"""A job that shares a GPU: it gets the whole GPU, which overstates its demand, or it is left out."""

UseCpus = Literal["ignore", "keep"]
"""Whether a job that uses GPUs asks for the CPUs that the trace names; CPU-only jobs always do."""


def same_header(table: pd.DataFrame, header: Sequence[str]) -> bool:
    """Return whether a file has all of these columns."""
    return set(header) <= set(table.columns)


def unknown_header(table: pd.DataFrame, path: Path, *headers: Sequence[str]) -> InputError:
    """Return the error for a file whose header no reader of this source knows."""
    allowed = "; or ".join(",".join(header) for header in headers)
    return InputError(
        "unknown header", where=f"{path}, line 1", found=",".join(table.columns), allowed=allowed
    )


def require_header(table: pd.DataFrame, path: Path, header: Sequence[str]) -> None:
    """Raise InputError for a file that lacks one of these columns."""
    if not same_header(table, header):
        raise unknown_header(table, path, header)


def drop(table: pd.DataFrame, bad: np.ndarray, path: Path, reason: str) -> pd.DataFrame:
    """Leave out the rows where `bad`, (n_jobs,), is true, and log how many.

    Raises
    ------
    InputError
        If no job is left.
    """
    count = int(bad.sum())
    if not count:
        return table
    _log.warning("%s: left out %d of %d jobs: %s", path, count, len(table), reason)
    if count == len(table):
        raise InputError(
            "no jobs", where=str(path), found=f"all {count}: {reason}", allowed="at least one job"
        )
    return table[~bad]


def apply_zero_duration(table: pd.DataFrame, rule: ZeroDuration, path: Path) -> pd.DataFrame:
    """Apply the rule for jobs of duration 0 to a typed table."""
    zero = table["duration_s"].eq(0).to_numpy(bool)
    if rule == "drop":
        return drop(table, zero, path, "duration is 0 (zero_duration=drop)")
    if zero.any():
        _log.warning("%s: %d of %d jobs take 1 s instead of 0", path, int(zero.sum()), len(table))
    return table.assign(duration_s=table["duration_s"].mask(zero, 1.0))


def apply_use_cpus(table: pd.DataFrame, rule: UseCpus) -> pd.DataFrame:
    """Apply the rule for the CPUs of jobs that use GPUs to a typed table."""
    if rule == "keep":
        return table
    return table.assign(cpus=table["cpus"].where(table["gpus"] == 0, 0.0))


def keep_states(
    table: pd.DataFrame, states: pd.Series, wanted: Sequence[str] | None, path: Path
) -> pd.DataFrame:
    """Keep the jobs that ended in one of the wanted states; None keeps all."""
    if wanted is None:
        return table
    if not states.isin(wanted).any():
        allowed = ", ".join(sorted(set(states)))
        raise InputError(
            "no job has this state", where="workload.states", found=list(wanted), allowed=allowed
        )
    return keep_values(table, states, wanted, path, "state")


def refuse_states(wanted: Sequence[str] | None) -> None:
    """Raise InputError for a choice of final states if the file does not have them."""
    if wanted is not None:
        allowed = "null: this file does not say how jobs ended"
        raise InputError("no states", where="workload.states", found=list(wanted), allowed=allowed)


def keep_values(
    table: pd.DataFrame, values: pd.Series, wanted: Sequence[str] | None, path: Path, name: str
) -> pd.DataFrame:
    """Keep the jobs whose value, by the index of the table, is one of the wanted; None keeps all."""
    if wanted is None:
        return table
    other = ~values.reindex(table.index).isin(wanted).to_numpy(bool)
    return drop(table, other, path, f"{name} is not one of {', '.join(wanted)}")


def parse_dates(table: pd.DataFrame, column: str, where: str) -> pd.Series:
    """Return a column of dates such as 2020-06-01 12:30:00.

    Raises
    ------
    InputError
        For the first value that is not such a date.
    """
    text = table[column].astype(str)  # a number in JSON is no date
    dates = pd.to_datetime(text, format="%Y-%m-%d %H:%M:%S", errors="coerce")
    allowed = "a date such as 2020-06-01 12:30:00"
    refuse(table, dates.isna().to_numpy(bool), where, column, "is not a date", allowed)
    return dates


def seconds_after_first(dates: pd.Series) -> pd.Series:
    """Return the seconds since the earliest date."""
    seconds: pd.Series = (dates - dates.min()).dt.total_seconds()
    return seconds


def renamed(table: pd.DataFrame, fields: Mapping[str, str]) -> pd.DataFrame:
    """Return the columns that `fields` names (canonical name: file's name), under their canonical names."""
    return table[list(fields.values())].set_axis(list(fields), axis=1)


def from_records(records: Sequence[Mapping[str, Any]], keys: Sequence[str], path: Path) -> pd.DataFrame:
    """Return the chosen keys of JSON objects as a table whose index counts the entries from 1.

    Raises
    ------
    InputError
        For the first object that lacks a key.
    """
    for entry, record in enumerate(records, start=1):
        if lost := [key for key in keys if key not in record]:
            where = f"{path}, entry {entry}"
            raise InputError(
                f"{lost[0]} is missing", where=where, found=sorted(record), allowed=", ".join(keys)
            )
    index = pd.RangeIndex(1, len(records) + 1, name="entry")
    return pd.DataFrame({key: [record[key] for record in records] for key in keys}, index=index, dtype=object)


def whole_gpus(table: pd.DataFrame, rule: FractionalGpus, path: Path) -> pd.DataFrame:
    """Apply the rule for parts of GPUs to a typed table, and log how many jobs it affects."""
    gpus = table["gpus"].to_numpy(float)
    shared = np.isfinite(gpus) & (gpus > 0) & (gpus != np.floor(gpus))
    if rule == "drop":
        return drop(table, shared, path, "part of a GPU (fractional_gpus=drop)")
    if shared.any():
        _log.warning(
            "%s: %d of %d jobs share a GPU, and get a whole one", path, int(shared.sum()), len(table)
        )
    return table.assign(gpus=np.where(shared, np.ceil(gpus), gpus))


def power_of_two_gpus(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Round demands of a typed table up to the next power of two, and log how many jobs it affects."""
    gpus = table["gpus"].to_numpy(float)
    rounded = np.where(gpus > 0, 2.0 ** np.ceil(np.log2(np.maximum(gpus, 1))), gpus)
    odd = np.isfinite(gpus) & (rounded != gpus)
    if odd.any():
        _log.warning(
            "%s: %d of %d jobs get more GPUs: the next power of two", path, int(odd.sum()), len(table)
        )
    return table.assign(gpus=rounded)


def apply_cpu_jobs(table: pd.DataFrame, rule: CpuJobs, path: Path) -> pd.DataFrame:
    """Apply the rule for jobs without GPUs to a typed table."""
    if rule == "keep":
        return table
    return drop(table, table["gpus"].eq(0).to_numpy(bool), path, "no GPUs (cpu_jobs=drop)")


def drop_unfinished(table: pd.DataFrame, path: Path, reason: str) -> pd.DataFrame:
    """Leave out the jobs of a typed table whose duration is not known."""
    return drop(table, table["duration_s"].isna().to_numpy(bool), path, reason)


def note_order(table: pd.DataFrame, path: Path) -> None:
    """Log how many jobs come after one that arrived later; selection sorts them."""
    submit_s = table["submit_s"].to_numpy(float)
    late = int(np.sum(submit_s < np.maximum.accumulate(submit_s)))
    if late:
        _log.info("%s: %d of %d jobs stand out of order; sorted by arrival", path, late, len(table))


def parse_instants(table: pd.DataFrame, column: str, where: str, utc_offset_h: float) -> pd.Series:
    """Return a column of ISO dates with or without a time zone as wall clock of one zone; NaT where empty.

    Parameters
    ----------
    utc_offset_h
        The zone of the result, in hours east of UTC. Dates without a zone are taken as UTC.

    Raises
    ------
    InputError
        For the first value that is neither empty nor a date.
    """
    text = table[column].astype(object).where(table[column].notna(), "").astype(str).str.strip()
    dates = pd.to_datetime(text.where(text.ne("")), utc=True, format="ISO8601", errors="coerce")
    wrong = (dates.isna() & text.ne("")).to_numpy(bool)
    refuse(table, wrong, where, column, "is not a date", "a date such as 2023-05-17 11:00:58+00:00")
    return (dates + pd.Timedelta(hours=utc_offset_h)).dt.tz_localize(None)


def dated(table: pd.DataFrame, origin: Any) -> pd.DataFrame:
    """Return the table with `submit_date`, if the date of second 0 is known."""
    if origin is None:
        return table
    return table.assign(submit_date=pd.Timestamp(origin) + pd.to_timedelta(table["submit_s"], unit="s"))


def renamed_models(table: pd.DataFrame, names: Mapping[str, str | None]) -> pd.DataFrame:
    """Return the table with the models of a trace renamed; a name that maps to None is removed."""
    known = {theirs: ours or "" for theirs, ours in names.items()}
    return table.assign(model=table["model"].map(lambda name: known.get(name, name)))
