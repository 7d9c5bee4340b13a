"""A finished run on disk, read back for tables and plots."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from artist.errors import InputError, regular
from artist.recording.names import SERIES
from artist.results.coverage import Covered, covered
from artist.tables.grid import Grid, percent, terminal_width

if TYPE_CHECKING:
    import pandas as pd

_ALWAYS = ("time_s", "submit_s", "gpus")  # never empty, and 0 or more
AGAIN = "a run folder as artist wrote it; delete it and run again"


@dataclass(frozen=True, slots=True)
class Words:
    """A column of texts: `names[codes[i]]` for row i, names in order of first appearance."""

    names: tuple[str, ...]
    codes: npt.NDArray[np.int64]


class Frames:
    """The tables that every run has, each read again each time; shown by its table in a notebook."""

    def __repr__(self) -> str:
        title, grid = self._shown()
        return f"{title}\n{grid.fitted(terminal_width()).text()}"

    def _repr_html_(self) -> str:
        title, grid = self._shown()
        return grid.html(title)

    def _shown(self) -> tuple[str, Grid]:
        """Return a title and the table that `artist` prints."""
        raise NotImplementedError

    @property
    def jobs(self) -> "pd.DataFrame":
        """One row per job."""
        return self.table("jobs")

    @property
    def events(self) -> "pd.DataFrame":
        """One row an event."""
        return self.table("events")

    @property
    def timeline(self) -> "pd.DataFrame":
        """Step functions of the cluster."""
        return self.table("timeline")

    def table(self, name: str) -> "pd.DataFrame":
        """Read a table; raise InputError if that is impossible."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, repr=False)
class Run(Frames):
    """A finished run on disk.

    Attributes
    ----------
    summary
        As `metrics.summarise` made it.
    config
        The resolved config; empty if the folder holds none.
    written_ns
        When the summary was written, in ns since 1970; 0 if unknown.
    order
        Values of its sweep's settings as texts, by key, in the order given; empty without a sweep.
    command
        Words of the command that made it, or its sweep; empty if unknown.
    """

    folder: Path
    summary: dict[str, Any]
    config: dict[str, Any]
    written_ns: int = 0
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    command: tuple[str, ...] = ()

    def _shown(self) -> tuple[str, Grid]:
        title = f"run of {self.summary['policy']}, seed {self.summary['seed']}: {self.folder}"
        facts = {
            ("", "jobs", ""): str(self.covered.jobs),
            ("", "finished", ""): str(self.covered.finished),
            ("JCT", "mean", "h"): _hours(self.summary["jct_s"]["mean"]),
            ("queue", "mean", "h"): _hours(self.summary["queueing_s"]["mean"]),
            ("", "makespan", "h"): _hours(self.summary["makespan_s"]),
            ("GPUs", "used", "%"): percent(self.summary["gpu_utilization"]),
        }
        return title, Grid(tuple(facts), (tuple(facts.values()),), 0)

    @property
    def covered(self) -> Covered:
        """Jobs that its means cover, and out of how many."""
        return covered(self.summary)

    @property
    def series(self) -> "pd.DataFrame | None":
        """The series that the policy noted; None if it noted none."""
        return self.table(Path(SERIES).stem) if (self.folder / SERIES).exists() else None

    def table(self, name: str) -> "pd.DataFrame":
        """Read a table; raise InputError if that is impossible."""
        frame: pd.DataFrame = self._arrow(name).to_pandas()
        return frame

    def numbers(self, name: str, columns: Sequence[str]) -> list[npt.NDArray[np.float64]]:
        """Read columns of a table as numbers, NaN where empty; raise InputError if that is impossible."""
        import pyarrow as pa

        table = self.arrow(name, columns)
        path = self.folder / f"{name}.parquet"
        try:
            values = [numbers_of(table[column].cast(pa.float64())) for column in columns]
        except pa.ArrowException as error:
            raise damaged(path, error) from error
        for column, numbers in zip(columns, values, strict=True):
            wrong = np.isinf(numbers)
            if column in _ALWAYS:
                wrong |= ~(numbers >= 0)
            if wrong.any():
                value = float(numbers[np.argmax(wrong)])
                raise InputError("wrong number", where=f"{path}, {column}", found=value, allowed=AGAIN)
        return values

    def words(self, name: str, columns: Sequence[str]) -> list[Words]:
        """Read columns of a table as texts, "" where empty; raise InputError if that is impossible."""
        import pyarrow as pa

        table = self.arrow(name, columns)
        try:
            return [coded(table[column]) for column in columns]
        except pa.ArrowException as error:  # lists
            raise damaged(self.folder / f"{name}.parquet", error) from error

    def arrow(self, name: str, columns: Sequence[str]) -> Any:
        """Read columns of a table of pyarrow; raise InputError if that is impossible."""
        table = self._arrow(name, columns)
        if absent := [column for column in columns if column not in table.column_names]:
            where = str(self.folder / f"{name}.parquet")
            raise InputError("columns are missing", where=where, found=absent, allowed=AGAIN)
        return table

    def columns(self, name: str) -> list[str]:
        """Return the columns of a table, none if there is no such file; raise InputError if damaged."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.folder / f"{name}.parquet"
        try:
            return list(pq.read_schema(path).names) if path.exists() else []
        except (OSError, ValueError, pa.ArrowException) as error:
            raise damaged(path, error) from error

    def _arrow(self, name: str, columns: Sequence[str] | None = None) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.folder / f"{name}.parquet"
        wanted = None if columns is None else list(columns)
        try:
            # One file, not a data set: a folder called a=b must not become a column.
            with regular(path).open("rb") as file:
                return pq.ParquetFile(file, page_checksum_verification=True).read(columns=wanted)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise damaged(path, error) from error


def _hours(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds / 3600:,.4g}"


# pyarrow's own `to_numpy` and `fill_null` import pandas, which takes a tenth of a small report.
def numbers_of(column: Any) -> npt.NDArray[np.float64]:
    """Return a column of pyarrow that holds numbers, NaN where empty."""
    values = column.combine_chunks()
    if not values.null_count:
        return np.from_dlpack(values)  # type: ignore[return-value]
    start, count = values.offset, len(values)
    filled = np.frombuffer(values.buffers()[1])[start : start + count].copy()
    filled[np.from_dlpack(values.is_null().cast("uint8")) > 0] = np.nan
    return filled


def coded(column: Any) -> Words:
    """Return a column of pyarrow as texts, "" where empty."""
    texts = column.cast("string").combine_chunks().dictionary_encode("encode")
    names = ["" if name is None else name for name in texts.dictionary.to_pylist()]
    place = {name: at for at, name in enumerate(dict.fromkeys(names))}
    places = np.array([place[name] for name in names], dtype=np.int64)
    return Words(tuple(place), places[np.from_dlpack(texts.indices)])


def damaged(path: Path, error: Exception) -> InputError:
    """Return the error of a file that cannot be read."""
    return InputError(
        "cannot be read", where=str(path), found=getattr(error, "strerror", None) or str(error), allowed=AGAIN
    )
