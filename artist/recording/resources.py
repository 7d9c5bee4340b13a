"""Observer of the use of storage, CPUs, GPUs and network, and of the blocking index.

The use of a resource is the sum over jobs of GPUs held x stage / iteration time, over the GPUs that there
are: the part of the GPUs' time in which a job on them uses it (Muri, SIGCOMM 2022, section 6.2 and Fig. 8). A
job uses a resource at most all the time, and nothing while a delay lasts. Jobs that are packed may use one at
the same time; then both count.
"""

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from artist.core.cluster import Allocation, Cluster
from artist.core.events import Arrival, Change, Event, Finish, Gauges, Reprice, Start, Stop
from artist.core.job import JobSpec, Stages
from artist.core.result import RunResult
from artist.recording.blocking import Blocked
from artist.recording.names import BLOCKING, RESOURCE_COLUMNS, RESOURCES

_ONE = 1 << 60  # parts of a GPU: whole numbers, so that sums come back to 0 exactly
_NOTHING = (0, 0, 0, 0)

StagesOf = Callable[[JobSpec, Allocation, Cluster], Stages]


@dataclass(slots=True)
class _Running:
    """A running job: what it holds, when its delay ends, what it uses then, and what of it is counted."""

    allocation: Allocation
    ready_ns: int
    stages: Stages | None = None
    uses: tuple[int, ...] = _NOTHING
    counted: tuple[int, ...] = _NOTHING


class Resources:
    """Observer that remembers what is in use, and how blocked jobs are, in 48 bytes a change.

    Parameters
    ----------
    jobs, cluster
        The engine's; an event's job is an index into them.
    stages
        How long an iteration of a job uses each resource where it is placed (`Performance.stages`).

    Attributes
    ----------
    row_ns, row_values : array
        One entry, and one for each of RESOURCE_COLUMNS, per span of time in which nothing changes: when it
        begins; the use of each resource, as a part of the GPUs, and the mean blocking index of the span.
    """

    rates = True  # asks the engine for changes of iteration time

    def __init__(self, jobs: Sequence[JobSpec], cluster: Cluster, stages: StagesOf) -> None:
        self.row_ns = array("q")
        self.row_values = array("d")
        self._jobs = jobs
        self._cluster = cluster
        self._stages = stages
        self._running: dict[int, _Running] = {}
        self._delays: list[tuple[int, int]] = []  # a heap of (end, job); some no longer hold
        self._blocked = Blocked(len(jobs))
        self._capacity = cluster.total_gpus
        self._uses = list(_NOTHING)
        self._used = list(_NOTHING)  # integrals over time up to the open row
        self._open_ns = 0  # when the open row begins

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        """Take note of the events of one instant, in order, and of the state after them."""
        self._end_delays(time_ns)
        for event in events:
            if isinstance(event, Reprice):
                self._price(event)
            elif isinstance(event, (Start, Change)):
                self._hold(event)
            elif isinstance(event, Finish):
                self._let_go(event.job, time_ns)
            elif isinstance(event, Arrival):
                self._wait(event.job, time_ns, 0)
            elif isinstance(event, Stop):
                self._let_go(event.job, time_ns)
                self._wait(event.job, time_ns, event.iterations_done)
        if gauges.capacity_gpus != self._capacity:
            self._open_row(time_ns)
            self._capacity = gauges.capacity_gpus

    def close(self, end_ns: int) -> None:
        """Take note of the end of the run; the last row says what was in use then."""
        self._end_delays(end_ns)
        self._open_row(end_ns)
        self._write_row(end_ns)

    def means(self, result: RunResult) -> dict[str, Any]:
        """Return what a summary says of a closed run: means over its GPUs' time, and over its time."""
        capacity, end_ns = result.capacity_gpu_ns * _ONE, result.end_ns
        starts, indices = self.row_ns, self.row_values[len(RESOURCES) :: len(RESOURCE_COLUMNS)]
        spans = (indices[i] * (starts[i + 1] - starts[i]) for i in range(len(starts) - 1))
        return {
            "resources": {
                name: used / capacity if capacity else None
                for name, used in zip(RESOURCES, self._used, strict=True)
            },
            BLOCKING: math.fsum(spans) / end_ns if end_ns else None,
        }

    # --- what happens to a job

    def _wait(self, job: int, now: int, done: int) -> None:
        spec = self._jobs[job]
        self._open_row(now)
        self._blocked.wait(job, now, (int(spec.iterations) - done) * int(spec.compute_ns))

    def _hold(self, event: Start | Change) -> None:
        """Note what a job holds; its new iteration time, which says what it uses, is told after this."""
        now, job = event.time_ns, event.job
        running = self._running.get(job)
        if running is None:
            self._open_row(now)
            self._blocked.go(job, now)
            running = self._running[job] = _Running(event.allocation, now)
        running.allocation, running.stages = event.allocation, None
        ready_ns = now + int(event.delay_ns)
        if ready_ns > running.ready_ns:
            running.ready_ns = ready_ns
            heappush(self._delays, (ready_ns, job))

    def _price(self, event: Reprice) -> None:
        running, whole = self._running[event.job], event.iteration_ns
        if running.stages is None:  # not asked before the engine has asked for the price: its answer is kept
            running.stages = self._stages(self._jobs[event.job], running.allocation, self._cluster)
        parts = int(running.allocation.gpus) * _ONE  # numpy's integers would overflow
        running.uses = tuple(parts * int(min(stage, whole)) // whole for stage in running.stages)
        self._count(running, event.time_ns)

    def _let_go(self, job: int, now: int) -> None:
        running = self._running.pop(job)
        running.uses = _NOTHING
        self._count(running, now)

    # --- sums and rows

    def _end_delays(self, until_ns: int) -> None:
        """Let jobs whose delays have ended use what they use."""
        while self._delays and self._delays[0][0] <= until_ns:
            at, job = heappop(self._delays)
            running = self._running.get(job)
            if running is not None:
                self._count(running, at)

    def _count(self, running: _Running, now: int) -> None:
        """Bring what is counted of a job up to date."""
        uses = running.uses if running.ready_ns <= now else _NOTHING
        if uses != running.counted:
            self._open_row(now)
            for i, (new, old) in enumerate(zip(uses, running.counted, strict=True)):
                self._uses[i] += new - old
            running.counted = uses

    def _open_row(self, now: int) -> None:
        """End the row that is open, before something changes."""
        span_ns = now - self._open_ns
        if span_ns:
            self._write_row(now)
            for i, uses in enumerate(self._uses):
                self._used[i] += uses * span_ns
            self._open_ns = now

    def _write_row(self, end_ns: int) -> None:
        self.row_ns.append(self._open_ns)
        whole = self._capacity * _ONE
        self.row_values.extend([uses / whole if whole else 0.0 for uses in self._uses])
        self.row_values.append(self._blocked.index(self._open_ns, end_ns))
