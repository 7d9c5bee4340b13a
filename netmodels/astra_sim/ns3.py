"""What ASTRA-sim's ns-3 back end reads: the slice of the data centre as hosts, switches and links; settings.

Every group of a dimension that the placement uses becomes a switch, every GPU a host: GPUs hang on the
switch of their machine, that on the switch of its rack, that on the core. The link of a machine carries
what the ports of its GPUs carry together on that tier (less where they share a port), the link of a rack
likewise; its latency is what the tier's path has beyond the tiers below. Rings and meshes stand as
switches with the latency of one of their links between neighbours: packets of the simulator are not
forwarded by hosts.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from netmodels.algorithms import link_bandwidth_bytes_per_ns
from netmodels.astra_sim.chakra import iteration_trace
from netmodels.astra_sim.inputs import (
    REMOTE_MEMORY,
    TRACE,
    InexpressibleError,
    check_system,
    system_json,
    whole,
)
from netmodels.errors import InputError
from netmodels.fabric import Dimension
from netmodels.layers import Profile
from netmodels.levels import SeenTiers, View, capacity
from netmodels.naming import allowed_names
from netmodels.shape import Shape, Tier, gpus
from netmodels.system import SystemSettings

ARGUMENTS = (
    "--workload-configuration=iteration",
    "--system-configuration=system.json",
    "--network-configuration=config.txt",
    "--remote-memory-configuration=memory.json",
    "--logical-topology-configuration=logical.json",
)
_MOST_MESSAGE = 2**31 - 1  # message sizes are C ints
_PARTS = {
    "double_binary_tree": 1,
    "halving_doubling": 2,
}  # of a chunk, in its largest message; others: members
_LEAST_LATENCY_NS = 1.0
# Thresholds of congestion marks per Gb/s, as in ASTRA-sim's sample; without congestion control they mark
# nothing.
_MARKS = {"KMAX_MAP": 16, "KMIN_MAP": 4}


@dataclass(frozen=True, slots=True)
class Link:
    """One link between two nodes, both ways alike."""

    ends: tuple[int, int]
    bits_per_s: int
    latency_ns: float


@dataclass(frozen=True, slots=True)
class _Node:
    """A host or switch, and by machine below it (GPUs, GPUs of the machine, GPUs of its rack)."""

    number: int
    below: tuple[tuple[int, int, int], ...]
    depth_ns: float


class Network:
    """The slice of the data centre that a placement uses.

    Parameters
    ----------
    shape
        The placement; NPU i is host i, machine by machine.
    tiers
        The fabric's dimensions.

    Attributes
    ----------
    hosts, switches
        How many; switches are numbered after the hosts.
    links
        Between them.
    even
        Whether all groups of each dimension have as many members.
    """

    def __init__(self, shape: Shape, tiers: SeenTiers) -> None:
        self.hosts, self.switches = gpus(shape), 0
        self.links: list[Link] = []
        self._members: dict[tuple[Tier, int], set[int]] = {}
        machine, rack, network = tiers
        host, racks = 0, []
        for in_rack in shape:
            rack_gpus, machines = sum(count for _, count in in_rack), []
            for _, count in in_rack:
                nodes = [_Node(host + at, ((1, count, rack_gpus),), 0.0) for at in range(count)]
                host += count
                machines.append(self._join(nodes, machine))
            racks.append(self._join(machines, rack))
        self._join(racks, network)

    @property
    def even(self) -> bool:
        """Whether all groups of each dimension have as many members."""
        return all(len(counts) == 1 for counts in self._members.values())

    def _join(self, nodes: list[_Node], tier: tuple[Tier, Sequence[Dimension]]) -> _Node:
        """Join the nodes of one machine, rack or data centre, innermost dimension first."""
        name, dimensions = tier
        for place, dimension in enumerate(dimensions):
            size = dimension.size if dimension.size and place < len(dimensions) - 1 else len(nodes)
            groups = [nodes[at : at + size] for at in range(0, len(nodes), size)]
            self._members.setdefault((name, place), set()).update(map(len, groups))
            nodes = [self._switch(group, dimension) for group in groups]
        (root,) = nodes
        return root

    def _switch(self, nodes: list[_Node], dimension: Dimension) -> _Node:
        """Join some nodes by one switch; one alone needs none."""
        if len(nodes) == 1:
            return nodes[0]
        number, self.switches = self.hosts + self.switches, self.switches + 1
        one_way = dimension.latency_ns if dimension.kind == "switch" else dimension.latency_ns / 2
        for node in nodes:
            latency = max(one_way - node.depth_ns, _LEAST_LATENCY_NS)
            rate = _rate(node, dimension, len(nodes))
            self.links.append(Link((number, node.number), round(rate * 8e9), latency))
        below = tuple(part for node in nodes for part in node.below)
        return _Node(number, below, max(one_way, *(node.depth_ns for node in nodes)))

    def text(self) -> str:
        """Return the topology file."""
        rows = [f"{self.hosts + self.switches} {self.switches} {len(self.links)}"]
        rows.append(" ".join(str(self.hosts + at) for at in range(self.switches)))
        for link in self.links:
            a, b = link.ends
            rows.append(f"{a} {b} {link.bits_per_s}bps {link.latency_ns:.12g}ns 0")
        return "\n".join(rows) + "\n"


def _rate(node: _Node, dimension: Dimension, members: int) -> float:
    """Return what all GPUs below a node send together on a dimension, byte/ns."""
    if dimension.links == "members":
        count = sum(part for part, _, _ in node.below)
        return count * link_bandwidth_bytes_per_ns(dimension, members)
    return sum(capacity(dimension, in_machine, in_rack, part) for part, in_machine, in_rack in node.below)


def logical_dims(view: View, network: Network) -> tuple[int, ...]:
    """Return the members of the logical dimensions: of a regular placement, else one ring over all."""
    try:
        dims = tuple(int(level.members) for level in whole(view))
    except InexpressibleError:
        return (view.gpus,)
    return dims if network.even else (view.gpus,)


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
        Of config.txt, beyond or instead of ours.

    Raises
    ------
    InputError
        If a message is longer than the program can count.
    """
    network = Network(shape, tiers)
    dims = logical_dims(view, network)
    widest = view.levels[-1]
    levels = view.levels if len(dims) == len(view.levels) else (replace(widest, members=view.gpus),)
    check_system(profile, system, levels)
    algorithms = [system.algorithm_of(level.tier) for level in levels]
    largest = max((layer.gradient_bytes for layer in profile.layers), default=0) // system.chunks
    if largest // min(_PARTS.get(name, min(dims)) for name in algorithms) > _MOST_MESSAGE:
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
        "config.txt": _config(network, settings).encode(),
    }


def check_settings(settings: Mapping[str, object], backend: str) -> None:
    """Refuse settings of config.txt that mean nothing to the program.

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
    """Return the settings file: those of ASTRA-sim's sample, without congestion control, its monitors off."""
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
    "HAS_WIN": "1",
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
