"""Best-case demands: the least CPUs and memory with which a job is as fast as it gets (Synergy, 3.2).

The rule is `artist.performance.formulas.best_case`.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from artist.core.cluster import Cluster, Machine
from artist.core.view import ClusterView
from artist.performance.formulas.best_case import MEMORY_POINTS_GIB, best_case, points, share_of


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
    server_gpus
        GPUs of a server, where one machine stands for several: its part of the machine is what bounds jobs.
        None for the machine's own.
    bounded
        False for what a job would gain from on a machine for each of its GPUs.
    """

    def __init__(
        self,
        memory_points_gib: Sequence[float] = MEMORY_POINTS_GIB,
        *,
        server_gpus: int | None = None,
        bounded: bool = True,
    ) -> None:
        self._server_gpus = server_gpus
        self._bounded = bounded
        self._points_gib = memory_points_gib
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
        own = own_machine(cluster)
        gpus_there = self._server_gpus or own.gpus
        cpus, memory = own.share(gpus_there)
        server = replace(own, gpus=gpus_there if self._bounded else 1, cpus=cpus, memory_bytes=memory)
        return points(server, gpus, self._points_gib)

    def _search(self, view: ClusterView, job: int, gpus: int) -> BestCase:
        times = partial(view.performance.at_resources, job, gpus)
        share = share_of(own_machine(view.cluster), gpus)
        return BestCase(gpus, *best_case(times, *self.grid(view.cluster, gpus), share))


def own_machine(cluster: Cluster) -> Machine:
    """Return a machine with the cluster's own GPUs; the first with any if all join later."""
    return cluster.own or next(machine for machine in cluster.machines if machine.gpus)
