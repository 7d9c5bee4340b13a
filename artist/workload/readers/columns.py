"""Reader of any table with one row per job, by a map from canonical columns to its own."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from pydantic import Field, NaiveDatetime, create_model, model_validator

from artist.bad_input.records import Strict
from artist.errors import InputError
from artist.tables.rows import Column, Table, repeated, to_numbers
from artist.workload.api import TypedFileParameters
from artist.workload.fields import FIELDS, Unit
from artist.workload.readers import rules
from artist.workload.readers.delimited import read_delimited
from artist.workload.readers.trace import BadRowsRule, TraceParameters, TraceReader
from artist.workload.table import check, refuse, typed

SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
SHARES = {"fraction": 1.0, "percent": 0.01}
Duplicates = Literal["refuse", "first", "number"]
_SCALES: dict[str, Mapping[str, float]] = {"time": SECONDS, "bytes": BYTES, "share": SHARES}
_OURS = {"time": "s", "bytes": "b", "share": "fraction"}
_INSTANTS = ("submit_s", "start_s", "end_s")  # may be timestamps
_UNITS: dict[str, Unit] = {
    "start_s": "time",
    "end_s": "time",
    **{field.name: field.unit for field in FIELDS if field.unit},
}
_NAMES = tuple(field.name for field in FIELDS)
Name = str | None
Names = str | tuple[str, ...] | None
Constant = str | int | float


class _Mapped(Strict):
    """The file's names of the canonical columns; None for columns that it lacks.

    Several names, as for gpus, mean their product: nodes x GPUs per node. The run time is duration_s or, if
    the file has none, end_s - start_s.
    """

    def named(self) -> dict[str, tuple[str, ...]]:
        """Return the columns that the file has: canonical name, and its own."""
        mapped = {ours: theirs for ours, theirs in self.model_dump().items() if theirs}
        return {
            ours: (theirs,) if isinstance(theirs, str) else tuple(theirs) for ours, theirs in mapped.items()
        }


if TYPE_CHECKING:
    ColumnMap = _Mapped
    Units = Strict
else:  # one entry a column
    ColumnMap = create_model(
        "ColumnMap",
        __base__=_Mapped,
        **{field.name: (Names if field.product else Name, None) for field in FIELDS},
        **dict.fromkeys(("start_s", "end_s"), (Name, None)),
    )
    Units = create_model(
        "Units",
        __base__=Strict,
        __doc__="What the file counts in; a time of day is a `timestamp`.",
        **{
            name: (Literal[(*_SCALES[unit], *(["timestamp"] if name in _INSTANTS else []))], _OURS[unit])
            for name, unit in _UNITS.items()
        },
    )


class ColumnsCsv(TraceReader):
    """Jobs of a table in columns of its own, plain or gzipped.

    Rules, each a parameter:

    - `columns` maps canonical columns to the file's, `units` has their units, `constants` a value for columns
      that the file lacks, or one for each of the file's models. Without job_id, a job is called job-<line of
      the file>.
    - `filters` keeps rows by value: {status: [COMPLETED, FAILED]}; values are compared as text.
    - A timestamp is ISO, or of `timestamp_format` as Python writes it. One with a time zone becomes the wall
      clock of `utc_offset_h`; one without is taken as it is, as is the date of second 0 in `origin`.
    - Rows without a duration follow `no_duration`, those of duration 0 `zero_duration`, those without GPUs
      `cpu_jobs`, parts of GPUs `fractional_gpus`, a repeated job_id `duplicates`: refuse; take the first; or
      number, as <job_id>#<line>. Rows left out are counted.
    - `separator` is one character, or `tab`; `comment` begins lines to skip; `header` names the columns of a
      file without a header line.
    """

    class Parameters(TraceParameters, TypedFileParameters):
        """Parameters, beside those of every source."""

        columns: ColumnMap
        units: Units = Units()
        constants: dict[str, Constant | dict[str, Constant]] | None = None
        filters: dict[str, tuple[str | int | float | bool, ...]] | None = None
        model_names: dict[str, str | None] | None = None
        timestamp_format: str | None = None
        utc_offset_h: float = Field(default=0.0, ge=-14, le=14)
        origin: NaiveDatetime | None = None
        no_duration: Literal["drop", "refuse"] = "drop"
        zero_duration: rules.ZeroDuration = "drop"
        cpu_jobs: rules.CpuJobs = "drop"
        fractional_gpus: rules.FractionalGpus = "round_up"
        duplicates: Duplicates = "refuse"
        separator: str = ","
        comment: str | None = None
        header: tuple[str, ...] | None = None
        bad_rows: BadRowsRule = "refuse"

        @model_validator(mode="after")
        def _fits(self) -> Self:
            named = self.columns.named()
            if len(self.separator) != 1 and self.separator != "tab":
                raise ValueError("separator must be one character, or tab")
            for name, value in (self.constants or {}).items():
                if isinstance(value, dict) and "model" not in named:
                    raise ValueError(f"constants.{name} is by model: name columns.model")
                if name not in _NAMES:
                    raise ValueError(f"constants.{name} is no column of ours; {', '.join(_NAMES)}")
                if name in named:
                    raise ValueError(f"constants.{name}: the file has this column, by columns.{name}")
            for name in ("submit_s", "gpus"):
                if name not in named and name not in (self.constants or {}):
                    raise ValueError(f"name columns.{name}, or give constants.{name}")
            return self

    parameters: Parameters

    def _read(self) -> Table:
        chosen = self.parameters
        separator = "\t" if chosen.separator == "tab" else chosen.separator
        return read_delimited(chosen.path, separator=separator, header=chosen.header, comment=chosen.comment)

    def _jobs(self, raw: Table) -> Table:
        chosen, path = self.parameters, self.parameters.path
        raw = self._filtered(raw)
        fields = {ours: " x ".join(theirs) for ours, theirs in chosen.columns.named().items()}
        table = typed(self._columns(raw), str(path), fields)
        if chosen.no_duration == "drop":
            unknown = np.isnan(table["duration_s"]) & np.isnan(table["iterations"] * table["compute_s"])
            table = rules.drop(table, unknown, path, "no duration (no_duration=drop)")
        table = rules.whole_gpus(table, chosen.fractional_gpus, path)
        table = rules.apply_cpu_jobs(table, chosen.cpu_jobs, path)
        table = rules.apply_zero_duration(table, chosen.zero_duration, path)
        table = self._unique(table)
        rules.note_order(table, path)
        table = check(table, str(path), fields)
        if "submit_date" not in table:
            table = rules.dated(table, chosen.origin)
        return rules.renamed_models(table, chosen.model_names or {})

    def _filtered(self, raw: Table) -> Table:
        path = self.parameters.path
        for column, wanted in (self.parameters.filters or {}).items():
            values = rules.stripped(_column(raw, column, f"workload.filters.{column}", path))
            texts = [str(value) for value in wanted]
            kept = rules.among(values, texts)
            if not kept.any():
                allowed = ", ".join(sorted(set(values))[:30])
                where = f"workload.filters.{column}"
                raise InputError("no row has this value", where=where, found=texts, allowed=allowed)
            raw = rules.drop(raw, ~kept, path, f"{column} is filtered")
        return raw

    def _columns(self, raw: Table) -> Table:
        """Return the canonical columns of the file's rows, still unchecked."""
        chosen = self.parameters
        constants = chosen.constants or {}
        columns_read: dict[str, Any] = {
            name: self._constant(raw, name, value) for name, value in constants.items()
        }
        dates: dict[str, Column] = {}
        for ours, theirs in chosen.columns.named().items():
            columns = [_column(raw, name, f"workload.columns.{ours}", chosen.path) for name in theirs]
            if ours in _INSTANTS and getattr(chosen.units, ours) == "timestamp":
                dates[ours] = self._dates(raw, theirs[0])
            elif ours in _UNITS:
                scale = _SCALES[_UNITS[ours]][getattr(chosen.units, ours)]
                columns_read[ours] = _product(raw, columns, theirs, chosen.path) * scale
            else:
                columns_read[ours] = (
                    columns[0] if len(columns) == 1 else _product(raw, columns, theirs, chosen.path)
                )
        self._run_time(columns_read, dates)
        if "submit_s" in dates:
            asked = dates["submit_s"]
            (column,) = chosen.columns.named()["submit_s"]
            refuse(raw, np.isnat(asked), str(chosen.path), column, "is missing", "a time of arrival")
            columns_read |= {"submit_s": rules.seconds_after_first(asked), "submit_date": asked}
        if "job_id" not in columns_read:
            columns_read["job_id"] = [f"job-{line}" for line in raw.places]
        return Table(columns_read, raw.places, raw.unit)

    def _constant(self, raw: Table, name: str, value: Constant | Mapping[str, Constant]) -> Any:
        """Return a value for each row, or for all, by the file's name of its model."""
        if not isinstance(value, Mapping):
            return value
        (column,) = self.parameters.columns.named()["model"]
        models = rules.stripped(_column(raw, column, "workload.columns.model", self.parameters.path))
        unknown = ~rules.among(models, value)
        fault = f"has no value in constants.{name}"
        refuse(raw, unknown, str(self.parameters.path), column, fault, ", ".join(value))
        return [value[model] for model in models]

    def _run_time(self, columns_read: dict[str, Any], dates: dict[str, Column]) -> None:
        """Set duration_s from start and end, if the file has those instead."""
        start, end = (dates.get(name, columns_read.pop(name, None)) for name in ("start_s", "end_s"))
        if "duration_s" in columns_read or start is None or end is None:
            return
        if ("start_s" in dates) != ("end_s" in dates):
            allowed = "timestamp for both, or for neither"
            raise InputError("one date, one number", where="workload.units.end_s", allowed=allowed)
        columns_read["duration_s"] = rules.seconds_between(start, end) if "start_s" in dates else end - start

    def _dates(self, raw: Table, column: str) -> Column:
        chosen = self.parameters
        if chosen.timestamp_format is None:
            zoned = any(re.search(r"(?:Z|[+-]\d\d:?\d\d)$", text) for text in raw[column])
            return rules.parse_instants(raw, column, str(chosen.path), chosen.utc_offset_h if zoned else 0.0)
        import pandas as pd

        text = pd.Series(rules.stripped(raw[column]))
        zoned = "%z" in chosen.timestamp_format
        dates = pd.to_datetime(
            text.where(text.ne("")), format=chosen.timestamp_format, errors="coerce", utc=zoned
        )
        wrong = (dates.isna() & text.ne("")).to_numpy(bool)
        refuse(raw, wrong, str(chosen.path), column, "is not a date", chosen.timestamp_format)
        if zoned:
            dates = (dates + pd.Timedelta(hours=chosen.utc_offset_h)).dt.tz_localize(None)
        return dates.to_numpy()

    def _unique(self, table: Table) -> Table:
        again = repeated(table["job_id"])
        if self.parameters.duplicates == "first":
            return rules.drop(table, again, self.parameters.path, "its job_id came before (duplicates=first)")
        if self.parameters.duplicates == "number":
            rows = zip(table["job_id"], table.places, again, strict=True)
            return table.assign(job_id=[f"{job}#{line}" if twice else job for job, line, twice in rows])
        return table


def _column(raw: Table, name: str, where: str, path: Path) -> Column:
    if name in raw:
        return raw[name]
    close = get_close_matches(name, list(raw.columns), n=1)
    allowed = (f"did you mean {close[0]}? " if close else "") + ", ".join(raw.columns)
    raise InputError(f"{path} has no such column", where=where, found=name, allowed=allowed)


def _product(raw: Table, columns: list[Column], names: tuple[str, ...], path: Path) -> Column:
    """Return the product of columns as numbers; empty values are NaN, others must be numbers."""
    result = np.ones(len(raw))
    for column, name in zip(columns, names, strict=True):
        values = to_numbers(column)
        empty = [text.strip().lower() in ("", "na", "n/a", "nan", "null", "none") for text in column]
        refuse(raw, np.isnan(values) & ~np.array(empty), str(path), name, "is not a number", "a number")
        result *= values
    return result
