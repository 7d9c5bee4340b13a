"""The fabric of a data centre as a graph.

A dimension joins members, innermost first: GPUs to groups or the machine, these to groups or the rack, these
to groups or the core. Each of them is a node, and all its members have an edge to it. In a switch the node is
the switch and the edge a link. In a ring or a mesh the links are between the members, and the edge to the
node only expresses membership.

A network model counts only the links of the one dimension that it sends through, two through a switch. A path
through the graph that climbs to the rack and the core passes those of all dimensions in between.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import networkx as nx

from netmodels.fabric.fabric import Dimension, DimensionKind, MachineType, Topology
from netmodels.fabric.shape import Tier
from netmodels.inputs.errors import InputError

Node = tuple[str | int, ...]
"""("gpu", rack, machine, gpu), ("machine", rack, machine), ("rack", rack), ("core",), or a group in one of
the last three: ("group", "machine", rack, machine, place of the dimension in its tier, number)."""

_GBIT_PER_BYTE_PER_NS = 8


class _Member(NamedTuple):
    """A node, and the nodes of each type below it; a machine counts as one, a group inside it as none."""

    node: Node
    gpus: int
    machines: int = 0
    racks: int = 0


def fabric_graph(
    topology: Topology, racks: int, machines_per_rack: int | None = None, machine_type: str | None = None
) -> "nx.Graph[Node]":
    """Return a data centre of equal machines as a graph.

    Nodes have a `kind` (gpu, group, machine, rack or core), a `tier`, a `label`, and a `layer`: 0 for GPUs,
    and one more for each dimension. Edges have a `tier`, and `link`, True for a link and False for mere
    membership. Links also have

    - `kind` of their dimension: switch, ring or fully_connected
    - `latency_ns` of one link
    - `bandwidth_gbit_s` of one GPU; with `links: members`, through one of the links
    - `capacity_gbit_s` of all GPUs below the member together; between two members, the smaller one: the
      bandwidth of all, or of the ports and uplinks that they share. With `links: members` it is through one
      of the links of each GPU

    Nodes and edges are in a fixed order: GPUs before their machine, machines before their rack.

    Parameters
    ----------
    topology
        The fabric and its machine types.
    racks
        Number of racks; 1 or more.
    machines_per_rack
        1 or more; by default the topology's own number.
    machine_type
        Type of all machines; by default the topology's default.

    Raises
    ------
    InputError
        If there is no rack, machine or GPU, or no such machine type.
    """
    machine = topology.machine_type(machine_type)
    per_rack = topology.machines_per_rack if machines_per_rack is None else machines_per_rack
    _check(topology, machine, racks, per_rack)
    graph: nx.Graph[Node] = nx.Graph(name=topology.name)
    (_, in_machine), (_, in_rack), (_, in_network) = topology.fabric.tiers(machine.name)
    all_racks = []
    for rack in range(racks):
        machines = []
        for number in range(per_rack):
            gpus = [_gpu(graph, ("gpu", rack, number, gpu)) for gpu in range(machine.gpus)]
            machines.append(_join(graph, gpus, "machine", in_machine, ("machine", rack, number)))
        all_racks.append(_join(graph, machines, "rack", in_rack, ("rack", rack)))
    _join(graph, all_racks, "network", in_network, ("core",))
    return graph


def members_of(graph: "nx.Graph[Node]", node: Node) -> list[Node]:
    """Return the members of a group, machine, rack or core, in order; none of a GPU."""
    below = graph.nodes[node]["layer"] - 1
    return [other for other in graph[node] if graph.nodes[other]["layer"] == below]


def _check(topology: Topology, machine: MachineType, racks: int, machines_per_rack: int) -> None:
    counts = (("racks", racks), ("machines_per_rack", machines_per_rack))
    for name, count in counts:
        if count < 1:
            raise InputError("too few for a fabric", where=name, found=count, allowed="1 or more")
    if machine.gpus < 1:
        raise InputError(
            "a machine without GPUs is not on the fabric",
            where=f"topology {topology.name}, machine type {machine.name}",
            found=machine.gpus,
            allowed="a machine type with GPUs",
        )


def _gpu(graph: "nx.Graph[Node]", node: Node) -> _Member:
    graph.add_node(node, kind="gpu", tier="machine", label=f"GPU {node[-1]}", layer=0)
    return _Member(node, gpus=1)


def _join(
    graph: "nx.Graph[Node]",
    members: Sequence[_Member],
    tier: Tier,
    dimensions: Sequence[Dimension],
    whole: Node,
) -> _Member:
    """Group members by the dimensions of a tier, the first filled first, and return the whole of them."""
    for place, dimension in enumerate(dimensions):
        last = place == len(dimensions) - 1
        size = len(members) if last else dimension.size
        groups = [members[start : start + size] for start in range(0, len(members), size)]
        nodes = [whole] if last else [("group", *whole, place, number) for number in range(len(groups))]
        members = [
            _group(graph, group, tier, dimension, node) for group, node in zip(groups, nodes, strict=True)
        ]
    return members[0]


def _group(
    graph: "nx.Graph[Node]", members: Sequence[_Member], tier: Tier, dimension: Dimension, node: Node
) -> _Member:
    """Add a node and the links of one dimension below it."""
    name, layer = node[0], graph.nodes[members[0].node]["layer"] + 1
    label = " ".join(str(part) for part in (name, *node[1:][-1:]))
    graph.add_node(node, kind=name, tier=tier, label=label, layer=layer)
    if dimension.kind == "switch":
        for member in members:
            graph.add_edge(member.node, node, **_link(tier, dimension, member))
    else:
        graph.add_edges_from(((member.node, node) for member in members), tier=tier, link=False)
        for one, other in _neighbours(dimension.kind, members):
            smaller = min(one, other, key=lambda member: member.gpus)
            graph.add_edge(one.node, other.node, **_link(tier, dimension, smaller))
    return _Member(
        node,
        gpus=sum(member.gpus for member in members),
        machines=sum(member.machines for member in members) or int(name == "machine"),
        racks=sum(member.racks for member in members) or int(name == "rack"),
    )


def _neighbours(shape: DimensionKind, members: Sequence[_Member]) -> Iterator[tuple[_Member, _Member]]:
    """Yield the pairs that a ring or a mesh links, each once."""
    if shape == "fully_connected":
        yield from combinations(members, 2)
        return
    yield from pairwise(members)
    if len(members) > 2:
        yield members[-1], members[0]


def _link(tier: Tier, dimension: Dimension, member: _Member) -> dict[str, object]:
    return {
        "link": True,
        "tier": tier,
        "kind": dimension.kind,
        "latency_ns": dimension.latency_ns,
        "bandwidth_gbit_s": dimension.bandwidth_bytes_per_ns * _GBIT_PER_BYTE_PER_NS,
        "capacity_gbit_s": dimension.capacity(*member[1:]) * _GBIT_PER_BYTE_PER_NS,
    }
