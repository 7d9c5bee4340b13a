"""Waits of jobs by size, and waiting jobs and GPUs in use over time, from intervals."""

import numpy as np

Floats = np.ndarray
_LONG_S = 600.0
_MIN_PAIRS = 3  # of a correlation
_SIZES = {"1": 1, "2-7": 2, "8": 8, "9-31": 9, "32+": 32}  # GPUs of a job, from
SIZES = tuple(_SIZES)


def mean_in_use(start_s: Floats, end_s: Floats, gpus: Floats, edges_s: Floats) -> Floats:
    """Return the mean number of GPUs in use in each step, (n_steps,), exactly.

    Parameters
    ----------
    start_s, end_s, gpus
        Intervals of use, (n,).
    edges_s
        Edges of the steps, (n_steps + 1,), rising.
    """
    used = _integral(start_s, gpus, edges_s) - _integral(end_s, gpus, edges_s)
    means: Floats = np.diff(used) / np.diff(edges_s)
    means[means < 0] = 0.0  # differences of large numbers may fall a little below 0
    return means


def waits(waits_s: Floats) -> dict[str, float | None]:
    """Return mean, median and percentiles of waits in s, and their share above 10 min; None without a job."""
    names = ("mean", "median", "p90", "p99", "over_10min")
    if not len(waits_s):
        return dict.fromkeys(names)
    percentiles = np.percentile(waits_s, (50, 90, 99))
    values = (waits_s.mean(), *percentiles, (waits_s > _LONG_S).mean())
    return dict(zip(names, map(float, values), strict=True))


def sizes(gpus: Floats) -> Floats:
    """Return the index in `SIZES` of the size of jobs with at least one GPU, (n_jobs,)."""
    return np.searchsorted(list(_SIZES.values()), gpus, side="right") - 1


def correlation(values: Floats, others: Floats) -> float:
    """Return Pearson's correlation of values and others, (n,); NaN for under three pairs or equal ones."""
    if len(values) < _MIN_PAIRS or np.ptp(values) == 0 or np.ptp(others) == 0:
        return np.nan
    return float(np.corrcoef(values, others)[0, 1])


def _integral(from_s: Floats, gpus: Floats, until_s: Floats) -> Floats:
    """Return the GPU-seconds up to each time if all were in use forever from `from_s` on."""
    order = np.argsort(from_s, kind="stable")
    times, counts = from_s[order], gpus[order]
    number = np.searchsorted(times, until_s, side="right")
    total = np.concatenate([[0.0], np.cumsum(counts)])[number]
    moment = np.concatenate([[0.0], np.cumsum(counts * times)])[number]
    result: Floats = total * until_s - moment
    return result
