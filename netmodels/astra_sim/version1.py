"""Input files of ASTRA-sim 1.0, the version of the Dally paper: workload, system (text), network (JSON)."""

import json
from collections.abc import Sequence

from netmodels.astra_sim.inputs import IMPLEMENTATIONS, KINDS, OPTIMIZATIONS, check_common, gib_s
from netmodels.collectives.algorithms import link_bandwidth_bytes_per_ns
from netmodels.collectives.dimensions import Level
from netmodels.fabric.system import SystemSettings
from netmodels.inputs.errors import InputError
from netmodels.profiles.layers import Profile

ARGUMENTS = (
    "--workload-configuration=workload.txt",
    "--system-configuration=system.txt",
    "--network-configuration=network.json",
    "--path=out/",
    "--run-name=iteration",
)
ANSWER = "out/EndToEnd.csv"
_POLICIES = {"lowest_layer_first": "LIFO", "issue": "FIFO"}
_TIER_CODES = {"machine": "N", "rack": "P", "network": "P"}


def check_system(profile: Profile, system: SystemSettings, levels: Sequence[Level]) -> None:
    """Refuse settings that ASTRA-sim 1.0 cannot run.

    Raises
    ------
    InputError
        With the setting, its value and the allowed values.
    """
    if system.collective_queue != "per_dimension":
        raise InputError(
            "ASTRA-sim 1.0 has a queue for each dimension",
            where="network.system.collective_queue",
            found=system.collective_queue,
            allowed="per_dimension, or a binary of ASTRA-sim 2.x",
        )
    if system.local_memory_gb_s:
        raise InputError(
            "ASTRA-sim 1.0 knows no cost of local reductions",
            where="network.system.local_memory_gb_s",
            found=system.local_memory_gb_s,
            allowed="0, or a binary of ASTRA-sim 2.x",
        )
    check_common(profile, system, levels)


def files(profile: Profile, levels: Sequence[Level], system: SystemSettings) -> dict[str, bytes]:
    """Return the files of one iteration, by name."""
    return {
        "workload.txt": workload_text(profile).encode(),
        "system.txt": system_text([system.algorithm_of(level.tier) for level in levels], system).encode(),
        "network.json": network_json(levels).encode(),
    }


def workload_text(profile: Profile) -> str:
    """Return the workload file: times in ns, sizes in bytes, one layer per line."""
    rows = [
        (
            *(f"layer{number}", -1, layer.forward_ns, "NONE", 0),
            *(layer.input_gradient_ns if number else 0, "NONE", 0),
            *(layer.weight_gradient_ns, *_collective(layer.gradient_bytes), layer.update_ns),
        )
        for number, layer in enumerate(profile.layers)
    ]
    lines = ["DATA", str(len(rows)), *("\t".join(map(str, row)) for row in rows)]
    return "\n".join(lines) + "\n"


def _collective(size: int) -> tuple[str, int]:
    return ("ALLREDUCE", size) if size else ("NONE", 0)


def system_text(algorithms: Sequence[str], system: SystemSettings) -> str:
    """Return the system file; `algorithms` has one for each dimension of the network."""
    names = "_".join(IMPLEMENTATIONS[name] for name in algorithms)
    settings = {
        "scheduling-policy": _POLICIES[system.queue_order],
        "endpoint-delay": system.endpoint_delay_ns,
        "active-chunks-per-dimension": system.chunks_in_flight,
        "preferred-dataset-splits": system.chunks,
        "boost-mode": 1,
        "all-reduce-implementation": names,
        "all-gather-implementation": names,
        "reduce-scatter-implementation": names,
        "all-to-all-implementation": names,
        "collective-optimization": OPTIMIZATIONS[system.collective_optimization],
        "intra-dimension-scheduling": "FIFO",
        "inter-dimension-scheduling": "baseline",
    }
    return "".join(f"{name}: {value}\n" for name, value in settings.items())


def network_json(levels: Sequence[Level]) -> str:
    """Return the network file. A member sends at bandwidth x links (rings: an even number of them)."""
    links = [_links(level) for level in levels]
    count = len(levels)
    network = {
        "topology-name": "Hierarchical",
        "topologies-per-dim": [KINDS[level.dimension.kind] for level in levels],
        "dimension-type": [_TIER_CODES[level.tier] for level in levels],
        "dimensions-count": count,
        "units-count": [level.members for level in levels],
        "links-count": links,
        "link-latency": [level.dimension.latency_ns for level in levels],
        "link-bandwidth": [
            gib_s(_sending(level) / (1 if level.dimension.kind == "fully_connected" else number))
            for level, number in zip(levels, links, strict=True)
        ],
        "nic-latency": [0] * count,
        "router-latency": [0] * count,
        "hbm-latency": [1] * count,
        "hbm-bandwidth": [1e6] * count,
        "hbm-scale": [0] * count,
    }
    return json.dumps(network, indent=1) + "\n"


def _sending(level: Level) -> float:
    return link_bandwidth_bytes_per_ns(level.dimension, level.members)


def _links(level: Level) -> int:
    """Return the links of a member: one to each other in a mesh, two in a ring, one at a switch."""
    return {"fully_connected": int(level.members) - 1, "ring": 2, "switch": 1}[level.dimension.kind]
