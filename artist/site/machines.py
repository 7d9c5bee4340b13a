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


def with_slurm(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration of `policy=slurm` with values of the files of `policy.conf` where it has null.

    Nodes become `cluster.machines` and leaf switches racks, unless the cluster has a size.

    Raises
    ------
    InputError
        As `SlurmConf`; and if the topology lacks the GPUs of a node, or the policy ignores the switches.
    """
    policy = dict(config["policy"])
    conf = SlurmConf(_paths(policy["conf"]))
    policy |= {name: value for name, value in conf.policy.items() if policy.get(name) is None}
    policy["conf"] = [str(file) for file in conf.files]
    filled = {**config, "policy": policy}
    if conf.nodes and all(config["cluster"].get(size) is None for size in _SIZES):
        if policy.get("TopologyPlugin") == "topology/tree" and not conf.is_tree:
            allowed = "leaf switches with one switch above them; or policy.TopologyPlugin=topology/none"
            what = "switches that the policy does not follow"
            raise InputError(what, where=policy["conf"][0], found="topology/tree", allowed=allowed)
        filled |= _with_machines(conf, config)
    return filled


def files_of(conf: object) -> list[Path]:
    """Return all files that are read for a value of `policy.conf`."""
    return read_lines(_paths(conf))[1]


def _paths(conf: object) -> list[Path]:
    paths = [conf] if isinstance(conf, str) else conf
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        allowed = "a path, or a list of paths"
        raise InputError("wrong value", where="policy.conf", found=conf, allowed=allowed)
    return [Path(path).expanduser() for path in paths]


def _with_machines(conf: SlurmConf, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cluster, and the topology with the machine types that it lacks."""
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
        rows.append((name, kind, rack))
    groups = []
    for (kind, rack), alike in groupby(rows, key=lambda row: row[1:]):
        members = [name for name, *_ in alike]
        groups.append({"type": kind, "count": len(members), "names": members, "rack": rack})
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
