"""The channels that the rings of several jobs pass, packet by packet.

A *channel* is one direction of a link with its queue. Each job's GPUs have their own links to the switch of
their machine; from there its messages pass the machine's port and, between racks, uplinks. Ports and uplinks
that several jobs pass are one queue for all of them; elsewhere each job has a queue of its own. If a job's
GPUs in a machine send less than a shared port carries, their own limit comes before it. Parallel uplinks are
drawn by a hash of the GPUs' numbers here, so by chance: not the draws of a real cluster.

Every channel is a queue: an acknowledgement never overtakes the packets before it.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from math import ceil, inf
from typing import NamedTuple

from netmodels.collectives.dimensions import SeenTiers, tiers_of
from netmodels.collectives.ecmp import core_of
from netmodels.collectives.hosts import Link as HostLink
from netmodels.collectives.hosts import Network
from netmodels.collectives.packet_transport import Way, way_over
from netmodels.collectives.rings import ring_of
from netmodels.fabric.fabric import Dimension, Fabric
from netmodels.fabric.links import FULL, Direction, Link
from netmodels.fabric.shape import TIERS, Shape, Tier, gpus
from netmodels.packets.engine import Channel, PrivateLink, Wire, cell_bytes, window_bytes


class _Place(NamedTuple):
    """The machine, the rack, the machine's type and the job's GPUs there, of a GPU."""

    machine: int
    rack: int
    machine_type: str
    gpus: int


class RingChannels:
    """The channels of some jobs' rings.

    Parameters
    ----------
    jobs
        (shape, links) of each job; machines and racks of the shape in the order of the links.
    shared
        Links that several jobs pass.
    capacity
        Of the links of the jobs, byte/ns.
    fabric
        The network.
    windows
        Whether messages have windows.
    draw
        Of parallel uplinks: another number, other ones for the same messages.

    Attributes
    ----------
    rings
        The GPUs of each job, in the order of its ring; no two jobs have one in common.
    uplinks
        Links that each uplink consists of.
    """

    def __init__(
        self,
        jobs: Sequence[tuple[Shape, Sequence[Link]]],
        shared: Set[Link],
        capacity: Mapping[Link, float],
        fabric: Fabric,
        *,
        windows: bool,
        draw: int = 0,
    ) -> None:
        self._shared = shared
        self._draw = draw
        self._capacity = capacity
        self._fabric = fabric
        self.uplinks = fabric.uplinks
        self._windows = windows
        self.hosts = 0
        self.rings: list[tuple[int, ...]] = []
        self._rack_of: list[int] = []
        self._paths: dict[tuple[int, int], tuple[tuple[Channel, ...], ...]] = {}  # by uplink
        self._unshared: dict[tuple[int, int], Way] = {}
        for shape, links in jobs:
            self._add(shape, links)

    def path(self, sender: int, receiver: int, from_port: int, to_port: int) -> tuple[Channel, ...]:
        """Return the channels that a message passes; see `netmodels.packets.engine.Network`."""
        paths = self._paths[sender, receiver]
        if len(paths) == 1:
            return paths[0]
        switch = self.hosts + self._rack_of[sender] + (self._draw << 16)
        return paths[core_of(switch, (sender, receiver), (from_port, to_port), len(paths))]

    def unshared(self, sender: int, receiver: int) -> Way | None:
        """Return the way between GPUs of one machine."""
        return self._unshared.get((sender, receiver))

    def latency_ns(self, job: int) -> float:
        """Return the time of a ring of no bytes: a round trip for every step, on the mean of all hops."""
        around_ns = sum(2 * channel.wire.latency_ns for hop in self._hops(job) for channel in hop)
        return 2 * (1 - 1 / len(self.rings[job])) * around_ns

    def ns_per_byte(self, job: int) -> float:
        """Return the time of a byte of an all-reduce on the narrowest link."""
        narrowest = min(channel.wire.gbit_s for hop in self._hops(job) for channel in hop)
        return 2 * (1 - 1 / len(self.rings[job])) * 8 / narrowest

    def _hops(self, job: int) -> list[tuple[Channel, ...]]:
        ring = self.rings[job]
        return [self._paths[gpu, ring[(place + 1) % len(ring)]][0] for place, gpu in enumerate(ring)]

    def work(self, job: int, message_bytes: int, cells: int) -> int:
        """Return the cost of following a step of a job's ring, in packets: messages of all its GPUs.

        Parameters
        ----------
        job
            Its number.
        message_bytes, cells
            Of a message, as for `netmodels.packets.engine.Packets`.
        """
        ring, total = self.rings[job], 0
        for place, gpu in enumerate(ring):
            ends = gpu, ring[(place + 1) % len(ring)]
            if cells and ends in self._unshared:
                total += 1
                continue
            window = window_bytes(self._paths[ends][0]) if self._windows else message_bytes
            total += 2 + ceil(message_bytes / cell_bytes(cells, window))
        return total

    def _add(self, shape: Shape, links: Sequence[Link]) -> None:
        network, first = Network(shape, _narrowest(shape, self._fabric)), self.hosts
        count = gpus(shape)
        self.hosts += count
        self.rings.append(tuple(range(first, first + count)))
        places = _places(shape, links)
        self._rack_of += [place.rack for place in places]
        for one in range(count):
            other = (one + 1) % count
            far = places[one].rack != places[other].rack
            for ends in ((one, other), (other, one)):
                up, down = network.ways(*ends)
                paths = [
                    (
                        *self._half(up, places[ends[0]], "out", first, path),
                        *reversed(list(self._half(down, places[ends[1]], "in", first, path))),
                    )
                    for path in range(self.uplinks if far else 1)
                ]
                self._paths[first + ends[0], first + ends[1]] = tuple(paths)
                if places[one].machine == places[other].machine:
                    wires = [channel.wire for channel in paths[0]]
                    over = tuple((wire.gbit_s / 8, 1.0) for wire in wires)
                    way = way_over(sum(wire.latency_ns for wire in wires), over, windows=self._windows)
                    self._unshared[first + ends[0], first + ends[1]] = way

    def _half(
        self, up: Sequence[HostLink], place: _Place, way: Direction, first: int, path: int
    ) -> Iterator[Channel]:
        """Yield the channels between a GPU and the switch on top, from the GPU on."""
        passed: set[Tier] = set()
        (_, inside), (_, near), (_, far) = self._fabric.tiers(place.machine_type)
        inside_ns = 0
        if up and up[0].tier != "machine":
            inside_ns = min(round(_one_way_ns(inside[-1])), round(up[0].latency_ns))
            gpu_link = PrivateLink((first, -1 - up[0].ends[1]), way)
            yield Channel(gpu_link, Wire(inside[-1].bandwidth_bytes_per_ns * 8, inside_ns))
        for link in up:
            rate, latency_ns = link.bits_per_s / 1e9, round(link.latency_ns) - inside_ns
            node = first, link.ends[1]
            tiers, inside_ns = _passed(link.tier, passed), 0
            if not tiers:
                yield Channel(PrivateLink(node, way), Wire(rate, latency_ns))
            beyond_ns = round(_one_way_ns(far[-1]) - _one_way_ns(near[-1])) if "network" in tiers else 0
            beyond_ns = max(0, min(beyond_ns, latency_ns)) if "rack" in tiers else latency_ns
            if "rack" in tiers:
                port, wire = Link("machine", place.machine, way), Wire(rate, latency_ns - beyond_ns)
                dimensions = dict(self._fabric.tiers(place.machine_type))[link.tier]
                yield from self._port(port, wire, node, dimensions, place.gpus)
            if "network" in tiers:
                yield self._channel(Link("rack", place.rack, way, path), Wire(rate, beyond_ns), inf, first)

    def _port(
        self, link: Link, wire: Wire, node: tuple[int, int], dimensions: Sequence[Dimension], count: int
    ) -> Iterator[Channel]:
        """Yield a port, and before it the limit of this job's GPUs there, if that is less."""
        job_limit = max(dimension.capacity(count, machines=1) for dimension in dimensions) * 8
        channel = self._channel(link, wire, job_limit, node[0])
        if link in self._shared and job_limit * FULL < channel.wire.gbit_s:
            yield Channel(PrivateLink(node, link.way), Wire(job_limit, 0))
        yield channel

    def _channel(self, link: Link, wire: Wire, job_limit: float, first: int) -> Channel:
        """Return the channel of a link that several jobs pass, or of one that only this job does.

        Its rate is the link's capacity, at most `job_limit` Gb/s where only the job passes; that of `wire`
        without either.
        """
        limit = self._capacity.get(link._replace(path=0), inf) * 8
        if link._replace(path=0) in self._shared:
            return Channel(link, wire._replace(gbit_s=limit))
        rate = min(limit, job_limit)
        return Channel(
            PrivateLink((first, link), link.way), wire if rate == inf else wire._replace(gbit_s=rate)
        )


