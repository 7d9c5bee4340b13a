"""Waiting jobs of a policy that never preempts: each is ranked once, on arrival, or all again. Shared."""

from collections.abc import Container
from heapq import heappop, heappush

from artist.core.job import Demand

_Entry = tuple[float, int]


class StrictQueue:
    """Jobs by key, then number; no job overtakes."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Demand]] = []

    def clear(self) -> None:
        """Remove all jobs."""
        self._heap.clear()

    def push(self, job: int, key: float, demand: Demand) -> None:
        """Add a job; no two have the same number."""
        heappush(self._heap, (key, job, demand))

    def first(self) -> tuple[Demand, int] | None:
        """Return the first job and its demand; it stays queued."""
        if not self._heap:
            return None
        _, job, demand = self._heap[0]
        return demand, job

    def pop(self, demand: Demand) -> None:
        """Remove the first job, which has this demand."""
        heappop(self._heap)


class WaitingQueue:
    """Jobs by key, then number. One heap per distinct demand: what one of them cannot have, none can."""

    def __init__(self) -> None:
        self._heaps: dict[Demand, list[_Entry]] = {}

    def clear(self) -> None:
        """Remove all jobs."""
        self._heaps.clear()

    def push(self, job: int, key: float, demand: Demand) -> None:
        """Add a job."""
        heap = self._heaps.get(demand)
        if heap is None:
            heap = self._heaps[demand] = []
        heappush(heap, (key, job))

    def first(
        self, passed_over: Container[Demand], most_gpus: int | None = None
    ) -> tuple[Demand, int] | None:
        """Return the first job whose demand is not passed over, and its demand; it stays queued.

        With `most_gpus`, demands for more are passed over as well.
        """
        best: _Entry | None = None
        found: Demand | None = None
        for demand, heap in self._heaps.items():
            if best is not None and heap[0] > best:
                continue
            if (most_gpus is None or demand.least_gpus <= most_gpus) and demand not in passed_over:
                best, found = heap[0], demand
        return None if best is None or found is None else (found, best[1])

    def pop(self, demand: Demand) -> None:
        """Remove the first job of a demand."""
        heap = self._heaps[demand]
        heappop(heap)
        if not heap:
            del self._heaps[demand]
