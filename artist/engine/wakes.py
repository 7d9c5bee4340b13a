"""Detection of a policy that wakes itself or stops jobs endlessly, for nothing: such a run would not end."""

import numpy as np

from artist.core.arrays import Ints
from artist.errors import PlanError
from artist.units import ns_to_seconds, seconds_to_ns

_MANY = 100_000
_SHORT_NS = seconds_to_ns(1)  # no cluster is scheduled every 10 microseconds
_A_CHECK = 1_000  # changes of allocations
_NO_PROGRESS_NS = seconds_to_ns(0.1)  # in ten checks: as in `_SHORT_NS`
_PATIENCE = 10  # times _A_CHECK; times _MANY where nothing is due: eleven days at a wake-up per second


class Wakes:
    """Counts consecutive wake-ups between which nothing else happened.

    Parameters
    ----------
    policy
        Its name, for the message.
    """

    def __init__(self, policy: str) -> None:
        self._policy = policy
        self._all = self._before = self._since_ns = 0
        self._others = -1

    def many(self, now: int, events: int) -> bool:
        """Count one; return whether there are many in a row.

        Parameters
        ----------
        now, events
            The time, in nanoseconds, and the number of earlier events.
        """
        others = events - self._all
        if others != self._others:
            self._others, self._before, self._since_ns = others, self._all, now
        self._all += 1
        return (self._all - self._before) % _MANY == 0

    def check(self, now: int, due: int | None) -> None:
        """Refuse many wake-ups in a row that cannot be intended.

        Parameters
        ----------
        now, due
            The time, and that of the next event, in nanoseconds.

        Raises
        ------
        PlanError
            If the wake-ups took next to no time, or if nothing else is to come.
        """
        took_ns, self._since_ns = now - self._since_ns, now
        row = self._all - self._before
        if took_ns >= _SHORT_NS and (due is not None or row < _PATIENCE * _MANY):
            return
        ahead = "nothing else is due" if due is None else f"the next event is due at {ns_to_seconds(due)} s"
        raise PlanError(
            f"policy {self._policy} woke itself {row:,} times in a row, the last {_MANY:,} times within "
            f"{ns_to_seconds(took_ns)} s, and changed nothing, at {ns_to_seconds(now)} s; {ahead}; "
            "wake_at takes nanoseconds"
        )


class Futile:
    """Counts changes of allocations and machines in a row in which no job arrives, finishes or gets further.

    Parameters
    ----------
    policy
        Its name, for the message.
    """

    def __init__(self, policy: str) -> None:
        self._policy = policy
        self.restart()

    def restart(self) -> None:
        """Start counting again, after a job arrived or finished."""
        self._changes = self._since = self._machines = 0
        self._furthest: Ints | None = None

    def many(self, *, machine: bool = False) -> bool:
        """Count a change of an allocation, or of a machine; return whether it is time for a check."""
        self._changes += 1
        self._machines += machine
        return self._changes % _A_CHECK == 0

    def story(self, now: int, progress_ns: Ints) -> str:
        """Return the end of a run in which jobs got no further in ten checks in a row; empty if they did.

        Parameters
        ----------
        now
            The time, in nanoseconds.
        progress_ns
            Running time of jobs that is not lost, shape (n_jobs,).
        """
        furthest = self._furthest
        if furthest is None or (progress_ns > furthest + _NO_PROGRESS_NS).any():
            self._since, self._machines = self._changes, 0
            self._furthest = progress_ns if furthest is None else np.maximum(furthest, progress_ns)
        elif (row := self._changes - self._since) >= _PATIENCE * _A_CHECK:
            machines = self._machines
            failures = f", and machines failed or returned {machines:,} times," if machines else ""
            remedy = "; or let machines fail less often, or have more (cluster)" if machines else ""
            return (
                f"policy {self._policy} changed allocations {row - machines:,} times{failures} in a row "
                f"without progress of any job, at {ns_to_seconds(now)} s; let a job hold its GPUs for longer "
                f"than its delays and the work that a stop loses (overheads){remedy}"
            )
        return ""
