"""The numbers of a summary that tables show, and their means over replicates. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any, Literal, NamedTuple

from artist.recording.names import BLOCKING, COST_CAUSES, COSTS, FAILURES, GPU_CAUSES, RESOURCES, SHARES
from artist.results.compare import Replicates
from artist.results.coverage import covered
from artist.results.interval import interval_95

LEVEL = 0.01  # values within 1 % of the best are level with it
_NEGLIGIBLE = {"time": 1.0, "fraction": 1e-3}  # a second, 0.1 percentage points
_TIMES = ((5400.0, "h", 3600.0), (90.0, "min", 60.0), (0.0, "s", 1.0))  # from how many seconds on
_MAX_SECONDS = 1e5
_UNITS = {"count": ("", 1.0), "ratio": ("", 1.0), "fraction": ("%", 100.0)}


Quantity = Literal["count", "ratio", "time", "fraction"]


class Estimate(NamedTuple):
    """A mean over replicates, and the ends of its 95 % interval (Student's t); None if undefined."""

    mean: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def half(self) -> float | None:
        """Half the width of the interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


@dataclass(frozen=True, slots=True)
class Metric:
    """A number of the summary as a column.

    Attributes
    ----------
    name
        Name in table.csv, unit included.
    title
        Lines of the heading.
    path
        Its place in the summary.
    low_is_good
        Whether the row with the lowest value may be marked as the best.
    optional
        Whether only some runs have it: those that were asked for it, or whose jobs need CPUs and memory or
        share links, or whose machines begin in several pools, or that are of a later version.
    per
        Name of its divisor, in the summary too.
    """

    name: str
    title: tuple[str, str]
    path: tuple[str, ...]
    quantity: Quantity
    low_is_good: bool = False
    optional: bool = False
    per: str | None = None

    def of(self, summary: Mapping[str, Any]) -> float | None:
        """Return its value in a summary; None if the run lacks its jobs or its recording."""
        if self.optional and self.path[0] not in summary:
            return None
        value: Any = summary
        for key in self.path:
            value = (value or {}).get(key) if self.optional else value[key]
        if value is None or self.per is None:
            return None if value is None else float(value)
        return value / summary[self.per] if summary[self.per] else None

    def compared(self, summary: Mapping[str, Any]) -> float | None:
        """Return its value for a comparison; None also for a time that leaves out unfinished jobs."""
        return None if self.quantity == "time" and not covered(summary).whole else self.of(summary)


# Of runs with a recording on request, jobs that need CPUs and memory, or machines in pools; or of later code.
_OPTIONAL = {"measured", "resources", BLOCKING, "shares", "relative_throughput", "pools", "reclaims"} | {
    "inference_short", "jct_short_s", "jct_long_s", "kinds", "contention", "contention_answers", "above_port",
    "comm_overhead.by_gpu_time", "seen", FAILURES, COSTS,
}  # fmt: skip
_MEANS = ("mean", "median", "p95", "p99")
SEEN = "seen"  # of a summary: the waits that users met
_SEEN = ("median", "p90", "p99")
_BEYOND = ("mean_beyond_p95", "mean_beyond_p99")


def _row(
    name: str, title: str, path: str, quantity: Quantity, low_is_good: bool = False, per: str | None = None
) -> Metric:
    """Return a metric; lines of its heading are parted by |, and keys of its place in the summary by dots."""
    first, second = title.split("|")
    keys = tuple(path.split("."))
    return Metric(
        name, (first, second), keys, quantity, low_is_good, not _OPTIONAL.isdisjoint((keys[0], path)), per
    )


# What the table in a terminal shows, where runs have it.
METRICS = (
    _row("jobs", "|jobs", "jobs", "count"),
    _row("finished", "|done", "finished", "count"),
    *(_row(f"jct_{name}_s", f"JCT|{name}", f"jct_s.{name}", "time", True) for name in _MEANS),
    _row("queueing_mean_s", "queue|mean", "queueing_s.mean", "time", True),
    _row("seen_mean_s", "seen|mean", "seen.seen_mean_s", "time"),
    _row("seen_ratio", "simulated|/ seen", "seen.ratio", "ratio"),
    _row("seen_correlation", "seen|correl.", "seen.correlation", "ratio"),
    _row("makespan_s", "|makespan", "makespan_s", "time", True),
    _row("gpu_utilization", "GPUs|used", "gpu_utilization", "fraction"),
    _row("comm_overhead_mean", "comm.|overhead", "comm_overhead.mean", "fraction"),
    _row("comm_overhead_by_gpu_time", "by GPU|time", "comm_overhead.by_gpu_time", "fraction"),
    _row("contention_slowdown", "slowed by|contention", "contention.slowdown", "ratio", True),
    _row("preemptions", "preemp-|tions", "preemptions", "count"),
    _row("energy_kwh", "energy|kWh", f"{COSTS}.total.energy_kwh", "ratio"),
    _row("money", "|money", f"{COSTS}.total.money", "ratio"),
    _row("co2_kg", "CO2|kg", f"{COSTS}.total.co2_kg", "ratio"),
)


def _times(key: str, title: str, statistics: Sequence[str]) -> list[Metric]:
    words = {name: name.replace("mean_beyond_", "mean > ") for name in statistics}
    return [
        _row(f"{key}_{name}_s", f"{title}|{word}", f"{key}_s.{name}", "time", key != "exposed")
        for name, word in words.items()
    ]


def _of_job_type(job_type: str, title: str) -> list[Metric]:
    """Return the metrics of queueing and completion times of a job type."""
    at, jobs = f"kinds.{job_type}", f"{job_type}_jobs"
    return [
        _row(jobs, f"|{title}", f"{at}.jobs", "count"),
        _row(f"{jobs}_at_once", f"{title}|at once", f"{at}.at_once", "fraction"),
        _row(f"{jobs}_within_10s", f"{title}|<= 10 s", f"{at}.within_10s", "fraction"),
        _row(f"{jobs}_within_3min", f"{title}|<= 3 min", f"{at}.within_3min", "fraction"),
        _row(f"{jobs}_over_10min", f"{title}|> 10 min", f"{at}.over_10min", "fraction", True),
        _row(f"{jobs}_over_1h", f"{title}|> 1 h", f"{at}.over_1h", "fraction", True),
        *(
            _row(
                f"{job_type}_{what}_{key}_s",
                f"{job_type.upper()} {words}|{key}",
                f"{at}.{what}_s.{key}",
                "time",
                True,
            )
            for what, words in (("queueing", "queue"), ("jct", "JCT"))
            for key in _MEANS
        ),
        _row(f"{jobs}_waiting", f"{title}|waiting", f"{at}.waiting", "count", True),
    ]


# Shown only in table.csv and on the page.
MORE_METRICS = (
    _row("measured_jobs", "measured|jobs", "measured.jobs", "count"),
    _row("measured_finished", "measured|done", "measured.finished", "count"),
    *_times("jct", "JCT", ("max", *_BEYOND)),
    *_times("queueing", "queue", ("median", "p95", "p99", "max", *_BEYOND)),
    *_times("exposed", "comm.", (*_MEANS, "max", *_BEYOND)),
    _row("comm_overhead_p95", "overhead|p95", "comm_overhead.p95", "fraction"),
    _row("gpu_allocated", "GPUs|held", "gpu_allocated", "fraction"),
    *(
        _row(f"{name}_in_use", f"in use:|{title}", f"resources.{name}", "fraction")
        for name, title in RESOURCES.items()
    ),
    _row(BLOCKING, "blocking|index", BLOCKING, "ratio", True),
    *(
        _row(name, title.replace(" ", "|"), f"shares.{name}", "fraction")
        for name, title in SHARES.items()
        if name != "gpus_used"  # gpu_utilization says it
    ),
    _row("seen_jobs", "seen|jobs", "seen.jobs", "count"),
    *(_row(f"seen_{name}_s", f"seen|{name}", f"seen.queueing_s.{name}", "time") for name in _SEEN),
    _row("seen_over_10min", "seen|> 10 min", "seen.queueing_s.over_10min", "fraction"),
    *(_row(f"simulated_{name}_s", f"same jobs|{name}", f"seen.simulated_s.{name}", "time") for name in _SEEN),
    _row("simulated_over_10min", "same jobs|> 10 min", "seen.simulated_s.over_10min", "fraction"),
    _row("seen_rank_correlation", "ranks|correl.", "seen.rank_correlation", "ratio"),
    _row("seen_median_correlation", "correl.|median", "seen.median_correlation", "ratio"),
    _row("seen_queue_correlation", "queue|correl.", "seen.queue_correlation", "ratio"),
    _row("seen_busy_correlation", "busy|correl.", "seen.busy_correlation", "ratio"),
    _row("seen_busy_ratio", "busy GPUs|/ seen", "seen.busy_ratio", "ratio"),
    *(
        _row(f"{cause}_gpu_h", f"GPU-hours|{title}", f"{FAILURES}.gpu_h.{cause}", "count")
        for cause, title in GPU_CAUSES.items()
    ),
    *(
        _row(f"{cause}_{name}", f"{title}|{words}", f"{COSTS}.causes.{cause}.{name}", "ratio")
        for name, words in (("energy_kwh", "kWh"), ("money", "money"))
        for cause, title in COST_CAUSES.items()
    ),
    _row("stops_by_failures", "stopped by|failures", f"{FAILURES}.stops", "count", True),
    _row("availability", "GPUs|available", f"{FAILURES}.availability", "fraction"),
    _row("contended_jobs", "jobs|slowed by it", "contention.jobs", "fraction", True),
    _row("relative_throughput", "throughput|of compute", "relative_throughput", "fraction"),
    _row("combined_usage", "all GPUs|used", "pools.combined", "fraction"),
    _row("training_usage", "training|+ on loan", "pools.training_held", "fraction"),
    _row("on_loan_usage", "on loan|held", "pools.on_loan_held", "fraction"),
    _row("on_loan_machines", "|on loan", "pools.on_loan_machines", "count"),
    _row("reclaimed", "machines|reclaimed", "reclaims.machines", "count"),
    _row(
        "preempted_of_submissions",
        "preempted|of submitted",
        "reclaims.preempted_jobs",
        "fraction",
        True,
        "jobs",
    ),
    _row("preempted_of_running", "preempted|of running", "reclaims.of_running", "fraction", True),
    _row("collateral", "collateral|GPUs", "reclaims.collateral", "fraction", True),
    _row("flexible_met", "reclaims|by flexible", "reclaims.flexible_met", "fraction"),
    _row("inference_short", "server-s|short", "inference_short.server_s", "count", True),
    _row("inference_worst_short", "worst|shortage", "inference_short.worst_servers", "count", True),
    *_times("jct_short", "JCT short", ("mean", "p95", "p99")),
    *_times("jct_long", "JCT long", ("mean", "p95", "p99")),
    *_of_job_type("gpu", "GPU jobs"),
    *_of_job_type("cpu", "CPU jobs"),
    _row("gpu_active_queued", "GPUs held|in queues", "kinds.gpu_active_queued", "fraction"),
    _row("gpu_utilization_active", "held GPUs|used", "kinds.gpu_utilization_active", "fraction"),
    _row("gpu_utilization_queued", "held, used|in queues", "kinds.gpu_utilization_queued", "fraction"),
    _row("starved_gpus", "GPUs|starved", "kinds.starved", "fraction", True),
    _row("starved_gpus_asked", "starved,|as asked", "kinds.starved_asked", "fraction", True),
    _row("starved_gpus_all_time", "starved,|all time", "kinds.starved_all_time", "fraction", True),
    _row("cpus_of_gpu_jobs", "CPUs of|GPU jobs", "kinds.cpus_of_gpu_jobs", "fraction"),
    _row("cpus_of_cpu_jobs", "CPUs of|CPU jobs", "kinds.cpus_of_cpu_jobs", "fraction"),
    _row("bandwidth_drawn", "memory|bandwidth", "kinds.bandwidth", "fraction"),
    _row("bandwidth_over_threshold", "machines|crowded", "kinds.over_threshold", "fraction", True),
    _row("more_cpus", "got more|CPUs", "kinds.more_cpus", "fraction"),
    _row("fewer_cpus", "got fewer|CPUs", "kinds.fewer_cpus", "fraction"),
    _row("more_cpus_1_to_5", "1 to 5|more CPUs", "kinds.more_cpus_1_to_5", "fraction"),
    _row("fewer_cpus_1_to_20", "1 to 20|fewer CPUs", "kinds.fewer_cpus_1_to_20", "fraction"),
    _row("cpu_lost", "CPU jobs'|work lost", "kinds.cpu_lost", "fraction", True),
    _row("cpu_jobs_aborted", "CPU jobs|aborted", "kinds.aborted", "count", True),
    _row("user_p99_gpu_s", "users' p99|GPU", "kinds.user_p99_gpu_s", "time", True),
    _row("user_p99_cpu_only_s", "users' p99|CPU only", "kinds.user_p99_cpu_only_s", "time", True),
    _row("retunes_per_gpu_job", "retunes|per GPU job", "kinds.retunes_per_gpu_job", "ratio"),
    _row("migrations", "|moves", "migrations", "count"),
    _row("moves_per_job", "moves|per job", "migrations", "ratio", per="jobs"),
    _row("placed_machine", "placed in|machine", "placements.machine", "count"),
    _row("placed_rack", "placed in|rack", "placements.rack", "count"),
    _row("placed_network", "placed over|network", "placements.network", "count"),
    _row("network_distinct", "network|questions", "network_distinct", "count"),
    _row("network_fallbacks", "network|fallbacks", "network_fallbacks", "count"),
    _row("network_carried", "network|carried", "network_carried", "count"),
    _row("events", "|events", "events", "count"),
)
ALL_METRICS = METRICS + MORE_METRICS
# Beside the others where one of them is not 0.
STAND_INS = (
    _row("network_carried_share", "network|carried", "network_carried", "fraction", per="network_distinct"),
    _row(
        "network_fallbacks_share", "network|fallback", "network_fallbacks", "fraction", per="network_distinct"
    ),
    _row("above_port_share", "above|the port", "above_port.questions", "fraction", per="network_distinct"),
    _row(
        "not_in_packets_share", "contention|not in packets", "contention_answers.fallback_share", "fraction"
    ),
)
BY_NAME = {metric.name: metric for metric in ALL_METRICS}


def estimate(metric: Metric, summaries: Sequence[Mapping[str, Any]]) -> Estimate:
    """Return mean and interval; nothing if any replicate lacks the number, because that is no sample."""
    return estimate_of([metric.of(summary) for summary in summaries], summaries)


def estimate_of(numbers: Sequence[float | None], summaries: Sequence[Mapping[str, Any]]) -> Estimate:
    """Return mean and interval of the numbers of replicates, as `estimate` does."""
    return _certain(_estimate(numbers), summaries)


def comparable(metric: Metric, group: Replicates) -> Estimate:
    """Return mean and interval for a comparison; nothing if the row lacks runs, or one lacks the number."""
    summaries = [run.summary for run in group.runs]
    numbers = [metric.compared(summary) for summary in summaries]
    return Estimate() if group.lacking else estimate_of(numbers, summaries)


def _estimate(numbers: Sequence[float | None]) -> Estimate:
    """Return mean and interval; no interval of equal numbers, which the seed does not change."""
    values = [value for value in numbers if value is not None]
    if len(values) < len(numbers):
        return Estimate()
    return Estimate(mean(values)) if len(set(values)) == 1 else estimated(values)


def change(metric: Metric, row: Replicates, other: Replicates) -> Estimate:
    """Return the mean and interval of `changes`; nothing if there are none."""
    differences = changes(metric, row, other)
    summaries = [run.summary for run in (*row.runs, *other.runs)]
    return _certain(estimated(differences), summaries) if differences else Estimate()


def _certain(numbers: Estimate, summaries: Sequence[Mapping[str, Any]]) -> Estimate:
    """Return the estimate; the mean alone of a site's runs, since seeds draw no other site."""
    return Estimate(numbers.mean) if any(SEEN in summary for summary in summaries) else numbers


def changes(metric: Metric, row: Replicates, other: Replicates) -> list[float]:
    """Return the relative differences of a row's number from another row's, seed by seed.

    Nothing if a pair has no ratio, or a run has no number for a comparison.
    """
    pair = (row.runs, other.runs)
    mine, theirs = ({run.summary["seed"]: metric.compared(run.summary) for run in runs} for runs in pair)
    differences = [difference(mine[seed], theirs[seed]) for seed in mine if seed in theirs]
    known = [value for value in differences if value is not None]
    return known if len(known) == len(differences) else []


def estimated(values: Sequence[float], of: int = 1) -> Estimate:
    """Return the mean of at least one value, and its interval, one of `of` that are to hold together."""
    return Estimate(mean(values), *(interval_95(values, of) or (None, None)))


def difference(value: float | None, reference: float | None) -> float | None:
    """Return the excess of a value over a reference, as part of it; None if there is no such ratio."""
    return None if value is None or not reference else value / reference - 1.0


def is_negligible(quantity: str, one: float, other: float) -> bool:
    """Return whether two values differ by so little that no ratio of them is meaningful."""
    return abs(one - other) < _NEGLIGIBLE.get(quantity, 0.0)


def is_level(quantity: str, value: float, least: float) -> bool:
    """Return whether a value is as good as the least: within 1 % of it, or negligibly more."""
    return value <= least * (1 + LEVEL) or is_negligible(quantity, value, least)


def column_unit(quantity: str, values: Sequence[float | None]) -> tuple[str, float]:
    """Return the unit in which the values of a column are shown, and its size.

    Times are shown in the unit that suits the greatest of them; in seconds if the least would be less
    than a hundredth there, unless the greatest would then have six digits.
    """
    if quantity != "time":
        return _UNITS[quantity]
    known = [value for value in values if value]
    unit, scale_s = next((unit, scale_s) for from_s, unit, scale_s in _TIMES if max([0.0, *known]) >= from_s)
    seen = min(known, default=0.0) >= scale_s / 100 or max(known, default=0.0) >= _MAX_SECONDS
    return (unit, 1 / scale_s) if seen else ("s", 1.0)


def number_texts(
    estimates: Sequence[tuple[float | None, float | None]], scale: float, quantity: str
) -> list[tuple[str, str]]:
    """Return texts of means and half widths of intervals, all with the same number of decimals.

    The text is "-" where there is no mean, and that of the half width is empty where there is none.
    """
    scaled = [
        (None if mean is None else mean * scale, None if half is None else half * scale)
        for mean, half in estimates
    ]
    if quantity == "count":
        whole = all(mean is None or (mean == int(mean) and not half) for mean, half in scaled)
        scaled = [(mean, half or None) for mean, half in scaled]  # equal counts need no interval
        decimals = 0 if whole else 1
    else:
        decimals = _decimals([mean for mean, _ in scaled if mean], 4 if quantity == "time" else 3)
        decimals = max(decimals, 1 if quantity == "fraction" else 0)  # 100.0 does not cost 85.3 its decimal
    return [
        ("-" if mean is None else f"{mean:.{decimals}f}", "" if half is None else f"{half:.{decimals}f}")
        for mean, half in scaled
    ]


def _decimals(values: Sequence[float], digits: int) -> int:
    """Return the decimals that show `digits` digits of the greatest value, and nearly so of the least.

    The least has one digit less, unless that takes more than two further decimals.
    """
    if not values:
        return 0
    of_greatest, of_least = (
        max(count - 1 - int(f"{value:.{count - 1}e}".partition("e")[2]), 0)  # after rounding: 999.96 is 1000
        for value, count in ((max(values), digits), (min(values), digits - 1))
    )
    return min(max(of_greatest, min(of_least, of_greatest + 2)), 6)
