"""Names of the files in a run folder, and of the columns that several of them share."""

SUMMARY = "summary.json"  # a folder that has one is complete
ERROR = "error.json"  # of a point that failed
CONFIG = "config.yaml"
JOBS = "jobs.parquet"
LOG = "artist.log"
SERIES = "policy.parquet"
RESOURCES_FILE = "resources.parquet"
POOLS_FILE = "pools.parquet"
LINKS_FILE = "links.parquet"  # a row for each link, where jobs on the same links affect each other
TIERS_FILE = "tiers.parquet"  # the same links by tier, over time
SEEN_FILE = "seen.parquet"  # where the trace has the real starts of jobs
SEEN_COLUMN = "seen_queueing_s"  # of jobs.parquet, there
SCHEDULER_TEXTS = ("partition", "account", "qos")  # of jobs.parquet, where the trace has them
CORES_FILE = "cores.parquet"  # where jobs are CPU-only

RESOURCES = {"storage": "storage", "cpu": "CPU", "gpu": "GPU", "network": "network"}  # as in Stages: title
BLOCKING = "blocking_index"
RESOURCE_COLUMNS = (*RESOURCES, BLOCKING)
SHARES = {  # of the cluster, where jobs need CPUs and memory: title
    "gpus_used": "GPUs used",
    "cpus_held": "CPUs held",
    "cpus_used": "CPUs used",
    "memory_held": "memory held",
    "memory_used": "memory used",
}
FAILURES = "failures"  # of the summary, where machines fail
JOB_CAUSES = {  # of the GPU time of a job, there: title; in jobs.parquet as useful_gpu_s ...
    "useful": "useful work",
    "slowed": "slowed by a bad part",
    "checkpoint": "writing checkpoints",
    "overhead": "starting and moving",
    "recovery": "recovery",
    "lost_by_failure": "lost by failures",
    "lost_by_preemption": "lost by preemptions",
}
GPU_CAUSES = JOB_CAUSES | {  # of the time of all GPUs
    "shared": "in groups",
    "replacement": "waiting for a replacement",
    "idle": "idle",
    "spare": "spare",
    "draining": "draining",
    "repair": "in repair",
    "check": "in health checks",
    "absent": "absent",
}
COSTS = "costs"  # of the summary, where GPUs have prices or power
COST_COLUMNS = ("energy_kwh", "money", "co2_kg")  # of jobs.parquet, there
HELD_CAUSES = (*JOB_CAUSES, "shared")  # GPUs are busy
COST_CAUSES = {cause: title for cause, title in GPU_CAUSES.items() if cause not in ("replacement", "absent")}
LINK_USES = ("use", "highest", "contended")  # of the links of a tier: machine_use ... in tiers.parquet
SLOWDOWN = "contention_slowdown"  # of jobs.parquet, there
INPUT_COLUMNS = ("cpus_held", "cpus_best", "memory_bytes_held", "memory_bytes_best")  # of jobs.parquet, there
CPU_COLUMNS = ("cpus", "cpus_last")  # of jobs.parquet, where jobs are CPU-only
ON_LOAN = "on_loan_s"  # of jobs.parquet, where machines begin in several pools
RECLAIMED = ("idle", "flexible", "preempting", "preempted_jobs")  # of `reclaims` in the summary, and, as
# reclaimed_idle ..., totals up to a time in pools.parquet

NO_COMMUNICATION = "none, communication takes no time"  # the sentence of a run without a network model
