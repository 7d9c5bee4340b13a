"""Waiting jobs of a policy that never preempts: ranked once, on arrival, or all again. Shared."""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from artist.core.job import Demand

Lane = Callable[[Demand], object]
_Entry = tuple[float, int, Demand]


def in_one(demand: Demand) -> object:
    """Keep all jobs in one lane: no job overtakes."""
    return None


def by_kind(demand: Demand) -> object:
    """Keep jobs with GPUs in one lane, CPU-only jobs in another: no job overtakes another of its kind."""
    return demand.gpus > 0


def by_demand(demand: Demand) -> object:
    """Keep jobs of equal demands in a lane: what one of them cannot have, none can."""
    return demand


def _empty() -> tuple[deque[_Entry], list[_Entry]]:
    return deque(), []


class WaitingQueue:
    """Jobs by key, then number; within a lane no job overtakes another. Refused demands are passed over.

    Parameters
    ----------
    lane
        The lane of a demand: `in_one`, `by_kind` or `by_demand`.
    """

    def __init__(self, lane: Lane = by_demand) -> None:
        self._lane = lane
        # By lane: jobs in the order in which they came, and a heap of those that came out of order.
        self._lanes = defaultdict[object, tuple[deque[_Entry], list[_Entry]]](_empty)
        self._refused: dict[Demand, None] = {}

    def clear(self) -> None:
        """Remove all jobs."""
        self._lanes.clear()

    def push(self, job: int, key: float, demand: Demand) -> None:
        """Add a job; no two have the same number."""
        entry = key, job, demand
        row, heap = self._lanes[self._lane(demand)]
        if row and entry < row[-1]:
            heappush(heap, entry)
        else:
            row.append(entry)

    def first(self, max_gpus: int | None = None) -> tuple[Demand, int] | None:
        """Return the first job of the lanes whose first demand is not refused; it stays queued.

        With `max_gpus`, demands for more are passed over as well.
        """
        refused = self._refused
        best: _Entry | None = None
        for lane in self._lanes.values():
            first = _foremost(*lane)[0]
            if best is not None and first > best:
                continue
            fits = max_gpus is None or first[2].min_feasible_gpus <= max_gpus
            if fits and not (refused and first[2] in refused):  # a demand takes time to look up
                best = first
        return None if best is None else (best[2], best[1])

    def pop(self, demand: Demand) -> None:
        """Remove the first job of the lane of a demand."""
        name = self._lane(demand)
        row, heap = self._lanes[name]
        if _foremost(row, heap) is row:
            row.popleft()
        else:
            heappop(heap)
        if not row and not heap:
            del self._lanes[name]

    def refuse(self, demand: Demand) -> None:
        """Pass over jobs of a demand, which found no room, until they are tried again."""
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
