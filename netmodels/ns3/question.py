"""What the worker is asked: a graph of links, the ways of messages through it, and jobs. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from netmodels.astra_sim.hosts import Network
from netmodels.sharing.links import Link
from netmodels.sharing.packet_jobs import RingJob
from netmodels.sharing.tree import Tree, data_ports

NO_WINDOW = 2**30  # bytes; the widest that TCP's window can be
_PICOSECONDS = 1000  # in a nanosecond

Node = int


@dataclass(frozen=True, slots=True)
class Graph:
    """Hosts and switches as a tree, or as several that differ at the top.

    Parameters
    ----------
    links
        (bit/s, ns) of the link from a node to one above it, the same in both directions.
    above
        For each host one or more chains of nodes, from the host up; the chains of a place are those of one
        tree.
    """

    links: Mapping[tuple[Node, Node], tuple[int, float]]
    above: Sequence[Sequence[tuple[Node, ...]]]

    def way(self, sender: int, receiver: int, tree: int = 0) -> tuple[Node, ...]:
        """Return the nodes from a host to another, in one of the trees."""
        up, down = self.above[sender][tree], self.above[receiver][tree]
        top = next(node for node in up if node in down)
        return up[: up.index(top) + 1] + down[: down.index(top)][::-1]

    def along(self, way: Sequence[Node]) -> Iterator[tuple[int, float]]:
        """Yield (bit/s, ns) of each link of a way."""
        for one, other in pairwise(way):
            yield self.links.get((one, other)) or self.links[other, one]


def graph_of_placement(network: Network) -> Graph:
    """Return the part of a data centre that a placement uses."""
    up = {link.ends[1]: link for link in network.links}

    def chain(node: Node) -> tuple[Node, ...]:
        return (node, *chain(up[node].ends[0])) if node in up else (node,)

    links = {(link.ends[1], link.ends[0]): (link.bits_per_s, link.latency_ns) for link in network.links}
    return Graph(links, [[chain(host)] for host in range(network.hosts)])


def graph_of_tree(tree: Tree) -> Graph:
    """Return the network of a data centre, one tree for each core switch."""
    gpus, machines, racks = len(tree.machine_of), len(tree.rack_of), len(tree.racks)
    links: dict[tuple[Node, Node], tuple[int, float]] = {}
    above = []
    for gpu, machine in enumerate(tree.machine_of):
        rack = tree.rack_of[machine]
        switches = gpus + machine, gpus + machines + rack
        cores = [gpus + machines + racks + core for core in range(tree.cores)]
        above.append([(gpu, *switches, core) for core in cores])
        ends = ((gpu, switches[0], tree.gpus[gpu]), (*switches, tree.machines[machine]))
        for one, other, wire in (*ends, *((switches[1], core, tree.racks[rack]) for core in cores)):
            links[one, other] = (round(wire.gbit_s * 1e9), wire.latency_ns)
    return Graph(links, above)


def window_bytes(links: Sequence[tuple[int, float]], payload_bytes: int) -> int:
    """Return what the slowest of some links carries in an unloaded round trip, in whole packets.

    As `netmodels.packets`: one packet's transmission on every link, and all latencies there and back.
    """
    round_trip_ns = sum(2 * ns + payload_bytes * 8e9 / bits_per_s for bits_per_s, ns in links)
    most = round_trip_ns * min(bits_per_s for bits_per_s, _ in links) / 8e9
    return min(max(-int(-most // payload_bytes), 1) * payload_bytes, NO_WINDOW)


def messages_of(jobs: Sequence[RingJob]) -> Counter[tuple[int, int, int]]:
    """Return how often a message of (sender, receiver, bytes) is sent."""
    found: Counter[tuple[int, int, int]] = Counter()
    for job in jobs:
        for layer in job.layers:
            if not layer.bytes:
                continue
            count, size = job.messages(layer)
            for place, gpu in enumerate(job.gpus):
                if layer.collective == "all_to_all":
                    found.update({(gpu, to, size): job.iterations for to in job.gpus if to != gpu})
                else:
                    to = job.gpus[(place + 1) % len(job.gpus)]
                    found[gpu, to, size] += count * job.iterations
    return found


def packets_of(messages: Counter[tuple[int, int, int]], payload_bytes: int) -> int:
    """Return how many packets some messages take, acknowledgements aside."""
    return sum(count * max(-(-size // payload_bytes), 1) for (_, _, size), count in messages.items())


def question(
    jobs: Sequence[RingJob],
    graph: Graph,
    messages: Counter[tuple[int, int, int]],
    *,
    windows: bool,
    payload_bytes: int,
    endpoint_delay_ns: int,
    attributes: Mapping[str, str],
    tree: Tree | None = None,
) -> dict[str, Any]:
    """Return the question as plain values.

    Parameters
    ----------
    jobs
        Run together.
    graph, messages
        The network, and what the jobs send on it.
    windows
        Whether a connection has at most `window_bytes` on the way.
    payload_bytes
        Of a packet.
    endpoint_delay_ns
        Of a GPU before it sends or hears of a message, ns.
    attributes
        Defaults of ns-3's attributes, by name.
    tree
        Chooses between several ways, message by message.
    """
    counts: Counter[tuple[int, int]] = Counter()
    for (sender, receiver, _), count in messages.items():
        counts[sender, receiver] += count
    connections = []
    for (sender, receiver), count in counts.items():
        cores = [(0, 0)] if tree is None or tree.cores == 1 else _cores(tree, sender, receiver, count)
        found = list(dict.fromkeys(cores))
        ways = [(graph.way(sender, receiver, out), graph.way(receiver, sender, back)) for out, back in found]
        window = window_bytes(list(graph.along(ways[0][0])), payload_bytes) if windows else NO_WINDOW
        connections.append(
            {
                "ends": [sender, receiver],
                "ways": ways,
                "choices": [found.index(each) for each in cores] if len(found) > 1 else [0],
                "window_bytes": window,
            }
        )
    return {
        "payload_bytes": payload_bytes,
        "attributes": dict(attributes),
        "endpoint_delay_ns": endpoint_delay_ns,
        "hosts": len(graph.above),
        "nodes": 1 + max(node for chains in graph.above for chain in chains for node in chain),
        "links": [[*ends, bits, round(ns * _PICOSECONDS)] for ends, (bits, ns) in graph.links.items()],
        "connections": connections,
        "jobs": [[job.gpus, job.layers, job.iterations, job.start_ns] for job in jobs],
    }


def _cores(tree: Tree, sender: int, receiver: int, count: int) -> list[tuple[int, int]]:
    """Return the core switches that each message to a GPU and its acknowledgements pass, in order."""

    def core(*asked: int) -> int:
        links = (lane.link for lane in tree.lanes(*asked))
        return max((link.path for link in links if isinstance(link, Link)), default=0)

    return [
        (core(sender, receiver, out, to), core(receiver, sender, to, out))
        for out, to in map(data_ports, range(count))
    ]
