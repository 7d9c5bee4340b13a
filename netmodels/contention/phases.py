"""Jobs that share links, followed in time: who sends beside whom, and how long iterations then take.

Every job repeats its iteration (`netmodels.contention.sending.Sending`). While it sends, it is one fluid,
with a speed relative to sending alone that depends on which others send (`netmodels.contention.shares`);
speeds change whenever a job begins or ends a passage. Waiting, computing and sending on links that cannot be
overloaded take what they take alone. So jobs that begin together collide in every iteration, jobs shifted
against each other may never meet, and communication that computing hides costs nothing until it outlasts it.

**What an answer means.** The mean time of an iteration of each job from a canonical start: all jobs begin an
iteration at 0, later by the shifts that a policy asks for. Where they really are in their iterations when
one joins is not asked: every answer would be asked once, and at packet level jobs of equal periods whose
sending touches drift together anyhow. The jobs are followed until their joint state at the start of an
iteration of the first job recurs to the nanosecond, and times are means over that period; or, as periods need
not have a common multiple, until jobs have done 64 each on average, and every job eight, and times
are means over the second half of each job's. Fluids that are equal keep their distance, so the drift itself
does not show.
"""

from collections.abc import Mapping, Sequence

from netmodels.contention.links import Link
from netmodels.contention.sending import Sending
from netmodels.contention.shares import Shares

ITERATIONS = 64
LEAST = 8  # iterations that a mean needs


def together(
    jobs: Sequence[Sending],
    capacity: Mapping[Link, float],
    shift_ns: Sequence[int] = (),
    *,
    uplinks: int = 1,
    iterations: Sequence[int] = (),
) -> list[float]:
    """Return the mean time of an iteration of each of some jobs that share links, ns; see the module.

    Cost grows with the iterations and passages of all jobs: 1 to 40 ms for 4 jobs, up to 1 s for 8 of unequal
    periods.

    Parameters
    ----------
    jobs, capacity, uplinks
        As for `netmodels.contention.shares.Shares`.
    shift_ns
        When each job begins its first iteration, 0 or more; by default all at 0.
    iterations
        Of each job, which leaves after so many, all of which count. By default all go on until there are
        means.
    """
    jobs = [job.joined() for job in jobs]
    shifts = shift_ns or [0] * len(jobs)
    clock = _Clock(jobs, Shares(jobs, capacity, uplinks), shifts)
    means = _left(clock, shifts, iterations) if iterations else _followed(clock)
    return [means.get(number, job.alone_ns) for number, job in enumerate(jobs)]


def _left(clock: "_Clock", shift_ns: Sequence[int], iterations: Sequence[int]) -> dict[int, float]:
    """Return the mean iteration time of each job that meets others and leaves after some iterations."""
    means = {}
    while clock.tracks:
        ended = clock.step()
        if ended is not None and len(ended.ends_ns) == (count := iterations[ended.number]):
            clock.tracks.remove(ended)
            means[ended.number] = (clock.now_ns - shift_ns[ended.number]) / count
    return means


