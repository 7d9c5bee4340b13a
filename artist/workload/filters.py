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


_INSTANTS = ("submit_s", "started_s", "ended_s")


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


def select(table: Table, selection: Selection, observed: bool = False) -> Table:
    """Return the chosen jobs in order of arrival, the first at 0 s.

    Jobs that arrive together keep the order of the file, but for those that ran when the first arrived: they
    come first, the largest before the others. A table with real starts gets the column `ended_s`.

    Parameters
    ----------
    table
        Canonical table.
    selection
        Filters, applied in the order window, vcs, GPU range, run times, first.
    observed
        Whether a window takes the jobs that ran or waited when it begins, too: for the rest of their run
        time, and submitted at its begin.

    Raises
    ------
    InputError
        If no job is left; names the filter responsible.
    """
    ordered = from_zero(table.by_arrival())
    if "started_s" in ordered:
        ordered = ordered.assign(ended_s=ordered["started_s"] + work_s(ordered))
    chosen = _by_window(ordered, selection.window, observed and "started_s" in ordered)
    if selection.vcs is not None:
        known = ", ".join(sorted(set(chosen["vc"]) - {""})[:30]) or "leave it null: the trace has no VCs"
        chosen = _keep(chosen, np.isin(chosen["vc"], selection.vcs), "vcs", list(selection.vcs), known)
    chosen = _by_range(chosen, "GPUs", "min_gpus", "max_gpus", chosen["gpus"], selection)
    chosen = _by_range(chosen, "s", "min_duration_s", "max_duration_s", work_s(chosen), selection)
    if selection.first is not None:
        chosen = chosen.take(slice(selection.first))
    if len(chosen) < len(table):
        gpu_h = [float(np.nansum(jobs["gpus"] * work_s(jobs))) / 3600 for jobs in (chosen, table)]
        _log.info("took %d of %d jobs, %.4g of %.4g GPU-hours", len(chosen), len(table), *gpu_h)
    return _running_first(from_zero(chosen))


def from_zero(table: Table) -> Table:
    """Return the table with its first arrival at 0 s."""
    return later(table, -float(table["submit_s"].min()))


def later(table: Table, by_s: float) -> Table:
    """Return the table with all its instants some seconds later."""
    return table.assign(**{name: table[name] + by_s for name in _INSTANTS if name in table})


def _running_first(table: Table) -> Table:
    """Return the table with the jobs that ran at 0 s first, in order of falling GPUs."""
    if "started_s" not in table:
        return table
    ran = table["started_s"] <= 0
    order = np.lexsort((np.where(ran, -table["gpus"], 0), ~ran, table["submit_s"]))
    return table.take(order)


def _from(table: Table, begin_s: float) -> Table:
    """Return the table as from a time on: jobs that ran or waited then are submitted then, run times cut."""
    ran = table["started_s"] < begin_s
    left = np.where(ran, (table["ended_s"] - begin_s) / np.where(ran, work_s(table), 1.0), 1.0)
    iterations, early = table["iterations"], table["submit_s"] < begin_s
    if early.any():
        note = "the window begins with %d jobs that run, for the rest of their run times, and %d that wait"
        _log.info(note, int(ran.sum()), int((early & ~ran).sum()), extra={"note": True})
    return table.assign(
        submit_s=np.maximum(table["submit_s"], begin_s),
        duration_s=table["duration_s"] * left,
        iterations=np.where(ran, np.maximum(np.rint(iterations * left), 1.0), iterations),
    )


def _by_window(table: Table, window: Window, underway: bool) -> Table:
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
        if name == "end" or not underway:
            table = _keep(table, inside, f"window.{name}", str(bound), span)
            continue
        since = value - times[0]
        since_s = since / np.timedelta64(1, "s") if isinstance(bound, datetime) else since
        begin_s = float(table["submit_s"][0] + since_s)
        kept = _keep(table, inside | (table["ended_s"] > begin_s), f"window.{name}", str(bound), span)
        table = _from(kept, begin_s)
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
    if np.isnan(values).any():
        fits = "no such filter, or durations for all jobs"
        raise InputError(
            "jobs with a plan and no duration",
            where=f"{least}, {most}",
            found=f"{low} to {high}",
            allowed=fits,
        )
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
