"""Base demand of elastic jobs: extra workers beyond it, and the time of the work on it."""

from dataclasses import replace
from typing import Any

import numpy as np

from artist.core.arrays import Ints
from artist.core.job import Demand, gpus_worth
from artist.core.view import ClusterView


def counts_from(demand: Demand, *, requested: bool) -> range:
    """Return the GPUs of an elastic job from its base demand up, in the GPUs that `Demand.gpus` counts.

    Parameters
    ----------
    requested
        Whether the base demand is the demand, rounded down to a count that the job may have; else the job's
        minimum.
    """
    counts = demand.targets()
    if not requested:
        return counts
    return counts[max(0, (demand.gpus - counts.start) // counts.step) :]


def steps_on(demand: Demand, counts: range, base_worth: float, worth: float) -> tuple[int, ...]:
    """Return the GPUs of a given worth that 0, 1, 2, ... extra workers of an elastic job take.

    Parameters
    ----------
    counts
        GPUs from the base demand up, in the GPUs that the demand is given for.
    base_worth
        Worth of the GPUs that the base workers hold, together.
    """
    if not demand.fungible:
        return tuple(count - counts[0] for count in counts)
    needs = (count * demand.measured_worth - base_worth for count in counts)
    return tuple(max(0, gpus_worth(need, worth)) for need in needs)


def base_of(demand: Demand, *, requested: bool = False) -> Demand:
    """Return the demand of the base workers alone, for the GPUs that they need.

    Parameters
    ----------
    requested
        Whether the base of an elastic job is its demand; else its minimum.
    """
    if not demand.elastic:
        return demand
    return replace(demand, gpus=counts_from(demand, requested=requested)[0], min_gpus=0, max_gpus=0)


class AtBase:
    """The columns of one job as if it asked for its base demand: fewer GPUs, and a longer time."""

    def __init__(self, view: ClusterView, job: int, base: Demand) -> None:
        self._columns = view.columns([job])
        self.gpus = np.array([base.gpus], dtype=np.int64)
        self._longer = _longer(view, job, base.gpus)

    def __len__(self) -> int:
        return 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._columns, name)

    @property
    def ideal_ns(self) -> Ints:
        """Believed time of the whole job on its base demand."""
        ideal_ns: Ints = np.rint(self._columns.ideal_ns * self._longer).astype(np.int64)
        return ideal_ns

    @property
    def remaining_ns(self) -> Ints:
        """Believed time of the remaining work of the job on its base demand."""
        remaining_ns: Ints = np.rint(self._columns.remaining_ns * self._longer).astype(np.int64)
        return remaining_ns


def _longer(view: ClusterView, job: int, base_gpus: int) -> float:
    """Return a job's time on its base demand over that on its whole demand.

    On the cluster's own GPUs, or the first type that it allows.
    """
    cluster, demand = view.cluster, view.demand(job)
    if base_gpus == demand.gpus or cluster.default_machine is None:
        return 1.0
    allowed = [kind for kind in demand.gpu_types or cluster.type_sets if kind in cluster.type_sets]
    kind = cluster.default_machine.gpu_type if cluster.default_machine.gpu_type in allowed else allowed[0]
    counts = [demand.gpus_at(cluster.worth_of[kind], gpus) for gpus in (base_gpus, demand.gpus)]
    if max(counts) > cluster.gpus_of[kind]:
        return demand.gpus / base_gpus
    least, all_asked = view.performance.at_gpus(job, counts, cluster.type_sets[kind]).tolist()
    return float(least / all_asked)
