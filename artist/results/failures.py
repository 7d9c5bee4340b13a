"""GPU time by cause, failures by cause, and jobs by size, of rows whose machines fail."""

from dataclasses import dataclass
from math import exp, sqrt
from typing import Any

import numpy as np

from artist.recording.names import FAILURES, GPU_CAUSES, JOB_CAUSES
from artist.results.compare import Replicates
from artist.results.jobcolumns import DEMANDS, Floats, demand_classes, measured_jobs
from artist.results.run import Run

_TIMES = ("gpus", "jct_s", "running_s", "overhead_s")
_GPU_TIMES = tuple(f"{cause}_gpu_s" for cause in JOB_CAUSES)


@dataclass(frozen=True, slots=True)
class SizeClass:
    """Jobs of one size in the runs of a row; replicates are pooled, counts are means over them.

    Attributes
    ----------
    size
        One of `DEMANDS`; empty for all jobs.
    jct_s
        Mean over finished jobs; None without any.
    stops, mttf_s
        Failures that stopped a job, and the time for which jobs hold GPUs per such failure; None without any.
    effective
        Effective training time ratio: useful GPU time as a part of that held outside groups.
    """

    size: str
    jobs: float
    jct_s: float | None
    stops: float | None
    mttf_s: float | None
    effective: float | None


def has_failures(group: Replicates) -> bool:
    """Return whether the runs of a row have accounts of failures."""
    return all(FAILURES in run.summary for run in group.runs)


def gpu_hours(group: Replicates) -> dict[str, float]:
    """Return the GPU-hours by title of their cause, zeros without failures; means over replicates."""
    hours = [[_entry(run).get("gpu_h", {}).get(cause, 0.0) for cause in GPU_CAUSES] for run in group.runs]
    return dict(zip(GPU_CAUSES.values(), np.mean(hours, axis=0).tolist(), strict=True))


def failures_by_cause(group: Replicates) -> dict[str, tuple[float, float]]:
    """Return failures, and stops of jobs by them, by cause; means over replicates."""
    of_runs = [_entry(run).get("causes", {}) for run in group.runs]
    none = {"failures": 0, "stops": 0}
    counts = {cause: [list(of.get(cause, none).values()) for of in of_runs] for of in of_runs for cause in of}
    return {cause: tuple(np.mean(of_cause, axis=0).tolist()) for cause, of_cause in counts.items()}


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Jobs on similar numbers of machines: hours held, mean number, and failures that stopped them."""

    held_h: float
    machines: float
    failures: int

    @property
    def mttf_s(self) -> tuple[float, float, float]:
        """Time held per failure, of which there are some, between the ends of its 95 % interval."""
        mean_s, spread = 3600 * self.held_h / self.failures, exp(1.96 / sqrt(self.failures))
        return mean_s / spread, mean_s, mean_s * spread


def by_machines(group: Replicates) -> tuple[list[Interrupted], float | None]:
    """Return the jobs by their machines, and the rate of failures per machine and hour, if it is known."""
    sizes: dict[str, list[Interrupted]] = {}
    for run in group.runs:
        for size, of_size in _entry(run).get("machines", {}).items():
            sizes.setdefault(size, []).append(Interrupted(**of_size))
    pooled = []
    for rows in sizes.values():
        held_h = sum(row.held_h for row in rows)
        machines = sum(row.machines * row.held_h for row in rows) / held_h
        pooled.append(Interrupted(held_h, machines, sum(row.failures for row in rows)))
    return sorted(pooled, key=lambda row: row.machines), _entry(group.runs[0]).get("per_machine_h")


def by_size(group: Replicates) -> list[SizeClass]:
    """Return the jobs with GPUs of a row: all of them, then each size that some have."""
    tables = [_jobs(run, has_failures(group)) for run in group.runs]
    jobs = np.concatenate(tables, axis=1)
    of_jobs = demand_classes(jobs[0])
    members = {"": of_jobs >= 0} | {size: of_jobs == number for number, size in enumerate(DEMANDS)}
    return [_size(size, jobs[:, of], len(tables)) for size, of in members.items() if of.any()]


def _entry(run: Run) -> dict[str, Any]:
    return run.summary.get(FAILURES) or {}


def _jobs(run: Run, failing: bool) -> Floats:
    """Return columns of the jobs with GPUs that count: times, failures and GPU time by cause."""
    columns = run.numbers("jobs", [*_TIMES, *("failures", *_GPU_TIMES) * failing])
    table = np.stack(columns)
    counted: Floats = table[:, measured_jobs(run, table.shape[1]) & (table[0] > 0)]
    return counted


def _size(size: str, jobs: Floats, runs: int) -> SizeClass:
    _, jct_s, running_s, overhead_s, *failing = jobs
    done = jct_s[jct_s >= 0]
    mean_s = float(done.mean()) if len(done) else None
    if not failing:
        return SizeClass(size, len(jct_s) / runs, mean_s, None, None, None)
    failures, *gpu_s = map(np.sum, failing)
    held_s, held_gpu_s = float(running_s.sum() + overhead_s.sum()), float(sum(gpu_s))
    mttf_s = held_s / float(failures) if failures else None
    useful = float(gpu_s[0]) / held_gpu_s if held_gpu_s else None
    return SizeClass(size, len(jct_s) / runs, mean_s, float(failures) / runs, mttf_s, useful)
