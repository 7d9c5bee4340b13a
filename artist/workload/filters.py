"""Choose jobs of a trace: time window, then VCs, then GPU range, then run times, then the first N."""

import logging
from datetime import datetime
from typing import Self

import numpy as np
from pydantic import (
    Field,
    NaiveDatetime,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from artist.bad_input.records import Strict
from artist.errors import InputError
from artist.tables.rows import Table
from artist.workload.table import work_s

_log = logging.getLogger(__name__)


class Window(Strict):
    """Take jobs with start <= arrival < end.

    Attributes
    ----------
    start, end
        Seconds after the first arrival of the trace, or a date such as "2020-06-01" or
        "2020-06-01 12:00" where the trace has dates; None for no bound.
    """

    start: float | NaiveDatetime | None = None
    end: float | NaiveDatetime | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        start, end = self.start, self.end
        if isinstance(start, datetime) and isinstance(end, datetime):
            wrong = start >= end
        else:
            wrong = isinstance(start, float) and isinstance(end, float) and start >= end
        if wrong:
            raise ValueError("window.start must be before window.end")
        return self


class Selection(Strict):
    """Selection of jobs; None takes all.

    Attributes
    ----------
    window
        Time of arrival.
    vcs
        Virtual clusters.
    min_gpus, max_gpus
        Minimum and maximum GPUs of a job, both included.
    min_duration_s, max_duration_s
        Shortest and longest run time of a job, both included, on the GPUs that the trace was measured on.
    first
        Number of jobs, in order of arrival.
    """

    window: Window = Window()
    vcs: tuple[str, ...] | None = None
    min_gpus: NonNegativeInt | None = None
    max_gpus: PositiveInt | None = None
    min_duration_s: NonNegativeFloat | None = None
    max_duration_s: PositiveFloat | None = None
    first: PositiveInt | None = Field(default=None)

    @model_validator(mode="after")
    def _range_in_order(self) -> Self:
        if self.min_gpus is not None and self.max_gpus is not None and self.min_gpus > self.max_gpus:
            raise ValueError("min_gpus must not be above max_gpus")
        if (self.min_duration_s or 0.0) > (self.max_duration_s or np.inf):
            raise ValueError("min_duration_s must not be above max_duration_s")
        return self


def select(table: Table, selection: Selection) -> Table:
    """Return the chosen jobs in order of arrival, the first at 0 s.

    Jobs that arrive together keep the order of the file.

    Parameters
    ----------
    table
        Canonical table.
    selection
        Filters, applied in the order window, vcs, GPU range, run times, first.

    Raises
    ------
    InputError
        If no job is left; names the filter responsible.
    """
    ordered = from_zero(table.by_arrival())
    chosen = _by_window(ordered, selection.window)
    if selection.vcs is not None:
        known = ", ".join(sorted(set(chosen["vc"]) - {""})[:30]) or "leave it null: the trace has no VCs"
        chosen = _keep(chosen, np.isin(chosen["vc"], selection.vcs), "vcs", list(selection.vcs), known)
    chosen = _by_range(chosen, "GPUs", "min_gpus", "max_gpus", chosen["gpus"], selection)
    chosen = _by_range(chosen, "s", "min_duration_s", "max_duration_s", work_s(chosen), selection)
    if selection.first is not None:
        chosen = chosen.take(slice(selection.first))
    if len(chosen) < len(table):
        _log.info("took %d of %d jobs", len(chosen), len(table))
    return from_zero(chosen)


def from_zero(table: Table) -> Table:
    """Return the table with its first arrival at 0 s."""
    first = table["submit_s"].min()
    times = [name for name in ("submit_s", "started_s") if name in table]
    return table.assign(**{name: table[name] - first for name in times})


def _by_window(table: Table, window: Window) -> Table:
    """Apply both bounds of the window; `table` starts at 0 s."""
    for name, bound in (("start", window.start), ("end", window.end)):
        if bound is None:
            continue
        column = "submit_date" if isinstance(bound, datetime) else "submit_s"
        if column not in table:
            allowed = "seconds after the first arrival: this trace has no dates"
            raise InputError("a date", where=f"workload.window.{name}", found=str(bound), allowed=allowed)
        times = table[column]
        value = np.datetime64(bound) if isinstance(bound, datetime) else bound
        inside = (times >= value) if name == "start" else (times < value)
        span = f"jobs arrive from {_shown(times.min())} to {_shown(times.max())}"
        table = _keep(table, inside, f"window.{name}", str(bound), span)
    return table


def _shown(time: np.generic) -> str:
    """Return seconds, or a date in ISO form."""
    return str(time.astype("datetime64[us]").item() if isinstance(time, np.datetime64) else time)


def _by_range(
    table: Table, unit: str, least: str, most: str, values: np.ndarray, selection: Selection
) -> Table:
    """Keep the jobs whose values, (n_jobs,), are within two bounds of the selection."""
    low, high = getattr(selection, least), getattr(selection, most)
    if low is None and high is None:
        return table
    inside = (values >= (low or 0)) & (values <= (np.inf if high is None else high))
    allowed = f"jobs have {values.min():g} to {values.max():g} {unit}"
    return _keep(table, inside, f"{least}, {most}", f"{low} to {high}", allowed)


def _keep(table: Table, inside: np.ndarray, name: str, choice: object, allowed: str) -> Table:
    kept = table.take(inside)
    if not len(kept):
        raise InputError(
            "no job is left by this filter", where=f"workload.{name}", found=choice, allowed=allowed
        )
    return kept
