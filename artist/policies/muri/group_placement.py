"""Placement of groups: on their present GPUs, else by descending demand on the fewest machines. For Muri.

In plain words: a group that already runs stays. Another takes the GPUs of its best member that has some, if
no other job stays there; else those that the placement policy selects, groups with the largest demand first.
If that leaves a group without GPUs, all are placed again by descending demand, which packs powers of two
without a gap; if that does not help, by priority. The GPUs left are offered to the other jobs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from artist.core.cluster import Allocation, Group, Ordering, Slice
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.plan import PlanBuilder
from artist.core.view import ClusterView
from artist.policies.muri.grouping import Shared
from artist.policies.parts.placer import Placer

Order = Callable[[Shared], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Unit:
    """Running jobs that share GPUs, or one alone, and their common allocation: their GPUs once."""

    jobs: tuple[int, ...]
    held: Allocation


def running_units(view: ClusterView, jobs: Iterable[int]) -> list[Unit]:
    """Return running jobs by the GPUs that they share, in order of the first of each."""
    members: dict[int | str, dict[int, Allocation]] = {}  # by job if it shares with no other
    for job in jobs:
        allocation = view.allocation(job)
        if allocation is not None and allocation.gpus:
            key = job if allocation.group is None else allocation.group.name
            members.setdefault(key, {})[job] = allocation
    return [Unit(tuple(held), _united(list(held.values()))) for held in members.values()]


def place_groups(
    view: ClusterView,
    plan: PlanBuilder,
    units: Sequence[Unit],
    chosen: Sequence[Shared],
    others: Iterable[Shared],
    placer: Placer,
    ordering: Ordering = "best",
) -> Free:
    """Plan to run groups of jobs and to stop all other jobs of the units; return the resources left.

    Members of a group that lack CPUs or memory to fit together are placed one by one.

    Parameters
    ----------
    units
        The running jobs that may be stopped or moved.
    chosen
        Groups that are to run, by priority; there are GPUs enough for them.
    others
        Groups that may run if GPUs are left.
    placer
        Selects GPUs, with their CPUs and memory.
    ordering
        Of the stages of a group.
    """
    for stay, order in ((True, _descending), (False, _descending), (False, _by_priority)):
        attempt = _Attempt(view, units, placer)
        if stay:
            attempt.keep(chosen)
        attempt.place(sorted(chosen, key=order))
        if len(attempt.placed) == len(chosen):
            break
    apart = (group.members for group in chosen if group not in attempt.placed and len(group.members) > 1)
    attempt.place(Shared((member,)) for members in apart for member in members)
    attempt.place(others)
    attempt.write(plan, ordering)
    return attempt.free


class _Attempt:
    """One attempt to place groups: `placed` has the common allocation of each placed group."""

    def __init__(self, view: ClusterView, units: Sequence[Unit], placer: Placer) -> None:
        self._view = view
        self._units = units
        self._placer = placer
        self._unit_of = {job: unit for unit in units for job in unit.jobs}
        self._refused: set[Demand] = set()
        self._parts: dict[Shared, list[Allocation]] = {}  # by member, of groups placed again
        self.placed: dict[Shared, Allocation] = {}
        self.free = view.free()
        for unit in units:
            self.free.give(unit.held)

    def keep(self, groups: Iterable[Shared]) -> None:
        """Keep groups that already run in their places."""
        for group in groups:
            unit = self._same(group)
            if unit is not None:
                self._take(group, unit.held)

    def place(self, groups: Iterable[Shared]) -> None:
        """Give GPUs to groups in the given order, as far as there are any."""
        for group in groups:
            if not self.free.total_gpus:
                return
            if group in self.placed:
                continue
            demands = [self._view.demand(job) for job in group.jobs]
            if not self._stays(group, demands):
                self._place_anywhere(group, demands)

    def write(self, plan: PlanBuilder, ordering: Ordering) -> None:
        """Add the changes to a plan."""
        running = {job for group in self.placed for job in group.jobs}
        for unit in self._units:
            for job in unit.jobs:
                if job not in running:
                    plan.stop(job)
        for group, allocation in self.placed.items():
            same = self._same(group)
            if same is None or same.held != allocation:
                shared = _group(group.jobs, allocation, ordering)
                for job, part in zip(group.jobs, self._parts[group], strict=True):
                    plan.place(job, replace(part, group=shared))

    def _take(self, group: Shared, allocation: Allocation) -> None:
        self.free.take(allocation)
        self.placed[group] = allocation

    def _same(self, group: Shared) -> Unit | None:
        """Return the unit with just these members."""
        unit = self._unit_of.get(group.jobs[0])
        same = (
            unit is not None and len(unit.jobs) == len(group.jobs) and unit.jobs == tuple(sorted(group.jobs))
        )
        return unit if same else None

    def _stays(self, group: Shared, demands: Sequence[Demand]) -> bool:
        """Place a group on the GPUs of the best member whose GPUs are still free, if possible."""
        same = self._same(group)
        if same is not None and self.free.fits(same.held):
            self._take(group, same.held)
            return True
        for job in group.jobs:
            unit = self._unit_of.get(job)
            if unit is None:
                continue
            gpus = Allocation(tuple(s._replace(cpus=0, memory_bytes=0) for s in unit.held.slices))
            if self.free.fits(gpus) and self._fill(group, demands, gpus.gpu_map()):
                return True
        return False

    def _place_anywhere(self, group: Shared, demands: Sequence[Demand]) -> None:
        """Place a group by the placement policy; free GPUs only shrink, so a refused demand stays refused."""
        cpus, memory = sum(d.cpus for d in demands), sum(d.memory_bytes for d in demands)
        demand = replace(demands[0], cpus=cpus, memory_bytes=memory)
        if demand in self._refused:
            return
        gpus = self._placer.choose(self.free, demand)
        if gpus is None:
            self._refused.add(demand)
        else:
            self._fill(group, demands, gpus)

    def _fill(self, group: Shared, demands: Sequence[Demand], gpus: Mapping[int, int]) -> bool:
        """Place a group on some GPUs if there are CPUs and memory for all members."""
        shares = self._placer.fill.shares(self.free, demands, gpus)
        if shares is None:
            return False
        self._parts[group] = shares.parts
        self._take(group, shares.whole)
        return True


def _descending(group: Shared) -> tuple[int, ...]:
    return -group.gpus, group.rank


def _by_priority(group: Shared) -> tuple[int, ...]:
    return (group.rank,)


def _united(parts: Sequence[Allocation]) -> Allocation:
    """Return the common allocation of the members of a group: the GPUs once, CPUs and memory of all."""
    if parts[0].group is None:
        return parts[0]
    held: dict[int, list[int]] = {}
    for part in parts:
        for m, gpus, cpus, memory in part.slices:
            on_machine = held.setdefault(m, [gpus, 0, 0])
            on_machine[1] += cpus
            on_machine[2] += memory
    return Allocation(tuple([Slice(m, *held[m]) for m in sorted(held)]))


def _group(jobs: Sequence[int], whole: Allocation, ordering: Ordering) -> Group | None:
    """Return the group of jobs that hold some GPUs together; None for one job."""
    if len(jobs) == 1:
        return None
    gpus = tuple((s.machine, s.gpus) for s in whole.slices)
    return Group("+".join(str(job) for job in sorted(jobs)), gpus, len(jobs), "interleaved", ordering)
