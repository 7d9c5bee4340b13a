"""Queues in which running jobs come first, and none stops another of its own queue. For Tiresias."""

import numpy as np

from artist.core.arrays import Floats, Ints
from artist.core.view import JobColumns

_LAST = np.iinfo(np.int64).max


class Turns:
    """Remembers the order of the jobs of each queue from one decision to the next.

    A job enters at the end of the first queue, and when demoted, at the end of the next one. A job that runs
    goes before those that wait; otherwise the order stays. So running jobs are in order of their start.
    """

    def __init__(self) -> None:
        self._turn: Ints = np.zeros(0, dtype=np.int64)  # by job; 0 for one never seen
        self._queue: Ints = np.zeros(0, dtype=np.int64)  # by job, as last seen
        self._next = 1

    def ranking(self, jobs: JobColumns, queue: Ints, key: Floats | None = None) -> Ints:
        """Return the rows in order, (n,), given their queues and what goes before turns there, shape (n,)."""
        self._make_room(int(np.maximum.reduce(jobs.job, initial=0)) + 1)
        turn = self._turn[jobs.job]
        fallen = jobs.running & (queue > self._queue[jobs.job])
        turn[fallen | (turn == 0)] = _LAST
        by_key = () if key is None else (key,)
        rows = np.lexsort((turn, ~jobs.running | fallen, *by_key, queue))
        self._queue[jobs.job] = queue
        self._turn[jobs.job[rows]] = np.arange(self._next, self._next + len(rows))
        self._next += len(rows)
        return rows

    def _make_room(self, jobs: int) -> None:
        if jobs > len(self._turn):
            more = (0, 2 * jobs - len(self._turn))
            self._turn, self._queue = np.pad(self._turn, more), np.pad(self._queue, more)
