"""Questions to the worker: links, the paths of messages through them, and jobs. Pure.

Networks return the links of a message's path, in order (`netmodels.packets.engine.Network`). Here
the ends of these links become hosts and switches: where one link of a way ends, the next one begins.

A link has one latency in ns-3. Machine types that share one may see others: they share it with the least of
these, and each latency has a separate link behind it with the rest.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from netmodels.collectives.ecmp import data_ports
from netmodels.collectives.hosts import Link as HostLink
from netmodels.collectives.hosts import Network as Hosts
from netmodels.fabric.links import Direction, Link
from netmodels.packets.engine import Channel, Network, PrivateLink, Wire
from netmodels.packets.rings import RingJob

NO_WINDOW = 2**30  # bytes; the widest that TCP's window can be
_PICOSECONDS = 1000  # in a nanosecond
_FASTER = 100  # factor on the next link's rate: the link of a GPU whose first link others use, too

Messages = Counter[tuple[int, int, int]]
"""Number of sends by (sender, receiver, bytes)."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The part of a data centre that a placement uses, as a `netmodels.packets.engine.Network`."""

    network: Hosts

    @property
    def hosts(self) -> int:
        """GPUs."""
        return self.network.hosts

    def path(self, sender: int, receiver: int, from_port: int, to_port: int) -> tuple[Channel, ...]:
        """Return the links that a message takes, in order."""
        up, down = self.network.ways(sender, receiver)
        return (*(_channel(link, "out") for link in up), *(_channel(link, "in") for link in down[::-1]))

    def unshared(self, sender: int, receiver: int) -> None:
        """Return None: all messages are followed packet by packet."""


def _channel(link: HostLink, way: Direction) -> Channel:
    return Channel(PrivateLink(link.ends[1], way), Wire(link.bits_per_s / 1e9, round(link.latency_ns)))


@dataclass(slots=True)
class Graph:
    """Hosts, switches and links that are in use.

    Parameters
    ----------
    hosts
        Number of GPUs, which are the first nodes.
    min_ns
        The least latency of links that have several.

    Attributes
    ----------
    wires
        Of each link.
    """

    hosts: int
    min_ns: Mapping[object, int] = field(default_factory=dict)
    wires: list[Wire] = field(default_factory=list)
    _numbers: dict[object, int] = field(default_factory=dict)  # of links
    _same: dict[object, object] = field(default_factory=dict)  # an end of a link, and another one there

    def add(self, ends: tuple[int, int], channels: Sequence[Channel]) -> list[int]:
        """Add the links of a way between two hosts, and return it as steps.

        A step is twice the number of a link, plus 1 where the way passes it downwards. Packets that never
        queue have the link to themselves.
        """
        wires: list[tuple[object, Wire]] = []
        for place, channel in enumerate(channels):
            wires += self._of(channel, (*ends, place))
        if isinstance(channels[0].link, Link):
            wires.insert(0, (("out", ends[0]), _faster(channels[0].wire)))
        if isinstance(channels[-1].link, Link):
            wires.append((("in", ends[1]), _faster(channels[-1].wire)))
        at: object = ends[0]
        steps = []
        for link, wire in wires:
            down = isinstance(link, Link | PrivateLink) and link.way == "in"
            step = 2 * self._number(_upwards(link), wire) + down
            self._join(at, ("end", step ^ 1))
            at = "end", step
            steps.append(step)
        self._join(at, ends[1])
        return steps

    def nodes(self) -> list[tuple[int, int]]:
        """Return the lower and the upper node of each link."""
        numbers = {self._root(host): host for host in range(self.hosts)}
        assert len(numbers) == self.hosts
        ends = [(("end", 2 * link + 1), ("end", 2 * link)) for link in range(len(self.wires))]
        low, up = (
            [numbers.setdefault(self._root(pair[side]), len(numbers)) for pair in ends] for side in (0, 1)
        )
        return list(zip(low, up, strict=True))

    def _of(self, channel: Channel, name: object) -> list[tuple[object, Wire]]:
        """Return a link, by the name if packets never queue there, and one with the rest of its latency."""
        link, wire = channel
        if not isinstance(link, Link) or (min_ns := self.min_ns.get(_upwards(link))) is None:
            return [(link or name, wire)]
        behind = PrivateLink((wire.latency_ns, link._replace(way="out")), link.way)
        rest = _faster(wire)._replace(latency_ns=wire.latency_ns - min_ns)
        links: list[tuple[object, Wire]] = [(link, wire._replace(latency_ns=min_ns)), (behind, rest)]
        return links if link.way == "out" else links[::-1]

    def _number(self, link: object, wire: Wire) -> int:
        number = self._numbers.setdefault(link, len(self.wires))
        if number == len(self.wires):
            self.wires.append(wire)
        return number

    def _join(self, one: object, other: object) -> None:
        """Make two ends one node."""
        one, other = self._root(one), self._root(other)
        if one != other:
            self._same[one] = other

    def _root(self, end: object) -> object:
        while end in self._same:
            end = self._same[end]
        return end


