"""Memory bandwidth that jobs draw: what they ask for, up to their caps, in proportion to what they hold."""

from artist.performance.api import Running


def drawn_bandwidth(machine: int, running: Running) -> dict[int, float]:
    """Return the memory bandwidth in bytes/s that each job on a machine draws there.

    A job draws its demand x its cap, on each machine the share of its GPUs (CPU-only jobs: CPUs) there; one
    without a known demand is left out.
    """
    drawn: dict[int, float] = {}
    for job in running.jobs_on(machine):
        demand = running.spec(job).demand
        if not demand.memory_bandwidth_bytes_per_s:
            continue
        allocation = running.allocation(job)
        here = next(s for s in allocation.slices if s.machine == machine)
        share = here.gpus / demand.gpus if demand.gpus else here.cpus / max(demand.cpus, 1)
        drawn[job] = demand.memory_bandwidth_bytes_per_s * allocation.bandwidth_cap * share
    return drawn
