"""The least CPUs and memory that saturate each job, by the believed performance."""

from collections.abc import Hashable, Sequence
from functools import partial

import numpy as np

from artist.core.arrays import Ints
from artist.core.cluster import Cluster
from artist.core.job import JobSpec
from artist.core.view import BeliefPerformance
from artist.engine.consolidated import Consolidated
from artist.performance.formulas.best_case import best_case, points, share_of


class BestCases:
    """Best-case demands of all jobs of a run, computed on first access, once for equal jobs.

    On the GPUs that a job asks for, consolidated, on machines with default GPUs. The best case of a CPU-only
    job is its demand.

    Parameters
    ----------
    specs
        All jobs.
    cluster, belief, consolidated
        The machines, the iteration times, and the placements.
    """

    def __init__(
        self,
        specs: Sequence[JobSpec],
        cluster: Cluster,
        belief: BeliefPerformance,
        consolidated: Consolidated,
    ) -> None:
        self._specs = specs
        self._cluster = cluster
        self._belief = belief
        self._consolidated = consolidated
        self._rows = np.full((len(specs), 2), -1, dtype=np.int64)
        self._known: dict[Hashable, tuple[int, int]] = {}

    def of(self, jobs: Ints) -> Ints:
        """Return CPUs and bytes of memory of some jobs, shape (n, 2)."""
        for job in jobs[self._rows[jobs, 0] < 0].tolist():
            spec = self._specs[job]
            key = (spec.model, spec.demand, spec.compute_ns)
            if key not in self._known:
                self._known[key] = self._search(job, spec)
            self._rows[job] = self._known[key]
        return self._rows[jobs]

    def _search(self, job: int, spec: JobSpec) -> tuple[int, int]:
        machine = self._cluster.default_machine
        if machine is None or not spec.demand.gpus:
            return spec.demand.cpus, spec.demand.memory_bytes
        gpus = self._consolidated.place_all(spec.demand).gpus
        among = self._cluster.same_hardware(machine, gpus, spec.demand.gpu_types)
        times = partial(self._belief.at_resources, job, gpus, among=among)
        return best_case(times, *points(machine, gpus), share_of(machine, gpus))
