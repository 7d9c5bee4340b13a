"""Reclaims: returns of lent machines to their own pools, and their cost for the jobs on them."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from artist.core.cluster import Allocation, Cluster
from artist.recording.names import RECLAIMED

_HOW = RECLAIMED[:3]


class Reclaims:
    """Counts of the instants at which machines came back to the pools that they began in.

    At such an instant a machine was idle before the policy acted (a job that finishes then is gone before);
    else preempting, if a job that was on it was preempted; else flexible: its jobs shrank, or moved away.
    Only jobs that were on returned machines count as preempted by the reclaim, also if they start again at
    the same instant. Their collateral is what they held on machines that do not go back (the Lyra paper,
    section 7.3: "GPUs vacated in excess of the reclaiming demand").

    Attributes
    ----------
    counts
        Machines that came back so far, by how they were cleared, and preempted jobs; the keys are RECLAIMED.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._home = [machine.pool for machine in cluster.machines]
        self._gpus = [machine.gpus for machine in cluster.machines]
        self._before: dict[int, Allocation | None] = {}  # by job that changed: held when the instant began
        self._left = 0  # jobs that ran then, and finished or were evicted
        self._preempted: dict[int, None] = {}
        self._pool_before: dict[int, str] = {}  # by machine that changed its pool
        self._collateral_gpus = self._returned_gpus = 0
        self.counts = dict.fromkeys(RECLAIMED, 0)
        self._of_running: list[float] = []  # a number for each instant at which a machine had to be cleared
        self._flexible_met: list[float] = []

    def change(self, job: int, held: Allocation | None) -> None:
        """Record that a job starts, or changes or loses its allocation."""
        self._before.setdefault(job, held)

    def preempt(self, job: int, held: Allocation) -> None:
        """Record that a job is preempted."""
        self._before.setdefault(job, held)
        self._preempted[job] = None

    def leave(self, job: int, held: Allocation) -> None:
        """Record that a job finishes, or is evicted: the policy did not cause it."""
        self._left += self._before.get(job, held) is not None
        self._before[job] = None

    def assign(self, machine: int, pool: str) -> None:
        """Note that a machine goes, and from which pool."""
        self._pool_before.setdefault(machine, pool)

    def close_instant(self, pools: Sequence[str], running: int) -> None:
        """Count the reclaims of an instant.

        Parameters
        ----------
        pools
            Pool of each machine after it.
        running
            Jobs that ran before it.
        """
        if self._pool_before:
            home = self._home
            returned = {m: "idle" for m, pool in self._pool_before.items() if pool != home[m] == pools[m]}
            if returned:
                self._count(returned, running - self._left)
        self._left = 0
        self._before.clear()
        self._preempted.clear()
        self._pool_before.clear()

    def summary(self) -> Mapping[str, Any]:
        """Return the counts; means are None if no machine came back, or none had to be cleared.

        `machines` that came back were `idle`, `flexible` or `preempting`; `preempted_jobs` were on these.
        `of_running` and `flexible_met` are means over the instants at which a machine had to be cleared: of
        the preempted jobs / jobs that ran before, and of the flexible / all machines that had to be cleared.
        A machine whose jobs would have shrunk counts as preempting if one of them was preempted for another
        machine, so `flexible_met` is no more than what the flexible group met. `collateral` is the
        collateral GPUs / the GPUs of all machines that came back, the idle ones too.
        """
        return {
            "machines": sum(self.counts[how] for how in _HOW),
            **self.counts,
            "of_running": _mean(self._of_running),
            "flexible_met": _mean(self._flexible_met),
            "collateral_gpus": self._collateral_gpus,
            "collateral": self._collateral_gpus / self._returned_gpus if self._returned_gpus else None,
        }

    def _count(self, returned: dict[int, str], running: int) -> None:
        """Count the machines that came back, by how they were cleared; idle ones are marked so far."""
        preempted = 0
        for job, before in self._before.items():
            here = [s.machine for s in before.slices if s.machine in returned] if before else []
            if here and job in self._preempted:
                preempted += 1
                assert before is not None
                self._collateral_gpus += sum(s.gpus for s in before.slices if s.machine not in returned)
            for machine in here:
                if job in self._preempted:
                    returned[machine] = "preempting"
                elif returned[machine] == "idle":
                    returned[machine] = "flexible"
        cleared = Counter(returned.values())
        for how in _HOW:
            self.counts[how] += cleared[how]
        self.counts["preempted_jobs"] += preempted
        self._returned_gpus += sum(self._gpus[machine] for machine in returned)
        had_to = cleared["flexible"] + cleared["preempting"]
        if had_to:
            self._of_running.append(preempted / running)
            self._flexible_met.append(cleared["flexible"] / had_to)


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
