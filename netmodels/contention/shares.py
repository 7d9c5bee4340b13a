"""Shares of links: the speeds of jobs that send at the same time, relative to sending alone."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import count
from math import gcd

import numpy as np

from netmodels.collectives.algorithms import Ints
from netmodels.collectives.ring_steps import Floats
from netmodels.contention.max_min import Incidence, fair
from netmodels.contention.transfers import JobTraffic, overloaded, paths_used
from netmodels.fabric.links import Link

_GOLDEN = (5**0.5 - 1) / 2
_MAX_CHOICES = 256

Senders = tuple[tuple[int, int], ...]
"""(job, number of its set of rates), by job."""


class Shares:
    """Speeds of jobs that send together, relative to sending alone; each set of senders is solved once.

    A job is one flow, whose rates on its links stay in the ratio of its bytes there. They are max-min fair
    (`netmodels.contention.max_min`) on the links that the jobs could overload: the rates of all jobs, each on
    the busiest of these links, grow evenly until a link is full or a job is as fast as alone.

    Parallel uplinks (ECMP) are chosen by hash: a job's time is the mean over all choices of a path for each
    job, in both directions alike. Of more than 256 choices, 256 evenly spread ones count. A job that sends
    more than one of them passes takes as many, next to each other, as it needs.

    Parameters
    ----------
    jobs, capacity, uplinks
        As for `netmodels.contention.mean_field.slowdowns`.

    Attributes
    ----------
    rates_of
        For each job and transfer, the number of its set of rates; -1 if it sends on none of the links.
    """

    def __init__(self, jobs: Sequence[JobTraffic], capacity: Mapping[Link, float], uplinks: int = 1) -> None:
        links = overloaded(jobs, capacity)
        self._uplinks = uplinks
        limits = np.array([capacity[link] for link in links])
        self._paths = np.array([uplinks if link.tier == "rack" else 1 for link in links])
        self._limits = np.tile(limits, uplinks)
        distinct = [
            _distinct(np.minimum(job.rates_on(links, capacity), limits * self._paths)) for job in jobs
        ]
        self._rates = [rates for rates, _ in distinct]
        self.rates_of = [numbers for _, numbers in distinct]
        self._known: dict[Senders, tuple[float, ...]] = {}

    def speeds(self, senders: Senders) -> tuple[float, ...]:
        """Return the speed of each sender, above 0 and at most 1."""
        speeds = self._known.get(senders)
        if speeds is None:
            rates = np.array([self._rates[job][number] for job, number in senders])
            times = 1 / _speeds(self._by_choice(rates), self._limits)
            speeds = self._known[senders] = tuple((1 / times.mean(axis=0)).tolist())
        return speeds

    def _by_choice(self, rates: Floats) -> Floats:
        """Return the rates of jobs on all paths, shape (choices of paths, jobs, paths x links).

        All paths are alike, so the first job that has to choose takes the first one.
        """
        if self._uplinks == 1:
            return rates[None]
        used = paths_used(rates / self._limits[: rates.shape[1]])
        choosing = np.flatnonzero(((rates > 0) & (used < self._paths)).any(axis=1))[1:]
        chosen = _choices(self._uplinks, len(choosing))
        first = np.zeros((len(chosen), len(rates), 1, 1), dtype=np.int64)
        first[:, choosing, 0, 0] = chosen
        path = np.arange(self._uplinks)[:, None]
        takes = ((path - first) % self._paths < used[:, None]) & (path < self._paths)
        return np.where(takes, (rates / used)[:, None], 0.0).reshape(len(chosen), len(rates), -1)


def _distinct(rates: Floats) -> tuple[Floats, list[int]]:
    """Return the distinct rows of a job's rates, and the row of each transfer; -1 for one without rates."""
    sends = rates.any(axis=1)
    distinct, numbers = np.unique(rates[sends], axis=0, return_inverse=True)
    rows = np.full(len(rates), -1)
    rows[sends] = numbers.ravel()
    return distinct, rows.tolist()


def _speeds(rates: Floats, capacities: Floats) -> Floats:
    """Return the speeds of jobs with these rates alone, shape (choices, jobs, links), as (choices, jobs).

    Choices share nothing, so one call of `fair` solves all of them. A job without rates has speed 1.
    """
    choices, jobs, links = rates.shape
    limits = rates.max(axis=2, initial=0.0).ravel()
    limits[limits == 0] = 1
    choice, job, link = rates.nonzero()
    starts = np.concatenate(([0], (rates > 0).sum(axis=2).ravel().cumsum()))
    flows = rates[choice, job, link] / limits[choice * jobs + job]
    incidence = Incidence.of(starts, choice * links + link, choices * links, flows)
    speeds: Floats = fair(incidence, np.tile(capacities, choices), limits=limits) / limits
    return speeds.reshape(choices, jobs)


@lru_cache(maxsize=256)
def _choices(paths: int, jobs: int) -> Ints:
    """Return choices of a path for each job, shape (choices, jobs): all, or some by an odd stride."""
    total = paths**jobs
    stride = 1
    if total > _MAX_CHOICES:
        stride = next(step for step in count(int(total * _GOLDEN)) if gcd(step, paths) == 1)
    numbers = [number * stride % total for number in range(min(total, _MAX_CHOICES))]
    return np.array([[number // paths**job % paths for job in range(jobs)] for number in numbers])
