"""summary.json recounted: counts, distributions, shares of the GPUs' time."""

from collections import Counter
from collections.abc import Sequence
from math import fsum
from typing import Any

import pandas as pd

from auditing.accounts import Account
from auditing.findings import Findings
from auditing.inputs import RunFiles, failures_per_day, to_ns
from auditing.replay import Replay

CHECK = "summary.json"
_UTILISATION = "gpu_utilization"
_BY_GPU_TIME = ("comm_overhead.by_gpu_time", "comm_overhead.largest.")
_OBSERVED = ("pools", "reclaims", "inference_short", "kinds")  # the tests of artist/recording recount these
_SEEN = ("jobs", "seen_mean_s", "simulated_mean_s", "ratio", "correlation", "rank_correlation")
_LOST = ("lost_by_failure", "lost_by_preemption")
CAUSES_OF_JOBS = ("useful", "slowed", "checkpoint", "overhead", "recovery", *_LOST)
_CAUSES = (*CAUSES_OF_JOBS, "shared", "replacement", "idle", "spare", "draining", "repair", "check", "absent")
_NOT_OURS = (
    "policy",
    "network_distinct",
    "network_fallbacks",
    "network_carried",
    "network_back_ends",
    "above_port",
    "contention_answers",
    "setting",  # sentences on the configuration
    "run",
    *_OBSERVED,
)


def check_summary(run: RunFiles, replay: Replay, findings: Findings) -> None:
    """Compare every number of the summary with our own, and name those that we have none for."""
    written = _flat(run.summary)
    apart = {name for name in written if name.startswith("seen.") and name.split(".")[1] not in _SEEN}
    ours = _flat(_recounted(run, replay))
    bounded = {name for name in written if name.startswith(_BY_GPU_TIME)} if _resized(replay) else set()
    if not replay.by_cause:
        apart |= {name for name in written if name.startswith("failures.")}
    for name in sorted(ours.keys() | written.keys()):
        if name in ours and name in written:
            _compare(findings, name, ours[name], written[name])
        elif name.split(".")[0] not in (*_NOT_OURS, _UTILISATION) and name not in bounded | apart:
            findings.hold(
                CHECK, False, "{}: recounted {}, written {}", name, ours.get(name), written.get(name)
            )
    _check_utilisation(run, replay, findings)
    if bounded:
        _check_overhead_by_gpu_time(run, replay, findings)
    there = [name for name in _NOT_OURS if name in run.summary]
    there += ["seen by group and over time"] * any(name.startswith("seen.") for name in apart)
    there += ["failures"] * any(name.startswith("failures.") for name in apart)
    findings.unknown.append(f"{', '.join(there)} of summary.json: not recounted")


def _compare(findings: Findings, name: str, ours: Any, written: Any) -> None:
    before = len(findings.faults.get(CHECK, []))
    if not findings.same(CHECK, ours, written):
        findings.faults[CHECK][before] = f"{name}: {findings.faults[CHECK][before]}"


