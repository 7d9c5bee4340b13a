"""Memory bandwidth that jobs draw: what they ask for, up to their caps, in proportion to what they hold."""

from artist.performance.api import Running


def drawn_bandwidth(machine: int, running: Running) -> dict[int, float]:
    """Return the memory bandwidth in bytes/s that each job on a machine draws there.

    A job draws its demand x its cap, on each machine the share of the GPUs asked for (fungible jobs: held,
    CPU-only jobs: of the CPUs asked for) that it has there; one without a known demand is left out.
    """
    drawn: dict[int, float] = {}
    for job in running.jobs_on(machine):
        demand = running.spec(job).demand
        if not demand.memory_bandwidth_bytes_per_s:
            continue
        allocation = running.allocation(job)
        here = next(s for s in allocation.slices if s.machine == machine)
        if demand.gpus:
            share = here.gpus / (allocation.gpus if demand.fungible else demand.gpus)
        else:
            share = here.cpus / max(demand.cpus, 1)
        drawn[job] = demand.memory_bandwidth_bytes_per_s * allocation.bandwidth_cap * share
    return drawn
