"""Slurm: main loop in order of priority, backfill loop around reservations of whole nodes.

In plain words: jobs wait by the tier of their partition, then by priority, then in order of submission or
requeue; one whose QOS may preempt another's is before it. At each event the main loop starts them in that
order; one that does not fit holds up those behind it on the nodes of its partition. Every bf_interval, if
anything changed, the backfill loop goes through the queue: a job that fits now starts if it delays no
reservation; for the others nodes are reserved, whole, at the first time at which running jobs will have left
them by their limits. Jobs of a higher tier or QOS may preempt others. A job above a limit of its QOS, account
or user waits and holds up none.

Settings have the names of slurm.conf and sacctmgr; nodes are the machines, leaf switches of topology/tree the
racks. A job's partition, account, QOS, user, limit, nice value and --exclusive are those of the trace. An
exclusive job has whole nodes: none joins it, and limits, usage and preemption count all their GPUs and CPUs.

Source: Slurm's documentation (22.05): sched_config, slurm.conf(5), priority_multifactor, fair_tree, preempt,
qos, resource_limits, topology; rules that it leaves open from its source (backfill.c, job_scheduler.c,
select/cons_tres) and as observed of a real controller (`scripts/validation/slurm.py`).

Differs from Slurm: loops take no time and find all events of their instant done, so bf_continue, yields and
time limits of the loops have no meaning; a victim without grace time stops at the start of the job that it
makes room for, and nodes are free as soon as a job ends. The main loop has no pass over the whole queue every
sched_interval. A job gets the fewest nodes that its GPUs need, with equal numbers of GPUs. Jobs that name no
CPUs have those in proportion to their GPUs. Limits count an exclusive job that waits as on the largest nodes
of its partition. PreemptMode has no SUSPEND and GANG, and there are no
reservations, licenses, features, arrays and heterogeneous jobs.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import reduce
from operator import or_
from typing import Literal

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass
from pydantic_core import ArgsKwargs

from artist.core.buckets import members_of, set_of, sets_by
from artist.core.cluster import Allocation, Cluster, Machine
from artist.core.compact_jobs import templates_of
from artist.core.events import Arrival, Finish, MachineEvent, Stop
from artist.core.job import UNLIMITED_NS, Demand, JobSpec
from artist.core.plan import Plan, PlanBuilder
from artist.core.view import ClusterView
from artist.errors import InputError, PlanError
from artist.policies.parts.limits import Association, Limits, Mode, Qos, check_limits, check_names
from artist.policies.parts.parameters import STRICT
from artist.policies.slurm.configuration import Names, Partition, Time, time_ns
from artist.policies.slurm.fair_share import FairShare
from artist.policies.slurm.job import SHARES, Job, Need
from artist.policies.slurm.nodes import Nodes
from artist.policies.slurm.preemption import Preemption, PreemptPlugin
from artist.policies.slurm.priority import Multifactor, PriorityPlugin, Weights
from artist.policies.slurm.scheduler import Decision, Depths, Scheduler
from artist.units import NS_PER_S, seconds_to_ns

_MAX_S = 4e9
Shape = tuple[int, Need, int, tuple[int, ...], tuple[Machine, ...]]
KILL_WAIT_NS = 30 * NS_PER_S  # Slurm's default


@dataclass(config=STRICT)
class Slurm:
    """Slurm's scheduler; every field is explained in conf/policy/slurm.yaml.

    None stands for the default. `artist.site.slurm` reads the files of `conf` before the policy is made.
    """

    conf: str | tuple[str, ...] | None = None
    SchedulerType: Literal["sched/backfill", "sched/builtin"] = "sched/backfill"
    bf_interval: float = Field(default=30, ge=0.001, le=_MAX_S)
    bf_window: float = Field(default=1440, ge=0, le=_MAX_S)
    bf_resolution: float = Field(default=60, ge=1, le=_MAX_S)
    bf_max_job_test: int = Field(default=500, ge=1)
    bf_max_job_user: int = Field(default=0, ge=0)
    default_queue_depth: int = Field(default=100, ge=1)
    OverTimeLimit: Time = 0
    preempt_reorder_count: int = Field(default=1, ge=0, le=100)
    PriorityType: PriorityPlugin = "priority/basic"
    PriorityWeightAge: int = Field(default=0, ge=0)
    PriorityWeightFairshare: int = Field(default=0, ge=0)
    PriorityWeightJobSize: int = Field(default=0, ge=0)
    PriorityWeightPartition: int = Field(default=0, ge=0)
    PriorityWeightQOS: int = Field(default=0, ge=0)
    PriorityMaxAge: Time = "7-0"
    PriorityDecayHalfLife: Time = "7-0"
    PriorityCalcPeriod: Time = 5
    PriorityFavorSmall: bool = False
    PriorityFlags: tuple[Literal["NO_FAIR_TREE"], ...] = ()
    PreemptType: PreemptPlugin = "preempt/none"
    PreemptMode: Mode = "OFF"
    TopologyPlugin: Literal["topology/none", "topology/tree"] = "topology/none"
    Weight: dict[int, Names] = field(default_factory=dict)
    partitions: tuple[Partition, ...] = ()
    qos: tuple[Qos, ...] = ()
    associations: tuple[Association, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: ArgsKwargs) -> ArgsKwargs:
        named = {name: value for name, value in (given.kwargs or {}).items() if value is not None}
        return ArgsKwargs(given.args, named)

    def __post_init__(self) -> None:
        self.on_events, self.interval_s = True, None
        self.knows_limits = self.remembers_places = True
        self.keeps_segments = False  # topology/block is not modelled
        self.series: list[tuple[int, str, float]] = []
        self._partitions = self.partitions or (Partition("all", Default=True),)
        self._default = next((one for one in self._partitions if one.Default), self._partitions[0])
        self._by_name = {one.PartitionName: one for one in self._partitions}
        self._qos = {one.Name: one for one in self.qos}
        check_names("partitions", [one.PartitionName for one in self._partitions])
        check_limits(self.qos, self.associations)
        self._limits = Limits(self.associations)
        self._period_ns = max(time_ns(self.PriorityCalcPeriod), NS_PER_S)
        self._interval_ns = seconds_to_ns(self.bf_interval)
        self._scheduler: Scheduler | None = None
        self._multifactor: Multifactor | None = None
        self._leaving: dict[int, int] = {}  # victims in their grace time, and its end
        self._shapes: dict[tuple[Demand, str, bool], Shape] = {}
        self._calculated_ns = self._filled_ns = -UNLIMITED_NS
        self._changed, self._lowest = False, 0  # the lowest of priority/basic so far
        self._reasons: dict[int, str] = {}  # for which jobs wait

    def notes(self, cluster: Cluster, jobs: Sequence[JobSpec]) -> list[str]:
        """Return notes for the log.

        Raises
        ------
        InputError
            If a partition names an unknown machine, or a job an unknown partition or QOS, or if a job never
            fits its partition or exceeds a limit by itself.
        """
        self._check_machines(cluster)
        self._check_jobs(cluster, jobs)
        limited = any(spec.limit_ns is not None for spec in templates_of(jobs))
        limited = limited or all(
            time_ns(one.DefaultTime or one.MaxTime) < UNLIMITED_NS for one in self._partitions
        )
        if limited or self.SchedulerType == "sched/builtin":
            return []
        return ["no job has a time limit, so nothing is reserved; workload.limits.factor=2 gives each one"]

    def _check_machines(self, cluster: Cluster) -> None:
        names = {machine.name for machine in cluster.machines}
        for one in self._partitions:
            unknown = [] if one.Nodes == "ALL" else [name for name in one.Nodes if name not in names]
            if unknown:
                where = f"policy.partitions, {one.PartitionName}"
                some = [machine.name for machine in cluster.machines[:8]]
                allowed = ", ".join([*some, *["..."] * (len(names) > 8)])
                raise InputError("no such machine", where=where, found=unknown[0], allowed=allowed)

    def _check_jobs(self, cluster: Cluster, jobs: Sequence[JobSpec]) -> None:
        for what, known in (
            ("partition", {one.PartitionName for one in self.partitions}),
            ("qos", self._qos),
        ):
            for spec in templates_of(jobs) if known else ():
                name = getattr(spec, what)
                if name and name not in known:
                    allowed = f"{', '.join(known)}; add it to the policy"
                    raise InputError(
                        f"unknown {what}", where=f"job {spec.job_id!r}", found=name, allowed=allowed
                    )
        for spec in templates_of(jobs):
            partition = self._by_name.get(spec.partition, self._default)
            try:
                self._shape(spec.demand, partition, cluster, spec.exclusive)
            except PlanError:
                where = f"job {spec.job_id!r}, partition {partition.PartitionName}"
                allowed = "leave such jobs out (workload.max_gpus), or give the partition more machines"
                size = f"{spec.demand.gpus} GPUs, {spec.demand.cpus} CPUs"
                raise InputError(
                    "never fits its partition", where=where, found=size, allowed=allowed
                ) from None
            names = spec.partition, spec.account, spec.qos, spec.user
            job = self._job(0, spec.demand, 0, UNLIMITED_NS, cluster, spec.exclusive, *names)
            if reason := self._limits.reason(job, ()):
                what, size = f"it can never start ({reason})", f"{job.gpus} GPUs, {job.cpus} CPUs"
                allowed = "no more than its limits, or leave it out"
                raise InputError(what, where=f"job {spec.job_id!r}", found=size, allowed=allowed)

    def decide(self, view: ClusterView) -> Plan:
        """Run the loops that are due."""
        plan, now_ns = view.plan(), view.now_ns
        if self._scheduler is None:
            self._scheduler = self._built(view.cluster)
        scheduler = self._scheduler
        self._take_in(view, scheduler)
        for number, stop_ns in list(self._leaving.items()):
            if stop_ns <= now_ns:
                self._stop(plan, scheduler, scheduler.running[number])
                del self._leaving[number]
                scheduler.preempt(number, now_ns)
                self._changed = True
        if self._multifactor is not None and now_ns >= self._calculated_ns + self._period_ns:
            self._recalculate(scheduler, now_ns)
        self._carry_out(scheduler.main(now_ns), scheduler, now_ns, plan)
        backfills = self.SchedulerType == "sched/backfill" and scheduler.waiting
        if backfills and self._changed and now_ns >= self._filled_ns + self._interval_ns:
            self._changed, self._filled_ns = False, now_ns
            self._carry_out(scheduler.backfill(now_ns), scheduler, now_ns, plan)
        self._note_reasons(scheduler, now_ns, plan)
        self._wake(scheduler, plan, now_ns)
        return plan.done()

    def describe(self) -> str:
        """Return the loops and priorities in a clause, for a report."""
        loops = "main loop only" if self.SchedulerType == "sched/builtin" else "main and backfill loop"
        return f"Slurm's {loops}, {self.PriorityType}, {self.PreemptType}"

    # --- state

    def _built(self, cluster: Cluster) -> Scheduler:
        tree = self.TopologyPlugin == "topology/tree"
        weight_of = {name: weight for weight, names in self.Weight.items() for name in names}
        by_weight = sets_by(weight_of.get(machine.name, 1) for machine in cluster.machines)
        sets = [by_weight[weight] for weight in sorted(by_weight)] if len(by_weight) > 1 else []
        nodes = Nodes(cluster, cluster.rack_sets if tree else None, sets)
        depths = Depths(
            self.default_queue_depth,
            self.bf_max_job_test,
            self.bf_max_job_user,
            seconds_to_ns(60 * self.bf_window),
            seconds_to_ns(self.bf_resolution),
            time_ns(self.OverTimeLimit) + KILL_WAIT_NS,
        )
        preemption = Preemption(self.PreemptType, self.PreemptMode, self.preempt_reorder_count)
        if self.PriorityType == "priority/multifactor":
            fair_share = None
            if self.associations:
                half_life_ns = time_ns(self.PriorityDecayHalfLife)
                by_tree = "NO_FAIR_TREE" not in self.PriorityFlags
                fair_share = FairShare(self.associations, half_life_ns, tree=by_tree)
            weights = Weights(
                self.PriorityWeightAge,
                self.PriorityWeightFairshare,
                self.PriorityWeightJobSize,
                self.PriorityWeightPartition,
                self.PriorityWeightQOS,
            )
            self._multifactor = Multifactor(
                weights,
                time_ns(self.PriorityMaxAge),
                self.PriorityFavorSmall,
                self._partitions,
                self.qos,
                fair_share,
                cluster,
            )
        return Scheduler(cluster, nodes, depths, self._limits, preemption, self._bill)

    def _take_in(self, view: ClusterView, scheduler: Scheduler) -> None:
        """Follow the news: arrivals, ends, evictions, and machines that come and go."""
        arrived = [event.job for event in view.news if isinstance(event, Arrival)]
        if arrived:
            for job in self._jobs(view, arrived):
                multifactor = self._multifactor
                if multifactor:
                    job.priority = multifactor.priority(job, view.now_ns)
                else:
                    job.priority = self._lowest - 1 - job.nice
                    self._lowest = min(self._lowest, job.priority)
                scheduler.submit(job)
        for event in view.news:
            if isinstance(event, Finish) and event.job in scheduler.running:
                self._bill(scheduler.end(event.job), event.time_ns)
                self._leaving.pop(event.job, None)
            elif isinstance(event, Stop) and event.job in scheduler.running:
                self._bill(scheduler.running[event.job], event.time_ns)
                self._leaving.pop(event.job, None)
                scheduler.requeue(event.job, event.time_ns)
        if any(isinstance(event, MachineEvent) for event in view.news) or not view.all_open:
            scheduler.nodes.open = set_of([m for m, takes in enumerate(view.accepts.tolist()) if takes])
        self._changed = self._changed or bool(view.news)

    def _stop(self, plan: PlanBuilder, scheduler: Scheduler, victim: Job) -> None:
        """Plan the stop of a victim, or its end."""
        (plan.cancel if scheduler.cancels(victim) else plan.stop)(victim.number)

    def _bill(self, job: Job, ended_ns: int) -> None:
        """Add the usage of a job that ended."""
        if self._multifactor is not None:
            self._multifactor.end(job, ended_ns)

    def _recalculate(self, scheduler: Scheduler, now_ns: int) -> None:
        """Set all priorities anew."""
        assert self._multifactor is not None
        jobs = [*scheduler.waiting.values(), *scheduler.running.values()]
        self._multifactor.recalculate(now_ns, sorted(jobs, key=lambda job: job.number))
        self._calculated_ns = now_ns
        scheduler.rank_again()
        self._changed = True

    def _carry_out(self, decision: Decision, scheduler: Scheduler, now_ns: int, plan: PlanBuilder) -> None:
        """Plan the stops and starts of a loop."""
        started = {job.number for job, _ in decision.starts}
        for victim, job in decision.victims:
            if job.number in started:
                self._stop(plan, scheduler, victim)
            else:
                grace_ns = seconds_to_ns(scheduler.grace_s(victim))
                self._leaving.setdefault(victim.number, now_ns + grace_ns)
        for job, _ in decision.starts:
            plan.place(job.number, Allocation(scheduler.nodes.use_of(job.number).slices))
        self._changed = self._changed or bool(decision.starts)

    def _note_reasons(self, scheduler: Scheduler, now_ns: int, plan: PlanBuilder) -> None:
        """Note the reasons for which jobs wait where they changed, and in `series` the jobs by reason."""
        if not (self.associations or self.qos):
            return
        before, waiting = self._reasons, scheduler.waiting.values()
        self._reasons = {job.number: reason for job in waiting if (reason := scheduler.reason(job))}
        for number in scheduler.waiting if before or self._reasons else ():
            if (reason := self._reasons.get(number, "")) != before.get(number, ""):
                plan.note_reason(number, reason)
        counts, counted = Counter(self._reasons.values()), Counter(before.values())
        for name in sorted({*counts, *counted}):
            if counts[name] != counted[name]:
                self.series.append((now_ns, name, float(counts[name])))

    def _wake(self, scheduler: Scheduler, plan: PlanBuilder, now_ns: int) -> None:
        """Ask to be called when a loop is due next, or a time passes that it waits for."""
        times = list(self._leaving.values())
        if scheduler.waiting:
            times += [eligible_ns for eligible_ns in scheduler.held_ns.values() if eligible_ns > now_ns]
            if self._changed and self.SchedulerType == "sched/backfill":
                times.append(max(self._filled_ns + self._interval_ns, now_ns + 1))
            if self._multifactor is not None and scheduler.running:
                times.append(self._calculated_ns + self._period_ns)
        if times:
            plan.wake_at(min(times))

    # --- jobs

    def _jobs(self, view: ClusterView, numbers: Sequence[int]) -> Iterable[Job]:
        """Yield jobs that have arrived."""
        columns = view.columns(numbers)
        texts = (columns.partition, columns.account, columns.qos, columns.user)
        times = columns.submit_ns.tolist(), columns.limit_ns.tolist()
        numeric = columns.nice.tolist(), columns.exclusive.tolist()
        for number, submit_ns, limit_ns, nice, exclusive, *names in zip(
            numbers, *times, *numeric, *texts, strict=True
        ):
            demand = view.demand(number)
            job = self._job(number, demand, submit_ns, limit_ns, view.cluster, exclusive, *names)
            job.nice = nice
            yield job

    def _job(
        self,
        number: int,
        demand: Demand,
        submit_ns: int,
        limit_ns: int,
        cluster: Cluster,
        exclusive: bool,
        partition_name: str,
        account: str,
        qos: str,
        user: str,
    ) -> Job:
        partition = self._by_name.get(partition_name, self._default)
        nodes, need, gpus, places, largest = self._shape(demand, partition, cluster, exclusive)
        if limit_ns == UNLIMITED_NS and partition.DefaultTime is not None:
            limit_ns = time_ns(partition.DefaultTime)
        return Job(
            number,
            nodes,
            need,
            gpus,
            demand.cpus,
            demand.memory_bytes,
            min(limit_ns, time_ns(partition.MaxTime)),
            places,
            partition,
            submit_ns,
            submit_ns,
            self._qos.get(qos),
            account,
            user,
            largest=largest,
            unit=demand.unit,
        )

    def _shape(self, demand: Demand, partition: Partition, cluster: Cluster, exclusive: bool) -> Shape:
        """Return `_shape`, computed once."""
        key = demand, partition.PartitionName, exclusive
        if key not in self._shapes:
            exclusive = exclusive or partition.OverSubscribe == "EXCLUSIVE"
            self._shapes[key] = _shape(demand, partition, cluster, exclusive)
        return self._shapes[key]


def _shape(demand: Demand, partition: Partition, cluster: Cluster, exclusive: bool) -> Shape:
    """Return a job's number of nodes, its need on each, its GPUs, and the sets of nodes that may serve.

    The fewest nodes that are large enough, if all of the partition were free. And, if it is exclusive, the
    largest such nodes.
    """
    types = _types(demand, partition, cluster)
    for target in sorted((gpus for gpus in demand.targets() if gpus <= demand.gpus), reverse=True):
        for group in [[one] for one in types] if demand.fungible else [types]:
            gpus, unit = demand.gpus_at(group[0][1], target), demand.unit
            for count in range(1, min(demand.max_machines or len(cluster), gpus // unit or len(cluster)) + 1):
                totals = gpus // unit, demand.cpus, demand.memory_bytes
                units, cpus, memory = (-(-total // count) for total in totals)
                need = Need(units * unit, cpus, memory, SHARES if exclusive else 1)
                able = set_of(m for m, machine in enumerate(cluster.machines) if _holds(machine, need))
                places = tuple(nodes for nodes, _ in group if (nodes & able).bit_count() >= count)
                if places:
                    machines = [cluster.machines[m] for m in members_of(reduce(or_, places) & able)]
                    machines.sort(key=lambda machine: (machine.gpus, machine.cpus), reverse=True)
                    return count, need, gpus, places, tuple(machines[: count * exclusive])
    raise PlanError(
        f"policy Slurm cannot place {demand.gpus} GPUs and {demand.cpus} CPUs in {partition.PartitionName}"
    )


def _types(demand: Demand, partition: Partition, cluster: Cluster) -> list[tuple[int, float]]:
    """Return the sets of a partition's nodes that may serve a job, and the worth of their GPUs."""
    names = {*partition.Nodes}
    of_partition = set_of(
        m for m, machine in enumerate(cluster.machines) if partition.Nodes == "ALL" or machine.name in names
    )
    if not demand.gpus or not (demand.gpu_types or len(cluster.type_sets) > 1):
        return [(of_partition, 1.0)]
    kinds = [kind for kind in demand.gpu_types or cluster.type_sets if kind in cluster.type_sets]
    types = [(cluster.type_sets[kind] & of_partition, cluster.worth_of[kind]) for kind in kinds]
    if demand.mixed_types and not demand.fungible:
        types.append((reduce(or_, [nodes for nodes, _ in types], 0), 1.0))
    return types


def _holds(machine: Machine, need: Need) -> bool:
    """Return whether an empty machine has room for a need."""
    has = machine.gpus, machine.cpus, machine.memory_bytes, SHARES
    return all(there >= wanted for there, wanted in zip(has, need, strict=True))
