"""Delay timers of delay scheduling: fixed, or tuned by how long others had to wait. For Dally.

A timer says how long a job of a demand waits for a tier before it takes a wider one. Tuned, it is the
mean of the waits of those who accepted that tier with that demand, plus two sample standard deviations;
waits accepted longer ago than the history reaches are forgotten. With fewer than two of them it is the
default.
"""

from collections import deque
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Literal

from artist.units import ns_to_seconds

WaitTier = Literal["machine", "rack"]


@dataclass
class Timers:
    """The timers of all demands.

    Attributes
    ----------
    default_ns
        Of machine and rack, both from the start of the wait.
    history_ns
        How long an accepted wait counts; None for timers that are never tuned.
    series
        (time in ns, "machine timer, 8 GPUs", seconds) whenever a tuned timer got another value.
    """

    default_ns: dict[WaitTier, int]
    history_ns: int | None
    series: list[tuple[int, str, float]] = field(default_factory=list)
    _waits: dict[tuple[WaitTier, int], deque[tuple[int, int]]] = field(default_factory=dict)
    _last: dict[tuple[WaitTier, int], int] = field(default_factory=dict)

    def accepted(self, tier: WaitTier, gpus: int, wait_ns: int, now: int) -> None:
        """Take note that a job of a demand accepted a tier after a wait."""
        if self.history_ns is not None:
            self._waits.setdefault((tier, gpus), deque()).append((now, wait_ns))

    def timer_ns(self, tier: WaitTier, gpus: int, now: int) -> int:
        """Return how long a job of a demand waits for a tier."""
        waits = self._waits.get((tier, gpus))
        if self.history_ns is None or waits is None:
            return self.default_ns[tier]
        while waits and now - waits[0][0] > self.history_ns:
            waits.popleft()
        timer = self.default_ns[tier] if len(waits) < 2 else _tuned([wait for _, wait in waits])
        if self._last.get((tier, gpus)) != timer:
            self._last[tier, gpus] = timer
            self.series.append((now, f"{tier} timer, {gpus} GPUs", ns_to_seconds(timer)))
        return timer


def _tuned(waits: list[int]) -> int:
    return round(fmean(waits) + 2 * stdev(waits))
