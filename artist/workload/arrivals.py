"""Arrivals of the selected jobs: as in the trace, all at once, at random, or compressed to a load.

Load = sum(gpus * run time) / (GPUs of the cluster * span), span = last arrival - first arrival; the run time
is on the cluster's default GPUs, without waiting and communication; GPUs of another speed count as the
equivalent number of these. All rules keep the order of arrival of the trace.
"""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import Field, PositiveFloat, model_validator

from artist.bad_input.records import Strict, validated
from artist.errors import InputError
from artist.randomness import child_generator
from artist.tables.rows import Table
from artist.units import MAX_S
from artist.workload.filters import from_zero, later
from artist.workload.table import work_s

if TYPE_CHECKING:
    import pandas as pd

_GROUP = "arrivals"


def load_of(table: "Table | pd.DataFrame", cluster_gpus: float) -> float:
    """Return the load of the jobs on a cluster; infinite if all arrive at once.

    Raises
    ------
    InputError
        If the cluster has no GPUs.
    """
    _need_gpus(cluster_gpus)
    span_s = float(np.ptp(np.asarray(table["submit_s"])))
    return gpu_seconds(table) / (cluster_gpus * span_s) if span_s > 0 else float("inf")


def gpu_seconds(table: "Table | pd.DataFrame") -> float:
    """Return the work of all jobs in GPU-seconds."""
    return float(np.sum(np.asarray(table["gpus"], dtype=float) * work_s(table)))


def _need_gpus(cluster_gpus: float) -> None:
    if not cluster_gpus:
        raise InputError("no load without GPUs", where="cluster", found="0 GPUs", allowed="a GPU or more")


def _need_soon(span_s: float) -> None:
    """Raise InputError if arrivals last longer than a trace may; half of that, as they are random."""
    if not span_s <= MAX_S / 2:
        allowed = f"a higher rate, for up to {MAX_S / 2:g} s"
        raise InputError(
            "too long a time of arrivals", where="arrivals", found=f"{span_s:g} s", allowed=allowed
        )


class Rule:
    """A rule of the program's own, which needs no pandas."""

    Parameters: type[Strict]

    def __init__(self, **parameters: Any) -> None:
        self.parameters: Any = validated(self.Parameters, parameters, _GROUP)

    def apply(self, table: Table, cluster_gpus: float) -> Table:
        """Return the jobs with new arrivals; see `artist.workload.api.Arrivals`."""
        raise NotImplementedError


class TraceArrivals(Rule):
    """Jobs arrive as in the trace, the first at `first_s`."""

    class Parameters(Strict):
        """Arrival of the first job, which sets the position of all arrivals in a policy's interval."""

        first_s: float = Field(default=0.0, ge=0, le=MAX_S)

    def apply(self, table: Table, cluster_gpus: float) -> Table:
        """Return the jobs, the first at `first_s`."""
        return later(from_zero(table), self.parameters.first_s)

    def describe(self) -> str:
        """Return the rule in a clause, for a report."""
        return "jobs arrive at the times of this source"


class BatchArrivals(Rule):
    """All jobs arrive at 0 s."""

    class Parameters(Strict):
        """None."""

    def apply(self, table: Table, cluster_gpus: float) -> Table:
        """Return the jobs, all at 0 s."""
        return table.assign(submit_s=0.0)

    def describe(self) -> str:
        """Return the rule in a clause, for a report."""
        return "all jobs arrive at once"


class PoissonArrivals(Rule):
    """Times between arrivals are exponential and independent; the first job arrives at 0 s.

    The mean is 3600 / `jobs_per_hour` seconds, or the one at which the expected span of the jobs gives `load`
    on the cluster.
    """

    class Parameters(Strict):
        """Rate; exactly one of `load` and `jobs_per_hour`."""

        load: PositiveFloat | None = None
        jobs_per_hour: PositiveFloat | None = None
        seed: int = Field(default=0, ge=0)

        @model_validator(mode="after")
        def _one_rate(self) -> Self:
            if (self.load is None) == (self.jobs_per_hour is None):
                raise ValueError("give one of load and jobs_per_hour; set the other to null")
            return self

    def apply(self, table: Table, cluster_gpus: float) -> Table:
        """Return the jobs with new arrivals, in the order of the old ones."""
        gaps = len(table) - 1
        ordered = Table.of(table).by_arrival()  # a user's own rule asks with a DataFrame
        if self.parameters.jobs_per_hour is not None:
            mean_s = 3600.0 / self.parameters.jobs_per_hour
        else:
            _need_gpus(cluster_gpus)
            mean_s = gpu_seconds(table) / (cluster_gpus * (self.parameters.load or 1.0) * max(gaps, 1))
        _need_soon(mean_s * gaps)
        draws = child_generator(self.parameters.seed, "arrivals").exponential(mean_s, gaps)
        return ordered.assign(submit_s=np.concatenate([[0.0], np.cumsum(draws)]))

    def describe(self) -> str:
        """Return the rule in a clause, for a report."""
        rate = self.parameters.jobs_per_hour
        at = f" at load {self.parameters.load:g}" if rate is None else f", {rate:g} jobs per hour"
        return f"Poisson arrivals{at}"


class CompressArrivals(Rule):
    """Arrivals of the trace, all multiplied by the one factor that gives `load` on the cluster."""

    class Parameters(Strict):
        """The load to reach."""

        load: PositiveFloat

    def apply(self, table: Table, cluster_gpus: float) -> Table:
        """Return the jobs with scaled arrivals.

        Raises
        ------
        InputError
            If all jobs arrive at once, so that no factor gives the load.
        """
        now = load_of(table, cluster_gpus)
        if not np.isfinite(now) or now == 0:
            reason = "all jobs arrive at once" if now else "no job uses GPUs"
            allowed = "arrivals=poisson, or another choice of jobs"
            raise InputError(
                "no factor gives this load", where="arrivals.load", found=reason, allowed=allowed
            )
        start, factor = from_zero(table), now / self.parameters.load
        _need_soon(float(start["submit_s"].max()) * factor)
        return start.assign(submit_s=start["submit_s"] * factor)

    def describe(self) -> str:
        """Return the rule in a clause, for a report."""
        return f"arrivals squeezed or stretched to load {self.parameters.load:g}"
