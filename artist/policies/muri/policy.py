"""Muri: jobs that use different resources share GPUs, stage by stage, while GPUs are short.

In plain words: jobs are ranked by remaining service (Muri-S, which knows durations) or by attained service
(Muri-L, which does not). If all of them fit the cluster, each runs alone. Otherwise the first jobs that fill
it in groups of `max_jobs` are taken: up to that number of jobs of one demand on the same GPUs. They
are grouped (`artist.policies.muri.grouping`) as far as their demand exceeds the cluster, and placed by
descending demand on the fewest machines (`artist.policies.muri.group_placement`). Other running jobs are
stopped.

Members of a group share its GPUs and one clock: all their iterations take the same time
(`artist.performance.formulas.interleaving`). Profiles are known: the time on each resource, and alone.

- `matching=priority` groups neighbours in the ranking: the paper's Muri without Blossom.
- `ordering=worst` groups for the worst ordering, and runs the groups in it.
- `profiling_noise` n multiplies each stage of each profile by a factor uniform in [1 - n, 1 + n].

Paper: Zhao et al., Multi-Resource Interleaving for Deep Learning Training, SIGCOMM 2022, sections 4.2 and 5.

Differs from the paper: it makes all placements again each time; here a group stays where it is unless another
would not fit. Groups are judged by the time that they really take: with the measured `group_slowdown`, absent
from the paper's formula, and with `loading` whole, as in its authors' program; split is the formula. Profiles
that agree to three digits count as one, the first, so that a burst of similar jobs is matched by kinds:
stages are within 1 % of their own, efficiencies within 2 %; the paper is silent on this. Jobs that may change
or choose their number of GPUs share with no other; CPU-only jobs start where CPUs are free, and are never
stopped. Jobs on a machine that is about to leave stay as they are.
"""

from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from artist.core.arrays import Bools, Ints
from artist.core.cluster import Ordering
from artist.core.events import Arrival, Finish, Wake
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.plan import Plan, PlanBuilder
from artist.core.view import ClusterView, JobColumns
from artist.performance.formulas.interleaving import MEASURED_SLOWDOWN, Clock, Loading
from artist.policies.muri.group_placement import Unit, place_groups, running_units
from artist.policies.muri.grouping import Candidate, Grouping, GroupingRule, Shared
from artist.policies.parts.cpu_jobs import start_cpu_jobs
from artist.policies.parts.fill import AnyFill
from artist.policies.parts.orders import AnyOrder, order_of, ranking
from artist.policies.parts.parameters import STRICT
from artist.policies.parts.placement import AnyChooser, Split
from artist.policies.parts.placer import placer_of
from artist.policies.parts.preemption import pinned_jobs, take_first
from artist.policies.parts.units import Align
from artist.randomness import child_generator

Factor = Annotated[float, Field(ge=1, le=100)]


