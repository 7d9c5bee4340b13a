"""Victims: running jobs that make room for one that may preempt them."""

from collections.abc import Callable, Collection
from functools import cmp_to_key
from operator import attrgetter
from typing import Any, Literal

from artist.policies.slurm.job import Job
from artist.policies.slurm.nodes import Nodes

PreemptPlugin = Literal["preempt/none", "preempt/partition_prio", "preempt/qos"]


class Preemption:
    """Preemption by the tier of partitions, or by QOS.

    Parameters
    ----------
    preempt_type, mode
        PreemptType, and PreemptMode where partition or QOS have none.
    reorder_count
        preempt_reorder_count.
    """

    def __init__(self, preempt_type: PreemptPlugin, mode: str, reorder_count: int) -> None:
        self._type, self._mode, self._reorder_count = preempt_type, mode, reorder_count

    def may_preempt(self, job: Job) -> bool:
        """Return whether there may be jobs that this one may preempt."""
        if self._type == "preempt/partition_prio":
            return job.partition.PriorityTier > 0
        return self._type == "preempt/qos" and job.qos is not None and bool(job.qos.Preempt)

    def queue_key(self) -> Callable[[Job], Any]:
        """Return the key of jobs in the queue: one that may preempt another is first, then by rank."""

        def compare(one: Job, other: Job) -> int:
            if self._is_candidate(one, other):
                return -1
            return 1 if self._is_candidate(other, one) or other.rank < one.rank else -1

        return (
            cmp_to_key(compare) if self._type == "preempt/qos" and self._mode != "OFF" else attrgetter("rank")
        )

    def cancels(self, victim: Job) -> bool:
        """Return whether a victim ends, rather than waits again."""
        return self._mode_of(victim) == "CANCEL"

    def grace_s(self, victim: Job) -> float:
        """Return the grace time of a victim in s."""
        by_qos = self._type == "preempt/qos" and victim.qos is not None
        return victim.qos.GraceTime if by_qos and victim.qos else victim.partition.GraceTime

    def victims(
        self, nodes: Nodes, job: Job, running: Collection[Job], among: int
    ) -> tuple[int, list[Job]] | None:
        """Return the nodes for a job, and the jobs that must stop for it; None if it does not fit so.

        Candidates are removed, those of the lowest tier or QOS priority first, then of the fewest nodes, then
        by number, until the job fits. This is repeated up to `reorder_count` + 1 times, with the one removed
        last first and the others that were by the number of chosen nodes that they hold. Victims are those
        removed that hold chosen nodes.
        """
        candidates = self.candidates(job, running)
        for attempt in range(self._reorder_count + 2):
            removed = list[Job]()
            for one in candidates:
                if not nodes.use_of(one.number).nodes & among:
                    continue
                removed.append(one)
                able = nodes.able_without(job.need, [gone.number for gone in removed]) & among
                if able.bit_count() >= job.nodes:
                    break
            else:
                return None
            numbers = [one.number for one in removed]
            chosen = nodes.choose(able, job.nodes, without=numbers, spread=job.partition.LLN)
            held = {one.number: (nodes.use_of(one.number).nodes & chosen).bit_count() for one in removed}
            if attempt > self._reorder_count or len(candidates) <= attempt + 1:
                break
            held[removed[-1].number] = len(nodes.cluster) + 1
            candidates.sort(key=lambda one: -held.get(one.number, 0))
        return chosen, [one for one in removed if held[one.number]]

    def candidates(self, job: Job, running: Collection[Job]) -> list[Job]:
        """Return the running jobs that a job may preempt, in the order in which they would be."""
        candidates = [one for one in running if self._is_candidate(job, one)]
        return sorted(candidates, key=lambda one: (self._standing(one), one.nodes, one.number))

    def _is_candidate(self, job: Job, victim: Job) -> bool:
        if self._type == "preempt/partition_prio":
            lower = victim.partition.PriorityTier < job.partition.PriorityTier
            return lower and self._mode_of(victim) != "OFF"
        if self._type == "preempt/qos" and job.qos is not None and victim.qos is not None:
            may = victim.qos.Name in job.qos.Preempt
            return may and self._mode_of(victim) != "OFF"
        return False

    def _mode_of(self, victim: Job) -> str:
        of = victim.qos if self._type == "preempt/qos" and victim.qos is not None else victim.partition
        return of.PreemptMode or self._mode

    def _standing(self, victim: Job) -> int:
        if self._type == "preempt/qos":
            return victim.qos.Priority if victim.qos else 0
        return victim.partition.PriorityTier
