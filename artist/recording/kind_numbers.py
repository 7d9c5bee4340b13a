"""Numbers of a run folder on GPU jobs and CPU jobs: columns of jobs.parquet, entries of a summary. Pure."""

import math
from collections.abc import Sequence
from operator import mul
from typing import Any

import numpy as np

from artist.core.arrays import Bools, Floats, Ints
from artist.core.compact_jobs import field_of
from artist.core.result import RunResult
from artist.recording.kinds import Kinds
from artist.recording.metrics import distribution
from artist.recording.names import CPU_COLUMNS
from artist.units import NS_PER_S

_WITHIN = {"within_10s": 10, "within_3min": 180}  # seconds
_OVER = {"over_10min": 600, "over_1h": 3600}


def kind_columns(result: RunResult, kinds: Kinds) -> dict[str, Floats]:
    """Return CPU_COLUMNS, shape (n_jobs,): CPUs asked for, and held last or still, NaN if never any."""
    last = np.array(kinds.cpus_last, dtype=np.float64)
    columns = _asked(result).astype(np.float64), np.where(last < 0, np.nan, last)
    return dict(zip(CPU_COLUMNS, columns, strict=True))


def summarise_kinds(result: RunResult, kinds: Kinds) -> dict[str, Any]:
    """Return the entry `kinds` of the summary of a closed run; a share of nothing is None.

    Of finished jobs, of the window if there is one:

    gpu, cpu
        By kind the number of all `jobs` and of those `finished`; shares of the latter that waited not at all
        (`at_once`), at most 10 s, at most 3 min, more than 10 min, more than 1 h, stops included;
        `queueing_s`, the distribution of it; and `jct_s`, that of completion times.
    more_cpus, fewer_cpus
        Shares of the GPU jobs that asked for CPUs which held more, or fewer, when they finished.
    more_cpus_1_to_5, fewer_cpus_1_to_20
        Those which held at most 5 more, and at most 20 fewer (the CODA paper, Fig. 14).
    user_p99_gpu_s, user_p99_cpu_only_s
        The 99th percentile of the waiting of all jobs of a user, averaged over users with GPU jobs, and over
        those without.

    Of all jobs, over the whole run:

    aborted
        How often the policy stopped CPU jobs.
    cpu_lost
        Share of the time that CPU jobs ran whose work was lost, by a stop or a failure; each job counts with
        the CPUs that it asks for.
    without_cpus
        GPU jobs that held no CPUs at times (`Kinds`).
    retunes_per_gpu_job
        How often GPU jobs got other CPUs on the same GPUs, over GPU jobs that ever started.

    Over the time from the first to the last arrival (how long a run drains does not reflect its use):

    `waiting` of gpu, cpu
        Mean number of jobs.
    gpu_active_queued, starved
        While GPU jobs wait: GPUs held, and starved (`Starved`), of the GPUs there. Where none ever waits,
        None is the share of GPUs held, and 0 of those starved.
    starved_asked
        As `starved`, but for every policy by the CPUs that jobs ask for. `starved` goes by fewer where a
        policy decides itself how many a job gets.
    starved_all_time
        As `starved`, but over all of the time; where no GPU job waits no GPU is starved.
    gpu_utilization_active, gpu_utilization_queued
        GPUs used (`Kinds`) of the GPUs held; the latter while GPU jobs wait.
    cpus_of_gpu_jobs, cpus_of_cpu_jobs, bandwidth
        CPUs held and memory bandwidth drawn, of what there is.
    over_threshold
        Share of the time of machines with GPU jobs in which all jobs there draw more than BANDWIDTH_THRESHOLD
        of what there is.
    """
    jobs = result.jobs[slice(*result.window)] if result.window else result.jobs
    window = slice(*result.window) if result.window else slice(None)
    names = ("queueing_ns", "submit_ns", "finish_ns")
    queueing, submit, finish = (result.columns[name][window] for name in names)
    jct = finish - submit
    with_gpus = np.array([spec.demand.gpus > 0 for spec in result.jobs], dtype=np.bool_)
    finished, of_gpu = finish >= 0, with_gpus[window]
    over = _Over(result, kinds)
    waits = over.columns["gpu_jobs_waiting"] > 0
    ever = bool(waits[:-1].any())
    users = _user_p99_s(list(field_of(jobs, "user")), queueing, finished, of_gpu)
    asked = _asked(result)[window]
    more = np.array(kinds.cpus_last)[window] - asked
    told = finished & of_gpu & (asked > 0)
    started = int((with_gpus & (result.columns["starts"] > 0)).sum())
    return {
        "kinds": {
            "gpu": _of_kind(queueing, jct, finished, of_gpu) | {"waiting": over.mean("gpu_jobs_waiting")},
            "cpu": _of_kind(queueing, jct, finished, ~of_gpu) | {"waiting": over.mean("cpu_jobs_waiting")},
            "gpu_active_queued": over.share("busy_gpus", "capacity_gpus", waits),
            "gpu_utilization_active": over.share("gpus_used", "busy_gpus"),
            "gpu_utilization_queued": over.share("gpus_used", "busy_gpus", waits),
            "starved": over.share("starved_gpus", "capacity_gpus", waits if ever else None),
            "starved_asked": over.share("starved_asked", "capacity_gpus", waits if ever else None),
            "starved_all_time": over.share("starved_gpus", "capacity_gpus"),
            "cpus_of_gpu_jobs": over.share("cpus_of_gpu_jobs", "capacity_cpus"),
            "cpus_of_cpu_jobs": over.share("cpus_of_cpu_jobs", "capacity_cpus"),
            "bandwidth": over.share("bandwidth_bytes_per_s", "capacity_bytes_per_s"),
            "over_threshold": over.share("crowded", "training"),
            "more_cpus": _part(told & (more > 0), told),
            "fewer_cpus": _part(told & (more < 0), told),
            "more_cpus_1_to_5": _part(told & (more > 0) & (more <= 5), told),
            "fewer_cpus_1_to_20": _part(told & (more < 0) & (more >= -20), told),
            "aborted": int(result.columns["preemptions"][~with_gpus].sum()),
            "cpu_lost": _lost(result, ~with_gpus),
            "without_cpus": len(kinds.without_cpus),
            "user_p99_gpu_s": users[0],
            "user_p99_cpu_only_s": users[1],
            "retunes_per_gpu_job": kinds.retunes / started if started else None,
        }
    }


