"""A finished run on disk, read back for tables and plots."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from artist.errors import InputError, regular
from artist.recording.names import SERIES
from artist.results.coverage import Covered, covered

if TYPE_CHECKING:
    import pandas as pd

AGAIN = "a run folder as artist wrote it; delete it and run again"


class Frames:
    """The tables that every run has, each read again each time."""

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


@dataclass(frozen=True, slots=True)
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
    policies
        Those of its sweep, in the order given; empty without a sweep.
    """

    folder: Path
    summary: dict[str, Any]
    config: dict[str, Any]
    written_ns: int = 0
    policies: tuple[str, ...] = ()

    @property
    def covered(self) -> Covered:
        """Jobs that its means cover, and out of how many."""
        return covered(self.summary)

    @property
    def series(self) -> "pd.DataFrame | None":
        """What the policy noted over time; None if it noted nothing."""
        return self.table(Path(SERIES).stem) if (self.folder / SERIES).exists() else None

    def table(self, name: str) -> "pd.DataFrame":
        """Read a table; raise InputError if that is impossible."""
        frame: pd.DataFrame = self._arrow(name).to_pandas()
        return frame

    def numbers(self, name: str, columns: Sequence[str]) -> list[npt.NDArray[np.float64]]:
        """Read columns of a table as numbers, NaN where empty; raise InputError if that is impossible."""
        import pyarrow as pa

        table = self._arrow(name, columns)
        path = self.folder / f"{name}.parquet"
        absent = [column for column in columns if column not in table.column_names]
        if absent:
            raise InputError("columns are missing", where=str(path), found=absent, allowed=AGAIN)
        try:
            return [table[column].cast(pa.float64()).to_numpy() for column in columns]
        except pa.ArrowException as error:
            raise damaged(path, error) from error

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


def damaged(path: Path, error: Exception) -> InputError:
    """Return the error of a file that cannot be read."""
    return InputError(
        "cannot be read", where=str(path), found=getattr(error, "strerror", None) or str(error), allowed=AGAIN
    )
