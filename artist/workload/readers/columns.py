"""Reader of any table with one row per job, by a map from canonical columns to its own."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from pydantic import NaiveDatetime, create_model, model_validator

from artist.bad_input.records import Strict
from artist.errors import InputError
from artist.tables.files import is_parquet, read_parquet
from artist.tables.rows import BadRowsError, Column, Table, repeated, to_numbers
from artist.workload.api import TypedFileParameters
from artist.workload.fields import FIELDS, NUMBERS, TEXTS, Unit
from artist.workload.missing import is_missing, known_texts, without_fillers
from artist.workload.readers import rules
from artist.workload.readers.delimited import read_delimited
from artist.workload.readers.gather import gathered
from artist.workload.readers.instants import TimeZone, arrivals, begun, read_times, run_times, with_starts
from artist.workload.readers.trace import BadRowsRule, TraceParameters, TraceReader
from artist.workload.table import check, refuse, typed

SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
BYTES |= {"tb": 10**12, "tib": 2**40}
SHARES = {"fraction": 1.0, "percent": 0.01}
Duplicates = Literal["refuse", "first", "number"]
_SCALES: dict[str, Mapping[str, float]] = {"time": SECONDS, "bytes": BYTES, "share": SHARES}
_OURS = {"time": "s", "bytes": "b", "share": "fraction"}
_INSTANTS = ("submit_s", "start_s", "end_s")  # may be timestamps
_TEXTS = tuple(field.name for field in TEXTS)
_RANGES = {field.name: (field.least, field.most) for field in NUMBERS}
_COMMA = re.compile(r"\s*[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?\s*")
_QUANTITY = re.compile(r"(\d+\.?\d*)(m|[kKMGT]i?)")
_NAMES = tuple(field.name for field in FIELDS if field.name != "started_s")  # which is that of start_s
_UNITS: dict[str, Unit] = {
    "start_s": "time",
    "end_s": "time",
    **{field.name: field.unit for field in FIELDS if field.unit and field.name in _NAMES},
}
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
        **{field.name: (Names if field.product else Name, None) for field in FIELDS if field.name in _NAMES},
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
    r"""Jobs of a table in columns of its own: text, plain or gzipped, or Parquet.

    Rules, each a parameter:

    - `columns` maps canonical columns to the file's, `units` has their units, `constants` a value for columns
      that the file lacks, or one for each of the file's models. Without job_id, a job is called job-<line of
      the file>.
    - `filters` keeps rows by value: {status: [COMPLETED, FAILED]}; values are compared as text.
    - A timestamp is ISO, or of `timestamp_format` as Python writes it. One without a time zone is taken as
      the clock of `time_zone`, UTC by default; of the two times that a clock shows twice it is the first that
      is not before submission or start. Windows by date are by that clock, as is the date of second 0 in
      `origin`.
    - A run time that the file states is preferred to end - start. Start and end are not known where 0, -1 or
      a filler of 32 or 64 bits stands for them; a job that starts before it is submitted, or ends before it
      starts, is a bad row.
    - Missing are empty values, words such as NULL, None, N/A, nan, Unknown and \N, and those of `missing`.
    - `gather` makes rows of one job_id, such as pods, one job: GPUs, CPUs and memory add up, it spans at most
      one machine per pod with GPUs, arrives with the first, and runs from the latest start to the latest end.
    - CPUs and memory may be quantities of Kubernetes, 1500m and 64Gi; parts of a CPU are rounded up.
    - Rows without a duration follow `no_duration`: with until_end a job that started and has no end runs
      until the last time of the file, and others are left out.
    - Rows of duration 0 follow `zero_duration`, those without GPUs `cpu_jobs`, parts of GPUs
      `fractional_gpus`, a repeated job_id `duplicates`: refuse; take the first; or number, as
      <job_id>#<line>. Rows left out are counted.
    - `separator` is one character, or `tab`; `decimal` is the comma or point of numbers; `comment` begins
      lines to skip; `header` names the columns of a file without a header line.
    """

    class Parameters(TraceParameters, TypedFileParameters):
        """Parameters, beside those of every source."""

        columns: ColumnMap
        units: Units = Units()
        constants: dict[str, Constant | dict[str, Constant]] | None = None
        filters: dict[str, tuple[str | int | float | bool, ...]] | None = None
        model_names: dict[str, str | None] | None = None
        timestamp_format: str | None = None
        time_zone: TimeZone | None = None
        origin: NaiveDatetime | None = None
        no_duration: Literal["drop", "refuse", "until_end"] = "drop"
        zero_duration: rules.ZeroDuration = "drop"
        cpu_jobs: rules.CpuJobs = "drop"
        fractional_gpus: rules.FractionalGpus = "round_up"
        duplicates: Duplicates = "refuse"
        gather: Literal["job_id"] | None = None
        missing: tuple[str, ...] = ()
        decimal: Literal[".", ","] = "."
        separator: str = ","
        comment: str | None = None
        header: tuple[str, ...] | None = None
        bad_rows: BadRowsRule = "refuse"

        @model_validator(mode="before")
        @classmethod
        def _as_observed(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
            columns = values.get("columns")
            spans = isinstance(columns, Mapping) and columns.get("start_s") and columns.get("end_s")
            durations = values.get("durations") or ("observed" if spans else "compute")
            return {**values, "durations": durations}

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
        if is_parquet(chosen.path):
            return read_parquet(chosen.path)
        separator = "\t" if chosen.separator == "tab" else chosen.separator
        return read_delimited(chosen.path, separator=separator, header=chosen.header, comment=chosen.comment)

    def _jobs(self, raw: Table) -> Table:
        raw = self._filtered(self._known(raw))
        try:
            return self._checked(raw)
        except BadRowsError as bad:
            if self.parameters.gather and "job_id" in (named := self.parameters.columns.named()):
                job_id = raw[named["job_id"][0]]  # a gang that lacks a pod is none
                gangs = job_id[np.isin(raw.places, bad.places) & (job_id != "")]
                bad.places = np.union1d(bad.places, raw.places[np.isin(job_id, gangs)])
            raise

    def _checked(self, raw: Table) -> Table:
        chosen, path = self.parameters, self.parameters.path
        fields = {ours: " x ".join(theirs) for ours, theirs in chosen.columns.named().items()}
        columns, times = self._columns(raw)
        table = typed(columns, str(path), fields)
        if chosen.gather:
            table, times = gathered(table, times)
            raw = raw.at(table.places)
        table = self._with_run_times(
            raw, with_starts(table, times.get("submit_s"), times.get("start_s")), times
        )
        if chosen.no_duration == "until_end":
            table = _until_end(table, path)
        if chosen.no_duration != "refuse":
            unknown = np.isnan(table["duration_s"]) & np.isnan(table["iterations"] * table["compute_s"])
            started = unknown & ~np.isnan(table["started_s"]) if "started_s" in table else unknown & False
            hint = f"; {started.sum()} of them started: until_end lets them run" if started.any() else ""
            reason = f"no duration (no_duration={chosen.no_duration}{hint})"
            table = rules.drop(table, unknown, path, reason)
        table = rules.whole_gpus(table, chosen.fractional_gpus, path)
        table = rules.apply_cpu_jobs(table, chosen.cpu_jobs, path)
        table = rules.apply_zero_duration(table, chosen.zero_duration, path)
        table = self._unique(table)
        rules.note_order(table, path)
        table = check(table, str(path), fields)
        if "submit_date" not in table:
            table = rules.dated(table, chosen.origin)
        return rules.renamed_models(table, chosen.model_names or {})

    def _known(self, raw: Table) -> Table:
        """Return the rows with the user's words for a missing value left empty."""
        missing = self.parameters.missing
        return (
            raw.assign(**{name: known_texts(one, missing) for name, one in raw.columns.items()})
            if missing
            else raw
        )

    def _filtered(self, raw: Table) -> Table:
        path = self.parameters.path
        work = self._work(raw) if self.parameters.filters else None
        for column, wanted in (self.parameters.filters or {}).items():
            values = rules.stripped(_column(raw, column, f"workload.filters.{column}", path))
            texts = [str(value) for value in wanted]
            kept = rules.among(values, texts)
            if not kept.any():
                allowed = ", ".join(sorted(set(values))[:30])
                where = f"workload.filters.{column}"
                raise InputError("no row has this value", where=where, found=texts, allowed=allowed)
            known = work.at(raw.places).assign(state=values) if work else None
            raw = rules.drop(raw, ~kept, path, f"{column} is filtered", known)
        return raw

    def _work(self, raw: Table) -> Table | None:
        """Return the rows with GPUs and run times, for the price of a filter; None if one has a fault."""

        def mute(_: object) -> bool:
            return False  # its notes come with the jobs

        rules.log.addFilter(mute)
        try:
            columns, times = self._columns(raw)
            return self._with_run_times(raw, typed(columns, str(self.parameters.path)), times)
        except InputError:
            return None
        finally:
            rules.log.removeFilter(mute)

    def _columns(self, raw: Table) -> tuple[Table, dict[str, Column]]:
        """Return the canonical columns of the file's rows, still unchecked, and the columns of instants."""
        chosen, where, named = self.parameters, str(self.parameters.path), self.parameters.columns.named()
        columns_read: dict[str, Any] = {
            name: self._constant(raw, name, value) for name, value in (chosen.constants or {}).items()
        }
        stamps = [name for name in _INSTANTS if name in named and getattr(chosen.units, name) == "timestamp"]
        for ours, theirs in named.items():
            columns = [_column(raw, name, f"workload.columns.{ours}", chosen.path) for name in theirs]
            if ours in _TEXTS:
                columns_read[ours] = columns[0]
            elif ours not in stamps:
                columns_read[ours] = self._numbers(raw, ours, dict(zip(theirs, columns, strict=True)))
        their_stamps = [named[name][0] for name in stamps]
        read = (
            read_times(raw, their_stamps, where, chosen.time_zone, chosen.timestamp_format) if stamps else []
        )
        times = dict(zip(stamps, read, strict=True))
        if "submit_s" in times:
            submit = named["submit_s"][0]
            columns_read |= arrivals(raw, submit, where, times["submit_s"], chosen.time_zone)
        elif "submit_s" in named:
            columns_read["submit_s"] = begun(columns_read["submit_s"], columns_read["submit_s"])
        for name in _INSTANTS:
            if name in named and name not in times:
                times[name] = columns_read[name]
        return Table(columns_read, raw.places, raw.unit), times

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

    def _with_run_times(self, raw: Table, table: Table, times: Mapping[str, Column]) -> Table:
        """Return the table with the time from start to end for jobs without a duration."""
        if "start_s" not in times or "end_s" not in times:
            return table
        start, end = times["start_s"], times["end_s"]
        if start.dtype.kind != end.dtype.kind:
            allowed = "timestamp for both, or for neither"
            raise InputError("one date, one number", where="workload.units.end_s", allowed=allowed)
        submit = times.get("submit_s", end)
        if submit.dtype.kind != start.dtype.kind or "submit_s" not in times:  # as by a constant
            submit = np.full(len(table), np.nan if start.dtype.kind == "f" else np.datetime64("NaT", "ns"))
        named = self.parameters.columns.named()
        names = [named[name][0] for name in _INSTANTS if name in named]
        path = str(self.parameters.path)
        run_s = run_times(raw, path, names, submit, start, end, table["duration_s"])
        return table.assign(duration_s=run_s)

    def _numbers(self, raw: Table, ours: str, columns: Mapping[str, Column]) -> Column:
        """Return the product of columns in our unit, (n_jobs,); NaN where a value is missing."""
        unit, where = _UNITS.get(ours), str(self.parameters.path)
        result = np.ones(len(raw))
        for name, column in columns.items():
            if self.parameters.decimal == ",":
                column = _with_points(column)
            values = to_numbers(column)
            if (unread := np.isnan(values)).any():
                values[unread] = [quantity(text, ours) for text in column[unread]]
                wrong = np.isnan(values)
                wrong[wrong] = [not is_missing(text) for text in column[wrong]]
                text = str(column[np.argmax(wrong)])
                refuse(raw, wrong, where, name, "is not a number", f"a number{_advice(text, ours)}")
            least, most = _RANGES.get(ours, (0, np.inf))
            result *= without_fillers(values, most, least=least, time=unit == "time")
        if ours in ("cpus", "memory_bytes"):
            result = np.ceil(result)
        return result * _SCALES[unit][getattr(self.parameters.units, ours)] if unit else result

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


