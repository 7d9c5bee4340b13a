"""Scaling: how many workers beyond their base demand elastic jobs get. For Lyra and the schemes beside it.

A policy takes the name of a shipped rule, or a rule of the user's own. Workers are counted in steps of the
demand: on GPUs that are worth half, one of a fungible job takes twice the GPUs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import accumulate
from math import ceil
from typing import Annotated, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import PlainValidator

from artist.core.cluster import Allocation, Cluster, Slice
from artist.core.job import Demand
from artist.core.view import ClusterView, JobColumns
from artist.errors import PlanError
from artist.policies.parts.knapsack import multiple_choice
from artist.policies.parts.parameters import check_part, class_name

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
GpusByType = tuple[tuple[str, int], ...]  # (type, GPUs) in order of type
_TOLERANCE = 1e-9  # worths such as 1/3 are not exact in binary


class Growing(NamedTuple):
    """An elastic job that holds its base demand, on GPUs of one type.

    Attributes
    ----------
    job
        Its number.
    held
        Workers that it holds now beyond its base demand.
    base_ns
        Believed time of the rest of its work at base demand.
    gpus
        GPUs of 1, 2, ... workers more than its base demand, up to the most it may have, shape (most,).
    reduction_ns
        By how much these shorten `base_ns`, shape (most,).
    """

    job: int
    held: int
    base_ns: float
    gpus: Ints
    reduction_ns: Floats


class Scaling(Protocol):
    """A rule that says how many workers beyond base demand jobs get."""

    def extra(self, capacity: int, jobs: Sequence[Growing], *, pending: bool) -> list[int]:
        """Return the workers of each job beyond its base demand, those that it holds included.

        Parameters
        ----------
        capacity
            GPUs that they may take together: idle ones, and those that they hold beyond base demand.
        jobs
            On GPUs of one type, in order of arrival.
        pending
            Whether a job waits for its base demand.
        """


@dataclass(frozen=True, slots=True)
class ShippedScaling:
    """A shipped rule, as a function of capacity, jobs and whether a job waits.

    Attributes
    ----------
    heeds_pending
        Whether it matters to the rule that a job waits.
    """

    rule: Callable[[int, Sequence[Growing], bool], list[int]]
    heeds_pending: bool = False

    def extra(self, capacity: int, jobs: Sequence[Growing], *, pending: bool) -> list[int]:
        """Return the workers of each job beyond its base demand."""
        return self.rule(capacity, jobs, pending)


def _knapsack(capacity: int, jobs: Sequence[Growing], pending: bool) -> list[int]:
    """Shorten the rest of all jobs together as much as can be; ties as in `multiple_choice`.

    Source: Lyra, section 5.2, phase two.
    """
    return [item + 1 for item in multiple_choice(capacity, [(j.gpus, j.reduction_ns) for j in jobs])]


def _marginal_gain(capacity: int, jobs: Sequence[Growing], pending: bool) -> list[int]:
    """Give one worker at a time to the job that gains most throughput per GPU; ties to the earlier job.

    Throughput is relative to that of the job at base demand, since iterations of several models have no
    common unit. A job whose next worker does not fit, or would slow it down, gets no more.

    Source: Hwang et al., AFS, NSDI 2021, as Lyra, section 7.1, has it: base demands are given first.
    """
    extra = [0] * len(jobs)
    gains = [_gains_per_gpu(job) for job in jobs]
    heap = [(-of_job[0], place) for place, of_job in enumerate(gains) if of_job]
    heapify(heap)
    while heap:
        gain, place = heappop(heap)
        gpus, count = jobs[place].gpus, extra[place]
        more = int(gpus[count] - gpus[count - 1]) if count else int(gpus[0])
        if more > capacity or gain >= 0:
            continue
        capacity -= more
        extra[place] = count + 1
        if count + 1 < len(gpus):
            heappush(heap, (-gains[place][count + 1], place))
    return extra


def _gains_per_gpu(job: Growing) -> list[float]:
    """Return the throughput that each worker adds, over that at base demand, for each of its GPUs."""
    if not job.base_ns:
        return [0.0] * len(job.gpus)
    throughput = job.base_ns / (job.base_ns - job.reduction_ns)
    more_gpus = np.maximum(np.diff(job.gpus, prepend=0), 1)
    gains: list[float] = (np.diff(throughput, prepend=1.0) / more_gpus).tolist()
    return gains


def _idle(capacity: int, jobs: Sequence[Growing], pending: bool) -> list[int]:
    """Let jobs have all they may, in order of arrival, but none anything while a job waits.

    Source: Gandiva, as Lyra, section 7.1, has it.
    """
    extra = []
    for job in jobs:
        count = 0 if pending else int(np.searchsorted(job.gpus, capacity, side="right"))
        extra.append(count)
        capacity -= int(job.gpus[count - 1]) if count else 0
    return extra


def _none(capacity: int, jobs: Sequence[Growing], pending: bool) -> list[int]:
    """Leave all jobs at base demand."""
    return [0] * len(jobs)


SCALINGS: Mapping[str, Scaling] = {
    "knapsack": ShippedScaling(_knapsack),  # Lyra
    "marginal_gain": ShippedScaling(_marginal_gain),  # AFS
    "idle": ShippedScaling(_idle, heeds_pending=True),  # Gandiva
    "none": ShippedScaling(_none),
}
AnyScaling = Annotated[str | Scaling, PlainValidator(lambda value: check_part(value, SCALINGS, "extra"))]


class OwnScaling:
    """A rule of the user's own, whose answers are checked."""

    def __init__(self, scaling: Scaling) -> None:
        self._scaling = scaling

    def extra(self, capacity: int, jobs: Sequence[Growing], *, pending: bool) -> list[int]:
        """Return the workers of each job beyond its base demand.

        Raises
        ------
        PlanError
            If there are not as many as jobs, a job gets more than it may have, or all more than there is.
        """
        found = list(self._scaling.extra(capacity, jobs, pending=pending))
        if len(found) != len(jobs):
            raise self._wrong(f"{len(found)} numbers for {len(jobs)} jobs")
        for job, count in zip(jobs, found, strict=True):
            if not (isinstance(count, int | np.integer) and 0 <= count <= len(job.gpus)):
                raise self._wrong(f"{count!r} workers for job {job.job}, 0 to {len(job.gpus)} are allowed")
        gpus = sum(int(job.gpus[count - 1]) for job, count in zip(jobs, found, strict=True) if count)
        if gpus > capacity:
            raise self._wrong(f"workers of {gpus} GPUs, {capacity} are there")
        return [int(count) for count in found]

    def _wrong(self, what: str) -> PlanError:
        return PlanError(f"scaling {class_name(self._scaling)}: extra returned {what}")


