"""Slowdown of jobs, and fairness to jobs and users, of the rows of a comparison."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from artist.results.compare import Replicates
from artist.results.gains import MIN_IDEAL_S
from artist.results.jobcolumns import Codes, Floats, measured_jobs
from artist.results.run import Run


@dataclass(frozen=True, slots=True)
class Fairness:
    """Numbers over the finished GPU jobs of a run, or means over replicates. None where undefined.

    Attributes
    ----------
    slowdown, bounded_slowdown
        Means of completion time / ideal time: as it is, and with an ideal time of at least 10 s and a ratio
        of at least 1. The ideal time has no waiting, communication and interference.
    jain
        Jain's index of users' mean bounded slowdowns: 1 if all are equal, 1 / users if one has all.
    finish_time_p95
        95th percentile of `finish_time_ratios`.
    unfair
        Fraction of jobs whose ratio is above 1.
    """

    slowdown: float | None
    bounded_slowdown: float | None
    jain: float | None
    finish_time_p95: float | None
    unfair: float | None


FAIRNESS = tuple(field.name for field in fields(Fairness))


def fairness_by_run(group: Replicates) -> list[Fairness]:
    """Return the numbers of the runs of a row; raise InputError if a table of a run is damaged."""
    return [_of_run(run) for run in group.runs]


def fairness(runs: Sequence[Fairness]) -> Fairness:
    """Return the means of the runs of a row."""
    return Fairness(*(_mean([getattr(of, name) for of in runs]) for name in FAIRNESS))


def jain_index(values: Floats) -> float | None:
    """Return (sum x)^2 / (n sum x^2) (Jain, Chiu, Hawe, DEC-TR-301, 1984); None of fewer than two values."""
    return float(values.sum() ** 2 / (len(values) * (values**2).sum())) if len(values) > 1 else None


def finish_time_ratios(
    submit_s: Floats, finish_s: Floats, ideal_s: Floats, gpus: Floats, of: float
) -> Floats:
    """Return finish-time fairness: completion time / (ideal time x contention).

    The fair share of a job is that of all unfinished ones: contention is the mean, over its life, of the GPUs
    that they ask for / the GPUs of the cluster, and at least 1. Themis (NSDI 2020, section 3) divides by the
    time on a share of the cluster; the contention over a job's life is Shockwave's (NSDI 2023).

    Parameters
    ----------
    submit_s, finish_s, ideal_s, gpus : ndarray, shape (n_jobs,)
        Finishes after the end where a job is unfinished.
    of
        GPUs of the cluster.
    """
    times = np.concatenate([submit_s, finish_s])
    order = np.argsort(times, kind="stable")
    times, asked = times[order], np.cumsum(np.concatenate([gpus, -gpus])[order])
    integral = np.concatenate([[0.0], np.cumsum(asked[:-1] * np.diff(times))])
    jct_s = finish_s - submit_s
    shared = np.interp(finish_s, times, integral) - np.interp(submit_s, times, integral)
    ratios: Floats = jct_s / (ideal_s * np.maximum(shared / (jct_s * of), 1.0))
    return ratios


def _of_run(run: Run) -> Fairness:
    submit_s, jct_s, ideal_s, gpus = run.numbers("jobs", ("submit_s", "jct_s", "ideal_s", "gpus"))
    times_s, capacity = run.numbers("timeline", ("time_s", "capacity_gpus"))
    counted = measured_jobs(run, len(gpus)) & (jct_s > 0) & (ideal_s > 0) & (gpus > 0)
    if not counted.any():
        return Fairness(*(None for _ in FAIRNESS))
    spans_s = np.diff(times_s)
    cluster = float(np.average(capacity[:-1], weights=spans_s)) if spans_s.sum() > 0 else float(capacity[-1])
    finish_s = np.where(jct_s > 0, submit_s + jct_s, np.maximum(times_s[-1], submit_s) + 1.0)
    ratios = finish_time_ratios(submit_s, finish_s, np.maximum(ideal_s, 1e-9), gpus, cluster)[counted]
    bounded = np.maximum(jct_s[counted] / np.maximum(ideal_s[counted], MIN_IDEAL_S), 1.0)
    (user,) = run.words("jobs", ("user",))
    return Fairness(
        slowdown=float((jct_s[counted] / ideal_s[counted]).mean()),
        bounded_slowdown=float(bounded.mean()),
        jain=jain_index(_means(bounded, user.codes[counted])),
        finish_time_p95=float(np.percentile(ratios, 95)),
        unfair=float((ratios > 1.0 + 1e-9).mean()),
    )


def _means(values: Floats, codes: Codes) -> Floats:
    """Return the mean value of each code that occurs."""
    counts = np.bincount(codes)
    means: Floats = np.bincount(codes, values)[counts > 0] / counts[counts > 0]
    return means


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None
