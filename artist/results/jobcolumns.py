"""The jobs of a run as the report needs them: the parts of their time, their users and their models."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from artist.results.run import Run, Words

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# Where the time between submission and finish went.
PARTS = (
    "queueing",
    "computing",
    "exposed communication",
    "contention",
    "stalls and sharing",
    "overheads",
    "lost work",
)
COMMUNICATION = [PARTS.index(part) for part in ("exposed communication", "contention")]
TIERS = ("machine", "rack", "network")
DEMANDS = ("1", "2-4", "5-8", "9-16", "17-64", "65+")
_DEMAND_ENDS = (1, 4, 8, 16, 64)

_NUMBERS = (
    "gpus", "jct_s", "queueing_s", "overhead_s", "running_s", "lost_s", "gpu_held_s",
    "compute_s", "exposed_comm_s", "contention_s", "input_stall_s", "interference_s", "sharing_s",
    "machine_tier_s", "rack_tier_s", "network_tier_s",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Jobs:
    """Columns of jobs.parquet, one entry per job.

    Attributes
    ----------
    measured
        Jobs that statistics are taken over: of the window if the run was to end with one.
    jct_s
        NaN where the job has not finished.
    parts_s : ndarray, shape (n_jobs, len(PARTS))
        Their sum is the completion time of a finished job. Lost work is taken from computing,
        communication, contention and stalls in the proportion in which the job spent its running time.
    tiers_s : ndarray, shape (n_jobs, 3)
        Time held by tier.
    overhead
        Exposed communication over compute; NaN where nothing was computed.
    """

    measured: Flags
    gpus: Codes
    demand: Codes
    jct_s: Floats
    queueing_s: Floats
    gpu_held_s: Floats
    parts_s: Floats
    tiers_s: Floats
    overhead: Floats
    model: Words
    user: Words
    vc: Words


def read_jobs(run: Run) -> Jobs:
    """Read the jobs of a run; raise InputError if the table is damaged or lacks a column."""
    columns = dict(zip(_NUMBERS, run.numbers("jobs", _NUMBERS), strict=True))
    model, user, vc = run.words("jobs", ("model", "user", "vc"))
    gpus = columns["gpus"].astype(np.int64)
    compute = columns["compute_s"]
    with np.errstate(divide="ignore", invalid="ignore"):
        overhead = np.where(compute > 0, columns["exposed_comm_s"] / compute, np.nan)
    return Jobs(
        measured=measured_jobs(run, len(gpus)),
        gpus=gpus,
        demand=demand_classes(gpus),
        jct_s=columns["jct_s"],
        queueing_s=columns["queueing_s"],
        gpu_held_s=columns["gpu_held_s"],
        parts_s=_parts(columns),
        tiers_s=np.stack([columns[f"{tier}_tier_s"] for tier in TIERS], axis=1),
        overhead=overhead,
        model=model,
        user=user,
        vc=vc,
    )


def demand_classes(gpus: Codes) -> Codes:
    """Return an index into DEMANDS for each number of GPUs; 0 GPUs count as 1."""
    return np.searchsorted(np.array(_DEMAND_ENDS), gpus, side="left").astype(np.int64)


def _parts(columns: dict[str, Floats]) -> Floats:
    running, lost = columns["running_s"], columns["lost_s"]
    kept = 1.0 - np.divide(lost, running, out=np.zeros_like(lost), where=running > 0)
    stalls = columns["input_stall_s"] + columns["interference_s"] + columns["sharing_s"]
    return np.stack(
        [
            columns["queueing_s"],
            columns["compute_s"] * kept,
            columns["exposed_comm_s"] * kept,
            columns["contention_s"] * kept,
            stalls * kept,
            columns["overhead_s"],
            lost,
        ],
        axis=1,
    )


def measured_jobs(run: Run, n_jobs: int) -> Flags:
    """Return the jobs of the window that the config names (rows are in order of arrival), else all."""
    measured = np.ones(n_jobs, dtype=bool)
    window = (run.config.get("stop") or {}).get("jobs")
    if isinstance(window, list) and len(window) == 2:
        measured[: int(window[0])] = False
        measured[int(window[1]) :] = False
    return measured
