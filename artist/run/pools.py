"""Checks before the run: the pools that a policy names exist, and every job fits them."""

from collections.abc import Mapping, Sequence

from artist.core.cluster import DEFAULT_POOL, CapacityEvent, Cluster
from artist.core.job import JobSpec
from artist.core.view import Signal
from artist.errors import InputError


def check_pools(policy: object, cluster: Cluster) -> None:
    """Refuse a `pool` of the policy without machines.

    Where no machine has a named pool any name is accepted, because all machines then serve.
    """
    pool, pools = getattr(policy, "pool", ""), cluster.pools
    if isinstance(pool, str) and pool and pool not in pools and pools != {DEFAULT_POOL}:
        allowed = ", ".join(sorted(pools))
        raise InputError("no machine is in this pool", where=_field(policy), found=pool, allowed=allowed)


def _field(policy: object, name: str = "policy") -> str:
    """Return the field where the pool of a policy is set: its own, or that of the policy within it."""
    fields = getattr(policy, "__dict__", {})
    return f"{name}.pool" if "pool" in fields or "of" not in fields else _field(fields["of"], f"{name}.of")


def check_fits(
    policy: object,
    cluster: Cluster,
    jobs: Sequence[JobSpec],
    later: Sequence[CapacityEvent],
    signals: Mapping[str, Signal],
) -> None:
    """Refuse a job that fits the cluster, but not the machines that the policy serves.

    Those are the machines of its `pool`, or of its method `reach`: its own and, for jobs of their GPU types,
    the most that it borrows. Where machines join or change pools later, only the run can decide.
    """
    pool = getattr(policy, "pool", "")
    reach = getattr(policy, "reach", None)
    if any(event.type == "join" for event in later) or not (callable(reach) or pool in cluster.pools):
        return
    owned, lent = [machine for machine in cluster.machines if machine.pool == pool], []
    what, hint = f"it can never fit pool {pool}, the only one that the policy serves", f"{_field(policy)}=''"
    if callable(reach):
        owned, lent = reach(cluster, signals)
        what, hint = "it can never fit the machines for training and those that they borrow", "fungible jobs"
    owned_types = {machine.gpu_type for machine in owned}
    room = sum(machine.gpus for machine in owned)
    for job in jobs:
        demand = job.demand
        if demand.targets()[0] <= room or demand.fungible:
            continue
        types = demand.gpu_types or owned_types
        most = room + sum(machine.gpus for machine in lent if machine.gpu_type in types)
        if demand.targets()[0] > most:
            allowed = f"up to {most} GPUs, as those have; workload.max_gpus={most}, or {hint}"
            where, request = f"job {job.job_id!r}", f"{demand.gpus} GPUs"
            raise InputError(what, where=where, found=request, allowed=allowed)
