"""Input stall in two steps: the speed at the proportional share, and that of the best case."""

from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

import numpy as np

from artist.core.arrays import Floats, Ints
from artist.core.cluster import Allocation, Cluster, Machine, Slice
from artist.performance.effects.compute import Compute
from artist.performance.effects.input_stall import InputStall, MeasuredWith
from artist.performance.formulas.best_case import MEMORY_POINTS_GIB, TOLERANCE
from artist.performance.formulas.input_rate import Sensitivity
from artist.units import BYTES_PER_GIB


class Steps(NamedTuple):
    """What a job holds in its best case, the lesser of that and its share, and how it is fed with each."""

    best_cpus: int
    best_bytes: int
    best_rate: float
    min_cpus: int
    min_bytes: int
    share_rate: float


class SteppedStall(InputStall):
    """Input stall of a job that is as fast as with its proportional share, or as in its best case.

    It runs at the speed of its best case if it holds all that this takes, and at that of its share if it
    holds the lesser of the two in CPUs and in memory. The best case is the least number of CPUs with which,
    given all memory, it is at most 1 % slower than with all CPUs, then the least of `MEMORY_POINTS_GIB` with
    which, given these CPUs, it is at most 1 % slower than with all memory. For a job whose GPUs fit one
    machine the best case is cut down to what that machine has, and to the line between the two speeds at its
    CPUs. A larger job that needs more CPUs or memory than one machine has takes its share of them, and runs
    at the speed of its share.

    This is what the authors' program does (github.com/msr-fiddle/synergy @1bb2bed, MIT, simulator/jobs). That
    program never gives a job less; here such a job runs as the curve says, and no faster than with its share.

    Parameters
    ----------
    models, compute, measured_with
        As for `InputStall`.
    """

    def __init__(
        self,
        models: Mapping[str, Sensitivity],
        compute: Compute,
        measured_with: MeasuredWith = "share",
    ) -> None:
        super().__init__(models, compute, measured_with)
        self._known: dict[tuple[object, ...], Steps] = {}

    def rate(self, model: str, allocation: Allocation, cluster: Cluster) -> float:
        """Return what one GPU is fed, relative to what a reference GPU consumes; the least of them all."""
        steps = self._steps(model, allocation, cluster)
        cpus = allocation.cpus
        memory_bytes = sum(s.memory_bytes for s in allocation.slices)
        if cpus >= steps.best_cpus and memory_bytes >= steps.best_bytes:
            return steps.best_rate
        if cpus >= steps.min_cpus and memory_bytes >= steps.min_bytes:
            return steps.share_rate
        return min(super().rate(model, allocation, cluster), steps.share_rate)

    def rate_on_grid(
        self, model: str, allocation: Allocation, cluster: Cluster, cpus: Ints, memory_bytes: Ints
    ) -> Floats:
        """Return `rate` with other CPUs and memory in all."""
        steps = self._steps(model, allocation, cluster)
        best = (cpus >= steps.best_cpus) & (memory_bytes >= steps.best_bytes)
        least = (cpus >= steps.min_cpus) & (memory_bytes >= steps.min_bytes)
        curve = super().rate_on_grid(model, allocation, cluster, cpus, memory_bytes)
        below = np.where(least, steps.share_rate, np.minimum(curve, steps.share_rate))
        return np.where(best, steps.best_rate, below)

    def _steps(self, model: str, allocation: Allocation, cluster: Cluster) -> Steps:
        """Return the steps of a job with as many GPUs, on machines like its first."""
        number, gpus = next(s.machine for s in allocation.slices if s.gpus), allocation.gpus
        machine = cluster.machines[number]
        key = (model, gpus, machine.gpus, machine.cpus, machine.memory_bytes, machine.speed)
        if key not in self._known:
            together = Allocation(tuple(Slice(number, count) for count in machine.fewest(gpus)))
            self._known[key] = self._search(model, together, cluster, machine)
        return self._known[key]

    def _search(self, model: str, place: Allocation, cluster: Cluster, machine: Machine) -> Steps:
        """Return the steps of a job on some GPUs of a machine, or of more machines like it."""

        def rates(cpus: Ints, memory_bytes: Ints) -> Floats:
            fed = super(SteppedStall, self).rate_on_grid(model, place, cluster, cpus, memory_bytes)
            return np.minimum(fed, machine.speed)

        gpus, known = place.gpus, self.models[model]
        saturating = known.cpus[known.throughput.index(known.throughput[-1])]
        most = ceil(gpus * saturating * max(1.0, machine.speed / known.speed))
        cpus = np.arange(1, most + 1)
        memory = np.array([round(point * BYTES_PER_GIB) * gpus for point in MEMORY_POINTS_GIB])
        row = _first_saturated(rates(cpus, memory[-1:]))
        by_memory = rates(cpus[row : row + 1], memory)
        column = _first_saturated(by_memory)
        share = np.array(machine.share(gpus))
        share_rate = float(rates(share[:1], share[1:])[0])
        best_rate = max(share_rate, float(by_memory[column]))
        return _cut_down(int(cpus[row]), int(memory[column]), best_rate, share_rate, gpus, machine)


def _first_saturated(rates: Floats) -> int:
    """Return the first point that is at most TOLERANCE slower than the fastest."""
    return int(np.argmax(rates * (1 + TOLERANCE) >= rates.max()))


def _cut_down(
    cpus: int, memory_bytes: int, best_rate: float, share_rate: float, gpus: int, machine: Machine
) -> Steps:
    """Return the steps of a job with this best case, within what machines have."""
    share_cpus, share_bytes = machine.share(gpus)
    has_cpus, has_bytes = machine.cpus, machine.memory_bytes
    too_many, too_much = cpus > has_cpus, memory_bytes > has_bytes
    if gpus > machine.gpus:
        has_cpus, has_bytes, best_rate = share_cpus, share_bytes, share_rate
    elif too_many:
        best_rate = share_rate + (best_rate - share_rate) * (has_cpus - share_cpus) / (cpus - share_cpus)
    cpus = has_cpus if too_many else cpus
    memory_bytes = has_bytes if too_much else memory_bytes
    least = min(cpus, share_cpus), min(memory_bytes, share_bytes)
    return Steps(cpus, memory_bytes, best_rate, *least, share_rate)
