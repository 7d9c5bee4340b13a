"""The two loops: the main one starts jobs in strict order, the backfill one around reservations."""

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from artist.core.cluster import Cluster
from artist.policies.slurm.job import Job
from artist.policies.slurm.limits import Limits
from artist.policies.slurm.nodes import Nodes
from artist.policies.slurm.preemption import Preemption
from artist.policies.slurm.starts import NodeSpace, earliest
from artist.units import NS_PER_S

REQUEUE_NS = 121 * NS_PER_S  # for which a requeued job may not start


class Depths(NamedTuple):
    """SchedulerParameters of the two loops; times in ns.

    Attributes
    ----------
    default_queue_depth
        Jobs that the main loop tests.
    bf_max_job_test, bf_max_job_user
        Jobs that the backfill loop tests, and those of one user; 0 of the latter for any number.
    bf_window_ns
        Starts later than this from now are not reserved.
    bf_resolution_ns
        Reservations begin at multiples of this, rounded down, and end at multiples, rounded up.
    """

    default_queue_depth: int
    bf_max_job_test: int
    bf_max_job_user: int
    bf_window_ns: int
    bf_resolution_ns: int


@dataclass(slots=True)
class Decision:
    """Jobs to start with their nodes, in order, and victims with the job that they make room for."""

    starts: list[tuple[Job, int]] = field(default_factory=list)
    victims: list[tuple[Job, Job]] = field(default_factory=list)


