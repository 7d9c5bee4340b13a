"""The numbers of a summary that tables show, and their means over replicates. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any, Literal, NamedTuple, cast

from artist.recording.names import BLOCKING, RESOURCES, SHARES
from artist.results.compare import Replicates
from artist.results.coverage import covered
from artist.results.interval import interval_95

LEVEL = 0.01  # values within 1 % of the best are level with it
_NEGLIGIBLE = {"time": 1.0, "fraction": 1e-3}  # a second, 0.1 percentage points
_TIMES = ((5400.0, "h", 3600.0), (90.0, "min", 60.0), (0.0, "s", 1.0))  # from how many seconds on
_MOST_SECONDS = 1e5
_UNITS_OF_KINDS = {"count": ("", 1.0), "ratio": ("", 1.0), "fraction": ("%", 100.0)}


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
        Whether only some runs have it: those that were asked for it, or whose jobs need CPUs and memory, or
        whose machines begin in several pools.
    per
        What it is divided by, in the summary too.
    """

    name: str
    title: tuple[str, str]
    path: tuple[str, ...]
    kind: Literal["count", "ratio", "time", "fraction"]
    low_is_good: bool = False
    optional: bool = False
    per: str | None = None

    def of(self, summary: Mapping[str, Any]) -> float | None:
        """Return its value in a summary; None if the run lacks what it needs: jobs, or a recording."""
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
        return None if self.kind == "time" and not covered(summary).whole else self.of(summary)


# What the table in a terminal shows.
METRICS = (
    Metric("jobs", ("", "jobs"), ("jobs",), "count"),
    Metric("finished", ("", "done"), ("finished",), "count"),
    Metric("jct_mean_s", ("JCT", "mean"), ("jct_s", "mean"), "time", True),
    Metric("jct_median_s", ("JCT", "median"), ("jct_s", "median"), "time", True),
    Metric("jct_p95_s", ("JCT", "p95"), ("jct_s", "p95"), "time", True),
    Metric("jct_p99_s", ("JCT", "p99"), ("jct_s", "p99"), "time", True),
    Metric("queueing_mean_s", ("queue", "mean"), ("queueing_s", "mean"), "time", True),
    Metric("makespan_s", ("", "makespan"), ("makespan_s",), "time", True),
    Metric("gpu_utilization", ("GPUs", "used"), ("gpu_utilization",), "fraction"),
    Metric("comm_overhead_mean", ("comm.", "overhead"), ("comm_overhead", "mean"), "fraction"),
    Metric("preemptions", ("preemp-", "tions"), ("preemptions",), "count"),
)


def _times(key: str, title: str, statistics: Sequence[str], *, optional: bool = False) -> tuple[Metric, ...]:
    return tuple(
        Metric(
            f"{key}_{statistic}_s",
            (title, statistic.replace("mean_beyond_", "mean > ")),
            (f"{key}_s", statistic),
            "time",
            key != "exposed",
            optional,
        )
        for statistic in statistics
    )


def _of_kind(kind: str, title: str) -> tuple[Metric, ...]:
    """Return how long jobs of a kind waited, and took."""
    shares = (
        ("at_once", "at once", False),
        ("within_10s", "<= 10 s", False),
        ("within_3min", "<= 3 min", False),
        ("over_10min", "> 10 min", True),
        ("over_1h", "> 1 h", True),
    )
    return (
        Metric(f"{kind}_jobs", ("", title), ("kinds", kind, "jobs"), "count", optional=True),
        *(
            Metric(f"{kind}_jobs_{key}", (title, words), ("kinds", kind, key), "fraction", low, optional=True)
            for key, words, low in shares
        ),
        *(
            Metric(
                f"{kind}_{what}_{key}_s",
                (f"{kind.upper()} {words}", key),
                ("kinds", kind, f"{what}_s", key),
                "time",
                True,
                optional=True,
            )
            for what, words in (("queueing", "queue"), ("jct", "JCT"))
            for key in ("mean", "median", "p95", "p99")
        ),
        Metric(
            f"{kind}_jobs_waiting",
            (title, "waiting"),
            ("kinds", kind, "waiting"),
            "count",
            True,
            optional=True,
        ),
    )


