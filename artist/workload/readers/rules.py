"""Rules that several readers share; every job left out is counted in the log."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from artist.errors import InputError
from artist.tables.rows import Column, Table, coded, texts
from artist.workload.table import refuse, work_s

log = logging.getLogger(__name__)

ZeroDuration = Literal["drop", "one_second"]
"""What becomes of a job with duration 0: it is left out, or it takes 1 s (traces count whole seconds)."""

CpuJobs = Literal["drop", "keep"]
"""Whether jobs without GPUs are left out or simulated on the CPUs that the trace names."""

FractionalGpus = Literal["round_up", "drop"]
"""A job that shares a GPU: it gets the whole GPU, which overstates its demand, or it is left out."""

UseCpus = Literal["ignore", "keep"]
"""Whether a job that uses GPUs asks for the CPUs that the trace names; CPU-only jobs always do."""


def same_header(table: Table, header: Sequence[str]) -> bool:
    """Return whether a file has all of these columns."""
    return all(name in table for name in header)


def unknown_header(table: Table, path: Path, *headers: Sequence[str]) -> InputError:
    """Return the error for a file whose header no reader of this source knows."""
    allowed = "; or ".join(",".join(header) for header in headers)
    return InputError(
        "unknown header", where=f"{path}, line 1", found=",".join(table.columns), allowed=allowed
    )


def require_header(table: Table, path: Path, header: Sequence[str]) -> None:
    """Raise InputError for a file that lacks one of these columns."""
    if not same_header(table, header):
        raise unknown_header(table, path, header)


def drop(table: Table, bad: np.ndarray, path: Path, reason: str, priced: Table | None = None) -> Table:
    """Leave out the rows where `bad`, (n_jobs,), is true; log how many, and the GPU-hours of a typed table.

    These are by state if the table has a column `state`.

    Parameters
    ----------
    priced
        The same rows with their GPUs and run times, if `table` has none.

    Raises
    ------
    InputError
        If no job is left.
    """
    count = int(bad.sum())
    if not count:
        return table
    text = f"left out {count} of {len(table)} jobs: {reason}{_price(priced or table, bad)}"
    log.warning("%s: %s", path, text)
    if count == len(table):
        raise InputError(
            "no jobs", where=str(path), found=f"all {count}: {reason}", allowed="at least one job"
        )
    return table.take(~bad)


def _price(table: Table, bad: np.ndarray) -> str:
    """Return the GPU-hours of rows to leave out, by state if known; "" if the table has no run times."""
    if not {"gpus", "duration_s"} <= {*table.columns} or object in (
        table["gpus"].dtype,
        table["duration_s"].dtype,
    ):
        return ""
    gpu_h = np.nan_to_num(table["gpus"] * work_s(table)) / 3600
    total = f"{gpu_h[bad].sum():,.4g} of {gpu_h.sum():,.4g} GPU-hours" if gpu_h[bad].any() else "0 GPU-hours"
    if "state" not in table:
        return f" ({total})" if gpu_h[bad].any() else ""
    codes, states = coded(table["state"])
    jobs, hours = (np.bincount(codes, weights).astype(float) for weights in (bad, np.where(bad, gpu_h, 0)))
    counts = [
        f"{state or 'unknown'} {jobs[at]:,.0f}" + (f" with {hours[at]:,.4g}" if hours[at] else "")
        for at, state in enumerate(states)
        if jobs[at]
    ]
    return f" ({total}; {', '.join(counts)})"


def apply_zero_duration(table: Table, rule: ZeroDuration, path: Path) -> Table:
    """Apply the rule for jobs of duration 0 to a typed table."""
    zero = table["duration_s"] == 0
    if rule == "drop":
        return drop(table, zero, path, "duration is 0 (zero_duration=drop)")
    if zero.any():
        log.warning("%s: %d of %d jobs take 1 s instead of 0", path, int(zero.sum()), len(table))
    return table.assign(duration_s=np.where(zero, 1.0, table["duration_s"]))


def apply_use_cpus(table: Table, rule: UseCpus) -> Table:
    """Apply the rule for the CPUs of jobs that use GPUs to a typed table."""
    if rule == "keep":
        return table
    return table.assign(cpus=np.where(table["gpus"] == 0, table["cpus"], 0.0))


def apply_use_memory(table: Table, rule: UseCpus) -> Table:
    """Apply the rule for the memory of jobs that use GPUs to a typed table."""
    if rule == "keep":
        return table
    return table.assign(memory_bytes=np.where(table["gpus"] == 0, table["memory_bytes"], 0.0))


def sliced_gpus(table: Table, rule: FractionalGpus, path: Path) -> Table:
    """Apply the rule for jobs on slices of GPUs (MIG), by the column `sliced`, and log how many there are."""
    if rule == "drop":
        return drop(table, table["sliced"], path, "part of a GPU (fractional_gpus=drop)")
    if sliced := int(table["sliced"].sum()):
        note = "%s: %d of %d jobs hold parts of GPUs, and get a whole one for each"
        log.warning(note, path, sliced, len(table))
    return table


def keep_states(table: Table, raw: Table, column: str, wanted: Sequence[str] | None, path: Path) -> Table:
    """Keep the jobs that ended in one of the wanted states, by a column of the file; None keeps all."""
    if wanted is not None and not (states := set(raw[column])) & set(wanted):
        allowed = ", ".join(sorted(states))
        raise InputError(
            "no job has this state", where="workload.states", found=list(wanted), allowed=allowed
        )
    table = table.assign(state=raw.at(table.places)[column])
    return keep_values(table, raw, column, wanted, path, "state")


def refuse_states(wanted: Sequence[str] | None) -> None:
    """Raise InputError for a choice of final states if the file does not have them."""
    if wanted is not None:
        allowed = "null: this file has no final states"
        raise InputError("no states", where="workload.states", found=list(wanted), allowed=allowed)


def keep_values(
    table: Table, raw: Table, column: str, wanted: Sequence[str] | None, path: Path, name: str = ""
) -> Table:
    """Keep the jobs with one of the wanted values in a column of the file; None keeps all."""
    if wanted is None:
        return table
    other = ~among(raw.at(table.places)[column], wanted)
    return drop(table, other, path, f"{name or column} is not one of {', '.join(wanted)}")


def among(column: Column, wanted: Iterable[str]) -> Column:
    """Return whether each value is one of those wanted, (n_jobs,) bool."""
    known = set(wanted)
    return np.array([one in known for one in column.tolist()], dtype=bool)


def seconds_between(start: Column, end: Column) -> Column:
    """Return the seconds from dates to others, (n_jobs,); NaN if one is not known."""
    import pandas as pd

    return pd.to_timedelta(end - start).total_seconds().to_numpy()


def seconds_after_first(dates: Column) -> Column:
    """Return the seconds since the earliest date, (n_jobs,)."""
    return seconds_between(np.fmin.reduce(dates), dates)


def renamed(table: Table, fields: Mapping[str, str]) -> Table:
    """Return the columns that `fields` names (canonical name: file's name), under their canonical names."""
    return Table({ours: table[theirs] for ours, theirs in fields.items()}, table.places, table.unit)


def line_names(prefix: str, table: Table) -> list[str]:
    """Return a name for each job of a file without names, of its line; all are of one length."""
    lines = table.places.tolist()
    return [f"{prefix}-{line:0{len(str(lines[-1]))}d}" for line in lines]


def from_records(records: Sequence[Mapping[str, Any]]) -> Table:
    """Return JSON objects as the column `record` of a table that counts entries from 1."""
    column = np.fromiter(records, dtype=object, count=len(records))
    return Table({"record": column}, np.arange(1, len(records) + 1), "entry")


def keys_of(raw: Table, keys: Sequence[str], path: Path) -> Table:
    """Return the chosen keys of JSON objects as columns.

    Raises
    ------
    BadRowsError
        For objects that lack a key.
    """
    records = raw["record"].tolist()
    for key in keys:
        lost = np.array([key not in record for record in records])
        if lost.any():
            named = raw.assign(keys=[sorted(record) for record in records])
            refuse(named, lost, str(path), key, "is missing", ", ".join(keys), column="keys")
    return Table({key: [record[key] for record in records] for key in keys}, raw.places, raw.unit)


def whole_gpus(table: Table, rule: FractionalGpus, path: Path) -> Table:
    """Apply the rule for parts of GPUs to a typed table, and log how many jobs it affects."""
    gpus = table["gpus"]
    shared = np.isfinite(gpus) & (gpus > 0) & (gpus != np.floor(gpus))
    if rule == "drop":
        return drop(table, shared, path, "part of a GPU (fractional_gpus=drop)")
    if shared.any():
        log.warning("%s: %d of %d jobs share a GPU, and get a whole one", path, int(shared.sum()), len(table))
    return table.assign(gpus=np.where(shared, np.ceil(gpus), gpus))


def power_of_two_gpus(table: Table, path: Path) -> Table:
    """Round demands of a typed table up to the next power of two, and log how many jobs it affects."""
    gpus = table["gpus"]
    rounded = np.where(gpus > 0, 2.0 ** np.ceil(np.log2(np.maximum(gpus, 1))), gpus)
    odd = np.isfinite(gpus) & (rounded != gpus)
    if odd.any():
        log.warning(
            "%s: %d of %d jobs get more GPUs: the next power of two", path, int(odd.sum()), len(table)
        )
    return table.assign(gpus=rounded)


def apply_cpu_jobs(table: Table, rule: CpuJobs, path: Path) -> Table:
    """Apply the rule for jobs without GPUs to a typed table."""
    if rule == "keep":
        return table
    return drop(table, table["gpus"] == 0, path, "no GPUs (cpu_jobs=drop)")


def drop_unfinished(table: Table, path: Path, reason: str) -> Table:
    """Leave out the jobs of a typed table whose duration is not known."""
    return drop(table, np.isnan(table["duration_s"]), path, reason)


def note_order(table: Table, path: Path) -> None:
    """Log how many jobs come after one that arrived later; selection sorts them."""
    submit_s = table["submit_s"]
    late = int(np.sum(submit_s < np.maximum.accumulate(submit_s)))
    if late:
        log.info("%s: %d of %d jobs are out of order; sorted by arrival", path, late, len(table))


def stripped(column: Column) -> Column:
    """Return a column as text without surrounding spaces, (n_jobs,)."""
    return np.array([one.strip() for one in texts(column)], dtype=object)


def dated(table: Table, origin: Any) -> Table:
    """Return the table with `submit_date`, if the date of second 0 is known."""
    if origin is None:
        return table
    import pandas as pd

    dates = pd.Timestamp(origin) + pd.to_timedelta(table["submit_s"], unit="s")
    return table.assign(submit_date=dates.to_numpy())


def renamed_models(table: Table, names: Mapping[str, str | None]) -> Table:
    """Return the table with the models of a trace renamed; a name that maps to None is removed."""
    known = {theirs: ours or "" for theirs, ours in names.items()}
    return table.assign(model=[known.get(name, name) for name in table["model"]])
