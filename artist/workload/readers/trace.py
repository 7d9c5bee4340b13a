"""The base of readers of files: jobs of the good rows, and a count of the bad ones."""

import logging
from pathlib import Path
from typing import Any, Literal

import numpy as np

from artist.bad_input.records import validated
from artist.errors import InputError
from artist.tables.files import is_parquet, read_csv, read_parquet
from artist.tables.rows import BadRowsError, Table
from artist.workload.api import FileParameters
from artist.workload.readers.rules import log

BadRowsRule = Literal["refuse", "drop"]
"""A row that cannot be simulated ends the command, or is left out and counted."""
_MAX_FAULTS = 8  # in a message


class TraceParameters(FileParameters):
    """Parameters of a reader of a published trace.

    Attributes
    ----------
    bad_rows
        Rule for rows that cannot be simulated.
    """

    bad_rows: BadRowsRule = "drop"


class TraceReader:
    """A reader of one file; that of a format defines `_jobs`, and `_read` for a file that is no CSV.

    A row that cannot be simulated, such as one that ends before it starts, follows `bad_rows`: it is refused,
    or left out and counted by fault, with the first row of each and the GPU-hours where these are known. A
    file without a good row is refused.
    """

    Parameters: type[TraceParameters] = TraceParameters
    parameters: TraceParameters

    def __init__(self, **parameters: Any) -> None:
        self.parameters = validated(self.Parameters, parameters, "workload")
        self.input_files: tuple[Path, ...] = (self.parameters.path,)
        self._changes: list[str] = []

    def table(self) -> Table:
        """Return all jobs as a canonical table."""
        faults: list[BadRowsError] = []
        try:
            raw = self._read()
        except BadRowsError as bad:
            raw = self._good_rows(bad, faults)
        while True:
            notes: list[logging.LogRecord] = []
            held_back: Any = notes.append  # the notes of an attempt that fails would be repeated
            log.addFilter(held_back)
            try:
                table = self._jobs(raw)
                break
            except BadRowsError as bad:
                bad.rest = raw.take(~np.isin(raw.places, bad.places))
                raw = self._good_rows(bad, faults)
            except InputError as error:  # such as no job left
                raise faults[0] if faults else error from None
            finally:
                log.removeFilter(held_back)
        for note in notes:
            log.handle(note)
        bad_rows = _in_words(faults)
        changes = [note for note in notes if note.levelno >= logging.WARNING or hasattr(note, "note")]
        told = [note.getMessage().removeprefix(f"{self.parameters.path}: ") for note in changes]
        self._changes = [*told, *bad_rows]
        for text in bad_rows:
            log.warning("%s: %s", self.parameters.path, text, extra={"note": True})
        return table

    def _good_rows(self, bad: BadRowsError, faults: list[BadRowsError]) -> Table:
        """Return the rows without one more fault, which joins the others, or raise it."""
        if self.parameters.bad_rows == "refuse" or bad.rest is None or not len(bad.rest):
            raise bad
        faults.append(bad)
        return bad.rest

    def describe(self) -> str:
        """Return the file, its format, and the rows left out or changed."""
        form = type(self).__module__.rpartition(".")[2].replace("canonical", "CSV")
        text = f"{self.parameters.path.name}, read as {form}"
        return "; ".join([text, *self._changes])

    def _read(self) -> Table:
        """Return the rows of the file as they are."""
        path = self.parameters.path
        return read_parquet(path) if is_parquet(path) else read_csv(path)

    def _jobs(self, raw: Table) -> Table:
        """Return the jobs of some rows as a canonical table, or raise BadRowsError for others."""
        raise NotImplementedError


def _in_words(faults: list[BadRowsError]) -> list[str]:
    """Return the number of bad rows, by fault, with the first row of each and the known GPU-hours, if any."""
    if not faults:
        return []
    counts = [
        f"{fault.what} ({len(fault.places):,}, first {fault.first}{_hours(fault.gpu_h)})"
        for fault in faults[:_MAX_FAULTS]
    ]
    more = f"; {len(faults) - _MAX_FAULTS} more faults" * (len(faults) > _MAX_FAULTS)
    bad = sum(len(fault.places) for fault in faults)
    return [f"left out {bad:,} bad row{'s' * (bad > 1)} (bad_rows=drop): {'; '.join(counts)}{more}"]


def _hours(gpu_h: float) -> str:
    return f", {gpu_h:,.3g} GPU-hours" if gpu_h > 0 else ""
