"""Waiting jobs by user; next is the first job of the user that holds least. For DRF; shared by policies.

A user's jobs are in order of arrival, and none overtakes another. Users rank by their holdings; equal ones by
the number of their first job. A user whose first job does not fit is passed over until the caller reports a
change. With one user this is strict FIFO.

Source: Ghodsi et al., Dominant Resource Fairness, NSDI 2011, section 4.1 (the user with the least dominant
share picks the next job); the share is the policy's to define.
"""

from bisect import bisect
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from operator import itemgetter
from typing import NamedTuple

from artist.core.job import Demand, JobSpec

Rank = tuple[int, ...]


class First(NamedTuple):
    """The first job of a user; the least is next, in this queue or across two."""

    rank: Rank
    job: int
    user: str
    demand: Demand


def notes_on_users(jobs: Sequence[JobSpec]) -> list[str]:
    """Return notes for the user if all jobs are in the queue of one user."""
    users = {spec.user for spec in jobs}
    if len(users) > 1:
        return []
    users_are = "all jobs are of one user" if any(users) else "no job has a user"
    return [f"{users_are}, so none is preferred: first come, first served, GPU jobs and CPU-only jobs apart"]


class Holdings:
    """GPUs and CPUs that each user holds. Several queues may rank users by the same holdings.

    Parameters
    ----------
    rank
        A user's rank by GPUs and CPUs held: the user with the least is next.
    """

    def __init__(self, rank: Callable[[int, int], Rank]) -> None:
        self._rank = rank
        self._held: dict[str, tuple[int, int]] = {}
        self._changed: list[Callable[[str], None]] = []

    def on_change(self, call: Callable[[str], None]) -> None:
        """Call this with each user whose holdings change, after the change."""
        self._changed.append(call)

    def hold(self, user: str, gpus: int, cpus: int) -> None:
        """Add to the holdings of a user."""
        has_gpus, has_cpus = self._held.get(user, (0, 0))
        self._held[user] = has_gpus + gpus, has_cpus + cpus
        for call in self._changed:
            call(user)

    def give(self, user: str, gpus: int, cpus: int) -> None:
        """Take from the holdings of a user."""
        self.hold(user, -gpus, -cpus)

    def rank(self, user: str) -> Rank:
        """Return the rank of a user by its holdings now."""
        return self._rank(*self._held.get(user, (0, 0)))


@dataclass(slots=True)
class _Alike:
    """First jobs with equal demands.

    Attributes
    ----------
    heap
        The least is first; entries may be out of date.
    passed_over
        Whether none of them fits.
    head
        The least, if all queues compare it.
    """

    heap: list[First] = field(default_factory=list)
    passed_over: bool = False
    head: First | None = None


class UserQueues:
    """A queue of jobs for each user; users come in the order of their holdings.

    Two levels of heaps, by demand of first jobs and over the heads of these, so that one call passes over all
    users whose first jobs have equal demands, and a change costs hardly more with many users.
    """

    def __init__(self, holdings: Holdings) -> None:
        self._holdings = holdings
        self._queues: dict[str, deque[tuple[int, Demand]]] = {}
        self._firsts: dict[str, First] = {}  # of users not passed over alone; other heap entries are old
        self._alike: dict[Demand, _Alike] = {}
        self._heads: list[First] = []
        self._passed_over: dict[str, None] = {}  # alone
        self._jobs = 0
        holdings.on_change(self._renew)

    def __len__(self) -> int:
        return self._jobs

    def push(self, job: int, user: str, demand: Demand) -> None:
        """Add a job behind the earlier ones of its user: at the end, unless it waited before."""
        queue = self._queues.get(user)
        if queue is None or job < queue[0][0]:
            self.push_front(job, user, demand)
            return
        self._jobs += 1
        if job > queue[-1][0]:
            queue.append((job, demand))
        else:
            queue.insert(bisect(queue, job, key=itemgetter(0)), (job, demand))

    def push_front(self, job: int, user: str, demand: Demand) -> None:
        """Add a job at the head of the queue of its user, which is no longer passed over."""
        self._jobs += 1
        self._queues.setdefault(user, deque()).appendleft((job, demand))
        self._passed_over.pop(user, None)
        self._leave(user)
        self._enter(user)
        self._reopen(demand)

    def next(self) -> First | None:
        """Return the first job of the user that holds least, of those not passed over; it stays queued."""
        while self._heads:
            first = self._heads[0]
            if self._firsts.get(first.user) is first and not self._alike[first.demand].passed_over:
                return first
            heappop(self._heads)
        return None

    def take(self, user: str) -> None:
        """Remove the first job of a user."""
        self._jobs -= 1
        queue = self._queues[user]
        queue.popleft()
        self._leave(user)
        if not queue:
            del self._queues[user]
            self._passed_over.pop(user, None)
        elif user not in self._passed_over:
            self._enter(user)
            self._reopen(queue[0][1])

    def pass_over(self, user: str) -> None:
        """Pass over a user, whose first job does not fit, until `look_again`."""
        self._passed_over[user] = None
        self._leave(user)

    def pass_over_alike(self, demand: Demand) -> None:
        """Pass over all users whose first jobs have this demand, which does not fit.

        Until `look_again`, or until a job with an equal demand becomes the first of its user.
        """
        alike = self._alike[demand]
        alike.passed_over, alike.head = True, None

    def look_again(self, may_fit: Callable[[Demand], bool] = lambda demand: True) -> None:
        """Consider users again whose first job may fit because something became free."""
        if not self._jobs:
            return
        for demand in [d for d, alike in self._alike.items() if alike.passed_over and may_fit(d)]:
            self._reopen(demand)
        for user in [user for user in self._passed_over if may_fit(self._queues[user][0][1])]:
            del self._passed_over[user]
            self._enter(user)

    def _reopen(self, demand: Demand) -> None:
        self._alike[demand].passed_over = False
        self._show(demand)

    def _renew(self, user: str) -> None:
        """Rank a user again whose holdings changed."""
        first = self._firsts.get(user)
        if first is not None and first.rank != self._holdings.rank(user):
            self._enter(user)

    def _enter(self, user: str) -> None:
        """Rank a user by its first job and its holdings now."""
        job, demand = self._queues[user][0]
        first = self._firsts[user] = First(self._holdings.rank(user), job, user, demand)
        alike = self._alike.get(demand)
        if alike is None:
            alike = self._alike[demand] = _Alike()
        self._add(alike.heap, first)
        self._show(demand)

    def _leave(self, user: str) -> None:
        """Remove a user from the ranking."""
        first = self._firsts.pop(user, None)
        if first is not None:
            self._show(first.demand)

    def _show(self, demand: Demand) -> None:
        """Enter the least first job with this demand where all queues compare it."""
        alike = self._alike[demand]
        heap = alike.heap
        while heap and self._firsts.get(heap[0].user) is not heap[0]:
            heappop(heap)
        if not heap:
            del self._alike[demand]
        elif not alike.passed_over and alike.head is not heap[0]:
            alike.head = heap[0]
            self._add(self._heads, heap[0])

    def _add(self, heap: list[First], first: First) -> None:
        """Add to a heap, removing old entries once they may be most of it."""
        if len(heap) > 2 * len(self._firsts) + 64:
            heap[:] = dict.fromkeys(entry for entry in heap if self._firsts.get(entry.user) is entry)
            heapify(heap)
        heappush(heap, first)