# Shown only in table.csv and on the page.
MORE_METRICS = (
    Metric("measured_jobs", ("measured", "jobs"), ("measured", "jobs"), "count", optional=True),
    Metric("measured_finished", ("measured", "done"), ("measured", "finished"), "count", optional=True),
    *_times("jct", "JCT", ("max", "mean_beyond_p95", "mean_beyond_p99")),
    *_times("queueing", "queue", ("median", "p95", "p99", "max", "mean_beyond_p95", "mean_beyond_p99")),
    *_times("exposed", "comm.", ("mean", "median", "p95", "p99", "max")),
    *_times("exposed", "comm.", ("mean_beyond_p95", "mean_beyond_p99")),
    Metric("comm_overhead_p95", ("overhead", "p95"), ("comm_overhead", "p95"), "fraction"),
    Metric("gpu_allocated", ("GPUs", "held"), ("gpu_allocated",), "fraction"),
    *(
        Metric(f"{name}_in_use", ("in use:", title), ("resources", name), "fraction", optional=True)
        for name, title in RESOURCES.items()
    ),
    Metric(BLOCKING, ("blocking", "index"), (BLOCKING,), "ratio", True, optional=True),
    *(
        Metric(name, cast(tuple[str, str], tuple(title.split())), ("shares", name), "fraction", optional=True)
        for name, title in SHARES.items()
        if name != "gpus_used"  # gpu_utilization says it
    ),
    Metric(
        "relative_throughput",
        ("throughput", "of compute"),
        ("relative_throughput",),
        "fraction",
        optional=True,
    ),
    *(
        Metric(name, title, ("pools", key), "fraction", optional=True)
        for name, title, key in (
            ("combined_usage", ("all GPUs", "used"), "combined"),
            ("training_usage", ("training", "+ on loan"), "training_held"),
            ("on_loan_usage", ("on loan", "held"), "on_loan_held"),
        )
    ),
    Metric("on_loan_machines", ("", "on loan"), ("pools", "on_loan_machines"), "count", optional=True),
    Metric("reclaimed", ("machines", "reclaimed"), ("reclaims", "machines"), "count", optional=True),
    Metric(
        "preempted_of_submissions",
        ("preempted", "of submitted"),
        ("reclaims", "preempted_jobs"),
        "fraction",
        low_is_good=True,
        optional=True,
        per="jobs",
    ),
    *(
        Metric(name, title, ("reclaims", key), "fraction", low, optional=True)
        for name, title, key, low in (
            ("preempted_of_running", ("preempted", "of running"), "of_running", True),
            ("collateral", ("collateral", "GPUs"), "collateral", True),
            ("flexible_met", ("reclaims", "by flexible"), "flexible_met", False),
        )
    ),
    Metric("inference_short", ("server-s", "short"), ("inference_short", "server_s"), "count", True, True),
    Metric(
        "inference_worst_short",
        ("worst", "shortage"),
        ("inference_short", "worst_servers"),
        "count",
        True,
        True,
    ),
    *_times("jct_short", "JCT short", ("mean", "p95", "p99"), optional=True),
    *_times("jct_long", "JCT long", ("mean", "p95", "p99"), optional=True),
    *(
        metric
        for kind, title in (("gpu", "GPU jobs"), ("cpu", "CPU jobs"))
        for metric in _of_kind(kind, title)
    ),
    *(
        Metric(name, title, ("kinds", key), "fraction", low, optional=True)
        for name, title, key, low in (
            ("gpu_active_queued", ("GPUs held", "in queues"), "gpu_active_queued", False),
            ("gpu_utilization_active", ("held GPUs", "used"), "gpu_utilization_active", False),
            ("gpu_utilization_queued", ("held, used", "in queues"), "gpu_utilization_queued", False),
            ("starved_gpus", ("GPUs", "starved"), "starved", True),
            ("starved_gpus_asked", ("starved,", "as asked"), "starved_asked", True),
            ("starved_gpus_all_time", ("starved,", "all time"), "starved_all_time", True),
            ("cpus_of_gpu_jobs", ("CPUs of", "GPU jobs"), "cpus_of_gpu_jobs", False),
            ("cpus_of_cpu_jobs", ("CPUs of", "CPU jobs"), "cpus_of_cpu_jobs", False),
            ("bandwidth_drawn", ("memory", "bandwidth"), "bandwidth", False),
            ("bandwidth_over_threshold", ("machines", "crowded"), "over_threshold", True),
            ("more_cpus", ("got more", "CPUs"), "more_cpus", False),
            ("fewer_cpus", ("got fewer", "CPUs"), "fewer_cpus", False),
            ("more_cpus_1_to_5", ("1 to 5", "more CPUs"), "more_cpus_1_to_5", False),
            ("fewer_cpus_1_to_20", ("1 to 20", "fewer CPUs"), "fewer_cpus_1_to_20", False),
            ("cpu_lost", ("CPU jobs'", "work lost"), "cpu_lost", True),
        )
    ),
    Metric("cpu_jobs_aborted", ("CPU jobs", "aborted"), ("kinds", "aborted"), "count", True, optional=True),
    *(
        Metric(name, title, ("kinds", name), "time", True, optional=True)
        for name, title in (
            ("user_p99_gpu_s", ("users' p99", "GPU")),
            ("user_p99_cpu_only_s", ("users' p99", "CPU only")),
        )
    ),
    Metric(
        "retunes_per_gpu_job",
        ("retunes", "per GPU job"),
        ("kinds", "retunes_per_gpu_job"),
        "ratio",
        optional=True,
    ),
    Metric("migrations", ("", "moves"), ("migrations",), "count"),
    Metric("moves_per_job", ("moves", "per job"), ("migrations",), "ratio", per="jobs"),
    Metric("placed_machine", ("placed in", "machine"), ("placements", "machine"), "count"),
    Metric("placed_rack", ("placed in", "rack"), ("placements", "rack"), "count"),
    Metric("placed_network", ("placed over", "network"), ("placements", "network"), "count"),
    Metric("network_distinct", ("network", "questions"), ("network_distinct",), "count"),
    Metric("network_fallbacks", ("network", "fallbacks"), ("network_fallbacks",), "count"),
    Metric("network_carried", ("network", "carried"), ("network_carried",), "count"),
    Metric("events", ("", "events"), ("events",), "count"),
)
ALL_METRICS = METRICS + MORE_METRICS
# Beside the others where one of them is not 0.
STAND_INS = tuple(
    Metric(
        f"network_{name}_share", ("network", title), (f"network_{name}",), "fraction", per="network_distinct"
    )
    for name, title in (("carried", "carried"), ("fallbacks", "fallback"))
)
BY_NAME = {metric.name: metric for metric in ALL_METRICS}


