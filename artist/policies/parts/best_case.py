"""Best-case demands: the least CPUs and memory with which a job is as fast as it gets (Synergy, 3.2).

The least CPUs with which, given all memory, an iteration takes at most 1 % longer than with all CPUs; then
the least memory with which, given these CPUs, it takes at most 1 % longer than with all memory.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from artist.core.cluster import Cluster
from artist.core.view import ClusterView

Ints = npt.NDArray[np.int64]
TOLERANCE = 0.01  # saturated: at most this share slower than the best
_GIB = 1 << 30


class BestCase(NamedTuple):
    """What a job gains from at most, on some GPUs; for the whole job."""

    gpus: int
    cpus: int
    memory_bytes: int


class BestCases:
    """Best-case demands of jobs, each worked out once for jobs alike; needs `knows_performance`.

    A job whose GPUs fit one machine of the cluster's own kind gets no more than that machine's CPUs and
    memory (section 6), a larger one no more than those of as many machines as it needs. Jobs are alike that
    have one model, demand and compute time: a policy that asks declares `knows_models`, `knows_iterations`.

    Parameters
    ----------
    memory_points_gib
        Amounts of memory that are tried, per GPU, ascending; CPUs are tried one by one.
    bounded
        False for what a job would gain from on a machine for each of its GPUs.
    """

    def __init__(self, memory_points_gib: Sequence[float], *, bounded: bool = True) -> None:
        self._bounded = bounded
        self._points_bytes = [round(point * _GIB) for point in memory_points_gib]
        self._by_job: dict[int, BestCase] = {}
        self._by_kind: dict[Hashable, BestCase] = {}

    def of(self, view: ClusterView, job: int, gpus: int) -> BestCase:
        """Return the best case of a job on some GPUs."""
        found = self._by_job.get(job)
        if found is None or found.gpus != gpus:
            columns = view.columns([job])
            kind = (columns.model[0], view.demand(job), int(columns.compute_ns[0]), gpus)
            found = self._by_kind.get(kind)
            if found is None:
                found = self._by_kind[kind] = self._search(view, job, gpus)
            self._by_job[job] = found
        return found

    def forget(self, job: int) -> None:
        """Drop what is known of a finished job."""
        self._by_job.pop(job, None)

    def grid(self, cluster: Cluster, gpus: int) -> tuple[list[int], list[int]]:
        """Return the CPUs and the bytes of memory that are tried for a job on some GPUs, ascending."""
        own = cluster.own
        assert own is not None, "a job with GPUs was let in"
        machines = -(-gpus // own.gpus) if self._bounded else gpus
        most_cpus, most_bytes = own.cpus * machines, own.memory_bytes * machines
        memory = sorted({min(point * gpus, most_bytes) for point in self._points_bytes})
        return list(range(min(most_cpus, 1), most_cpus + 1)), memory

    def _search(self, view: ClusterView, job: int, gpus: int) -> BestCase:
        cpus, memory = self.grid(view.cluster, gpus)
        by_cpus = view.performance.at_resources(job, gpus, cpus, memory[-1:])[:, 0]
        row = _first_saturated(by_cpus)
        by_memory = view.performance.at_resources(job, gpus, cpus[row : row + 1], memory)[0]
        return BestCase(gpus, cpus[row], memory[_first_saturated(by_memory)])


def _first_saturated(iteration_ns: Ints) -> int:
    """Return the first point that is at most TOLERANCE slower than the fastest."""
    return int(np.argmax(iteration_ns <= iteration_ns.min() * (1 + TOLERANCE)))
