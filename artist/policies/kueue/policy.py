"""Kueue: cluster queues with quotas in cohorts, which borrow, lend and preempt.

In plain words: a job waits in its cluster queue, by priority, then by submission, until its quota allows it.
In every cycle the first job of each queue is tried, those that borrow least first: it gets the first flavor
with unused quota, of its queue or borrowed from the cohort; else it may preempt jobs of its own queue, or of
queues that borrow. A job that does not fit holds up those behind it (StrictFIFO), or is passed over until
quota becomes free (BestEffortFIFO). An admitted job holds its quota to its end, and starts when there is room
on machines. With a topology it is admitted only if Kueue has machines for it, and may preempt for them.

Settings and the objects of `conf` have the names of Kueue's API. A job's cluster queue is that of the local
queue that its virtual cluster, and account as namespace, name, else the one that its partition or virtual
cluster names. Its priority is the value of the class that its QOS names, else that of the trace.

Source: Kueue's documentation (v1beta2): cluster_queue, cohort, preemption (classic), topology-aware
scheduling, all-or-nothing with ready pods; where it leaves the order open, that of its program at ff69552e.

Differs from Kueue: cycles take no time; a victim stops when the job that it makes room for starts; no
job preempts twice at an instant; all pods of a job start at once, on GPUs one by one. Counted are GPUs, and
the CPUs and memory that jobs ask for; a resource without quota is not limited. All jobs have one topology,
with the base placement policies. There is no fair sharing and no partial admission.
"""

import re
from collections.abc import Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from artist.core.cluster import Cluster
from artist.core.compact_jobs import templates_of
from artist.core.events import Arrival, Finish, MachineEvent, Stop
from artist.core.job import JobSpec
from artist.core.plan import Plan
from artist.core.view import ClusterView
from artist.errors import InputError
from artist.policies.kueue.configuration import (
    KINDS,
    ClusterQueue,
    PriorityClass,
    ResourceFlavor,
    WaitForPodsReady,
    read_objects,
)
from artist.policies.kueue.queues import Job, Queue
from artist.policies.kueue.quotas import queue_nodes
from artist.policies.kueue.scheduler import Required, Scheduler
from artist.policies.parts.fill import AnyFill
from artist.policies.parts.parameters import STRICT
from artist.policies.parts.placement import AnyChooser, Chooser
from artist.policies.parts.placer import placer_of
from artist.units import seconds_to_ns

_BY_TOPOLOGY: dict[str, str | Chooser] = {
    "unconstrained": "best_fit",
    "preferred": "consolidate",
    "required_machine": Required("machine"),
    "required_rack": Required("rack"),
}


