"""Placer: a chooser selects the GPUs, a fill adds CPUs and memory. Shared by policies."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from artist.core.buckets import ALL, set_of
from artist.core.cluster import Allocation, Cluster
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.parts.cpu_jobs import place_cpus
from artist.policies.parts.fill import Fill, fill_of
from artist.policies.parts.locality import span
from artist.policies.parts.placement import Chooser, Split, chooser_of
from artist.policies.parts.units import Align, Aligned, aligned, choose_whole


@dataclass(frozen=True, slots=True)
class Placer:
    """A chooser and a fill."""

    chooser: Chooser
    fill: Fill

    def place(self, free: Free, demand: Demand, among: int = ALL) -> Allocation | None:
        """Return an allocation that fits, or None to wait; `free` is unchanged.

        GPUs on machines whose CPUs are all taken, as by CPU-only jobs, are useless to a job that asks for
        CPUs.

        Parameters
        ----------
        among
            The machines that may serve, as a set of `artist.core.buckets`.
        """
        if not demand.gpus:
            return place_cpus(free, demand, among)
        gpus = self.choose(free, demand, among)
        allocation = None if gpus is None else self.fill.fill(free, demand, gpus)
        if demand.cpus and allocation is not None and _lacks_cpus(free, allocation):
            return self.place(free, demand, among & _with_cpus(free))
        return allocation

    def choose(self, free: Free, demand: Demand, among: int = ALL) -> dict[int, int] | None:
        """Return GPUs by machine for which the fill has room, or None to wait."""
        room = self.fill.room(free, demand)
        return None if room is None else choose_whole(self.chooser, room, demand, among)

    def span(self, demand: Demand, cluster: Cluster, allocation: Allocation) -> tuple[int, int, int]:
        """Return the locality: the groups that are split although aligned, the racks and the machines."""
        return self.split(demand, cluster, allocation.gpu_map()), *span(allocation, cluster)

    def split(self, demand: Demand, cluster: Cluster, gpus: Mapping[int, int]) -> int:
        """Return the groups of a plan that no rack holds whole, of GPUs by machine; 0 if none is aligned."""
        return self.chooser.split(demand, gpus, cluster.rack_of) if isinstance(self.chooser, Aligned) else 0


def _lacks_cpus(free: Free, allocation: Allocation) -> bool:
    """Return whether a job would have no CPU on a machine because none is free there."""
    machines = free.cluster.machines
    return any(
        not s.cpus and machines[s.machine].cpus > 0 and not free.cpus_and_memory(s.machine)[0]
        for s in allocation.slices
    )


def _with_cpus(free: Free) -> int:
    """Return the machines with a free CPU, or without any CPUs, as a set of `artist.core.buckets`."""
    return set_of(np.flatnonzero((free.cpus > 0) | (free.cluster.cpus == 0)).tolist())


def placer_of(
    placement: str | Chooser,
    fill: str | Fill,
    seed: int = 0,
    split: Split = "packed",
    align: Align = "none",
) -> Placer:
    """Return the placer of two shipped parts by name, or parts of the user's own."""
    return Placer(aligned(chooser_of(placement, seed, split), align), fill_of(fill))


class Packing:
    """Places jobs one after the other on free resources, and remembers refused demands.

    Free resources only shrink between calls of `place`, so a refused demand stays refused.

    Parameters
    ----------
    among
        The machines that may serve, as a set of `artist.core.buckets`.
    """

    def __init__(self, free: Free, among: int = ALL) -> None:
        self._free = free
        self._last: Allocation | None = None  # placed, not yet taken: often it is the last
        self._among = among
        self._refused: dict[tuple[int, int], tuple[Demand, Placer]] = {}  # by identity: jobs share demands

    @property
    def free(self) -> Free:
        """Free resources that are left."""
        if self._last is not None:
            self._free.take(self._last)
            self._last = None
        return self._free

    def place(self, demand: Demand, placer: Placer) -> Allocation | None:
        """Return the placer's allocation, taken from the free resources; None if it refuses."""
        key = (id(demand), id(placer))
        if key in self._refused:
            return None
        allocation = placer.place(self.free, demand, self._among)
        if allocation is None:
            self._refused[key] = demand, placer  # kept, so that nothing else gets their identities
        else:
            self._last = allocation
        return allocation
