"""Step functions of time, long ones made short enough to draw without changing how they look."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from artist.results.run import Run

Floats = npt.NDArray[np.float64]
WORK = 0.99  # the part of the GPU time after which little goes on
CUT = 0.75  # an axis of time that ends there is shorter than this part of the run, or not cut


class Steps(NamedTuple):
    """Step functions of time, shape (n,); a number holds from its time on, and the last time ends the run.

    Attributes
    ----------
    thinned
        Whether numbers are means over spans of time.
    """

    times_s: Floats
    columns: dict[str, Floats]
    thinned: bool


def read_steps(
    run: "Run", tables: Mapping[str, Sequence[str]], bins: int, work_end_s: float | None = None
) -> Steps:
    """Read columns of tables of a run, of long runs means over spans of time, those of `span_edges`.

    Raises
    ------
    InputError
        If a table is damaged.
    """
    read = [(run.numbers(table, ["time_s", *names]), names) for table, names in tables.items()]
    times_s = np.unique(np.concatenate([columns[0] for columns, _ in read]))
    thinned = len(times_s) > 2 * bins
    if thinned:
        times_s = span_edges(times_s[-1], bins, work_end_s)
    columns = {
        name: mean_at(own_s, values, times_s)
        if thinned
        else values[np.searchsorted(own_s, times_s, side="right") - 1]
        for (own_s, *columns), names in read
        for name, values in zip(names, columns, strict=True)
    }
    return Steps(times_s, columns, thinned)


def work_end_s(times_s: Floats, busy_gpus: Floats) -> float:
    """Return the time by which jobs have used 99 % of their GPU time; 0 if they used none."""
    used = np.concatenate([[0.0], np.cumsum(busy_gpus[:-1] * np.diff(times_s))])
    return float(np.interp(WORK * used[-1], used, times_s)) if used[-1] > 0 else 0.0


def axis_end_s(end_s: float, work_end_s: float | None) -> float:
    """Return the end of an axis of time: that of the run, or of the work if that is much shorter."""
    return work_end_s if work_end_s and work_end_s < CUT * end_s else end_s


def span_edges(end_s: float, bins: int, work_end_s: float | None = None) -> Floats:
    """Return the edges of equal spans; if the work ends early, `bins` up to there and `bins` after it."""
    cut_s = axis_end_s(end_s, work_end_s)
    if cut_s == end_s:
        return np.linspace(0.0, end_s, bins + 1)
    return np.append(np.linspace(0.0, cut_s, bins + 1), np.linspace(cut_s, end_s, bins + 1)[1:])


def mean_at(times_s: Floats, values: Floats, edges: Floats) -> Floats:
    """Return the mean of a step function in each span, with its last value for the end of the run."""
    return np.append(thin_steps(times_s, values, edges)[0], values[-1])


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
        Positive, in any order; the rest of `total` never gets there.
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
