"""Fit the series in which jobs arrive, by simulated moments; a part of fit_generator.py.

The eight parameters of `artist.workload.series` are those whose draws, as many jobs in as many days as a
window of the trace and of fixed seeds, come nearest to its nine figures of time structure
(`artist.describe.structure`), each relative to its tolerance. They are searched for by Nelder and
Mead's simplex, from series of up to 100 jobs and from faster ones of up to 1,000; the nearer one counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from artist.describe.structure import TimeStructure, structure_of, time_structure
from artist.workload.series import Series
from artist.workload.synthetic import GeneratorTable, SyntheticTrace, draw_jobs

LIKELY = Series(
    max_jobs=100,
    pace_s=100,
    pace_spread=2.5,
    level_spread=0.7,
    level_hours=5,
    same_gpus=0.95,
    same_duration=0.85,
    alone_power=20,
)
STARTS = (LIKELY, LIKELY.model_copy(update={"max_jobs": 1000, "pace_s": 20, "pace_spread": 1.8}))
FRACTIONS = ("same_gpus", "same_duration")
MAY_BE_OFF = {  # of the logarithm
    "hourly_dispersion": 0.2,
    "daily_dispersion": 0.2,
    "interarrival_cv": 0.3,
    "daily_work_cv": 0.2,
}
MAY_DIFFER = {
    "hourly_correlation": 0.05,
    "together": 0.02,
    "gpus_correlation": 0.04,
    "duration_correlation": 0.04,
    "busy_duration_correlation": 0.04,
}
STEPS, FIRST_STEP = 250, 0.4
DRAWN_JOBS = 100_000  # in all draws of a step, or more: at least 8 draws


def fit_series(known: GeneratorTable, windows: Sequence[pd.DataFrame], days: float) -> dict[str, float]:
    """Return the parameters of series of which the draws are most like the windows of a trace.

    Parameters
    ----------
    known
        The other distributions.
    windows
        Jobs of some parts of the trace, as canonical tables.
    days
        Mean length of a window.
    """
    real = mean([time_structure(window) for window in windows])
    jobs = round(sum(map(len, windows)) / len(windows))
    draws = max(8, min(20, DRAWN_JOBS // jobs))

    def distance(place: np.ndarray) -> float:
        fitted = known.model_copy(update={"series": series_at(place)})
        return apart(real, mean([draw(fitted, jobs, days, seed) for seed in range(draws)]))

    places = [nearest(distance, place_of(start)) for start in STARTS]
    return series_at(min(places, key=distance)).model_dump()


def nearest(distance: Callable[[np.ndarray], float], start: np.ndarray) -> np.ndarray:
    """Return the place of the least distance that is found from a start, (8,)."""
    simplex = np.vstack([start, start + FIRST_STEP * np.eye(len(start))])
    options = {"maxfev": STEPS, "initial_simplex": simplex}
    place: np.ndarray = minimize(distance, start, method="Nelder-Mead", options=options).x
    return place


def mean(structures: Sequence[TimeStructure]) -> pd.Series:
    """Return the mean of each figure."""
    return pd.DataFrame([asdict(structure) for structure in structures]).mean()


def draw(known: GeneratorTable, jobs: int, days: float, seed: int) -> TimeStructure:
    """Return the time structure of jobs of a table of distributions, from a Monday at 0:00 on."""
    table = draw_jobs(known, SyntheticTrace.Parameters(jobs=jobs, days=days, start_hour=0, seed=seed))
    return structure_of(*(table[name] for name in ("submit_s", "gpus", "duration_s")))


def apart(real: pd.Series, drawn: pd.Series) -> float:
    """Return the distance of the figures of draws from those of a trace: the sum of squares."""
    logs = sum((np.log(drawn[name] / real[name]) / off) ** 2 for name, off in MAY_BE_OFF.items())
    return float(logs + sum(((drawn[name] - real[name]) / off) ** 2 for name, off in MAY_DIFFER.items()))


def place_of(series: Series) -> np.ndarray:
    """Return parameters as a place in a space without bounds, (8,): logarithms, and those of the odds."""
    values = {name: value / (1 - value) if name in FRACTIONS else value for name, value in series}
    return np.log(list(values.values()))


def series_at(place: np.ndarray) -> Series:
    """Return the parameters at a place, to four digits."""
    values = dict(zip(Series.model_fields, np.exp(place), strict=True))
    values |= {name: values[name] / (1 + values[name]) for name in FRACTIONS}
    rounded = {name: float(f"{value:.4g}") for name, value in values.items()}
    return Series.model_validate({**rounded, "max_jobs": max(1, round(rounded["max_jobs"]))})
