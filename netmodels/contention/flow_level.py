"""Flow level: jobs that share links, followed in time as one flow each.

Every job repeats its iteration (`netmodels.contention.transfers.JobTraffic`). While it sends, it is one flow,
with a speed relative to sending alone that depends on the other senders (`netmodels.contention.shares`);
speeds change whenever a job begins or ends a transfer. Waiting, computing and sending on links that cannot be
overloaded take their times alone. So jobs that begin together collide in every iteration, jobs shifted
against each other may never meet, and communication that computing hides costs nothing until it outlasts it.

**Meaning of an answer.** The mean time of an iteration of each job from a canonical start: all jobs begin an
iteration at 0, later by the shifts that a policy asks for. Their true positions when one joins are not part
of the question: every question would be new, and at packet level jobs of equal periods whose sending touches
drift together anyhow. The jobs are followed until their joint state at the start of an iteration of the first
job recurs to the nanosecond, and times are means over that period; or, as periods need not have a common
multiple, until jobs have done 64 each on average, and every job eight, and times are means over the second
half of each job's. Flows that are equal keep their distance, so the drift itself does not show.
"""

from collections.abc import Mapping, Sequence

from netmodels.contention.shares import Shares
from netmodels.contention.transfers import JobTraffic
from netmodels.fabric.links import Link

ITERATIONS = 64
MIN_ITERATIONS = 8  # of every job, for a mean


def together(
    jobs: Sequence[JobTraffic],
    capacity: Mapping[Link, float],
    shift_ns: Sequence[int] = (),
    *,
    uplinks: int = 1,
    iterations: Sequence[int] = (),
) -> list[float]:
    """Return the mean time of an iteration of each job on shared links, ns; see the module.

    Cost grows with the iterations and transfers of all jobs: 1 to 40 ms for 4 jobs, up to 1 s for 8 of
    unequal periods.

    Parameters
    ----------
    jobs, capacity, uplinks
        As for `netmodels.contention.mean_field.slowdowns`.
    shift_ns
        Start of each job's first iteration, 0 or more; by default all at 0.
    iterations
        Number of iterations after which each job leaves; all of them count. By default all go on until there
        are means.
    """
    jobs = [job.joined() for job in jobs]
    shifts = shift_ns or [0] * len(jobs)
    clock = _Clock(jobs, Shares(jobs, capacity, uplinks), shifts)
    means = _to_the_end(clock, shifts, iterations) if iterations else _steady(clock)
    return [means.get(number, job.alone_ns) for number, job in enumerate(jobs)]


def _to_the_end(clock: "_Clock", shift_ns: Sequence[int], iterations: Sequence[int]) -> dict[int, float]:
    """Return the mean iteration time of each job that meets others and leaves after some iterations."""
    means = {}
    while clock.timelines:
        ended = clock.step()
        if ended is not None and len(ended.ends_ns) == (count := iterations[ended.number]):
            clock.timelines.remove(ended)
            means[ended.number] = (clock.now_ns - shift_ns[ended.number]) / count
    return means


