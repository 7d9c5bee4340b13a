"""The two loops: the main one starts jobs in strict order, the backfill one around reservations."""

from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice
from operator import or_
from typing import NamedTuple

from artist.core.buckets import members_of
from artist.core.cluster import Cluster
from artist.policies.parts.limits import Limits
from artist.policies.slurm.job import Job, Kind
from artist.policies.slurm.nodes import Nodes
from artist.policies.slurm.preemption import Preemption
from artist.policies.slurm.starts import NodeSpace, chosen_at, earliest
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
        Reservations begin and end at multiples of this, rounded down, and last for one at least.
    over_limit_ns
        Time after its limit at which a job that runs beyond it is expected to end.
    """

    default_queue_depth: int
    bf_max_job_test: int
    bf_max_job_user: int
    bf_window_ns: int
    bf_resolution_ns: int
    over_limit_ns: int


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

    Parameters
    ----------
    bill
        Adds the usage of a victim up to its stop.
    """

    def __init__(
        self,
        cluster: Cluster,
        nodes: Nodes,
        depths: Depths,
        limits: Limits,
        preemption: Preemption,
        bill: Callable[[Job, int], None] = lambda job, ended_ns: None,
    ) -> None:
        self._cluster, self.nodes, self._depths = cluster, nodes, depths
        self._limits, self._preemption, self._bill = limits, preemption, bill
        self.waiting: dict[int, Job] = {}
        self.running: dict[int, Job] = {}
        self.held_ns: dict[int, int] = {}  # requeued jobs that wait, and the time from which they may start
        self._queue: list[Job] = []  # those that wait, the first one first
        self._key = preemption.queue_key()
        self._reasons: dict[tuple[object, ...], str] = {}  # of alike jobs, since the last start or end

    # --- events

    def submit(self, job: Job) -> None:
        """Queue a job."""
        self.waiting[job.number] = job
        insort(self._queue, job, key=self._key)

    def start(self, job: Job, chosen: int, now_ns: int) -> None:
        """Start a job on nodes."""
        self.drop(job.number)
        job.start_ns = now_ns
        self.running[job.number] = job
        self._reasons.clear()
        slices = tuple(map(self.nodes.fitting, job.slices(chosen, self._cluster)))
        if job.largest:
            job.held = tuple(self._cluster.machines[m] for m in members_of(chosen))
        self.nodes.take(job.number, job.end_ns(now_ns), slices, job.need.shares)

    def end(self, number: int) -> Job:
        """Remove a running job."""
        job = self.running.pop(number)
        self.nodes.give(number)
        self._reasons.clear()
        return job

    def drop(self, number: int) -> None:
        """Remove a job that waits."""
        job = self.waiting.pop(number)
        self._queue.remove(job)
        self.held_ns.pop(number, None)

    def cancels(self, victim: Job) -> bool:
        """Return whether a victim ends, rather than waits again."""
        return self._preemption.cancels(victim)

    def preempt(self, number: int, now_ns: int) -> None:
        """Let a victim wait again, or end it, and bill it."""
        self._bill(self.running[number], now_ns)
        if self.cancels(self.running[number]):
            self.end(number)
        else:
            self.requeue(number, now_ns)

    def requeue(self, number: int, now_ns: int) -> None:
        """Let a running job wait again."""
        job = self.end(number)
        job.held = ()
        job.start_ns, job.queued_ns, job.eligible_ns = -1, now_ns, now_ns + REQUEUE_NS
        self.held_ns[number] = job.eligible_ns
        self.submit(job)

    def rank_again(self) -> None:
        """Sort the queue, after priorities changed."""
        self._queue.sort(key=self._key)

    def reason(self, job: Job) -> str:
        """Return the limit for which a job has to wait, empty for none."""
        if job.qos is None and not self._limits.any:
            return ""
        qos = job.qos.Name if job.qos else ""
        alike = qos, job.account, job.user, job.nodes, job.gpus, job.cpus, job.memory_bytes, job.largest
        if alike not in self._reasons:
            self._reasons[alike] = self._limits.reason(job, self.running.values())
        return self._reasons[alike]

    def grace_s(self, victim: Job) -> float:
        """Return the grace time of a victim in s."""
        return self._preemption.grace_s(victim)

    # --- loops

    def main(self, now_ns: int) -> Decision:
        """Start jobs in order; one that does not fit holds up all later ones on the nodes of its partition.

        A job above a limit is passed over, and holds up none.
        """
        decision, blocked = Decision(), 0
        for job in islice(self._eligible(now_ns), self._depths.default_queue_depth):
            places = tuple(nodes & ~blocked & self.nodes.open for nodes in job.places)
            if not any(places) or self.reason(job):
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
        jobs = self._within_user_limit(job for job in self._eligible(now_ns) if not self.reason(job))
        queue, fits = list(islice(jobs, depths.bf_max_job_test)), dict[Kind, bool]()
        for job in queue:
            if job.kind not in fits:
                fits[job.kind] = self._may_fit(job)
        candidates = [place for place, job in enumerate(queue) if fits[job.kind]]
        step_ns = depths.bf_resolution_ns
        last_ns = self.last_start_ns(now_ns) // step_ns * step_ns
        space = NodeSpace(now_ns // step_ns * step_ns, last_ns, nodes.open)
        fruitless = set[tuple[Kind, int]]()  # since the last plan with an effect
        for place, job in enumerate(queue):
            while candidates and not fruitless and not self._may_fit(queue[candidates[-1]], space, now_ns):
                candidates.pop()
            if not candidates or place > candidates[-1] or space.records >= depths.bf_max_job_test:
                break
            alike = job.kind, job.limit_ns
            if alike in fruitless or self.reason(job):
                continue
            if self._plan(job, space, now_ns, decision):
                fruitless.clear()
            else:
                fruitless.add(alike)
        return decision

    # --- steps

    def _eligible(self, now_ns: int) -> Iterator[Job]:
        """Yield the jobs of the queue that may start by their time."""
        return (job for job in list(self._queue) if job.eligible_ns <= now_ns)

    def _within_user_limit(self, jobs: Iterable[Job]) -> Iterator[Job]:
        most, count = self._depths.bf_max_job_user, Counter[str]()
        for job in jobs:
            count[job.user] += 1
            if not most or count[job.user] <= most:
                yield job

    def _may_fit(self, job: Job, space: NodeSpace | None = None, now_ns: int = 0) -> bool:
        """Return whether a job may start now, by the nodes that are able and, if given, not reserved."""
        if self._preemption.may_preempt(job):
            return True
        able = self.nodes.able(job.need) & self.nodes.open
        if space is not None:
            able = space.free(now_ns, job.end_ns(now_ns), able)
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
        running = [one for one in self.running.values() if one.start_ns < now_ns]  # before this instant
        for among in places:
            room = self._preemption.victims(self.nodes, job, running, among)
            if room is not None:
                chosen, victims = room
                decision.victims += [(victim, job) for victim in victims]
                if any(self._preemption.grace_s(victim) for victim in victims):
                    return False
                for victim in victims:
                    self.preempt(victim.number, now_ns)
                self.start(job, chosen, now_ns)
                decision.starts.append((job, chosen))
                return True
        return False

    def _plan(self, job: Job, space: NodeSpace, now_ns: int, decision: Decision) -> bool:
        """Start a job, or reserve nodes for it at the first time at which it fits; return whether it did."""
        step_ns = self._depths.bf_resolution_ns
        among = reduce(or_, job.places)
        victims = self._candidates(job)
        able = self.nodes.able_later(job.need) if not victims else ()
        later_ns: int | None = now_ns
        while later_ns is not None:
            window = space.first_free(later_ns, job, among, *able)
            if window is None:
                return False
            time_ns, free, later_ns = window
            places = [here for nodes in job.places if (here := nodes & free).bit_count() >= job.nodes]
            known = [(self._earliest(job, here, victims, now_ns), here) for here in places]
            starts = [(one, here) for one, here in known if one is not None]
            if starts:
                first_ns = min(starts)[0]
                start_ns = max(first_ns, time_ns)
                if start_ns <= now_ns:
                    if self._start_now(job, places, now_ns, decision):
                        return True
                elif start_ns >= space.end_ns and later_ns is None:
                    return False
                if later_ns is None or start_ns <= later_ns:
                    chosen = min([self._chosen(job, n, victims) for one, n in starts if one == first_ns])
                    begin_ns = start_ns // step_ns * step_ns
                    end_ns = max(job.end_ns(start_ns) // step_ns * step_ns, begin_ns + step_ns)
                    if start_ns <= now_ns or not space.overlaps(begin_ns, end_ns, chosen):
                        space.reserve(begin_ns, end_ns, chosen)
                        return True
                    later_ns = start_ns
        return False

    def last_start_ns(self, now_ns: int) -> int:
        """Return the last start for which nodes are reserved."""
        return now_ns + self._depths.bf_window_ns

    def _candidates(self, job: Job) -> tuple[int, ...]:
        """Return the running jobs that a job may preempt, in order."""
        if not self._preemption.may_preempt(job):
            return ()
        return tuple(one.number for one in self._preemption.candidates(job, self.running.values()))

    def _earliest(self, job: Job, among: int, victims: tuple[int, ...], now_ns: int) -> int | None:
        """Return the start of a job by the running ones alone, now if it may preempt them."""
        known, key = self.nodes.planned, (job.need, job.nodes, among, job.partition.LLN, victims)
        if key not in known:
            known[key] = earliest(self.nodes, job, among, victims)
        start_ns = known[key]
        if start_ns is None or start_ns > now_ns:
            return start_ns
        return max(start_ns + self._depths.over_limit_ns, now_ns + NS_PER_S) if start_ns else now_ns

    def _chosen(self, job: Job, among: int, victims: tuple[int, ...]) -> int:
        """Return the nodes of a job that has a start on some nodes."""
        known, key = self.nodes.chosen, (job.need, job.nodes, among, job.partition.LLN, victims)
        if key not in known:
            known[key] = chosen_at(self.nodes.planned[key] or 0, self.nodes, job, among, victims)
        return known[key]
