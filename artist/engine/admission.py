"""Jobs that can never run are refused before the clock starts."""

from collections.abc import Sequence

from artist.core.cluster import Cluster
from artist.core.job import Demand, JobSpec
from artist.errors import InputError


def check_jobs(jobs: Sequence[JobSpec], cluster: Cluster) -> None:
    """Raise `InputError` for a job that is unsound or can never fit the cluster.

    Machines that join later count.
    """
    seen: set[str] = set()
    reasons: dict[Demand, str] = {}
    for spec in jobs:
        where = f"job {spec.job_id!r}"
        if spec.job_id in seen:
            raise InputError("this id is used twice", where=where, allowed="one id per job")
        seen.add(spec.job_id)
        if spec.submit_ns < 0 or spec.iterations < 1 or spec.compute_ns < 1:
            found = f"submit {spec.submit_ns} ns, {spec.iterations} iterations of {spec.compute_ns} ns"
            raise InputError(
                "not a sound job", where=where, found=found, allowed="submit >= 0, the others >= 1"
            )
        if spec.demand not in reasons:
            reasons[spec.demand] = _misfit(spec.demand, cluster)
        if reasons[spec.demand]:
            demand = spec.demand
            found = f"{demand.gpus} GPUs" if demand.gpus else f"{demand.cpus} CPUs"
            raise InputError(
                "the job can never fit the cluster", where=where, found=found, allowed=reasons[demand]
            )


def _misfit(demand: Demand, cluster: Cluster) -> str:
    """Return what is allowed where a demand cannot be met, else an empty string."""
    usable = [m for m in cluster.machines if not demand.gpu_types or m.gpu_type in demand.gpu_types]
    if not demand.gpus:
        most = sorted((m.cpus for m in cluster.machines), reverse=True)
        room = sum(most[: demand.max_machines or 1])
        return "" if 1 <= demand.cpus <= room else f"1..{room} CPUs"
    if demand.elastic and not 1 <= demand.min_gpus <= demand.gpus <= demand.max_gpus:
        return "1 <= min_gpus <= gpus <= max_gpus"
    least = demand.targets()[0]
    sizes = sorted((m.gpus * (m.speed if demand.fungible else 1) for m in usable), reverse=True)
    if demand.gpu_types or demand.mixed_types:
        pools = [sizes]
    else:
        kinds = dict.fromkeys(m.gpu_type for m in usable)
        pools = [
            sorted(
                (m.gpus * (m.speed if demand.fungible else 1) for m in usable if m.gpu_type == kind),
                reverse=True,
            )
            for kind in kinds
        ]
    most_gpus = max((sum(p[: demand.max_machines or len(p)]) for p in pools), default=0)
    if 1 <= least <= most_gpus + 1e-9:
        return ""
    limit = f" on {demand.max_machines} machines" if demand.max_machines else ""
    kinds_text = f" of type {', '.join(demand.gpu_types)}" if demand.gpu_types else ""
    return f"1..{int(most_gpus + 1e-9)} GPUs{kinds_text}{limit}; enlarge the cluster or filter the trace"
