"""Synergy: CPUs and memory for the jobs that gain from them, and no job is slower for it.

In plain words: in each round jobs are ranked by an order, and the first ones whose GPUs together fit the
cluster are to run; one whose GPUs do not fit is passed over. All of them are packed again: a mechanism places
them with their CPUs and memory (`artist.policies.synergy.needs`): in proportion to GPUs, greedy (the best
case of a job, or it is skipped), tune, opt, or one of the user's own. A job with an unchanged allocation
continues (its lease is renewed); one with only other CPUs or memory is retuned; the others move, start or
stop.

The best case of a job is the least CPUs and memory with which it reaches its highest speed
(`artist.policies.synergy.best_case`), according to the performance that the policy believes.

Paper: Mohan et al., Looking Beyond GPUs for DNN Scheduling on Multi-Tenant Clusters (Synergy), OSDI 2022,
sections 3.2, 3.3, 4 and 5.3.2.

Differs from the paper: it sorts jobs by descending demand before it packs them (`pack_order` descending); its
authors' program packs in the order of the policy, which is faster by far, and the default here. For
`hand_out` see tune. `split` allows tune to split a job for more CPUs and memory, which section 6 leaves to
future work. An elastic job takes its demand, or the most GPUs that fit. CPU-only jobs start where CPUs are
free, and are never stopped; jobs on a machine that is about to leave stay as they are. A GPU job runs with
the CPUs that CPU-only jobs leave, even if there are none (not under greedy), and is packed again in the round
after one of them ends. With several machine types a job goes to GPUs of one type, the first of its allowed
types with enough (greedy: with its best case).
"""

import logging
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import fields
from functools import reduce
from itertools import repeat
from operator import or_
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field, PlainValidator
from pydantic.dataclasses import dataclass

from artist.core.arrays import Ints
from artist.core.buckets import ALL
from artist.core.cluster import Allocation, Cluster
from artist.core.events import Arrival, Finish, MachineEvent
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.plan import Plan, PlanBuilder
from artist.core.view import ClusterView, JobColumns
from artist.errors import InputError
from artist.performance.formulas.best_case import MEMORY_POINTS_GIB
from artist.policies.parts.cpu_jobs import start_cpu_jobs
from artist.policies.parts.orders import AnyOrder, order_of, ranking
from artist.policies.parts.parameters import STRICT, check_part, class_name
from artist.policies.parts.preemption import pinned_jobs, take_first, ways
from artist.policies.synergy.best_case import BestCases
from artist.policies.synergy.greedy import Greedy
from artist.policies.synergy.needs import Mechanism, Need
from artist.policies.synergy.opt import Opt
from artist.policies.synergy.proportional import Proportional
from artist.policies.synergy.tune import Tune

_log = logging.getLogger(__name__)
Choice = tuple[int, int, int]  # job, GPUs, machines that may serve
Served = Callable[[int, int], bool]  # whether a job may be tried on some machines
PackOrder = Literal["policy", "descending", "ascending"]
Points = Annotated[list[Annotated[float, Field(gt=0, le=1e6)]], Field(min_length=1), AfterValidator(sorted)]

MECHANISMS: Mapping[str, Callable[["Synergy"], Mechanism]] = {
    "proportional": lambda policy: Proportional(),
    "greedy": lambda policy: Greedy(),
    "tune": lambda policy: Tune(hand_out=policy.hand_out),
    "opt": lambda policy: Opt(policy.memory_points_gib, server_gpus=policy.server_gpus),
}
AnyMechanism = Annotated[
    str | Mechanism, PlainValidator(lambda value: check_part(value, MECHANISMS, "pack", Mechanism))
]


def _always(job: int, among: int) -> bool:
    return True


