"""Best cases as demands: a job asks for the CPUs and memory that it gains from. For the greedy fill."""

from dataclasses import replace
from typing import cast

from artist.core.cluster import Cluster
from artist.core.events import Finish
from artist.core.job import Demand
from artist.core.view import ClusterView
from artist.policies.parts.adapted_view import AdaptedView
from artist.policies.parts.best_case import BestCases, own_machine


class BestCaseDemands:
    """What the jobs of one run ask for in the eyes of the policy.

    Elastic and CPU-only jobs ask for what they ask for. No job asks for more than an empty machine of each
    type that it allows has, one larger than a machine for no more than what goes with its GPUs there.

    Parameters
    ----------
    cases
        Best cases of jobs.
    """

    def __init__(self, cases: BestCases) -> None:
        self._cases = cases
        self._demands: dict[int, Demand] = {}

    def __call__(self, view: ClusterView) -> ClusterView:
        """Return what the policy plans on."""
        for event in view.news:
            if isinstance(event, Finish):
                self._demands.pop(event.job, None)
                self._cases.forget(event.job)
        return cast(ClusterView, _Asking(view, self))

    def of(self, view: ClusterView, job: int) -> Demand:
        """Return what a job asks for."""
        demand = self._demands.get(job)
        if demand is None:
            demand = self._demands[job] = self._asked(view, job)
        return demand

    def _asked(self, view: ClusterView, job: int) -> Demand:
        demand = view.demand(job)
        if not demand.gpus or demand.elastic:
            return demand
        best = self._cases.of(view, job, demand.gpus_at(own_machine(view.cluster).worth))
        most_cpus, most_bytes = _most(view.cluster, demand)
        return replace(
            demand, cpus=min(best.cpus, most_cpus), memory_bytes=min(best.memory_bytes, most_bytes)
        )


def _most(cluster: Cluster, demand: Demand) -> tuple[int, int]:
    """Return the CPUs and bytes that a job can have on empty machines of each type that it allows."""
    most: list[tuple[int, int]] = []
    for machine in {m.type: m for m in cluster.machines if m.gpus}.values():
        if not demand.gpu_types or machine.gpu_type in demand.gpu_types:
            most.append(machine.share(max(machine.gpus, demand.gpus_at(machine.worth))))
    return min(cpus for cpus, _ in most), min(memory for _, memory in most)


class _Asking(AdaptedView):
    """The view of a policy whose jobs ask for their best case."""

    def __init__(self, view: ClusterView, demands: BestCaseDemands) -> None:
        super().__init__(view)
        self._demands = demands

    def demand(self, job: int) -> Demand:
        return self._demands.of(self._view, job)
