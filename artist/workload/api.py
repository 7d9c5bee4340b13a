"""Interfaces of job sources and arrival processes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, runtime_checkable

from pydantic import BeforeValidator, Field

from artist.tables.rows import Table
from artist.workload.filters import Selection
from artist.workload.limits import Limits
from artist.workload.models import ModelRule
from artist.workload.units import Segment, Unit

if TYPE_CHECKING:  # a user's own parts may work in pandas
    import pandas as pd

_MIN_SPEED, _MAX_SPEED = 1e-6, 1e6  # as of a machine type
SPEEDS = f"a speed from {_MIN_SPEED:g} to {_MAX_SPEED:g}, that of H100 being 1"


def is_speed(value: float) -> bool:
    """Return whether a number may be a relative speed."""
    return _MIN_SPEED <= value <= _MAX_SPEED


def _measured_on(value: object) -> str | float:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and is_speed(value):
        return float(value)
    raise ValueError(f"no GPUs; measured_on is cluster, trace, a GPU type such as V100, or {SPEEDS}")


class SourceParameters(Selection):
    """Parameters of every source of jobs: selection, GPUs measured on, models of jobs that name none.

    Attributes
    ----------
    measured_on
        The GPUs for which run times and numbers of GPUs hold: cluster (its default ones), trace (if the
        source knows them), a GPU type, or a speed relative to the reference GPU.
    models
        Rule for the model of a job if the source names none.
    limits
        Time limits of jobs.
    unit, segment
        Unit and segment of a job for which the trace has none (`artist.workload.units`): GPUs, or `machine`,
        those of a machine.
    seed
        Seed of the run; 0 or more.
    """

    measured_on: Annotated[str | float, BeforeValidator(_measured_on)] = "cluster"
    models: ModelRule = ModelRule()
    limits: Limits = Limits()
    unit: Unit = "none"
    segment: Segment = "none"
    seed: int = Field(default=0, ge=0)


Durations = Literal["observed", "compute"]


class FileParameters(SourceParameters):
    """Parameters of a source that reads one file, plain or gzipped.

    Attributes
    ----------
    durations
        compute: run times are of computing alone, and communication is added; observed: they include the
        communication of the placement that the job had, or of a consolidated one.
    """

    path: Path
    durations: Durations = "compute"


class TypedFileParameters(FileParameters):
    """Parameters of a file that may name the GPU types of its jobs.

    Attributes
    ----------
    gpu_types
        keep: jobs run on the types that they name, and one for which the cluster has none is refused; drop:
        such a job is left out; known: it runs on any GPU; ignore: every job runs on any GPU.
    """

    gpu_types: Literal["keep", "drop", "known", "ignore"] = "keep"


@runtime_checkable
class JobSource(Protocol):
    """A source of jobs: a trace reader or a generator.

    Its YAML's `_target_` names the class, which is called with the keys of the YAML. An attribute
    `trace_gpu`, if it has one, names the GPU type that the trace was measured on; empty for unknown.
    """

    @property
    def parameters(self) -> SourceParameters:
        """The parameters given by the user."""

    @property
    def input_files(self) -> tuple[Path, ...]:
        """Files whose contents decide the jobs; they go into the run key."""

    def table(self) -> "Table | pd.DataFrame":
        """Return all jobs as a canonical table (`artist.workload.table`), neither filtered nor shifted.

        Raises
        ------
        InputError
            If the source is invalid; names file, row and field.
        """


def observed(source: JobSource) -> bool:
    """Return whether the run times of a source include communication."""
    return getattr(source.parameters, "durations", "compute") == "observed"


@runtime_checkable
class Generator(JobSource, Protocol):
    """A source whose arrivals depend on how long its jobs take on the cluster's GPUs."""

    def table_at(self, relative_time: float) -> "Table | pd.DataFrame":
        """Return all jobs as `table` does.

        Parameters
        ----------
        relative_time
            Time that a job takes on the cluster's default GPUs / its run time in the table.
        """


@runtime_checkable
class Arrivals(Protocol):
    """A rule for the arrivals of the selected jobs."""

    def apply(self, table: Any, cluster_gpus: float) -> "Table | pd.DataFrame":
        """Return the table with new `submit_s`, from 0 or by the rule, rows in order of arrival.

        Parameters
        ----------
        table
            Jobs, with run times on the cluster's default GPUs; a DataFrame for a user's own rule.
        cluster_gpus
            Number of default GPUs with the compute of the whole cluster.
        """
