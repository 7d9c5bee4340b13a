"""What a summary.json must look like when it is read back."""

from pydantic import BaseModel, ConfigDict


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class DistributionFile(_Strict):
    """A distribution of times over jobs, in seconds; null if there is no job."""

    mean: float | None
    median: float | None
    p95: float | None
    p99: float | None
    max: float | None
    mean_beyond_p95: float | None
    mean_beyond_p99: float | None


class MeasuredFile(_Strict):
    """Jobs that means are about, and those that had finished, which they cover."""

    jobs: int
    finished: int


class OverheadFile(_Strict):
    """Exposed communication over compute, over jobs."""

    mean: float | None
    p95: float | None


class PlacementsFile(_Strict):
    """Placements by the widest tier that they cross."""

    machine: int
    rack: int
    network: int


class ResourcesFile(_Strict):
    """Use of each resource, as a part of the GPUs' time."""

    storage: float | None
    cpu: float | None
    gpu: float | None
    network: float | None


class SharesFile(_Strict):
    """What is held, and used, of the cluster's CPUs and memory, and used of its GPUs."""

    gpus_used: float | None
    cpus_held: float | None
    cpus_used: float | None
    memory_held: float | None
    memory_used: float | None


class ContentionFile(_Strict):
    """Time running over time without contention, a mean over jobs that ran, and the share of them slowed."""

    slowdown: float | None
    jobs: float | None


class ShortFile(_Strict):
    """By how much a pool is short of machines that its signal needs."""

    server_s: float
    worst_servers: int


class PoolsFile(_Strict):
    """Use of GPUs by pool, and the mean number of machines on loan, from the first to the last arrival."""

    training_held: float | None
    on_loan_held: float | None
    on_loan_machines: float | None = None  # of runs made before it was written
    combined: float | None


class ReclaimsFile(_Strict):
    """Machines that came back to their own pools, by how they were cleared, and the cost of that."""

    machines: int
    idle: int
    flexible: int
    preempting: int
    preempted_jobs: int
    of_running: float | None
    flexible_met: float | None
    collateral_gpus: int
    collateral: float | None


class JobsOfKindFile(_Strict):
    """Jobs of a kind, shares of them by how long they waited in all, and their mean number that waits."""

    jobs: int
    finished: int
    at_once: float | None
    within_10s: float | None
    within_3min: float | None
    over_10min: float | None
    over_1h: float | None
    queueing_s: DistributionFile
    jct_s: DistributionFile | None = None  # as all that has a default: of runs made before it was written
    waiting: float | None


class KindsFile(_Strict):
    """GPU jobs and CPU jobs side by side (`artist.recording.kind_numbers`)."""

    gpu: JobsOfKindFile
    cpu: JobsOfKindFile
    gpu_active_queued: float | None
    gpu_utilization_active: float | None
    gpu_utilization_queued: float | None
    starved: float | None
    starved_asked: float | None = None
    starved_all_time: float | None = None
    cpus_of_gpu_jobs: float | None
    cpus_of_cpu_jobs: float | None
    bandwidth: float | None
    over_threshold: float | None
    more_cpus: float | None
    fewer_cpus: float | None
    more_cpus_1_to_5: float | None = None
    fewer_cpus_1_to_20: float | None = None
    aborted: int
    cpu_lost: float | None = None
    user_p99_gpu_s: float | None
    user_p99_cpu_only_s: float | None
    retunes_per_gpu_job: float | None
    without_cpus: int = 0  # of runs made before it was written


class SummaryFile(_Strict):
    """The whole file; further keys are allowed."""

    policy: str
    jobs: int
    finished: int
    stopped_by: str
    measured: MeasuredFile | None = None  # of runs made before it was written
    makespan_s: float | None
    jct_s: DistributionFile
    queueing_s: DistributionFile
    exposed_s: DistributionFile
    comm_overhead: OverheadFile
    gpu_utilization: float | None
    gpu_allocated: float | None
    resources: ResourcesFile | None = None
    blocking_index: float | None = None
    shares: SharesFile | None = None
    contention: ContentionFile | None = None
    inference_short: ShortFile | None = None
    pools: PoolsFile | None = None
    reclaims: ReclaimsFile | None = None
    relative_throughput: float | None = None
    jct_short_s: DistributionFile | None = None
    jct_long_s: DistributionFile | None = None
    kinds: KindsFile | None = None
    preemptions: int
    migrations: int
    placements: PlacementsFile
    network_distinct: int
    network_fallbacks: int = 0
    network_carried: int = 0
    events: int
    seed: int
    run: dict[str, object]
