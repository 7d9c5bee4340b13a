"""The machines of a run, from its topology and configuration, and their events."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from artist.core.cluster import DEFAULT_POOL, CapacityEvent, Cluster, Machine
from artist.datacenter.config import MAX_MACHINES, ClusterConfig
from artist.datacenter.events import events_of, machine_of, newcomers, read_events
from artist.datacenter.shares import Shares, read_shares
from artist.errors import InputError
from netmodels.api import Topology


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
    more = _more(config, [group.pool for group in groups], [group.count for group in groups])
    for group, extra in zip(groups, more, strict=True):
        field = "cluster.machines" if isinstance(config.machines, list) else "cluster.machine_type"
        machine_type = topology.machine_type(group.type, field)
        names = group.names or ()
        for place in range(group.count + extra):
            beyond = place - len(names)
            more_of = f"{names[-1]}+{beyond + 1}" if names else f"m{len(machines)}"
            name = names[place] if beyond < 0 else more_of
            rack = len(machines) // per_rack if group.rack is None else group.rack
            machines.append(machine_of(name, rack, machine_type, group.pool))
    if twice := [name for name, count in Counter(one.name for one in machines).items() if count > 1]:
        what, allowed = "two machines have one name", "different names"
        raise InputError(what, where="cluster.machines", found=twice[0], allowed=allowed)
    if config.events is None:
        return Cluster(_with_spares(machines, config.spares), topology.default_machine_type), ()
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
    elif largest is None:
        shares, config = Shares([0.0], {DEFAULT_POOL: [1]}), config.model_copy(update={"more": 0})
    else:
        shares = largest
    shares = shares.scaled(config.scale)
    pools = list(shares.machines)
    more = _more(config, pools, [max(counts) for counts in shares.machines.values()])
    shares = shares.enlarged(dict(zip(pools, more, strict=True)))
    machines, events = list[Machine](), list[CapacityEvent]()
    if not 0 < sum(map(max, shares.machines.values())) <= MAX_MACHINES:
        size = f"{sum(map(max, shares.machines.values()))} machines"
        raise InputError("no cluster", where="cluster.shares", found=size, allowed=f"1 to {MAX_MACHINES}")
    for pool, counts in shares.machines.items():
        events += shares.events(pool, len(machines))
        for number in range(max(counts)):
            name, rack, present = f"m{len(machines)}", len(machines) // per_rack, number < counts[0]
            machines.append(machine_of(name, rack, machine_type, pool, present))
    cluster = Cluster(_with_spares(machines, config.spares), topology.default_machine_type)
    return cluster, tuple(sorted(events, key=lambda event: event.time_ns))


def _more(config: ClusterConfig, pools: Sequence[str], counts: Sequence[int]) -> list[int]:
    """Return the changes of counts of machines, (n,), by `more`, in proportion to the counts."""
    changes, machines = np.zeros(len(pools), dtype=np.int64), np.array(counts, dtype=np.int64)
    for pool, change in (config.more if isinstance(config.more, dict) else {"": config.more}).items():
        rows = np.flatnonzero([pool in ("", name) for name in pools])
        if pool and not len(rows):
            allowed = f"a pool of the cluster: {', '.join(dict.fromkeys(pools))}"
            raise InputError("no such pool", where="cluster.more", found=pool, allowed=allowed)
        whole, rest = np.divmod(abs(change) * machines[rows], max(int(machines[rows].sum()), 1))
        whole[np.argsort(-rest, kind="stable")[: abs(change) - int(whole.sum())]] += 1
        changes[rows] += np.sign(change) * whole
    for pool, count, change in zip(pools, counts, changes.tolist(), strict=True):
        if 0 < count <= -change:
            found = f"{-change} of the {count} machines of {pool}"
            raise InputError("no machine would be left", where="cluster.more", found=found, allowed="fewer")
    return [int(change) for change in changes]


def _with_spares(machines: list[Machine], spares: int) -> list[Machine]:
    """Return machines of which the last ones of each rack are spares: absent at first; one is never spare."""
    sizes, seen = Counter(machine.rack for machine in machines), Counter[int]()
    if spares >= max(sizes.values()):
        allowed = f"fewer than the {max(sizes.values())} machines of the largest rack"
        raise InputError("no machine would serve", where="cluster.spares", found=spares, allowed=allowed)
    placed = []
    for machine in machines:
        serves = seen[machine.rack] < max(1, sizes[machine.rack] - spares)
        placed.append(replace(machine, present=machine.present and serves))
        seen[machine.rack] += 1
    return placed


def _sizes(config: ClusterConfig) -> dict[str, object]:
    shown = config.model_dump(include={"racks", "machines", "machines_per_rack"}, exclude_none=True)
    return {f"cluster.{name}": value for name, value in shown.items()}
