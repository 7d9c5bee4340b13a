"""Gandiva: affinity by demand, migration, time slices, packing, grow-shrink; blind to the network.

In plain words: a machine is labelled with the first demand that it hosts, until it is empty again. A job goes
to a machine of its own label, else to one without a label, else to the one with the most free GPUs; among
equals at random, wherever they are. If no machine has room for all of it, it is spread over machines in that
order. Waiting jobs are tried in order of arrival; they overtake one that does not fit.

- `migration`: when GPUs come free that no waiting job takes, running jobs on several machines move, in order
  of arrival: to fewer racks if they can, else to fewer machines in the same number of racks; thus from the
  network into a rack, and from a rack into a machine. Labels do not count. The number of free GPUs stays.
- `slicing`: while jobs wait, a running job's time slice ends after `quantum_s`: the jobs that have waited
  longest precede it in the order. A pair has one time slice.
- `packing`: jobs that still wait join running jobs that leave their GPUs idle for much of the time; pairs
  that progress no faster than in time slices are parted (`artist.policies.gandiva.pairs`).
- `grow_shrink`: when no job waits, elastic jobs take idle GPUs of their machines, and give them back as soon
  as another job needs room (`artist.policies.gandiva.growth`).

Paper: Xiao et al., Gandiva: Introspective Cluster Scheduling for Deep Learning, OSDI 2018, sections 3 (the
mechanisms) and 4 (the policy). As a baseline of Dally (sections 3.4 and 5.1.3 there, "to more favorable GPU
consolidation whenever resources become available") it places and migrates; `gandiva_slicing` adds time
slices; `gandiva_full` does all of it.

Differs from the paper:

- Packing: in the paper all jobs run alone first, in time slices, and the job with the lowest utilization
  joins the GPUs with the lowest. Here waiting jobs join in order of arrival, measured or not, two jobs at a
  time, and only if both ask for the same number of GPUs. There both must fit the GPU's memory, which is not
  known here.
- A pair whose host is slowed down is parted when GPUs come free that no job waits for; pairs do not migrate.
- Grow-shrink: there jobs get idle GPUs of a single server according to their measured progress; here in order
  of arrival, on all their machines.
- Time slices apply to the whole cluster, not to each machine.
"""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from artist.core.arrays import Ints
from artist.core.buckets import ALL, members_of
from artist.core.events import Finish, MachineEvent, Stop, Wake
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.plan import Plan, PlanBuilder
from artist.core.view import ClusterView, JobColumns
from artist.policies.gandiva.growth import Growth
from artist.policies.gandiva.pairs import Pairs
from artist.policies.parts.fill import AnyFill, fill_of
from artist.policies.parts.locality import apart
from artist.policies.parts.parameters import STRICT
from artist.policies.parts.placement import Consolidate, MachineChooser, Split, split_by, take_in_order
from artist.policies.parts.placer import Packing, Placer
from artist.policies.parts.preemption import run_first, waiting_after
from artist.policies.parts.units import Align, aligned
from artist.randomness import child_generator
from artist.units import seconds_to_ns


