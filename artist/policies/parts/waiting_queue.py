"""Waiting jobs of a policy without preemption: ranked once, on arrival, or all again. Shared by policies."""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

from artist.core.job import Demand

QueueOf = Callable[[Demand], object]
_Entry = tuple[Any, int, Demand]  # key, job number, demand


def in_one(demand: Demand) -> object:
    """Keep all jobs in one queue: no job overtakes."""
    return None


def by_job_type(demand: Demand) -> object:
    """Keep GPU jobs in one queue, CPU-only jobs in another: no job overtakes another of its type."""
    return demand.gpus > 0


def by_demand(demand: Demand) -> object:
    """Keep jobs of equal demands in one queue: if one of them does not fit, none does."""
    return demand


def _empty() -> tuple[deque[_Entry], list[_Entry]]:
    return deque(), []


class WaitingQueue:
    """Jobs by key, then number, in queues in which no job overtakes another. Refused demands are passed over.

    Parameters
    ----------
    queue_of
        The queue of a demand: `in_one`, `by_job_type` or `by_demand`.
    """

    def __init__(self, queue_of: QueueOf = by_demand) -> None:
        self._queue_of = queue_of
        # By queue: jobs in the order in which they came, and a heap of those that came out of order.
        self._queues = defaultdict[object, tuple[deque[_Entry], list[_Entry]]](_empty)
        self._refused: dict[Demand, None] = {}

    def clear(self) -> None:
        """Remove all jobs."""
        self._queues.clear()

    def push(self, job: int, key: float | tuple[float, ...], demand: Demand) -> None:
        """Add a job; no two have the same number."""
        entry = key, job, demand
        row, heap = self._queues[self._queue_of(demand)]
        if row and entry < row[-1]:
            heappush(heap, entry)
        else:
            row.append(entry)

    def first(self, max_gpus: int | None = None) -> tuple[Demand, int] | None:
        """Return the first job of the queues whose first demand is not refused; it stays queued.

        With `max_gpus`, demands for more are passed over as well.
        """
        refused = self._refused
        best: _Entry | None = None
        for queue in self._queues.values():
            first = _foremost(*queue)[0]
            if best is not None and first > best:
                continue
            fits = max_gpus is None or first[2].min_feasible_gpus <= max_gpus
            if fits and not (refused and first[2] in refused):  # a demand takes time to look up
                best = first
        return None if best is None else (best[2], best[1])

    def pop(self, demand: Demand) -> None:
        """Remove the first job of the queue of a demand."""
        name = self._queue_of(demand)
        row, heap = self._queues[name]
        if _foremost(row, heap) is row:
            row.popleft()
        else:
            heappop(heap)
        if not row and not heap:
            del self._queues[name]

    def refuse(self, demand: Demand) -> None:
        """Pass over jobs of a demand, which does not fit, until they are tried again."""
        self._refused[demand] = None

    def try_again(self, may_fit: Callable[[Demand], bool]) -> None:
        """Consider refused demands again that may fit now."""
        for demand in [demand for demand in self._refused if may_fit(demand)]:
            del self._refused[demand]

    def try_all_again(self) -> None:
        """Consider all demands again."""
        self._refused.clear()


def _foremost(row: deque[_Entry], heap: list[_Entry]) -> Sequence[_Entry]:
    """Return the one of the two that has the first job."""
    return heap if heap and not (row and row[0] < heap[0]) else row
