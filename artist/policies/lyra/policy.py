"""Lyra: idle inference machines on loan, elastic jobs, and the fewest preemptions.

In plain words: every `interval_s` an orchestrator borrows whole machines that the inference pool does not
need, and returns those that it needs again (`artist.policies.lyra.loans`). Jobs start in two phases, at
every event:

1. Waiting jobs in order, elastic ones by their time at base demand. A job takes idle GPUs, else also those of
   flexible workers; one that does not fit is set aside and the next is tried (`backfill`), or it blocks the
   others. Heterogeneous jobs come last. Base workers never make room for another job.
2. The GPUs left, idle or of flexible workers, are divided among elastic jobs by a rule: `knapsack` minimises
   the remaining time of all jobs together
   (`artist.policies.lyra.extra_workers`).

Placement of workers: `artist.policies.lyra.worker_placement`. A job preempted because its machine is returned
waits again, and may start on others at the same instant. CPU-only jobs run in the training pool, or on loaned
machines with GPUs of their types. If no pool is named `training`, all machines but those of `inference` and
`on_loan` are for training.

Paper: Li et al., Lyra: Elastic Scheduling for Deep Learning Clusters, EuroSys 2023, sections 4 to 6.

Differs from the paper:

- Its scheduler works in short intervals; here it is called on events.
- `fungible_on: loan` is its Opportunistic scheduling: fungible jobs wait for machines that inference leaves
  idle, and for no others, also after a preemption; elastic ones start in the training pool, fungible or not.
  A job that needs more of these machines for longer than they are ever idle cannot finish, and the run ends
  with `StuckError` after the end of the series.
- `base: requested` starts elastic jobs with all GPUs that they ask for (the paper's reading of Gandiva); with
  `scaling: none` they are treated as other jobs.
"""

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from artist.core.cluster import Cluster, Machine
from artist.core.events import Arrival, Change, Finish, MachineEvent, Stop
from artist.core.job import Demand, JobSpec
from artist.core.plan import Plan, PlanBuilder
from artist.core.view import ClusterView, Signal
from artist.policies.lyra.extra_workers import ExtraWorkers
from artist.policies.lyra.loans import INFERENCE, ON_LOAN, TRAINING, Orchestrator
from artist.policies.lyra.predictors import NEXT_USE, USE, AnyPredictor, predictor_of
from artist.policies.lyra.reclaiming import AnyReclaim, reclaim_of
from artist.policies.lyra.scaling import AnyScaling, scaling_of
from artist.policies.lyra.worker_placement import WorkerPlacement
from artist.policies.lyra.workers import Held, Workers
from artist.policies.parts.base_demand import AtBase, base_of
from artist.policies.parts.orders import AnyOrder, order_of
from artist.policies.parts.parameters import STRICT
from artist.policies.parts.pools import machines_in, notes_on_others
from artist.policies.parts.waiting_queue import WaitingQueue, by_demand, in_one


