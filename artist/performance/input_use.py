"""CPUs and memory that jobs use for input, and would use at best: for records of a run."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from artist.core.arrays import Ints
from artist.core.cluster import Allocation, Cluster, Slice
from artist.core.job import JobSpec
from artist.performance.effects.compute import scaled
from artist.performance.effects.input_stall import InputStall, cpu_counts
from artist.performance.formulas.best_case import best_case, points, share_of

_LONG_NS = 10**12  # of compute: long enough that rounding does not matter


class InputUse:
    """CPUs and memory in use, by allocation and speed; a job without a model uses nothing.

    A CPU-only job uses all that it holds.

    Parameters
    ----------
    stall
        Effect of CPUs and memory.
    """

    def __init__(self, stall: InputStall) -> None:
        self._stall = stall
        self._best: dict[tuple[str, int, float], tuple[int, int]] = {}

    def in_use(
        self, spec: JobSpec, allocation: Allocation, cluster: Cluster, iteration_ns: int
    ) -> tuple[float, float]:
        """Return the CPUs and bytes of memory that a job uses where it is placed, at an iteration time.

        The CPUs that prepare its samples at the speed at which it runs, on each machine at most those that it
        holds there; the memory of its processes and of the cached part of its data set.
        """
        demand, slices = spec.demand, allocation.slices
        if not demand.gpus:
            return float(sum(s.cpus for s in slices)), float(sum(s.memory_bytes for s in slices))
        if not spec.model:
            return 0.0, 0.0
        model = self._stall.models[spec.model]
        full_ns = spec.compute_ns * demand.gpus * demand.measured_speed / (allocation.gpus * model.speed)
        parts = self._stall.compute.parts(allocation, cluster) or [1.0] * len(slices)
        counts = cpu_counts(model, slices) or [1.0] * len(slices)
        cpus, processes, spare = 0.0, 0, 0
        for s, part, count in zip(slices, parts, counts, strict=True):
            cpus += min(s.cpus, s.gpus * model.preparing(part * full_ns / iteration_ns) / count)
            needed = min(s.memory_bytes, model.needs(s.gpus))
            processes, spare = processes + needed, spare + s.memory_bytes - needed
        return cpus, float(processes + min(spare, model.dataset_bytes))

    def best_case(self, spec: JobSpec, cluster: Cluster) -> tuple[int, int]:
        """Return the least CPUs and bytes of memory, in all, with which a job reaches its highest speed.

        The rule is that of `artist.performance.formulas.best_case`, on as few machines of the cluster's own
        kind as hold its GPUs. It does not depend on how long the job computes.
        """
        demand, machine = spec.demand, cluster.default_machine
        if not demand.gpus or not spec.model or machine is None:
            return demand.cpus, demand.memory_bytes
        key = (spec.model, demand.gpus, demand.measured_speed)
        if key not in self._best:
            spec = replace(spec, compute_ns=_LONG_NS)
            number = cluster.machines.index(machine)  # one stands for any other
            allocation = Allocation(tuple(Slice(number, gpus) for gpus in machine.fewest(demand.gpus)))
            compute_ns = scaled(spec.compute_ns, demand.measured_speed / machine.speed)

            def iteration_ns(cpus: Sequence[int], memory_bytes: Sequence[int]) -> Ints:
                grid = np.array(cpus)[:, None], np.array(memory_bytes)[None, :]
                return compute_ns + self._stall.on_grid(spec, allocation, cluster, compute_ns, *grid)

            self._best[key] = best_case(
                iteration_ns, *points(machine, demand.gpus), share_of(machine, demand.gpus)
            )
        return self._best[key]
