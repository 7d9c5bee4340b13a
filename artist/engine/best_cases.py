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
    """Best-case demands of all jobs of a run, each worked out when first asked for, equal jobs once.

    On the GPUs that a job asks for, close together, of machines like the cluster's own. A CPU-only job gets
    what it asks for.

    Parameters
    ----------
    specs
        All jobs.
    cluster, belief, consolidated
        Where they would run, how long iterations would take, and how close together.
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
        self._by_kind: dict[Hashable, tuple[int, int]] = {}

    def of(self, jobs: Ints) -> Ints:
        """Return CPUs and bytes of memory of some jobs, shape (n, 2)."""
        for job in jobs[self._rows[jobs, 0] < 0].tolist():
            spec = self._specs[job]
            kind = (spec.model, spec.demand, spec.compute_ns)
            if kind not in self._by_kind:
                self._by_kind[kind] = self._search(job, spec)
            self._rows[job] = self._by_kind[kind]
        return self._rows[jobs]

    def _search(self, job: int, spec: JobSpec) -> tuple[int, int]:
        own = self._cluster.default_machine
        if own is None or not spec.demand.gpus:
            return spec.demand.cpus, spec.demand.memory_bytes
        gpus = self._consolidated.place_all(spec.demand).gpus
        among = self._cluster.same_hardware(own, gpus, spec.demand.gpu_types)
        times = partial(self._belief.at_resources, job, gpus, among=among)
        return best_case(times, *points(own, gpus), share_of(own, gpus))
