"""Topics of a run folder: numbers that only some runs have, beside those of every run."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy.typing as npt

from artist.core.arrays import Floats, Ints
from artist.core.events import Event, Gauges
from artist.core.result import RunResult


class Table(NamedTuple):
    """A table of its own.

    Attributes
    ----------
    times_ns : ndarray, shape (n,), or None
        Where columns are step functions of time: when each row begins, the last one at the end of the run.
    columns
        Arrays, or lists of texts, of equal length.
    """

    times_ns: Ints | None
    columns: Mapping[str, Any]


class Topic:
    """Tables, columns and numbers of one topic; an observer of the run is closed before it is asked."""

    def tables(self) -> Mapping[str, Table]:
        """Return tables by the names of their files."""
        return {}

    def job_columns(self, result: RunResult) -> Mapping[str, npt.NDArray[Any] | Floats]:
        """Return further columns of jobs.parquet, shape (n_jobs,), NaN where a job has no number."""
        return {}

    def summary_entries(self, result: RunResult) -> Mapping[str, Any]:
        """Return entries of summary.json."""
        return {}


@runtime_checkable
class Observing(Protocol):
    """A topic that observes the run."""

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        """Record the events of one instant, in order, and the state after them."""

    def close(self, end_ns: int) -> None:
        """Record the end of the run."""
