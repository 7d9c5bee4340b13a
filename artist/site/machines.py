"""Settings of a run from the files of a site's scheduler: the policy's, and nodes as machines and racks."""

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from artist.errors import InputError
from artist.site.slurm import Node, SlurmConf
from artist.site.slurm_files import read_lines
from artist.workload.gpu_types import matching
from netmodels.api import MachineType, Topology, load_topology

_SIZES = ("racks", "machines", "shares")


def with_slurm(config: Mapping[str, Any], section: str = "policy") -> dict[str, Any]:
    """Return a configuration with values of the files of a section's `conf` where that section has none.

    Nodes become `cluster.machines` and leaf switches racks, unless the cluster has a size.

    Parameters
    ----------
    section
        `policy`, if that is Slurm's; or `quotas`, around another: limits only, and for
        `cluster.partition_by=partition` partitions as pools.

    Raises
    ------
    InputError
        As `SlurmConf`; and if the topology lacks the GPUs of a node, or the policy ignores the switches.
    """
    settings = dict(config[section])
    conf = SlurmConf(_paths(settings["conf"], f"{section}.conf"))
    names = ("qos", "associations") if section == "quotas" else conf.policy
    settings |= {
        name: conf.policy[name] for name in names if name in conf.policy and settings.get(name) is None
    }
    settings["conf"] = [str(file) for file in conf.files]
    filled = {**config, section: settings}
    if conf.nodes and all(config["cluster"].get(size) is None for size in _SIZES):
        if settings.get("TopologyPlugin") == "topology/tree" and not conf.is_tree:
            allowed = "leaf switches with one switch above them; or policy.TopologyPlugin=topology/none"
            what = "switches that the policy does not follow"
            raise InputError(what, where=settings["conf"][0], found="topology/tree", allowed=allowed)
        by_partition = section == "quotas" and config["cluster"].get("partition_by") == "partition"
        filled |= _with_machines(conf, config, _pools(conf) if by_partition else None)
    return filled


def files_of(conf: object) -> list[Path]:
    """Return all files that are read for a value of `policy.conf`."""
    return read_lines(_paths(conf))[1]


def _paths(conf: object, where: str = "policy.conf") -> list[Path]:
    paths = [conf] if isinstance(conf, str) else conf
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        allowed = "a path, or a list of paths"
        raise InputError("wrong value", where=where, found=conf, allowed=allowed)
    return [Path(path).expanduser() for path in paths]


def _pools(conf: SlurmConf) -> dict[str, str]:
    """Return the partition of each node; InputError if a node is in two."""
    pools: dict[str, str] = {}
    for one in conf.policy.get("partitions", ()):
        name, nodes = one["PartitionName"], one["Nodes"]
        for node in conf.nodes if nodes == "ALL" else nodes.split(","):
            if pools.setdefault(node, name) != name:
                allowed = (
                    "partitions without common nodes, outside policy=slurm; or cluster.partition_by=null"
                )
                where, both = f"{conf.files[0]}, {node}", f"{pools[node]}, {name}"
                raise InputError("a node in two partitions", where=where, found=both, allowed=allowed)
    return pools


def _with_machines(
    conf: SlurmConf, config: Mapping[str, Any], pools: Mapping[str, str] | None
) -> dict[str, Any]:
    """Return the cluster, with nodes in pools if any, and the topology with machine types that it lacks."""
    topology, chosen = load_topology(config["topology"]), config["cluster"].get("machine_type")
    types = dict(config["topology"]["machine_types"])
    names: dict[tuple[str, int, int, float], str] = {}
    rows, racks = [], len({*conf.leaves.values()})
    for name, node in conf.nodes.items():
        base = topology.machine_type(chosen, "cluster.machine_type") if chosen else _type_of(node, topology)
        usual = base.gpus, base.cpus, base.memory_bytes / 2**30
        facts = node.gpus, node.cpus or base.cpus, node.memory_mib / 1024 or usual[2]
        new = base.name if facts == usual else f"{base.name if node.gpus else 'cpu'}-{len(names) + 1}"
        kind = names.setdefault((base.name, *facts), new)
        if kind not in types:
            types[kind] = types[base.name] | dict(zip(("gpus", "cpus", "memory_gib"), facts, strict=True))
            types[kind] |= {} if node.gpus else {"gpu_type": ""}
        rack = conf.leaves.get(name)
        if rack is None and conf.leaves:  # on no switch: far from all others
            rack, racks = racks, racks + 1
        if pools is None or name in pools:
            rows.append((name, kind, rack, (pools or {}).get(name, "default")))
    groups = []
    for (kind, rack, pool), alike in groupby(rows, key=lambda row: row[1:]):
        members = [name for name, *_ in alike]
        groups.append({"type": kind, "count": len(members), "names": members, "rack": rack})
        groups[-1] |= {"pool": pool} if pools else {}
    return {
        "topology": {**config["topology"], "machine_types": types},
        "cluster": {**config["cluster"], "machines": groups, "machine_type": None},
    }


def _type_of(node: Node, topology: Topology) -> MachineType:
    """Return the topology's machine type with the GPUs of a node, the one that is most alike."""
    default, types = topology.machine_type(), list(topology.machine_types.values())
    if node.gpus:
        types = [one for one in types if one.gpus]
    here = list(dict.fromkeys(one.gpu_type for one in types))
    if node.gpus and node.gpu_type:
        types = [one for one in types if one.gpu_type in matching(node.gpu_type, here)]
    if not types:
        allowed = f"{', '.join(here)}, of topology {topology.name}; another topology, or for all nodes one "
        allowed += f"machine type, as in cluster.machine_type={default.name}"
        raise InputError("no such GPU", where=f"{node.where}, Gres", found=node.gpu_type, allowed=allowed)
    return max(types, key=lambda one: (one.gpus == node.gpus, one.cpus == node.cpus, one is default))
