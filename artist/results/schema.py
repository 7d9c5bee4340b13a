"""Schema of summary.json, as it is read back: numbers, counts, and the sections that only some runs have."""

from typing import Any

from pydantic import BaseModel, ConfigDict, create_model

_STATISTICS = ("mean", "median", "p95", "p99", "max", "mean_beyond_p95", "mean_beyond_p99")
_RECLAIMED = ("machines", "idle", "flexible", "preempting", "preempted_jobs", "collateral_gpus")


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


def _section(
    name: str, numbers: str, counts: str = "", later: str = "", **more: tuple[Any, Any]
) -> type[BaseModel]:
    """Return a section of the file.

    Parameters
    ----------
    numbers
        Names of numbers, which may be null: a mean over no job.
    counts
        Names of whole numbers.
    later
        Names of numbers that runs of earlier versions lack.
    """
    fields: dict[str, Any] = dict.fromkeys(counts.split(), (int, ...))
    fields |= dict.fromkeys(numbers.split(), (float | None, ...))
    fields |= dict.fromkeys(later.split(), (float | None, None)) | more
    section: type[BaseModel] = create_model(name, __base__=_Strict, **fields)
    return section


_DISTRIBUTION = _section("Distribution", " ".join(_STATISTICS))  # of times over jobs, in seconds
_JOBS = _section(
    "JobsOfType",
    "at_once within_10s within_3min over_10min over_1h waiting",
    "jobs finished",
    queueing_s=(_DISTRIBUTION, ...),
    jct_s=(_DISTRIBUTION | None, None),
)
_KINDS = _section(
    "Kinds",
    "gpu_active_queued gpu_utilization_active gpu_utilization_queued starved cpus_of_gpu_jobs "
    "cpus_of_cpu_jobs bandwidth over_threshold more_cpus fewer_cpus user_p99_gpu_s user_p99_cpu_only_s "
    "retunes_per_gpu_job",
    "aborted",
    "starved_asked starved_all_time more_cpus_1_to_5 fewer_cpus_1_to_20 cpu_lost",
    gpu=(_JOBS, ...),
    cpu=(_JOBS, ...),
    without_cpus=(int, 0),
)
_ABOVE_PORT = _section(
    "AbovePort", "", "questions", worst=(str, ...), comm_s=(float, ...), least_s=(float, ...)
)
_LARGEST = _section("Largest", "", "gpus jobs", model=(str, ...), share=(float, ...))
_ALIKE = "seen_mean_s simulated_mean_s ratio correlation rank_correlation queue_correlation busy_correlation"
_WAITS = _section("Waits", "mean median p90 p99 over_10min")
_GROUP = _section("Group", _ALIKE, "jobs", by=(str, ...), value=(str, ...))
_SEEN = _section(
    "Seen",
    f"{_ALIKE} median_correlation busy_ratio",
    "jobs ran_at_start ran_not_placed",
    queueing_s=(_WAITS, ...),
    simulated_s=(_WAITS, ...),
    groups=(list[_GROUP], ...),  # type: ignore[valid-type]
)
_SOME: dict[str, Any] = {  # sections that only some runs have
    "resources": _section("Resources", "storage cpu gpu network"),
    "blocking_index": float,
    "shares": _section("Shares", "gpus_used cpus_held cpus_used memory_held memory_used"),
    "contention": _section("Contention", "slowdown jobs"),
    "contention_answers": _section("Answers", "", "packets flow_level mean_field", "fallback_share"),
    "inference_short": _section("Short", "", "worst_servers", server_s=(float, ...)),
    "pools": _section("Pools", "training_held on_loan_held combined", later="on_loan_machines"),
    "reclaims": _section("Reclaims", "of_running flexible_met collateral", " ".join(_RECLAIMED)),
    "relative_throughput": float,
    "jct_short_s": _DISTRIBUTION,
    "jct_long_s": _DISTRIBUTION,
    "kinds": _KINDS,
    "seen": _SEEN,
}
_FIELDS: dict[str, Any] = {
    "policy": (str, ...),
    **dict.fromkeys(("jobs", "finished"), (int, ...)),
    "stopped_by": (str, ...),
    "stuck": (str | None, None),
    "measured": (_section("Measured", "", "jobs finished") | None, None),
    "makespan_s": (float | None, ...),
    **dict.fromkeys(("jct_s", "queueing_s", "exposed_s"), (_DISTRIBUTION, ...)),
    "comm_overhead": (
        _section("Overhead", "mean p95", later="by_gpu_time", largest=(_LARGEST | None, None)),
        ...,
    ),
    **dict.fromkeys(("gpu_utilization", "gpu_allocated"), (float | None, ...)),
    **{name: (section | None, None) for name, section in _SOME.items()},
    **dict.fromkeys(("preemptions", "migrations"), (int, ...)),
    "placements": (_section("Placements", "", "machine rack network"), ...),
    "network_distinct": (int, ...),
    **dict.fromkeys(("network_fallbacks", "network_carried"), (int, 0)),
    "network_back_ends": (dict[str, int], {}),
    "above_port": (_ABOVE_PORT | None, None),
    **dict.fromkeys(("events", "seed"), (int, ...)),
    "setting": (dict[str, dict[str, str]], {}),
    "run": (dict[str, object], ...),
}
SummaryFile: type[BaseModel] = create_model("SummaryFile", __base__=_Strict, **_FIELDS)
"""The whole file, keys in the order in which they are written; further keys are allowed."""
