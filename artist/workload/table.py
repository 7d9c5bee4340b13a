"""The one job table between every trace format and the simulator.

One row a job. Columns, all present after `check`:

===============  ===========  ==========================================================================
job_id           str          unique name
submit_s         float64      arrival in seconds, 0 or more, from any origin
gpus             int64        GPUs of relative speed 1; 0 for a CPU-only job, which then needs cpus
duration_s       float64      run time without waiting, above 0; NaN if not known
iterations       Int64        iterations, 1 or more; NA if not known
compute_s        float64      compute time of an iteration on `gpus` GPUs, above 0; NaN if not known
model            str          name of a network profile; "" if not known
user, vc         str          "" if not known
cpus             int64        for the whole job; 0 if not known
memory_bytes     int64        for the whole job; 0 if not known
min_gpus         int64        bounds of an elastic job; both 0 if not elastic
max_gpus         int64
gpu_utilization  float64      share of its compute time in which it keeps its GPUs busy, above 0 to 1
guaranteed       int64        1 for a job that was promised its GPUs, 0 for one that takes what is left idle
submit_date      datetime64   optional: wall clock of the arrival, without time zone
storage_s        float64      optional, all four: how long an iteration uses each resource, 0 or more;
cpu_s                         NaN if not known
gpu_s
network_s
===============  ===========  ==========================================================================

Each row says how much work it is: iterations and compute_s, or duration_s (alone or with one of the two).
The index tells where a row came from: its name is "line" or "entry", its values count from 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from artist.errors import InputError

MAX_S = 4e9  # 126 years: two such times still add up within 64 bits of nanoseconds
_MISSING = ("", "NA", "N/A", "null", "NULL", "None")
_TEXTS = ("job_id", "model", "user", "vc")


@dataclass(frozen=True, slots=True)
class _Number:
    """Range of a numeric column; `default` None means that every row must have it."""

    field: str
    least: float
    most: float
    whole: bool = False
    above: bool = False
    default: float | None = None

    @property
    def allowed(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} {'above' if self.above else 'from'} {self.least:g} to {self.most:g}"

    def fault(self, value: float) -> str:
        """Say what is wrong with a value that is known to be wrong."""
        if not np.isfinite(value):
            return "is not finite"
        if value < 0:
            return "is negative"
        if value > self.most:
            return "is too large"
        return "is zero" if value == 0 else "is not a whole number"


_NUMBERS = (
    _Number("submit_s", 0, MAX_S),
    _Number("gpus", 0, 1e6, whole=True),
    _Number("duration_s", 0, MAX_S, above=True, default=np.nan),
    _Number("iterations", 1, 1e15, whole=True, default=np.nan),
    _Number("compute_s", 0, MAX_S, above=True, default=np.nan),
    _Number("cpus", 0, 1e7, whole=True, default=0),
    _Number("memory_bytes", 0, 2.0**53, whole=True, default=0),
    _Number("min_gpus", 0, 1e6, whole=True, default=0),
    _Number("max_gpus", 0, 1e6, whole=True, default=0),
    _Number("gpu_utilization", 0, 1, above=True, default=1),
    _Number("guaranteed", 0, 1, whole=True, default=1),
)
_STAGES = tuple(
    _Number(name, 0, MAX_S, default=np.nan) for name in ("storage_s", "cpu_s", "gpu_s", "network_s")
)
STAGE_COLUMNS = tuple(number.field for number in _STAGES)
REQUIRED = ("job_id", "submit_s", "gpus")
COLUMNS = (
    *("job_id", "submit_s", "gpus", "duration_s", "iterations", "compute_s", "model", "user", "vc"),
    *("cpus", "memory_bytes", "min_gpus", "max_gpus", "gpu_utilization", "guaranteed"),
)
OPTIONAL_COLUMNS = ("submit_date", *STAGE_COLUMNS)


def typed(table: pd.DataFrame, where: str, fields: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return the table with all canonical columns as numbers and text; ranges are not looked at.

    Parameters
    ----------
    table
        Canonical column names; values may still be text.
    where
        File, for messages.
    fields
        What the file itself calls a canonical column, for messages.

    Raises
    ------
    InputError
        If there is no row, a column is missing, or a value is not a number.
    """
    fields = fields or {}
    if lost := [fields.get(name, name) for name in REQUIRED if name not in table]:
        raise InputError(
            "column is missing", where=where, found=list(table.columns), allowed=f"add {lost[0]}"
        )
    if table.empty:
        raise InputError("no jobs", where=where, found="0 rows", allowed="at least one job")
    columns: dict[str, Any] = {name: _text(table, name) for name in _TEXTS}
    for number in _NUMBERS:
        columns[number.field] = _numbers(table, number, where, fields)
    made = {name: columns[name] for name in COLUMNS}
    if "submit_date" in table:
        made["submit_date"] = table["submit_date"]
    if any(name in table for name in STAGE_COLUMNS):
        made |= {number.field: _numbers(table, number, where, fields) for number in _STAGES}
    return pd.DataFrame(made, index=table.index)


