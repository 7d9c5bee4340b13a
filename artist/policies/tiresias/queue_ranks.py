"""Ranks in queues where running jobs come first, so that none stops another of its queue. For Tiresias."""

import numpy as np

from artist.core.arrays import Floats, Ints
from artist.core.view import JobColumns

_LAST = np.iinfo(np.int64).max


class QueueRanks:
    """The order of the jobs of each queue, kept from one decision to the next.

    A job enters at the end of the first queue, and when demoted, at the end of the next one. A job that runs
    precedes those that wait; otherwise the order stays. So running jobs are in order of their start.
    """

    def __init__(self) -> None:
        self._rank: Ints = np.zeros(0, dtype=np.int64)  # by job; 0 for one never seen
        self._queue: Ints = np.zeros(0, dtype=np.int64)  # by job, as last seen
        self._next = 1

    def ranking(self, jobs: JobColumns, queue: Ints, key: Floats | None = None) -> Ints:
        """Return the rows in order, shape (n,), by queue, `key`, and rank in the queue; all of shape (n,)."""
        self._make_room(int(np.maximum.reduce(jobs.job, initial=0)) + 1)
        rank = self._rank[jobs.job]
        fallen = jobs.running & (queue > self._queue[jobs.job])
        rank[fallen | (rank == 0)] = _LAST
        by_key = () if key is None else (key,)
        rows = np.lexsort((rank, ~jobs.running | fallen, *by_key, queue))
        self._queue[jobs.job] = queue
        self._rank[jobs.job[rows]] = np.arange(self._next, self._next + len(rows))
        self._next += len(rows)
        return rows

    def _make_room(self, jobs: int) -> None:
        if jobs > len(self._rank):
            more = (0, 2 * jobs - len(self._rank))
            self._rank, self._queue = np.pad(self._rank, more), np.pad(self._queue, more)
