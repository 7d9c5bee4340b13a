"""Digest of the runs of one row for figures, tables and findings: small, read once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from artist.recording.names import BLOCKING, RESOURCE_COLUMNS, RESOURCES_FILE, SHARES
from artist.results.compare import Replicates
from artist.results.drift import Drift, drained, drift
from artist.results.jobcolumns import COMMUNICATION, DEMANDS, PARTS, TIERS, Codes, Jobs, read_jobs
from artist.results.run import Run, Words
from artist.results.steps import Floats, distribution_steps, span_edges, thin_steps, work_end_s

BINS = 400
SPANS = 40  # of the use of resources, which changes often: lines of several rows share a panel
GAUGES = ("busy_gpus", "capacity_gpus", "queue_length", "unfinished_jobs")
TIMELINE = ("busy_gpus", "capacity_gpus", "queue_length", "running_jobs")
SHARE_GAUGES = {"gpus_held": "GPUs held", **SHARES}  # of the cluster's: title
_MIN_WAITING, _MIN_SHARE = 5.0, 0.1
_MAX_GROWTH = 3  # waiting jobs, last third of the arrivals / first third
MIN_WAIT_S = 1.0  # a job that waited less did not wait


@dataclass(frozen=True, slots=True)
class Distribution:
    """Points (time, fraction of jobs at or below it); empty if there is no job.

    Attributes
    ----------
    below
        Fraction of jobs left of the first point.
    """

    times_s: Floats
    fractions: Floats
    below: float


@dataclass(frozen=True, slots=True)
class Gauge:
    """A step function of time: as it is, or averaged over bins with its least and greatest value in each.

    Attributes
    ----------
    times_s : ndarray, shape (n,)
    mean, least, most : ndarray, shape (n,)
        The value from each time on.
    thinned
        Whether it is averaged.
    """

    times_s: Floats
    mean: Floats
    least: Floats
    most: Floats
    thinned: bool


@dataclass(frozen=True, slots=True)
class Member:
    """A user or a virtual cluster in the runs of one row; counts and hours are means over replicates."""

    name: str
    jobs: float
    jct_s: tuple[float, float, float] | None  # mean, median, p95 over finished jobs
    queueing_s: float | None
    gpu_hours: float


class AcrossRacks(NamedTuple):
    """Jobs of all replicates that ran in several racks.

    Attributes
    ----------
    jobs, of
        Their number, and that of all jobs that ran.
    added
        Their communication, contention included, over the computing of all jobs.
    """

    jobs: int
    of: int
    added: float


@dataclass(frozen=True, slots=True)
class Digest:
    """One row of the comparison, replicates pooled unless stated otherwise.

    Attributes
    ----------
    parts_s
        Mean over finished jobs of each of PARTS; NaN if none has finished. Mean over replicates.
    by_demand : ndarray, shape (len(DEMANDS), 3)
        Jobs, median and p95 of the completion time; NaN where there is no finished job. Jobs with no GPUs
        are left out.
    across_racks
        Jobs that ran in several racks.
    placements, tier_gpu_hours : ndarray, shape (3,)
        Placements and GPU-hours by tier; means over replicates.
    overheads
        Mean of exposed communication / compute over the jobs of a model that were mostly on a tier, of jobs
        with at least 2 GPUs: ((model, tier), value).
    drift
        Of the queue while jobs arrive; None if they all arrive at once.
    drained
        Replicates in which arrivals end before the jobs of the window have finished.
    gauges
        Of the first replicate, by GAUGES, and by RESOURCE_COLUMNS if it recorded them.
    shares
        Likewise, by SHARE_GAUGES; empty where jobs need no CPUs and memory, too.
    end_s, work_end_s
        Ends of the first replicate, and of 99 % of its GPU time.
    users, vcs
        By GPU time, most first; no entry if the trace names none.
    """

    group: Replicates
    jct: Distribution
    queueing: Distribution
    parts_s: Floats
    by_demand: Floats
    across_racks: AcrossRacks
    placements: Floats
    tier_gpu_hours: Floats
    overheads: tuple[tuple[tuple[str, str], float], ...]
    drift: Drift | None
    drained: int
    gauges: dict[str, Gauge]
    shares: dict[str, Gauge]
    end_s: float
    work_end_s: float
    users: tuple[Member, ...]
    vcs: tuple[Member, ...]


def digest(group: Replicates) -> Digest:
    """Read the runs of a row; raise InputError if a table of theirs is damaged."""
    tables = [read_jobs(run) for run in group.runs]
    measured = [(jobs, jobs.measured & (jobs.jct_s >= 0)) for jobs in tables]
    jct = np.concatenate([jobs.jct_s[finished] for jobs, finished in measured])
    queueing = np.concatenate([jobs.queueing_s[finished] for jobs, finished in measured])
    demand = np.concatenate([np.where(jobs.gpus > 0, jobs.demand, -1)[done] for jobs, done in measured])
    none = np.full(len(PARTS), np.nan)
    parts = [jobs.parts_s[done].mean(axis=0) if done.any() else none for jobs, done in measured]
    gauges, end_s, done_s = _gauges(group.runs[0])
    return Digest(
        group=group,
        jct=distribution(jct, sum(int(jobs.measured.sum()) for jobs in tables), 0.0),
        queueing=distribution(queueing, len(queueing), MIN_WAIT_S),
        parts_s=np.mean(parts, axis=0),
        by_demand=_by_demand(jct, demand),
        across_racks=_across_racks(tables),
        placements=np.mean(
            [[run.summary["placements"][tier] for tier in TIERS] for run in group.runs], axis=0
        ),
        tier_gpu_hours=np.mean([_tier_gpu_hours(jobs) for jobs in tables], axis=0),
        overheads=_overheads(tables),
        drift=drift(group.runs),
        drained=sum(map(drained, group.runs)),
        gauges=gauges | _resources(group.runs[0], done_s),
        shares=_shares(group.runs[0], done_s),
        end_s=end_s,
        work_end_s=done_s,
        users=_members([(jobs, jobs.user) for jobs in tables]),
        vcs=_members([(jobs, jobs.vc) for jobs in tables]),
    )


def growing(digests: Sequence[Digest]) -> list[int]:
    """Return the rows whose queue grows, so that mean times depend on how long the run is, the longest first.

    At least 5 jobs wait in the last third of the arrivals, waiting makes 10 % of the mean JCT, and either
    more than three times as many wait there as in the first third, or `Drift.grows`.
    """
    rows = []
    for row, digest in enumerate(digests):
        if digest.drift is not None and digest.drift.last >= _MIN_WAITING:
            waits = digest.parts_s[0] >= _MIN_SHARE * digest.parts_s.sum()
            if waits and (digest.drift.grows or digest.drift.last > _MAX_GROWTH * digest.drift.first):
                rows.append((-digest.drift.last, row))
    return [row for _, row in sorted(rows)]


def distribution(times_s: Floats, total: int, min_s: float) -> Distribution:
    """Return the distribution of times above `min_s`, as fractions of `total` jobs."""
    above = times_s[times_s > min_s]
    if not len(above):
        return Distribution(np.empty(0), np.empty(0), len(times_s) / total if total else 0.0)
    below = (len(times_s) - len(above)) / total
    times, fractions = distribution_steps(above, total, BINS)
    return Distribution(times, fractions + below, below)


def _by_demand(jct: Floats, demand: Codes) -> Floats:
    rows = []
    for number in range(len(DEMANDS)):
        times = jct[demand == number]
        middle, tail = np.percentile(times, (50, 95)) if len(times) else (np.nan, np.nan)
        rows.append((float(len(times)), float(middle), float(tail)))
    return np.array(rows)


def _across_racks(tables: Sequence[Jobs]) -> AcrossRacks:
    ran = np.concatenate([jobs.tiers_s.sum(axis=1) > 0 for jobs in tables])
    wide = np.concatenate([jobs.tiers_s[:, TIERS.index("network")] > 0 for jobs in tables])
    parts_s = np.concatenate([jobs.parts_s for jobs in tables])
    computing_s = float(parts_s[:, PARTS.index("computing")].sum())
    communication_s = float(parts_s[wide][:, COMMUNICATION].sum())
    added = communication_s / computing_s if computing_s > 0 else 0.0
    return AcrossRacks(int(wide.sum()), int(ran.sum()), added)


def _tier_gpu_hours(jobs: Jobs) -> Floats:
    held_s = jobs.tiers_s.sum(axis=1, keepdims=True)
    shares = np.divide(jobs.tiers_s, held_s, out=np.zeros_like(jobs.tiers_s), where=held_s > 0)
    hours: Floats = (shares * jobs.gpu_held_s[:, None]).sum(axis=0) / 3600
    return hours


def _overheads(tables: Sequence[Jobs]) -> tuple[tuple[tuple[str, str], float], ...]:
    values: dict[tuple[str, str], list[Floats]] = {}
    for jobs in tables:
        usable = (jobs.gpus >= 2) & ~np.isnan(jobs.overhead)
        tier = jobs.tiers_s.argmax(axis=1)
        for m, model in enumerate(jobs.model.names):
            for t, name in enumerate(TIERS):
                chosen = usable & (jobs.model.codes == m) & (tier == t)
                if chosen.any():
                    values.setdefault((model, name), []).append(jobs.overhead[chosen])
    return tuple((key, float(np.concatenate(parts).mean())) for key, parts in sorted(values.items()))


def _gauges(run: Run) -> tuple[dict[str, Gauge], float, float]:
    times, *values = run.numbers("timeline", ["time_s", *TIMELINE])
    values[-1] = values[-1] + values[-2]  # jobs that run or wait have not finished
    if not len(times):
        times, values = np.zeros(1), [np.zeros(1) for _ in GAUGES]
    done_s = work_end_s(times, values[GAUGES.index("busy_gpus")])
    gauges = {
        name: gauge_of_steps(times, value, done_s=done_s) for name, value in zip(GAUGES, values, strict=True)
    }
    return gauges, float(times[-1]), done_s


def _resources(run: Run, done_s: float) -> dict[str, Gauge]:
    if not (run.folder / RESOURCES_FILE).exists():
        return {}
    times, *uses = run.numbers(RESOURCES_FILE.removesuffix(".parquet"), ["time_s", *RESOURCE_COLUMNS])
    if not len(times):
        times, uses = np.zeros(1), [np.zeros(1) for _ in uses]
    return {
        name: gauge_of_steps(times, use, BINS if name == BLOCKING else SPANS, done_s=done_s)
        for name, use in zip(RESOURCE_COLUMNS, uses, strict=True)
    }


def _shares(run: Run, done_s: float) -> dict[str, Gauge]:
    if "shares" not in run.summary:
        return {}
    at, busy, capacity = run.numbers("timeline", ["time_s", "busy_gpus", "capacity_gpus"])
    held = np.divide(busy, capacity, out=np.zeros_like(busy), where=capacity > 0)
    times, *shares = run.numbers(RESOURCES_FILE.removesuffix(".parquet"), ["time_s", *SHARES])
    return {"gpus_held": gauge_of_steps(at, held, SPANS, done_s=done_s)} | {
        name: gauge_of_steps(times, share, SPANS, done_s=done_s)
        for name, share in zip(SHARES, shares, strict=True)
    }


def gauge_of_steps(
    times: Floats,
    values: Floats,
    bins: int = BINS,
    *,
    thinned: bool | None = None,
    done_s: float | None = None,
) -> Gauge:
    """Return a step function short enough to draw; the last time is the end of the run.

    Parameters
    ----------
    bins
        How many it is averaged over.
    thinned
        Whether it is; None: if it changes more than 2 x `bins` times.
    done_s
        End of 99 % of the work, for `span_edges`.
    """
    changes = np.diff(values, prepend=np.nan) != 0
    changes[-1] = True  # the end of the run
    times, values = times[changes], values[changes]
    if not (len(times) > 2 * bins if thinned is None else thinned):
        return Gauge(times, values, values, values, False)
    edges = span_edges(times[-1], bins, done_s)
    mean, least, most = (np.append(part, values[-1]) for part in thin_steps(times, values, edges))
    return Gauge(edges, mean, least, most, True)


def _members(tables: Sequence[tuple[Jobs, Words]]) -> tuple[Member, ...]:
    names = sorted({name for _, words in tables for name in words.names})
    if names in ([], [""]):
        return ()
    index = {name: i for i, name in enumerate(names)}
    code = np.concatenate([np.array([index[n] for n in words.names])[words.codes] for _, words in tables])
    held_s = np.concatenate([jobs.gpu_held_s for jobs, _ in tables])
    jct = np.concatenate([np.where(jobs.measured, jobs.jct_s, np.nan) for jobs, _ in tables])
    waited = np.concatenate([jobs.queueing_s for jobs, _ in tables])
    order = np.argsort(code, kind="stable")
    bounds = np.searchsorted(code[order], np.arange(len(names) + 1))
    members = []
    for i, name in enumerate(names):
        at = order[bounds[i] : bounds[i + 1]]
        done = at[jct[at] >= 0]
        times: tuple[float, float, float] | None = None
        if len(done):
            middle, tail = np.percentile(jct[done], (50, 95))
            times = (float(jct[done].mean()), float(middle), float(tail))
        queueing = float(waited[done].mean()) if len(done) else None
        hours = float(held_s[at].sum()) / 3600 / len(tables)
        members.append(Member(name or "(none)", len(at) / len(tables), times, queueing, hours))
    return tuple(sorted(members, key=lambda member: (-member.gpu_hours, member.name)))