def _followed(clock: "_Clock") -> dict[int, float]:
    """Return the mean iteration time of each job that meets others."""
    tracks = clock.tracks
    seen: dict[_State, tuple[int, list[int]]] = {}
    while tracks and not enough([len(track.ends_ns) for track in tracks], ITERATIONS):
        ended = clock.step()
        if ended is not tracks[0]:
            continue
        done = [len(track.ends_ns) for track in tracks]
        then_ns, then = seen.setdefault(clock.state(), (clock.now_ns, done))
        if then_ns < clock.now_ns:
            period_ns = clock.now_ns - then_ns
            rounds = zip(tracks, done, then, strict=True)
            return {track.number: period_ns / (now - before) for track, now, before in rounds}
    return {track.number: mean_ns(track.ends_ns[len(track.ends_ns) // 2 :]) for track in tracks}


def enough(done: Sequence[int], iterations: int) -> bool:
    """Return whether so many iterations are done on average, and eight of every job."""
    return sum(done) >= iterations * len(done) and min(done) >= LEAST


def followed_ns(alone_ns: Sequence[float], iterations: int) -> float:
    """Return how long it takes until it is `enough`, about, from what an iteration of each takes alone."""
    mean_ns = len(alone_ns) / sum(1 / each for each in alone_ns)
    return max(iterations * mean_ns, LEAST * max(alone_ns))


def mean_ns(ends_ns: Sequence[int]) -> float:
    """Return the mean time between ends."""
    return (ends_ns[-1] - ends_ns[0]) / (len(ends_ns) - 1)


_State = tuple[tuple[int, ...], ...]


class _Track:
    """A job on its way through its iterations."""

    __slots__ = (
        *("began_ns", "compute_ns", "due_ns", "ends_ns", "issued_ns", "kinds", "left_ns", "number"),
        *("place", "rides_ns", "speed", "through_ns", "updates_ns"),
    )

    def __init__(self, number: int, job: Sending, kinds: list[int], start_ns: int) -> None:
        self.number = number
        self.compute_ns = job.compute_ns
        self.issued_ns: list[int] = job.issued_ns.tolist()
        self.rides_ns: list[int] = job.rides_ns.tolist()
        self.updates_ns: list[int] = job.updates_ns.tolist()
        self.kinds = kinds
        self.place = 0  # the passage in progress, or the next one
        self.left_ns: float | None = None  # of the passage in progress, alone; None while it waits for due_ns
        self.speed = 1.0
        self.began_ns = self.due_ns = self.through_ns = start_ns
        self.ends_ns: list[int] = []

    def go_on(self, now_ns: int) -> bool:
        """End what ends now and begin what follows; return whether an iteration ended."""
        ended = False
        if self.left_ns is not None:
            self.left_ns = None
            self.through_ns = max(self.through_ns, now_ns + self.updates_ns[self.place])
            self.place += 1
        if self.place == len(self.rides_ns):
            self.due_ns = max(self.began_ns + self.compute_ns, self.through_ns)
            if self.due_ns > now_ns:
                return False
            ended = True
            self.ends_ns.append(now_ns)
            self.began_ns = self.through_ns = now_ns
            self.place = 0
        if not self.rides_ns:
            self.due_ns = now_ns + self.compute_ns
            return ended
        self.due_ns = self.began_ns + self.issued_ns[self.place]
        if self.due_ns <= now_ns:
            self.left_ns, self.speed = float(self.rides_ns[self.place]), 1.0
        return ended


class _Clock:
    """Jobs in time, event by event; of events at the same time, those of the first job first."""

    def __init__(self, jobs: Sequence[Sending], shares: Shares, shift_ns: Sequence[int]) -> None:
        self.now_ns = 0
        self._shares = shares
        self.tracks = [
            _Track(number, job, kinds, shift_ns[number])
            for number, (job, kinds) in enumerate(zip(jobs, shares.kinds, strict=True))
            if max(kinds, default=-1) >= 0
        ]

    def step(self) -> _Track | None:
        """Advance to the next event; return the job whose iteration it ended, if it ended one."""
        self._set_speeds()
        next_ns, track = min(((self._due_ns(each), each) for each in self.tracks), key=lambda each: each[0])
        passed_ns = next_ns - self.now_ns
        for each in self.tracks:
            if each.left_ns is not None:
                each.left_ns -= passed_ns * each.speed
        self.now_ns = next_ns
        return track if track.go_on(next_ns) else None

    def _due_ns(self, track: _Track) -> int:
        """Return when a job has its next event, to the nanosecond."""
        if track.left_ns is None:
            return track.due_ns
        return self.now_ns + round(track.left_ns / track.speed)

    def _set_speeds(self) -> None:
        sending = [
            track for track in self.tracks if track.left_ns is not None and track.kinds[track.place] >= 0
        ]
        if sending:
            senders = tuple((track.number, track.kinds[track.place]) for track in sending)
            for track, speed in zip(sending, self._shares.speeds(senders), strict=True):
                track.speed = speed

    def state(self) -> _State:
        """Return all that the future depends on, relative to now and to the nanosecond."""
        return tuple(
            (
                track.began_ns - self.now_ns,
                track.place,
                -1 if track.left_ns is None else round(track.left_ns),
                max(track.through_ns - self.now_ns, 0),
            )
            for track in self.tracks
        )