def estimate(metric: Metric, summaries: Sequence[Mapping[str, Any]]) -> Estimate:
    """Return mean and interval; nothing if any replicate lacks the number, because that is no sample."""
    values = [value for summary in summaries if (value := metric.of(summary)) is not None]
    return estimated(values) if len(values) == len(summaries) else Estimate()


def comparable(metric: Metric, group: Replicates) -> Estimate:
    """Return mean and interval for a comparison; nothing if any replicate has no number for one."""
    values = [value for run in group.runs if (value := metric.compared(run.summary)) is not None]
    return estimated(values) if len(values) == len(group.runs) else Estimate()


def change(metric: Metric, own: Replicates, other: Replicates) -> Estimate:
    """Return the mean and interval of `changes`; nothing if there are none."""
    found = changes(metric, own, other)
    return estimated(found) if found else Estimate()


def changes(metric: Metric, own: Replicates, other: Replicates) -> list[float]:
    """Return how much more a row's number is than another row's, seed by seed.

    Nothing if a pair has no ratio, or a run has no number for a comparison.
    """
    pair = (own.runs, other.runs)
    mine, theirs = ({run.summary["seed"]: metric.compared(run.summary) for run in runs} for runs in pair)
    found = [difference(mine[seed], theirs[seed]) for seed in mine if seed in theirs]
    known = [each for each in found if each is not None]
    return known if len(known) == len(found) else []


