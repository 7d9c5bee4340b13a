"""Jobs that share links, where many meet: what each gets of a link, in the mean.

A job's passages take longer by what it gets, while it sends, of its fullest link. A link gives to all who
send there what they ask for, up to a level: the level at which it is full if the job sends, as it does then,
and others as often as they send meanwhile. So a job that asks for little gets it, the others share what is
left, and no link carries more than its capacity. A job that is slower on another link asks for no more than
it gets there; up to 5 % slower, one fades into the other. Slower jobs send a larger share of the time, so
this is repeated until all relative changes together (root of the sum of squares) are less than 0.0005.
Everything is a sum over pairs of jobs on a link: 40 jobs take a third of a millisecond.

How often others send while a job does is on average their share of time. In time (`Timing`), jobs whose
iterations take the same time beside each other keep their distance from a common start, so what counts is how
far their sending overlaps. Others pass through all distances, and count with their share of time. Between, up
to 5 % apart, one fades into the other (in ns-3, periods 2 % apart lock together).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from netmodels.collectives.algorithms import Ints
from netmodels.collectives.ring_steps import Floats
from netmodels.contention.links import FULL, at_a_time
from netmodels.contention.means import Bools, Mean

_MAX_ROUNDS = 50
_SETTLED = 5e-4
_UNDAMPED = 16
"""Rounds after which changes are halved: what jobs leave each other on several links may swing."""
_NEAR = 0.05
"""A link that slows a job by as much less than another one, relatively, is not what slows it."""
_ALIKE = 0.05
"""Iterations whose times differ by as much, relatively, do not keep their distance any more."""


class Timing(NamedTuple):
    """When jobs send that begin their iterations together.

    Parameters
    ----------
    begins_ns
        From when on each sends, shifts and waiting included, shape (jobs,).
    spans_ns
        How long it is alone from there to the end of its last passage, shape (jobs,).
    times
        What each takes / the time in which its mean counts, shape (jobs,).
    """

    begins_ns: Floats
    spans_ns: Floats
    times: Floats

    def meets(self, walked_ns: Floats, sending_ns: Floats) -> Floats:
        """Return how much of the time that each job sends each of the others does, shape (jobs, jobs).

        Parameters
        ----------
        walked_ns
            What an iteration of each takes now, shape (jobs,).
        sending_ns
            How long it sends in it now, shape (jobs,).
        """
        period_ns = walked_ns * self.times
        sending_ns = sending_ns * self.times
        spans_ns = np.minimum(np.maximum(self.spans_ns, sending_ns), period_ns)
        dense = np.minimum(sending_ns / spans_ns, 1.0)
        round_ns, own_ns = period_ns[:, None], spans_ns[:, None]
        later_ns = (self.begins_ns - self.begins_ns[:, None]) % round_ns
        theirs_ns = spans_ns * round_ns / period_ns
        overlap_ns = np.maximum(np.minimum(own_ns, later_ns + theirs_ns) - later_ns, 0.0)
        overlap_ns += np.maximum(np.minimum(own_ns, later_ns - round_ns + theirs_ns), 0.0)
        keeps = np.maximum(1 - np.abs(np.log(period_ns / round_ns)) / _ALIKE, 0.0)
        found: Floats = keeps * dense * overlap_ns / own_ns + (1 - keeps) * sending_ns / period_ns
        return found


def slower(
    jobs: Sequence[Mean],
    lengths: Ints,
    link: Ints,
    paths: Ints,
    waiting_ns: Floats,
    timing: Timing | None = None,
) -> Floats:
    """Return together / alone of jobs, 1 or more.

    Parameters
    ----------
    jobs
        Of any number of components; their rates as shares of the capacity of one of parallel links.
    lengths
        How many links each job sends on, 1 or more, shape (jobs,).
    link
        The numbers of these links, job by job, in the order of its rates.
    paths
        How many parallel links a message chooses from, shape (all links,).
    waiting_ns
        What each waits in an iteration before it computes, shape (jobs,).
    timing
        When each sends; None: it does not matter.
    """
    alone_ns, rides_ns, uses, _, _, offsets_ns, slopes_ns = zip(*jobs, strict=True)
    meeting = _Meeting(np.concatenate(uses), lengths, link, paths)
    counts = np.array([*map(len, slopes_ns)])
    lines, firsts = np.arange(len(jobs)).repeat(counts), counts.cumsum() - counts
    offsets, slopes = np.concatenate(offsets_ns) + waiting_ns[lines], np.concatenate(slopes_ns)
    rides = np.array(rides_ns)
    walked = alone = np.array(alone_ns) + waiting_ns
    times = np.ones(len(jobs))
    for count in range(_MAX_ROUNDS):
        if timing is None:
            beside = (rides * times / walked)[meeting.others]
        else:
            beside = timing.meets(walked, rides * times)[meeting.jobs, meeting.others]
        found = meeting.longer(beside, halved=count >= _UNDAMPED)
        change, times = found / times - 1, found
        walked = np.maximum.reduceat(offsets + slopes * times[lines], firsts)
        if count and change @ change <= _SETTLED**2:
            break
    longer: Floats = walked / alone
    return longer


class _Meeting:
    """Jobs on links that they may fill, and what each gets there.

    A *place* is a job on a link. It asks for its rate, and gets at most a level of it; if another link slows
    its job more, it asks for what it gets there.

    Attributes
    ----------
    jobs, others
        The jobs of all pairs of places on the same link, in both orders.
    """

    def __init__(self, rates: Floats, lengths: Ints, link: Ints, paths: Ints) -> None:
        rates = np.minimum(rates, paths[link])
        several = at_a_time(rates)
        rates /= several
        starts = lengths.cumsum() - lengths
        narrow = (np.bincount(link, rates, len(paths)) > 1)[link]
        narrow[starts] = True  # reduceat wants a place of every job
        lengths, link = np.add.reduceat(narrow, starts, dtype=np.int64), link[narrow]
        self._starts, self._job = lengths.cumsum() - lengths, np.arange(len(lengths)).repeat(lengths)
        self._one, self._other, there = _pairs(link)
        self.jobs, self.others = self._job[self._one], self._job[self._other]
        self._chance = (several[narrow] / paths[link])[self._other]  # that it is on one of parallel links
        self._rates = self._asked = rates[narrow]
        self._level, self._least = np.ones(len(link)), 1 / there

    def longer(self, beside: Floats, *, halved: bool = False) -> Floats:
        """Return how much longer each job's passages take, one step nearer to what they take; 1 or more.

        Parameters
        ----------
        beside
            How much of the time that the first job of each pair sends the second does, shape (pairs,).
        halved
            Whether to take half of the step.
        """
        beside, asked = beside * self._chance, self._asked[self._other]
        little = asked < self._level[self._one]
        left = 1 - np.bincount(self._one, beside * asked * little, len(self._rates))
        sharing = 1 + np.bincount(self._one, beside * ~little, len(self._rates))
        level = np.maximum(left / sharing, self._least)
        self._level = np.sqrt(level * self._level) if halved else level
        slow = self._rates / self._level
        longer: Floats = np.maximum(np.maximum.reduceat(slow, self._starts), 1.0)
        most = longer[self._job]
        here = np.maximum(1 - (1 - slow / most) / _NEAR, 0.0)  # 1 where this link is the one that slows it
        self._asked = self._rates * (here + (1 - here) / most)
        return longer


def _pairs(link: Ints) -> tuple[Ints, Ints, Ints]:
    """Return all pairs of different places on the same link, and by place how many there are on its link."""
    order, count = np.argsort(link, kind="stable"), np.bincount(link)
    there = count[link]
    one = np.arange(len(link)).repeat(there)
    begins = (count.cumsum() - count)[link] - (there.cumsum() - there)
    other = order[begins.repeat(there) + np.arange(len(one))]
    different = one != other
    return one[different], other[different], there


def components(lengths: Ints, link: Ints, loads: Floats, capacity: Floats) -> list[list[int]]:
    """Return the jobs of each component of two jobs or more.

    Parameters
    ----------
    lengths, link
        As for `slower`, but a job may send on no link.
    loads
        The most that each job sends on each of its links, byte/ns, in the order of `link`.
    capacity
        Of all links, byte/ns, shape (all links,).
    """
    full: Bools = np.bincount(link, loads, len(capacity)) > capacity * FULL
    crossing = np.flatnonzero(full[link])
    if not len(crossing):
        return []
    job = np.repeat(np.arange(len(lengths)), lengths)[crossing]
    by_link = np.argsort(link[crossing], kind="stable")
    on, of = link[crossing][by_link], job[by_link]  # crossings by link; below, by job
    links = np.flatnonzero(np.diff(on, prepend=-1))
    which = np.repeat(np.arange(len(links)), np.diff(links, append=len(on)))
    back = np.empty_like(by_link)
    back[by_link] = np.arange(len(by_link))
    jobs = np.flatnonzero(np.diff(job, prepend=-1))
    labels = np.arange(len(lengths))
    while True:  # the least number spreads over links
        least = np.minimum.reduceat(labels[of], links)[which]
        spread = np.minimum.reduceat(least[back], jobs)
        if (spread == labels[job[jobs]]).all():
            break
        labels[job[jobs]] = spread
    found: dict[int, list[int]] = {}
    for number, label in enumerate(labels.tolist()):
        found.setdefault(label, []).append(number)
    return [each for each in found.values() if len(each) > 1]