class Scheduler:
    """Jobs that wait and run, and the two loops over them.

    Attributes
    ----------
    waiting, running
        Jobs by number.
    nodes
        The nodes, without the jobs that have ended.
    """

    def __init__(
        self, cluster: Cluster, nodes: Nodes, depths: Depths, limits: Limits, preemption: Preemption
    ) -> None:
        self._cluster, self.nodes, self._depths = cluster, nodes, depths
        self._limits, self._preemption = limits, preemption
        self.waiting: dict[int, Job] = {}
        self.running: dict[int, Job] = {}
        self.held_ns: dict[int, int] = {}  # requeued jobs that wait, and the time from which they may start
        self._queue: list[tuple[tuple[int, int, int], int]] = []  # rank and number of those that wait

    # --- events

    def submit(self, job: Job) -> None:
        """Queue a job."""
        self.waiting[job.number] = job
        insort(self._queue, (job.rank, job.number))

    def start(self, job: Job, chosen: int, now_ns: int) -> None:
        """Start a job on nodes."""
        self.drop(job.number)
        job.start_ns = now_ns
        self.running[job.number] = job
        slices = tuple(map(self.nodes.fitting, job.slices(chosen, self._cluster)))
        self.nodes.take(job.number, job.end_ns(now_ns), slices)

    def end(self, number: int) -> Job:
        """Remove a running job."""
        job = self.running.pop(number)
        self.nodes.give(number)
        return job

    def drop(self, number: int) -> None:
        """Remove a job that waits."""
        job = self.waiting.pop(number)
        del self._queue[bisect_left(self._queue, (job.rank, number))]
        self.held_ns.pop(number, None)

    def requeue(self, number: int, now_ns: int) -> None:
        """Let a running job wait again."""
        job = self.end(number)
        job.start_ns, job.eligible_ns = -1, now_ns + REQUEUE_NS
        self.held_ns[number] = job.eligible_ns
        self.submit(job)

    def rank_again(self) -> None:
        """Sort the queue, after priorities changed."""
        self._queue = sorted((job.rank, job.number) for job in self.waiting.values())

    def reason(self, job: Job) -> str:
        """Return the limit for which a job has to wait, empty for none."""
        return self._limits.reason(job, self.running.values())

    def grace_s(self, victim: Job) -> float:
        """Return the grace time of a victim in s."""
        return self._preemption.grace_s(victim)

    # --- loops

    def main(self, now_ns: int) -> Decision:
        """Start jobs in order; one that does not fit holds up all later ones on the nodes of its partition.

        A job above a limit is passed over, and holds up none.
        """
        decision, blocked = Decision(), 0
        for job in self._eligible(now_ns, self._depths.default_queue_depth):
            places = tuple(nodes & ~blocked & self.nodes.open for nodes in job.places)
            if not any(places) or self._limits.reason(job, self.running.values()):
                continue
            if not self._start_now(job, places, now_ns, decision):
                for nodes in job.places:
                    blocked |= nodes
            if not self.nodes.open & ~blocked:
                break
        return decision

    def backfill(self, now_ns: int) -> Decision:
        """Start the jobs that delay no reservation of those before them, and reserve nodes for the others.

        Without a job that fits now there is nothing to do; the last one of these ends the loop.
        """
        decision, depths, nodes = Decision(), self._depths, self.nodes
        queue = self._within_user_limit(self._eligible(now_ns, depths.bf_max_job_test))
        candidates = [place for place, job in enumerate(queue) if self._may_fit(job)]
        space = NodeSpace(now_ns, self.last_start_ns(now_ns), nodes.open)
        for place, job in enumerate(queue):
            while candidates and not self._may_fit(queue[candidates[-1]], space, now_ns):
                candidates.pop()
            if not candidates or place > candidates[-1]:
                break
            if not self._limits.reason(job, self.running.values()):
                self._plan(job, space, now_ns, decision)
        return decision

    # --- steps

    def _eligible(self, now_ns: int, depth: int) -> list[Job]:
        """Return the first jobs of the queue that may start by their time, at most `depth`."""
        jobs = []
        for _, number in self._queue:
            job = self.waiting[number]
            if job.eligible_ns <= now_ns:
                jobs.append(job)
                if len(jobs) >= depth:
                    break
        return jobs

    def _within_user_limit(self, jobs: list[Job]) -> list[Job]:
        most, count, kept = self._depths.bf_max_job_user, dict[str, int](), []
        for job in jobs if most else ():
            count[job.user] = count.get(job.user, 0) + 1
            if count[job.user] <= most:
                kept.append(job)
        return kept if most else jobs

    def _may_fit(self, job: Job, space: NodeSpace | None = None, now_ns: int = 0) -> bool:
        """Return whether a job may start now, by the nodes that are able and, if given, not reserved."""
        if self._preemption.may_preempt(job):
            return True
        able = self.nodes.able(job.need) & self.nodes.open
        if space is not None:
            able &= space.free(now_ns, job.end_ns(now_ns))[0]
        return any((able & places).bit_count() >= job.nodes for places in job.places)

    def _start_now(self, job: Job, places: Iterable[int], now_ns: int, decision: Decision) -> bool:
        """Start a job, with victims if need be; return whether it did."""
        spread = job.partition.LLN
        for among in places:
            able = self.nodes.able(job.need) & among
            if able.bit_count() >= job.nodes:
                chosen = self.nodes.choose(able, job.nodes, spread=spread)
                self.start(job, chosen, now_ns)
                decision.starts.append((job, chosen))
                return True
        if not self._preemption.may_preempt(job):
            return False
        for among in places:
            room = self._preemption.victims(self.nodes, job, self.running.values(), among)
            if room is not None:
                chosen, victims = room
                decision.victims += [(victim, job) for victim in victims]
                if any(self._preemption.grace_s(victim) for victim in victims):
                    return False
                for victim in victims:
                    self.requeue(victim.number, now_ns)
                self.start(job, chosen, now_ns)
                decision.starts.append((job, chosen))
                return True
        return False

    def _plan(self, job: Job, space: NodeSpace, now_ns: int, decision: Decision) -> None:
        """Start a job, or reserve nodes for it at the first time at which it fits."""
        time_ns: int | None = now_ns
        planned_on: dict[int, tuple[int, int] | None] = {}  # by set of nodes
        last_ns, step_ns = self.last_start_ns(now_ns), self._depths.bf_resolution_ns
        while time_ns is not None:
            free, later_ns = space.free(time_ns, job.end_ns(time_ns))
            places = [nodes & free & self.nodes.open for nodes in job.places]
            places = [nodes for nodes in places if nodes.bit_count() >= job.nodes]
            if time_ns == now_ns and places and self._start_now(job, places, now_ns, decision):
                return
            for among in places:
                if among not in planned_on:
                    planned_on[among] = self._earliest(job, among, now_ns)
            planned = [one for among in places if (one := planned_on[among]) is not None]
            if planned:
                start_ns, chosen = min(planned)
                start_ns = max(start_ns, time_ns)
                if start_ns > last_ns:
                    return
                if later_ns is None or start_ns <= later_ns:
                    begin_ns = start_ns // step_ns * step_ns
                    end_ns = -(-job.end_ns(start_ns) // step_ns) * step_ns
                    if not space.overlaps(begin_ns, end_ns, chosen):
                        space.reserve(begin_ns, end_ns, chosen)
                        return
            time_ns = later_ns

    def last_start_ns(self, now_ns: int) -> int:
        """Return the last start for which nodes are reserved."""
        return now_ns + self._depths.bf_window_ns

    def _earliest(self, job: Job, among: int, now_ns: int) -> tuple[int, int] | None:
        """Return the start of a job by the running ones alone, and its nodes."""
        able = self.nodes.able(job.need) & among
        if able.bit_count() >= job.nodes:
            return now_ns, self.nodes.choose(able, job.nodes, spread=job.partition.LLN)
        return earliest(self.nodes, job, among, now_ns)
