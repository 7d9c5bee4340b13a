"""Memory bandwidth that jobs draw: the demand of a job or its model, up to its cap."""

from collections.abc import Mapping

from artist.core.cluster import Allocation, Slice
from artist.core.job import JobSpec
from artist.performance.api import Running
from artist.performance.formulas.input_rate import Sensitivity

Models = Mapping[str, Sensitivity]


def drawn_bandwidth(machine: int, running: Running, models: Models | None = None) -> dict[int, float]:
    """Return the memory bandwidth in bytes/s that each job on a machine draws there.

    A job without a known demand is left out.

    Parameters
    ----------
    models
        Draw of one GPU of a job without a demand of its own, by the name of its model; None for nothing.
    """
    drawn: dict[int, float] = {}
    for job in running.jobs_on(machine):
        spec = running.spec(job)
        if spec.demand.memory_bandwidth_bytes_per_s or (models and spec.demand.gpus and spec.model):
            allocation = running.allocation(job)
            rate = drawn_by(spec, allocation, slice_on(allocation, machine), models)
            if rate:
                drawn[job] = rate
    return drawn


def drawn_by(spec: JobSpec, allocation: Allocation, here: Slice, models: Models | None) -> float:
    """Return the memory bandwidth in bytes/s that a job draws on one of its machines.

    Its demand x its cap x its share on each machine of the GPUs asked for (fungible jobs: held, CPU-only
    jobs: of the CPUs asked for). Without a demand of its own, its model's demand x cap x GPUs there, whatever
    their speed and the CPUs beside them (ASSUMPTION).

    Parameters
    ----------
    here
        Its allocation there.
    """
    demand = spec.demand
    whole = demand.memory_bandwidth_bytes_per_s
    if not whole:
        per_gpu = models[spec.model].memory_bandwidth_bytes_per_s if models and spec.model else 0
        return here.gpus * per_gpu * allocation.bandwidth_cap
    if demand.gpus:
        share = here.gpus / (allocation.gpus if demand.fungible else demand.gpus)
    else:
        share = here.cpus / max(demand.cpus, 1)
    return whole * allocation.bandwidth_cap * share


def slice_on(allocation: Allocation, machine: int) -> Slice:
    """Return the slice of an allocation on one of its machines."""
    slices = allocation.slices
    return slices[0] if len(slices) == 1 else next(s for s in slices if s.machine == machine)