@dataclass(config=STRICT)
class Kueue:
    """Kueue's scheduler; every field is explained in conf/policy/kueue.yaml."""

    conf: Path | None = None
    gpu_types: dict[str, str] | None = None
    topology: Literal["none", "unconstrained", "preferred", "required_machine", "required_rack"] | None = None
    waitForPodsReady: WaitForPodsReady | None = None
    placement: AnyChooser = "best_fit"
    fill: AnyFill = "as_asked"
    seed: int = Field(default=0, ge=0)

    def __post_init__(self) -> None:
        self.on_events, self.interval_s = True, None
        self.series: list[tuple[int, str, float]] = []
        self._scheduler: Scheduler | None = None
        self._waits_ns: dict[int, int] = {}  # jobs in their backoff, and its end
        self._used: dict[str, float] = {}
        self._timeout_ns = seconds_to_ns(self.waitForPodsReady.timeout) if self.waitForPodsReady else 0

    def notes(self, cluster: Cluster, jobs: Sequence[JobSpec]) -> list[str]:
        """Return notes for the log.

        Raises
        ------
        InputError
            If the export cannot be simulated, or a job has no queue or class, or can never be admitted.
        """
        scheduler, ignored = self._built(cluster)
        for spec in templates_of(jobs):
            where = f"job {spec.job_id!r}"
            queue = self._queue(spec.partition, spec.vc, spec.account, where)
            self._priority(spec.qos, spec.priority, where)
            if most := scheduler.most(spec.demand, queue):
                asked = f"{spec.demand.gpus} GPUs, {spec.demand.cpus} CPUs, {spec.demand.memory_bytes} bytes"
                what = f"cluster queue {queue.rules.name} can never admit the job"
                raise InputError(what, where=where, found=asked, allowed=f"{most}; leave such jobs out")
        return [f"{self.conf}: without effect here: {', '.join(ignored)}"] if ignored else []

    def decide(self, view: ClusterView) -> Plan:
        """Admit, preempt and place jobs."""
        if self._scheduler is None:
            self._scheduler, _ = self._built(view.cluster)
        scheduler, plan = self._scheduler, view.plan()
        scheduler.begin(view)
        self._take_in(view, scheduler)
        self._time_out(scheduler, view.now_ns)
        while scheduler.cycle():
            pass
        scheduler.place_pods()
        for number in scheduler.stopped:
            if view.allocation(number) is not None:
                plan.stop(number)
        for number, allocation in scheduler.started.items():
            plan.place(number, allocation)
        for name, queue in self._queues.items():
            used = float(sum(value for key, value in queue.node.held.items() if key[1].endswith("/gpu")))
            if used != self._used.get(name, 0.0):
                self.series.append((view.now_ns, f"GPUs of {name}", used))
                self._used[name] = used
        times = list(self._waits_ns.values())
        if self.waitForPodsReady is not None:
            times += [job.admitted_ns + self._timeout_ns for job in scheduler.pending()]
        if times:
            plan.wake_at(min(times))
        return plan.done()

    def describe(self) -> str:
        """Return the rule in a clause, for a report."""
        return f"Kueue's cluster queues, {f'as in {self.conf}' if self.conf else 'one without quotas'}"

    # --- configuration

    def _built(self, cluster: Cluster) -> tuple[Scheduler, list[str]]:
        """Return a scheduler, and the ignored parts of the export."""
        objects, ignored = (
            read_objects(self.conf) if self.conf else ({"ClusterQueue": [ClusterQueue("all")]}, [])
        )
        self._objects = {kind: {one.name: one for one in objects.get(kind, ())} for kind in KINDS}
        self._local = objects.get("LocalQueue", [])
        queues: dict[str, ClusterQueue] = self._objects["ClusterQueue"]
        nodes = queue_nodes(queues.values(), self._objects["Cohort"].values())
        self._queues = {name: Queue(one, nodes[name]) for name, one in queues.items()}
        names = dict.fromkeys(flavor for one in queues.values() for flavor, _ in one.quotas)
        if lost := [name for name in self.gpu_types or () if name not in names]:
            raise InputError(
                "no such flavor", where="policy.gpu_types", found=lost[0], allowed=", ".join(names)
            )
        flavors = {name: self._flavor(name, cluster) for name in names}
        has_levels = any(one.topologyName for one in self._objects["ResourceFlavor"].values())
        topology = self.topology or ("unconstrained" if has_levels else "none")
        placer = placer_of(_BY_TOPOLOGY.get(topology, self.placement), self.fill, self.seed)
        by_node = {queue.node: queue for queue in self._queues.values()}
        return Scheduler(cluster, by_node, flavors, placer, topology != "none"), ignored

    def _flavor(self, name: str, cluster: Cluster) -> tuple[int, list[str]]:
        """Return machines and GPU types of a flavor: the one in its name or a label, as a word, or all."""
        known, one = cluster.type_sets, self._objects["ResourceFlavor"].get(name, ResourceFlavor(name))
        words = re.findall(r"[a-z0-9]+", " ".join([name, *one.nodeLabels.values()]).lower())
        given = (self.gpu_types or {}).get(name)
        named = [kind for kind in known if kind.lower() in words] if given is None else [given]
        kinds = named or (list(known) if len(known) == 1 or not one.nodeLabels else [])
        if not kinds or kinds[0] not in known:
            allowed = f"policy.gpu_types={{{name}: TYPE}}, TYPE of {', '.join(known)}"
            raise InputError(
                "no GPU type of the cluster",
                where=f"flavor {name}",
                found=given or one.nodeLabels,
                allowed=allowed,
            )
        return reduce(or_, (known[kind] for kind in kinds)), kinds

    def _queue(self, partition: str, vc: str, account: str, where: str) -> Queue:
        """Return the cluster queue of a job; InputError if it has none."""
        local = [one for one in self._local if one.name == (vc or "default")]
        local = [one for one in local if one.namespace == account] or [one for one in local if not account]
        names = [*dict.fromkeys(one.clusterQueue for one in local), partition, vc]
        if self.conf is None or not (partition or vc or len(self._queues) > 1):
            names = list(self._queues)
        for name in names:
            if name in self._queues:
                return self._queues[name]
        allowed = f"a local queue as vc, or as partition one of {', '.join(self._queues)}"
        raise InputError(
            "no cluster queue", where=where, found=", ".join(filter(None, names)), allowed=allowed
        )

    def _priority(self, qos: str, priority: float | None, where: str) -> float:
        """Return the priority of a job; InputError if it has none, and a class that is not known."""
        known: dict[str, PriorityClass] = self._objects["WorkloadPriorityClass"]
        if qos and known and qos not in known and priority is None:
            raise InputError("no such priority class", where=where, found=qos, allowed=", ".join(known))
        return known[qos].value if qos in known else priority or 0

    # --- events

    def _take_in(self, view: ClusterView, scheduler: Scheduler) -> None:
        """Follow the news: arrivals, ends, evictions, and machines that leave and return."""
        arrived = [event.job for event in view.news if isinstance(event, Arrival)]
        columns = view.columns(arrived)
        texts = columns.partition, columns.vc, columns.account, columns.qos, columns.priority
        for i, (number, submit_ns) in enumerate(zip(arrived, columns.submit_ns.tolist(), strict=True)):
            partition, vc, account, qos, given = (text[i] for text in texts)
            where = f"job number {number}"
            queue, priority = self._queue(partition, vc, account, where), self._priority(qos, given, where)
            job = scheduler.jobs[number] = Job(number, view.demand(number), queue, priority, submit_ns)
            queue.push(job)
        for event in view.news:
            if isinstance(event, Finish) and event.job in scheduler.jobs:
                job = scheduler.jobs.pop(event.job)
                job.queue.remove(job)
            elif isinstance(event, Stop) and event.job in scheduler.jobs:
                job = scheduler.jobs[event.job]
                job.placed = False
                if scheduler.by_topology:
                    scheduler.evict(job)
                    job.queue.push(job)
            elif not isinstance(event, MachineEvent):
                continue
            scheduler.try_all_again()

    def _time_out(self, scheduler: Scheduler, now_ns: int) -> None:
        """Let jobs wait again that got no machines in time, after their backoff."""
        rules = self.waitForPodsReady
        if rules is None:
            return
        for job in scheduler.pending():
            if now_ns >= job.admitted_ns + self._timeout_ns:
                scheduler.evict(job)
                backoff_s = min(
                    rules.backoffBaseSeconds * 2.0 ** min(job.timeouts, 60), rules.backoffMaxSeconds
                )
                job.timeouts += 1
                job.since_ns = now_ns if rules.timestamp == "Eviction" else job.since_ns
                self._waits_ns[job.number] = now_ns + seconds_to_ns(backoff_s)
        for number, end_ns in list(self._waits_ns.items()):
            if now_ns >= end_ns:
                del self._waits_ns[number]
                scheduler.jobs[number].queue.push(scheduler.jobs[number])
