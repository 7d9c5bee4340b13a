"""The machines of a run, from its topology and configuration, and their events."""

from pathlib import Path

from artist.core.cluster import DEFAULT_POOL, CapacityEvent, Cluster, Machine
from artist.datacenter.config import MAX_MACHINES, ClusterConfig, FailureConfig
from artist.datacenter.events import events_of, machine_of, newcomers, read_events
from artist.datacenter.failures import random_failures
from artist.datacenter.shares import Shares, read_shares
from artist.errors import InputError
from netmodels.api import Topology

_MAX_FAILURES = 500_000  # some seconds and some 100 MB; more is a slip of a unit


def build_cluster(
    config: ClusterConfig, topology: Topology, largest: Shares | None = None
) -> tuple[Cluster, tuple[CapacityEvent, ...]]:
    """Return all machines that exist during a run, and their events.

    Parameters
    ----------
    largest
        For `shares=largest`: the shares; None before the jobs are known, when there is one machine.

    Raises
    ------
    InputError
        If the settings contradict each other, a machine type is unknown, or a file is invalid.
    """
    per_rack = config.machines_per_rack or topology.machines_per_rack
    if config.shares is not None:
        return _by_shares(config, topology, per_rack, largest)
    try:
        groups = config.groups(per_rack, topology.default_machine_type)
    except ValueError as error:
        problem, _, advice = str(error).partition("; ")
        raise InputError(problem, where="cluster", found=_sizes(config), allowed=advice) from None
    machines: list[Machine] = []
    for group in groups:
        field = "cluster.machines" if isinstance(config.machines, list) else "cluster.machine_type"
        machine_type = topology.machine_type(group.type, field)
        for _ in range(group.count):
            name, rack = f"m{len(machines)}", len(machines) // per_rack
            machines.append(machine_of(name, rack, machine_type, group.pool))
    if config.events is None:
        cluster = Cluster(machines, topology.default_machine_type)
        return cluster, _failures(config.failures, cluster) if config.failures else ()
    rows = read_events(config.events)
    default = topology.machine_type(config.machine_type, "cluster.machine_type")
    machines += newcomers(
        rows, {m.name for m in machines}, machines[-1].rack, default, topology, config.events
    )
    events = events_of(rows, machines, config.events)
    return Cluster(machines, topology.default_machine_type), events


def _by_shares(
    config: ClusterConfig, topology: Topology, per_rack: int, largest: Shares | None
) -> tuple[Cluster, tuple[CapacityEvent, ...]]:
    """Return the machines of each pool, one pool after another, and those that join and leave by date."""
    machine_type = topology.machine_type(config.machine_type, "cluster.machine_type")
    if isinstance(config.shares, Path):
        shares = read_shares(config.shares, max(machine_type.gpus, 1), config.shares_since, config.pools)
    else:
        shares = largest or Shares([0.0], {DEFAULT_POOL: [1]})
    shares = shares.scaled(config.scale)
    machines, events = list[Machine](), list[CapacityEvent]()
    if not 0 < sum(map(max, shares.machines.values())) <= MAX_MACHINES:
        size = f"{sum(map(max, shares.machines.values()))} machines"
        raise InputError("no cluster", where="cluster.shares", found=size, allowed=f"1 to {MAX_MACHINES}")
    for pool, counts in shares.machines.items():
        events += shares.events(pool, len(machines))
        for number in range(max(counts)):
            name, rack, present = f"m{len(machines)}", len(machines) // per_rack, number < counts[0]
            machines.append(machine_of(name, rack, machine_type, pool, present))
    cluster = Cluster(machines, topology.default_machine_type)
    events += _failures(config.failures, cluster) if config.failures else ()
    return cluster, tuple(sorted(events, key=lambda event: event.time_ns))


def _failures(config: FailureConfig, cluster: Cluster) -> tuple[CapacityEvent, ...]:
    expected = len(cluster) * config.days * 24 / (config.mtbf_h + config.repair_h)
    if expected > _MAX_FAILURES:
        size = f"about {expected:.0f} failures of {len(cluster)} machines"
        allowed = f"a larger mtbf_h or fewer days, for up to {_MAX_FAILURES} failures"
        raise InputError("too many failures", where="cluster.failures", found=size, allowed=allowed)
    return random_failures(config, cluster)


def _sizes(config: ClusterConfig) -> dict[str, object]:
    shown = config.model_dump(include={"racks", "machines", "machines_per_rack"}, exclude_none=True)
    return {f"cluster.{name}": value for name, value in shown.items()}
