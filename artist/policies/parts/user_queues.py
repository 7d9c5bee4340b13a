"""Waiting jobs by user, where next is the first job of the user who holds least. For DRF; shared.

A user's jobs are in order of arrival and none overtakes another. Users rank by what they hold; equal ones by
the number of their first job. A user whose first job does not fit is passed over until the caller says that
something changed. With one user that is strict FIFO.

Source: Ghodsi et al., Dominant Resource Fairness, NSDI 2011, section 4.1 (the user with the least dominant
share picks the next job); the share is the policy's to define.
"""

from bisect import bisect
from collections import deque
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import NamedTuple

from artist.core.job import Demand, JobSpec

Rank = tuple[int, ...]


class First(NamedTuple):
    """The first job of a user; one that is less comes before another, of this queue or a second one."""

    rank: Rank
    job: int
    user: str
    demand: Demand


def notes_on_users(jobs: Sequence[JobSpec]) -> list[str]:
    """Return what a user should know where all jobs are in the queue of one user."""
    users = {spec.user for spec in jobs}
    if len(users) > 1:
        return []
    found = "all jobs are of one user" if any(users) else "no job has a user"
    return [f"{found}, so none is preferred: first come, first served, GPU jobs and CPU-only jobs apart"]


class Holdings:
    """GPUs and CPUs that each user holds. Several queues may rank users by the same holdings.

    Parameters
    ----------
    rank
        A user's rank by GPUs and CPUs held: the user with the least is next.

    Attributes
    ----------
    changes
        How often anything changed.
    """

    def __init__(self, rank: Callable[[int, int], Rank]) -> None:
        self._rank = rank
        self._held: dict[str, tuple[int, int]] = {}
        self.changes = 0

    def hold(self, user: str, gpus: int, cpus: int) -> None:
        """Add to what a user holds."""
        has_gpus, has_cpus = self._held.get(user, (0, 0))
        self._held[user] = has_gpus + gpus, has_cpus + cpus
        self.changes += 1

    def give(self, user: str, gpus: int, cpus: int) -> None:
        """Take from what a user holds."""
        self.hold(user, -gpus, -cpus)

    def rank(self, user: str) -> Rank:
        """Return the rank of a user by what it holds now."""
        return self._rank(*self._held.get(user, (0, 0)))


class UserQueues:
    """A queue of jobs for each user; users come in the order of their holdings."""

    def __init__(self, holdings: Holdings) -> None:
        self._holdings = holdings
        self._queues: dict[str, deque[tuple[int, Demand]]] = {}
        self._passed_over: set[str] = set()
        self._ranked: list[First] = []  # of users not passed over, the next one last
        self._seen: int | None = None  # changes of the holdings that the list knows of; None: list is stale

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def push(self, job: int, user: str, demand: Demand) -> None:
        """Add a job behind the earlier ones of its user: at the end, unless it waited before."""
        queue = self._queues.get(user)
        if queue is None or job < queue[0][0]:
            self.push_front(job, user, demand)
        elif job > queue[-1][0]:
            queue.append((job, demand))
        else:
            queue.insert(bisect(queue, job, key=itemgetter(0)), (job, demand))

    def push_front(self, job: int, user: str, demand: Demand) -> None:
        """Add a job at the head of the queue of its user, who is no longer passed over."""
        self._queues.setdefault(user, deque()).appendleft((job, demand))
        self._passed_over.discard(user)
        self._seen = None

    def next(self) -> First | None:
        """Return the first job of the user who holds least, of those not passed over; it stays queued."""
        if self._seen != self._holdings.changes:
            self._rank_users()
        return self._ranked[-1] if self._ranked else None

    def take(self, user: str) -> None:
        """Remove the first job of a user."""
        queue = self._queues[user]
        queue.popleft()
        if not queue:
            del self._queues[user]
        self._seen = None

    def pass_over(self, user: str) -> None:
        """Leave a user out, whose first job does not fit, until `look_again`."""
        self._passed_over.add(user)
        if self._ranked and self._ranked[-1].user == user:
            self._ranked.pop()
        else:
            self._seen = None

    def look_again(self, may_fit: Callable[[Demand], bool] = lambda demand: True) -> None:
        """Consider users again whose first job may fit: something became free."""
        again = {user for user in self._passed_over if may_fit(self._queues[user][0][1])}
        if again:
            self._passed_over -= again
            self._seen = None

    def _rank_users(self) -> None:
        rank, passed_over = self._holdings.rank, self._passed_over
        self._ranked = [
            First(rank(user), queue[0][0], user, queue[0][1])
            for user, queue in self._queues.items()
            if user not in passed_over
        ]
        self._ranked.sort(reverse=True)
        self._seen = self._holdings.changes
