"""The files of a run folder, read back for tables and plots."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from artist.errors import InputError
from artist.recording.names import CONFIG, SUMMARY

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run on disk.

    Attributes
    ----------
    summary
        As `metrics.summarise` made it.
    config
        The resolved config; empty if the folder holds none.
    written_ns
        When the summary was written, in ns since 1970; 0 if unknown.
    """

    folder: Path
    summary: dict[str, Any]
    config: dict[str, Any]
    written_ns: int = 0

    @property
    def jobs(self) -> "pd.DataFrame":
        """One row a job; read anew each time."""
        return self.table("jobs")

    @property
    def events(self) -> "pd.DataFrame":
        """One row an event; read anew each time."""
        return self.table("events")

    @property
    def timeline(self) -> "pd.DataFrame":
        """Step functions of the cluster; read anew each time."""
        return self.table("timeline")

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
            raise InputError("columns are missing", where=str(path), found=absent, allowed=_AGAIN)
        try:
            return [table[column].cast(pa.float64()).to_numpy() for column in columns]
        except pa.ArrowException as error:
            raise _damaged(path, error) from error

    def _arrow(self, name: str, columns: Sequence[str] | None = None) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.folder / f"{name}.parquet"
        wanted = None if columns is None else list(columns)
        try:
            # One file, not a data set: a folder called a=b must not become a column.
            with path.open("rb") as file:
                return pq.ParquetFile(file, page_checksum_verification=True).read(columns=wanted)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise _damaged(path, error) from error


def read_run(folder: Path) -> Run:
    """Read a run folder; raise InputError if its summary or config is damaged."""
    summary = _read_summary(folder / SUMMARY)
    return Run(folder, summary, _read_config(folder / CONFIG), (folder / SUMMARY).stat().st_mtime_ns)


_AGAIN = "a run folder as artist wrote it; delete it and run again"


def _read_summary(path: Path) -> dict[str, Any]:
    from pydantic import ValidationError

    from artist.results.schema import SummaryFile

    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
        SummaryFile.model_validate(summary)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the whole file"
        raise InputError(
            f"{field}: {first['msg']}", where=str(path), found=first["input"], allowed=_AGAIN
        ) from error
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error
    return dict(summary)


def _read_config(path: Path) -> dict[str, Any]:
    import yaml

    if not path.exists():
        return {}
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast where it was built
        config = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise _damaged(path, error) from error
    if config is not None and not isinstance(config, dict):
        raise InputError("not a mapping", where=str(path), found=config, allowed=_AGAIN)
    return config or {}


def _damaged(path: Path, error: Exception) -> InputError:
    return InputError("cannot be read", where=str(path), found=str(error), allowed=_AGAIN)