@dataclass(config=STRICT)
class Gandiva:
    """Affinity, migration, time slices, packing, grow-shrink."""

    on_events = True

    migration: bool = True
    slicing: bool = False
    quantum_s: float = Field(default=60, ge=0.001, le=4e9)
    packing: bool = False
    packing_utilization: float = Field(default=0.5, gt=0, le=1)
    profile_s: float = Field(default=60, ge=0.001, le=4e9)
    grow_shrink: bool = False
    grow_after_s: float = Field(default=60, ge=0, le=4e9)
    split: Split = "packed"
    align: Align = "none"
    fill: AnyFill = "as_asked"
    seed: int = Field(default=0, ge=0)

    def __post_init__(self) -> None:
        fill = fill_of(self.fill)
        self._affinity = Affinity(self.seed)
        self._placer = Placer(aligned(split_by(self._affinity, self.split), self.align), fill)
        self._nearest = Placer(aligned(split_by(Consolidate(), self.split), self.align), fill)
        self._quantum_ns = seconds_to_ns(self.quantum_s)
        self._slice_start: dict[int, int] = {}  # of the present time slice, by running job
        self._freed = False  # GPUs came free to which running jobs may move
        self._pairs = Pairs(self.packing_utilization, seconds_to_ns(self.profile_s), fill)
        self._growth = Growth(seconds_to_ns(self.grow_after_s), self._nearest)
        self._steps: list[Callable[[ClusterView, PlanBuilder], None]] = [self._run]
        if self.packing:
            self._steps += [partial(self._pairs.part, placer=self._placer), self._pairs.pack]
        if self.grow_shrink:
            self._steps = [self._growth.shrink, *self._steps, self._growth.grow]

    def decide(self, view: ClusterView) -> Plan:
        """Do the first step that changes something; ask to be called again at once for the others."""
        plan = view.plan()
        if self._may_change(view):
            self._follow(view)
            for step in self._steps:
                if not plan.changes:
                    step(view, plan)
        if plan.changes and len(self._steps) > 1:
            plan.wake_at(view.now_ns)
        self._begin_slices(view, plan)
        return plan.done()

    def _may_change(self, view: ClusterView) -> bool:
        """Return whether the steps may change anything.

        If nothing but a wake-up is new, they may only once the GPUs that are free or held by jobs past their
        time slice are enough for a waiting job.
        """
        woken = all(isinstance(event, Wake) for event in view.news)
        if not woken or self._freed or len(self._steps) > 1:
            return True
        if not view.n_waiting:
            return False
        over = [job for job, began in self._slice_start.items() if view.now_ns - began >= self._quantum_ns]
        held = [allocation.gpus for job in over if (allocation := view.allocation(job)) is not None]
        return bool(view.waiting.min_feasible_gpus.min() <= view.free_gpus + sum(held))

    def _follow(self, view: ClusterView) -> None:
        """Track finishes, stops and changes of machines since the last call."""
        finished = [event.job for event in view.news if isinstance(event, Finish)]
        for job in (*finished, *(event.job for event in view.news if isinstance(event, Stop))):
            self._slice_start.pop(job, None)
        freed = any(isinstance(event, Finish | Stop | MachineEvent) for event in view.news)
        self._freed |= self.migration and freed
        self._affinity.forget(machine for machine in list(self._affinity.labels) if not view.jobs_on(machine))
        self._pairs.follow(view, finished)
        self._growth.follow(view)

    def _run(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Start waiting jobs, with `slicing` in time slices; then improve the locality of spread ones."""
        if self.slicing:
            run_first(
                view,
                plan,
                lambda jobs: self._sliced(jobs, view.now_ns),
                lambda job: self._placer,
                backfill=True,
            )
        else:
            self._start(view, plan)
        if self._freed:
            self._freed = self._migrate(view, plan)
        self._pairs.stop_with_hosts(view, plan)

    def _start(self, view: ClusterView, plan: PlanBuilder) -> None:
        if not view.n_waiting:
            return
        packing, waiting = Packing(view.free()), view.waiting
        for job in waiting.job[waiting.min_feasible_gpus <= view.free_gpus].tolist():
            allocation = packing.place(view.demand(job), self._placer)
            if allocation is not None:
                plan.place(job, allocation)

    def _sliced(self, jobs: JobColumns, now: int) -> Ints:
        """Rank running jobs within their time slice, then waiting ones by wait, then those past theirs.

        Guests are left out: they stay as long as their hosts.
        """
        began = np.array([self._slice_start.get(job, now) for job in jobs.job.tolist()], dtype=np.int64)
        over = jobs.running & (now - began >= self._quantum_ns)
        group = np.where(jobs.running, np.where(over, 2, 0), 1)
        since = np.where(jobs.running, began, jobs.waiting_since_ns)
        ranked = np.lexsort((jobs.job, since, group))
        guests = self._pairs.guests
        return ranked[~np.isin(jobs.job[ranked], guests)] if guests else ranked

    def _migrate(self, view: ClusterView, plan: PlanBuilder) -> bool:
        """Move running jobs to GPUs nearer to each other, in order of arrival; return whether any moved."""
        moved, free = False, _free_after(view, plan)
        if not free.total_gpus:
            return False
        for job in view.jobs.job[view.jobs.running].tolist():
            held = view.allocation(job)
            if held is None or len(held.slices) < 2 or not held.gpus or held.group or job in plan.changes:
                continue
            demand = view.demand(job)
            if not apart(held, demand.min_feasible_gpus, view.cluster):
                continue
            free.give(held)
            nearer = self._nearest.place(free, demand)
            span = partial(self._nearest.span, demand, view.cluster)
            if nearer is not None and span(nearer) < span(held):
                plan.place(job, nearer)
                self._affinity.label(nearer.gpu_map(), demand.gpus)
                held, moved = nearer, True
            free.take(held)
        if moved:
            plan.wake_at(view.now_ns)  # others may move to the GPUs left
        return moved

    def _begin_slices(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Begin time slices, and ask to be woken when one is over while jobs wait."""
        if not self.slicing:
            return
        now = view.now_ns
        for job, allocation in plan.changes.items():
            if allocation is None:
                self._slice_start.pop(job, None)
            else:
                self._slice_start.setdefault(job, now)
        for job, began in self._slice_start.items():
            if now - began >= self._quantum_ns:  # no job could take its place
                self._slice_start[job] = now
        if self._slice_start and waiting_after(view, plan):
            plan.wake_at(min(self._slice_start.values()) + self._quantum_ns)


def _free_after(view: ClusterView, plan: PlanBuilder) -> Free:
    """Return the free resources after a plan."""
    free = view.free()
    for job in plan.changes:
        if (before := view.allocation(job)) is not None:
            free.give(before)
    for after in plan.changes.values():
        if after is not None:
            free.take(after)
    return free


class Affinity(MachineChooser):
    """Machines of the same label, then unlabelled ones, then those with most free GPUs; ties at random.

    Attributes
    ----------
    labels
        Demand in GPUs of the first job hosted, by machine.
    """

    def __init__(self, seed: int) -> None:
        self.labels: dict[int, int] = {}
        self._rng = child_generator(seed, "affinity")

    def forget(self, machines: Iterable[int]) -> None:
        """Clear the labels of machines that are empty."""
        for machine in machines:
            del self.labels[machine]

    def label(self, machines: Iterable[int], gpus: int) -> None:
        """Label machines that have no label."""
        for machine in machines:
            self.labels.setdefault(machine, gpus)

    def choose(self, free: Free, demand: Demand, among: int = ALL) -> dict[int, int] | None:
        """Return GPUs by machine, and label these; or None to wait."""
        gpus = super().choose(free, demand, among)
        if gpus is not None:
            self.label(gpus, demand.gpus * free.cluster.unit)
        return gpus

    def machines(self, free: Free, usable: int, need: int) -> dict[int, int] | None:
        """Return GPUs by machine, machines with the label of the demand first."""
        with_free = [m for count in free.buckets.sets[1:] for m in members_of(count & usable)]
        gpus = free.gpus
        rank = {m: self._rank(m, need * free.cluster.unit, int(gpus[m])) for m in with_free}
        fits = [m for m in with_free if gpus[m] >= need]
        if fits:
            best = min(rank[m] for m in fits)
            return {self._one_of([m for m in fits if rank[m] == best]): need}
        shuffled = self._rng.permutation(sorted(with_free)).tolist()
        return take_in_order(free, sorted(shuffled, key=rank.__getitem__), need)

    def _rank(self, machine: int, need: int, free_gpus: int) -> tuple[int, int]:
        label = self.labels.get(machine)
        if label == need:
            return 0, 0
        return (1, 0) if label is None else (2, -free_gpus)

    def _one_of(self, machines: list[int]) -> int:
        return machines[0] if len(machines) == 1 else int(self._rng.choice(sorted(machines)))
