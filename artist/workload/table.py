"""The canonical job table between trace formats and the simulator.

One row per job; the columns are those of `artist.workload.fields` and, if a source knows it, `submit_date`
(datetime64): the wall clock of the arrival, without time zone.

Each row has its amount of work: iterations and compute_s, or duration_s (alone or with one of the two). The
index is the origin of a row: its name is "line" or "entry", its values count from 1.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from artist.errors import InputError
from artist.tables.rows import BadRowsError, Column, Table, coded, is_constant, repeated, texts, to_numbers
from artist.units import MAX_S
from artist.workload.fields import FIELDS, NUMBERS, REQUIRED, STAGE_COLUMNS, TEXTS, Number, Text
from artist.workload.missing import is_missing, known_texts, without_fillers

if TYPE_CHECKING:
    import pandas as pd

MEASURED_AT = "measured_at"  # speed of the GPUs that times held for, if not all are default GPUs


def typed(rows: "Table | pd.DataFrame", where: str, fields: Mapping[str, str] | None = None) -> Table:
    """Return the table with its canonical columns as numbers and text, without checking ranges.

    Parameters
    ----------
    rows
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
    fields, table = fields or {}, Table.of(rows)
    if lost := [fields.get(name, name) for name in REQUIRED if name not in table]:
        raise InputError(
            "column is missing", where=where, found=list(table.columns), allowed=f"add {lost[0]}"
        )
    if not len(table):
        raise InputError("no jobs", where=where, found="0 rows", allowed="at least one job")
    columns: dict[str, Any] = {}
    for field in FIELDS:
        if field.name in table:
            if isinstance(field, Text):
                columns[field.name] = known_texts(texts(table[field.name]))
            else:
                columns[field.name] = _numbers(table, field, where, fields)
        elif not field.optional:
            columns[field.name] = "" if isinstance(field, Text) else float(field.default or 0)
    names = columns["job_id"].tolist() if "job_id" in table else [""] * len(table)
    if "" in names:
        columns["job_id"] = [name or f"job-{at}" for name, at in zip(names, table.places, strict=True)]
    if "submit_date" in table:
        columns["submit_date"] = table["submit_date"]
    return Table(columns, table.places, table.unit)


def check(rows: "Table | pd.DataFrame", where: str, fields: Mapping[str, str] | None = None) -> Table:
    """Return the table in its final types, or name the first row that cannot be simulated.

    Parameters
    ----------
    rows, where, fields
        As for `typed`.

    Raises
    ------
    InputError
        Empty table, wrong type, negative, NaN or infinite value, no GPUs, duplicate id, no work: with
        file, row, field, the value found and the allowed values.
    """
    table = typed(rows, where, fields)
    try:
        return _checked(table, where, fields or {})
    except BadRowsError as bad:
        gpu_h = table["gpus"] * work_s(table) / 3600
        bad.gpu_h = float(gpu_h[np.isin(table.places, bad.places) & (gpu_h > 0) & (gpu_h < np.inf)].sum())
        raise


def _checked(table: Table, where: str, fields: Mapping[str, str]) -> Table:
    """Return the table in its final types, or raise BadRowsError."""
    whole = {}
    for number in NUMBERS:
        if number.name in table:
            _check_range(table, number, where, fields)
            if number.whole and number.default == number.default:
                column = table[number.name]
                whole[number.name] = int(column[0]) if is_constant(column) else column.astype(np.int64)
    for text in TEXTS:
        if text.pattern and text.name in table:
            codes, values = coded(table[text.name])
            wrong = [value != "" and not re.fullmatch(text.pattern, value) for value in values]
            name = fields.get(text.name, text.name)
            refuse(table, np.array(wrong)[codes], where, name, text.fault, text.allowed, column=text.name)
    table = table.assign(**whole)
    _check_ids(table, where, fields)
    _check_sense(table, where, fields)
    return table


def work_s(table: "Table | pd.DataFrame") -> np.ndarray:
    """Return the run time of each job without waiting and communication, (n_jobs,), in seconds."""
    iterations, compute_s = np.asarray(table["iterations"]), np.asarray(table["compute_s"])
    return np.where(np.isnan(iterations * compute_s), table["duration_s"], iterations * compute_s)


def refuse(
    table: Table, bad: np.ndarray, where: str, field: str, fault: str, allowed: str, column: str = ""
) -> None:
    """Raise BadRowsError for the rows where `bad`, (n_jobs,), is true; do nothing if none is.

    The value in the message is that of `column`, which defaults to `field`.
    """
    if bad.any():
        row = int(np.argmax(bad))
        value = table[column or field][row] if (column or field) in table else None
        shown = value.item() if isinstance(value, np.generic) else value
        raise BadRowsError(f"{field} {fault}", table, bad, where=where, value=shown, allowed=allowed)


