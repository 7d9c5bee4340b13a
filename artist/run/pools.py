"""The pools that a policy names are there, or the run does not start."""

from collections.abc import Sequence

from artist.core.cluster import DEFAULT_POOL, CapacityEvent, Cluster
from artist.core.job import JobSpec
from artist.errors import InputError


def check_pools(policy: object, cluster: Cluster) -> None:
    """Refuse a `pool` of the policy that no machine is in.

    Where no machine has a named pool any is accepted, because all machines serve then.

    Raises
    ------
    InputError
        With the pools that there are.
    """
    pool, pools = getattr(policy, "pool", ""), cluster.pools
    if isinstance(pool, str) and pool and pool not in pools and pools != {DEFAULT_POOL}:
        allowed = ", ".join(sorted(pools))
        raise InputError("no machine is in this pool", where="policy.pool", found=pool, allowed=allowed)


def check_fits(
    policy: object, cluster: Cluster, jobs: Sequence[JobSpec], later: Sequence[CapacityEvent]
) -> None:
    """Refuse a job that the cluster has room for, but not the only pool that the policy serves.

    Where machines join or change pools later, the run itself tells.
    """
    pool = getattr(policy, "pool", "")
    if not pool or pool not in cluster.pools or any(event.kind == "join" for event in later):
        return
    room = sum(machine.gpus for machine in cluster.machines if machine.pool == pool)
    for job in jobs:
        if job.demand.targets()[0] > room and not job.demand.fungible:
            allowed = f"up to {room} GPUs, as the pool has; workload.max_gpus={room}, or policy.pool=''"
            what = f"it can never fit pool {pool}, the only one that the policy serves"
            raise InputError(
                what, where=f"job {job.job_id!r}", found=f"{job.demand.gpus} GPUs", allowed=allowed
            )
