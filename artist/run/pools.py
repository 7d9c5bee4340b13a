"""Checks before the run: the pools that a policy names exist, and every job fits them."""

from collections.abc import Mapping, Sequence

from artist.core.cluster import DEFAULT_POOL, CapacityEvent, Cluster
from artist.core.job import Demand, JobSpec
from artist.core.view import Signal
from artist.engine.admission import asked, ever_present, misfit
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
    """Refuse a job that fits the cluster, but never the machines on which the policy would start it.

    Those are the machines of its `pool`, or of its method `reach`, with the demand that the job starts with.
    """
    pool, reach = getattr(policy, "pool", ""), getattr(policy, "reach", None)
    if not (callable(reach) or pool in cluster.pools):
        return
    there, faults = ever_present(cluster, later), dict[Demand, tuple[str, str]]()
    what = f"it can never fit pool {pool}, the only one that the policy serves"
    advice = f"leave such jobs out (workload.max_gpus), or {_field(policy)}=''"
    if callable(reach):
        what = "it can never fit the machines for training and those that they borrow"
        advice = "leave such jobs out (workload.max_gpus), or let more machines serve"
    for job in jobs:
        demand = job.demand
        if demand not in faults:
            start, machines = demand, [machine for machine in there if machine.pool == pool]
            if callable(reach):
                start, machines = reach(there, signals, demand)
            faults[demand] = asked(start), misfit(start, machines, advice)
        request, allowed = faults[demand]
        if allowed:
            raise InputError(what, where=f"job {job.job_id!r}", found=request, allowed=allowed)
