"""How fast jobs send that send at the same time."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import count
from math import gcd, inf

import numpy as np

from netmodels.collectives.algorithms import Ints
from netmodels.collectives.ring_steps import Floats
from netmodels.contention.links import FULL, Link, at_a_time
from netmodels.contention.max_min import Incidence, fair
from netmodels.contention.means import Bools
from netmodels.contention.sending import Sending

_GOLDEN = (5**0.5 - 1) / 2
_MAX_WAYS = 256

Senders = tuple[tuple[int, int], ...]
"""(job, which of its uses of the links), by job."""


class Shares:
    """The speeds at which jobs send together, relative to sending alone; kept once found.

    Rule: a job is one fluid, whose rates on its links stay in the ratio of its bytes there. They are max-min
    fair (`netmodels.contention.max_min`) on the links that the jobs could overload: the rates of all jobs,
    each on the busiest of these links, grow evenly until a link is full or a job is as fast as alone.

    Parallel uplinks (ECMP) are chosen by hash: the time that a job takes is the mean over all ways to choose
    a path for each job, in both directions alike. Of more than 256 ways, 256 evenly spread ones count. A job
    that sends more than one of them passes takes as many, next to each other, as it needs.

    Parameters
    ----------
    jobs
        What each sends alone.
    capacity
        Of the links, byte/ns; a link that is missing has no limit.
    uplinks
        Parallel links, each with that capacity, that jobs' messages choose from on the way out of a rack.

    Attributes
    ----------
    kinds
        For each job and passage, which of the job's uses of the links it has; -1 if it sends on none.
    """

    def __init__(self, jobs: Sequence[Sending], capacity: Mapping[Link, float], uplinks: int = 1) -> None:
        links = crowded(jobs, capacity)
        self._uplinks = uplinks
        limits = np.array([capacity[link] for link in links])
        self._paths = np.array([uplinks if link.tier == "rack" else 1 for link in links])
        self._limits = np.tile(limits, uplinks)
        told = [_told_apart(np.minimum(job.rates(links, capacity), limits * self._paths)) for job in jobs]
        self._rates = [rates for rates, _ in told]
        self.kinds = [kinds for _, kinds in told]
        self._known: dict[Senders, tuple[float, ...]] = {}

    def speeds(self, senders: Senders) -> tuple[float, ...]:
        """Return the speed of each sender, above 0 and at most 1."""
        found = self._known.get(senders)
        if found is None:
            rates = np.array([self._rates[job][kind] for job, kind in senders])
            times = 1 / _speeds(self._ways(rates), self._limits)
            found = self._known[senders] = tuple((1 / times.mean(axis=0)).tolist())
        return found

    def choices(self, sends: Bools) -> Floats:
        """Return how much longer jobs take to send in their first use of the links, by which of them send.

        Parameters
        ----------
        sends
            Shape (choices, jobs).

        Returns
        -------
        Floats
            1 or more, shape (choices, jobs); 0 for a job that does not send, or on none of the links.
        """
        sends = sends & np.array([kinds[0] >= 0 for kinds in self.kinds])
        times = np.zeros(sends.shape)
        if self._uplinks == 1:
            each = zip(self._rates, self.kinds, strict=True)
            first = [rates[kinds[0]] if kinds[0] >= 0 else self._limits * 0 for rates, kinds in each]
            speeds = _speeds(sends[:, :, None] * np.array(first), self._limits)
            return np.divide(1, speeds, out=times, where=sends)
        for row, choice in zip(times, sends, strict=True):
            senders = tuple((job, 0) for job in np.flatnonzero(choice).tolist())
            if senders:
                row[choice] = [1 / speed for speed in self.speeds(senders)]
        return times

    def _ways(self, rates: Floats) -> Floats:
        """Return the rates of jobs on all paths, shape (ways to choose them, jobs, paths x links).

        All paths are alike, so the first job that has to choose takes the first one.
        """
        if self._uplinks == 1:
            return rates[None]
        several = at_a_time(rates / self._limits[: rates.shape[1]])
        choosing = np.flatnonzero(((rates > 0) & (several < self._paths)).any(axis=1))[1:]
        chosen = _choices(self._uplinks, len(choosing))
        first = np.zeros((len(chosen), len(rates), 1, 1), dtype=np.int64)
        first[:, choosing, 0, 0] = chosen
        path = np.arange(self._uplinks)[:, None]
        takes = ((path - first) % self._paths < several[:, None]) & (path < self._paths)
        return np.where(takes, (rates / several)[:, None], 0.0).reshape(len(chosen), len(rates), -1)


def crowded(jobs: Sequence[Sending], capacity: Mapping[Link, float]) -> list[Link]:
    """Return the links that some jobs could overload if all sent their most at once, sorted."""
    loads: dict[Link, float] = {}
    for job in jobs:
        for link, rate in zip(job.links, job.most(capacity).tolist(), strict=True):
            loads[link] = loads.get(link, 0.0) + rate
    return sorted(link for link, load in loads.items() if load > capacity.get(link, inf) * FULL)


def _told_apart(rates: Floats) -> tuple[Floats, list[int]]:
    """Return the distinct rows of a job's rates, and which of them each passage has."""
    sends = rates.any(axis=1)
    distinct, which = np.unique(rates[sends], axis=0, return_inverse=True)
    kinds = np.full(len(rates), -1)
    kinds[sends] = which.ravel()
    return distinct, kinds.tolist()


def _speeds(rates: Floats, capacities: Floats) -> Floats:
    """Return the speeds of jobs with these rates alone, shape (ways, jobs, links), as (ways, jobs).

    The ways share nothing, so one answer of `fair` has all of them. A job without rates has speed 1.
    """
    ways, jobs, links = rates.shape
    limits = rates.max(axis=2, initial=0.0).ravel()
    limits[limits == 0] = 1
    way, job, link = rates.nonzero()
    starts = np.concatenate(([0], (rates > 0).sum(axis=2).ravel().cumsum()))
    flows = rates[way, job, link] / limits[way * jobs + job]
    incidence = Incidence.of(starts, way * links + link, ways * links, flows)
    speeds: Floats = fair(incidence, np.tile(capacities, ways), limits=limits) / limits
    return speeds.reshape(ways, jobs)


@lru_cache(maxsize=256)
def _choices(paths: int, jobs: int) -> Ints:
    """Return ways to choose a path for each job, shape (ways, jobs): all, or some by an odd stride."""
    ways = paths**jobs
    stride = 1
    if ways > _MAX_WAYS:
        stride = next(step for step in count(int(ways * _GOLDEN)) if gcd(step, paths) == 1)
    numbers = [number * stride % ways for number in range(min(ways, _MAX_WAYS))]
    return np.array([[number // paths**job % paths for job in range(jobs)] for number in numbers])
