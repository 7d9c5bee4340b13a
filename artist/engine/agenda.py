"""What is due when: a heap of (time, kind, sequence), so that ties are first in, first out."""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from operator import index

_NONE = (-1, 2**63)  # after all times

# Kinds of entries, in their order at one instant; a tick of the policy comes last. Their subjects: a job, a
# leaving machine, a capacity event by its place in the list, a job, and none: the policy has one timer.
FINISH, DEADLINE, CAPACITY, ARRIVAL, TIMER = range(5)


class Agenda:
    """At most one entry per (kind, subject): a later one replaces it, and `cancel` drops it.

    Arrivals, in order by job, need none.
    """

    def __init__(self, arrivals_ns: Sequence[int]) -> None:
        self._arrivals = enumerate(arrivals_ns)
        self._job, self._arrival_ns = next(self._arrivals, _NONE)
        self._heap: list[tuple[int, int, int, int]] = []  # time, kind, sequence, subject
        self._holds: tuple[dict[int, int], ...] = tuple({} for _ in range(5))  # sequence by subject, by kind
        self._sequence = 0

    def schedule(self, time: int, kind: int, subject: int = 0) -> None:
        """Schedule an entry at a time."""
        self._sequence += 1
        self._holds[kind][subject] = self._sequence
        heappush(self._heap, (index(time), kind, self._sequence, subject))

    def cancel(self, kind: int, subject: int = 0) -> None:
        """Cancel an entry if it is scheduled."""
        self._holds[kind].pop(subject, None)

    def next_time(self) -> int | None:
        """Return when the next thing comes due, None if nothing will."""
        heap = self._heap
        while heap and heap[0][0] <= self._arrival_ns:
            time, kind, sequence, subject = heap[0]
            if self._holds[kind].get(subject) == sequence:
                return time
            heappop(heap)
        return self._arrival_ns if self._job >= 0 else None

    def due(self, now: int) -> Iterator[tuple[int, int]]:
        """Remove and yield each (kind, subject) due now, with those scheduled meanwhile."""
        heap = self._heap
        while True:
            arrives = self._arrival_ns <= now
            if heap and heap[0][0] <= now and not (arrives and heap[0][1] > ARRIVAL):
                _, kind, sequence, subject = heappop(heap)
                if self._holds[kind].get(subject) == sequence:
                    del self._holds[kind][subject]
                    yield kind, subject
            elif arrives:
                job = self._job
                self._job, self._arrival_ns = next(self._arrivals, _NONE)
                yield ARRIVAL, job
            else:
                return
