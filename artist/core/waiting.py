"""Waits of jobs, and waiting jobs and GPUs in use over time, from intervals."""

import numpy as np

Floats = np.ndarray
_LONG_S = 600.0


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


def _integral(from_s: Floats, gpus: Floats, until_s: Floats) -> Floats:
    """Return the GPU-seconds up to each time if all were in use forever from `from_s` on."""
    order = np.argsort(from_s, kind="stable")
    times, counts = from_s[order], gpus[order]
    number = np.searchsorted(times, until_s, side="right")
    total = np.concatenate([[0.0], np.cumsum(counts)])[number]
    moment = np.concatenate([[0.0], np.cumsum(counts * times)])[number]
    result: Floats = total * until_s - moment
    return result
