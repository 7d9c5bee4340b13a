"""Input stall: GPUs wait for samples that CPUs prepare and storage delivers (Synergy, sections 2.1, 3.1).

A model may also say that CPUs beyond those that its GPUs need slow it down, and that it needs few on each of
several machines (CODA, section IV-B).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from artist.core.arrays import Floats, Ints
from artist.core.cluster import Allocation, Cluster, Machine, Slice
from artist.core.job import JobSpec
from artist.errors import InputError
from artist.performance.effects.compute import Compute
from artist.performance.formulas.input_rate import Sensitivity
from artist.units import BYTES_PER_GIB

Parts = Sequence[float] | None
MeasuredWith = Literal["share", "request"] | Machine

MIN_RATE = 0.01
"""Rate of a job that pages because its processes have too little memory, or has no CPUs (ASSUMPTION)."""


class InputStall:
    """Time of an iteration to prepare and fetch samples beyond its compute.

    The samples of an iteration are the same on any GPUs, so preparing them takes as long on faster ones,
    which wait longer. Each GPU takes an equal part of them (with several GPU types at full speed, a part by
    speed), so the slice that is fed slowest decides. A job's cache is spread over all its machines (MinIO
    partitions it), and storage delivers in proportion to GPUs.

    Parameters
    ----------
    models
        Effect of CPUs and memory, by the name of the model.
    compute
        How compute scales.
    measured_with
        Whether run times hold for the share of CPUs and memory that goes with a job's GPUs, on the cluster's
        own machines or on others like the one given, or for those that the job asks for.
    """

    part = "input_stall_ns"

    def __init__(
        self,
        models: Mapping[str, Sensitivity],
        compute: Compute,
        measured_with: MeasuredWith = "share",
    ) -> None:
        self.models = models
        self.compute = compute
        self.measured_with = measured_with

    def ns(self, spec: JobSpec, allocation: Allocation, cluster: Cluster, compute_ns: int) -> int:
        """Return the time that an iteration waits for input, in ns; 0 for a CPU-only job.

        Also 0 for a member of a group: its members are fed together (`artist.performance.couplings.feeding`).
        """
        if allocation.group is not None or not spec.model or not spec.demand.gpus:
            return 0
        waits_ns = max(0, self.input_ns(spec, allocation, cluster) - compute_ns)
        known = self.models[spec.model]
        if not known.beyond:
            return waits_ns
        eaten, parts = _eaten(known, spec, allocation, compute_ns), self.compute.parts(allocation, cluster)
        times = known.dragged(_spare(known, allocation.slices, parts, eaten))
        return max(waits_ns, round(compute_ns * times) - compute_ns)

    def input_ns(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> int:
        """Return the time to prepare and fetch the samples of an iteration; 0 for a CPU-only job."""
        demand = spec.demand
        if not spec.model or not demand.gpus:
            return 0
        rate = self.rate(spec.model, allocation, cluster)
        return round(spec.compute_ns * (demand.gpus * demand.measured_speed / (allocation.gpus * rate)))

    def on_grid(
        self,
        spec: JobSpec,
        allocation: Allocation,
        cluster: Cluster,
        compute_ns: int,
        cpus: Ints,
        memory_bytes: Ints,
    ) -> Ints:
        """Return `ns` with other CPUs and memory in all, in ns."""
        shape = np.broadcast_shapes(cpus.shape, memory_bytes.shape)
        demand = spec.demand
        if not spec.model or not demand.gpus:
            return np.zeros(shape, dtype=np.int64)
        rate = self.rate_on_grid(spec.model, allocation, cluster, cpus, memory_bytes)
        factor = demand.gpus * demand.measured_speed / (allocation.gpus * rate)
        input_ns = np.rint(spec.compute_ns * factor).astype(np.int64)
        waits_ns: Ints = np.maximum(0, input_ns - compute_ns)
        known = self.models[spec.model]
        if not known.beyond:
            return waits_ns
        eaten, parts = _eaten(known, spec, allocation, compute_ns), self.compute.parts(allocation, cluster)
        times = known.dragged_on_grid(_spare_on_grid(known, allocation, parts, eaten, cpus))
        dragged_ns = np.rint(compute_ns * times).astype(np.int64) - compute_ns
        return np.maximum(waits_ns, dragged_ns)

    def rate(self, model: str, allocation: Allocation, cluster: Cluster) -> float:
        """Return the lowest input rate of a GPU, relative to the consumption of a reference GPU."""
        known = self.models[model]
        return known.speed * _rate(known, allocation.slices, self.compute.parts(allocation, cluster))

    def rate_on_grid(
        self, model: str, allocation: Allocation, cluster: Cluster, cpus: Ints, memory_bytes: Ints
    ) -> Floats:
        """Return `rate` with other CPUs and memory in all."""
        known, parts = self.models[model], self.compute.parts(allocation, cluster)
        return known.speed * _rate_on_grid(known, allocation, parts, cpus, memory_bytes)

    def as_measured(
        self, model: str, gpus: int, measured_speed: float, machine: Machine, asked: tuple[int, int] = (0, 0)
    ) -> float:
        """Return time / compute time of a job of a model with the CPUs and memory that run times hold for.

        Parameters
        ----------
        gpus
            Of the job, on as few machines as possible.
        measured_speed
            Of these GPUs.
        machine
            Each of these machines, if run times hold for no others.
        asked
            CPUs and bytes of memory that the job asks for, 0 for those that go with its GPUs; they matter
            if run times hold for them.

        Raises
        ------
        InputError
            If these are less than a CPU on each machine, or less memory than its processes need.
        """
        if not model or not gpus:
            return 1.0
        known = self.models[model]
        if self.measured_with != "request":
            asked = (0, 0)
        if isinstance(self.measured_with, Machine):
            machine = self.measured_with
        slices = _held(gpus, machine, *asked)
        rate = _rate(known, slices, None)
        if rate <= MIN_RATE:
            raise _too_little(known, model, gpus, machine, asked, slices)
        spare = _spare(known, slices, None, measured_speed / known.speed) if known.beyond else 0.0
        return max(known.dragged(spare), measured_speed / (known.speed * rate))


def _held(gpus: int, machine: Machine, cpus: int, memory_bytes: int) -> list[Slice]:
    """Return the slices of a job's demand, 0 for its share, on as few machines as possible."""
    pairs = (cpus, machine.cpus), (memory_bytes, machine.memory_bytes)
    beside = [max(has * gpus // asked, 1) for asked, has in pairs if asked]
    counts = replace(machine, gpus=min([machine.gpus, *beside])).fewest(gpus)
    spread = Allocation(tuple(Slice(0, n) for n in counts)).with_resources(cpus, memory_bytes).slices
    shares = [machine.share(n) for n in counts]
    return [
        Slice(0, s.gpus, s.cpus if cpus else share[0], s.memory_bytes if memory_bytes else share[1])
        for s, share in zip(spread, shares, strict=True)
    ]


def _too_little(
    known: Sensitivity,
    model: str,
    gpus: int,
    machine: Machine,
    asked: tuple[int, int],
    slices: Sequence[Slice],
) -> InputError:
    """Return the error for a job that starves of input with the resources of its run time."""
    least = min(slices, key=lambda s: (s.memory_bytes >= known.needs(s.gpus), s.cpus / s.gpus))
    has, needs = (n / BYTES_PER_GIB for n in (least.memory_bytes, known.needs(least.gpus)))
    problem = f"{least.cpus} CPUs and {has:g} GiB go with {least.gpus} GPUs of a job of {model}"
    if any(asked):
        what, where = "a job asks for too little input", "performance.measured_with"
        problem += f", which asks for {asked[0]} CPUs and {asked[1]} bytes of memory for {gpus} GPUs"
        allowed = f"at least a CPU on each machine, and {needs:g} GiB for these; or share"
    else:
        what, where = f"machines of type {machine.type} starve jobs of input", "performance.sensitivity"
        allowed = f"at least a CPU for each GPU, and {needs:g} GiB for these; or null, so that jobs need none"
    return InputError(what, where=where, found=problem, allowed=allowed)


def cpu_counts(model: Sensitivity, slices: Sequence[Slice]) -> Parts:
    """Return the CPUs that each CPU of a slice counts for; None for one (`Sensitivity.counts`)."""
    if not model.across or len(slices) < 2 or sum(s.gpus > 0 for s in slices) < 2:
        return None
    return [model.counts(s.gpus) for s in slices]


def _rate(model: Sensitivity, slices: Sequence[Slice], parts: Parts) -> float:
    """Return the rate at which the GPUs of a job are fed, for the slowest of them."""
    cache_bytes, most, rate, counts = 0, 1.0, float("inf"), cpu_counts(model, slices)
    for place, s in enumerate(slices):
        if not s.gpus:
            continue
        spare = s.memory_bytes - model.needs(s.gpus)
        if spare < 0:
            return MIN_RATE
        cache_bytes += spare
        cpus = s.cpus / s.gpus
        if counts is not None:
            cpus *= counts[place]
        prepared = model.prepared(cpus)
        if parts is not None:
            prepared /= parts[place]
            most = max(most, parts[place])
        rate = min(rate, prepared)
    return max(MIN_RATE, min(rate, model.fetched(cache_bytes) / most))


def _rate_on_grid(
    model: Sensitivity, allocation: Allocation, parts: Parts, cpus: Ints, memory_bytes: Ints
) -> Floats:
    """Return `_rate` for each of many CPUs and bytes in all, spread as in `Allocation.with_resources`."""
    total, before, most, counts = allocation.gpus, 0, 1.0, cpu_counts(model, allocation.slices)
    cache_bytes, paging = np.zeros_like(memory_bytes), np.zeros(memory_bytes.shape, dtype=np.bool_)
    rate: Floats = np.full(cpus.shape, np.inf)
    for place, s in enumerate(allocation.slices):
        if not s.gpus:
            continue
        upto = before + s.gpus
        here, memory = (n * upto // total - n * before // total for n in (cpus, memory_bytes))
        spare = memory - model.needs(s.gpus)
        paging |= spare < 0
        cache_bytes = cache_bytes + spare
        per_gpu = here / s.gpus
        if counts is not None:
            per_gpu = per_gpu * counts[place]
        prepared = model.prepared_on_grid(per_gpu)
        if parts is not None:
            prepared = prepared / parts[place]
            most = max(most, parts[place])
        rate = np.minimum(rate, prepared)
        before = upto
    fed = np.minimum(rate, model.fetched_on_grid(np.maximum(cache_bytes, 0)) / most)
    fed = np.maximum(MIN_RATE, np.where(paging, MIN_RATE, fed))
    return fed


def _eaten(model: Sensitivity, spec: JobSpec, allocation: Allocation, compute_ns: int) -> float:
    """Return the consumption of each GPU, relative to a measured one, at a compute time."""
    demand = spec.demand
    work_ns = spec.compute_ns * (demand.gpus * demand.measured_speed / (allocation.gpus * model.speed))
    return work_ns / compute_ns


def _spare(model: Sensitivity, slices: Sequence[Slice], parts: Parts, eaten: float) -> float:
    """Return the CPUs per GPU beyond those that the GPUs need, on the machine with most of them."""
    needed = _needed(model, slices, parts, eaten)
    return max(s.cpus / s.gpus - need for s, need in zip(slices, needed, strict=True) if s.gpus)


def _spare_on_grid(
    model: Sensitivity, allocation: Allocation, parts: Parts, eaten: float, cpus: Ints
) -> Floats:
    """Return `_spare` for each of many CPUs in all, spread as in `Allocation.with_resources`."""
    total, before = allocation.gpus, 0
    spare: Floats = np.full(cpus.shape, -np.inf)
    needed = _needed(model, allocation.slices, parts, eaten)
    for s, need in zip(allocation.slices, needed, strict=True):
        if s.gpus:
            upto = before + s.gpus
            held = (cpus * upto // total - cpus * before // total) / s.gpus
            spare = np.maximum(spare, held - need)
            before = upto
    return spare


def _needed(model: Sensitivity, slices: Sequence[Slice], parts: Parts, eaten: float) -> list[float]:
    """Return the CPUs per GPU that the GPUs of each slice need."""
    counts = cpu_counts(model, slices)
    if parts is None:
        parts = [1.0] * len(slices)
    needed = [model.preparing(eaten * part) for part in parts]
    return needed if counts is None else [n / count for n, count in zip(needed, counts, strict=True)]