def check(table: pd.DataFrame, where: str, fields: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return the table in its final types, or name the first row that cannot be simulated.

    Parameters
    ----------
    table, where, fields
        As for `typed`.

    Raises
    ------
    InputError
        Empty table, wrong type, negative, NaN or infinite value, no GPUs, duplicate id, no work: with
        file, row, field, the value found and what is allowed.
    """
    fields = fields or {}
    result = typed(table, where, fields)
    for number in _NUMBERS:
        _check_range(result, number, where, fields)
        if number.whole:
            has_gaps = number.default is not None and np.isnan(number.default)
            result[number.field] = result[number.field].astype("Int64" if has_gaps else "int64")
    for number in _STAGES if STAGE_COLUMNS[0] in result else ():
        _check_range(result, number, where, fields)
    _check_ids(result, where, fields)
    _check_sense(result, where, fields)
    return result


def work_s(table: pd.DataFrame) -> np.ndarray:
    """Return the run time of each job without waiting and communication, (n_jobs,), in seconds."""
    product = table["iterations"].to_numpy(float, na_value=np.nan) * table["compute_s"].to_numpy(float)
    return np.where(np.isnan(product), table["duration_s"].to_numpy(float), product)


def row_name(table: pd.DataFrame, position: int) -> str:
    """Name a row as the user would look for it, such as "line 7"."""
    if table.index.name is None:
        return f"row {position + 1}"
    return f"{table.index.name} {table.index[position]}"


def refuse(
    table: pd.DataFrame, bad: np.ndarray, where: str, field: str, what: str, allowed: str, found: str = ""
) -> None:
    """Raise InputError for the first row where `bad`, (n_jobs,), is true; do nothing if none is.

    The value found is that of column `found`, which defaults to `field`.
    """
    if bad.any():
        position = int(np.argmax(bad))
        value = table[found or field].iloc[position] if (found or field) in table else None
        shown = value.item() if isinstance(value, np.generic) else value
        raise InputError(
            f"{field} {what}", where=f"{where}, {row_name(table, position)}", found=shown, allowed=allowed
        )


def _text(table: pd.DataFrame, name: str) -> pd.Series:
    if name not in table:
        return pd.Series("", index=table.index, dtype=str)
    column = table[name]
    return column.astype(object).where(column.notna(), "").astype(str)


def _numbers(table: pd.DataFrame, number: _Number, where: str, fields: Mapping[str, str]) -> pd.Series:
    """Return a column as float64; what is missing becomes the default."""
    if number.field not in table:
        return pd.Series(number.default, index=table.index, dtype=float)
    name = fields.get(number.field, number.field)
    column = table[number.field]
    values = to_numbers(column)
    gaps = np.isnan(values)
    if not gaps.any():
        return pd.Series(values, index=table.index)
    wrong = gaps.copy()
    wrong[gaps] = ~_is_missing(column[gaps])
    refuse(table, wrong, where, name, "is not a number", number.allowed, found=number.field)
    if number.default is None:
        refuse(table, gaps, where, name, "is missing", number.allowed, found=number.field)
    else:
        values = np.where(gaps, number.default, values)
    return pd.Series(values, index=table.index)


def to_numbers(column: pd.Series) -> np.ndarray:
    """Return a column as float64, (n_jobs,); what is not a number becomes NaN."""
    if pd.api.types.is_bool_dtype(column):
        return np.full(len(column), np.nan)
    if column.dtype == object:  # a file that knows types, such as JSON: only text and numbers can count
        column = column.map(_number_or_text)
    return pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)


def _number_or_text(value: object) -> str | float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value) if isinstance(value, int) and abs(value) >= 2**63 else value  # too large is infinite


def _is_missing(column: pd.Series) -> np.ndarray:
    """Tell which values stand for none, rather than for something that is not a number."""
    stands_for_none = column.isna() | column.isin(_MISSING) | column.astype(str).str.lower().eq("nan")
    return stands_for_none.to_numpy(bool)


def _check_range(table: pd.DataFrame, number: _Number, where: str, fields: Mapping[str, str]) -> None:
    values = table[number.field].to_numpy(float)
    bad = (values < number.least) | (values > number.most)
    if number.above:
        bad |= values == number.least
    if number.whole:
        bad |= np.isfinite(values) & (values != np.floor(values))
    if bad.any():
        fault = number.fault(float(values[np.argmax(bad)]))
        name = fields.get(number.field, number.field)
        refuse(table, bad, where, name, fault, number.allowed, found=number.field)


def _check_ids(table: pd.DataFrame, where: str, fields: Mapping[str, str]) -> None:
    name = fields.get("job_id", "job_id")
    refuse(
        table,
        table["job_id"].eq("").to_numpy(bool),
        where,
        name,
        "is missing",
        "a unique name",
        found="job_id",
    )
    again = table["job_id"].duplicated().to_numpy(bool)
    if again.any():
        first = int(np.argmax(table["job_id"].eq(table["job_id"].iloc[int(np.argmax(again))]).to_numpy(bool)))
        allowed = f"a unique name; {row_name(table, first)} has it too"
        refuse(table, again, where, name, "is a duplicate", allowed, found="job_id")


def _check_sense(table: pd.DataFrame, where: str, fields: Mapping[str, str]) -> None:
    gpus = table["gpus"].to_numpy()
    nothing = (gpus == 0) & (table["cpus"].to_numpy() == 0)
    name = fields.get("gpus", "gpus")
    refuse(
        table, nothing, where, name, "is zero", "1 or more, or 0 for a job that asks for cpus", found="gpus"
    )
    lacking = "compute_s" if "compute_s" in fields else "duration_s"
    name = fields.get(lacking, lacking)
    unknown = np.isnan(work_s(table))
    refuse(
        table,
        unknown,
        where,
        name,
        "is missing",
        "a duration, or iterations and compute_s",
        found="duration_s",
    )
    too_long = work_s(table) > MAX_S
    refuse(
        table,
        too_long,
        where,
        "iterations x compute_s",
        "is too large",
        f"up to {MAX_S:g} s",
        found="iterations",
    )
    least, most = table["min_gpus"].to_numpy(), table["max_gpus"].to_numpy()
    elastic = (least > 0) | (most > 0)
    wrong = elastic & ~((least >= 1) & (least <= gpus) & (gpus <= most))
    refuse(
        table, wrong, where, "min_gpus", "does not fit", "1 <= min_gpus <= gpus <= max_gpus", found="min_gpus"
    )
