"""Profiles of every job before it starts: stages and iteration time, on consolidated GPUs."""

from collections.abc import Sequence

from artist.core.cluster import Cluster
from artist.core.job import JobSpec
from artist.engine.consolidated import Consolidated
from artist.engine.hypothetical import Hypothetical
from artist.engine.per_job import PerJob
from artist.performance.api import Changed, Performance


class Profiled(PerJob):
    """Profiles of all jobs of a run: the time of an iteration on each resource (4), and alone (1).

    Parameters
    ----------
    specs
        All jobs.
    cluster, performance, consolidated
        The machines, the iteration times, and the placements.
    """

    def __init__(
        self,
        specs: Sequence[JobSpec],
        cluster: Cluster,
        performance: Performance,
        consolidated: Consolidated,
    ) -> None:
        super().__init__(specs, 5)
        self._cluster = cluster
        self._performance = performance
        self._consolidated = consolidated

    def _row(self, job: int, spec: JobSpec, among: int) -> tuple[int, ...]:
        if not spec.demand.gpus:
            return 0, 0, 0, 0, spec.compute_ns
        allocation = self._consolidated.place_all(spec.demand, among)
        running = Hypothetical([spec], self._cluster, {0: allocation})
        parts = self._performance.reprice([Changed(0, None, allocation)], running)[0]
        return *self._performance.stages(spec, allocation, self._cluster), sum(parts)
