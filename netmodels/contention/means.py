"""A job with all passages that others can meet as one, and how long its iteration takes if these take longer.

An iteration whose passages take s times as long takes the longest of some straight lines in s, one for each
chain of passages that follow each other without a gap; few of them are ever the longest.
"""

from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from netmodels.collectives.algorithms import Ints
from netmodels.collectives.ring_steps import Floats
from netmodels.contention.sending import Sending

Bools = npt.NDArray[np.bool_]


class Mean(NamedTuple):
    """A job with all passages that others can meet as one.

    Attributes
    ----------
    alone_ns
        Time of an iteration alone.
    rides_ns
        How long it sends in it where others can meet it.
    rates
        What it sends meanwhile, byte/ns, shape (links,).
    begins_ns, span_ns
        From when on it sends where others can meet it, alone, and how long it is from there to the end of the
        last such passage.
    offsets_ns, slopes_ns
        The time of an iteration whose passages take s times as long is the largest of offset + s x slope,
        shape (lines,).
    """

    alone_ns: float
    rides_ns: float
    rates: Floats
    begins_ns: float
    span_ns: float
    offsets_ns: Floats
    slopes_ns: Floats

    @property
    def slack(self) -> float:
        """How many times as long all that it sends may take before its iteration takes longer."""
        steep = self.slopes_ns > 0
        if not steep.any():
            return inf
        return float(((self.alone_ns - self.offsets_ns[steep]) / self.slopes_ns[steep]).min())


def mean_of(job: Sending, meets: Bools, limits: Floats) -> Mean:
    """Return a job's mean sending.

    Parameters
    ----------
    job
        What it sends alone.
    meets
        Which passages others can meet, shape (passages,); at least one.
    limits
        Capacity of its links, byte/ns, shape (links,).
    """
    rides_ns = float(job.rides_ns[meets].sum())
    rates = job.sent_bytes[meets].sum(axis=0) / rides_ns
    ports = np.array([link.tier != "rack" for link in job.links], dtype=np.bool_)
    rates /= (rates[ports] / limits[ports]).max(initial=1.0)
    ends = job.ends_ns(job.rides_ns)
    begins_ns = float((ends - job.rides_ns)[meets][0])
    span_ns = float(ends[meets][-1]) - begins_ns
    return Mean(job.alone_ns, rides_ns, rates, begins_ns, span_ns, *_lines(job, meets))


def _lines(job: Sending, meets: Bools) -> tuple[Floats, Floats]:
    """Return the lines that are the longest for some s of 1 or more, by slope.

    A chain from passage i to j ends at issued_i + all rides from i to j, and the iteration no earlier than
    the update after it: a line in s for each pair, and computing, which does not depend on it. Without
    updates only chains to the last passage matter.
    """
    quick, slow = np.where(meets, 0, job.rides_ns), np.where(meets, job.rides_ns, 0)
    ends, slopes = quick.cumsum(), slow.cumsum()
    first, last = np.arange(len(quick)), np.full(len(quick), len(quick) - 1)
    if job.updates_ns.any():
        first, last = np.triu_indices(len(quick))
    offset = (job.issued_ns - (ends - quick))[first] + (ends + job.updates_ns)[last]
    slope = slopes[last] - (slopes - slow)[first]
    return _upper(np.append(offset, job.compute_ns), np.append(slope, 0))


def _upper(offsets: Ints, slopes: Ints) -> tuple[Floats, Floats]:
    """Return the lines of the upper envelope from s = 1 on, by slope."""
    at_one = offsets + slopes
    here = _steepest(np.flatnonzero(at_one == at_one.max()), slopes)
    kept = [here]
    while True:
        steeper = np.flatnonzero(slopes > slopes[here])
        if not len(steeper):
            return offsets[kept].astype(np.float64), slopes[kept].astype(np.float64)
        meets = (at_one[here] - at_one[steeper]) / (slopes[steeper] - slopes[here])  # at s - 1
        here = _steepest(steeper[meets == meets.min()], slopes)
        kept.append(here)


def _steepest(lines: Ints, slopes: Ints) -> int:
    return int(lines[slopes[lines].argmax()])
