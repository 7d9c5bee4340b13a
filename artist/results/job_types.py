"""GPU jobs and CPU jobs of a run with both: over time, queueing times, CPUs asked for, sought and held."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from artist.recording.names import CORES_FILE, CPU_COLUMNS
from artist.results.compare import Replicates
from artist.results.jobcolumns import Flags, measured_jobs, read_jobs
from artist.results.run import Run, Words
from artist.results.steps import Floats, Steps, read_steps

_TABLE = CORES_FILE.removesuffix(".parquet")
_COLUMNS = {
    "timeline": ("capacity_gpus", "busy_gpus"),
    _TABLE: (
        *("gpus_used", "starved_gpus", "capacity_cpus", "cpus_of_gpu_jobs", "cpus_of_cpu_jobs"),
        *("capacity_bytes_per_s", "bandwidth_bytes_per_s", "gpu_jobs_waiting", "cpu_jobs_waiting"),
    ),
}


def has_job_types(run: Run) -> bool:
    """Return whether a run recorded types of jobs: some of its jobs ask for no GPUs."""
    return bool(run.columns(_TABLE))


def read_job_types(run: Run, bins: int, work_end_s: float | None = None) -> Steps:
    """Read the columns of cores.parquet, and GPUs there and held; raise InputError if a table is damaged."""
    return read_steps(run, _COLUMNS, bins, work_end_s)


@dataclass(frozen=True, slots=True)
class Waits:
    """Queueing times of the finished jobs of a run, of the window if there is one; in order of arrival.

    Attributes
    ----------
    queueing_s : ndarray, shape (n_jobs,)
    of_gpu : ndarray, shape (n_jobs,)
        Whether it is a GPU job.
    user
        Whose job it is.
    """

    queueing_s: Floats
    of_gpu: Flags
    user: Words

    def p99_s(self, of_type: Flags | None = None) -> Floats:
        """Return the 99th percentile of each user's jobs, or of those chosen; NaN for a user without any.

        The shape is (n_users,), in the order of `user.names`.
        """
        chosen = np.ones(len(self.of_gpu), dtype=np.bool_) if of_type is None else of_type
        parts = (self.queueing_s[chosen & (self.user.codes == i)] for i in range(len(self.user.names)))
        return np.array([np.percentile(part, 99) if len(part) else np.nan for part in parts])


def read_waits(run: Run) -> Waits:
    """Read how long jobs waited; raise InputError if the table is damaged."""
    jobs = read_jobs(run)
    counted = jobs.measured & ~np.isnan(jobs.jct_s)
    user = Words(jobs.user.names, jobs.user.codes[counted])
    return Waits(jobs.queueing_s[counted], jobs.gpus[counted] > 0, user)


def read_cpus_kept(runs: Sequence[Run]) -> dict[str, tuple[Floats, Floats]]:
    """Return by model the CPUs per GPU that each GPU job asked for, and held when it finished.

    Of the finished jobs of all runs, of the window if there is one, in order of arrival; NaN where a job
    asks for no CPUs. Empty where runs do not record it.

    Raises
    ------
    InputError
        If a table is damaged.
    """
    by_model: dict[str, list[Floats]] = {}
    for run in runs:
        if not set(CPU_COLUMNS) <= set(run.columns("jobs")):
            continue
        asked, last, gpus, jct_s = run.numbers("jobs", [*CPU_COLUMNS, "gpus", "jct_s"])
        model = read_jobs(run).model
        counted = measured_jobs(run, len(gpus)) & ~np.isnan(jct_s) & ~np.isnan(last) & (gpus > 0)
        for code, name in enumerate(model.names):
            chosen = counted & (model.codes == code)
            wanted = np.where(asked > 0, asked, np.nan)[chosen]
            by_model.setdefault(name, []).append(np.stack([wanted, last[chosen]]) / gpus[chosen])
    return {name: (arrays[0], arrays[1]) for name, parts in by_model.items() for arrays in [np.hstack(parts)]}


def read_interference(runs: Sequence[Run]) -> float | None:
    """Return the share of the time for which GPU jobs ran that other jobs on their machines took.

    Of all jobs of all runs; None if no GPU job ran.

    Raises
    ------
    InputError
        If a table is damaged.
    """
    tables = [run.numbers("jobs", ["interference_s", "running_s", "gpus"]) for run in runs]
    took, ran = (sum(math.fsum(table[i][table[2] > 0]) for table in tables) for i in (0, 1))
    return took / ran if ran else None


def read_cpus_changed(run: Run) -> Floats:
    """Read how many more CPUs each GPU job held when it finished than it asked for, shape (n,).

    Of the finished jobs that asked for CPUs, of the window if there is one, in order of arrival.

    Raises
    ------
    InputError
        If the table is damaged.
    """
    asked, last, gpus, jct_s = run.numbers("jobs", [*CPU_COLUMNS, "gpus", "jct_s"])
    counted = measured_jobs(run, len(gpus)) & ~np.isnan(jct_s) & (gpus > 0) & (asked > 0)
    changed: Floats = (last - asked)[counted]
    return changed


if TYPE_CHECKING:
    import pandas as pd

_STEPS_OF = "steps of "  # a model: name of the series, an entry per job


def read_profiling(group: Replicates) -> dict[str, Floats]:
    """Return the steps of each job whose CPUs were found, by model; empty if the policy does not search.

    Raises
    ------
    InputError
        If the notes of a policy are damaged.
    """
    by_model: dict[str, list[Floats]] = {}
    for run in group.runs:
        series = run.series
        if series is not None:
            steps = series[series["name"].str.startswith(_STEPS_OF)]
            for name, values in steps.groupby("name", sort=True)["value"]:
                by_model.setdefault(str(name).removeprefix(_STEPS_OF), []).append(
                    values.to_numpy(dtype=np.float64)
                )
    return {model: np.concatenate(parts) for model, parts in sorted(by_model.items())}


def other_series(run: Run) -> "pd.DataFrame | None":
    """Return the policy's notes except these steps; None if there are none."""
    series = run.series
    if series is None:
        return None
    rest = series[~series["name"].str.startswith(_STEPS_OF)]
    return rest if len(rest) else None
