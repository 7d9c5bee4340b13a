"""CPU and memory allocation (fills): the CPUs and memory of jobs with GPUs. Shared by policies.

A placement policy returns GPUs by machine; a fill adds CPUs and memory. A policy takes the name of a shipped
fill, or a fill of the user's own. CPUs and memory for the jobs that gain from them are the work of a policy
around a policy, `artist.policies.synergy.cpu_tuned`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import PlainValidator

from artist.core.arrays import Ints
from artist.core.cluster import Allocation, Slice
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.parts.parameters import check_part
from artist.policies.parts.placement import gpus_to_place


class Shares(NamedTuple):
    """Allocation of colocated jobs together, the GPUs once, and the part of each."""

    whole: Allocation
    parts: list[Allocation]


class Fill(ABC):
    """Decides on CPUs and memory; `fill` is all that one of the user's own must define."""

    @abstractmethod
    def fill(self, free: Free, demand: Demand, gpus: Mapping[int, int]) -> Allocation | None:
        """Return an allocation of GPUs by machine, with CPUs and memory; None if the job does not fit.

        Parameters
        ----------
        gpus
            In order of the machines, for a fill of the user's own.
        """

    def room(self, free: Free, demand: Demand) -> Free | None:
        """Return the free resources less GPUs that lack CPUs or memory; None if that is too little."""
        return free

    def refilled(self, free: Free, demand: Demand, held: Allocation) -> Allocation:
        """Return the allocation of a job that no longer shares its GPUs; take the addition from `free`."""
        return held

    def shares(self, free: Free, demands: Sequence[Demand], gpus: Mapping[int, int]) -> Shares | None:
        """Return the allocations of colocated jobs, all with all these GPUs; None if they do not fit."""
        left = Free(free.cluster, free.gpus, free.cpus, free.memory_bytes, free.accepts)
        parts: list[Allocation] = []
        for demand in demands:
            part = self.fill(left, demand, gpus)
            if part is None:
                return None
            left.take(without_gpus(part))
            parts.append(part)
        slices = zip(*(part.slices for part in parts), strict=True)
        return Shares(Allocation(tuple(map(_sum, slices))), parts)