def _min_ns(channels: Iterable[Channel]) -> dict[object, int]:
    """Return the least latency of each link that has several."""
    latencies: dict[object, set[int]] = {}
    for link, wire in channels:
        if link is not None:
            latencies.setdefault(_upwards(link), set()).add(wire.latency_ns)
    return {link: min(values) for link, values in latencies.items() if len(values) > 1}


def _upwards(link: object) -> object:
    return link._replace(way="out") if isinstance(link, Link | PrivateLink) else link


def _faster(wire: Wire) -> Wire:
    return Wire(_FASTER * wire.gbit_s, 0)


def window_bytes(wires: Sequence[Wire], payload_bytes: int) -> int:
    """Return the bytes that the slowest of some links carries in an unloaded round trip, in whole packets.

    As `netmodels.collectives.packet_transport`: one packet's transmission on every link, and all latencies
    there and back.
    """
    round_trip_ns = sum(2 * wire.latency_ns + payload_bytes * 8 / wire.gbit_s for wire in wires)
    most = round_trip_ns * min(wire.gbit_s for wire in wires) / 8
    return min(max(-int(-most // payload_bytes), 1) * payload_bytes, NO_WINDOW)


def messages_of(jobs: Sequence[RingJob]) -> Messages:
    """Return the number of sends of each message."""
    sends: Messages = Counter()
    for job in jobs:
        for layer in job.layers:
            if not layer.bytes:
                continue
            count, size = job.messages(layer)
            for place, gpu in enumerate(job.gpus):
                if layer.collective == "all_to_all":
                    sends.update({(gpu, to, size): job.iterations for to in job.gpus if to != gpu})
                else:
                    to = job.gpus[(place + 1) % len(job.gpus)]
                    sends[gpu, to, size] += count * job.iterations
    return sends


def packets_in(message_bytes: int, payload_bytes: int) -> int:
    """Return the number of packets of a message, without acknowledgements."""
    return max(-(-message_bytes // payload_bytes), 1)


def question(
    jobs: Sequence[RingJob],
    network: Network,
    messages: Messages,
    *,
    windows: bool,
    payload_bytes: int,
    endpoint_delay_ns: int,
    attributes: Mapping[str, str],
    uplinks: int = 1,
    iterations: int | None = None,
) -> dict[str, Any]:
    """Return the question as plain values.

    Parameters
    ----------
    jobs
        Run together.
    network, messages
        The links, and the messages on them.
    windows
        True if a connection has at most `window_bytes` in flight.
    payload_bytes
        Of a packet.
    endpoint_delay_ns
        Of a GPU before it sends or receives a message, ns.
    attributes
        Defaults of ns-3's attributes, by name.
    uplinks
        Ways that messages may take between two racks.
    iterations
        All stop when jobs have done this number on average, as in `netmodels.contention.flow_level.enough`;
        None: after their own numbers.
    """
    counts: Counter[tuple[int, int]] = Counter()
    for (sender, receiver, _), count in messages.items():
        counts[sender, receiver] += count
    paths_of = {}
    for (sender, receiver), count in counts.items():
        ports = [data_ports(number) for number in range(count if uplinks > 1 else 1)]
        paths_of[sender, receiver] = [
            (network.path(sender, receiver, out, to), network.path(receiver, sender, to, out))
            for out, to in ports
        ]
    ways = [way for channels in paths_of.values() for both in channels for way in both]
    graph, connections = Graph(network.hosts, _min_ns(chain.from_iterable(ways))), []
    for (sender, receiver), channels in paths_of.items():
        distinct = list(dict.fromkeys(channels))
        wires = [channel.wire for channel in distinct[0][0]]
        connections.append(
            {
                "ends": [sender, receiver],
                "ways": [
                    [graph.add((sender, receiver), there), graph.add((receiver, sender), back)]
                    for there, back in distinct
                ],
                "choices": [distinct.index(path) for path in channels] if len(distinct) > 1 else [0],
                "window_bytes": window_bytes(wires, payload_bytes) if windows else NO_WINDOW,
            }
        )
    nodes = graph.nodes()
    return {
        "payload_bytes": payload_bytes,
        "attributes": dict(attributes),
        "endpoint_delay_ns": endpoint_delay_ns,
        "hosts": graph.hosts,
        "nodes": 1 + max(map(max, nodes)),
        "links": [
            [*ends, round(wire.gbit_s * 1e9), wire.latency_ns * _PICOSECONDS]
            for ends, wire in zip(nodes, graph.wires, strict=True)
        ],
        "connections": connections,
        "jobs": [
            [list(job.gpus), [list(layer) for layer in job.layers], job.iterations, job.start_ns]
            for job in jobs
        ],
        "iterations": iterations,
    }
