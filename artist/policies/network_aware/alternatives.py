"""Other places for jobs that a plan starts or moves: what other choosers answer on what is free."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from artist.core.buckets import ALL, set_of
from artist.core.cluster import Allocation, Slice, racks_of
from artist.core.plan import Plan
from artist.core.view import ClusterView
from artist.policies.parts.locality import span
from artist.policies.parts.placement import Consolidate


class Alternatives:
    """What is free once a plan is carried out, and other places for its jobs there.

    Machines whose GPUs are shared, or that change their pool, in the plan are left out, as are jobs on them.

    Parameters
    ----------
    spanning
        What jobs on several machines hold after the plan.
    """

    def __init__(self, view: ClusterView, plan: Plan, spanning: Mapping[int, Allocation]) -> None:
        self._view = view
        self._spanning = dict(spanning)
        changes = [(view.allocation(job), after) for job, after in plan.changes.items()]
        grouped = (each for pair in changes for each in pair if each is not None and each.group is not None)
        aside = dict.fromkeys([*plan.assigns, *(m for each in grouped for m in _machines(each))])
        self._aside = set_of(aside)
        self._free = view.free()
        for before, _ in changes:
            self._free.give(self._within(before))
        for _, after in changes:
            self._free.take(self._within(after))

    def of(self, job: int, chosen: Allocation, most: int) -> list[Allocation]:
        """Return up to so many other places of a job, with as many CPUs and as much memory.

        None has its GPUs farther apart: in more racks, or on more machines of as many racks. All are on
        machines of the same kind and pool; there is none if those chosen differ in that.
        """
        usable = self._usable(chosen)
        if usable is None:
            return []
        cluster, demand = self._view.cluster, self._view.demand(job)
        memory_bytes = sum(s.memory_bytes for s in chosen.slices)
        seen, found = [chosen.gpu_map()], list[Allocation]()
        before = self._view.allocation(job)
        if before is not None:
            seen.append(before.gpu_map())
        self._free.give(chosen)
        for gpus in self._choices(job, chosen, usable):
            if len(found) == most:
                break
            if not gpus or gpus in seen or len(gpus) > (demand.max_machines or len(gpus)):
                continue
            seen.append(gpus)
            slices = tuple(Slice(m, gpus[m]) for m in sorted(gpus))
            other = replace(chosen, slices=slices).with_resources(chosen.cpus, memory_bytes)
            whole = not demand.elastic or not any(count % demand.step for count in gpus.values())
            if whole and span(other, cluster) <= span(chosen, cluster) and self._free.fits(other):
                found.append(other)
        self._free.take(chosen)
        return found

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
        """Let a job of the plan have another place than so far."""
        self._spanning[job] = after
        if before is not after:
            self._free.give(before)
            self._free.take(after)

    def _choices(self, job: int, chosen: Allocation, usable: int) -> Iterator[dict[int, int] | None]:
        """Yield GPUs by machine: first where no other job on several machines is, then nearly so."""
        free, cluster, near = self._free, self._view.cluster, Consolidate("network")
        need = chosen.gpus
        others = [each for other, each in self._spanning.items() if other != job]
        quiet = ~set_of(dict.fromkeys(m for each in others for m in each.machines))
        crossing = [0] * cluster.n_racks
        for each in others:
            racks = racks_of(each, cluster)
            for rack in racks if len(racks) > 1 else ():
                crossing[rack] += 1
        quietest = sorted(range(cluster.n_racks), key=lambda r: (crossing[r], -free.buckets.in_rack[r], r))
        sets = [cluster.rack_sets[rack] & usable for rack in quietest]
        first: list[int] = []  # the racks that fewest jobs leave, as many as are needed
        for here in sets:
            first.append(here)
            if free.buckets.total(sum(first)) >= need:
                break
        own_racks = [cluster.rack_sets[rack] for rack in racks_of(chosen, cluster)]
        own = [usable & ~each for each in (*own_racks, *(1 << m for m in chosen.machines))]
        wide = [usable & quiet, sum(first) & quiet, sum(first), *own, usable]
        for among in (*(here & quiet for here in sets), *wide[:3], *sets, *wide[3:]):
            if free.buckets.total(among) >= need:
                yield near.machines(free, among, need)

    def _within(self, allocation: Allocation | None) -> Allocation:
        """Return what an allocation has on machines that are not left out."""
        slices = () if allocation is None else allocation.slices
        return Allocation(tuple(s for s in slices if not self._aside >> s.machine & 1))


def _machines(allocation: Allocation) -> list[int]:
    """Return the machines of a job and of its group."""
    owned = allocation.group.gpus if allocation.group is not None else ()
    return [*allocation.machines, *(m for m, _ in owned)]


def spanning(view: ClusterView, plan: Plan) -> dict[int, Allocation]:
    """Return what jobs on several machines hold after a plan, in order of their numbers."""
    jobs = {job for m in range(len(view.cluster)) for job in view.jobs_on(m)} | plan.changes.keys()
    held = {job: plan.changes.get(job, view.allocation(job)) for job in sorted(jobs)}
    return {job: each for job, each in held.items() if each is not None and len(each.slices) > 1}
