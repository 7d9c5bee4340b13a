"""Other allocations for jobs that a plan starts or moves, on the resources that it leaves free."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from artist.core.buckets import ALL, set_of
from artist.core.cluster import Allocation, Slice, racks_of
from artist.core.job import Demand
from artist.core.plan import Plan
from artist.core.view import ClusterView
from artist.policies.parts.even_split import even_split
from artist.policies.parts.fill import Proportional
from artist.policies.parts.locality import span
from artist.policies.parts.placement import Consolidate
from artist.policies.parts.placer import Placer
from artist.policies.parts.units import Align, aligned, choose_whole, counted_in_units

Choices = Callable[[int], Iterable[dict[int, int] | None]]


class Alternatives:
    """Free resources after a plan, and other allocations of its jobs there.

    Machines whose GPUs are shared, or that change their pool, in the plan are left out, as are jobs on them.

    Parameters
    ----------
    spanning
        Allocations on several machines after the plan, by job.
    align
        Groups of a plan of which no other allocation splits more over racks.
    """

    def __init__(
        self, view: ClusterView, plan: Plan, spanning: Mapping[int, Allocation], align: Align = "none"
    ) -> None:
        self._view, self._near = view, Placer(aligned(Consolidate(), align), Proportional())
        self._spanning = dict(spanning)
        changes = [(view.allocation(job), after) for job, after in plan.changes.items()]
        held = (allocation for pair in changes for allocation in pair if allocation is not None)
        grouped = (m for allocation in held if allocation.group is not None for m in _machines(allocation))
        aside = dict.fromkeys([*plan.assigns, *grouped])
        self._aside = set_of(aside)
        self._free = view.free()
        for before, _ in changes:
            self._free.give(self._within(before))
        for _, after in changes:
            self._free.take(self._within(after))

    def of(self, job: int, chosen: Allocation, count: int) -> list[Allocation]:
        """Return up to `count` other allocations of a job, with the same CPUs and memory in all.

        None has worse locality: more racks, or more machines in an equal number of racks. All are on machines
        of the same type and pool; there is none if the chosen ones differ in that.
        """
        return self._others(job, chosen, count, lambda usable: self._choices(job, chosen, usable))

    def even(self, job: int, chosen: Allocation, place: Allocation) -> list[Allocation]:
        """Return the even split of a place, `chosen` or another one, on such conditions."""
        demand, one = self._view.demand(job), Consolidate().one
        unit, step = demand.unit, counted_in_units(demand).step
        units = {machine: count // unit for machine, count in place.gpu_map().items()}

        def split(usable: int) -> list[dict[int, int] | None]:
            even = even_split(self._free.in_units(unit), units, usable, one, step)
            return [{machine: count * unit for machine, count in even.items()}]

        return self._others(job, chosen, 1, split)

    def _others(self, job: int, chosen: Allocation, count: int, choices: Choices) -> list[Allocation]:
        usable = self._usable(chosen)
        if usable is None:
            return []
        cluster, demand = self._view.cluster, self._view.demand(job)
        memory_bytes = sum(s.memory_bytes for s in chosen.slices)
        seen, others = [chosen.gpu_map()], list[Allocation]()
        split = partial(self._near.split, demand, cluster)
        before = self._view.allocation(job)
        if before is not None:
            seen.append(before.gpu_map())
        self._free.give(chosen)
        for gpus in choices(usable):
            if len(others) == count:
                break
            if not gpus or gpus in seen or len(gpus) > (demand.max_machines or len(gpus)):
                continue
            seen.append(gpus)
            slices = tuple(Slice(m, gpus[m]) for m in sorted(gpus))
            other = replace(chosen, slices=slices).with_resources(chosen.cpus, memory_bytes)
            whole = not demand.elastic or not any(there % demand.step for there in gpus.values())
            whole = whole and demand.is_whole(gpus, cluster.rack_of) and split(gpus) <= split(seen[0])
            if whole and span(other, cluster) <= span(chosen, cluster) and self._free.fits(other):
                others.append(other)
        self._free.take(chosen)
        return others

    def _usable(self, chosen: Allocation) -> int | None:
        """Return the machines that may serve instead, as a set of `artist.core.buckets`; None for none."""
        view, cluster = self._view, self._view.cluster
        kinds = list(dict.fromkeys(cluster.machines[m].hardware for m in chosen.machines))
        pools = list(dict.fromkeys(view.pools[m] for m in chosen.machines))
        if len(kinds) > 1 or len(pools) > 1 or set_of(chosen.machines) & self._aside:
            return None
        alike = ALL if cluster.uniform else cluster.hardware_sets[kinds[0]]
        return alike & view.in_pool(pools[0]) & ~self._aside

    def settle(self, job: int, before: Allocation, after: Allocation) -> None:
        """Replace the allocation of a job of the plan."""
        self._spanning[job] = after
        if before is not after:
            self._free.give(before)
            self._free.take(after)

    def _choices(self, job: int, chosen: Allocation, usable: int) -> Iterator[dict[int, int] | None]:
        """Yield GPUs by machine: first on machines without other jobs that span machines."""
        free, cluster, near = self._free, self._view.cluster, self._near.chooser
        need, demand = chosen.gpus, self._view.demand(job)
        asked = Demand(
            need,
            unit=demand.unit,
            segment=demand.segment,
            pipeline_stages=demand.pipeline_stages,
            replica_gpus=demand.replica_gpus,
        )
        others = [held for other, held in self._spanning.items() if other != job]
        quiet = ~set_of(dict.fromkeys(m for held in others for m in held.machines))
        crossing = [0] * cluster.n_racks
        for held in others:
            racks = racks_of(held, cluster)
            for rack in racks if len(racks) > 1 else ():
                crossing[rack] += 1
        quietest = sorted(range(cluster.n_racks), key=lambda r: (crossing[r], -free.buckets.in_rack[r], r))
        sets = [cluster.rack_sets[rack] & usable for rack in quietest]
        first: list[int] = []  # the racks with the fewest crossing jobs that have enough GPUs
        for here in sets:
            first.append(here)
            if free.buckets.total(sum(first)) >= need:
                break
        own_racks = [cluster.rack_sets[rack] for rack in racks_of(chosen, cluster)]
        without = [usable & ~used for used in (*own_racks, *(1 << m for m in chosen.machines))]
        wide = [usable & quiet, sum(first) & quiet, sum(first), *without, usable]
        for among in (*(here & quiet for here in sets), *wide[:3], *sets, *wide[3:]):
            if free.buckets.total(among) >= need:
                yield choose_whole(near, free, asked, among)

    def _within(self, allocation: Allocation | None) -> Allocation:
        """Return the part of an allocation on machines that are not left out."""
        slices = () if allocation is None else allocation.slices
        return Allocation(tuple(s for s in slices if not self._aside >> s.machine & 1))


def _machines(allocation: Allocation) -> list[int]:
    """Return the machines of a job and of its group."""
    owned = allocation.group.gpus if allocation.group is not None else ()
    return [*allocation.machines, *(m for m, _ in owned)]


def spanning(view: ClusterView, plan: Plan) -> dict[int, Allocation]:
    """Return the allocations on several machines after a plan, in order of job numbers."""
    jobs = {job for m in range(len(view.cluster)) for job in view.jobs_on(m)} | plan.changes.keys()
    held = {job: plan.changes.get(job, view.allocation(job)) for job in sorted(jobs)}
    return {job: after for job, after in held.items() if after is not None and len(after.slices) > 1}
