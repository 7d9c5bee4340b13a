"""The one job table between every trace format and the simulator.

One row per job; the columns are those of `artist.workload.fields` and, if a source knows it, `submit_date`
(datetime64): the wall clock of the arrival, without time zone.

Each row gives its amount of work: iterations and compute_s, or duration_s (alone or with one of the two). The
index gives the origin of a row: its name is "line" or "entry", its values count from 1.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from artist.errors import InputError
from artist.workload.fields import FIELDS, MAX_S, NUMBERS, REQUIRED, STAGE_COLUMNS, TEXTS, Number, Text

_MISSING = ("", "NA", "N/A", "null", "NULL", "None")


def typed(table: pd.DataFrame, where: str, fields: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return the table with its canonical columns as numbers and text, without checking ranges.

    Parameters
    ----------
    table
        Canonical column names; values may still be text.
    where
        File, for messages.
    fields
        The file's own name of a canonical column, for messages.

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
    made: dict[str, pd.Series] = {}
    for field in FIELDS:
        if field.name in table or not field.optional:
            if isinstance(field, Text):
                made[field.name] = _text(table, field.name)
            else:
                made[field.name] = _numbers(table, field, where, fields)
    if "submit_date" in table:
        made["submit_date"] = table["submit_date"]
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
    for number in NUMBERS:
        if number.name not in result:
            continue
        _check_range(result, number, where, fields)
        if number.whole:
            has_gaps = number.default is not None and np.isnan(number.default)
            result[number.name] = result[number.name].astype("Int64" if has_gaps else "int64")
    for text in TEXTS:
        if text.pattern and text.name in result:
            values = result[text.name]
            bad = values.ne("") & ~values.str.fullmatch(text.pattern)
            name = fields.get(text.name, text.name)
            refuse(result, bad.to_numpy(bool), where, name, text.fault, text.allowed, found=text.name)
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


def _numbers(table: pd.DataFrame, number: Number, where: str, fields: Mapping[str, str]) -> pd.Series:
    """Return a column as float64; missing values become the default."""
    if number.name not in table:
        return pd.Series(number.default, index=table.index, dtype=float)
    name = fields.get(number.name, number.name)
    column = table[number.name]
    values = to_numbers(column)
    gaps = np.isnan(values)
    if not gaps.any():
        return pd.Series(values, index=table.index)
    wrong = gaps.copy()
    wrong[gaps] = ~_is_missing(column[gaps])
    refuse(table, wrong, where, name, "is not a number", number.allowed, found=number.name)
    if number.default is None:
        refuse(table, gaps, where, name, "is missing", number.allowed, found=number.name)
    else:
        values = np.where(gaps, number.default, values)
    return pd.Series(values, index=table.index)


def to_numbers(column: pd.Series) -> np.ndarray:
    """Return a column as float64, (n_jobs,); values that are not numbers become NaN."""
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
    """Return which values mean none, rather than something that is not a number."""
    stands_for_none = column.isna() | column.isin(_MISSING) | column.astype(str).str.lower().eq("nan")
    return stands_for_none.to_numpy(bool)


def _check_range(table: pd.DataFrame, number: Number, where: str, fields: Mapping[str, str]) -> None:
    values = table[number.name].to_numpy(float)
    bad = (values < number.least) | (values > number.most)
    if number.above:
        bad |= values == number.least
    if number.whole:
        bad |= np.isfinite(values) & (values != np.floor(values))
    if bad.any():
        fault = number.fault(float(values[np.argmax(bad)]))
        name = fields.get(number.name, number.name)
        refuse(table, bad, where, name, fault, number.allowed, found=number.name)


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
    for name, bound in (("min_gpus", least), ("max_gpus", most)):
        field, allowed = fields.get(name, name), "1 <= min_gpus <= gpus <= max_gpus, or neither of the two"
        refuse(table, elastic & (bound == 0), where, field, "is missing", allowed, found=name)
    wrong = elastic & ~((least >= 1) & (least <= gpus) & (gpus <= most))
    refuse(
        table, wrong, where, "min_gpus", "does not fit", "1 <= min_gpus <= gpus <= max_gpus", found="min_gpus"
    )
    if "step" in table:
        wrong = elastic & ((gpus - least) % table["step"].to_numpy() != 0)
        allowed = "gpus = min_gpus + a multiple of step"
        refuse(table, wrong, where, fields.get("step", "step"), "does not fit", allowed, found="step")
    _check_stages(table, where, fields)


def _check_stages(table: pd.DataFrame, where: str, fields: Mapping[str, str]) -> None:
    """Raise InputError for a row that has only some of the stages of an iteration."""
    known = {name: table[name].notna().to_numpy(bool) for name in STAGE_COLUMNS if name in table}
    if not known:
        return
    some = np.logical_or.reduce(list(known.values()))
    for name in STAGE_COLUMNS:
        lacking = some & ~known.get(name, np.zeros(len(table), dtype=bool))
        allowed = f"all of {', '.join(STAGE_COLUMNS)}, or none"
        refuse(table, lacking, where, fields.get(name, name), "is missing", allowed, found=name)
