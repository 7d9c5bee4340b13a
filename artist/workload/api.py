"""What a source of jobs and an arrival process are."""

from pathlib import Path
from typing import Protocol, runtime_checkable

import pandas as pd
from pydantic import Field

from artist.workload.filters import Selection
from artist.workload.models import ModelRule


class SourceParameters(Selection):
    """Parameters that every source of jobs has: which jobs to take, and the models of the unnamed.

    Attributes
    ----------
    models
        Which model a job trains where the source names none.
    seed
        Seed of the run; 0 or more.
    """

    models: ModelRule = ModelRule()
    seed: int = Field(default=0, ge=0)


class FileParameters(SourceParameters):
    """Parameters of a source that reads one file, plain or gzipped."""

    path: Path


@runtime_checkable
class JobSource(Protocol):
    """A source of jobs: a trace reader or a generator.

    Its YAML's `_target_` names the class, which is called with the keys of the YAML.
    """

    @property
    def parameters(self) -> SourceParameters:
        """What the user asked for."""

    @property
    def input_files(self) -> tuple[Path, ...]:
        """Files whose contents decide the jobs; they go into the run key."""

    def table(self) -> pd.DataFrame:
        """Return all jobs as a canonical table (`artist.workload.table`), neither filtered nor shifted.

        Raises
        ------
        InputError
            If the source is no good; names file, row and field.
        """


@runtime_checkable
class Arrivals(Protocol):
    """A rule that says when the selected jobs arrive."""

    def apply(self, table: pd.DataFrame, cluster_gpus: int) -> pd.DataFrame:
        """Return the table with new `submit_s`, the first at 0, rows in order of arrival."""
