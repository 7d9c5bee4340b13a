"""Consolidated placements of one job in an empty cluster, cached."""

from dataclasses import replace
from functools import cached_property, lru_cache
from operator import index
from typing import NamedTuple

import numpy as np

from artist.core.arrays import Bools, Ints
from artist.core.buckets import ALL
from artist.core.cluster import Allocation, Cluster
from artist.core.job import Demand
from artist.engine.admission import largest_target
from artist.errors import PlanError

_MAX_KNOWN = 10_000  # placements; sets of machines may change at every call


class Consolidated:
    """Placements of a job alone in the cluster, by GPUs, GPU types and set of machines.

    Machines of the first rack that is large enough, else of the cluster: the first that holds the whole job,
    else the largest ones. CPUs and memory are in proportion to GPUs. A job that may not mix GPU types gets
    one type, unless no type has enough.

    Parameters
    ----------
    cluster
        All its machines count, present or not.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._known: dict[tuple[int, tuple[str, ...], bool, int, int], Allocation] = {}
        self._largest = lru_cache(_MAX_KNOWN)(
            lambda demand, among: largest_target(demand, cluster.part(among).machines)
        )

    def place(self, demand: Demand, gpus: int, among: int = ALL) -> Allocation:
        """Return a placement of `gpus` GPUs for a job.

        Parameters
        ----------
        demand
            Demand with the allowed GPU types, and whether they may be mixed.
        among
            The machines that may be used, as a set of `artist.core.buckets`.

        Raises
        ------
        PlanError
            If the machines are too few.
        """
        key = (index(gpus), demand.gpu_types, demand.mixed_types, among, demand.unit)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = self._known[key] = self._place(*key)
        return known

    def place_all(self, demand: Demand, among: int = ALL) -> Allocation:
        """Return a placement of all GPUs that a job asks for, or of the most that fit for an elastic job.

        A fungible job gets the number that it needs of the first allowed GPU type that has enough.

        Raises
        ------
        PlanError
            If the machines are too few.
        """
        target = self._largest(demand, among) if demand.elastic else demand.gpus
        if demand.fungible:
            has, worth_of = self._cluster.part(among).gpus_of, self._cluster.worth_of
            for name in demand.gpu_types or has:
                if name in has and (gpus := demand.gpus_at(worth_of[name], target)) <= has[name]:
                    return self.place(replace(demand, gpu_types=(name,)), gpus, among)
        return self.place(demand, target, among)

    def spread(self, demand: Demand, gpus: int, machines: int) -> Allocation:
        """Return a placement of `gpus` GPUs, in equal parts on a number of machines if that is possible.

        They are of the first rack that has them, else of the cluster; otherwise it is consolidated.
        """
        facts, per_machine = self._facts, -(-gpus // max(machines, 1))
        fit = np.flatnonzero(self._usable(demand.gpu_types, ALL) & (facts.gpus >= per_machine))
        if not 1 <= machines <= min(gpus, len(fit)):
            return self.place(demand, gpus)
        in_rack = np.bincount(facts.rack[fit], minlength=self._cluster.n_racks)
        enough = np.flatnonzero(in_rack >= machines)
        chosen = fit[facts.rack[fit] == enough[0]] if enough.size else fit
        counts = [gpus // machines + (number < gpus % machines) for number in range(machines)]
        return self._allocation(chosen[:machines], counts)

    def _place(self, gpus: int, types: tuple[str, ...], mixed: bool, among: int, unit: int) -> Allocation:
        facts = self._facts
        gpus_on = np.where(self._usable(types, among), facts.gpus, 0)
        total, in_units = int(gpus_on.sum()), gpus_on // unit * unit
        if in_units.sum() >= gpus:
            gpus_on = in_units
        if not 1 <= gpus <= total:
            of = f" of type {' or '.join(types)}" if types else ""
            raise PlanError(f"{gpus} GPUs are not 1..{total}, the GPUs{of} of these machines")
        gpu_type = np.zeros_like(facts.gpu_type) if mixed else facts.gpu_type
        n_types = int(gpu_type.max()) + 1
        racks = self._cluster.n_racks
        in_rack = np.bincount(facts.rack * n_types + gpu_type, weights=gpus_on, minlength=racks * n_types)
        enough = np.flatnonzero((in_rack.reshape(racks, n_types) >= gpus).any(axis=1))
        if enough.size:
            gpus_on = np.where(facts.rack == enough[0], gpus_on, 0)
        single = np.flatnonzero(gpus_on >= gpus)
        if single.size:
            return self._allocation(single[:1], [gpus])
        order = np.argsort(-gpus_on, kind="stable")
        for number in dict.fromkeys(gpu_type[order].tolist()):
            chosen = order[gpu_type[order] == number]
            if gpus_on[chosen].sum() >= gpus:
                break
        else:
            chosen = order
        upto = gpus_on[chosen].cumsum()
        last = int(np.searchsorted(upto, gpus))
        counts = gpus_on[chosen[: last + 1]]
        counts[-1] -= upto[last] - gpus
        return self._allocation(chosen[: last + 1], counts.tolist())

    def _allocation(self, places: Ints, counts: list[int]) -> Allocation:
        numbers = self._facts.machine[places].tolist()
        return Allocation(tuple(sorted(map(self._cluster.share, numbers, counts))))

    def _usable(self, types: tuple[str, ...], among: int) -> Bools:
        n = len(self._cluster)
        usable = np.ones(n, dtype=np.bool_)
        if among != ALL:
            members = (among & ((1 << n) - 1)).to_bytes(-(-n // 8), "little")
            bits = np.unpackbits(np.frombuffer(members, dtype=np.uint8), count=n, bitorder="little")
            usable = bits.astype(np.bool_)
        if types:
            has = [self._cluster.of_type[t] for t in types if t in self._cluster.of_type]
            usable = usable & np.logical_or.reduce(has) if has else np.zeros_like(usable)
        return usable[self._facts.machine]

    @cached_property
    def _facts(self) -> "_Facts":
        cluster = self._cluster
        order = np.argsort(cluster.rack, kind="stable")
        numbers = {gpu_type: number for number, gpu_type in enumerate(cluster.of_type)}
        types = np.array([numbers[m.gpu_type] for m in cluster.machines], dtype=np.int64)
        return _Facts(order, cluster.gpus[order], cluster.rack[order], types[order])


class _Facts(NamedTuple):
    """Machines by rack, then by number: arrays of shape (n_machines,)."""

    machine: Ints
    gpus: Ints
    rack: Ints
    gpu_type: Ints  # number of the GPU type
