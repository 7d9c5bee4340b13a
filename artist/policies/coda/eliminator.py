"""Eliminators: throttling of CPU-only jobs on machines short of memory bandwidth (CODA, section V-D).

A machine is crowded if GPU jobs hold something there and its jobs together draw more than a share of its
memory bandwidth. Then its CPU-only jobs are throttled, in one of two ways; GPU jobs never are. The draws are
those that the view observes, of each machine and each job (Intel's Memory Bandwidth Monitoring). A policy of
any kind calls `throttle` last in `decide`.

Differs from the paper, which also waits until a GPU job's utilisation drops: the machine's total decides.
Intel's Memory Bandwidth Allocation knows caps in steps of a tenth; here they are finer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import floor, inf
from typing import Annotated, NamedTuple, Protocol

import numpy as np
from pydantic import PlainValidator

from artist.core.arrays import Floats
from artist.core.cluster import Allocation, Slice
from artist.core.plan import PlanBuilder
from artist.core.view import ClusterView
from artist.policies.parts.parameters import check_part

THRESHOLD = 0.75
"""Share of a machine's memory bandwidth from which GPU jobs are affected (section IV-C)."""
MIN_CAP = 0.05  # ASSUMPTION
_CAPS_PER_UNIT = 1000  # caps are rounded down to these steps, so that the total stays below
_SLACK = 1e-6  # of a step, so that a cap computed again stays the same

_Seen = tuple[float, Sequence[int]]  # bandwidth drawn on a machine, and the jobs there


class _Found(NamedTuple):
    """The cap of the CPU-only jobs of a machine, and the state for which it was found."""

    seen: _Seen
    cap: float


_NOTHING = _Found((-1.0, ()), 1.0)