@dataclass(config=STRICT)
class Muri:
    """Groups of interleaved jobs, by an order."""

    knows_stages = True

    order: AnyOrder
    max_jobs: int = Field(default=4, ge=1, le=4)
    matching: Literal["blossom", "priority"] = "blossom"
    ordering: Ordering = "best"
    loading: Loading = "whole"
    group_slowdown: tuple[Factor, Factor, Factor] = MEASURED_SLOWDOWN
    profiling_noise: float = Field(default=0.0, ge=0, le=1)
    placement: AnyChooser = "consolidate_machine"
    split: Split = "packed"
    align: Align = "none"
    on_events: bool = False
    interval_s: float | None = Field(default=360, ge=0.001, le=4e9)
    fill: AnyFill = "as_asked"
    seed: int = Field(default=0, ge=0)

    def __post_init__(self) -> None:
        self._order = order_of(self, self.order)
        self._placer = placer_of(self.placement, self.fill, self.seed, self.split, self.align)
        clock = Clock(self.group_slowdown, self.ordering, self.loading)
        self._grouping = Grouping(GroupingRule(self.max_jobs, self.matching, clock))
        self._noise = child_generator(self.seed, "profiling")
        self._kinds: dict[tuple[str, ...], int] = {}
        self._kind: dict[int, int] = {}  # by job
        self._bucket: dict[int, Hashable] = {}
        self._ranked: Ints | None = None  # jobs by priority; None once anything else has changed
        self._last: list[int] = []  # jobs taken last, by priority
        self._all_ran = False  # all of them got GPUs
        self._shared = False  # some share GPUs

    def decide(self, view: ClusterView) -> Plan:
        """Rank, take, group and place, if something changed."""
        plan = view.plan()
        news = self._follow(view)
        if news:
            self._ranked = None
        if not view.n_waiting and not self._shared:
            return plan.done()
        jobs = view.jobs
        rows = ranking(self._order.key(jobs))
        ranked = jobs.job[rows]
        if self._ranked is not None and np.array_equal(ranked, self._ranked):
            return plan.done()
        self._ranked = ranked
        pinned, capacity = _pinned(view)
        if pinned:
            rows = rows[~np.isin(jobs.job[rows], pinned)]
        gpus = _gpus(jobs, capacity)[rows]
        taken = self._taken(jobs.job[rows], gpus, capacity)
        if news or self._differ(jobs.job[rows[taken]].tolist()):
            self._ranked = None
            units = running_units(view, jobs.job[np.sort(rows[jobs.running[rows]])].tolist())
            free = self._place(view, plan, units, jobs.job[rows], gpus, taken, capacity)
            waiting = rows[(jobs.gpus[rows] == 0) & ~jobs.running[rows]]
            start_cpu_jobs(view, plan, free, jobs.job[waiting].tolist())
        return plan.done()

    def _differ(self, taken: list[int]) -> bool:
        """Return whether the jobs taken now need another plan than those taken last."""
        return sorted(taken) != sorted(self._last) if self._all_ran else taken != self._last

    def _place(
        self,
        view: ClusterView,
        plan: PlanBuilder,
        units: Sequence[Unit],
        jobs: Ints,
        gpus: Ints,
        taken: Bools,
        capacity: int,
    ) -> Free:
        """Group the jobs that were taken and place them; offer the GPUs left to the others."""
        unit_of = {job: unit.jobs[0] for unit in units if len(unit.jobs) > 1 for job in unit.jobs}

        def candidate(rank: int) -> Candidate:
            job = int(jobs[rank])
            bucket, kind = self._bucket[job], self._kind[job]
            return Candidate(rank, job, int(gpus[rank]), bucket, kind, unit_of.get(job))

        groups = self._grouping.group(map(candidate, np.flatnonzero(taken).tolist()), capacity)
        chosen: list[Shared] = []
        too_many: list[Shared] = []
        for group in groups:
            if group.gpus <= capacity:
                capacity -= group.gpus
                chosen.append(group)
            else:
                too_many.append(group)
        rest = (Shared((candidate(rank),)) for rank in np.flatnonzero(~taken & (gpus > 0)).tolist())
        self._last = jobs[taken].tolist()
        self._all_ran = not too_many
        self._shared = any(len(group.members) > 1 for group in groups)
        return place_groups(view, plan, units, chosen, chain(too_many, rest), self._placer, self.ordering)

    def _follow(self, view: ClusterView) -> bool:
        """Read the profiles of new jobs; return whether anything but the ranking may call for a new plan."""
        arrived = [event.job for event in view.news if isinstance(event, Arrival)]
        may_start = False
        if arrived:
            jobs = view.columns(arrived)
            may_start = view.free_gpus > 0 or not jobs.gpus.all()
            for job, stages, alone in zip(
                arrived, jobs.stage_ns.tolist(), jobs.alone_ns.tolist(), strict=True
            ):
                self._kind[job] = self._kind_of((*stages, alone))
                self._bucket[job] = _bucket(job, view.demand(job))
        for event in view.news:
            if isinstance(event, Finish):
                del self._kind[event.job], self._bucket[event.job]
        return may_start or any(not isinstance(event, Arrival | Wake) for event in view.news)

    def _kind_of(self, profile: tuple[int, ...]) -> int:
        """Return the number of a profile: the first that agrees to three digits is measured, with noise."""
        like = tuple([f"{time_ns:.2e}" for time_ns in profile])
        kind = self._kinds.get(like)
        if kind is None:
            n = self.profiling_noise
            factors = self._noise.uniform(1 - n, 1 + n, len(profile) - 1) if n else np.ones(len(profile) - 1)
            measured = np.rint(np.array(profile[:-1]) * factors).astype(np.int64)
            kind = self._kinds[like] = self._grouping.new_kind(measured.tolist(), profile[-1])
        return kind

    def _taken(self, jobs: Ints, gpus: Ints, capacity: int) -> Bools:
        """Return a mask of the ranked jobs that would fill the cluster in whole groups, shape (n,)."""
        size = self.max_jobs
        if int(gpus.sum()) <= capacity or size == 1:
            return take_first(gpus, capacity, backfill=True) & (gpus > 0)
        places: dict[Hashable, int] = {}  # free places of the last group of each bucket
        taken = np.zeros(len(gpus), dtype=np.bool_)
        open_places = 0
        for row, (job, need) in enumerate(zip(jobs.tolist(), gpus.tolist(), strict=True)):
            bucket = self._bucket[job]
            if places.get(bucket):
                places[bucket] -= 1
                open_places -= 1
            elif 0 < need <= capacity:
                capacity -= need
                places[bucket] = size - 1
                open_places += size - 1
            else:
                continue
            taken[row] = True
            if not capacity and not open_places:
                break
        return taken


def _bucket(job: int, demand: Demand) -> Hashable:
    """Return the key that jobs must have in common to share GPUs."""
    if demand.elastic or demand.fungible:
        return job
    bounds = demand.max_machines, demand.unit, demand.segment, demand.pipeline_stages, demand.replica_gpus
    return demand.gpus, demand.gpu_types, demand.mixed_types, *bounds


def _gpus(jobs: JobColumns, capacity: int) -> Ints:
    """Return the GPUs to count for each job, shape (n,): those it holds, asks for, or can use at most."""
    asked = np.where(jobs.gpus > capacity, jobs.min_feasible_gpus, jobs.gpus)
    return np.where(jobs.running, jobs.held_gpus, asked)


def _pinned(view: ClusterView) -> tuple[list[int], int]:
    """Return the jobs on machines that take no new work, and the GPUs of the others that they do not hold."""
    accepts, gpus, pinned = view.accepts, view.cluster.gpus, pinned_jobs(view)
    held = (s for unit in running_units(view, pinned) for s in unit.held.slices if accepts[s.machine])
    return pinned, int(gpus[accepts].sum()) - sum(s.gpus for s in held)
