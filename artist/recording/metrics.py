"""The numbers of summary.json, made from a result. Pure."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from artist.core.cluster import TIERS
from artist.core.compact_jobs import field_of, of_templates
from artist.core.job import JobSpec
from artist.core.result import RunResult
from artist.recording.topic import Topic
from artist.units import NS_PER_S, ns_to_seconds


def summarise(
    result: RunResult,
    *,
    policy: str,
    seed: int,
    network_distinct: int,
    network_fallbacks: int = 0,
    network_carried: int = 0,
    network_back_ends: Mapping[str, int] = MappingProxyType({}),
    above_port: Mapping[str, Any] | None = None,
    topics: Sequence[Topic] = (),
    setting: Mapping[str, Mapping[str, str]] | None = None,
    stuck: str = "",
    run: dict[str, Any],
) -> dict[str, Any]:
    """Return summary.json.

    Makespan, completion, queueing and exposed time are taken over finished jobs, of the window if the run was
    to end with one (the steady state: jobs before and after it only keep the cluster busy); `measured` has
    how many jobs that should be, and how many of them had finished. `comm_overhead` is over all jobs that
    made progress: mean and p95 count each job once; `by_gpu_time` is exposed communication x GPUs held over
    compute time x GPUs held, both summed over jobs; `largest` has model and GPUs asked for of the jobs with
    the largest `share` of the former. Preemptions and migrations are over all jobs. A number that needs a
    finished job (or progress, or capacity) is None when there is none.

    Parameters
    ----------
    network_distinct
        How many different questions the network model was asked.
    network_fallbacks
        How many of them its fallback answered.
    network_carried
        For how many of them the answer was carried over from a placement that the model can express.
    network_back_ends
        How many of them each back end of a network program answered itself, beside `carried` and `fallback`.
    above_port
        Answers in which collectives are faster than their ports: `questions`, their number; `worst`, model
        and GPUs; `comm_s`, its communication, and `least_s`, that by the ports. None if there are none.
    topics
        Closed, in the order of their entries.
    setting
        Sentences on the run, by topic and part.
    stuck
        Message of the error if jobs wait forever.
    run
        Facts that may differ between equal runs: wall_s, network, network_calls, cache_hits, version, code,
        host.
    """
    columns = result.columns
    window = slice(*result.window) if result.window else slice(None)
    names = ("submit_ns", "finish_ns", "queueing_ns", "exposed_comm_ns")
    submit, finish, queueing, exposed = (columns[name][window] for name in names)
    finished = finish >= 0
    return {
        "policy": policy,
        "jobs": len(result.jobs),
        "finished": int((columns["finish_ns"] >= 0).sum()),
        "stopped_by": result.stopped_by,
        **({"stuck": stuck} if stuck else {}),
        "measured": {"jobs": len(finish), "finished": int(finished.sum())},
        "makespan_s": ns_to_seconds(int(finish.max()) - int(submit.min())) if finished.any() else None,
        "jct_s": distribution((finish - submit)[finished]),
        "queueing_s": distribution(queueing[finished]),
        "exposed_s": distribution(exposed[finished]),
        "comm_overhead": _comm_overhead(result),
        "gpu_utilization": _ratio(result.compute_gpu_ns, result.capacity_gpu_ns),
        "gpu_allocated": _ratio(result.busy_gpu_ns, result.capacity_gpu_ns),
        **{name: entry for topic in topics for name, entry in topic.summary_entries(result).items()},
        "preemptions": int(columns["preemptions"].sum()),
        "migrations": int(columns["migrations"].sum()),
        "placements": {tier: int(result.placements.get(tier, 0)) for tier in TIERS},
        "network_distinct": network_distinct,
        "network_fallbacks": network_fallbacks,
        "network_carried": network_carried,
        **({"network_back_ends": dict(network_back_ends)} if network_back_ends else {}),
        **({"above_port": dict(above_port)} if above_port else {}),
        "events": result.events,
        "seed": seed,
        **({"setting": setting} if setting else {}),
        "run": dict(run),
    }


def distribution(times_ns: npt.NDArray[np.int64]) -> dict[str, float | None]:
    """Return mean, median, percentiles (linear) and tail of times, in seconds.

    The tail is the mean of the values above the percentile; the greatest value if none is above it.
    """
    if not len(times_ns):
        return dict.fromkeys(("mean", "median", "p95", "p99", "max", "mean_beyond_p95", "mean_beyond_p99"))
    median, p95, p99 = (float(q) for q in np.percentile(times_ns, (50, 95, 99)))
    return {
        "mean": _mean_s(times_ns),
        "median": median / NS_PER_S,
        "p95": p95 / NS_PER_S,
        "p99": p99 / NS_PER_S,
        "max": ns_to_seconds(int(times_ns.max())),
        "mean_beyond_p95": _mean_beyond_s(times_ns, p95),
        "mean_beyond_p99": _mean_beyond_s(times_ns, p99),
    }


def _mean_beyond_s(times_ns: npt.NDArray[np.int64], limit_ns: float) -> float:
    beyond = times_ns[times_ns > limit_ns]
    return _mean_s(beyond) if len(beyond) else ns_to_seconds(int(times_ns.max()))


def _mean_s(times_ns: npt.NDArray[np.int64]) -> float:
    return _sum(times_ns) / (len(times_ns) * NS_PER_S)


def _sum(times_ns: npt.NDArray[np.int64]) -> int:
    # In two halves: exact, whatever the order, and sums may pass 2^63.
    return (int((times_ns >> 32).sum()) << 32) + int((times_ns & 0xFFFFFFFF).sum())


def _comm_overhead(result: RunResult) -> dict[str, Any]:
    columns = result.columns
    ran = columns["compute_ns"] > 0
    if not ran.any():
        return {"mean": None, "p95": None, "by_gpu_time": None}
    overhead = columns["exposed_comm_ns"][ran] / columns["compute_ns"][ran]
    exposed = columns["gpu_exposed_comm_ns"]
    return {
        # fsum rounds once, so the mean is the same on every processor.
        "mean": math.fsum(overhead) / len(overhead),
        "p95": float(np.percentile(overhead, 95)),
        "by_gpu_time": _ratio(_sum(exposed), _sum(columns["gpu_compute_ns"])),
        **({"largest": _largest(result.jobs, exposed)} if exposed.any() else {}),
    }


def _largest(jobs: Sequence[JobSpec], exposed: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Return the model and the GPUs asked for whose jobs have the largest sum of exposed GPU time."""
    models, gpus = list(field_of(jobs, "model")), of_templates(jobs, lambda spec: spec.demand.gpus)
    count, times = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    for job in np.flatnonzero(exposed).tolist():
        pair = models[job], int(gpus[job])
        count[pair] += 1
        times[pair] += int(exposed[job])
    pair = max(sorted(times), key=times.__getitem__)
    return {"model": pair[0], "gpus": pair[1], "jobs": count[pair], "share": times[pair] / times.total()}


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
