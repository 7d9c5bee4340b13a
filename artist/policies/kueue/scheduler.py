"""The cycle of admission: the first job of each cluster queue gets flavors, quota, and perhaps victims."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import NamedTuple

from artist.core.buckets import ALL
from artist.core.cluster import Allocation, Cluster
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.view import ClusterView
from artist.policies.kueue.preemption import removed_from, victims
from artist.policies.kueue.queues import Job, Queue
from artist.policies.kueue.quotas import Key, Node
from artist.policies.parts.placement import chooser_of, gpus_to_place
from artist.policies.parts.placer import Placer

# Ways of a job to fit, the best last; RECLAIM has victims of other queues only.
NO_FIT, NO_VICTIMS, PREEMPT, RECLAIM, FIT = range(5)
_NONE: tuple[tuple[int, int], str, dict[Key, float], dict[Key, tuple[int, int]]] = (NO_FIT, 0), "", {}, {}


class Assignment(NamedTuple):
    """A job's way to fit, the height in the cohorts to which it borrows, its usage, machines and victims."""

    job: Job
    way: int
    height: int = 0
    usage: Mapping[Key, float] = {}
    among: int = ALL
    victims: Sequence[Job] = ()


class Scheduler:
    """Queues, and the cycle over them.

    Attributes
    ----------
    jobs
        Unfinished jobs by number.
    started, stopped
        New allocations of the present instant by job, and jobs that lost theirs, or their quota.
    by_topology
        Whether a job is admitted only if there are machines for it.

    Parameters
    ----------
    flavors
        Machines and GPU types of each flavor.
    """

    def __init__(
        self,
        cluster: Cluster,
        queues: Mapping[Node, Queue],
        flavors: Mapping[str, tuple[int, Sequence[str]]],
        placer: Placer,
        by_topology: bool,
    ) -> None:
        self.queues, self.by_topology = queues, by_topology
        self.jobs: dict[int, Job] = {}
        self.started: dict[int, Allocation] = {}
        self.stopped: dict[int, Job] = {}
        self._flavors, self._placer = flavors, placer
        self._empty = Free(cluster, cluster.gpus, cluster.cpus, cluster.memory_bytes)
        self._asked: dict[tuple[Demand, str], Mapping[str, float] | None] = {}

    def begin(self, view: ClusterView) -> None:
        """Begin an instant."""
        self._view, self._free = view, view.free()
        self.started, self.stopped = {}, {}
        self._preempted: set[int] = set()  # jobs that preempted others at this instant

    def try_all_again(self) -> None:
        """Try all waiting jobs again, after quota or machines became free."""
        for queue in self.queues.values():
            queue.waiting.try_all_again()

    # --- flavors

    def most(self, demand: Demand, queue: Queue) -> str:
        """Return the most that a queue could give to a job for which that is too little, else ""."""
        node, quotas = queue.node, queue.rules.quotas
        if demand.gpus and quotas and not any(name.endswith("/gpu") for _, name in quotas):
            return "no GPUs"
        for group in queue.rules.resourceGroups:
            options = [self._usage(demand, one.name, group.coveredResources) for one in group.flavors]
            short = [
                [key for key in one if one[key] > node.potential(key)] for one in options if one is not None
            ]
            if [] not in short:
                most = dict.fromkeys(
                    f"{node.potential(key):g} {key[1]} in {key[0]}" for keys in short for key in keys
                )
                return ", ".join(most) or "GPUs of a type of its flavors"
        fits = not self.by_topology or self._placer.place(self._empty, demand) is not None
        return "" if fits else "a job that fits the required level of the topology"

    def _usage(self, demand: Demand, name: str, resources: Sequence[str]) -> dict[Key, float] | None:
        """Return the amounts that a job asks for in a flavor; None if it may not use the GPUs there."""
        if (demand, name) not in self._asked:
            among, kinds = self._flavors[name]
            kinds = [kind for kind in kinds if not demand.gpu_types or kind in demand.gpu_types]
            target, worths = gpus_to_place(self._empty, demand, among), self._empty.cluster.worth_of
            gpus = max((demand.gpus_at(worths[kind], target) for kind in kinds), default=0)
            amounts = {"gpu": gpus, "cpu": demand.cpus, "memory": demand.memory_bytes}
            self._asked[demand, name] = None if demand.gpus and not kinds else amounts
        asked = self._asked[demand, name]
        if asked is None:
            return None
        usage = {(name, one): asked.get(one.rpartition("/")[2], 0) for one in resources}
        return {key: value for key, value in usage.items() if value}

    def _assigned(self, job: Job) -> Assignment:
        """Return flavors for a job: of each resource group the first that fits, else the best."""
        usage, among, way, height, contested = dict[Key, float](), ALL, FIT, 0, list[Key]()
        for group in job.queue.rules.resourceGroups:
            options = []
            for flavor in group.flavors:
                asked = self._usage(job.demand, flavor.name, group.coveredResources)
                if asked is not None:
                    ways = {key: self._way(job, key, value) for key, value in asked.items()}
                    options.append((min(ways.values(), default=(FIT, 0)), flavor.name, asked, ways))
                    if options[-1][0][0] == FIT:
                        break
            (worst, _), name, asked, ways = max(options, key=lambda one: one[0], default=_NONE)
            if worst == NO_FIT:
                return Assignment(job, NO_FIT)
            usage, among = usage | asked, among & self._flavors[name][0] if asked else among
            way, height = min(way, worst), max([height, *(-low for _, low in ways.values())])
            contested += [key for key in ways if ways[key][0] != FIT]
        if way == FIT and self._has_room(job, among):
            return Assignment(job, FIT, height, usage, among)
        stopped = (
            ()
            if job.number in self._preempted
            else victims(
                job,
                usage,
                contested or list(usage),
                self.queues,
                lambda gone: self._has_room(job, among, gone),
            )
        )
        return Assignment(job, PREEMPT if stopped else NO_VICTIMS, height, usage, among, stopped)

    def _way(self, job: Job, key: Key, value: float) -> tuple[int, int]:
        """Return the way in which an amount fits, and the height to which it is borrowed, below 0."""
        node, rules = job.queue.node, job.queue.rules.preemption
        height, may_reclaim = node.lowest_that_fits(key, value)
        if value <= node.available(key):
            return FIT, -height
        may = (
            may_reclaim
            or node.quotas[key].nominalQuota >= value
            or rules.borrowWithinCohort.policy != "Never"
        )
        if not may or value > node.potential(key):
            return NO_FIT, 0
        stopped = victims(job, {key: value}, [key], self.queues)
        if not stopped:
            return NO_VICTIMS, -height
        with removed_from(stopped):
            height, _ = node.lowest_that_fits(key, value)
        return PREEMPT if any(one.queue is job.queue for one in stopped) else RECLAIM, -height

    # --- cycle

    def cycle(self) -> bool:
        """Try the first job of each queue, those that borrow least first; return whether to go on."""
        heads = [first[1] for queue in self.queues.values() if (first := queue.waiting.first()) is not None]
        entries = [self._assigned(self.jobs[number]) for number in heads]
        goes_on, gone, reserved = False, set[int](), list[tuple[Node, dict[Key, float]]]()
        for one in sorted(entries, key=lambda one: (one.height, one.job.rank)):
            queue = one.job.queue
            if one.way == NO_VICTIMS and queue.rules.preemption.reclaimWithinCohort != "Any":
                reserved.append((queue.node, _to_reserve(one)))
                queue.node.add(reserved[-1][1])
            if one.way > NO_VICTIMS:
                if gone.isdisjoint(victim.number for victim in one.victims) and self._admit(one):
                    gone.update(victim.number for victim in one.victims)
                    goes_on = True
            elif queue.rules.queueingStrategy == "BestEffortFIFO":
                queue.waiting.refuse(one.job.demand)
                goes_on = True
        for node, usage in reserved:
            node.add(usage, -1)
        return goes_on

    def _admit(self, one: Assignment) -> bool:
        """Admit a job, and stop its victims, if it still fits; return whether it does."""
        job, queue = one.job, one.job.queue
        with removed_from(one.victims):
            fits = all(value <= queue.node.available(key) for key, value in one.usage.items())
        if not fits or not self._has_room(job, one.among, one.victims):
            return False
        if one.victims:
            self._preempted.add(job.number)
        for victim in one.victims:
            self.evict(victim)
            victim.queue.push(victim)
        queue.waiting.pop(job.demand)
        job.usage, job.among, job.admitted_ns = one.usage, one.among, self._view.now_ns
        queue.admit(job)
        if self.by_topology:
            self._start(job)
        return True

    # --- machines

    def _has_room(self, job: Job, among: int, without: Sequence[Job] = ()) -> bool:
        """Return whether there are machines for a job without those of some others, or need not be."""
        if not self.by_topology:
            return True
        free = copy(self._free) if without else self._free
        for other in without:
            if (held := self._allocation(other)) is not None:
                free.give(held)
        return self._placer.place(free, job.demand, among) is not None

    def _allocation(self, job: Job) -> Allocation | None:
        """Return the machines of a job, with the changes of this instant."""
        return (self.started.get(job.number) or self._view.allocation(job.number)) if job.placed else None

    def evict(self, job: Job) -> None:
        """Take quota and machines from a job."""
        job.queue.remove(job)
        if (held := self._allocation(job)) is not None:
            self._free.give(held)
        self.started.pop(job.number, None)
        self.stopped[job.number] = job
        job.placed = False
        self.try_all_again()

    def pending(self) -> list[Job]:
        """Return the admitted jobs without machines, by priority, then by admission."""
        jobs = [job for queue in self.queues.values() for job in queue.admitted.values() if not job.placed]
        return sorted(jobs, key=lambda job: (-job.priority, job.admitted_ns, job.number))

    def place_pods(self) -> None:
        """Start admitted jobs as kube-scheduler does: those that fit pass one that has to wait."""
        refused = set[tuple[Demand, int]]()
        for job in self.pending():
            if (job.demand, job.among) not in refused and not self._start(job):
                refused.add((job.demand, job.among))

    def _start(self, job: Job) -> bool:
        """Give machines to a job, if there is room."""
        allocation = self._placer.place(self._free, job.demand, job.among)
        if allocation is not None:
            self._free.take(allocation)
            self.started[job.number], job.placed = allocation, True
        return allocation is not None


class Required:
    """A placement policy that has all GPUs of a job in one machine, or rack, or waits."""

    def __init__(self, level: str) -> None:
        self._of_rack, self._chooser = level == "rack", chooser_of(f"consolidate_{level}")

    def choose(self, free: Free, demand: Demand, among: int = ALL) -> dict[int, int] | None:
        """Return GPUs by machine, or None to wait."""
        gpus = self._chooser.choose(free, demand, among)
        places = {free.cluster.rack_of[machine] if self._of_rack else machine for machine in gpus or ()}
        return gpus if len(places) == 1 else None


def _to_reserve(one: Assignment) -> dict[Key, float]:
    """Return the quota that is kept, for a cycle, for a job that can preempt no other."""
    node, reserved = one.job.queue.node, dict[Key, float]()
    for key, value in one.usage.items():
        limit = node.quotas[key].borrowingLimit
        unused = node.quotas[key].nominalQuota - node.used(key)
        reserved[key] = value if limit is None else max(0, min(value, unused + limit))
    return reserved
