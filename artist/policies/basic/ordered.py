"""Base schedulers: one order, one placement, with or without preemption.

In plain words: waiting jobs are ranked by an order (`artist.policies.parts.orders`). Without preemption the
first one starts as soon as the placement policy has room for it. With `backfill` none later jobs wait behind
one that does not fit, with first_fit they may overtake it; with easy and conservative they do if, by the time
limits of jobs, they delay no job that has a reservation: the first one that waits, or all. With `queues` of
kinds, GPU jobs and CPU-only jobs have a queue each and wait only behind jobs of their own kind. With
preemption the first jobs that together fit the cluster run, and running jobs beyond them are stopped; one of
these that finds other GPUs at once moves there. CPU-only jobs start where CPUs are free and are never
stopped. With `pool`, without preemption, only the machines of that pool serve; in a cluster without it, all
do.

Sources: FIFO, SJF, SRTF: any textbook. SRSF and LAS, 2D-LAS: Gu et al., Tiresias, NSDI 2019, section 3.

Differs from the paper: continuous LAS and 2D-LAS change ranks at every instant; here they are ranked on
events (unless `on_events` is false) and every `interval_s`; with an interval shorter than an iteration and
its delays no job progresses.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass

from artist.core.arrays import Ints
from artist.core.cluster import Cluster
from artist.core.compact_jobs import field_of
from artist.core.events import Arrival, Stop
from artist.core.job import UNLIMITED_NS, JobSpec
from artist.core.plan import Plan, PlanBuilder
from artist.core.view import ClusterView, JobColumns
from artist.policies.basic.backfill import Backfill
from artist.policies.basic.freed_machines import Freed
from artist.policies.parts.fill import AnyFill
from artist.policies.parts.orders import FIFO, AnyOrder, adopt_knowledge, order_of, ranking
from artist.policies.parts.parameters import STRICT
from artist.policies.parts.placement import AnyChooser, Split
from artist.policies.parts.placer import Packing, placer_of
from artist.policies.parts.pools import machines_in
from artist.policies.parts.preemption import run_first
from artist.policies.parts.units import Align
from artist.policies.parts.waiting_queue import WaitingQueue, by_demand, by_job_type, in_one
from artist.units import seconds_to_ns

_ONLY = np.zeros(1, dtype=np.int64)
_WORDS = {True: "first_fit", False: "none"}
_Backfill = Annotated[
    Literal["none", "first_fit", "easy", "conservative"],
    BeforeValidator(lambda value: _WORDS[value] if isinstance(value, bool) else value),
]
# In the words of a report.
_ORDERS = {
    "sjf": "shortest job", "srtf": "shortest remaining time", "srsf": "shortest remaining time x GPUs",
    "las": "least attained time", "las2d": "least attained time x GPUs", "ftf": "worst finish-time fairness",
    "drf": "least dominant share", "tetris": "least work left", "sensitivity": "most slowed by the network",
}  # fmt: skip
_BACKFILLS = {
    "none": "no job starts before an earlier one that waits",
    "first_fit": "a job may start before an earlier one that does not fit",
    "easy": "a job may start before earlier ones unless it delays the first of them",
    "conservative": "a job may start before earlier ones unless it delays one of them",
}  # fmt: skip
_PLACEMENTS = {
    "consolidate": "each job gets as few machines as possible", "random": "jobs get machines at random",
    "consolidate_machine": "jobs wait for GPUs of one machine",
    "consolidate_rack": "jobs wait for GPUs of one rack",
    "first_fit": "each job gets the first machines with room",
    "best_fit": "each job gets the machines with the least room",
    "spread": "each job gets as many machines as possible",
}  # fmt: skip


@dataclass(config=STRICT)
class Ordered:
    """Runs jobs by one order."""

    order: AnyOrder
    preemptive: bool = False
    backfill: _Backfill = "none"
    backfill_window_s: float | None = Field(default=None, ge=0, le=4e9)
    backfill_depth: int | None = Field(default=None, ge=1)
    backfill_resolution_s: float = Field(default=0, ge=0, le=4e9)
    queues: Literal["one", "kinds"] = "one"
    placement: AnyChooser = "consolidate"
    split: Split = "packed"
    align: Align = "none"
    on_events: bool = True
    interval_s: float | None = Field(default=None, ge=0.001, le=4e9)
    fill: AnyFill = "as_asked"
    pool: str = ""
    seed: int = Field(default=0, ge=0)

    def __post_init__(self) -> None:
        if self.pool and self.preemptive:
            raise ValueError("pool needs preemptive=false: a preemptive order takes all machines")
        overtakes = self.backfill != "none"
        if self.queues == "kinds" and (self.preemptive or overtakes):
            raise ValueError(
                "queues=kinds needs preemptive=false and backfill=none: there jobs overtake others"
            )
        self._order = order_of(self, self.order)
        self._ages = bool(getattr(self._order, "ages", False))
        shipped = type(self) is Ordered  # a subclass may react to all events
        self.only_while_jobs_wait = shipped and self.queues == "one"
        strict = self._order is FIFO and not (self.preemptive or overtakes)
        self._first_blocks = self.only_while_jobs_wait and strict  # all that come later
        self._placer = placer_of(self.placement, self.fill, self.seed, self.split, self.align)
        queue_of = by_job_type if self.queues == "kinds" else in_one
        self._queue = WaitingQueue(by_demand if overtakes else queue_of)
        self._backfill = self._reserving()
        self._freed = Freed(self.placement, self.fill)

    def decide(self, view: ClusterView) -> Plan:
        """Start, and with preemption stop, jobs by the order."""
        plan = view.plan()
        made_room = self.queues == "kinds" and self._freed.look(view)
        waiting = view.n_waiting
        if not waiting:
            return plan.done()
        if self.preemptive:
            overtakes = self.backfill == "first_fit"
            run_first(view, plan, self._rank, lambda job: self._placer, backfill=overtakes)
        elif self._backfill is not None:
            ranked = view.waiting.job[self._rank(view.waiting)].tolist()
            self._backfill.start(view, plan, ranked, machines_in(view, self.pool))
        else:
            self._take_in(view)
            if self.queues == "one":
                self._queue.try_all_again()
            elif made_room:
                free = view.free()
                self._queue.try_again(lambda demand: self._freed.may_fit(free, demand))
            self._start(view, plan, waiting)
        return plan.done()

    def _reserving(self) -> Backfill | None:
        """Return the backfill around reservations, None without one."""
        tuned = self.backfill_depth or self.backfill_window_s is not None or self.backfill_resolution_s
        if self.backfill not in ("easy", "conservative"):
            if tuned:
                fault = f"backfill={self.backfill} has no window, depth and resolution"
                raise ValueError(f"{fault}; backfill=easy or conservative")
            return None
        if self.preemptive:
            raise ValueError(
                f"backfill={self.backfill} needs preemptive=false: reservations are for waiting jobs"
            )
        window_s, step_ns = self.backfill_window_s, seconds_to_ns(self.backfill_resolution_s) or 1
        backfill = Backfill(
            self._placer,
            for_all=self.backfill == "conservative",
            window_ns=UNLIMITED_NS if window_s is None else seconds_to_ns(window_s),
            depth=self.backfill_depth,
            resolution_ns=step_ns,
        )
        adopt_knowledge(self, backfill)
        return backfill

    def describe(self) -> str:
        """Return order, backfill, placement and preemption in clauses, for a report."""
        order, placement = (
            part if isinstance(part, str) else type(part).__name__ for part in (self.order, self.placement)
        )
        stops = (
            "running jobs are preempted for jobs that come first" if self.preemptive else "none is preempted"
        )
        first = f"{_ORDERS[order]} first" if order in _ORDERS else f"jobs in the order {order}"
        first = "first come, first served" if order == "fifo" else first
        return "; ".join(
            (first, _BACKFILLS[self.backfill], _PLACEMENTS.get(placement, f"placement {placement}"), stops)
        )

    def notes(self, cluster: Cluster, jobs: Sequence[JobSpec]) -> list[str]:
        """Return notes for the log: reservations need limits."""
        limited = self._backfill is None or any(limit is not None for limit in field_of(jobs, "limit_ns"))
        fault = f"no job has a time limit: with backfill={self.backfill} none starts on reserved machines"
        return [] if limited else [f"{fault}; workload.limits.factor=2 gives each one"]

    def _rank(self, jobs: JobColumns) -> Ints:
        if len(jobs) == 1:
            return _ONLY
        return ranking(self._order.key(jobs))

    def _take_in(self, view: ClusterView) -> None:
        """Queue new and evicted jobs; all waiting ones if their keys change with time."""
        if self._ages:
            self._queue.clear()
            for job, key in zip(view.waiting.job.tolist(), self._order.key(view.waiting), strict=True):
                self._queue.push(job, float(key), view.demand(job))
            return
        for event in view.news:
            if isinstance(event, (Arrival, Stop)):
                job = event.job
                key = job if self._order is FIFO else self._order.key(view.columns([job]))[0]
                self._queue.push(job, float(key), view.demand(job))

    def _start(self, view: ClusterView, plan: PlanBuilder, waiting: int) -> None:
        """Start queued jobs in order, as far as there is room; `waiting` is their number."""
        packing: Packing | None = None
        among = machines_in(view, self.pool)
        free_gpus = view.free_gpus
        while waiting and (first := self._queue.first(free_gpus)) is not None:
            demand, job = first
            packing = packing or Packing(view.free(), among)
            allocation = packing.place(demand, self._placer)
            if allocation is None:
                self._queue.refuse(demand)
                continue
            self._queue.pop(demand)
            plan.place(job, allocation)
            if self.queues == "kinds":
                self._freed.hold(job)
            free_gpus -= allocation.gpus
            waiting -= 1
        if self._first_blocks and (blocked := self._queue.first()):  # not refused: too few are free
            plan.wait_for_gpus(blocked[0].min_feasible_gpus)