def scaling_of(scaling: str | Scaling) -> Scaling:
    """Return a shipped rule by name, one of the user's own with its answers checked."""
    return SCALINGS[scaling] if isinstance(scaling, str) else OwnScaling(scaling)


def counts_from(demand: Demand, *, requested: bool) -> range:
    """Return the GPUs of an elastic job from its base demand up, in those that `Demand.gpus` holds for.

    Parameters
    ----------
    requested
        Whether the base demand is what the job asks for, the next lower count that it may have; else the
        least that it may have.
    """
    counts = demand.targets()
    if not requested:
        return counts
    return counts[max(0, (demand.gpus - counts.start) // counts.step) :]


def steps_on(demand: Demand, counts: range, base_worth: float, worth: float) -> tuple[int, ...]:
    """Return the GPUs of a worth that 0, 1, 2, ... extra workers of an elastic job take.

    Parameters
    ----------
    counts
        GPUs from the base demand up, in those that the demand is given for.
    base_worth
        Worth of the GPUs that the base workers hold, together.
    """
    if not demand.fungible:
        return tuple(count - counts[0] for count in counts)
    needs = (count * demand.measured_worth - base_worth for count in counts)
    return tuple(max(0, ceil(need / worth - _TOLERANCE)) for need in needs)


class _Known(NamedTuple):
    """What is remembered of all jobs of one demand and model on GPUs of one type, or of two.

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
    """What is remembered of jobs that were asked about together.

    Attributes
    ----------
    jobs, bases, gpus, base
        Jobs, what their base workers hold, and what `_Known` has of them.
    slices
        Where what they save is in `saved`.
    saved, owner
        What all of them save, and whose it is as the place among `jobs`.
    """

    jobs: list[int]
    bases: list[GpusByType]
    gpus: list[Ints]
    base: Floats
    slices: list[slice]
    saved: Floats
    owner: Ints


class Reductions:
    """What workers beyond the base demand are worth to jobs.

    The value of workers is the reduction of the believed time of the rest of the job's work against that at
    base demand (Lyra, section 5.2, where it is that of the whole job). How the time of an iteration depends
    on the GPUs, with what scaling loses, what mixed types do and the network costs, is asked for once for
    each demand, model and types of GPU. A policy that uses it must declare to know durations, iterations,
    models and performance.

    Parameters
    ----------
    requested
        Whether the base demand is what the job asks for; else the least that it may have.
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
            GPUs that their base workers hold; None where all of these are of the type that they grow on.
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
        there = int(cluster.gpus[cluster.of_type[gpu_type]].sum()) - held.get(gpu_type, 0)
        base_worth = sum(gpus * worth_of[kind] for kind, gpus in held.items())
        steps = steps_on(demand, counts, base_worth, worth_of[gpu_type])
        more = [gpus for gpus in steps[1:] if gpus <= there]
        times = _times(view, job, held, gpu_type, more)
        column = view.columns([job])
        ratios = times * (float(column.iterations[0]) / float(column.ideal_ns[0]))
        return _Known(float(ratios[0]), np.array(more, dtype=np.int64), ratios[0] - ratios[1:])


def _times(view: ClusterView, job: int, held: Mapping[str, int], gpu_type: str, more: list[int]) -> Ints:
    """Return the iteration times of a job on what it holds by type, and on so many more of one type."""
    cluster, performance = view.cluster, view.performance
    if list(held) == [gpu_type]:
        counts = [held[gpu_type] + gpus for gpus in [0, *more]]
        return performance.at_gpus(job, counts, cluster.type_sets[gpu_type])
    had = held.get(gpu_type, 0)
    places = [_mixed(cluster, {**held, gpu_type: had + gpus}) for gpus in [0, *more]]
    return performance.alone([job] * len(places), places)


def _mixed(cluster: Cluster, gpus: Mapping[str, int]) -> Allocation:
    """Return so many GPUs of each type, on the first machines that have it."""
    slices = []
    for gpu_type, left in gpus.items():
        for number in np.flatnonzero(cluster.of_type[gpu_type]).tolist():
            machine = cluster.machines[number]
            taken = min(left, machine.gpus)
            if taken:
                slices.append(Slice(number, taken, *machine.share(taken)))
            left -= taken
    return Allocation(tuple(sorted(slices)))
