"""Time structure of a workload: bursts, busy hours, and series of similar jobs."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from artist.core.waiting import Floats, correlation
from artist.workload.table import work_s

HOUR_S, DAY_S = 3600.0, 86_400.0
_TOGETHER_S = 1.0


@dataclass(frozen=True, slots=True)
class TimeStructure:
    """The time structure of a workload; independent jobs at one rate have 1, 1, 0, 1, about 0, 0, 0, 0.

    Attributes
    ----------
    hourly_dispersion, daily_dispersion
        Variance / mean of the arrivals in an hour, or in a day.
    hourly_correlation
        Correlation of the arrivals in an hour with those in the next.
    interarrival_cv
        Standard deviation / mean of the gaps between arrivals.
    together
        Share of the gaps of at most 1 s.
    gpus_correlation, duration_correlation
        Correlation of the logarithm of a job's GPUs, or run time, with that of the next job to arrive.
    busy_duration_correlation
        Correlation of the logarithm of a job's run time with that of the number of arrivals in its hour.
    daily_work_cv
        Standard deviation / mean of the GPU time that arrives in a day.
    """

    hourly_dispersion: float
    daily_dispersion: float
    hourly_correlation: float
    interarrival_cv: float
    together: float
    gpus_correlation: float
    duration_correlation: float
    busy_duration_correlation: float
    daily_work_cv: float


def time_structure(table: pd.DataFrame) -> TimeStructure:
    """Return the time structure of a canonical table; undefined figures are NaN."""
    submit_s, gpus = (table[name].to_numpy(float) for name in ("submit_s", "gpus"))
    return structure_of(submit_s, gpus, work_s(table))


def structure_of(submit_s: Floats, gpus: Floats, run_s: Floats) -> TimeStructure:
    """Return the time structure of some jobs; undefined figures are NaN.

    Parameters
    ----------
    submit_s, gpus, run_s
        Of each job, (n_jobs,), in any order. Jobs without GPUs do not count in `gpus_correlation`.
    """
    order = np.argsort(submit_s, kind="stable")
    submit_s, gpus, run_s = submit_s[order], gpus[order], run_s[order]
    gaps_s = np.diff(submit_s)
    hours, work_s = counts(submit_s, HOUR_S), counts(submit_s, DAY_S, gpus * run_s)
    busy = hours[((submit_s - submit_s.min()) // HOUR_S).astype(np.int64)]
    return TimeStructure(
        hourly_dispersion=_ratio(float(hours.var()), float(hours.mean())),
        daily_dispersion=_ratio(*(float(f(counts(submit_s, DAY_S))) for f in (np.var, np.mean))),
        hourly_correlation=next_correlation(hours),
        interarrival_cv=_ratio(float(gaps_s.std()), float(gaps_s.mean())) if len(gaps_s) else np.nan,
        together=float(np.mean(gaps_s <= _TOGETHER_S)) if len(gaps_s) else np.nan,
        gpus_correlation=next_correlation(np.log(gpus[gpus > 0])),
        duration_correlation=next_correlation(np.log(run_s)),
        busy_duration_correlation=correlation(np.log(busy), np.log(run_s)),
        daily_work_cv=_ratio(float(work_s.std()), float(work_s.mean())),
    )


def counts(submit_s: Floats, step_s: float, weights: Floats | None = None) -> Floats:
    """Return the arrivals, or the sum of their weights, in each step since the first, (n_steps,)."""
    return np.bincount(((submit_s - submit_s.min()) // step_s).astype(np.int64), weights)


def next_correlation(values: Floats) -> float:
    """Return the correlation of each value with the next one; NaN if they are too few or equal."""
    return correlation(values[:-1], values[1:])


def _ratio(value: float, by: float) -> float:
    return value / by if by else np.nan