def _numbers(table: Table, number: Number, where: str, fields: Mapping[str, str]) -> Column:
    """Return a column as numbers; missing values become the default."""
    name, column = fields.get(number.name, number.name), table[number.name]
    values = to_numbers(column)
    wrong = np.isnan(values)
    if column.dtype == object:  # as the file has them, not computed
        values = without_fillers(values, number.most, least=number.least, time=number.unit == "time")
    gaps = np.isnan(values)
    if not gaps.any():
        return values
    wrong[wrong] = [not is_missing(value) for value in column[wrong].tolist()]
    refuse(table, wrong, where, name, "is not a number", number.allowed, column=number.name)
    if number.default is None:
        refuse(table, gaps, where, name, "is missing", number.allowed, column=number.name)
    return np.where(gaps, float(number.default or 0), values)


def _check_range(table: Table, number: Number, where: str, fields: Mapping[str, str]) -> None:
    values = table[number.name]
    bad = (values < number.least) | (values > number.most)
    if number.above:
        bad |= values == number.least
    if number.whole:
        bad |= np.isfinite(values) & (values != np.floor(values))
    if bad.any():
        fault = number.fault(float(values[np.argmax(bad)]))
        name = fields.get(number.name, number.name)
        refuse(table, bad, where, name, fault, number.allowed, column=number.name)


def _check_ids(table: Table, where: str, fields: Mapping[str, str]) -> None:
    name, job_id = fields.get("job_id", "job_id"), table["job_id"]
    again = repeated(job_id)
    if again.any():
        first = int(np.argmax(job_id == job_id[np.argmax(again)]))
        allowed = f"a unique name; {table.place(first)} has it too"
        refuse(table, again, where, name, "is a duplicate", allowed, column="job_id")


def _timed_by_plan(table: Table) -> np.ndarray:
    """Return whether a job has the iterations of a plan, (n_jobs,): `plans.with_plans` knows their time."""
    if "plan" not in table or "started_s" in table:
        return np.zeros(len(table), dtype=bool)
    planned: np.ndarray = table["plan"] != ""
    return planned & ~np.isnan(table["iterations"])


def _check_sense(table: Table, where: str, fields: Mapping[str, str]) -> None:
    gpus = table["gpus"]
    nothing = (gpus == 0) & (table["cpus"] == 0)
    name = fields.get("gpus", "gpus")
    refuse(
        table, nothing, where, name, "is zero", "1 or more, or 0 for a job that asks for cpus", column="gpus"
    )
    lacking = "compute_s" if "compute_s" in fields else "duration_s"
    name = fields.get(lacking, lacking)
    unknown = np.isnan(work_s(table)) & ~_timed_by_plan(table)
    refuse(
        table,
        unknown,
        where,
        name,
        "is missing",
        "a duration, or iterations and compute_s",
        column="duration_s",
    )
    too_long = work_s(table) > MAX_S
    refuse(
        table,
        too_long,
        where,
        "iterations x compute_s",
        "is too large",
        f"up to {MAX_S:g} s",
        column="iterations",
    )
    if "started_s" in table:
        early = table["started_s"] < table["submit_s"]
        name, allowed = fields.get("start_s", "started_s"), "the time of submission, or later"
        refuse(table, early, where, name, "is before submission", allowed, column="started_s")
    least, most = table["min_gpus"], table["max_gpus"]
    elastic = (least > 0) | (most > 0)
    for name, bound in (("min_gpus", least), ("max_gpus", most)):
        field, allowed = fields.get(name, name), "1 <= min_gpus <= gpus <= max_gpus, or neither of the two"
        refuse(table, elastic & (bound == 0), where, field, "is missing", allowed, column=name)
    wrong = elastic & ~((least >= 1) & (least <= gpus) & (gpus <= most))
    refuse(
        table,
        wrong,
        where,
        "min_gpus",
        "does not fit",
        "1 <= min_gpus <= gpus <= max_gpus",
        column="min_gpus",
    )
    if "step" in table:
        wrong = elastic & ((gpus - least) % table["step"] != 0)
        allowed = "gpus = min_gpus + a multiple of step"
        refuse(table, wrong, where, fields.get("step", "step"), "does not fit", allowed, column="step")
    _check_stages(table, where, fields)


def _check_stages(table: Table, where: str, fields: Mapping[str, str]) -> None:
    """Raise InputError for a row that has only some of the stages of an iteration."""
    known = {name: ~np.isnan(table[name]) for name in STAGE_COLUMNS if name in table}
    if not known:
        return
    some = np.logical_or.reduce(list(known.values()))
    for name in STAGE_COLUMNS:
        lacking = some & ~known.get(name, np.zeros(len(table), dtype=bool))
        allowed = f"all of {', '.join(STAGE_COLUMNS)}, or none"
        refuse(table, lacking, where, fields.get(name, name), "is missing", allowed, column=name)
