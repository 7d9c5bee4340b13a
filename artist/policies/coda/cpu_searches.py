"""CPU searches of running GPU jobs: after a step of some seconds a job may get other CPUs. For Coda.

A job that tries more takes free CPUs, else those of borrowers; if there are none, its search ends.
"""

from collections.abc import Iterator
from heapq import heappop, heappush

from artist.core.view import ClusterView
from artist.policies.coda.core_allocator import CpuSearch
from artist.policies.coda.gpu_array import GpuArray, GpuHeld


class CpuSearches:
    """The timers of all searches.

    Parameters
    ----------
    step_ns
        Length of a step.

    Attributes
    ----------
    series
        (time in ns, "steps of <model>", steps measured) at the end of each search.
    """

    def __init__(self, gpus: GpuArray, step_ns: int) -> None:
        self.series: list[tuple[int, str, float]] = []
        self._gpus, self._step_ns = gpus, step_ns
        self._heap: list[tuple[int, int, int, CpuSearch]] = []  # due time, a count, job, search
        self._count = 0

    def begin(self, job: int, now: int) -> None:
        """Schedule the next step of a job's search, if it has one."""
        search = self._gpus.jobs[job].search
        if search is not None:
            self._count += 1
            heappush(self._heap, (now + self._step_ns, self._count, job, search))

    def next_time(self) -> int | None:
        """Return the time at which the next step ends, None if there is none."""
        while self._heap:
            time, _, job, search = self._heap[0]
            held = self._gpus.jobs.get(job)
            if held is not None and held.search is search:
                return time
            heappop(self._heap)
        return None

    def step(self, view: ClusterView) -> Iterator[tuple[int, GpuHeld]]:
        """Yield jobs whose step is over and that now use other CPUs, with their allocations."""
        due = []
        while (time := self.next_time()) is not None and time <= view.now_ns:
            due.append(heappop(self._heap)[2])
        if not due:
            return
        utilization = view.columns(due).observed_gpu_utilization.tolist()
        for job, used in zip(due, utilization, strict=True):
            if self._advance(job, used, view.now_ns):
                yield job, self._gpus.jobs[job]

    def _advance(self, job: int, utilization: float, now: int) -> bool:
        """Take the next step of a search, or end it; return whether the job uses other CPUs."""
        held = self._gpus.jobs[job]
        search, before, used = held.search, held.cpus, held.allocation.cpus
        assert search is not None
        tried = search.next(utilization, lambda cpus: self._gpus.may_have(held, cpus))
        self._gpus.give(held, search.cpus, keep=search.cpus if tried is None else max(before, search.cpus))
        if tried is None:
            self.series.append((now, f"steps of {held.wish.info.model}", search.steps))
        else:
            self.begin(job, now)
        return held.allocation.cpus != used