class Eliminator(Protocol):
    """Throttles CPU-only jobs whose memory bandwidth GPU jobs beside them need."""

    def throttle(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Add the changes on crowded machines to a plan, as it is at the end of `decide`.

        May ask to be called again at this instant (`plan.wake_at`), to observe the draw of a job that the
        plan starts, or for cores that it freed. A policy with a timer of its own repeats its request in every
        plan.
        """


class Capping:
    """Caps memory bandwidth of the CPU-only jobs of a crowded machine: its total falls to the threshold.

    All of them that draw any have the same cap, 0.05 or more; a job on several machines has the lowest of
    theirs. A cap is lifted, or raised, as soon as possible.

    Parameters
    ----------
    threshold
        Share of a machine's memory bandwidth that makes it crowded.
    """

    def __init__(self, threshold: float = THRESHOLD) -> None:
        self._limits = _Limits(threshold)
        self._capped: dict[int, None] = {}  # jobs
        self._found: dict[int, _Found] = {}  # by machine: crowded ones, and those of capped jobs

    def throttle(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Cap, or lift caps; see `Eliminator`."""
        drawn = view.observed_bandwidth_bytes_per_s
        crowded = self._limits.passed(view, drawn)
        machines = dict.fromkeys([*crowded, *self._found])
        if machines:
            changing = _machines_of(view, plan)
            seen = {m: (float(drawn[m]), view.jobs_on(m)) for m in machines}
            new = [m for m in machines if m in changing or seen[m] != self._found.get(m, _NOTHING).seen]
            if new:
                self._cap(view, plan, new, seen)
                there = {s.machine for job in self._capped for s in _slices(planned(view, plan, job))}
                there.update(crowded)
                self._found = {m: known for m, known in self._found.items() if m in there}
        look_again(view, plan)

    def _cap(
        self, view: ClusterView, plan: PlanBuilder, machines: Iterable[int], seen: Mapping[int, _Seen]
    ) -> None:
        jobs = dict.fromkeys(self._capped)
        for m in machines:
            here = drawn_on(view, plan, m)
            self._found[m] = _Found(seen[m], _cap_of(here, self._limits.of(m)))
            jobs.update((cpu_job.job, None) for cpu_job in here.cpu_jobs)
        self._capped = {}
        for job in jobs:
            allocation = planned(view, plan, job)
            if allocation is None:
                continue
            cap = min(self._found.get(s.machine, _NOTHING).cap for s in allocation.slices)
            if cap != allocation.bandwidth_cap:
                plan.place(job, replace(allocation, bandwidth_cap=cap))
            if cap < 1:
                self._capped[job] = None


class Halving:
    """Halves the cores of the CPU-only job that draws most on a crowded machine, until it is not crowded.

    A job keeps at least one core, and gets back nothing it lost. Draws are assumed proportional to cores.

    Parameters
    ----------
    threshold
        As for `Capping`.
    """

    def __init__(self, threshold: float = THRESHOLD) -> None:
        self._limits = _Limits(threshold)

    def throttle(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Halve cores; see `Eliminator`."""
        for machine in self._limits.passed(view, view.observed_bandwidth_bytes_per_s):
            here = drawn_on(view, plan, machine)
            while (
                here.trains and here.total > self._limits.of(machine) and halve(plan, here.cpu_jobs, machine)
            ):
                here = drawn_on(view, plan, machine)
                if view.n_waiting:
                    plan.wake_at(view.now_ns)  # the freed cores are for waiting jobs
        look_again(view, plan)


class Off:
    """Throttles no job."""

    def throttle(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Change nothing."""


ELIMINATORS: Mapping[str, Callable[[], Eliminator]] = {"mba": Capping, "halve": Halving, "off": Off}
AnyEliminator = Annotated[
    str | Eliminator, PlainValidator(lambda value: check_part(value, ELIMINATORS, "throttle"))
]


def eliminator_of(eliminator: str | Eliminator) -> Eliminator:
    """Return a shipped eliminator by name, one of the user's own as it is."""
    return ELIMINATORS[eliminator]() if isinstance(eliminator, str) else eliminator


class CpuJob(NamedTuple):
    """A CPU-only job that draws memory bandwidth on a machine.

    Attributes
    ----------
    allocation
        Its allocation after the plan.
    uncapped
        Its draw there with that and no cap, in bytes/s.
    """

    job: int
    allocation: Allocation
    uncapped: float


class Drawn(NamedTuple):
    """Memory bandwidth drawn by the jobs that stay on a machine, in bytes/s.

    Attributes
    ----------
    trains
        Whether there is a GPU job among them.
    others
        The draw of all jobs but `cpu_jobs`.
    """

    trains: bool
    cpu_jobs: list[CpuJob]
    others: float

    @property
    def total(self) -> float:
        """The draw of all jobs, with their caps."""
        return self.others + sum(job.uncapped * job.allocation.bandwidth_cap for job in self.cpu_jobs)


def drawn_on(view: ClusterView, plan: PlanBuilder, machine: int) -> Drawn:
    """Return the draw on a machine after a plan, of jobs that are there before and after it."""
    observed = view.observed_bandwidth_on(machine)
    trains, cpu_jobs, others = False, [], 0.0
    for job in view.jobs_on(machine):
        now, after = view.allocation(job), planned(view, plan, job)
        if now is None or after is None or not _held(after, machine):
            continue
        draw = observed.get(job, 0.0)
        if draw:
            draw *= _held(after, machine) / _held(now, machine) / now.bandwidth_cap
        if view.demand(job).gpus:
            trains = True
            others += draw * after.bandwidth_cap
        elif draw:
            cpu_jobs.append(CpuJob(job, after, draw))
    return Drawn(trains, cpu_jobs, others)


def halve(plan: PlanBuilder, cpu_jobs: Iterable[CpuJob], machine: int) -> bool:
    """Halve the cores, on a machine, of the job that draws most; return whether one has two or more."""
    may = [job for job in cpu_jobs if _held(job.allocation, machine) > 1]
    if not may:
        return False
    most = min(may, key=lambda job: (-job.uncapped * job.allocation.bandwidth_cap, job.job))
    slices = (s._replace(cpus=s.cpus // 2) if s.machine == machine else s for s in most.allocation.slices)
    plan.place(most.job, replace(most.allocation, slices=tuple(slices)))
    return True


def look_again(view: ClusterView, plan: PlanBuilder) -> None:
    """Ask to be called again at this instant if the plan starts jobs that crowd a machine or suffer from it.

    These are CPU-only jobs declared to draw memory bandwidth, and GPU jobs beside any that do. Their draw
    is observed once they run.
    """
    for job, after in plan.changes.items():
        before = view.allocation(job)
        if after is None or (before is not None and before.gpu_map() == after.gpu_map()):
            continue
        demand = view.demand(job)
        if demand.gpus:
            drawing = (job for s in after.slices for job in view.observed_bandwidth_on(s.machine))
            again = any(not view.demand(job).gpus for job in drawing)
        else:
            again = demand.memory_bandwidth_bytes_per_s > 0
        if again:
            plan.wake_at(view.now_ns)
            return


def planned(view: ClusterView, plan: PlanBuilder, job: int) -> Allocation | None:
    """Return the allocation of a job after a plan; None if it holds nothing."""
    changes = plan.changes
    return changes[job] if job in changes else view.allocation(job)


class _Limits:
    """The memory bandwidth in bytes/s from which each machine is crowded; infinite if not known."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._by_machine: Floats | None = None

    def of(self, machine: int) -> float:
        assert self._by_machine is not None
        return float(self._by_machine[machine])

    def passed(self, view: ClusterView, drawn: Floats) -> list[int]:
        """Return the machines whose jobs draw more than that."""
        if self._by_machine is None:
            capacities = [m.memory_bandwidth_bytes_per_s for m in view.cluster.machines]
            self._by_machine = np.array([c * self._threshold if c else inf for c in capacities])
        return np.flatnonzero(drawn > self._by_machine).tolist()


def _cap_of(here: Drawn, limit: float) -> float:
    """Return the cap of the CPU-only jobs of a machine."""
    uncapped = sum(job.uncapped for job in here.cpu_jobs)
    if not (here.trains and uncapped) or here.others + uncapped <= limit:
        return 1.0
    fits = floor((limit - here.others) / uncapped * _CAPS_PER_UNIT + _SLACK) / _CAPS_PER_UNIT
    return max(MIN_CAP, fits)


def _machines_of(view: ClusterView, plan: PlanBuilder) -> set[int]:
    """Return the machines of the jobs that a plan changes, before and after."""
    held = ((view.allocation(job), after) for job, after in plan.changes.items())
    return {s.machine for pair in held for allocation in pair for s in _slices(allocation)}


def _slices(allocation: Allocation | None) -> tuple[Slice, ...]:
    return () if allocation is None else allocation.slices


def _held(allocation: Allocation, machine: int) -> int:
    """Return the GPUs, or else the CPUs, that a job has on a machine; 0 if it has nothing there."""
    here = next((s for s in allocation.slices if s.machine == machine), None)
    return 0 if here is None else here.gpus or here.cpus
