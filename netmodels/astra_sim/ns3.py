"""Input files of ASTRA-sim's ns-3 back end: hosts, switches, links (`netmodels.collectives.hosts`), settings.

Decided by runs of the real program (all-reduces of 16 MiB, v100_100g, us; the bound of a flat ring is 2,349):

    HAS_WIN  4+4 ring  5+3    7+1    8+8 | 4   4+4 hierarchical (bound 1,610)
    1        2,481     2,928  3,796  3,781     1,793
    0        2,396     2,536  2,923  2,749     1,631

Windows are off: the program's windows hold one unloaded round trip of the slowest link per message, and leave
links idle that NCCL, with several buffers in flight on each connection, keeps busy. Without windows the
queues are in the switches, which pause the senders (PFC; 2,430 pauses at most, in a tree): this slowed no
all-reduce tried by more than 2 %. `network.system.transport=windows` turns windows on.
"""

import json
from collections.abc import Mapping
from dataclasses import replace

from netmodels.astra_sim.asked import as_asked, logical_dims
from netmodels.astra_sim.chakra import iteration_trace
from netmodels.astra_sim.inputs import REMOTE_MEMORY, TRACE, check_system, system_json
from netmodels.collectives.dimensions import SeenTiers, View
from netmodels.collectives.hosts import Network
from netmodels.fabric.shape import Shape
from netmodels.fabric.system import SystemSettings
from netmodels.inputs.errors import InputError
from netmodels.inputs.naming import allowed_names
from netmodels.profiles.layers import Profile

ARGUMENTS = (
    "--workload-configuration=iteration",
    "--system-configuration=system.json",
    "--network-configuration=config.txt",
    "--remote-memory-configuration=memory.json",
    "--logical-topology-configuration=logical.json",
)
_MAX_MESSAGE = 2**31 - 1  # message sizes are C ints
_PARTS = {
    "double_binary_tree": 1,
    "halving_doubling": 2,
}  # of a chunk, in its largest message; others: members
# Thresholds of congestion marks per Gb/s, as in ASTRA-sim's sample; without congestion control they mark
# nothing.
_MARKS = {"KMAX_MAP": 16, "KMIN_MAP": 4}


def files(
    profile: Profile,
    shape: Shape,
    tiers: SeenTiers,
    view: View,
    system: SystemSettings,
    settings: Mapping[str, object],
) -> dict[str, bytes]:
    """Return the files of one iteration, by name.

    Parameters
    ----------
    settings
        Of config.txt, beyond or instead of the defaults.

    Raises
    ------
    InputError
        If a message is longer than the program can count, or the settings are for another back end.
    """
    network = Network(shape, tiers)
    dims = logical_dims(shape, view, network, system)
    system, widest = as_asked(shape, system), view.levels[-1]
    levels = view.levels if len(dims) == len(view.levels) else (replace(widest, members=view.gpus),)
    check_system(profile, system, levels)
    algorithms = [system.algorithm_of(level.tier) for level in levels]
    largest = max((layer.gradient_bytes for layer in profile.layers), default=0) // system.chunks
    if largest // min(_PARTS.get(name, min(dims)) for name in algorithms) > _MAX_MESSAGE:
        raise InputError(
            f"a message of {profile.name} is longer than ns-3's 2 GiB",
            where="network.system.chunks",
            found=system.chunks,
            allowed="more chunks",
        )
    return {
        TRACE: iteration_trace(profile, len(dims)),
        "system.json": system_json(algorithms, system).encode(),
        "memory.json": REMOTE_MEMORY.encode(),
        "logical.json": json.dumps({"logical-dims": [str(count) for count in dims]}).encode(),
        "topology.txt": network.text().encode(),
        "flow.txt": b"0\n",
        "trace.txt": b"0\n",
        "config.txt": _config(network, {"HAS_WIN": int(system.windows), **settings}).encode(),
    }


def check_settings(settings: Mapping[str, object], backend: str) -> None:
    """Raise InputError for settings of config.txt that mean nothing to the program.

    Raises
    ------
    InputError
        If there is no such name, or the program is not ns-3.
    """
    if backend != "ns3":
        raise InputError(
            "settings for another back end", where="network.model.ns3", found=backend, allowed="ns3"
        )
    names = (*_SETTINGS, *_MARKS, "PMAX_MAP")
    for name in settings:
        if name not in names:
            allowed = allowed_names(name, names)
            raise InputError("unknown setting", where="network.model.ns3", found=name, allowed=allowed)


def _config(network: Network, settings: Mapping[str, object]) -> str:
    """Return the settings file: ASTRA-sim's sample without congestion control, its monitors off."""
    rates = sorted({link.bits_per_s for link in network.links})
    marks = {
        name: " ".join([str(len(rates)), *(f"{rate} {max(1, round(rate / 1e9 * per))}" for rate in rates)])
        for name, per in _MARKS.items()
    }
    marks["PMAX_MAP"] = " ".join([str(len(rates)), *(f"{rate} 0.2" for rate in rates)])
    return "".join(f"{name} {value}\n" for name, value in {**_SETTINGS, **marks, **settings}.items())


_SETTINGS = {
    "TOPOLOGY_FILE": "topology.txt",
    "FLOW_FILE": "flow.txt",
    "TRACE_FILE": "trace.txt",
    "TRACE_OUTPUT_FILE": "mix.tr",
    "FCT_OUTPUT_FILE": "fct.txt",
    "PFC_OUTPUT_FILE": "pfc.txt",
    "QLEN_MON_FILE": "qlen.txt",
    "QLEN_MON_START": "100000000000000000",  # never: it would look every 100 ns of a second-long iteration
    "QLEN_MON_END": "20000",
    "SIMULATOR_STOP_TIME": "40000000000000.00",
    "PACKET_PAYLOAD_SIZE": "8000",
    "CC_MODE": "12",  # none
    "ENABLE_QCN": "1",
    "USE_DYNAMIC_PFC_THRESHOLD": "1",
    "ENABLE_TRACE": "0",
    "BUFFER_SIZE": "32",
    "HAS_WIN": "0",
    "GLOBAL_T": "0",
    "VAR_WIN": "0",  # the rate never changes; 1 overflows 64 bits on fast long links, to a window of a packet
    "FAST_REACT": "1",
    "L2_CHUNK_SIZE": "4000",
    "L2_ACK_INTERVAL": "1",
    "L2_BACK_TO_ZERO": "0",
    "RATE_BOUND": "1",
    "ACK_HIGH_PRIO": "0",
    "ERROR_RATE_PER_LINK": "0.0000",
    "LINK_DOWN": "0 0 0",
    "NIC_TOTAL_PAUSE_TIME": "0",
    "MULTI_RATE": "0",
    "SAMPLE_FEEDBACK": "0",
    "INT_MULTI": "1",
    "MI_THRESH": "0",
    "U_TARGET": "0.95",
    "PINT_LOG_BASE": "1.05",
    "PINT_PROB": "1.0",
    "ALPHA_RESUME_INTERVAL": "1",
    "RATE_DECREASE_INTERVAL": "4",
    "CLAMP_TARGET_RATE": "0",
    "RP_TIMER": "900",
    "EWMA_GAIN": "0.00390625",
    "FAST_RECOVERY_TIMES": "1",
    "RATE_AI": "50Mb/s",
    "RATE_HAI": "100Mb/s",
    "MIN_RATE": "100Mb/s",
    "DCTCP_RATE_AI": "1000Mb/s",
}