def _places(shape: Shape, links: Sequence[Link]) -> list[_Place]:
    """Return the place of each GPU; machines and racks in the order of the links."""
    machines, racks = (
        iter([link.place for link in links if (link.tier, link.way) == (tier, "out")])
        for tier in ("machine", "rack")
    )
    places: list[_Place] = []
    for in_rack in shape:
        rack = next(racks, -1)
        for machine_type, count in in_rack:
            places += [_Place(next(machines), rack, machine_type, count)] * count
    return places


def _passed(tier: Tier, passed: set[Tier]) -> list[Tier]:
    """Return the tiers whose port or uplink a link passes first; a job alone in its rack skips a switch."""
    tiers = [below for below in TIERS[1 : TIERS.index(tier) + 1] if below not in passed]
    passed.update(tiers)
    return tiers


def _one_way_ns(dimension: Dimension) -> float:
    return dimension.latency_ns if dimension.kind == "switch" else dimension.latency_ns / 2


def _narrowest(shape: Shape, fabric: Fabric) -> SeenTiers:
    """Return the dimensions as the machine type sees them whose ring has the narrowest hop."""
    return max(
        tiers_of(shape, fabric),
        key=lambda tiers: ring_of(shape, tiers, whole=False).hop.narrowest_ns_per_byte,
    )