@dataclass(config=STRICT)
class Synergy:
    """Packs the first jobs of an order again in every round; a mechanism divides CPUs and memory."""

    knows_models = knows_iterations = knows_performance = True
    decides_cpus = True
    keeps_segments = False

    order: AnyOrder = "fifo"
    mechanism: AnyMechanism = "tune"
    pack_order: PackOrder = "policy"
    hand_out: bool = True
    split: Literal["never", "when_faster"] = "never"
    server_gpus: int | None = Field(default=None, ge=1)
    memory_points_gib: Points = Field(default_factory=lambda: list(MEMORY_POINTS_GIB))
    on_events: bool = False
    interval_s: float | None = Field(default=300, ge=0.001, le=4e9)

    def __post_init__(self) -> None:
        self._order = order_of(self, self.order)
        mechanism = self.mechanism
        self._mechanism = MECHANISMS[mechanism](self) if isinstance(mechanism, str) else mechanism
        self._log_unread()
        tried, server = self.memory_points_gib, self.server_gpus
        self._best_cases = BestCases(tried, server_gpus=server)
        self._unbounded = BestCases(tried, server_gpus=server, bounded=False)
        self._needs: dict[int, dict[tuple[int, int], Need]] = {}  # by job, GPUs and machines
        self._simple = True  # no job is elastic or fungible
        self._last: list[Choice] | None = None  # the jobs packed last; None once that packing is obsolete
        self._whole: Free | None = None  # the cluster when nothing runs

    def _log_unread(self) -> None:
        """Note parameters that are set but have no effect with the mechanism."""
        shipped = isinstance(self.mechanism, str)
        names = [] if self.mechanism == "tune" else ["hand_out"] + ["split"] * shipped
        names += ["pack_order"] * self._mechanism.takes_all
        default = {field.name: field.default for field in fields(self)}
        lost = ", ".join(f"policy.{name}" for name in names if getattr(self, name) != default[name])
        if lost:
            mechanism = self.mechanism if shipped else class_name(self.mechanism)
            _log.info("no effect with policy.mechanism=%s: %s", mechanism, lost, extra={"note": True})

    def decide(self, view: ClusterView) -> Plan:
        """Rank, choose and pack, if something changed."""
        plan = view.plan()
        if self.server_gpus is not None:
            _check_server(self.server_gpus, view.cluster)
        self._follow(view)
        jobs = view.jobs
        if not len(jobs):
            return plan.done()
        rows = ranking(self._order.key(jobs))
        pinned = pinned_jobs(view)
        if pinned:
            rows = rows[~np.isin(jobs.job[rows], pinned)]
        with_gpus = jobs.gpus[rows] > 0
        cpu_jobs = jobs.job[rows[~with_gpus & ~jobs.running[rows]]].tolist()
        rows = rows[with_gpus]
        free = self._room(view, jobs, rows)
        chosen = self._chosen(view, jobs, rows, free)
        if chosen != self._last or cpu_jobs:
            self._last = chosen
            self._pack(view, plan, free, rows)
            if cpu_jobs:
                start_cpu_jobs(view, plan, free, cpu_jobs)
        return plan.done()

    def _follow(self, view: ClusterView) -> None:
        """Track arrivals and finishes; drop the last packing if it is obsolete."""
        for event in view.news:
            if isinstance(event, Arrival):
                demand = view.demand(event.job)
                self._simple &= not (demand.elastic or demand.fungible)
            elif isinstance(event, Finish):
                self._needs.pop(event.job, None)
                self._best_cases.forget(event.job)
                self._unbounded.forget(event.job)
                self._last = None  # a CPU-only job may have left room
            elif isinstance(event, MachineEvent):
                self._last = None

    def _room(self, view: ClusterView, jobs: JobColumns, rows: Ints) -> Free:
        """Return the free resources if none of the jobs of some rows ran."""
        if jobs.gpus.all() and view.accepts.all():
            if self._whole is None:
                cluster = view.cluster
                self._whole = Free(cluster, cluster.gpus, cluster.cpus, cluster.memory_bytes)
            return self._whole
        free = view.free()
        for job in jobs.job[rows[jobs.running[rows]]].tolist():
            held = view.allocation(job)
            assert held is not None, "it runs"
            free.give(held)
        return free

    def _chosen(
        self, view: ClusterView, jobs: JobColumns, rows: Ints, free: Free, served: Served = _always
    ) -> list[Choice]:
        """Return the jobs to pack, ranked, with GPUs and machines: the first that fit together, or all."""
        takes_all = self._mechanism.takes_all
        if not (self._simple and view.cluster.uniform):
            return _by_type(view, jobs.job[rows].tolist(), free, served, takes_all=takes_all)
        if served is not _always:
            rows = rows[[served(job, ALL) for job in jobs.job[rows].tolist()]]
        if not takes_all:
            rows = rows[take_first(jobs.gpus[rows], free.total_gpus, backfill=True)]
        return [*zip(jobs.job[rows].tolist(), jobs.gpus[rows].tolist(), repeat(ALL))]

    def _need(self, view: ClusterView, job: int, gpus: int, among: int = ALL) -> Need:
        """Return the need of a job; the same record as long as it does not change."""
        needs = self._needs.setdefault(job, {})
        need = needs.get((gpus, among))
        if need is None:
            (_, cpus, memory), cases = self._best_cases.among(view, job, gpus, among)
            unbounded = None
            if self.split == "when_faster" and gpus > 1:
                unbounded = self._unbounded.among(view, job, gpus, among)[0][1:]
            demand = view.demand(job)
            need = Need(job, demand, gpus, cpus, memory, unbounded, among, cases=cases)
            needs[gpus, among] = need
        return need

    def _pack(self, view: ClusterView, plan: PlanBuilder, free: Free, rows: Ints) -> None:
        """Plan the mechanism's allocations, and take them from `free`, unless the cluster is whole."""
        chosen = self._last or []
        packed = self._packed(view, free, chosen)
        if not self._mechanism.takes_all and len(packed) < len(chosen):
            self._last = None  # GPUs that no job may use are no longer kept for it
            packed = self._packed(view, free, self._placeable(view, rows, free, chosen))
        jobs = view.jobs
        for job in jobs.job[rows[jobs.running[rows]]].tolist():
            if job not in packed:
                plan.stop(job)
        for job, allocation in packed.items():
            if allocation is not view.allocation(job):
                plan.place(job, allocation)
            if free is not self._whole:
                free.take(allocation)

    def _packed(self, view: ClusterView, free: Free, chosen: Sequence[Choice]) -> dict[int, Allocation]:
        """Return the mechanism's allocations."""
        needs = [self._need(view, *choice) for choice in chosen]
        if self.pack_order != "policy" and not self._mechanism.takes_all:
            needs.sort(key=_descending if self.pack_order == "descending" else _ascending)
        return dict(self._mechanism.pack(needs, free, view))

    def _placeable(self, view: ClusterView, rows: Ints, free: Free, chosen: list[Choice]) -> list[Choice]:
        """Return the first jobs whose GPUs are where they may use them, if placed in order.

        A job that finds no place on GPUs of one type is tried on the next that it may use.
        """
        in_order, refused = Proportional(), set[tuple[Demand, int]]()
        while True:
            needs = [self._need(view, *choice) for choice in chosen]
            placed = in_order.pack(needs, free, view)
            more = {(need.demand, need.among) for need in needs if need.job not in placed}
            if not more:
                return chosen
            refused.update(more)
            kept = {(need.job, need.among) for need in needs if need.job in placed}

            def served(job: int, among: int, kept: Container[tuple[int, int]] = kept) -> bool:
                return (job, among) in kept or (view.demand(job), among) not in refused

            chosen = self._chosen(view, view.jobs, rows, free, served)


