"""Observer of the use of storage, CPUs, GPUs and network, and of the blocking index.

The use of a resource is the sum over jobs of GPUs held x stage / iteration time, over the GPUs that there
are: the part of the GPUs' time in which a job on them uses it (Muri, SIGCOMM 2022, section 6.2 and Fig. 8). A
job uses a resource at most all the time, and nothing while a delay lasts. Jobs that are packed may use one at
the same time; then both count.

Where jobs need CPUs and memory, also the shares of the cluster's CPUs and memory that jobs hold and use, and
of its GPUs that they use: a GPU while it computes, as many CPUs as prepare the input at the speed at which a
job runs, and the memory of its processes and of what it caches; nothing while a delay lasts.

How long waiting jobs are blocked is the blocking index of Muri (SIGCOMM 2022, section 6.1).
"""

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np

from artist.core.cluster import Allocation, Cluster
from artist.core.events import Arrival, Change, Event, Finish, Gauges, MachineEvent, Reprice, Start, Stop
from artist.core.job import JobSpec, Stages
from artist.core.result import RunResult
from artist.recording.names import BLOCKING, RESOURCE_COLUMNS, RESOURCES, RESOURCES_FILE, SHARES
from artist.recording.topic import Table, Topic

_PARTS_OF_1 = 1 << 120  # parts of 1: a job that lasts 100 years still has a rate of 2^58 a ns


class Blocked:
    """The jobs that wait, and the mean over them of time waited in their lives / compute time of their rest.

    The ratio of a waiting job grows at the rate 1 / rest, so the mean at any time follows from two sums. They
    are whole numbers, so they return to 0 exactly, however many jobs came and went.
    """

    def __init__(self, n_jobs: int) -> None:
        self._waited_ns = array("q", bytes(8 * n_jobs))  # before the present wait
        self._waiting: dict[int, tuple[int, int]] = {}  # job -> start of its wait, rate
        self._rate = 0  # sum over those that wait
        self._at_zero = 0  # sum of their ratios, carried back to time 0

    def wait(self, job: int, now: int, rest_ns: int) -> None:
        """Start the wait of a job whose remaining work computes for this long."""
        rate = _PARTS_OF_1 // rest_ns
        self._waiting[job] = now, rate
        self._rate += rate
        self._at_zero += rate * (self._waited_ns[job] - now)

    def go(self, job: int, now: int) -> None:
        """End the wait of a job."""
        since, rate = self._waiting.pop(job)
        self._rate -= rate
        self._at_zero -= rate * (self._waited_ns[job] - since)
        self._waited_ns[job] += now - since

    def index(self, start_ns: int, end_ns: int) -> float:
        """Return the mean over a span (possibly empty) without starts or ends of waits; 0 if no job waits.

        One job waits from 0 s on, its rest takes 4 s: 0.75 at 3 s, and 0.5 on average from 1 s to 3 s.

        >>> blocked = Blocked(1)
        >>> blocked.wait(0, 0, 4)
        >>> blocked.index(3, 3), blocked.index(1, 3)
        (0.75, 0.5)
        """
        twice = 2 * self._at_zero + self._rate * (start_ns + end_ns)
        return twice / (2 * _PARTS_OF_1 * len(self._waiting)) if self._waiting else 0.0


_ONE = 1 << 60  # parts of a GPU, CPU or byte: whole numbers, so that sums come back to 0 exactly
_PRESENT = {"fail": False, "left": False, "join": True}

StagesOf = Callable[[JobSpec, Allocation, Cluster], Stages]
InputsOf = Callable[[JobSpec, Allocation, Cluster, int], tuple[float, float]]


@dataclass(slots=True)
class _Running:
    """A running job: its allocation, the end of its delay, and its use until then, after it, and now."""

    allocation: Allocation
    ready_ns: int
    held: tuple[int, ...]
    uses: tuple[int, ...]
    counted: tuple[int, ...]
    stages: Stages | None = None


