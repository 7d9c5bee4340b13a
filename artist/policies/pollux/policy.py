"""Pollux, in a bounded form: the workers that raise the mean speed-up of all jobs most.

In plain words: every `interval_s`, if jobs or machines have come or gone, a genetic algorithm looks for the
workers of each job that make the power mean of all jobs' speed-ups largest. A job's speed-up is its believed
speed with these workers, relative to that with its fair share of the GPUs; with `power` below zero slow
jobs count most, above all those that wait. A job that is not elastic gets all of its workers or none. Running
jobs are never stopped, and keep their base demand. The search begins with the workers that jobs hold, the
best solution of the last round. Then jobs shrink, waiting jobs start in order of arrival, and jobs grow, each
as far as there is room. CPU-only jobs start where CPUs are free.

With `performance.tuned_jobs=true` believed speeds are goodputs (`artist.performance.formulas.goodput`), as in
the paper; else they are throughputs.

Source: Qiao et al., Pollux, OSDI 2021, section 4.2, and its authors' program (petuum/adaptdl, branch
osdi21-artifact @c793c70): power -1, a population of 100, speed-ups relative to the fair share, and 0.001
added to each, which is the whole speed-up of a waiting job. As a baseline: Lyra, section 7.1, with 250
generations.

Differs from the paper:

- The search is for numbers of workers, which are then placed worker by worker; the paper searches for workers
  by machine, such that no two jobs that span machines meet on one.
- Nothing is preempted, as in Lyra's evaluation (section 7.1); there every job may go down to nothing.
- The goodput at the fair share is that at base demand, in proportion to GPUs.
- A change costs no speed-up; there a job that was restarted often counts as slower.
- The search ends once nothing has improved for `patience` generations (ASSUMPTION), and is skipped if every
  job can have its best number of workers. One solution is carried over; there all are.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from artist.core.arrays import Floats, Ints
from artist.core.cluster import Allocation, Cluster
from artist.core.events import Arrival, Finish, MachineEvent, Stop
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.plan import Plan, PlanBuilder
from artist.core.view import ClusterView
from artist.policies.parts.base_demand import base_of
from artist.policies.parts.parameters import STRICT
from artist.policies.parts.placement import AnyChooser, Split
from artist.policies.parts.placer import placer_of
from artist.policies.parts.pools import machines_in
from artist.policies.parts.units import choose_whole
from artist.policies.pollux.genetic import Genetic
from artist.policies.pollux.speedups import Speedups, SpeedupTable
from artist.randomness import child_generator

_OFFSET = 1e-3  # added to every speed-up


class Round(NamedTuple):
    """State of one decision: `free` is the rest of the machines `among` after its plan so far."""

    view: ClusterView
    plan: PlanBuilder
    free: Free
    among: int


class Candidate(NamedTuple):
    """A job that may get other workers now.

    Attributes
    ----------
    held
        Its allocation, None if it waits.
    speedups
        GPUs that it may hold, with its speeds, of the type that it is on, or is expected on.
    """

    job: int
    model: str
    held: Allocation | None
    speedups: Speedups

    @property
    def gpus(self) -> int:
        """GPUs that it holds."""
        return 0 if self.held is None else self.held.gpus

    @property
    def options(self) -> Ints:
        """GPUs that it may be given; none, for a waiting job, means to wait on."""
        return self.speedups.gpus if self.held else np.concatenate([[0], self.speedups.gpus])

    def values(self, power: float, fair_gpus: float) -> Floats:
        """Return the term of each of its options in the power mean, up to a factor common to all jobs."""
        relative = self.speedups.speedup * (self.speedups.gpus[0] / fair_gpus) + _OFFSET
        if self.held is None:
            relative = np.concatenate([[_OFFSET], relative])
        values: Floats = np.sign(power) * relative**power if power else np.log(relative)
        return values


@dataclass(config=STRICT)
class Pollux:
    """Divides the GPUs of a pool among all jobs, by their speed-ups."""

    power: float = Field(default=-1.0, ge=-10, le=1)
    population: int = Field(default=100, ge=2, le=10_000)
    generations: int = Field(default=250, ge=0, le=100_000)
    patience: int = Field(default=10, ge=1, le=100_000)
    interval_s: float = Field(default=60, ge=0.001, le=4e9)
    pool: str = ""
    placement: AnyChooser = "best_fit_workers"
    split: Split = "packed"
    seed: int = Field(default=0, ge=0)

    def __post_init__(self) -> None:
        self.on_events = False
        self.knows_models = True
        self.knows_performance = True
        self._genetic = Genetic(self.population, self.generations, self.patience)
        self._rng = child_generator(self.seed, "pollux")
        self._placer = placer_of(self.placement, "as_asked", split=self.split)
        self._table = SpeedupTable()
        self._expected = cache(_expected)

    def shrunk(self, demand: Demand, gpus: int) -> int:
        """Return the most GPUs that a job may hold of those that a failure leaves it."""
        return max((count for count in demand.targets() if count <= gpus), default=0)

    def decide(self, view: ClusterView) -> Plan:
        """Divide the GPUs again if jobs or machines have come or gone."""
        plan = view.plan()
        if any(isinstance(event, Arrival | Finish | Stop | MachineEvent) for event in view.news):
            now = Round(view, plan, view.free(), machines_in(view, self.pool))
            self._start_without_gpus(now)
            candidates = list(self._candidates(now))
            if candidates:
                self._carry_out(now, candidates, self._wanted(now, candidates))
        return plan.done()

    def _candidates(self, now: Round) -> Iterator[Candidate]:
        """Yield running elastic jobs and waiting GPU jobs, in order of arrival."""
        view, among = now.view, now.among
        jobs, accepts, machines = view.jobs, view.accepts, view.cluster.machines
        for job, model in zip(jobs.job.tolist(), jobs.model.tolist(), strict=True):
            demand, held = view.demand(job), view.allocation(job)
            if held is None:
                gpu_type = self._expected(view.cluster, demand, among) if demand.gpus else None
                if gpu_type is not None:
                    yield Candidate(job, model, None, self._table.of(view, job, model, gpu_type))
            elif demand.elastic and all(accepts[s.machine] for s in held.slices):
                speedups = self._table.of(view, job, model, machines[held.slices[0].machine].gpu_type)
                if held.gpus in speedups.gpus:
                    yield Candidate(job, model, held, speedups)

    def _wanted(self, now: Round, candidates: list[Candidate]) -> list[int]:
        """Return the GPUs that each job should have, 0 to wait."""
        view = now.view
        spare = sum(
            candidate.gpus - int(candidate.speedups.gpus[0]) for candidate in candidates if candidate.held
        )
        capacity = now.free.buckets.total(now.among) + spare
        fair_gpus = _gpus_of(view.cluster, now.among) / max(int(np.count_nonzero(view.jobs.gpus)), 1)
        options = [candidate.options for candidate in candidates]
        weights = [gpus - gpus[0] for gpus in options]
        values = [candidate.values(self.power, fair_gpus) for candidate in candidates]
        chosen = np.array([of_job.argmax() for of_job in values])
        if sum(int(weight[place]) for weight, place in zip(weights, chosen, strict=True)) > capacity:
            held = np.array([np.searchsorted(candidate.options, candidate.gpus) for candidate in candidates])
            least = np.array([int(candidate.held is None) for candidate in candidates])
            chosen = self._genetic.best(capacity, weights, values, [held, least], self._rng)
        return [int(gpus[place]) for gpus, place in zip(options, chosen, strict=True)]

    def _start_without_gpus(self, now: Round) -> None:
        """Start CPU-only jobs where CPUs are free."""
        waiting = now.view.waiting
        for job in waiting.job[waiting.gpus == 0].tolist():
            allocation = self._placer.place(now.free, now.view.demand(job), now.among)
            if allocation is not None:
                now.free.take(allocation)
                now.plan.place(job, allocation)

    def _carry_out(self, now: Round, candidates: list[Candidate], wanted: list[int]) -> None:
        """Shrink jobs, start jobs at their base demand and grow jobs, as far as there is room."""
        held: list[Allocation | None] = []
        for candidate, gpus in zip(candidates, wanted, strict=True):
            held.append(self._shrunk(now, candidate, candidate.held, gpus) if candidate.held else None)
        refused: set[Demand] = set()
        for place, (candidate, gpus) in enumerate(zip(candidates, wanted, strict=True)):
            if candidate.held is not None or not gpus:
                continue
            demand = base_of(now.view.demand(candidate.job))
            if demand not in refused:
                held[place] = allocation = self._placer.place(now.free, demand, now.among)
                if allocation is None:
                    refused.add(demand)
                else:
                    now.free.take(allocation)
        for candidate, gpus, allocation in zip(candidates, wanted, held, strict=True):
            if allocation is not None:
                after = self._grown(now, candidate, allocation, gpus)
                if after != candidate.held:
                    now.plan.place(candidate.job, after)

    def _shrunk(self, now: Round, candidate: Candidate, held: Allocation, gpus: int) -> Allocation:
        """Return an allocation shrunk to `gpus`: machines, or racks, with few of the job's GPUs first."""
        left, over = held.gpu_map(), held.gpus - gpus
        if over <= 0:
            return held
        first = _by_rack(left, now.view.cluster) if now.view.demand(candidate.job).segment > 1 else {}
        for machine in sorted(left, key=lambda m: (*first.get(m, ()), left[m], m)):
            less = min(over, left[machine])
            left[machine] -= less
            over -= less
        return self._moved(now, candidate, held, {m: count for m, count in left.items() if count})

    def _grown(self, now: Round, candidate: Candidate, held: Allocation, gpus: int) -> Allocation:
        """Return an allocation grown to at most `gpus`, as far as there is room beside it."""
        demand, cluster = now.view.demand(candidate.job), now.view.cluster
        if not demand.elastic or held.gpus >= gpus:
            return held
        gpu_type = cluster.machines[held.slices[0].machine].gpu_type
        counts = self._table.of(now.view, candidate.job, candidate.model, gpu_type).gpus
        for count in counts[(counts > held.gpus) & (counts <= gpus)][::-1].tolist():
            extra = Demand(count - held.gpus, step=demand.step, gpu_types=(gpu_type,))
            extra = replace(extra, unit=demand.unit, segment=demand.segment)
            more = choose_whole(self._placer.chooser, now.free, extra, now.among)
            if more is None:
                continue
            both = held.gpu_map()
            for machine, some in more.items():
                both[machine] = both.get(machine, 0) + some
            if not demand.max_machines or len(both) <= demand.max_machines:
                return self._moved(now, candidate, held, both)
        return held

    def _moved(
        self, now: Round, candidate: Candidate, held: Allocation, gpus: Mapping[int, int]
    ) -> Allocation:
        """Return an allocation of other GPUs instead of those that a job holds, if it fits; take it."""
        now.free.give(held)
        fill = self._placer.fill.fill(now.free, now.view.demand(candidate.job), dict(sorted(gpus.items())))
        after = fill or held
        now.free.take(after)
        return after


def _expected(cluster: Cluster, demand: Demand, among: int) -> str | None:
    """Return the first GPU type of which some machines have enough for a job, free or not, or None."""
    least, sets = base_of(demand).gpus, cluster.type_sets
    able = (
        kind
        for kind in demand.gpu_types or sets
        if kind in sets
        and _gpus_of(cluster, sets[kind] & among) >= demand.gpus_at(cluster.worth_of[kind], least)
    )
    return next(able, None)


def _by_rack(gpus: Mapping[int, int], cluster: Cluster) -> dict[int, tuple[int, int]]:
    """Return the GPUs in the rack of each machine, and the rack."""
    total = Counter[int]()
    for machine, count in gpus.items():
        total[cluster.rack_of[machine]] += count
    return {machine: (total[rack := cluster.rack_of[machine]], rack) for machine in gpus}


def _gpus_of(cluster: Cluster, machines: int) -> int:
    """Return the GPUs of a set of machines, free or not."""
    return sum(count * (there & machines).bit_count() for count, there in enumerate(cluster.size_sets))
