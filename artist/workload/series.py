"""Jobs that come in series: users who submit similar jobs one after the other, and busy hours.

A series has a start, a number of jobs, P(at least k) = 1 / k up to a maximum, and a pace:
the mean of its gaps, which are exponential. Paces are lognormal over the series: a script submits within a
second, a user over hours. A job has the GPUs of its series with one probability and its duration with
another, else its own. Both are quantiles, so the distribution of each stays that of the table.

Bursts are of small jobs; jobs of much work are nearly Poisson. So a job is independent, as if there were no
series or levels, with a probability that grows with its GPU time. It keeps its GPUs and its duration.

The level of arrivals varies beyond hour and weekday: a lognormal factor by hour, autoregressive of order one.

Beginnings and gaps are in time weighted by the rate of arrivals, in which arrivals are uniform: series rest
at night, and the hours keep their rates. A series that exceeds the end continues at the beginning.
"""

from itertools import accumulate

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from artist.bad_input.records import Strict


class Series(Strict):
    """Properties of series.

    Attributes
    ----------
    max_jobs
        Maximum number of jobs of a series.
    pace_s, pace_spread
        Median over the series of their mean gap, and the standard deviation of its logarithm.
    level_spread, level_hours
        Standard deviation of the logarithm of the level of arrivals, and the hours in which its correlation
        falls to 1 / e.
    same_gpus, same_duration
        Probability that a job has the GPUs, or the duration's quantile, of its series.
    alone_power
        The probability that a job is independent is its rank from 0 to 1 in the order of GPU time, to this
        power: with 4, one in five of all jobs, and two in three at rank 0.9.
    """

    max_jobs: PositiveInt
    pace_s: PositiveFloat
    pace_spread: NonNegativeFloat
    level_spread: NonNegativeFloat
    level_hours: PositiveFloat
    same_gpus: float = Field(ge=0, le=1)
    same_duration: float = Field(ge=0, le=1)
    alone_power: PositiveFloat


def series_of(series: Series | None, draws: np.ndarray) -> np.ndarray:
    """Return the number of each job's series, (n_jobs,), rising; every job is its own without series.

    Parameters
    ----------
    draws
        Uniform in [0, 1), (n_jobs,): one for each possible series.
    """
    jobs = len(draws)
    if series is None:
        return np.arange(jobs)
    sizes = np.minimum(1.0 / (1.0 - draws), min(series.max_jobs, jobs)).astype(np.int64)
    return np.repeat(np.arange(jobs), sizes)[:jobs]


def offsets_s(
    series: Series, member_of: np.ndarray, span_s: float, random: np.random.Generator
) -> np.ndarray:
    """Draw the delay of each job after the first of its series, (n_jobs,), in seconds.

    A pace slower than the whole span, `span_s`, is as slow as that: arrivals are modulo the span, and large
    numbers would lose their last digits.
    """
    count = int(member_of[-1]) + 1
    paces_s = series.pace_s * np.exp(series.pace_spread * random.standard_normal(count))
    gaps_s = random.standard_exponential(len(member_of)) * np.minimum(paces_s, span_s)[member_of]
    since_s = np.cumsum(gaps_s)
    first = np.searchsorted(member_of, np.arange(count))
    offset_s: np.ndarray = since_s - since_s[first][member_of]
    return offset_s


def levels(series: Series, hours: int, random: np.random.Generator) -> np.ndarray:
    """Draw the level of arrivals in each hour, (hours,), 1 in the median."""
    kept = np.exp(-1.0 / series.level_hours)
    steps = random.standard_normal(hours)
    steps[1:] *= np.sqrt(1.0 - kept**2)
    logs = np.fromiter(accumulate(steps, lambda log, step: kept * log + step), float)
    return np.exp(series.level_spread * logs)


def repeated(
    draws: np.ndarray, chance: float, member_of: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Return the quantiles `draws` of the jobs, (n_jobs,), some replaced by that of the series."""
    of_series = random.random(int(member_of[-1]) + 1)
    return np.where(random.random(len(draws)) < chance, of_series[member_of], draws)


def alone(series: Series, gpu_seconds: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Draw the independent jobs, (n_jobs,) bool, given their work; ties in order."""
    places = np.empty(len(gpu_seconds))
    places[np.argsort(gpu_seconds, kind="stable")] = (np.arange(len(places)) + 0.5) / len(places)
    independent: np.ndarray = random.random(len(places)) < places**series.alone_power
    return independent
