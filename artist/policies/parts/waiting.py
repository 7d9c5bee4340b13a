"""Waiting jobs, ranked once; a job that found no room is not tried again until some is made. For Lyra."""

from collections.abc import Callable

from artist.core.job import Demand
from artist.policies.parts.queueing import WaitingQueue, by_demand, in_one


class Waiting:
    """A queue that remembers which demands found no room.

    Parameters
    ----------
    skip
        Whether jobs overtake one that does not fit.
    """

    def __init__(self, *, skip: bool) -> None:
        self._queue = WaitingQueue(by_demand if skip else in_one)
        self._refused: dict[Demand, None] = {}

    def clear(self) -> None:
        """Remove all jobs."""
        self._queue.clear()

    def push(self, job: int, key: float, demand: Demand) -> None:
        """Add a job."""
        self._queue.push(job, key, demand)

    def first(self) -> tuple[Demand, int] | None:
        """Return the job to try next and its demand, None if there is none; it stays queued."""
        return self._queue.first(self._refused)

    def pop(self, demand: Demand) -> None:
        """Remove the first job of a demand."""
        self._queue.pop(demand)

    def refuse(self, demand: Demand) -> None:
        """Set aside jobs of a demand until room is made."""
        self._refused[demand] = None

    def make_room(self, may_fit: Callable[[Demand], bool]) -> None:
        """Try those jobs again that may fit now."""
        for demand in [demand for demand in self._refused if may_fit(demand)]:
            del self._refused[demand]
