"""Walks of running GPU jobs: a step of some seconds each, after which a job may get other CPUs. For Coda.

A job that is to try more takes free CPUs, else those of borrowers; if there are none, its walk ends.
"""

from collections.abc import Iterator
from heapq import heappop, heappush

from artist.core.view import ClusterView
from artist.policies.coda.core_allocator import Walk
from artist.policies.coda.gpu_array import GpuArray, GpuHeld


class Walks:
    """The timers of all walks.

    Parameters
    ----------
    step_ns
        Length of a step.

    Attributes
    ----------
    series
        (time in ns, "steps of <model>", steps measured) at the end of each walk.
    """

    def __init__(self, gpus: GpuArray, step_ns: int) -> None:
        self.series: list[tuple[int, str, float]] = []
        self._gpus, self._step_ns = gpus, step_ns
        self._heap: list[tuple[int, int, int, Walk]] = []  # due time, a count, job, walk
        self._count = 0

    def begin(self, job: int, now: int) -> None:
        """Schedule the next step of a job's walk, if it has one."""
        walk = self._gpus.jobs[job].walk
        if walk is not None:
            self._count += 1
            heappush(self._heap, (now + self._step_ns, self._count, job, walk))

    def next_time(self) -> int | None:
        """Return when the next step ends, None if there is none."""
        while self._heap:
            time, _, job, walk = self._heap[0]
            held = self._gpus.jobs.get(job)
            if held is not None and held.walk is walk:
                return time
            heappop(self._heap)
        return None

    def step(self, view: ClusterView) -> Iterator[tuple[int, GpuHeld]]:
        """Yield jobs whose step is over and that now use other CPUs, and what they hold."""
        due = []
        while (time := self.next_time()) is not None and time <= view.now_ns:
            due.append(heappop(self._heap)[2])
        if not due:
            return
        utilization = view.columns(due).observed_gpu_utilization.tolist()
        for job, used in zip(due, utilization, strict=True):
            if self._go_on(job, used, view.now_ns):
                yield job, self._gpus.jobs[job]

    def _go_on(self, job: int, utilization: float, now: int) -> bool:
        """Take the next step of a walk, or end it; return whether the job uses other CPUs."""
        held = self._gpus.jobs[job]
        walk, before, used = held.walk, held.cpus, held.allocation.cpus
        assert walk is not None
        tried = walk.next(utilization, lambda cpus: self._gpus.may_have(held, cpus))
        self._gpus.give(held, walk.cpus, keep=walk.cpus if tried is None else max(before, walk.cpus))
        if tried is None:
            self.series.append((now, f"steps of {held.wish.info.model}", walk.steps))
        else:
            self.begin(job, now)
        return held.allocation.cpus != used
