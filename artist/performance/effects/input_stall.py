"""Input stall: GPUs wait for samples that CPUs prepare and storage delivers (Synergy, sections 2.1, 3.1)."""

from collections.abc import Mapping, Sequence

import numpy as np

from artist.core.cluster import Allocation, Cluster, Machine, Slice
from artist.core.job import JobSpec
from artist.errors import InputError
from artist.performance.api import Ints
from artist.performance.effects.compute import Compute
from artist.performance.formulas.input_rate import Floats, Sensitivity
from artist.units import BYTES_PER_GIB

Parts = Sequence[float] | None

LEAST_RATE = 0.01
"""Rate of a job that pages, its processes having too little memory, and of one without CPUs (ASSUMPTION)."""


class InputStall:
    """What an iteration takes to prepare and fetch beyond its compute.

    The samples of an iteration are the same on any GPUs, so they take as long on faster ones, which wait the
    more. Each GPU takes an equal part of them (of several GPU types that each compute as fast as they can, a
    part by speed), so the slice that is fed slowest decides. A job's cache is on all its machines together
    (MinIO partitions it), and storage delivers in proportion to GPUs.

    Parameters
    ----------
    models
        What CPUs and memory do, by the name of the model.
    compute
        How compute scales.
    """

    part = "input_stall_ns"

    def __init__(self, models: Mapping[str, Sensitivity], compute: Compute) -> None:
        self.models = models
        self.compute = compute

    def ns(self, spec: JobSpec, allocation: Allocation, cluster: Cluster, compute_ns: int) -> int:
        """Return how long an iteration waits for input, in ns; 0 for a CPU-only job.

        Also 0 for a member of a group: its members are fed together (`artist.performance.couplings.feeding`).
        """
        if allocation.group is not None:
            return 0
        return max(0, self.input_ns(spec, allocation, cluster) - compute_ns)

    def input_ns(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> int:
        """Return how long it takes to prepare and fetch the samples of an iteration; 0 for a CPU-only job."""
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
        stall_ns: Ints = np.maximum(0, input_ns - compute_ns)
        return stall_ns

    def rate(self, model: str, allocation: Allocation, cluster: Cluster) -> float:
        """Return what one GPU is fed, relative to what one of the reference eats; the least of them all."""
        known = self.models[model]
        return known.speed * _rate(known, allocation.slices, self.compute.parts(allocation, cluster))

    def rate_on_grid(
        self, model: str, allocation: Allocation, cluster: Cluster, cpus: Ints, memory_bytes: Ints
    ) -> Floats:
        """Return `rate` with other CPUs and memory in all."""
        known, parts = self.models[model], self.compute.parts(allocation, cluster)
        return known.speed * _rate_on_grid(known, allocation, parts, cpus, memory_bytes)

    def at_share(self, model: str, gpus: int, measured_speed: float, machine: Machine) -> float:
        """Return time with what machines give in proportion to GPUs / compute time, for a job of a model.

        Parameters
        ----------
        gpus
            Of the job, on as few machines as can be.
        measured_speed
            Of these GPUs.
        machine
            Each of these machines.

        Raises
        ------
        InputError
            If they do not give a job a CPU on each, or the memory that its processes need.
        """
        if not model or not gpus:
            return 1.0
        known = self.models[model]
        counts = machine.fewest(gpus)
        rate = _rate(known, [Slice(0, n, *machine.share(n)) for n in counts], None)
        if rate <= LEAST_RATE:
            raise _too_little(known, model, counts[-1], machine)
        return max(1.0, measured_speed / (known.speed * rate))


def _too_little(known: Sensitivity, model: str, gpus: int, machine: Machine) -> InputError:
    """Return the error for machines whose share starves a job."""
    cpus, memory_bytes = machine.share(gpus)
    has, needs = (each / BYTES_PER_GIB for each in (memory_bytes, known.needs(gpus)))
    found = f"{cpus} CPUs and {has:g} GiB go with {gpus} GPUs of a job of {model}"
    allowed = f"at least a CPU for each GPU, and {needs:g} GiB for these; or null, so that jobs need none"
    what = f"machines of type {machine.type} starve jobs of input"
    return InputError(what, where="performance.sensitivity", found=found, allowed=allowed)


def _rate(model: Sensitivity, slices: Sequence[Slice], parts: Parts) -> float:
    """Return the rate at which the GPUs of a job are fed, for the slowest fed of them."""
    cache_bytes, most, rate = 0, 1.0, float("inf")
    for place, s in enumerate(slices):
        if not s.gpus:
            continue
        spare = s.memory_bytes - model.needs(s.gpus)
        if spare < 0:
            return LEAST_RATE
        cache_bytes += spare
        prepared = model.prepared(s.cpus / s.gpus)
        if parts is not None:
            prepared /= parts[place]
            most = max(most, parts[place])
        rate = min(rate, prepared)
    return max(LEAST_RATE, min(rate, model.fetched(cache_bytes) / most))


def _rate_on_grid(
    model: Sensitivity, allocation: Allocation, parts: Parts, cpus: Ints, memory_bytes: Ints
) -> Floats:
    """Return `_rate` of each of many CPUs and bytes in all, spread as `Allocation.with_resources` does."""
    total, before, most = allocation.gpus, 0, 1.0
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
        prepared = model.prepared_on_grid(here / s.gpus)
        if parts is not None:
            prepared = prepared / parts[place]
            most = max(most, parts[place])
        rate = np.minimum(rate, prepared)
        before = upto
    fed = np.minimum(rate, model.fetched_on_grid(np.maximum(cache_bytes, 0)) / most)
    fed = np.maximum(LEAST_RATE, np.where(paging, LEAST_RATE, fed))
    return fed
