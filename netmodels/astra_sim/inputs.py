"""Input files of ASTRA-sim 2.x besides traces: system, network, remote memory. Nothing is written here.

Sources: the public formats of ASTRA-sim 2.x, and runs of its binaries.
"""

import json
from collections.abc import Sequence
from math import ceil, prod

from netmodels.astra_sim.chakra import iteration_trace, rank_traces
from netmodels.collectives.algorithms import link_bandwidth_bytes_per_ns
from netmodels.collectives.dimensions import Level
from netmodels.collectives.rank_program import RankProgram
from netmodels.fabric.system import SystemSettings
from netmodels.inputs.errors import InputError
from netmodels.profiles.layers import Profile

KINDS = {"ring": "Ring", "switch": "Switch", "fully_connected": "FullyConnected"}
IMPLEMENTATIONS = {
    "ring": "ring",
    "direct": "direct",
    "halving_doubling": "halvingDoubling",
    "double_binary_tree": "doubleBinaryTree",
}
OPTIMIZATIONS = {"bandwidth_aware": "localBWAware", "baseline": "baseline"}
REMOTE_MEMORY = '{"memory-type": "NO_MEMORY_EXPANSION"}\n'
TRACE = "iteration.et"
"""The one trace; NPU i finds it as iteration.i.et."""


def check_system(profile: Profile, system: SystemSettings, levels: Sequence[Level]) -> None:
    """Refuse settings that ASTRA-sim 2.x cannot run.

    Raises
    ------
    InputError
        With the setting, its value and the allowed values.
    """
    if system.collective_queue != "one":
        raise InputError(
            "ASTRA-sim 2.x has one queue of collectives",
            where="network.system.collective_queue",
            found=system.collective_queue,
            allowed="network.system.collective_queue=one (dally_code and dally_paper are for 1.0), "
            "or a binary of ASTRA-sim 1.0",
        )
    check_common(profile, system, levels)


def check_common(profile: Profile, system: SystemSettings, levels: Sequence[Level]) -> None:
    """Refuse settings that no version of ASTRA-sim can run.

    Raises
    ------
    InputError
        With the setting, its value and the allowed values.
    """
    if system.endpoint_delay_ns < 1:
        raise InputError(
            "ASTRA-sim stops at an endpoint delay of 0",
            where="network.system.endpoint_delay_ns",
            found=system.endpoint_delay_ns,
            allowed="a whole number from 1",
        )
    smallest = min((layer.gradient_bytes for layer in profile.layers if layer.gradient_bytes), default=0)
    for level in levels:
        name, members = system.algorithm_of(level.tier), ceil(level.members)
        least = 2 * prod(ceil(other.members) for other in levels)
        if name == "halving_doubling" and smallest // system.chunks < least:
            raise InputError(
                f"ASTRA-sim's {name} needs chunks of {least} bytes; {profile.name} sends {smallest}",
                where="network.system.chunks",
                found=system.chunks,
                allowed="fewer chunks, or network.system.collective_algorithm=ring",
            )
        if name == "double_binary_tree" and len(levels) > 2 and system.chunks > system.chunks_in_flight:
            raise InputError(
                "ASTRA-sim's trees dead-lock where chunks wait for others in three dimensions or more",
                where="network.system.chunks",
                found=system.chunks,
                allowed=f"{system.chunks_in_flight}, or equal network.system.chunks_in_flight",
            )
        if name in ("halving_doubling", "double_binary_tree") and members & (members - 1):
            raise InputError(
                f"ASTRA-sim's {name} needs a power of two, and {members} take part in the {level.tier}",
                where="network.system.collective_algorithm",
                found=name,
                allowed="ring or direct",
            )


def gib_s(bytes_per_ns: float) -> float:
    """Return a bandwidth in GB/s of ASTRA-sim 2.x, which reads it as `GB/s * 2**30 / 1e9` in byte/ns.

    In this order the program reads back exactly the same number for all round figures; a difference in the
    last place can take a message past the next whole nanosecond, in every step.
    """
    return bytes_per_ns * 1e9 / 2**30


def network_yaml(levels: Sequence[Level]) -> str:
    """Return the network file of the analytical back ends."""
    rows: dict[str, list[object]] = {
        "topology": [KINDS[level.dimension.kind] for level in levels],
        "npus_count": [level.members for level in levels],
        "bandwidth": [gib_s(link_bandwidth_bytes_per_ns(level.dimension, level.members)) for level in levels],
        "latency": [level.dimension.latency_ns for level in levels],
    }
    return "".join(f"{key}: [ {', '.join(map(str, values))} ]\n" for key, values in rows.items())


def system_json(algorithms: Sequence[str], system: SystemSettings) -> str:
    """Return the system file.

    Parameters
    ----------
    algorithms
        One of `IMPLEMENTATIONS` for each dimension of the network.
    system
        Settings of collectives.
    """
    names = [IMPLEMENTATIONS[name] for name in algorithms]
    settings: dict[str, object] = {
        "scheduling-policy": "LIFO",
        "endpoint-delay": system.endpoint_delay_ns,
        "active-chunks-per-dimension": system.chunks_in_flight,
        "preferred-dataset-splits": system.chunks,
        "all-reduce-implementation": names,
        "all-gather-implementation": names,
        "reduce-scatter-implementation": names,
        "all-to-all-implementation": names,
        "collective-optimization": OPTIMIZATIONS[system.collective_optimization],
        "boost-mode": 0,
        "roofline-enabled": 1,
        "peak-perf": 1,
        # Without a memory bandwidth there is no cost of local reduction; compute nodes ask the roofline
        # for one.
        "local-mem-bw": system.local_memory_gb_s or 1e12,
    }
    return json.dumps(settings, indent=1) + "\n"


def analytical_files(profile: Profile, levels: Sequence[Level], system: SystemSettings) -> dict[str, bytes]:
    """Return the files of one iteration for an analytical back end, by name."""
    return {TRACE: iteration_trace(profile, len(levels)), **_settings(levels, system)}


def program_files(program: RankProgram, levels: Sequence[Level], system: SystemSettings) -> dict[str, bytes]:
    """Return the files of a rank program for an analytical back end, by name."""
    traces = {f"iteration.{rank}.et": trace for rank, trace in enumerate(rank_traces(program))}
    groups = {str(number): list(members) for number, members in program.groups.items() if number}
    return traces | {"groups.json": json.dumps(groups).encode(), **_settings(levels, system)}


def _settings(levels: Sequence[Level], system: SystemSettings) -> dict[str, bytes]:
    algorithms = [system.algorithm_of(level.tier) for level in levels]
    return {
        "system.json": system_json(algorithms, system).encode(),
        "network.yml": network_yaml(levels).encode(),
        "memory.json": REMOTE_MEMORY.encode(),
    }


ANALYTICAL_ARGUMENTS = (
    "--workload-configuration=iteration",
    "--system-configuration=system.json",
    "--network-configuration=network.yml",
    "--remote-memory-configuration=memory.json",
    "--logging-folder=log",
)
PROGRAM_ARGUMENTS = (*ANALYTICAL_ARGUMENTS, "--comm-group-configuration=groups.json")
