"""Reductions of the remaining time of elastic jobs by extra workers, as a policy believes. For Lyra."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from artist.core.arrays import Floats, Ints
from artist.core.cluster import Allocation, Cluster
from artist.core.job import Demand
from artist.core.view import ClusterView, JobColumns
from artist.policies.lyra.scaling import Growing
from artist.policies.parts.base_demand import counts_from, steps_on

GpusByType = tuple[tuple[str, int], ...]  # (type, GPUs) in order of type


class _Known(NamedTuple):
    """Known times of all jobs of one demand and model on GPUs of one type, or of two.

    Attributes
    ----------
    base
        Time of the work at base demand / time on the GPUs asked for, without communication.
    gpus
        As in `Growing`, shape (most,).
    saved
        `Growing.reduction_ns` / the believed time on the GPUs asked for, shape (most,).
    """

    base: float
    gpus: Ints
    saved: Floats


class _Jobs(NamedTuple):
    """Known reductions of jobs that were asked about together.

    Attributes
    ----------
    jobs, bases, gpus, base
        Jobs, the GPUs of their base workers, and their values in `_Known`.
    slices
        The part of each in `saved`.
    saved, owner
        Times that all of them save, and the owner of each as an index into `jobs`.
    """

    jobs: list[int]
    bases: list[GpusByType]
    gpus: list[Ints]
    base: Floats
    slices: list[slice]
    saved: Floats
    owner: Ints


class Reductions:
    """Value of workers beyond the base demand to jobs.

    The value of workers is the reduction of the believed time of the job's remaining work relative to base
    demand (Lyra, section 5.2, where it is that of the whole job). The iteration time by
    GPUs, including scaling losses, mixed types and the network, is asked for once for each demand, model and
    GPU types. A policy that uses it must declare to know durations, iterations, models and performance.

    Parameters
    ----------
    requested
        Whether the base demand is the GPUs that the job asks for; else its minimum.
    """

    def __init__(self, *, requested: bool = False) -> None:
        self._requested = requested
        self._known: dict[tuple[Demand, str, str, GpusByType], _Known] = {}
        self._last: dict[str, _Jobs] = {}  # by type of GPU

    def growing(
        self,
        view: ClusterView,
        gpu_type: str,
        jobs: Sequence[int],
        held: Sequence[int],
        bases: Sequence[GpusByType] | None = None,
    ) -> list[Growing]:
        """Return elastic jobs as they may grow on GPUs of a type.

        Parameters
        ----------
        jobs, held
            Jobs, and the workers beyond base demand that they hold now.
        bases
            GPUs that their base workers hold; None if all of these are of the type that they grow on.
        """
        if not jobs:
            return []
        columns = view.columns(jobs)
        last = self._last.get(gpu_type)
        bases = list(bases or [()] * len(jobs))
        if last is None or last.jobs != jobs or last.bases != bases:
            last = self._last[gpu_type] = self._together(view, columns, gpu_type, bases)
        left_ns = columns.remaining_ns.astype(np.float64)
        saved = left_ns[last.owner] * last.saved
        parts = [saved[part] for part in last.slices]
        return list(map(Growing, jobs, held, (left_ns * last.base).tolist(), last.gpus, parts))

    def _together(
        self, view: ClusterView, columns: JobColumns, gpu_type: str, bases: list[GpusByType]
    ) -> _Jobs:
        jobs, models = columns.job.tolist(), columns.model.tolist()
        known = [
            self._of(view, job, model, gpu_type, base)
            for job, model, base in zip(jobs, models, bases, strict=True)
        ]
        sizes = [len(k.gpus) for k in known]
        slices = [slice(end - size, end) for size, end in zip(sizes, accumulate(sizes), strict=True)]
        base, saved = np.array([k.base for k in known]), np.concatenate([k.saved for k in known])
        owner = np.arange(len(jobs)).repeat(sizes)
        return _Jobs(jobs, bases, [k.gpus for k in known], base, slices, saved, owner)

    def _of(self, view: ClusterView, job: int, model: str, gpu_type: str, base: GpusByType) -> _Known:
        key = (view.demand(job), model, gpu_type, base)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._ask(view, job, gpu_type, base)
        return known

    def _ask(self, view: ClusterView, job: int, gpu_type: str, base: GpusByType) -> _Known:
        cluster, demand = view.cluster, view.demand(job)
        counts, worth_of = counts_from(demand, requested=self._requested), cluster.worth_of
        held = dict(base) or {gpu_type: demand.gpus_at(worth_of[gpu_type], counts[0])}
        there = cluster.gpus_of[gpu_type] - held.get(gpu_type, 0)
        base_worth = sum(gpus * worth_of[type_] for type_, gpus in held.items())
        steps = steps_on(demand, counts, base_worth, worth_of[gpu_type])
        more = [gpus for gpus in steps[1:] if gpus <= there]
        times = _times(view, job, held, gpu_type, more)
        column = view.columns([job])
        ratios = times * (float(column.iterations[0]) / float(column.ideal_ns[0]))
        return _Known(float(ratios[0]), np.array(more, dtype=np.int64), ratios[0] - ratios[1:])


def _times(view: ClusterView, job: int, held: Mapping[str, int], gpu_type: str, more: list[int]) -> Ints:
    """Return the iteration times of a job on its GPUs by type plus each of `more` of one type."""
    cluster, performance = view.cluster, view.performance
    if list(held) == [gpu_type]:
        counts = [held[gpu_type] + gpus for gpus in [0, *more]]
        return performance.at_gpus(job, counts, cluster.type_sets[gpu_type])
    had = held.get(gpu_type, 0)
    places = [_mixed(cluster, {**held, gpu_type: had + gpus}) for gpus in [0, *more]]
    return performance.alone([job] * len(places), places)


def _mixed(cluster: Cluster, gpus: Mapping[str, int]) -> Allocation:
    """Return an allocation of GPUs by type, on the first machines that have them."""
    slices = []
    for gpu_type, left in gpus.items():
        for machine in np.flatnonzero(cluster.of_type[gpu_type]).tolist():
            taken = min(left, cluster.machines[machine].gpus)
            if taken:
                slices.append(cluster.share(machine, taken))
            left -= taken
    return Allocation(tuple(sorted(slices)))
