"""Timers of delay scheduling: fixed, or tuned to the waits of other jobs. For Dally.

A timer is the time for which a job of a demand waits for a tier before it takes a wider one; the policy
measures the wait (`policy.py`). A tuned timer is
the mean of the waits of jobs that accepted that tier with that demand, plus two sample standard deviations;
waits accepted longer ago than the history reaches, or waits longer than it, are discarded. With fewer than
two of them it is the default.
"""

from collections import deque
from dataclasses import dataclass, field
from math import sqrt
from typing import Literal

from artist.units import ns_to_seconds

_HOUR_S = 3600
WaitTier = Literal["machine", "rack"]


@dataclass
class Timers:
    """The timers of all demands.

    Attributes
    ----------
    default_ns
        Of machine and rack, both from the start of the wait.
    history_ns
        History limit; None for timers that are never tuned.
    discard
        Waits that do not count: accepted longer ago than the limit (age), or longer than it (length).
    series
        (time in ns, "machine timer, 8 GPUs (h)", hours) whenever the value of a tuned timer changed.
    """

    default_ns: dict[WaitTier, int]
    history_ns: int | None
    discard: Literal["age", "length"] = "age"
    series: list[tuple[int, str, float]] = field(default_factory=list)
    _waits: dict[tuple[WaitTier, int], "_Waits"] = field(default_factory=dict)
    _last: dict[tuple[WaitTier, int], int] = field(default_factory=dict)

    def accepted(self, tier: WaitTier, gpus: int, wait_ns: int, now: int) -> None:
        """Record that a job of a demand accepted a tier after a wait."""
        if self.history_ns is not None and (self.discard == "age" or wait_ns <= self.history_ns):
            self._waits.setdefault((tier, gpus), _Waits()).add(now, wait_ns)

    def timer_ns(self, tier: WaitTier, gpus: int, now: int) -> int:
        """Return the time for which a job of a demand waits for a tier."""
        waits = self._waits.get((tier, gpus))
        if self.history_ns is None or waits is None:
            return self.default_ns[tier]
        if self.discard == "age":
            waits.forget(now - self.history_ns)
        timer = waits.timer_ns
        if timer is None:
            timer = self.default_ns[tier]
        if self._last.get((tier, gpus)) != timer:
            self._last[tier, gpus] = timer
            self.series.append((now, f"{tier} timer, {gpus} GPUs (h)", ns_to_seconds(timer) / _HOUR_S))
        return timer


class _Waits:
    """Accepted waits with their exact sums, so that a timer costs the same for any number of waits."""

    def __init__(self) -> None:
        self._accepted: deque[tuple[int, int]] = deque()  # time of acceptance, wait
        self._sum = self._squares = 0
        self._timer_ns: int | None = None

    def add(self, now: int, wait_ns: int) -> None:
        """Record a wait."""
        self._accepted.append((now, wait_ns))
        self._count(wait_ns, 1)

    def forget(self, before: int) -> None:
        """Forget waits that were accepted before a time."""
        while self._accepted and self._accepted[0][0] < before:
            self._count(self._accepted.popleft()[1], -1)

    @property
    def timer_ns(self) -> int | None:
        """Mean + 2 sample standard deviations; None for fewer than two waits."""
        n = len(self._accepted)
        if self._timer_ns is None and n >= 2:
            variance = (n * self._squares - self._sum**2) / (n * (n - 1))
            self._timer_ns = round(self._sum / n + 2 * sqrt(variance))
        return self._timer_ns

    def _count(self, wait_ns: int, sign: int) -> None:
        self._sum += sign * wait_ns
        self._squares += sign * wait_ns**2
        self._timer_ns = None
