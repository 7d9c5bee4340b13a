"""Speed-ups of elastic jobs with more workers, as a policy believes. For Pollux."""

from typing import NamedTuple

import numpy as np

from artist.core.arrays import Floats, Ints
from artist.core.job import Demand
from artist.core.view import ClusterView


class Speedups(NamedTuple):
    """Numbers of GPUs of one type that a job may hold, its base demand first, with its speeds.

    Attributes
    ----------
    gpus
        GPUs that it may hold, shape (n,).
    speedup
        Believed speed with them, relative to that at base demand, shape (n,).
    """

    gpus: Ints
    speedup: Floats


class SpeedupTable:
    """Speed-ups of jobs alone on consolidated GPUs, asked for once for each demand, model and GPU type.

    A policy that uses it must declare to know models and performance.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Demand, str, str], Speedups] = {}

    def of(self, view: ClusterView, job: int, model: str, gpu_type: str) -> Speedups:
        """Return the numbers of GPUs of a type that a job may hold, with its speeds.

        Parameters
        ----------
        model
            Name of the job's model.
        """
        key = (view.demand(job), model, gpu_type)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _asked(view, job, gpu_type)
        return known


def _asked(view: ClusterView, job: int, gpu_type: str) -> Speedups:
    cluster, demand = view.cluster, view.demand(job)
    worth, there = cluster.worth_of[gpu_type], cluster.gpus_of[gpu_type]
    counts = [demand.gpus_at(worth, target) for target in demand.targets()]
    counts = counts[:1] + [count for count in counts[1:] if count <= there]
    if len(counts) == 1:
        return Speedups(np.array(counts, dtype=np.int64), np.ones(1))
    times = view.performance.at_gpus(job, counts, cluster.type_sets[gpu_type])
    return Speedups(np.array(counts, dtype=np.int64), times[0] / times)