@dataclass(config=STRICT)
class Lyra:
    """Loans, two-phase allocation, elastic jobs."""

    on_events = True
    remembers_places = True
    keeps_segments = False
    shares = (USE, NEXT_USE)
    fill = "proportional"  # as the paper; no setting

    order: AnyOrder = "sjf"
    backfill: bool = True
    scaling: AnyScaling = "knapsack"
    base: Literal["least", "requested"] = "least"
    grouped: bool = True
    loaning: bool = True
    predictor: AnyPredictor = "oracle"
    headroom: float = Field(default=0.02, ge=0, le=1)
    reclaim: AnyReclaim = "server_fraction"
    fungible_on: Literal["any", "loan"] = "any"
    interval_s: float = Field(default=300, ge=0.001, le=4e9)
    seed: int = Field(default=0, ge=0)

    def __post_init__(self) -> None:
        self._order = order_of(self, self.order)
        self._elastic = self.scaling != "none"
        if self._elastic or self.base == "least":
            self.knows_durations = self.knows_iterations = self.knows_models = self.knows_performance = True
        parts = predictor_of(self.predictor), reclaim_of(self.reclaim, self.seed)
        self._orchestrator = Orchestrator(*parts, self.headroom, self.interval_s) if self.loaning else None
        split = by_demand if self.backfill else in_one
        self._queues = {name: WaitingQueue(split) for name in ("any", "loan", "heterogeneous")}
        self._base_of = cache(partial(base_of, requested=self.base == "requested"))
        self._room_made = False  # by the last plan

    def follows(self, cluster: Cluster) -> Sequence[str]:
        """Return the names of the series needed on a cluster."""
        return self._orchestrator.follows(cluster) if self._orchestrator else ()

    def notes(self, cluster: Cluster, jobs: Sequence[JobSpec]) -> Sequence[str]:
        """Return notes for the user on the pools of a cluster."""
        notes = notes_on_others(cluster, TRAINING, (TRAINING, INFERENCE, ON_LOAN))
        if self._orchestrator is not None and not self.follows(cluster):
            notes.append(f"no machine is in pool {INFERENCE!r}, so none is loaned")
        return notes

    def reach(
        self, machines: Sequence[Machine], signals: Mapping[str, Signal], demand: Demand
    ) -> tuple[Demand, list[Machine]]:
        """Return the demand with which a job starts, and the machines on which it ever may.

        Those for training, and of the largest set that is ever on loan those of its GPU types.
        """
        theirs = [machine for machine in machines if machine.pool in (INFERENCE, ON_LOAN)]
        training = [machine for machine in machines if machine.pool == TRAINING] or [
            machine for machine in machines if machine not in theirs
        ]
        lent = [machine for machine in theirs if machine.pool == ON_LOAN]
        if self._orchestrator is not None:
            lent = self._orchestrator.lent(theirs, signals)
        base = self._base_of(demand)
        if demand.fungible and self.fungible_on == "loan":
            return base, training if demand.elastic else lent
        types = demand.gpu_types or {machine.gpu_type for machine in training}
        return base, training + [machine for machine in lent if demand.fungible or machine.gpu_type in types]

    def shrunk(self, demand: Demand, gpus: int) -> int:
        """Return the GPUs of the base workers if a failure leaves them; the job may grow again at once."""
        base = self._base_of(demand).gpus
        return base if self._elastic and base <= gpus else 0

    def decide(self, view: ClusterView) -> Plan:
        """Move machines and ask to be called again at once, or start jobs and let others grow or shrink."""
        self._look(view)
        plan = view.plan()
        if self._orchestrator is not None:
            self._orchestrator.act(view, plan, self._workers)
        if plan.assigns:
            plan.wake_at(view.now_ns)
        else:
            self._start(view, plan)
            self._extra.divide(view, pending=view.n_waiting > len(plan.changes))
        self._carry_out(view, plan)
        return plan.done()

    # --- events

    def _look(self, view: ClusterView) -> None:
        """Track arrivals, finishes, evictions and machines."""
        if not hasattr(self, "_workers"):
            self._begin(view)
        machines = any(isinstance(event, MachineEvent) for event in view.news)
        room = self._room_made or machines
        for event in view.news:
            if isinstance(event, Finish | Stop):
                self._left(event.job, self._workers.end(event.job))
                room = True
            if isinstance(event, Change):
                held = self._workers.end(event.job)
                self._left(event.job, held)
                self._workers.start(event.job, held.demand, event.allocation)
                self._extra.enter(event.job)
            if isinstance(event, Arrival | Stop):
                self._wait(view, event.job)
        if machines:
            self._workers.recount(view.free())
        on_loan = view.in_pool(ON_LOAN)
        training = machines_in(view, TRAINING)
        self._placement.look(view, training & ~on_loan & ~view.in_pool(INFERENCE), on_loan)
        if room:
            for queue in self._queues.values():
                queue.try_again(self._may_fit)
        self._room_made = False
        if getattr(self._order, "ages", False):
            self._rank_again(view)

    def _begin(self, view: ClusterView) -> None:
        """Set up the parts that need the cluster."""
        cluster, requested = view.cluster, self.base == "requested"
        self._workers = Workers(cluster, view.free())
        self._placement = WorkerPlacement(cluster, self._workers, grouped=self.grouped)
        parts = scaling_of(self.scaling), self._workers, self._placement
        self._extra = ExtraWorkers(cluster, *parts, requested=requested)

    def _left(self, job: int, held: Held) -> None:
        """Track a job that has finished or stopped."""
        if self._is_elastic(held.demand):
            self._extra.leave(job)

    def _rank_again(self, view: ClusterView) -> None:
        """Queue all waiting jobs by their present keys; rank at once the jobs that start as asked."""
        for queue in self._queues.values():
            queue.clear()
        if not view.n_waiting:
            return
        jobs = view.waiting
        for job, key in zip(jobs.job.tolist(), self._order.key(jobs), strict=True):
            demand = view.demand(job)
            if self._base_of(demand) is demand:
                self._queues[self._queue_of(demand)].push(job, float(key), demand)
            else:
                self._wait(view, job)

    def _wait(self, view: ClusterView, job: int) -> None:
        """Queue a job."""
        demand = view.demand(job)
        base = self._base_of(demand)
        columns = view.columns([job]) if base is demand else AtBase(view, job, base)
        self._queues[self._queue_of(demand)].push(job, float(self._order.key(columns)[0]), demand)

    def _may_fit(self, demand: Demand) -> bool:
        return self._placement.may_fit(self._base_of(demand), self._preferred(demand))

    # --- properties of jobs

    def _is_elastic(self, demand: Demand) -> bool:
        return demand.elastic and self._elastic

    def _queue_of(self, demand: Demand) -> str:
        """Return the queue for a demand."""
        if demand.fungible and not demand.elastic and self.fungible_on == "loan":
            return "loan"
        return "heterogeneous" if demand.fungible and demand.mixed_types else "any"

    def _preferred(self, demand: Demand) -> list[int]:
        """Return the sets of machines that a job may start on, the best one first."""
        if demand.fungible and self.fungible_on == "loan":
            return [self._placement.training if demand.elastic else self._placement.loaned]
        return self._placement.preferred(demand, elastic=self._is_elastic(demand))

    # --- decisions

    def _start(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Start waiting jobs in order, as far as there is room."""
        for queue in self._queues.values():
            while (first := queue.first()) is not None:
                demand, job = first
                allocation = self._placement.place(self._base_of(demand), self._preferred(demand))
                if allocation is None:
                    queue.refuse(demand)
                    continue
                queue.pop(demand)
                plan.place(job, allocation)
                self._workers.start(job, demand, allocation)
                if self._is_elastic(demand):
                    self._extra.enter(job)

    def _carry_out(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Plan the stops of preempted jobs, and the allocations of jobs that grew or shrank."""
        workers = self._workers
        for job, held in workers.stopped.items():
            plan.stop(job)
            self._left(job, held)
            self._wait(view, job)
        for job in workers.changed:
            plan.place(job, workers.jobs[job].allocation)
        self._room_made = bool(plan.assigns)
        workers.stopped.clear()
        workers.changed.clear()