def _by_type(
    view: ClusterView, jobs: Sequence[int], free: Free, served: Served, *, takes_all: bool
) -> list[Choice]:
    """Return the jobs to pack if machines or jobs differ in their GPU types.

    Each job once, on the first type that has enough and serves it; if the mechanism takes all, on all types
    that it may use.
    """
    cluster, chosen = view.cluster, []
    left = {gpu_type: int(free.gpus[usable].sum()) for gpu_type, usable in cluster.of_type.items()}
    for job in jobs:
        for way in ways(free, view.demand(job), left):
            among = reduce(or_, map(cluster.type_sets.__getitem__, way))
            if served(job, among) and all(left[gpu_type] >= gpus for gpu_type, gpus in way.items()):
                chosen.append((job, sum(way.values()), among))
                if takes_all:
                    continue
                for gpu_type, gpus in way.items():
                    left[gpu_type] -= gpus
                break
    return chosen


def _check_server(server_gpus: int, cluster: Cluster) -> None:
    """Raise InputError if a machine is less than one server."""
    smallest = min((machine.gpus for machine in cluster.machines if machine.gpus), default=server_gpus)
    if server_gpus > smallest:
        allowed = f"null, or at most the {smallest} GPUs of a machine, which may represent several servers"
        raise InputError(
            "no such server", where="policy.server_gpus", found=str(server_gpus), allowed=allowed
        )


def _descending(need: Need) -> tuple[int, ...]:
    return -need.gpus, -need.cpus, -need.memory_bytes


def _ascending(need: Need) -> tuple[int, ...]:
    return (need.cpus,)
