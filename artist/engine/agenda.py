"""Event queue: a heap of (time, type, sequence), so that ties are first in, first out."""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from operator import index

_NONE = (-1, 2**63)  # after all times

# Types of entries, in their order at one instant; a tick of the policy is last. Their subjects: a job, a
# leaving machine, a capacity event by its index, a job, and none: the policy has one timer.
FINISH, DEADLINE, CAPACITY, ARRIVAL, TIMER = range(5)


class Agenda:
    """At most one entry per (type, subject): a later one replaces it, and `cancel` drops it.

    Arrivals, in order by job, need none.

    Parameters
    ----------
    arrivals_ns
        In order.
    ran
        Number of leading jobs that ran before: they arrive in a round of their own.
    """

    def __init__(self, arrivals_ns: Sequence[int], ran: int = 0) -> None:
        self._last_ran = ran - 1
        self._arrivals = enumerate(arrivals_ns)
        self._job, self._arrival_ns = next(self._arrivals, _NONE)
        self._heap: list[tuple[int, int, int, int]] = []  # time, type, sequence, subject
        self._holds: tuple[dict[int, int], ...] = tuple({} for _ in range(5))  # sequence by subject, by type
        self._sequence = 0

    def schedule(self, time: int, entry: int, subject: int = 0) -> None:
        """Schedule an entry at a time."""
        self._sequence += 1
        self._holds[entry][subject] = self._sequence
        heappush(self._heap, (index(time), entry, self._sequence, subject))

    def cancel(self, entry: int, subject: int = 0) -> None:
        """Cancel an entry if it is scheduled."""
        self._holds[entry].pop(subject, None)

    def next_time(self) -> int | None:
        """Return the time of the next entry, None if there is none."""
        heap = self._heap
        while heap and heap[0][0] <= self._arrival_ns:
            time, entry, sequence, subject = heap[0]
            if self._holds[entry].get(subject) == sequence:
                return time
            heappop(heap)
        return self._arrival_ns if self._job >= 0 else None

    def due(self, now: int) -> Iterator[tuple[int, int]]:
        """Remove and yield each (type, subject) due now, with entries scheduled meanwhile."""
        heap = self._heap
        while True:
            arrives = self._arrival_ns <= now
            if heap and heap[0][0] <= now and not (arrives and heap[0][1] > ARRIVAL):
                _, entry, sequence, subject = heappop(heap)
                if self._holds[entry].get(subject) == sequence:
                    del self._holds[entry][subject]
                    yield entry, subject
            elif arrives:
                job = self._job
                self._job, self._arrival_ns = next(self._arrivals, _NONE)
                yield ARRIVAL, job
                if job == self._last_ran:
                    return
            else:
                return