def _steady(clock: "_Clock") -> dict[int, float]:
    """Return the mean iteration time of each job that meets others."""
    timelines = clock.timelines
    seen: dict[_State, tuple[int, list[int]]] = {}
    while timelines and not enough([len(timeline.ends_ns) for timeline in timelines], ITERATIONS):
        ended = clock.step()
        if ended is not timelines[0]:
            continue
        done = [len(timeline.ends_ns) for timeline in timelines]
        then_ns, then = seen.setdefault(clock.state(), (clock.now_ns, done))
        if then_ns < clock.now_ns:
            period_ns = clock.now_ns - then_ns
            counts = zip(timelines, done, then, strict=True)
            return {timeline.number: period_ns / (now - before) for timeline, now, before in counts}
    return {
        timeline.number: mean_ns(timeline.ends_ns[len(timeline.ends_ns) // 2 :]) for timeline in timelines
    }


def enough(done: Sequence[int], iterations: int) -> bool:
    """Return whether jobs have done some iterations on average, and eight each."""
    return sum(done) >= iterations * len(done) and min(done) >= MIN_ITERATIONS


def followed_ns(alone_ns: Sequence[float], iterations: int) -> float:
    """Return the time until jobs have done `enough`, about, from the times of their iterations alone."""
    mean_ns = len(alone_ns) / sum(1 / ns for ns in alone_ns)
    return max(iterations * mean_ns, MIN_ITERATIONS * max(alone_ns))


def mean_ns(ends_ns: Sequence[int]) -> float:
    """Return the mean time between ends."""
    return (ends_ns[-1] - ends_ns[0]) / (len(ends_ns) - 1)


_State = tuple[tuple[int, ...], ...]


class _Timeline:
    """A job's progress through its iterations."""

    __slots__ = (
        *("began_ns", "compute_ns", "due_ns", "ends_ns", "issued_ns", "left_ns", "number"),
        *("rates_of", "speed", "through_ns", "transfer", "transfers_ns", "updates_ns"),
    )

    def __init__(self, number: int, job: JobTraffic, rates_of: list[int], start_ns: int) -> None:
        self.number = number
        self.compute_ns = job.compute_ns
        self.issued_ns: list[int] = job.issued_ns.tolist()
        self.transfers_ns: list[int] = job.transfers_ns.tolist()
        self.updates_ns: list[int] = job.updates_ns.tolist()
        self.rates_of = rates_of
        self.transfer = 0  # the one in progress, or the next one
        self.left_ns: float | None = None  # of the transfer in progress, alone; None while waiting for due_ns
        self.speed = 1.0
        self.began_ns = self.due_ns = self.through_ns = start_ns
        self.ends_ns: list[int] = []

    def advance(self, now_ns: int) -> bool:
        """End the due part and begin the next; return whether an iteration ended."""
        ended = False
        if self.left_ns is not None:
            self.left_ns = None
            self.through_ns = max(self.through_ns, now_ns + self.updates_ns[self.transfer])
            self.transfer += 1
        if self.transfer == len(self.transfers_ns):
            self.due_ns = max(self.began_ns + self.compute_ns, self.through_ns)
            if self.due_ns > now_ns:
                return False
            ended = True
            self.ends_ns.append(now_ns)
            self.began_ns = self.through_ns = now_ns
            self.transfer = 0
        if not self.transfers_ns:
            self.due_ns = now_ns + self.compute_ns
            return ended
        self.due_ns = self.began_ns + self.issued_ns[self.transfer]
        if self.due_ns <= now_ns:
            self.left_ns, self.speed = float(self.transfers_ns[self.transfer]), 1.0
        return ended


class _Clock:
    """Jobs in time, event by event; of events at the same time, those of the first job first."""

    def __init__(self, jobs: Sequence[JobTraffic], shares: Shares, shift_ns: Sequence[int]) -> None:
        self.now_ns = 0
        self._shares = shares
        self.timelines = [
            _Timeline(number, job, rates_of, shift_ns[number])
            for number, (job, rates_of) in enumerate(zip(jobs, shares.rates_of, strict=True))
            if max(rates_of, default=-1) >= 0
        ]

    def step(self) -> _Timeline | None:
        """Advance to the next event; return the job whose iteration it ended, if it ended one."""
        self._set_speeds()
        next_ns, due = min(
            ((self._due_ns(timeline), timeline) for timeline in self.timelines), key=lambda pair: pair[0]
        )
        passed_ns = next_ns - self.now_ns
        for timeline in self.timelines:
            if timeline.left_ns is not None:
                timeline.left_ns -= passed_ns * timeline.speed
        self.now_ns = next_ns
        return due if due.advance(next_ns) else None

    def _due_ns(self, timeline: _Timeline) -> int:
        """Return the time of a job's next event, to the nanosecond."""
        if timeline.left_ns is None:
            return timeline.due_ns
        return self.now_ns + round(timeline.left_ns / timeline.speed)

    def _set_speeds(self) -> None:
        sending = [
            timeline
            for timeline in self.timelines
            if timeline.left_ns is not None and timeline.rates_of[timeline.transfer] >= 0
        ]
        if sending:
            senders = tuple((timeline.number, timeline.rates_of[timeline.transfer]) for timeline in sending)
            for timeline, speed in zip(sending, self._shares.speeds(senders), strict=True):
                timeline.speed = speed

    def state(self) -> _State:
        """Return all that the future depends on, relative to now and to the nanosecond."""
        return tuple(
            (
                timeline.began_ns - self.now_ns,
                timeline.transfer,
                -1 if timeline.left_ns is None else round(timeline.left_ns),
                max(timeline.through_ns - self.now_ns, 0),
            )
            for timeline in self.timelines
        )
