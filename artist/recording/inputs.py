"""Columns and numbers of jobs' input: CPUs and memory held, against their best case. Pure."""

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from artist.core.arrays import Floats
from artist.core.cluster import Allocation, Cluster
from artist.core.job import JobSpec
from artist.core.result import RunResult
from artist.recording.metrics import distribution
from artist.recording.names import INPUT_COLUMNS
from artist.recording.recorder import CANCELLED, FINISH, MIGRATE, START, TIMEOUT, Recorder
from artist.recording.topic import Topic
from artist.units import seconds_to_ns

SHORT_S = 4 * 3600.0  # jobs are short below it (Synergy, OSDI 2022, section 5.3.1)


class Inputs(Protocol):
    """Needs of jobs for preparing their input."""

    def in_use(
        self, spec: JobSpec, allocation: Allocation, cluster: Cluster, iteration_ns: int
    ) -> tuple[float, float]:
        """Return the CPUs and bytes of memory that a placed job uses at an iteration time."""

    def best_case(self, spec: JobSpec, cluster: Cluster) -> tuple[int, int]:
        """Return the least CPUs and bytes of memory, in all, with which a job reaches its highest speed."""


class InputColumns(Topic):
    """CPUs and memory of jobs against their best case; the recorder has seen the whole run."""

    def __init__(self, recorder: Recorder, inputs: Inputs) -> None:
        self._recorder, self._inputs = recorder, inputs

    def job_columns(self, result: RunResult) -> Mapping[str, Floats]:
        """Return `input_columns`."""
        return input_columns(result, self._recorder, self._inputs)

    def summary_entries(self, result: RunResult) -> Mapping[str, Any]:
        """Return `summarise_inputs`."""
        return summarise_inputs(result)


def input_columns(result: RunResult, recorder: Recorder, inputs: Inputs) -> dict[str, Floats]:
    """Return INPUT_COLUMNS, shape (n_jobs,): means over the time held, NaN if never, and the best case."""
    best = np.array([inputs.best_case(spec, result.cluster) for spec in result.jobs], dtype=np.float64)
    cpus, memory = mean_held(recorder, result.end_ns)
    columns = (cpus, best.reshape(-1, 2)[:, 0], memory, best.reshape(-1, 2)[:, 1])
    return dict(zip(INPUT_COLUMNS, columns, strict=True))


def mean_held(recorder: Recorder, end_ns: int) -> tuple[Floats, Floats]:
    """Return the CPUs and the bytes of memory that each job held, means over the time held; NaN if never."""
    time_ns, event_type, job, code = recorder.events()
    n_jobs = len(recorder.jobs)
    changes = (event_type >= START) & (event_type <= FINISH) | np.isin(
        event_type, (TIMEOUT, CANCELLED)
    )  # of allocations
    rows = np.flatnonzero(changes)
    job = job[rows]
    order = np.argsort(job, kind="stable")
    rows, job = rows[order], job[order]
    time_ns = time_ns[rows]
    until_ns = np.append(time_ns[1:], end_ns)
    until_ns[:-1][job[1:] != job[:-1]] = end_ns
    holds = event_type[rows] <= MIGRATE
    span_ns = np.where(holds, until_ns - time_ns, 0).astype(np.float64)
    code = np.where(holds, code[rows], -1)
    slices = [
        allocation.slices if isinstance(allocation, Allocation) else allocation
        for allocation in recorder.allocations
    ]
    amounts = [
        np.array([sum(getattr(s, name) for s in part) for part in slices] + [0], dtype=np.float64)
        for name in ("cpus", "memory_bytes")
    ]
    held_ns = np.bincount(job, span_ns, n_jobs)
    with np.errstate(invalid="ignore"):
        cpus, memory = (np.bincount(job, span_ns * amount[code], n_jobs) / held_ns for amount in amounts)
    return cpus, memory


def summarise_inputs(result: RunResult) -> dict[str, Any]:
    """Return the summary of input if jobs need CPUs and memory, over the jobs of the window if there is one.

    `relative_throughput`: throughput relative to that of GPUs that never wait for input (compute / (compute +
    input stall)), the unweighted mean over jobs that made progress; the best case of a job may be less, where
    a machine has too few CPUs. Completion times of short jobs, which need less than four hours alone if they
    never wait, and of the others: that depends on the job only, so the jobs are the same under each policy.
    """
    window = slice(*result.window) if result.window else slice(None)
    names = ("submit_ns", "finish_ns", "compute_ns", "input_stall_ns")
    submit, finish, compute, stall = (result.columns[name][window] for name in names)
    ideal = np.array([spec.ideal_ns for spec in result.jobs[window]], dtype=np.int64)
    ran, finished, short = compute > 0, finish >= 0, ideal < seconds_to_ns(SHORT_S)
    shares = compute[ran] / (compute + stall)[ran]
    return {
        "relative_throughput": math.fsum(shares) / len(shares) if len(shares) else None,
        "jct_short_s": distribution((finish - submit)[finished & short]),
        "jct_long_s": distribution((finish - submit)[finished & ~short]),
    }
