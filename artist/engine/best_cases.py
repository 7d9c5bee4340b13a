"""The least CPUs and memory that saturate each job, by the believed performance."""

from collections.abc import Sequence
from functools import partial

from artist.core.cluster import Cluster
from artist.core.job import JobSpec
from artist.core.view import BeliefPerformance
from artist.engine.consolidated import Consolidated
from artist.engine.per_job import PerJob
from artist.performance.formulas.best_case import best_case, points, share_of


class BestCases(PerJob):
    """Best-case demands of all jobs of a run: CPUs and bytes of memory.

    On the GPUs that a job asks for, consolidated, on machines with default GPUs. The best case of a CPU-only
    job is its demand.

    Parameters
    ----------
    specs
        All jobs of the run.
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
        super().__init__(specs, 2)
        self._cluster = cluster
        self._belief = belief
        self._consolidated = consolidated

    def _row(self, job: int, spec: JobSpec, among: int) -> tuple[int, ...]:
        machine = self._cluster.part(among).default_machine
        if machine is None or not spec.demand.gpus:
            return spec.demand.cpus, spec.demand.memory_bytes
        gpus = self._consolidated.place_all(spec.demand, among).gpus
        there = self._cluster.same_hardware(machine, gpus, spec.demand.gpu_types, among)
        times = partial(self._belief.at_resources, job, gpus, among=there)
        return best_case(times, *points(machine, gpus), share_of(machine, gpus))