class _Over:
    """Integrals of a closed run's columns, from the first to the last arrival."""

    def __init__(self, result: RunResult, kinds: Kinds) -> None:
        first_ns, last_ns = result.jobs[0].submit_ns, result.jobs[-1].submit_ns
        self.columns = kinds.columns | kinds.inner
        self._spans_ns = np.diff(kinds.times_ns.clip(first_ns, last_ns)).astype(np.float64)

    def mean(self, name: str) -> float | None:
        """Return the mean of a column over time."""
        return self._ratio(self.columns[name][:-1], np.ones(len(self._spans_ns)))

    def share(self, part: str, whole: str, when: Bools | None = None) -> float | None:
        """Return the integral of a column over that of another, at some times or all."""
        counts = np.ones(len(self._spans_ns)) if when is None else when[:-1].astype(np.float64)
        return self._ratio(self.columns[part][:-1] * counts, self.columns[whole][:-1] * counts)

    def _ratio(self, part: Any, whole: Any) -> float | None:
        of_whole = math.fsum(whole * self._spans_ns)  # rounds once, so it is the same on every processor
        return math.fsum(part * self._spans_ns) / of_whole if of_whole else None


def _asked(result: RunResult) -> Ints:
    return np.array([spec.demand.cpus for spec in result.jobs], dtype=np.int64)


def _lost(result: RunResult, of: Bools) -> float | None:
    """Return the share of the CPU time of some jobs whose work was lost."""
    cpus = _asked(result)[of].tolist()
    lost, ran = (
        sum(map(mul, cpus, result.columns[name][of].tolist())) for name in ("lost_ns", "running_ns")
    )  # of Python's integers: sums may pass 2^63
    return lost / ran if ran else None


def _of_kind(queueing_ns: Ints, jct_ns: Ints, finished: Bools, kind: Bools) -> dict[str, Any]:
    """Return counts, the waiting and the completion times of the jobs of a kind."""
    done = finished & kind
    waits = {name: queueing_ns <= limit_s * NS_PER_S for name, limit_s in ({"at_once": 0} | _WITHIN).items()}
    waits |= {name: queueing_ns > limit_s * NS_PER_S for name, limit_s in _OVER.items()}
    return {
        "jobs": int(kind.sum()),
        "finished": int(done.sum()),
        **{name: _part(done & those, done) for name, those in waits.items()},
        "queueing_s": distribution(queueing_ns[done]),
        "jct_s": distribution(jct_ns[done]),
    }


def _part(those: Bools, of: Bools) -> float | None:
    return int(those.sum()) / int(of.sum()) if of.any() else None


def _user_p99_s(
    users: Sequence[str], queueing_ns: Ints, finished: Bools, of_gpu: Bools
) -> tuple[float | None, float | None]:
    """Return the mean of users' 99th percentiles, of users with GPU jobs and of the others."""
    number = {user: i for i, user in enumerate(dict.fromkeys(users))}
    of_user = np.array([number[user] for user in users], dtype=np.int64)
    has_gpu_jobs = np.bincount(of_user, of_gpu, len(number)) > 0
    order = np.argsort(of_user, kind="stable")
    order = order[finished[order]]
    parts = np.split(queueing_ns[order], np.searchsorted(of_user[order], np.arange(1, len(number))))
    tails = [(float(np.percentile(part, 99)) / NS_PER_S if len(part) else None) for part in parts]
    both = ([t for t, gpu in zip(tails, has_gpu_jobs, strict=True) if gpu == g] for g in (True, False))
    known = ([t for t in of_kind if t is not None] for of_kind in both)
    gpu, cpu = (math.fsum(each) / len(each) if each else None for each in known)
    return gpu, cpu
