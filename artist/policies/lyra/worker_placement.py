"""Placement of base and flexible workers: pools, groups of machines, idle GPUs first. For Lyra.

In plain words:

- An inelastic job prefers the training pool, an elastic one loaned machines. A job that is not fungible is
  placed on loaned machines only if it names their GPU type, or training has GPUs of that type.
- On loaned machines base and flexible workers stay apart if possible: base workers prefer machines without
  flexible ones, flexible workers machines without base ones.
- A heterogeneous job (fungible, types may be mixed) prefers GPUs of one type, of the training pool first. Its
  base workers are mixed if neither pool has room for all of them.
- Workers take idle GPUs first; base workers then those of flexible workers, whose jobs shrink.
- Each worker goes to the machine in use that fits best, of those that it prefers.

Source: Lyra, sections 5.2, 5.3 and 6.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, reduce
from operator import or_

from artist.core.buckets import set_of
from artist.core.cluster import Allocation, Cluster
from artist.core.free import Free
from artist.core.job import Demand, gpus_worth
from artist.core.view import ClusterView
from artist.policies.lyra.workers import Workers
from artist.policies.parts.fill import Proportional
from artist.policies.parts.placement import BestFitWorkers
from artist.policies.parts.placer import Placer
from artist.policies.parts.worker_fit import fit_workers, largest_of


class WorkerPlacement:
    """Places workers on the machines of one call.

    Attributes
    ----------
    training, loaned
        Machines of the two pools, as sets of `artist.core.buckets`.

    Parameters
    ----------
    grouped
        Whether elastic jobs prefer loaned machines, where workers stay apart; else they are placed like
        inelastic ones.
    """

    def __init__(self, cluster: Cluster, workers: Workers, *, grouped: bool) -> None:
        self._cluster, self._workers, self._grouped = cluster, workers, grouped
        self._placer = Placer(BestFitWorkers(), Proportional())
        self._ways = cache(self._ways_of)

    def look(self, view: ClusterView, training: int, loaned: int) -> None:
        """Begin a call."""
        self.training, self.loaned = training, loaned
        gpu_types = [machines for machines in self._cluster.type_sets.values() if machines & training]
        self._like_training = reduce(or_, gpu_types, 0)
        self._view = view
        self._free: Free | None = None

    @property
    def free(self) -> Free:
        """Idle resources, less those placed in this call."""
        if self._free is None:
            self._free = self._view.free()
        return self._free

    # --- base workers

    def preferred(self, demand: Demand, *, elastic: bool) -> list[int]:
        """Return the sets of machines for base workers, the best one first."""
        loaned = self.loaned
        if not demand.fungible and not demand.gpu_types:
            loaned &= self._like_training
        if not loaned:
            return [self.training]
        apart = loaned & ~self._workers.with_flexible if self._grouped else loaned
        on_loan = [loaned] if apart == loaned else [apart, loaned]
        if elastic and self._grouped and not demand.mixed_types:
            sets = [*on_loan, self.training]
        else:
            sets = [self.training, *on_loan]
        return [*sets, self.training | loaned] if loaned & self._like_training else sets

    def place(self, demand: Demand, preferred: Sequence[int]) -> Allocation | None:
        """Return the allocation of the base workers of a job, and take it; None if there is no room.

        Parameters
        ----------
        demand
            For the GPUs of the base workers, not elastic.
        """
        for machines in preferred:
            allocation = self._placer.place(self.free, demand, machines)
            if allocation is not None:
                self.free.take(allocation)
                return allocation
        if not demand.gpus:
            return None
        gpus = self._fit_loose(demand, preferred)
        if gpus is None:
            return None
        self._clear(gpus)
        allocation = self._placer.fill.fill(self.free, demand, gpus)
        assert allocation is not None, "shares in proportion to GPUs always fit"
        self.free.take(allocation)
        return allocation

    def may_fit(self, demand: Demand, preferred: Sequence[int]) -> bool:
        """Return whether there could be room, from a quick check: False is certain."""
        if not demand.gpus or (demand.fungible and demand.mixed_types):
            return True
        loose, sizes = self._workers.loose, self._cluster.size_sets
        there = reduce(or_, loose.sets)
        for usable, need in self._ways(demand):
            for machines in preferred:
                candidates = usable & machines & there
                worker = min(demand.step, need, largest_of(sizes, candidates))
                if any(some & candidates for some in loose.sets[worker:]) and loose.total(candidates) >= need:
                    return True
        return False

    def _ways_of(self, demand: Demand) -> list[tuple[int, int]]:
        """Return the machines of each type that a demand allows, and the GPUs that it takes there."""
        sets, worth_of = self._cluster.type_sets, self._cluster.worth_of
        gpu_types = [gpu_type for gpu_type in demand.gpu_types or sets if gpu_type in sets]
        return [(sets[gpu_type], demand.gpus_at(worth_of[gpu_type])) for gpu_type in gpu_types]

    def _fit_loose(self, demand: Demand, preferred: Sequence[int]) -> dict[int, int] | None:
        """Return GPUs by machine, idle ones and then those of flexible workers; None if there are too few."""
        if self._workers.with_flexible:
            for machines in preferred:
                for usable, need in self._ways(demand):
                    gpus = self._fit_all(demand, machines & usable, need)
                    if gpus is not None:
                        return gpus
        return self._mixed(demand, reduce(or_, preferred)) if demand.mixed_types and self.loaned else None

    def _fit_all(self, demand: Demand, usable: int, need: int) -> dict[int, int] | None:
        """Place all workers on some machines, on no more of them than the job may span."""
        span = demand.max_machines
        gpus, left = self._fit(usable, need, demand)
        if left or not span or len(gpus) <= span:
            return None if left else gpus
        unit = demand.unit
        fewest = self._workers.loose.in_units(unit, []).fewest(need // unit, usable)
        if fewest is None or len(fewest) > span:
            return None
        return {machine: count * unit for machine, count in fewest.items()}

    def _fit(self, usable: int, need: int, demand: Demand) -> tuple[dict[int, int], int]:
        """Place workers on idle GPUs, then the rest on loose ones."""
        sizes, loose = self._cluster.size_sets, self._workers.loose_gpus
        worker = demand.step, demand.unit
        taken, left = fit_workers(self.free.buckets.sets[:], sizes, usable, need, *worker)
        if left:
            sets = self._workers.loose.sets[:]
            for machine, gpus in taken.items():
                sets[loose[machine]] ^= 1 << machine
                sets[loose[machine] - gpus] |= 1 << machine
            more, left = fit_workers(sets, sizes, usable, left, *worker)
            for machine, gpus in more.items():
                taken[machine] = taken.get(machine, 0) + gpus
        return taken, left

    def _mixed(self, demand: Demand, machines: int) -> dict[int, int] | None:
        """Return GPUs of several types on some machines for a heterogeneous job, training pool first."""
        cluster, taken = self._cluster, dict[int, int]()
        worth_left = demand.gpus * demand.measured_worth
        for pool in (self.training & machines, self.loaned & machines):
            for gpu_type in demand.gpu_types or cluster.type_sets:
                need = gpus_worth(worth_left, cluster.worth_of[gpu_type])
                if need > 0:
                    some, left = self._fit(cluster.type_sets[gpu_type] & pool, need, demand)
                    taken.update(some)
                    worth_left -= (need - left) * cluster.worth_of[gpu_type]
        held = [(gpus, cluster.machines[machine].worth) for machine, gpus in taken.items()]
        fits = demand.allows(held) and demand.is_whole(taken, cluster.rack_of)
        fits = fits and not 0 < demand.max_machines < len(taken)
        return taken if fits else None

    def _clear(self, gpus: Mapping[int, int]) -> None:
        """Make GPUs idle on machines: the newest flexible workers leave."""
        for machine, count in gpus.items():
            while (short := count - int(self.free.gpus[machine])) > 0:
                there = self._workers.flexible_on(machine)
                job = max(there)
                self._workers.shrink(job, {machine: min(short, there[job])}, self.free)

    # --- flexible workers

    def grow(self, job: int, extra: int, machines: int) -> None:
        """Add flexible workers on some machines until there are `extra` ones, or no room is left."""
        held = self._workers.jobs[job]
        there, span = set_of(held.slices), held.demand.max_machines
        need = held.steps[extra] - held.steps[held.extra]
        taken = self._for_flexible(machines, need, held.demand)
        if span and len(held.slices.keys() | taken.keys()) > span:
            taken = self._for_flexible(machines & there, need, held.demand)
        flexible = sum(held.flexible.values())
        whole = held.steps[bisect_right(held.steps, flexible + sum(taken.values())) - 1] - flexible
        if whole > 0:
            self._workers.grow(job, _first_of(taken, whole), self.free)

    def _for_flexible(self, machines: int, need: int, demand: Demand) -> dict[int, int]:
        """Place flexible workers as far as there is room."""
        sets, taken = self.free.buckets.sets[:], dict[int, int]()
        for usable in self._groups(machines):
            worker = demand.step, demand.unit
            some, need = fit_workers(sets, self._cluster.size_sets, usable, need, *worker)
            for machine, gpus in some.items():
                taken[machine] = taken.get(machine, 0) + gpus
            if not need:
                break
        return taken

    def _groups(self, machines: int) -> Iterator[int]:
        """Yield the sets of machines for flexible workers, the best one first."""
        loaned = machines & self.loaned
        if loaned and self._grouped:
            apart = loaned & ~self._workers.with_base
            yield apart & self._workers.with_flexible
            yield apart
            yield loaned
        yield machines


def _first_of(gpus: Mapping[int, int], total: int) -> dict[int, int]:
    """Return the first of some GPUs by machine, `total` in all."""
    taken: dict[int, int] = {}
    for machine, count in gpus.items():
        if total:
            taken[machine] = min(count, total)
            total -= taken[machine]
    return taken