class Resources(Topic):
    """Observer that records the use of resources and the blocking index, in 48 or 88 bytes per change.

    Parameters
    ----------
    jobs, cluster
        The engine's; an event's job is an index into them.
    stages
        How long an iteration of a job uses each resource where it is placed (`Performance.stages`).
    inputs
        How many CPUs and bytes of memory a job uses where it is placed, at an iteration time; None where jobs
        need none.

    Attributes
    ----------
    columns
        RESOURCE_COLUMNS, and SHARES where jobs need CPUs and memory.
    row_ns, row_values : array
        One entry, and one for each of `columns`, per span of time in which nothing changes: when it begins;
        the use of each resource, as a part of the GPUs, the mean blocking index of the span, and the shares.
    """

    rates = True  # asks the engine for changes of iteration time

    def __init__(
        self,
        jobs: Sequence[JobSpec],
        cluster: Cluster,
        stages: StagesOf,
        inputs: InputsOf | None = None,
    ) -> None:
        self.columns = RESOURCE_COLUMNS if inputs is None else (*RESOURCE_COLUMNS, *SHARES)
        self.row_ns = array("q")
        self.row_values = array("d")
        self._jobs = jobs
        self._cluster = cluster
        self._stages = stages
        self._inputs = inputs
        self._running: dict[int, _Running] = {}
        self._delays: list[tuple[int, int]] = []  # a heap of (end, job); some no longer hold
        self._blocked = Blocked(len(jobs))
        self._nothing = (0,) * (len(RESOURCES) if inputs is None else len(RESOURCES) + len(SHARES))
        self._present = [machine.present for machine in cluster.machines]
        self._capacity = [0, 0, 0]  # GPUs, CPUs, memory
        for machine, present in enumerate(self._present):
            self._add_capacity(machine, int(present))
        self._uses = list(self._nothing)
        self._used = list(self._nothing)  # integrals over time up to the open row
        self._there = [0, 0, 0]  # of the capacity, likewise
        self._open_ns = 0  # when the open row begins

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        """Record the events of one instant, in order, and the state after them."""
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
            elif isinstance(event, MachineEvent):
                self._come_or_go(event)

    def close(self, end_ns: int) -> None:
        """Record the end of the run; the last row has the use at that time."""
        self._end_delays(end_ns)
        self._open_row(end_ns)
        self._write_row(end_ns)

    def tables(self) -> Mapping[str, Table]:
        """Return the use of resources over time, of a closed run."""
        values = np.array(self.row_values).reshape(len(self.row_ns), len(self.columns)).T
        return {RESOURCES_FILE: Table(np.array(self.row_ns), dict(zip(self.columns, values, strict=True)))}

    def summary_entries(self, result: RunResult) -> Mapping[str, Any]:
        """Return `means`."""
        return self.means(result)

    def means(self, result: RunResult) -> dict[str, Any]:
        """Return the summary of a closed run: means over its GPUs' time, and over its time."""
        end_ns = result.end_ns
        starts, indices = self.row_ns, self.row_values[len(RESOURCES) :: len(self.columns)]
        spans = (indices[i] * (starts[i + 1] - starts[i]) for i in range(len(starts) - 1))
        means = [
            used / (whole * _ONE) if whole else None
            for used, whole in zip(self._used, self._wholes(self._there), strict=True)
        ]
        blocking = math.fsum(spans) / end_ns if end_ns else None
        entries = {"resources": dict(zip(RESOURCES, means, strict=False)), BLOCKING: blocking}
        if self._inputs is not None:
            entries["shares"] = dict(zip(SHARES, means[len(RESOURCES) :], strict=True))
        return entries

    # --- changes of a job, or a machine

    def _wait(self, job: int, now: int, done: int) -> None:
        spec = self._jobs[job]
        self._open_row(now)
        self._blocked.wait(job, now, (int(spec.iterations) - done) * int(spec.compute_ns))

    def _hold(self, event: Start | Change) -> None:
        """Record a job's allocation; its new iteration time, which determines its use, follows."""
        now, job = event.time_ns, event.job
        running = self._running.get(job)
        if running is None:
            self._open_row(now)
            self._blocked.go(job, now)
            nothing = self._nothing
            running = self._running[job] = _Running(event.allocation, now, nothing, nothing, nothing)
        running.allocation, running.stages = event.allocation, None
        ready_ns = now + int(event.delay_ns)
        if ready_ns > running.ready_ns:
            running.ready_ns = ready_ns
            heappush(self._delays, (ready_ns, job))

    def _price(self, event: Reprice) -> None:
        running, whole = self._running[event.job], event.iteration_ns
        spec, allocation = self._jobs[event.job], running.allocation
        if running.stages is None:  # not asked before the engine has asked for the price: its answer is kept
            running.stages = self._stages(spec, allocation, self._cluster)
        parts = int(allocation.gpus) * _ONE  # numpy's integers would overflow
        uses = tuple(parts * int(min(stage, whole)) // whole for stage in running.stages)
        if self._inputs is None:
            running.uses = uses
        else:
            cpus = sum(int(s.cpus) for s in allocation.slices) * _ONE
            memory = sum(int(s.memory_bytes) for s in allocation.slices) * _ONE
            cpus_used, memory_used = self._inputs(spec, allocation, self._cluster, whole)
            busy = int(parts * spec.gpu_utilization)
            computing = busy * int(event.parts.compute_ns) // whole
            running.held = (0, 0, 0, 0, 0, cpus, 0, memory, 0)
            running.uses = (*uses, computing, cpus, int(cpus_used * _ONE), memory, int(memory_used * _ONE))
        self._count(running, event.time_ns)

    def _let_go(self, job: int, now: int) -> None:
        running = self._running.pop(job)
        running.held = running.uses = self._nothing
        self._count(running, now)

    def _come_or_go(self, event: MachineEvent) -> None:
        present = _PRESENT.get(event.type)
        if present is not None and present != self._present[event.machine]:
            self._open_row(event.time_ns)
            self._present[event.machine] = present
            self._add_capacity(event.machine, 1 if present else -1)

    def _add_capacity(self, machine: int, sign: int) -> None:
        facts = self._cluster.machines[machine]
        for i, amount in enumerate((facts.gpus, facts.cpus, facts.memory_bytes)):
            self._capacity[i] += sign * int(amount)

    # --- sums and rows

    def _end_delays(self, until_ns: int) -> None:
        """Count the use of jobs whose delays have ended."""
        while self._delays and self._delays[0][0] <= until_ns:
            at, job = heappop(self._delays)
            running = self._running.get(job)
            if running is not None:
                self._count(running, at)

    def _count(self, running: _Running, now: int) -> None:
        """Update the counted use of a job."""
        uses = running.uses if running.ready_ns <= now else running.held
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
            for i, amount in enumerate(self._capacity):
                self._there[i] += amount * span_ns
            self._open_ns = now

    def _write_row(self, end_ns: int) -> None:
        self.row_ns.append(self._open_ns)
        shares = [
            uses / (whole * _ONE) if whole else 0.0
            for uses, whole in zip(self._uses, self._wholes(self._capacity), strict=True)
        ]
        blocking = self._blocked.index(self._open_ns, end_ns)
        self.row_values.extend([*shares[: len(RESOURCES)], blocking, *shares[len(RESOURCES) :]])

    def _wholes(self, of: Sequence[int]) -> list[int]:
        """Return the denominators of the shares, from GPUs, CPUs and memory."""
        gpus, cpus, memory = of
        shares = () if self._inputs is None else (gpus, cpus, cpus, memory, memory)
        return [*(gpus,) * len(RESOURCES), *shares]
