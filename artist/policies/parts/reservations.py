"""Starts that are planned ahead: free resources over time, by time limits. Shared by policies."""

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np

from artist.core.buckets import ALL
from artist.core.cluster import Allocation
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.parts.placer import Placer


class Timeline:
    """Free resources from now on, if each running job ends at its limit.

    They are a step function of time; the last step has no end.

    Parameters
    ----------
    now_ns
        The time.
    free
        Resources that are free now.
    running
        Planned end, in ns, and allocation of each running job. Ends in the past count as 1 ns from now.
    among
        The machines that may serve, as a set of `artist.core.buckets`.
    """

    def __init__(
        self, now_ns: int, free: Free, running: Iterable[tuple[int, Allocation]], among: int = ALL
    ) -> None:
        self._cluster, self._accepts, self._among = free.cluster, free.accepts, among
        first = np.stack([free.gpus, free.cpus, free.memory_bytes])
        self._times = [now_ns]
        self._room = first[None].copy()  # (n_steps, 3, n_machines)
        for end_ns, allocation in sorted(running, key=lambda one: one[0]):
            self._change(allocation, self._split(max(end_ns, now_ns + 1)), len(self._times), 1)

    def earliest(
        self, demand: Demand, limit_ns: int, placer: Placer, last_ns: int
    ) -> tuple[int, Allocation] | None:
        """Return the first time, `last_ns` at the latest, from which a job has room for its limit, and where.

        None if there is no such time.
        """
        need = demand.min_feasible_gpus
        enough = np.flatnonzero(self._room[:, 0].sum(axis=1) >= need).tolist()
        for step in enough:
            start_ns = self._times[step]
            if start_ns > last_ns:
                break
            until = bisect_left(self._times, start_ns + limit_ns, lo=step + 1)
            room = self._room[step:until].min(axis=0)
            if int(room[0].sum()) < need:
                continue
            allocation = placer.place(
                Free(self._cluster, room[0], room[1], room[2], self._accepts), demand, self._among
            )
            if allocation is not None:
                return start_ns, allocation
        return None

    def take(self, allocation: Allocation, start_ns: int, limit_ns: int) -> None:
        """Take the resources of a job from its start to its limit."""
        first = self._split(start_ns)
        self._change(allocation, first, self._split(start_ns + limit_ns), -1)

    def give(self, allocation: Allocation, start_ns: int, limit_ns: int) -> None:
        """Give back the resources of a job that were taken from its start to its limit."""
        first = self._split(start_ns)
        self._change(allocation, first, self._split(start_ns + limit_ns), 1)

    def holds(self, allocation: Allocation, start_ns: int, limit_ns: int) -> bool:
        """Return whether an allocation has room from a start to its limit."""
        first = self._split(start_ns)
        room = self._room[first : self._split(start_ns + limit_ns)]
        return all(
            (room[:, :, s.machine] >= (s.gpus, s.cpus, s.memory_bytes)).all() for s in allocation.slices
        )

    def _split(self, time_ns: int) -> int:
        """Return the step that begins at a time; it is made if there is none."""
        step = bisect_left(self._times, time_ns)
        if step == len(self._times) or self._times[step] != time_ns:
            self._times.insert(step, time_ns)
            self._room = np.insert(self._room, step, self._room[step - 1], axis=0)
        return step

    def _change(self, allocation: Allocation, first: int, until: int, sign: int) -> None:
        for s in allocation.slices:
            if self._accepts is None or self._accepts[s.machine]:
                of_job = np.array((s.gpus, s.cpus, s.memory_bytes), dtype=np.int64)
                self._room[first:until, :, s.machine] += sign * of_job