class Proportional(Fill):
    """CPUs and memory in proportion to the GPUs of each machine, as far as they are free."""

    def fill(self, free: Free, demand: Demand, gpus: Mapping[int, int]) -> Allocation:
        """Return the allocation; it always fits."""
        slices, share = [], free.cluster.share
        for m, count in sorted(gpus.items()):
            here = share(m, count)
            _, _, cpus, memory = here
            free_cpus, free_memory = free.cpus_and_memory(m)
            if cpus > free_cpus or memory > free_memory:
                here = Slice(m, count, min(cpus, free_cpus), min(memory, free_memory))
            slices.append(here)
        return Allocation(tuple(slices))

    def refilled(self, free: Free, demand: Demand, held: Allocation) -> Allocation:
        """Return the allocation raised to the job's share as far as that is free."""
        slices = []
        for s in held.slices:
            share, left = free.cluster.machines[s.machine].share(s.gpus), free.cpus_and_memory(s.machine)
            lacks = zip(share, s[2:], left, strict=True)
            more = [max(0, min(part - has, there)) for part, has, there in lacks]
            slices.append(s._replace(cpus=s.cpus + more[0], memory_bytes=s.memory_bytes + more[1]))
            free.take(Allocation((Slice(s.machine, 0, *more),)))
        return replace(held, slices=tuple(slices))

    def shares(self, free: Free, demands: Sequence[Demand], gpus: Mapping[int, int]) -> Shares:
        """Return the allocation of the GPUs, and an equal part of it for each job."""
        whole, n = self.fill(free, demands[0], gpus), len(demands)
        part = tuple(s._replace(cpus=s.cpus // n, memory_bytes=s.memory_bytes // n) for s in whole.slices)
        return Shares(whole, [replace(whole, slices=part)] * n)


class AsAsked(Fill):
    """Exactly the CPUs and memory that the job asks for, divided among its machines by GPUs.

    A job that asks for no particular CPUs, or memory, has them in proportion to its GPUs; one that asks for
    neither is treated as by `Proportional`.
    """

    def fill(self, free: Free, demand: Demand, gpus: Mapping[int, int]) -> Allocation | None:
        """Return the allocation, or None if a machine has too few CPUs or too little memory."""
        if not demand.cpus and not demand.memory_bytes:
            return _PROPORTIONAL.fill(free, demand, gpus)
        machines = sorted(gpus)
        counts = [gpus[m] for m in machines]
        given = _PROPORTIONAL.fill(free, demand, gpus)
        cpus = divided(demand.cpus, counts) if demand.cpus else [s.cpus for s in given.slices]
        memory = divided(demand.memory_bytes, counts)
        if not demand.memory_bytes:
            memory = [s.memory_bytes for s in given.slices]
        allocation = Allocation(tuple(map(Slice, machines, counts, cpus, memory)))
        return allocation if free.fits(without_gpus(allocation)) else None

    def room(self, free: Free, demand: Demand) -> Free | None:
        """Return the free resources, with GPUs only as far as CPUs and memory of their machine suffice."""
        if demand.min_feasible_gpus > free.total_gpus:
            return None
        if not demand.cpus and not demand.memory_bytes:
            return free
        asked, gpus, cluster = gpus_to_place(free, demand), free.gpus, free.cluster
        of_job: Ints | int = asked
        if demand.fungible:
            of_job = np.array([demand.gpus_at(m.worth, asked) for m in cluster.machines], dtype=np.int64)
        if demand.cpus:
            gpus = np.minimum(gpus, free.cpus * of_job // demand.cpus)
        if demand.memory_bytes:
            gpus = np.minimum(gpus, free.memory_bytes * of_job // demand.memory_bytes)
        if _max_on(gpus, demand.max_machines) < demand.min_feasible_gpus:
            return None
        sizes = free.sizes
        if demand.cpus:
            sizes = np.minimum(sizes, cluster.cpus * of_job // demand.cpus)
        if demand.memory_bytes:
            sizes = np.minimum(sizes, cluster.memory_bytes * of_job // demand.memory_bytes)
        fewer = np.flatnonzero(gpus != free.gpus)
        return free.with_fewer_gpus(dict(zip(fewer.tolist(), gpus[fewer].tolist(), strict=True)), sizes)

    def refilled(self, free: Free, demand: Demand, held: Allocation) -> Allocation:
        """Return the allocation; that of a job that asks for nothing is raised to its share."""
        asks = demand.cpus or demand.memory_bytes
        return held if asks else _PROPORTIONAL.refilled(free, demand, held)

    def shares(self, free: Free, demands: Sequence[Demand], gpus: Mapping[int, int]) -> Shares | None:
        """Return allocations as asked; jobs that ask for none divide equally the rest of the GPUs' share."""
        if not any(demand.cpus or demand.memory_bytes for demand in demands):
            return _PROPORTIONAL.shares(free, demands, gpus)
        whole = _PROPORTIONAL.fill(free, demands[0], gpus)
        counts = [s.gpus for s in whole.slices]
        cpus = _parts([demand.cpus for demand in demands], [s.cpus for s in whole.slices], counts)
        memory = _parts([d.memory_bytes for d in demands], [s.memory_bytes for s in whole.slices], counts)
        machines = whole.machines
        parts = [
            Allocation(tuple(map(Slice, machines, counts, *both))) for both in zip(cpus, memory, strict=True)
        ]
        total = Allocation(tuple(map(_sum, zip(*(part.slices for part in parts), strict=True))))
        return Shares(total, parts) if free.fits(without_gpus(total)) else None


class OwnFill(Fill):
    """A fill of the user's own, which gets the GPUs in order of the machines."""

    def __init__(self, fill: Fill) -> None:
        self._fill = fill
        self.room, self.refilled = fill.room, fill.refilled  # type: ignore[method-assign]

    def fill(self, free: Free, demand: Demand, gpus: Mapping[int, int]) -> Allocation | None:
        """Return the answer of the fill."""
        return self._fill.fill(free, demand, dict(sorted(gpus.items())))

    def shares(self, free: Free, demands: Sequence[Demand], gpus: Mapping[int, int]) -> Shares | None:
        """Return the answer of the fill."""
        return self._fill.shares(free, demands, dict(sorted(gpus.items())))


_PROPORTIONAL = Proportional()
FILLS: Mapping[str, Fill] = {"proportional": _PROPORTIONAL, "as_asked": AsAsked()}
AnyFill = Annotated[str | Fill, PlainValidator(lambda value: check_part(value, FILLS, "fill", Fill))]


def fill_of(fill: str | Fill) -> Fill:
    """Return a shipped fill by name; one of the user's own wrapped to get the machines in order."""
    return FILLS[fill] if isinstance(fill, str) else OwnFill(fill)


def divided(amount: int, counts: Iterable[int]) -> list[int]:
    """Divide an amount by GPUs, exactly: each part is rounded down or up.

    >>> divided(10, [2, 1, 1])
    [5, 2, 3]
    """
    ends = list(accumulate(map(int, counts), initial=0))
    return [amount * b // ends[-1] - amount * a // ends[-1] for a, b in pairwise(ends)]


def _parts(asked: Sequence[int], share: Sequence[int], counts: Sequence[int]) -> list[list[int]]:
    """Return the part of each colocated job in a resource, by machine: as asked, or of the rest of a share.

    >>> _parts([6, 0, 0], [10, 4], [2, 1])
    [[4, 2], [3, 1], [3, 1]]
    """
    given = [divided(amount, counts) for amount in asked]
    silent = max(1, asked.count(0))
    rest = [
        max(0, part - sum(one)) // silent for part, one in zip(share, zip(*given, strict=True), strict=True)
    ]
    return [one if amount else rest for amount, one in zip(asked, given, strict=True)]


def _max_on(gpus: Ints, machines: int) -> int:
    """Return the largest sum of GPUs on at most `machines` machines; 0 for any number of them.

    >>> _max_on(np.array([1, 3, 2]), 2)
    5
    """
    if not 0 < machines < len(gpus):
        return int(gpus.sum())
    return int(gpus.max() if machines == 1 else np.partition(gpus, -machines)[-machines:].sum())


def _sum(slices: Sequence[Slice]) -> Slice:
    """Return the sum of slices of colocated jobs, the GPUs once."""
    cpus, memory = sum(s.cpus for s in slices), sum(s.memory_bytes for s in slices)
    return slices[0]._replace(cpus=cpus, memory_bytes=memory)


def without_gpus(allocation: Allocation) -> Allocation:
    """Return the CPUs and memory of an allocation."""
    return Allocation(tuple(s._replace(gpus=0) for s in allocation.slices))
