"""Where groups of jobs run: where they are, else by descending demand on the fewest machines. For Muri.

In plain words: a group that runs as it is stays. Another takes the GPUs of its best member that has some, if
nobody else stays there; else those that the placement chooser says, groups with the largest demand first. If
that leaves a group without GPUs, all are placed anew by descending demand, which packs powers of two without
a gap, and if that does not help either, by priority. What is free then is offered to those who were to wait.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from artist.core.cluster import Allocation, Group, Ordering, Slice
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.plan import PlanBuilder
from artist.core.view import ClusterView
from artist.policies.parts.grouping import Shared
from artist.policies.parts.placement import Chooser, with_share

Order = Callable[[Shared], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Unit:
    """Jobs that run now and share GPUs, or one alone, and all that they hold: their GPUs once."""

    jobs: tuple[int, ...]
    held: Allocation


def running_units(view: ClusterView, jobs: Iterable[int]) -> list[Unit]:
    """Return running jobs by the GPUs that they share, in order of the first of each."""
    members: dict[int | str, dict[int, Allocation]] = {}  # by job if it shares with nobody
    for job in jobs:
        allocation = view.allocation(job)
        if allocation is not None and allocation.gpus:
            key = job if allocation.group is None else allocation.group.name
            members.setdefault(key, {})[job] = allocation
    return [Unit(tuple(each), _united(list(each.values()))) for each in members.values()]


def seat(
    view: ClusterView,
    plan: PlanBuilder,
    units: Sequence[Unit],
    chosen: Sequence[Shared],
    others: Iterable[Shared],
    choose: Chooser,
    ordering: Ordering = "best",
) -> Free:
    """Plan to run groups of jobs, and to stop all other jobs of the units; return what is free then.

    Parameters
    ----------
    units
        The running jobs that may be stopped or moved.
    chosen
        Groups that are to run, by priority; there are GPUs enough for them.
    others
        Groups that may run if GPUs are left.
    choose
        The placement chooser.
    ordering
        Of the stages of a group.
    """
    for stay, order in ((True, _descending), (False, _descending), (False, _by_priority)):
        seating = _Seating(view, units, choose)
        if stay:
            seating.keep(chosen)
        seating.place(sorted(chosen, key=order))
        if len(seating.seats) == len(chosen):
            break
    seating.place(others)
    seating.write(plan, ordering)
    return seating.free


class _Seating:
    """One attempt: who gets which GPUs."""

    def __init__(self, view: ClusterView, units: Sequence[Unit], choose: Chooser) -> None:
        self._view = view
        self._units = units
        self._choose = choose
        self._unit_of = {job: unit for unit in units for job in unit.jobs}
        self._refused: set[Demand] = set()
        self.seats: dict[Shared, Allocation] = {}
        self.free = view.free()
        for unit in units:
            self.free.give(unit.held)

    def keep(self, groups: Iterable[Shared]) -> None:
        """Let groups stay that run as they are."""
        for group in groups:
            unit = self._same(group)
            if unit is not None:
                self._take(group, unit.held)

    def place(self, groups: Iterable[Shared]) -> None:
        """Give GPUs to groups in the given order, as far as there are any."""
        for group in groups:
            if not self.free.total_gpus:
                return
            if group in self.seats:
                continue
            found = self._where_it_is(group) or self._elsewhere(self._view.demand(group.jobs[0]))
            if found is not None:
                self._take(group, found)

    def _elsewhere(self, demand: Demand) -> Allocation | None:
        """Return what the chooser says; what it refused once it refuses again: free GPUs only shrink."""
        found = None if demand in self._refused else self._choose.choose(self.free, demand)
        if found is None:
            self._refused.add(demand)
        return found

    def write(self, plan: PlanBuilder, ordering: Ordering) -> None:
        """Plan what changes."""
        running = {job for group in self.seats for job in group.jobs}
        for unit in self._units:
            for job in unit.jobs:
                if job not in running:
                    plan.stop(job)
        for group, allocation in self.seats.items():
            same = self._same(group)
            if same is None or same.held != allocation:
                for job, part in zip(group.jobs, _divided(group.jobs, allocation, ordering), strict=True):
                    plan.place(job, part)

    def _take(self, group: Shared, allocation: Allocation) -> None:
        self.free.take(allocation)
        self.seats[group] = allocation

    def _same(self, group: Shared) -> Unit | None:
        """Return the unit with just these members."""
        unit = self._unit_of.get(group.jobs[0])
        same = (
            unit is not None and len(unit.jobs) == len(group.jobs) and unit.jobs == tuple(sorted(group.jobs))
        )
        return unit if same else None

    def _where_it_is(self, group: Shared) -> Allocation | None:
        """Return the GPUs of the best member that has some which nobody took."""
        same = self._same(group)
        if same is not None and self.free.fits(same.held):
            return same.held
        for job in group.jobs:
            unit = self._unit_of.get(job)
            if unit is None:
                continue
            gpus = Allocation(tuple(s._replace(cpus=0, memory_bytes=0) for s in unit.held.slices))
            if self.free.fits(gpus):
                return with_share(self.free, gpus.gpu_map())
        return None


def _descending(group: Shared) -> tuple[int, ...]:
    return -group.gpus, group.rank


def _by_priority(group: Shared) -> tuple[int, ...]:
    return (group.rank,)


def _united(parts: Sequence[Allocation]) -> Allocation:
    """Return what members of a group hold together: the GPUs once, CPUs and memory of all."""
    if parts[0].group is None:
        return parts[0]
    held: dict[int, list[int]] = {}
    for part in parts:
        for m, gpus, cpus, memory in part.slices:
            on_machine = held.setdefault(m, [gpus, 0, 0])
            on_machine[1] += cpus
            on_machine[2] += memory
    return Allocation(tuple([Slice(m, *held[m]) for m in sorted(held)]))


def _divided(jobs: Sequence[int], whole: Allocation, ordering: Ordering) -> list[Allocation]:
    """Return what each member holds: all of the GPUs, an equal part of CPUs and memory."""
    if len(jobs) == 1:
        return [whole]
    n = len(jobs)
    gpus = tuple((s.machine, s.gpus) for s in whole.slices)
    group = Group("+".join(str(job) for job in sorted(jobs)), gpus, n, "interleaved", ordering)
    part = tuple(s._replace(cpus=s.cpus // n, memory_bytes=s.memory_bytes // n) for s in whole.slices)
    return [replace(whole, slices=part, group=group)] * n
