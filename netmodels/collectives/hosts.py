"""The slice of the data centre that a placement uses, as hosts, switches and links.

Every group of a dimension that the placement uses becomes a switch, every GPU a host: GPUs are attached to
the switch of their machine, that to the switch of its rack, that to the core. The link of a machine has
the bandwidth of the ports of its GPUs together on that tier (less if they share a port), the link of a rack
likewise; its latency is that of the tier's path less that of the tiers below. Rings and meshes become
switches with the latency of one of their links between neighbours, because the simulator's hosts do not
forward packets.

One wide link per machine represents all its NICs: NCCL has one ring per NIC, each of which enters and
leaves a machine by another NIC, and ASTRA-sim has one ring. In ns-3 (dgx_h100_3tier, 16 MiB over 8+8) its
flat ring takes 140 us over wide links and 639 us with one NIC per GPU, where rings through all NICs would
take 79 us and latency. Between GPUs of equal rank, as in `hierarchical`, the two hardly differ: 150 and 151
us.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from netmodels.collectives.dimensions import SeenTiers, sent_together
from netmodels.fabric.fabric import Dimension
from netmodels.fabric.shape import Shape, Tier, gpus

_MIN_LATENCY_NS = 1.0


@dataclass(frozen=True, slots=True)
class Link:
    """One link between two nodes, the upper one first, the same in both directions; and its tier."""

    ends: tuple[int, int]
    bits_per_s: int
    latency_ns: float
    tier: Tier


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
        Numbers of hosts and switches; switches are numbered after the hosts.
    links
        Between them.
    even
        True if all groups of each dimension have equal sizes.
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
        """True if all groups of each dimension have equal sizes."""
        return all(len(counts) == 1 for counts in self._members.values())

    def _join(self, nodes: list[_Node], tier: tuple[Tier, Sequence[Dimension]]) -> _Node:
        """Join the nodes of one machine, rack or data centre, innermost dimension first."""
        name, dimensions = tier
        for place, dimension in enumerate(dimensions):
            size = dimension.size if dimension.size and place < len(dimensions) - 1 else len(nodes)
            groups = [nodes[at : at + size] for at in range(0, len(nodes), size)]
            self._members.setdefault((name, place), set()).update(map(len, groups))
            nodes = [self._switch(group, name, dimension) for group in groups]
        (root,) = nodes
        return root

    def _switch(self, nodes: list[_Node], tier: Tier, dimension: Dimension) -> _Node:
        """Join some nodes by one switch; a single node needs none."""
        if len(nodes) == 1:
            return nodes[0]
        number, self.switches = self.hosts + self.switches, self.switches + 1
        one_way = dimension.latency_ns if dimension.kind == "switch" else dimension.latency_ns / 2
        for node in nodes:
            latency = max(one_way - node.depth_ns, _MIN_LATENCY_NS)
            rate = sent_together(node.below, dimension, len(nodes))
            self.links.append(Link((number, node.number), round(rate * 8e9), latency, tier))
        below = tuple(part for node in nodes for part in node.below)
        return _Node(number, below, max(one_way, *(node.depth_ns for node in nodes)))

    def path(self, first: int, second: int) -> list[Link]:
        """Return the links between two hosts."""
        up, down = self.ways(first, second)
        return [*up, *down]

    def ways(self, first: int, second: int) -> tuple[list[Link], list[Link]]:
        """Return the links from each of two hosts up to the switch that joins them."""
        one, other = (self._way_up(host) for host in (first, second))
        return [link for link in one if link not in other], [link for link in other if link not in one]

    def _way_up(self, node: int) -> list[Link]:
        up = {link.ends[1]: link for link in self.links}
        way = []
        while node in up:
            way.append(up[node])
            node = up[node].ends[0]
        return way

    def text(self) -> str:
        """Return the topology file."""
        rows = [f"{self.hosts + self.switches} {self.switches} {len(self.links)}"]
        rows.append(" ".join(str(self.hosts + at) for at in range(self.switches)))
        for link in self.links:
            a, b = link.ends
            rows.append(f"{a} {b} {link.bits_per_s}bps {link.latency_ns:.12g}ns 0")
        return "\n".join(rows) + "\n"
