"""Mean field: each job is slowed by one sender that stands for all others on a link.

All transfers of a job that others can meet are one (`MeanJob`), and its iteration is a maximum of straight
lines in the factor by which that transfer is slowed. Of a job with a plan each role is one, as if a job of
its own that meets no other role of its job; the times that they add are summed. A job's slowdown while
it sends comes from its fullest link:

1. Each of the others sends beside the job for some share p of its time, at rate a (capacity is 1). The load
   of the others is a random variable with mean m = sum of p a and variance v = sum of p (1 - p) a^2.
2. It is replaced by one sender with the same mean and mean square, which is either absent or sends: for the
   share q = m^2 / (m^2 + v) of the time. With one other job, or others that always send, this is exact; the
   more jobs there are, the nearer is q to 1, and only the mean counts.
3. Meanwhile each of the others counts with p / q. The job's level w is its max-min share of the link: others
   that ask for less than w get it, the rest share evenly, w (1 + sum of p / q) + sum of p a / q = 1.
4. The transfer takes (1 - q) + q max(1, u / w) times as long, where u is the job's rate alone.

A job that is slower on another link asks for no more than it gets there; up to 5 % slower, one fades into the
other. Slower jobs send for a larger share of the time, so this is repeated until nothing changes any
more. No link carries more than its capacity. All sums
are over pairs of jobs on a link: 40 jobs take a third of a millisecond.

On parallel uplinks (ECMP), p is multiplied by the chance that the other is on the same path.

p is the share of its time that the other sends, or, with `Overlap`, the overlap of both jobs' sending: jobs
whose iterations take equally long beside each other keep their distance from a common start. Jobs of other
periods pass through all distances, and meet by shares of time. Jobs that keep their distance do not send at
random times, so only the mean load counts: q is 1. Between, up to 5 % apart, one fades into the
other (in ns-3, periods 2 % apart lock together).
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from netmodels.collectives.algorithms import Ints
from netmodels.collectives.ring_steps import Floats
from netmodels.contention.transfers import MAX_JOBS, JobTraffic, overloaded, paths_used
from netmodels.fabric.links import Link

Bools = npt.NDArray[np.bool_]

_MAX_ROUNDS = 50
_SETTLED, _SETTLED_FEW = 5e-4, 1e-7
"""Relative changes of all jobs together (root of the sum of squares) below which rounds end."""
_UNDAMPED = 16
"""Rounds after which changes are halved: shares of jobs that meet on several links may oscillate."""
_NEAR = 0.05
"""Relative difference from the link that slows a job most, below which another link slows it, too."""
_ALIKE = 0.05
"""Relative difference of iteration times from which on jobs do not keep their distance any more."""


class MeanJob(NamedTuple):
    """A job with its transfers on shared links joined to one.

    Attributes
    ----------
    alone_ns
        Time of an iteration alone.
    sending_ns
        Time in it during which others can meet the job's transfers.
    rates
        Mean rates in that time, shape (links,): byte/ns, or as shares of capacity.
    begins_ns, span_ns
        Begin of the first such transfer alone, and time from there to the end of the last.
    offsets_ns, slopes_ns
        The time of an iteration whose transfers take s times as long is the largest of offset + s x slope,
        shape (lines,).
    """

    alone_ns: float
    sending_ns: float
    rates: Floats
    begins_ns: float
    span_ns: float
    offsets_ns: Floats
    slopes_ns: Floats

    @property
    def slack(self) -> float:
        """Factor by which all transfers may take longer before the iteration does."""
        steep = self.slopes_ns > 0
        if not steep.any():
            return inf
        return float(((self.alone_ns - self.offsets_ns[steep]) / self.slopes_ns[steep]).min())


def mean_of(job: JobTraffic, meets: Bools, limits: Floats) -> MeanJob:
    """Return the job with its transfers on shared links joined to one.

    Parameters
    ----------
    job
        The job alone.
    meets
        Whether others can meet each transfer, shape (transfers,); at least one.
    limits
        Capacity of its links, byte/ns, shape (links,).
    """
    sending_ns = float(job.transfers_ns[meets].sum())
    rates = job.sent_bytes[meets].sum(axis=0) / sending_ns
    is_port = np.array([link.tier != "rack" for link in job.links], dtype=np.bool_)
    rates /= (rates[is_port] / limits[is_port]).max(initial=1.0)
    ends = job.ends_ns(job.transfers_ns)
    begins_ns = float((ends - job.transfers_ns)[meets][0])
    span_ns = float(ends[meets][-1]) - begins_ns
    return MeanJob(job.alone_ns, sending_ns, rates, begins_ns, span_ns, *_lines(job, meets))


def mean_of_role(job: JobTraffic, role: int, limits: Floats) -> MeanJob:
    """Return a role of a job with a plan, with the other roles as alone; by the number of its transfer."""
    exposure = job.exposure
    assert exposure is not None, "the job has a plan"
    sending_ns = float(job.transfers_ns[role])
    slopes_ns = exposure.slopes[role] * sending_ns
    offsets_ns = exposure.alone_ns - exposure.covers_ns[role] - slopes_ns
    when = float(job.issued_ns[role]), float(exposure.spans_ns[role])
    return MeanJob(job.alone_ns, sending_ns, job.rates(limits)[role], *when, offsets_ns, slopes_ns)


def _lines(job: JobTraffic, meets: Bools) -> tuple[Floats, Floats]:
    """Return the lines that are the longest for some s of 1 or more, by slope.

    A chain from transfer i to j without a gap ends at issued_i + all transfers from i to j, and the iteration
    no earlier than the update after it: a line in s for each pair, and computing, which does not depend on s.
    Without updates only chains to the last transfer matter.
    """
    fixed, slowed = np.where(meets, 0, job.transfers_ns), np.where(meets, job.transfers_ns, 0)
    ends, slopes = fixed.cumsum(), slowed.cumsum()
    first, last = np.arange(len(fixed)), np.full(len(fixed), len(fixed) - 1)
    if job.updates_ns.any():
        first, last = np.triu_indices(len(fixed))
    offset = (job.issued_ns - (ends - fixed))[first] + (ends + job.updates_ns)[last]
    slope = slopes[last] - (slopes - slowed)[first]
    return _upper_envelope(np.append(offset, job.compute_ns), np.append(slope, 0))


def _upper_envelope(offsets: Ints, slopes: Ints) -> tuple[Floats, Floats]:
    """Return the lines of the upper envelope from s = 1 on, by slope."""
    at_one = offsets + slopes
    top = _steepest(np.flatnonzero(at_one == at_one.max()), slopes)
    kept = [top]
    while True:
        steeper = np.flatnonzero(slopes > slopes[top])
        if not len(steeper):
            return offsets[kept].astype(np.float64), slopes[kept].astype(np.float64)
        crossings = (at_one[top] - at_one[steeper]) / (slopes[steeper] - slopes[top])  # at s - 1
        top = _steepest(steeper[crossings == crossings.min()], slopes)
        kept.append(top)


def _steepest(lines: Ints, slopes: Ints) -> int:
    return int(lines[slopes[lines].argmax()])


class Overlap(NamedTuple):
    """Times of sending of jobs that begin their iterations together.

    Parameters
    ----------
    begins_ns
        Begin of each job's sending, shifts and waiting included, shape (jobs,).
    spans_ns
        Time alone from there to the end of its last transfer, shape (jobs,).
    stretch
        Time of each job / the time of its `MeanJob`, shape (jobs,).
    """

    begins_ns: Floats
    spans_ns: Floats
    stretch: Floats

    def shares(self, iteration_ns: Floats, sending_ns: Floats) -> Floats:
        """Return the share of each job's sending during which each other job sends, shape (jobs, jobs).

        Parameters
        ----------
        iteration_ns
            Time of an iteration of each job now, shape (jobs,).
        sending_ns
            Time of sending in it now, shape (jobs,).
        """
        period_ns = iteration_ns * self.stretch
        sending_ns = sending_ns * self.stretch
        spans_ns = np.minimum(np.maximum(self.spans_ns, sending_ns), period_ns)
        density = np.minimum(sending_ns / spans_ns, 1.0)
        round_ns, span_ns = period_ns[:, None], spans_ns[:, None]
        later_ns = (self.begins_ns - self.begins_ns[:, None]) % round_ns
        theirs_ns = spans_ns * round_ns / period_ns
        overlap_ns = np.maximum(np.minimum(span_ns, later_ns + theirs_ns) - later_ns, 0.0)
        overlap_ns += np.maximum(np.minimum(span_ns, later_ns - round_ns + theirs_ns), 0.0)
        locked = np.maximum(1 - np.abs(np.log(period_ns / round_ns)) / _ALIKE, 0.0)
        shares: Floats = locked * density * overlap_ns / span_ns + (1 - locked) * sending_ns / period_ns
        return shares


def slowdowns(
    jobs: Sequence[JobTraffic], capacity: Mapping[Link, float], uplinks: int = 1
) -> tuple[float, ...]:
    """Return the time of an iteration of each job together / alone, 1 or more.

    Parameters
    ----------
    jobs
        The jobs alone.
    capacity
        Of the links, byte/ns; a link that is missing has no limit.
    uplinks
        Parallel links, each with that capacity, that messages choose from on the way out of a rack.
    """
    links = {link: number for number, link in enumerate(overloaded(jobs, capacity))}
    result, meeting, means, on = [1.0] * len(jobs), list[int](), list[MeanJob](), list[list[int]]()
    for number, job in enumerate(jobs):
        columns = [column for column, link in enumerate(job.links) if link in links]
        meets: Bools = np.any(job.sent_bytes[:, columns] > 0, axis=1)
        if meets.any():
            limits = job.limits(capacity)
            mean = mean_of(job, meets, limits)
            meeting.append(number)
            means.append(mean._replace(rates=mean.rates[columns] / limits[columns]))
            on.append([links[job.links[column]] for column in columns])
    if meeting:
        counts, paths = np.array([*map(len, on)]), [uplinks if link.tier == "rack" else 1 for link in links]
        none = np.zeros(len(means))
        for number, ratio in zip(
            meeting, slowdowns_of(means, counts, np.concatenate(on), np.array(paths), none), strict=True
        ):
            result[number] = float(ratio)
    return tuple(result)


def slowdowns_of(
    jobs: Sequence[MeanJob],
    counts: Ints,
    link: Ints,
    paths: Ints,
    waiting_ns: Floats,
    overlap: Overlap | None = None,
    owners: Ints | None = None,
) -> Floats:
    """Return the time of an iteration of each job together / alone, 1 or more.

    Parameters
    ----------
    jobs
        Of any number of components; rates as shares of the capacity of one of parallel links.
    counts
        Links that each job sends on, 1 or more, shape (jobs,).
    link
        Numbers of these links, job by job, in the order of its rates.
    paths
        Parallel links that a message chooses from, shape (all links,).
    waiting_ns
        Waiting of each job in an iteration before it computes, shape (jobs,).
    overlap
        Times of sending; None: jobs meet by their shares of time.
    owners
        Number of the job that each of `jobs` is a role of, shape (jobs,); None: all are jobs.
    """
    alone_ns, sending_ns, uses, _, _, offsets_ns, slopes_ns = zip(*jobs, strict=True)
    rates, sending = np.concatenate(uses), np.array(sending_ns)
    if owners is not None:  # roles that overlap alone may be priced above an uplink
        above = np.maximum(np.maximum.reduceat(rates / paths[link], counts.cumsum() - counts), 1.0)
        rates, sending = rates / above.repeat(counts), sending * above
    shares = _Shares(rates, counts, link, paths, owners)
    line_counts = np.array([*map(len, slopes_ns)])
    lines, firsts = np.arange(len(jobs)).repeat(line_counts), line_counts.cumsum() - line_counts
    offsets, slopes = np.concatenate(offsets_ns) + waiting_ns[lines], np.concatenate(slopes_ns)
    iteration = alone = np.array(alone_ns) + waiting_ns
    slowed, settled = np.ones(len(jobs)), _SETTLED if len(jobs) > MAX_JOBS else _SETTLED_FEW
    for count in range(_MAX_ROUNDS):
        if overlap is None:
            beside = (sending * slowed / iteration)[shares.others]
            beside = beside if owners is None else np.minimum(beside, 1.0)
        else:
            beside = overlap.shares(iteration, sending * slowed)[shares.jobs, shares.others]
        now = shares.slowed(beside, at_random=overlap is None, halved=count >= _UNDAMPED)
        change, slowed = now / slowed - 1, now
        iteration = np.maximum.reduceat(offsets + slopes * slowed[lines], firsts)
        if owners is not None:
            added, sent, sent_alone = (
                np.bincount(owners, ns)[owners] for ns in (iteration - alone, sending * slowed, sending)
            )
            iteration = np.maximum(alone + added, sent * np.minimum(1, alone / sent_alone))
        if count and change @ change <= settled**2:
            break
    ratios: Floats = iteration / alone
    return ratios


class _Shares:
    """Shares of links that jobs may fill; the numbers are those of the module.

    A *flow* is a job on a link. It asks for its rate, or, if another link slows its job more, for its share
    there.

    Attributes
    ----------
    jobs, others
        The jobs of all pairs of flows on the same link, in both orders.
    """

    def __init__(
        self, rates: Floats, counts: Ints, link: Ints, paths: Ints, owners: Ints | None = None
    ) -> None:
        rates = np.minimum(rates, paths[link])
        used = paths_used(rates)
        rates /= used
        starts = counts.cumsum() - counts
        narrow = (np.bincount(link, rates, len(paths)) > 1)[link]
        narrow[starts] = True  # reduceat needs a flow of every job
        counts, link = np.add.reduceat(narrow, starts, dtype=np.int64), link[narrow]
        self._starts, self._job = counts.cumsum() - counts, np.arange(len(counts)).repeat(counts)
        self._one, self._other, on_link = _pairs(link, None if owners is None else owners[self._job])
        self.jobs, self.others = self._job[self._one], self._job[self._other]
        self._same_path = (used[narrow] / paths[link])[self._other]
        self._rates = self._asked = rates[narrow]
        self._level, self._min_level = np.ones(len(link)), 1 / on_link

    def slowed(self, beside: Floats, *, at_random: bool = True, halved: bool = False) -> Floats:
        """Return the factor by which each job's transfers take longer, one step nearer to the fixed point.

        Parameters
        ----------
        beside
            Share of the sending of the first job of each pair during which the second sends, shape (pairs,).
        at_random
            Whether the others send at random times, so that the variance of their load counts.
        halved
            Whether to take half of the step.
        """
        beside, asked = beside * self._same_path, self._asked[self._other]
        present = np.ones(len(self._rates))
        if at_random:
            mean = self._sum(beside * asked)
            square = mean**2 + self._sum(beside * (1 - beside) * asked**2)
            np.divide(mean**2, square, out=present, where=square > 0)
            beside = beside / present[self._one]
        little = asked < self._level[self._one]
        level = (1 - self._sum(beside * asked * little)) / (1 + self._sum(beside * ~little))
        level = np.maximum(level, self._min_level)
        self._level = np.sqrt(level * self._level) if halved else level
        flows = 1 - present + present * np.maximum(self._rates / self._level, 1.0)
        slowed: Floats = np.maximum.reduceat(flows, self._starts)
        of_job = slowed[self._job]
        binding = np.maximum(1 - (1 - flows / of_job) / _NEAR, 0.0)  # 1 on the link that slows the job most
        self._asked = self._rates * (binding + (1 - binding) / of_job)
        return slowed

    def _sum(self, pairs: Floats) -> Floats:
        """Return the sum of a value over the pairs of each flow."""
        total: Floats = np.bincount(self._one, weights=pairs, minlength=len(self._rates)).astype(np.float64)
        return total


def _pairs(link: Ints, owner: Ints | None) -> tuple[Ints, Ints, Ints]:
    """Return all pairs of different owners' flows on the same link, and the flows on the link of each."""
    order, count = np.argsort(link, kind="stable"), np.bincount(link)
    on_link = count[link]
    one = np.arange(len(link)).repeat(on_link)
    begins = (count.cumsum() - count)[link] - (on_link.cumsum() - on_link)
    other = order[begins.repeat(on_link) + np.arange(len(one))]
    different = one != other if owner is None else owner[one] != owner[other]
    return one[different], other[different], on_link
