"""A progress bar on stderr: jobs done, simulated time, jobs per second, and slow instants."""

from collections.abc import Sequence
from threading import Event as Signal
from threading import Thread
from time import monotonic
from typing import Never, Self

from tqdm import tqdm

from artist.core.events import Event, Finish, Gauges
from artist.units import ns_to_seconds

_PERIOD_S = 0.2
_LONG_S = 1.0  # longer instants are mentioned


class ProgressBar:
    """Observer that shows the progress of a run; results do not depend on it.

    A thread draws, so that the bar advances while a policy decides or a network is simulated.
    """

    def __init__(self, n_jobs: int) -> None:
        self._bar: tqdm[Never] = tqdm(total=n_jobs, unit="job", leave=False, miniters=1, mininterval=0)
        self._done = self._instants = self._time_ns = self._waiting = 0
        self._ended = Signal()
        self._thread = Thread(target=self._draw, name="progress", daemon=True)

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        """Count finished jobs."""
        for event in events:
            if type(event) is Finish:
                self._done += 1
        self._instants += 1
        self._time_ns, self._waiting = time_ns, gauges.waiting

    def _draw(self) -> None:
        """Show the state every 0.2 s until the end."""
        seen, since = self._instants, monotonic()
        while not self._ended.wait(_PERIOD_S):
            now = monotonic()
            if self._instants != seen:
                seen, since = self._instants, now
            self._show(now - since)

    def _show(self, instant_s: float = 0.0) -> None:
        days, seconds = divmod(int(ns_to_seconds(self._time_ns)), 86_400)
        text = f"simulated {days} d {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        if instant_s > _LONG_S:
            text += f", this instant takes {instant_s:.0f} s, {self._waiting} jobs wait"
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.n = self._done
        self._bar.refresh()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()
        self._show()
        self._bar.close()