def _flat(record: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in record.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return flat


def _recounted(run: RunFiles, replay: Replay) -> dict[str, Any]:
    accounts = list(replay.accounts.values())
    chosen = _chosen(run, accounts)
    counted = [i for i in chosen if accounts[i].finish_ns is not None]
    last_ns = max((accounts[i].finish_ns or 0 for i in counted), default=None)
    first_ns = min(accounts[i].submit_ns for i in chosen)
    exposed = [to_ns(time_s) for time_s in run.jobs["exposed_comm_s"]]
    ran = run.jobs[run.jobs["compute_s"] > 0]
    overhead = ran["exposed_comm_s"] / ran["compute_s"]
    by_gpu_time = {} if _resized(replay) else _overhead_by_gpu_time(run, accounts)
    capacity = replay.capacity_gpu_ns
    return {
        "jobs": len(accounts),
        "finished": sum(account.finish_ns is not None for account in accounts),
        "stopped_by": _stopped_by(run, accounts),
        "measured": {"jobs": len(chosen), "finished": len(counted)},
        "makespan_s": None if last_ns is None else (last_ns - first_ns) / 1e9,
        "jct_s": _distribution([(accounts[i].finish_ns or 0) - accounts[i].submit_ns for i in counted]),
        "queueing_s": _distribution([accounts[i].queueing_ns for i in counted]),
        "exposed_s": _distribution([exposed[i] for i in counted]),
        "comm_overhead": {
            "mean": float(overhead.mean()) if len(overhead) else None,
            "p95": float(overhead.quantile(0.95)) if len(overhead) else None,
            **by_gpu_time,
        },
        "gpu_allocated": replay.busy_gpu_ns / capacity if capacity else None,
        **_resources(run, replay),
        **_inputs(run, accounts, chosen, counted),
        **_contention(run),
        **_seen(run, accounts),
        "preemptions": sum(account.counts.get("preempted", 0) for account in accounts),
        **_failures(run, replay),
        "migrations": sum(account.counts.get("migrate", 0) for account in accounts),
        "placements": replay.placements,
        "events": int((run.events["kind"] != "reprice").sum()),
        "seed": run.config["seed"],
    }


def _resized(replay: Replay) -> bool:
    return any(len(account.gpus_held) > 1 for account in replay.accounts.values())


def _overhead_by_gpu_time(run: RunFiles, accounts: Sequence[Account]) -> dict[str, Any]:
    """Return exposed / compute time, both x GPUs held, and whose part is largest; jobs keep their GPUs."""
    exposed, jobs, compute = Counter[tuple[str, int]](), Counter[tuple[str, int]](), 0
    for row, account in zip(run.jobs.to_dict("records"), accounts, strict=True):
        gpus, pair = max(account.gpus_held, default=0), (row["model"], row["gpus"])
        compute += gpus * to_ns(row["compute_s"])
        exposed_ns = gpus * to_ns(row["exposed_comm_s"])
        exposed[pair] += exposed_ns
        jobs[pair] += exposed_ns > 0
    total = exposed.total()
    entries: dict[str, Any] = {"by_gpu_time": total / compute if compute else None}
    if total:
        pair = min(exposed, key=lambda pair: (-exposed[pair], pair))
        counts = {"model": pair[0], "gpus": pair[1], "jobs": jobs[pair]}
        entries["largest"] = {**counts, "share": exposed[pair] / total}
    return entries


def _check_overhead_by_gpu_time(run: RunFiles, replay: Replay, findings: Findings) -> None:
    """Hold the overhead by GPU time between the bounds that follow from the fewest and most GPUs held."""
    bounds = {}
    for bound in (min, max):
        gpus = [bound(account.gpus_held, default=0) for account in replay.accounts.values()]
        for part in ("exposed_comm_s", "compute_s"):
            bounds[bound, part] = fsum(g * time_s for g, time_s in zip(gpus, run.jobs[part], strict=True))
    if not bounds[min, "compute_s"]:
        return
    low = bounds[min, "exposed_comm_s"] / bounds[max, "compute_s"]
    high = bounds[max, "exposed_comm_s"] / bounds[min, "compute_s"]
    name, written = _BY_GPU_TIME[0], run.summary["comm_overhead"]["by_gpu_time"]
    good = low * (1 - 1e-12) <= written <= high * (1 + 1e-12)
    findings.hold(CHECK, good, "{}: recounted {} to {}, written {}", name, low, high, written)
    reason = "the run folder does not say how long a job computed on each number of GPUs"
    findings.unknown.append(f"{name} only as {low:.4f} to {high:.4f}, and its largest part: {reason}")


def _contention(run: RunFiles) -> dict[str, Any]:
    """Return the mean slowdown by shared links and the share of slowed jobs; empty without contention."""
    if run.config["performance"].get("contention", "none") == "none":
        return {}
    ran = run.jobs[run.jobs["running_s"] > run.jobs["contention_s"]]
    slower = ran["running_s"] / (ran["running_s"] - ran["contention_s"])
    mean, part = (float(column.mean()) if len(ran) else None for column in (slower, ran["contention_s"] > 0))
    return {"contention": {"slowdown": mean, "jobs": part}}


def _seen(run: RunFiles, accounts: Sequence[Account]) -> dict[str, Any]:
    """Return means, ratio and correlations of the waits of site and run; empty without real starts."""
    if "seen_queueing_s" not in run.jobs:
        return {}
    queueing_s = [None if a.first_start_ns is None else a.queueing_ns / 1e9 for a in accounts]
    waits = pd.DataFrame({"seen": run.jobs["seen_queueing_s"], "simulated": queueing_s}).dropna()
    seen, simulated = waits["seen"].astype(float), waits["simulated"].astype(float)
    known = len(waits) > 0
    ratio = simulated.mean() / seen.mean() if known and seen.mean() else None
    told = len(waits) > 2 and seen.nunique() > 1 and simulated.nunique() > 1
    pairs = {"correlation": (seen, simulated), "rank_correlation": (seen.rank(), simulated.rank())}
    return {
        "seen": {
            "jobs": len(waits),
            "seen_mean_s": float(seen.mean()) if known else None,
            "simulated_mean_s": float(simulated.mean()) if known else None,
            "ratio": ratio,
            **{name: float(one.corr(other)) if told else None for name, (one, other) in pairs.items()},
        }
    }


def _failures(run: RunFiles, replay: Replay) -> dict[str, Any]:
    """Return the GPU time by cause, which must sum to that of all GPUs, and failures by cause and size.

    Empty in runs without, and where rates or delays are not known.
    """
    if "failures" not in run.summary or not replay.by_cause:
        return {}
    gpu_ns = {cause: replay.gpu_ns[cause] for cause in _CAUSES}
    total = sum(machine.gpus for machine in run.machines) * replay.end_ns
    out = gpu_ns["repair"] + gpu_ns["check"]
    serving = total - gpu_ns["spare"] - out - gpu_ns["absent"]
    causes = {c: {"failures": n, "stops": replay.stopped[c]} for c, n in replay.failed.items()}
    return {
        "failures": {
            "gpu_ns": gpu_ns | ({} if sum(gpu_ns.values()) == total else {"sum": "not that of all GPUs"}),
            "gpu_h": {cause: ns / 3.6e12 for cause, ns in gpu_ns.items()},
            "availability": serving / (serving + out) if serving else None,
            "stops": replay.stopped.total(),
            "causes": causes,
            "sizes": _sizes(list(replay.accounts.values())),
            "machines": _by_machines(list(replay.accounts.values())),
            "per_machine_h": failures_per_day(run, 1) / 24 if run.config["cluster"]["failures"] else None,
        }
    }


def _by_machines(accounts: Sequence[Account]) -> dict[str, dict[str, float]]:
    """Return the hours held, the mean number of machines and failures by the machines that jobs hold."""
    held = sum((Counter(account.ns_on) for account in accounts), Counter[int]())
    failures = sum((Counter(account.failures_on) for account in accounts), Counter[int]())
    entry = {}
    for least in (2**power for power in range(20)):
        if ns := sum(held[n] for n in range(least, 2 * least)):
            entry[f"{least}-{2 * least - 1}"] = {
                "held_h": ns / 3.6e12,
                "machines": sum(held[n] * n for n in range(least, 2 * least)) / ns,
                "failures": sum(failures[n] for n in range(least, 2 * least)),
            }
    return entry


def _sizes(accounts: Sequence[Account]) -> dict[str, dict[str, Any]]:
    """Return failures, their mean time between and the useful part of the GPU time by GPUs asked for."""
    sizes: dict[str, dict[str, Any]] = {}
    for least in (8**power for power in range(20)):
        held = [a for a in accounts if a.held_ns and least <= max(a.asked.gpus, 1) < least * 8]
        failures = sum(account.failures for account in held)
        own_ns, held_ns = sum(a.alone_gpu_ns for a in held), sum(a.held_ns for a in held)
        if held:
            sizes[f"{least}-{least * 8 - 1}"] = {
                "jobs": len(held),
                "failures": failures,
                "mttf_h": held_ns / failures / 3.6e12 if failures else None,
                "effective": sum(a.gpu_ns["useful"] for a in held) / own_ns if own_ns else None,
            }
    return sizes


def _stopped_by(run: RunFiles, accounts: Sequence[Account]) -> str:
    if all(account.finish_ns is not None for account in accounts):
        return "finished"
    window = run.config["stop"]["jobs"]
    if window and all(a.finish_ns is not None for a in accounts[slice(*window)]):
        return "window"
    return "stuck" if run.config["stop"]["time_s"] is None else "time"


def _chosen(run: RunFiles, accounts: Sequence[Account]) -> range:
    """Return the jobs that times are about: all, or those of the window."""
    return range(len(accounts))[slice(*run.config["stop"]["jobs"] or (None,))]


def _distribution(times_ns: Sequence[int]) -> dict[str, float | None]:
    """Return the statistics of some times in seconds; percentiles linear, tails above them."""
    if not times_ns:
        return dict.fromkeys(("mean", "median", "p95", "p99", "max", "mean_beyond_p95", "mean_beyond_p99"))
    series = pd.Series(times_ns, dtype="float64")
    p95, p99 = series.quantile(0.95), series.quantile(0.99)
    return {
        "mean": _mean_s(times_ns),
        "median": float(series.median()) / 1e9,
        "p95": float(p95) / 1e9,
        "p99": float(p99) / 1e9,
        "max": max(times_ns) / 1e9,
        "mean_beyond_p95": _mean_s([t for t in times_ns if t > p95] or [max(times_ns)]),
        "mean_beyond_p99": _mean_s([t for t in times_ns if t > p99] or [max(times_ns)]),
    }


def _mean_s(times_ns: Sequence[int]) -> float:
    return sum(times_ns) / len(times_ns) / 1e9


def _inputs(
    run: RunFiles, accounts: Sequence[Account], chosen: Sequence[int], counted: Sequence[int]
) -> dict[str, Any]:
    """Return throughput relative to the best case, and completion times of jobs below 4 h, and others."""
    if run.config["performance"].get("sensitivity") is None:
        return {}
    jobs = run.jobs.iloc[list(chosen)]
    ran = jobs[jobs["compute_s"] > 0]
    shares = ran["compute_s"] / (ran["compute_s"] + ran["input_stall_s"])
    short = run.jobs["ideal_s"] < 4 * 3600
    times = {i: (accounts[i].finish_ns or 0) - accounts[i].submit_ns for i in counted}
    return {
        "relative_throughput": float(shares.mean()) if len(shares) else None,
        "jct_short_s": _distribution([jct for i, jct in times.items() if short.iloc[i]]),
        "jct_long_s": _distribution([jct for i, jct in times.items() if not short.iloc[i]]),
    }


def _resources(run: RunFiles, replay: Replay) -> dict[str, Any]:
    """Return the means of resources.parquet: uses over the GPUs' time, the blocking index over time.

    CPUs and memory held follow from the events, CPUs and memory used from the table.
    """
    if run.resources is None:
        return {}
    table = run.resources.merge(run.timeline[["time_s", "capacity_gpus"]], on="time_s", how="outer").ffill()
    span_s = table["time_s"].diff().shift(-1).fillna(0.0)
    gpu_s = span_s * table["capacity_gpus"]
    uses = {name: fsum(table[name] * gpu_s) / gpu_s.sum() for name in ("storage", "cpu", "gpu", "network")}
    blocking = fsum(table["blocking_index"] * span_s) / span_s.sum()
    use_of_resources: dict[str, Any] = {"resources": uses, "blocking_index": blocking}
    return use_of_resources | ({"shares": _shares(run.resources, replay)} if "cpus_used" in table else {})


def _shares(table: pd.DataFrame, replay: Replay) -> dict[str, float]:
    rooms = [(at / 1e9, *sums) for at, *sums in replay.room]
    room = pd.DataFrame(rooms, columns=["time_s", "gpus", "cpus", "memory"]).drop_duplicates(
        "time_s", keep="last"
    )
    table = table.merge(room, on="time_s", how="outer").ffill()
    span_s = table["time_s"].diff().shift(-1).fillna(0.0)
    there = {name: span_s * table[name] for name in ("gpus", "cpus", "memory")}
    used = {name: fsum(table[f"{name}_used"] * there[name]) / there[name].sum() for name in there}
    accounts = replay.accounts.values()
    cpu_s, byte_s = (
        sum(getattr(account, name) for account in accounts) / 1e9 for name in ("held_cpu_ns", "held_byte_ns")
    )
    return {
        "gpus_used": used["gpus"],
        "cpus_held": cpu_s / there["cpus"].sum(),
        "cpus_used": used["cpus"],
        "memory_held": byte_s / there["memory"].sum(),
        "memory_used": used["memory"],
    }


def _check_utilisation(run: RunFiles, replay: Replay, findings: Findings) -> None:
    """Hold GPU utilisation between the bounds that follow from compute time and the GPUs held.

    They meet, but for rounding, where jobs keep their number of GPUs and it is known how busy those are: by
    the trace, or because the source of the jobs never says so, and they are, all the compute time.
    """
    accounts = replay.accounts.values()
    least = most = 0.0
    for compute_s, account in zip(run.jobs["compute_s"], accounts, strict=True):
        counts, busy = account.gpus_held or {0: None}, account.asked.utilisation
        slack_ns = len(account.gpus_held) and account.steps + 1
        least += (to_ns(compute_s) * min(counts) - slack_ns) * (busy or 0.0)
        most += (to_ns(compute_s) * max(counts) + slack_ns) * (1.0 if busy is None else busy)
    written, capacity = run.summary[_UTILISATION], replay.capacity_gpu_ns
    if not capacity:
        findings.same(CHECK, None, written)
        return
    low, high = (least / capacity, most / capacity)
    text = "{}: recounted {} to {}, written {}"
    findings.hold(
        CHECK, low * (1 - 1e-12) <= written <= high * (1 + 1e-12), text, _UTILISATION, low, high, written
    )
    if high - low > 1e-6:
        changed = any(len(account.gpus_held) > 1 for account in accounts)
        untold = any(account.asked.utilisation is None for account in accounts)
        reasons = ["how long a job computed on each number of GPUs"] * changed + [
            "how busy GPUs were"
        ] * untold
        why = (
            f"the run folder does not say {' nor '.join(reasons)}" if reasons else "times are rounded to 1 ns"
        )
        findings.unknown.append(f"{_UTILISATION} only as {low:.4f} to {high:.4f}: {why}")