def _with_points(column: Column) -> Column:
    """Return a column of numbers such as 1.234,5 as 1234.5."""
    plain = [text.replace(".", "").replace(",", ".") if _COMMA.fullmatch(text) else text for text in column]
    return np.fromiter(plain, object, len(column))


def quantity(text: object, ours: str) -> float:
    """Return a number, or a quantity as Kubernetes writes it, such as 1500m CPUs or 64Gi bytes, else NaN.

    Parameters
    ----------
    ours
        Column of ours; memory is in bytes.
    """
    words = str(text).strip()
    match = _QUANTITY.fullmatch(words)
    if match is None or ours not in ("gpus", "cpus", "memory_bytes"):
        return float(to_numbers(np.array([words], dtype=object))[0])
    number, suffix = match.groups()
    if suffix == "m":
        return float(number) / 1000
    return float(number) * BYTES[f"{suffix.lower()}b"] if ours == "memory_bytes" else np.nan


def _advice(text: str, ours: str) -> str:
    """Return the setting with which a text is a number."""
    if ours in _INSTANTS and re.match(r"\d{4}-\d\d", text):
        return f"; for dates, workload.units.{ours}=timestamp"
    return '; workload.decimal="," for such numbers' if _COMMA.fullmatch(text) else ""


def _until_end(table: Table, path: Path) -> Table:
    """Return the table with jobs that started and have no end running until the last time of the file."""
    if "started_s" not in table:
        return table
    started_s, duration_s = table["started_s"], table["duration_s"]
    runs = ~np.isnan(started_s) & np.isnan(duration_s) & np.isnan(table["iterations"] * table["compute_s"])
    if runs.any():
        note = "%s: %d of %d jobs have a start and no end: they run until the last time of the file"
        rules.log.info(note, path, int(runs.sum()), len(table), extra={"note": True})
    ended_s = started_s + np.nan_to_num(duration_s)
    last_s = np.nanmax([table["submit_s"].max(), np.nanmax(np.append(ended_s, -np.inf))])
    return table.assign(duration_s=np.where(runs, last_s - started_s, duration_s))
