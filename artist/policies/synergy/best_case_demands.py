"""Best cases as demands: a job asks for the CPUs and memory that it gains from. For greedy of `cpu_tuned`."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import cast

from artist.core.buckets import ALL
from artist.core.cluster import Allocation, Cluster, Machine
from artist.core.events import Finish
from artist.core.job import Demand
from artist.core.view import ClusterView
from artist.policies.parts.around import AdaptedView
from artist.policies.synergy.best_case import BestCases, types_among


class BestCaseDemands:
    """Demands of the jobs of one run, as the policy sees them.

    Elastic and CPU-only jobs keep their demands; others ask for the largest of their best cases on the types
    of machines that they allow. No job asks for more than an empty machine of each type has; a job larger
    than a machine asks for at most the share of its GPUs there.

    Parameters
    ----------
    cases
        Best cases of jobs.
    """

    def __init__(self, cases: BestCases) -> None:
        self._cases = cases
        self._demands: dict[int, Demand] = {}

    def adapted(self, view: ClusterView) -> ClusterView:
        """Return the view on which the policy plans."""
        for event in view.news:
            if isinstance(event, Finish):
                self._demands.pop(event.job, None)
                self._cases.forget(event.job)
        return cast(ClusterView, AdaptedView(view, demand=partial(self.of, view)))

    def settle(
        self, view: ClusterView, changes: Mapping[int, Allocation | None]
    ) -> Mapping[int, Allocation | None]:
        """Return the changes of a plan unchanged: jobs hold their demands."""
        return changes

    def of(self, view: ClusterView, job: int) -> Demand:
        """Return the demand of a job."""
        demand = self._demands.get(job)
        if demand is None:
            demand = self._demands[job] = self._asked(view, job)
        return demand

    def _asked(self, view: ClusterView, job: int) -> Demand:
        demand = view.demand(job)
        if not demand.gpus or demand.elastic:
            return demand
        machines = _allowed(view.cluster, demand)
        best = [self._cases.of(view, job, demand.gpus_at(machine.worth), machine) for machine in machines]
        bounds = [machine.share(max(machine.gpus, demand.gpus_at(machine.worth))) for machine in machines]
        return replace(
            demand,
            cpus=min(max(case.cpus for case in best), *(cpus for cpus, _ in bounds)),
            memory_bytes=min(max(case.memory_bytes for case in best), *(memory for _, memory in bounds)),
        )


def _allowed(cluster: Cluster, demand: Demand) -> list[Machine]:
    """Return a machine of each type that a job allows: where the job fits one GPU type, of those."""
    types = types_among(cluster, ALL)
    allowed = [m for m in types if not demand.gpu_types or m.gpu_type in demand.gpu_types]
    fitting = [m for m in allowed if demand.gpus_at(m.worth) <= cluster.gpus_of[m.gpu_type]]
    return fitting or allowed