def estimated(values: Sequence[float], of: int = 1) -> Estimate:
    """Return the mean of at least one value, and its interval, one of so many that are to hold together."""
    return Estimate(mean(values), *(interval_95(values, of) or (None, None)))


def difference(value: float | None, reference: float | None) -> float | None:
    """Return by how much of the reference a value exceeds it; None if there is no such ratio."""
    return None if value is None or not reference else value / reference - 1.0


def is_negligible(kind: str, one: float, other: float) -> bool:
    """Return whether two values differ by so little that no ratio of them is meaningful."""
    return abs(one - other) < _NEGLIGIBLE.get(kind, 0.0)


def is_level(kind: str, value: float, least: float) -> bool:
    """Return whether a value is as good as the least: within 1 % of it, or negligibly more."""
    return value <= least * (1 + LEVEL) or is_negligible(kind, value, least)


def column_unit(kind: str, values: Sequence[float | None]) -> tuple[str, float]:
    """Return the unit in which the values of a column are shown, and its size.

    Times are shown in the unit that suits the greatest of them; in seconds if the least would be less
    than a hundredth there, unless the greatest would then have six digits.
    """
    if kind != "time":
        return _UNITS_OF_KINDS[kind]
    there = [value for value in values if value]
    unit, scale_s = next(
        (unit, scale_s) for from_s, unit, scale_s in _TIMES if max(there, default=0.0) >= from_s
    )
    seen = min(there, default=0.0) >= scale_s / 100 or max(there, default=0.0) >= _MOST_SECONDS
    return (unit, 1 / scale_s) if seen else ("s", 1.0)


def number_texts(
    estimates: Sequence[tuple[float | None, float | None]], scale: float, kind: str
) -> list[tuple[str, str]]:
    """Return texts of means and half widths of intervals, all with the same number of decimals.

    The text is "-" where there is no mean, and that of the half width is empty where there is none.
    """
    scaled = [
        (None if mean is None else mean * scale, None if half is None else half * scale)
        for mean, half in estimates
    ]
    if kind == "count":
        whole = all(mean is None or (mean == int(mean) and not half) for mean, half in scaled)
        scaled = [(mean, half or None) for mean, half in scaled]  # equal counts need no interval
        decimals = 0 if whole else 1
    else:
        decimals = _decimals([mean for mean, _ in scaled if mean], 4 if kind == "time" else 3)
        decimals = max(decimals, 1 if kind == "fraction" else 0)  # 100.0 does not cost 85.3 its decimal
    return [
        ("-" if mean is None else f"{mean:.{decimals}f}", "" if half is None else f"{half:.{decimals}f}")
        for mean, half in scaled
    ]


def _decimals(values: Sequence[float], digits: int) -> int:
    """Return the decimals that show so many digits of the greatest value, and nearly so of the least.

    The least has one digit less, unless that takes more than two further decimals.
    """
    if not values:
        return 0
    of_greatest, of_least = (
        max(count - 1 - int(f"{value:.{count - 1}e}".partition("e")[2]), 0)  # after rounding: 999.96 is 1000
        for value, count in ((max(values), digits), (min(values), digits - 1))
    )
    return min(max(of_greatest, min(of_least, of_greatest + 2)), 6)
