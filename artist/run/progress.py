"""A progress bar on stderr: jobs done, simulated time, jobs per second."""

from collections.abc import Sequence
from time import monotonic
from types import TracebackType
from typing import Never, Self

from tqdm import tqdm

from artist.core.events import Event, Finish, Gauges
from artist.units import ns_to_seconds

_PERIOD_S = 0.2
_INSTANTS = 64  # look at the clock once in so many instants


class ProgressBar:
    """Observer that shows how far a run is; results do not depend on it.

    Parameters
    ----------
    n_jobs
        Jobs of the workload.
    """

    def __init__(self, n_jobs: int) -> None:
        self._bar: tqdm[Never] = tqdm(total=n_jobs, unit="job", leave=False, miniters=1, mininterval=0)
        self._done = self._instants = self._time_ns = 0
        self._next = 0.0

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        """Count what finished, and show it a few times a second."""
        for event in events:
            if type(event) is Finish:
                self._done += 1
        self._instants += 1
        if self._instants % _INSTANTS == 0 and monotonic() >= self._next:
            self._show(time_ns)

    def _show(self, time_ns: int) -> None:
        days, seconds = divmod(int(ns_to_seconds(time_ns)), 86_400)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        self._bar.set_postfix_str(f"simulated {days} d {clock}", refresh=False)
        self._bar.update(self._done - self._bar.n)
        self._next = monotonic() + _PERIOD_S

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
