"""Detection of a policy that wakes itself endlessly while nothing changes: such a run would not end."""

from artist.errors import PlanError
from artist.units import ns_to_seconds, seconds_to_ns

_MANY = 100_000
_SHORT_NS = seconds_to_ns(1)  # no cluster is scheduled every 10 microseconds
_PATIENCE = 10  # times _MANY where nothing runs and nothing is due: eleven days at a wake-up per second


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
