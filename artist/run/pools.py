"""Pools before the run: checks that machines are in them and jobs fit, and the largest use of each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from artist.core.cluster import DEFAULT_POOL, CapacityEvent, Cluster, Machine
from artist.core.compact_jobs import templates_of
from artist.core.job import Demand, JobSpec
from artist.core.view import Signal
from artist.datacenter.build import build_cluster
from artist.datacenter.config import ClusterConfig
from artist.datacenter.gpus import gpus_of
from artist.datacenter.shares import Shares, largest_use
from artist.engine.admission import asked, ever_present, misfit
from artist.errors import InputError
from artist.policies.partitions.quotas import Quotas
from artist.workload.api import JobSource
from netmodels.api import Topology

SLURM = "artist.policies.slurm.policy.Slurm"


def check_pools(policy: object, cluster: Cluster) -> None:
    """Refuse a `pool` of the policy without machines.

    Where no machine has a named pool any name is accepted, because all machines then serve.
    """
    pool, pools = getattr(policy, "pool", ""), cluster.pools
    if isinstance(pool, str) and pool and pool not in pools and pools != {DEFAULT_POOL}:
        allowed = ", ".join(sorted(pools))
        raise InputError("no machine is in this pool", where=_field(policy), found=pool, allowed=allowed)


def _field(policy: object, name: str = "policy", of: str = "pool") -> str:
    """Return the field where a setting of a policy is: its own, or that of the policy within it."""
    fields = getattr(policy, "__dict__", {})
    return f"{name}.{of}" if of in fields or "of" not in fields else _field(fields["of"], f"{name}.of", of)


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
    there = ever_present(cluster, later)
    if callable(reach):
        what = "it can never fit the machines for training and those that they borrow"
        advice = "leave such jobs out (workload.max_gpus), or let more machines serve"
        _check_each(jobs, lambda demand: reach(there, signals, demand), what, advice)
    elif pool in cluster.pools:
        what = f"it can never fit pool {pool}, the only one that the policy serves"
        advice = f"leave such jobs out (workload.max_gpus), or {_field(policy)}=''"
        machines = [machine for machine in there if machine.pool == pool]
        _check_each(jobs, lambda demand: (demand, machines), what, advice)


def check_segments(policy: Any, jobs: Sequence[JobSpec]) -> None:
    """Refuse jobs with segments if the policy does not place by rack (`keeps_segments = False`)."""
    while "of" in getattr(policy, "__dict__", ()):
        policy = policy.of
    for job in templates_of(jobs) if not getattr(policy, "keeps_segments", True) else ():
        if job.demand.in_units and job.demand.segment > 1:
            what = f"policy {type(policy).__name__} does not place by rack, so it keeps no segments"
            allowed = "1 for all jobs (workload.segment=none), or a policy that keeps them, such as fifo"
            raise InputError(
                what, where=f"job {job.job_id!r}, segment", found=job.demand.segment, allowed=allowed
            )


def check_aligned(policy: object, jobs: Sequence[JobSpec]) -> None:
    """Refuse `align` where no job has a plan whose stages or replicas have several GPUs."""
    align = getattr(policy, "align", "none")
    if align != "none" and all(job.demand.replica_gpus < 2 for job in templates_of(jobs)):
        what = "no job has a plan with stages or replicas of several GPUs to align"
        allowed = "none, or jobs with such plans, as of workload=llm"
        raise InputError(what, where=_field(policy, of="align"), found=align, allowed=allowed)


def check_partitions(
    policy: object,
    by: str,
    cluster: Cluster,
    jobs: Sequence[JobSpec],
    later: Sequence[CapacityEvent],
    signals: Mapping[str, Signal],
) -> None:
    """Refuse a job whose partition has no machines, or which never fits those.

    Parameters
    ----------
    policy, by
        The policy in each partition, and the column that names the partition of a job.
    """
    if pool := getattr(policy, "pool", ""):
        what = "pools are partitions (cluster.partition_by), and in each the policy takes all machines"
        raise InputError(what, where=_field(policy), found=pool, allowed="''")
    pools = dict[str, list[Machine]]()
    for machine in ever_present(cluster, later):
        pools.setdefault(machine.pool, []).append(replace(machine, pool=DEFAULT_POOL))
    partitions = dict[str, list[JobSpec]]()
    for spec in templates_of(jobs):
        partitions.setdefault(getattr(spec, by), []).append(spec)
    for name, some in partitions.items():
        if name not in pools:
            what = f"its {by} has no machines"
            advice = "" if by != "vc" else "; or leave such jobs out (workload.vcs)"
            allowed = f"a pool of the cluster: {', '.join(sorted(pools))}{advice}"
            raise InputError(what, where=f"job {some[0].job_id!r}, {by}", found=name, allowed=allowed)
        what = f"it can never fit the machines of its {by}, {name}"
        advice = "leave such jobs out (workload.max_gpus), or give it more machines"
        _check_each(some, _starts_on(policy, pools[name], signals), what, advice)


def checked_quotas(quotas: Quotas, policy: object, by: str | None, cluster: Cluster) -> Quotas | None:
    """Return the limits around a policy, None if there are none; refuse those that would not hold.

    Parameters
    ----------
    by
        Column that names the partition of a job, if machines are in partitions.
    """
    if not (quotas.conf or quotas.qos or quotas.associations):
        return None
    if f"{type(policy).__module__}.{type(policy).__qualname__}" == SLURM:
        what, allowed = "this policy has limits of its own", "policy.conf, policy.associations, policy.qos"
        raise InputError(what, where="quotas", found=SLURM.rpartition(".")[2], allowed=allowed)
    if not quotas.qos and not quotas.associations:
        what, allowed = "no limits there", "files with accounts or QOS: sacctmgr dump, or show qos"
        raise InputError(what, where="quotas.conf", found=quotas.conf, allowed=allowed)
    if by is None and cluster.pools != {DEFAULT_POOL}:
        allowed = "partitions (cluster.partition_by), or machines without pools"
        raise InputError(
            "pools of machines without jobs of their own",
            where="quotas",
            found=sorted(cluster.pools),
            allowed=allowed,
        )
    return quotas


def _starts_on(
    policy: object, machines: Sequence[Machine], signals: Mapping[str, Signal]
) -> Callable[[Demand], tuple[Demand, Sequence[Machine]]]:
    """Return the demand and machines with which a job starts, of machines that are a partition."""
    reach = getattr(policy, "reach", None)
    if callable(reach):
        return lambda demand: reach(machines, signals, demand)
    return lambda demand: (demand, machines)


def _check_each(
    jobs: Sequence[JobSpec],
    start: Callable[[Demand], tuple[Demand, Sequence[Machine]]],
    what: str,
    advice: str,
) -> None:
    """Refuse a job that does not fit where it starts.

    Parameters
    ----------
    start
        Returns the demand with which a job starts, and the machines on which it may, by its demand.
    """
    faults = dict[Demand, tuple[str, str]]()
    for job in templates_of(jobs):
        if job.demand not in faults:
            demand, machines = start(job.demand)
            faults[job.demand] = asked(demand), misfit(demand, machines, advice)
        request, allowed = faults[job.demand]
        if allowed:
            raise InputError(what, where=f"job {job.job_id!r}", found=request, allowed=allowed)


def sized_cluster(
    config: ClusterConfig, topology: Topology, source: JobSource
) -> tuple[Cluster, tuple[CapacityEvent, ...], Any]:
    """Return the machines and their events; with `shares=largest` as many as the jobs of a source had.

    Then also the table of the source (`artist.workload.load.read_table`), which is read once; else None.

    Raises
    ------
    InputError
        As `build_cluster`; and if the trace has no real starts, or no partitions.
    """
    from artist.workload.load import read_table  # other commands do without

    cluster, events = build_cluster(config, topology)
    if config.shares != "largest":
        return cluster, events, None
    assert config.partition_by is not None
    table = read_table(source, gpus_of(cluster, topology))
    if "started_s" not in table or np.isnan(table["started_s"]).all():
        what = "the trace does not say when its jobs started"
        allowed = "a trace with real starts (workload.columns.start_s); a FILE; null, with cluster.machines"
        raise InputError(what, where="cluster.shares", found=config.shares, allowed=allowed)
    given = [by for by in ("vc", "partition") if by in table and any(table[by])]
    if config.partition_by not in given:
        what = f"no job of the trace names its {config.partition_by}"
        allowed = " or ".join([*given, "cluster=equal, without partitions"])
        raise InputError(what, where="cluster.partition_by", found=config.partition_by, allowed=allowed)
    names = table[config.partition_by]
    shares = largest_use(names, table["gpus"], table["started_s"], table["ended_s"], cluster.largest_machine)
    wanted = config.pools or list(shares.machines)
    kept = {pool: counts for pool, counts in shares.machines.items() if pool in wanted}
    return *build_cluster(config, topology, Shares(shares.times_s, kept)), table
