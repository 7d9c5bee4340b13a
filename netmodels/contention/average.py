"""Jobs that share links, on average: how often others send, not when.

Each job sends during some share of its iteration; others meet it there as often as if phases were random and
independent. A job's speed while it sends is averaged over all choices of which others send, weighed by their
shares of time, and its iteration is walked again with passages that much slower: what computing hides stays
hidden. Slower jobs send a larger share of the time, so this is repeated. Jobs whose phases avoid each other
are priced too slow, jobs that begin together too fast: `netmodels.contention.phases` knows.

A job here has one use of the links, the mean of its passages' by time. Where more than 8 jobs meet, only
the mean of what others send counts (`netmodels.contention.mean_field`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import inf

import numpy as np

from netmodels.collectives.ring_steps import Floats
from netmodels.contention import mean_field
from netmodels.contention.links import MAX_JOBS, Link
from netmodels.contention.means import Bools, mean_of
from netmodels.contention.sending import Sending
from netmodels.contention.shares import Shares, crowded

_ROUNDS = 10
_SETTLED = 1e-9


def slowdowns(jobs: Sequence[Sending], capacity: Mapping[Link, float], uplinks: int = 1) -> tuple[float, ...]:
    """Return the time of an iteration of each job together / alone, 1 or more.

    Parameters
    ----------
    jobs, capacity, uplinks
        As for `netmodels.contention.shares.Shares`.
    """
    links = crowded(jobs, capacity)
    sends: list[Bools] = [job.rates(links, capacity).max(axis=1, initial=0.0) > 0 for job in jobs]
    meeting = [number for number, each in enumerate(sends) if each.any()]
    found = [1.0] * len(jobs)
    if not meeting:
        return tuple(found)
    if len(meeting) > MAX_JOBS:
        many = _crowd([jobs[n] for n in meeting], [sends[n] for n in meeting], links, capacity, uplinks)
        for number, longer in zip(meeting, many, strict=True):
            found[number] = longer
        return tuple(found)
    means = [_mean(jobs[number], sends[number]) for number in meeting]
    waits = _chosen(means, capacity, uplinks)
    slower = np.ones(len(meeting))
    for _ in range(_ROUNDS):
        sending = np.zeros(len(meeting))
        for place, number in enumerate(meeting):
            job, rides = jobs[number], jobs[number].rides_ns
            rides = np.where(sends[number], rides * slower[place], rides)
            walked_ns = job.walked_ns(rides)
            sending[place] = rides[sends[number]].sum() / walked_ns
            found[number] = walked_ns / job.alone_ns
        before, slower = slower, waits(sending)
        if np.abs(slower - before).max() <= _SETTLED:
            break
    return tuple(found)


def _crowd(
    jobs: Sequence[Sending],
    sends: Sequence[Bools],
    links: Sequence[Link],
    capacity: Mapping[Link, float],
    uplinks: int,
) -> list[float]:
    """Return together / alone of many jobs, each with the passages in which it sends on some of the links."""
    numbers = {link: number for number, link in enumerate(links)}
    means, on = [], []
    for job, meets in zip(jobs, sends, strict=True):
        limits = np.array([capacity.get(link, inf) for link in job.links])
        columns = [column for column, link in enumerate(job.links) if link in numbers]
        mean = mean_of(job, meets, limits)
        means.append(mean._replace(rates=mean.rates[columns] / limits[columns]))
        on.append([numbers[job.links[column]] for column in columns])
    lengths, paths = np.array(list(map(len, on))), [uplinks if link.tier == "rack" else 1 for link in links]
    longer = mean_field.slower(means, lengths, np.concatenate(on), np.array(paths), np.zeros(len(means)))
    found: list[float] = longer.tolist()
    return found


def _mean(job: Sending, sends: Bools) -> Sending:
    """Return the job with all passages that others can meet as one."""
    return replace(
        job,
        issued_ns=job.issued_ns[:1],
        rides_ns=job.rides_ns[sends].sum(keepdims=True),
        sent_bytes=job.sent_bytes[sends].sum(axis=0, keepdims=True),
        updates_ns=job.updates_ns[:1],
    )


_Waits = Callable[[Floats], Floats]
"""From the share of its time that each job sends to how much longer its passages take."""


def _chosen(jobs: Sequence[Sending], capacity: Mapping[Link, float], uplinks: int) -> _Waits:
    """Weigh every choice of jobs that send at once."""
    shares = Shares(jobs, capacity, uplinks)
    choices = np.array(list(product((False, True), repeat=len(jobs))))
    times = shares.choices(choices)

    def waits(sending: Floats) -> Floats:
        chances = np.where(choices, sending, 1 - sending)
        others = (np.delete(chances, job, axis=1).prod(axis=1) for job in range(len(jobs)))
        slower = [other @ time for other, time in zip(others, times.T, strict=True)]
        return np.maximum(slower, 1.0)

    return waits
