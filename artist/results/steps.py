"""Long step functions made short enough to draw, without changing how they look. Pure."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def thin_steps(times: Floats, values: Floats, edges: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean, least and greatest value of a step function in each bin.

    The mean is weighted by time, so the area under the curve is kept exactly.

    Parameters
    ----------
    times, values : ndarray, shape (n,)
        The function has values[i] from times[i] on; 0 before the first time.
    edges : ndarray, shape (n_bins + 1,)
        Ascending bounds of the bins.
    """
    # The function cut at every edge: no piece lies in two bins.
    cuts = np.union1d(times, edges)
    cuts = cuts[(cuts >= edges[0]) & (cuts <= edges[-1])]
    index = np.searchsorted(times, cuts[:-1], side="right") - 1
    pieces = np.where(index >= 0, values[np.maximum(index, 0)], 0.0)
    starts = np.searchsorted(cuts, edges[:-1])
    mean = np.add.reduceat(pieces * np.diff(cuts), starts) / np.diff(edges)
    return mean, np.minimum.reduceat(pieces, starts), np.maximum.reduceat(pieces, starts)


def distribution_steps(values: Floats, total: int, n_bins: int) -> tuple[Floats, Floats]:
    """Return points (value, fraction of `total` at or below it) of a distribution on a log axis.

    Parameters
    ----------
    values
        Positive, in any order; what of `total` is not among them never gets there.
    n_bins
        Points whose logarithms are closer than this part of the range are drawn as one.
    """
    ordered = np.sort(values)
    fraction = np.arange(1, len(ordered) + 1) / total
    if len(ordered) > n_bins:
        logs = np.log(ordered)
        bins = np.floor((logs - logs[0]) / max(logs[-1] - logs[0], 1e-12) * n_bins)
        last = np.append(np.flatnonzero(np.diff(bins)), len(ordered) - 1)
        ordered, fraction = ordered[last], fraction[last]
    return ordered, fraction
