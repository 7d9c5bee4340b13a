"""Result of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from artist.core.cluster import Cluster
from artist.core.job import JobSpec

StoppedBy = Literal["finished", "window", "time", "stuck"]
PART_COLUMNS = (  # of running_ns, in the order of IterationParts
    "compute_ns",  # scaled to the speed and number of the GPUs
    "input_stall_ns",  # CPUs and memory held against those needed
    "interference_ns",  # memory bandwidth, packing
    "exposed_comm_ns",  # communication that computing does not hide
    "contention_ns",  # other jobs on the same links
    "sharing_ns",  # waiting for the other members of an interleaved group
    "slowed_ns",  # the slowest machine that the job holds
    "checkpoint_ns",  # writing checkpoints
)
TIER_COLUMNS = ("machine_tier_ns", "rack_tier_ns", "network_tier_ns")  # running and overhead, by tier
JOB_COLUMNS = (  # jobs.parquet has them in this order, x_ns as x_s
    "submit_ns",
    "first_start_ns",  # -1 if never started
    "finish_ns",  # as noticed (`overheads.notice_s`); -1 if not finished
    "queueing_ns",  # all waiting
    "running_ns",  # progress, lost work included
    "overhead_ns",  # start, restart, migrate ... delays: GPUs held without progress; a finish not yet noticed
    "gpu_held_ns",  # GPUs x time held
    "gpu_held_alone_ns",  # the part of it outside of groups
    "gpu_compute_ns",  # GPUs x time computing, lost work included
    "gpu_exposed_comm_ns",  # GPUs x exposed communication
    *PART_COLUMNS,
    "lost_ns",  # part of running_ns whose work was lost
    "iterations",  # done, less those lost
    "starts",  # first start, resumptions and restarts
    "preemptions",  # stops by the policy
    "evictions",  # stops because a machine failed or left
    "migrations",  # moves to other GPUs
    "resizes",  # other numbers of GPUs of an elastic job
    *TIER_COLUMNS,
)


@dataclass(frozen=True, slots=True)
class RunResult:
    """Accounts of a run; times in ns, counted from the start of the simulation.

    Attributes
    ----------
    jobs
        Job specs in order of (submit, position in the workload); a job's number is its index here.
    columns
        One int64 array of shape (n_jobs,) per name of JOB_COLUMNS. Jobs still waiting or running at
        the end have their time up to `end_ns` in queueing, running and overhead.
    stopped_by
        "finished", "window", "time", or "stuck": jobs wait forever.
    end_ns
        End of the run; a finish may be noticed later.
    busy_gpu_ns, capacity_gpu_ns
        Integrals over the run of the GPUs held (a group's once) and of the GPUs present.
    group_gpu_ns
        The groups' share of `busy_gpu_ns`.
    compute_gpu_ns
        Sum over jobs of compute time x GPUs x the share of it in which they are busy.
    placements
        Starts, migrations and resizes by tier (machine, rack, network).
    events
        Number of typed events.
    window
        Range of job numbers, first <= number < last, over which times are averaged; None for all.
    cancelled
        Jobs that the policy ended before they were done.
    """

    jobs: Sequence[JobSpec]
    cluster: Cluster
    columns: Mapping[str, npt.NDArray[np.int64]]
    stopped_by: StoppedBy
    end_ns: int
    busy_gpu_ns: int
    capacity_gpu_ns: int
    group_gpu_ns: int
    compute_gpu_ns: int
    placements: Mapping[str, int]
    events: int
    window: tuple[int, int] | None = None
    cancelled: tuple[int, ...] = ()
