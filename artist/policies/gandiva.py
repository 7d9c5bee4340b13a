"""Gandiva: affinity by demand, migration to fewer machines, time slices; it knows nothing of the network.

In plain words: a machine is labelled with the demand that it hosts first, until it is empty again. A job goes
to a machine of its own label, else to one without a label, else to the one with most free GPUs; among equals
at random, wherever they are. Where no machine has room for all of it, it is spread over machines in that
order. Waiting jobs are looked at in order of arrival; they overtake one that does not fit.

- `migration`: when GPUs come free that nobody waits for, running jobs that are spread move to fewer machines
  if they can, first come first served.
- `slicing`: while jobs wait, a running job's turn ends after `quantum_s`: those who have waited longest go
  before it, and it runs again when its turn comes.

Paper: Xiao et al., Gandiva: Introspective Cluster Scheduling for Deep Learning, OSDI 2018, section 3. As a
baseline of Dally (sections 3.4 and 5.1.3 there) it places and migrates; `gandiva_slicing` takes turns, too.

Differs from the paper: jobs are not packed onto the same GPUs, and do not grow or shrink.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from artist.core.buckets import members_of
from artist.core.cluster import Allocation
from artist.core.events import Finish, Stop
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.plan import Plan, PlanBuilder
from artist.core.view import ClusterView, JobColumns
from artist.policies.placement import BestFit, MachineChooser, Packing
from artist.policies.preemption import run_first, waiting_after
from artist.randomness import child_generator
from artist.units import seconds_to_ns

Ints = npt.NDArray[np.int64]


class GandivaParameters(BaseModel):
    """Parameters of `Gandiva`."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    migration: bool = True
    slicing: bool = False
    quantum_s: float = Field(60, ge=0.001, le=4e9)
    seed: int = Field(0, ge=0)


class Gandiva:
    """Affinity, migration, time slices."""

    on_events = True

    def __init__(self, **parameters: object) -> None:
        self.parameters = p = GandivaParameters.model_validate(parameters)
        self._affinity = Affinity(p.seed)
        self._quantum_ns = seconds_to_ns(p.quantum_s)
        self._turn: dict[int, int] = {}  # when the present turn of each running job began

    def decide(self, view: ClusterView) -> Plan:
        """Start waiting jobs, in turns with `slicing`; then move spread ones to fewer machines."""
        freed = False
        for event in view.news:
            if isinstance(event, Finish | Stop):
                freed = True
                self._turn.pop(event.job, None)
        self._affinity.forget(machine for machine in list(self._affinity.labels) if not view.jobs_on(machine))
        plan = view.plan()
        if self.parameters.slicing:
            run_first(view, plan, lambda jobs: self._in_turn(jobs, view.now_ns), self._choose, skip=True)
        else:
            self._start(view, plan)
        if freed and self.parameters.migration and not waiting_after(view, plan):
            self._migrate(view, plan)
        self._take_note(view, plan)
        return plan.done()

    def _choose(self, job: int) -> "Affinity":
        return self._affinity

    def _start(self, view: ClusterView, plan: PlanBuilder) -> None:
        if not view.n_waiting:
            return
        packing = Packing(view.free())
        for job in view.waiting.job.tolist():
            allocation = packing.place(view.demand(job), self._affinity)
            if allocation is not None:
                plan.place(job, allocation)

    def _in_turn(self, jobs: JobColumns, now: int) -> Ints:
        """Rank running jobs whose turn lasts, then waiting ones by wait, then those whose turn is over."""
        began = np.array([self._turn.get(job, now) for job in jobs.job.tolist()], dtype=np.int64)
        over = jobs.running & (now - began >= self._quantum_ns)
        group = np.where(jobs.running, np.where(over, 2, 0), 1)
        since = np.where(jobs.running, began, jobs.waiting_since_ns)
        return np.lexsort((jobs.job, since, group))

    def _migrate(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Move running jobs to fewer machines, in order of arrival."""
        free = view.free()
        for allocation in plan.changes.values():
            if allocation is not None:
                free.take(allocation)
        for job in view.jobs.job[view.jobs.running].tolist():
            held = view.allocation(job)
            if held is None or len(held.slices) < 2 or not held.gpus or job in plan.changes:
                continue
            free.give(held)
            better = BestFit().choose(free, view.demand(job))
            if better is not None and len(better.slices) < len(held.slices):
                plan.place(job, better)
                self._affinity.label(better, view.demand(job))
                free.take(better)
            else:
                free.take(held)

    def _take_note(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Begin turns, and ask to be woken when one is over while jobs wait."""
        if not self.parameters.slicing:
            return
        now = view.now_ns
        for job, allocation in plan.changes.items():
            if allocation is None:
                self._turn.pop(job, None)
            elif view.allocation(job) is None:
                self._turn[job] = now
        for job, began in self._turn.items():
            if now - began >= self._quantum_ns:  # nobody could take its place
                self._turn[job] = now
        if self._turn and waiting_after(view, plan):
            plan.wake_at(min(self._turn.values()) + self._quantum_ns)


class Affinity(MachineChooser):
    """Machines of the same label, then those without, then those with most free GPUs; among equals at random.

    Attributes
    ----------
    labels
        Demand in GPUs that a machine hosted first, by machine.
    """

    def __init__(self, seed: int) -> None:
        self.labels: dict[int, int] = {}
        self._rng = child_generator(seed, "affinity")

    def forget(self, machines: Iterable[int]) -> None:
        """Clear the labels of machines that are empty."""
        for machine in machines:
            del self.labels[machine]

    def label(self, allocation: Allocation, demand: Demand) -> None:
        """Label machines that have no label."""
        for s in allocation.slices:
            self.labels.setdefault(s.machine, demand.gpus)

    def choose(self, free: Free, demand: Demand) -> Allocation | None:
        """Return an allocation that fits, and label its machines; or None to wait."""
        allocation = super().choose(free, demand)
        if allocation is not None and demand.gpus:
            self.label(allocation, demand)
        return allocation

    def _machines(self, free: Free, usable: int, need: int) -> dict[int, int] | None:
        with_free = [m for count in free.buckets.sets[1:] for m in members_of(count & usable)]
        gpus = free.gpus
        rank = {m: self._rank(m, need, int(gpus[m])) for m in with_free}
        fits = [m for m in with_free if gpus[m] >= need]
        if fits:
            best = min(rank[m] for m in fits)
            return {self._one_of([m for m in fits if rank[m] == best]): need}
        taken: dict[int, int] = {}
        shuffled = self._rng.permutation(sorted(with_free)).tolist()
        for m in sorted(shuffled, key=rank.__getitem__):
            taken[m] = min(need, int(gpus[m]))
            need -= taken[m]
            if not need:
                return taken
        return None

    def _rank(self, machine: int, need: int, free_gpus: int) -> tuple[int, int]:
        label = self.labels.get(machine)
        if label == need:
            return 0, 0
        return (1, 0) if label is None else (2, -free_gpus)

    def _one_of(self, machines: list[int]) -> int:
        return machines[0] if len(machines) == 1 else int(self._rng.choice(sorted(machines)))
