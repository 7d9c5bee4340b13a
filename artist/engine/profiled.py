"""Profiles of every job before it starts: stages and iteration time, on consolidated GPUs."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from artist.core.arrays import Ints
from artist.core.cluster import Cluster
from artist.core.job import JobSpec
from artist.engine.consolidated import Consolidated
from artist.engine.hypothetical import Hypothetical
from artist.performance.api import Changed, Performance


class Profiled:
    """Profiles of all jobs of a run, computed on first access; equal jobs are profiled once.

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
        self._specs = specs
        self._cluster = cluster
        self._performance = performance
        self._consolidated = consolidated

    @property
    def stage_ns(self) -> Ints:
        """Time of an iteration on each resource, shape (n_jobs, 4)."""
        return self._rows[:, :4]

    @property
    def alone_ns(self) -> Ints:
        """Iteration time alone, shape (n_jobs,)."""
        return self._rows[:, 4]

    @cached_property
    def _rows(self) -> Ints:
        known: dict[tuple[object, ...], tuple[int, ...]] = {}
        rows = np.zeros((len(self._specs), 5), dtype=np.int64)
        for row, spec in enumerate(self._specs):
            key = (spec.model, spec.demand, spec.compute_ns, spec.stages)
            if key not in known:
                known[key] = self._profile(spec)
            rows[row] = known[key]
        return rows

    def _profile(self, spec: JobSpec) -> tuple[int, ...]:
        if not spec.demand.gpus:
            return 0, 0, 0, 0, spec.compute_ns
        allocation = self._consolidated.place_all(spec.demand)
        running = Hypothetical([spec], self._cluster, {0: allocation})
        parts = self._performance.reprice([Changed(0, None, allocation)], running)[0]
        return *self._performance.stages(spec, allocation, self._cluster), sum(parts)
