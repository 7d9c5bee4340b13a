"""The links that the rings of several jobs cross, as packets have them.

Each job's GPUs have their own links to the switch of their machine; from there its messages pass the
machine's port and, between racks, uplinks. Ports and uplinks that several jobs pass are one queue for all of
them; of others each job has a queue of its own. If a job's GPUs in a machine send less than a shared port
carries, their own way comes before it. Parallel uplinks are drawn by a hash of the GPUs' numbers here, so by
chance: not the draws of a real cluster.

Every link is a queue: an acknowledgement never overtakes the packets before it.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from math import ceil, inf
from typing import NamedTuple

from netmodels.collectives.dimensions import SeenTiers, tiers_of
from netmodels.collectives.hosts import Link as HostLink
from netmodels.collectives.hosts import Network
from netmodels.collectives.packet_transport import Way, way_over
from netmodels.collectives.rings import ring_of
from netmodels.contention.links import FULL, Direction, Link
from netmodels.contention.packets import cell_bytes, window_bytes
from netmodels.contention.sending import Sending
from netmodels.contention.tree import Lane, Own, Wire, core_of
from netmodels.fabric.fabric import Dimension, Fabric
from netmodels.fabric.shape import TIERS, Shape, Tier, gpus


class _At(NamedTuple):
    """Where a GPU is: its machine and rack, the machine's type, and the job's GPUs there."""

    machine: int
    rack: int
    kind: str
    gpus: int


class RingLanes:
    """The links of some jobs' rings.

    Parameters
    ----------
    jobs
        Jobs whose `ring` is known.
    shared
        Links that several jobs pass.
    capacity
        Of the links of the jobs, byte/ns.
    fabric
        The network.
    windows
        Whether messages have windows.

    Attributes
    ----------
    rings
        The GPUs of each job, in the order of its ring; no two jobs have one in common.
    uplinks
        Links that each uplink consists of.
    """

    def __init__(
        self,
        jobs: Sequence[Sending],
        shared: Set[Link],
        capacity: Mapping[Link, float],
        fabric: Fabric,
        *,
        windows: bool,
    ) -> None:
        self._shared = shared
        self._capacity = capacity
        self._fabric = fabric
        self.uplinks = fabric.uplinks
        self._windows = windows
        self.hosts = 0
        self.rings: list[tuple[int, ...]] = []
        self._rack_of: list[int] = []
        self._lanes: dict[tuple[int, int], tuple[tuple[Lane, ...], ...]] = {}  # by uplink
        self._own: dict[tuple[int, int], Way] = {}
        for job in jobs:
            assert job.ring is not None
            self._add(job.ring.shape, job.links)

    def lanes(self, sender: int, receiver: int, from_port: int, to_port: int) -> tuple[Lane, ...]:
        """Return the links that a message takes; see `netmodels.contention.tree.Tree.lanes`."""
        paths = self._lanes[sender, receiver]
        if len(paths) == 1:
            return paths[0]
        switch = self.hosts + self._rack_of[sender]
        return paths[core_of(switch, (sender, receiver), (from_port, to_port), len(paths))]

    def own(self, sender: int, receiver: int) -> Way | None:
        """Return the way between GPUs of one machine."""
        return self._own.get((sender, receiver))

    def latency_ns(self, job: int) -> float:
        """Return what a ring of no bytes takes: a round trip for every step, on the mean of all hops."""
        ring = self.rings[job]
        hops = (self._lanes[gpu, ring[(place + 1) % len(ring)]][0] for place, gpu in enumerate(ring))
        around_ns = sum(2 * lane.wire.latency_ns for lanes in hops for lane in lanes)
        return 2 * (len(ring) - 1) / len(ring) * around_ns

    def ns_per_byte(self, job: int) -> float:
        """Return the time of a byte of an all-reduce on the narrowest link."""
        ring = self.rings[job]
        hops = (self._lanes[gpu, ring[(place + 1) % len(ring)]][0] for place, gpu in enumerate(ring))
        narrowest = min(lane.wire.gbit_s for lanes in hops for lane in lanes)
        return 2 * (len(ring) - 1) / len(ring) * 8 / narrowest

    def work(self, job: int, message_bytes: int, cells: int) -> int:
        """Return what a step of a job's ring costs to follow, in packets: messages of all its GPUs.

        Parameters
        ----------
        job
            Its number.
        message_bytes, cells
            Of a message, as for `netmodels.contention.packets.Packets`.
        """
        ring, found = self.rings[job], 0
        for place, gpu in enumerate(ring):
            ends = gpu, ring[(place + 1) % len(ring)]
            if cells and ends in self._own:
                found += 1
                continue
            window = window_bytes(self._lanes[ends][0]) if self._windows else message_bytes
            found += 2 + ceil(message_bytes / cell_bytes(cells, window))
        return found

    def _add(self, shape: Shape, links: Sequence[Link]) -> None:
        network, first = Network(shape, _narrowest(shape, self._fabric)), self.hosts
        count = gpus(shape)
        self.hosts += count
        self.rings.append(tuple(range(first, first + count)))
        at = _places(shape, links)
        self._rack_of += [each.rack for each in at]
        for one in range(count):
            other = (one + 1) % count
            far = at[one].rack != at[other].rack
            for ends in ((one, other), (other, one)):
                up, down = network.ways(*ends)
                paths = [
                    (
                        *self._half(up, at[ends[0]], "out", first, path),
                        *reversed(list(self._half(down, at[ends[1]], "in", first, path))),
                    )
                    for path in range(self.uplinks if far else 1)
                ]
                self._lanes[first + ends[0], first + ends[1]] = tuple(paths)
                if at[one].machine == at[other].machine:
                    wires = [lane.wire for lane in paths[0]]
                    over = tuple((wire.gbit_s / 8, 1.0) for wire in wires)
                    way = way_over(sum(wire.latency_ns for wire in wires), over, windows=self._windows)
                    self._own[first + ends[0], first + ends[1]] = way

    def _half(
        self, way_up: Sequence[HostLink], at: _At, way: Direction, first: int, path: int
    ) -> Iterator[Lane]:
        """Yield the links between a GPU and the switch on top, from the GPU on."""
        passed: set[Tier] = set()
        (_, inside), (_, near), (_, far) = self._fabric.tiers(at.kind)
        inside_ns = 0
        if way_up and way_up[0].tier != "machine":
            inside_ns = min(round(_one_way_ns(inside[-1])), round(way_up[0].latency_ns))
            own = Own((first, -1 - way_up[0].ends[1]), way)
            yield Lane(own, Wire(inside[-1].bandwidth_bytes_per_ns * 8, inside_ns))
        for each in way_up:
            rate, latency_ns = each.bits_per_s / 1e9, round(each.latency_ns) - inside_ns
            node = first, each.ends[1]
            tiers, inside_ns = _passed(each.tier, passed), 0
            if not tiers:
                yield Lane(Own(node, way), Wire(rate, latency_ns))
            beyond_ns = round(_one_way_ns(far[-1]) - _one_way_ns(near[-1])) if "network" in tiers else 0
            beyond_ns = max(0, min(beyond_ns, latency_ns)) if "rack" in tiers else latency_ns
            if "rack" in tiers:
                link, wire = Link("machine", at.machine, way), Wire(rate, latency_ns - beyond_ns)
                yield from self._port(link, wire, node, dict(self._fabric.tiers(at.kind))[each.tier], at.gpus)
            if "network" in tiers:
                yield self._lane(Link("rack", at.rack, way, path), Wire(rate, beyond_ns), inf, first)

    def _port(
        self, link: Link, wire: Wire, node: tuple[int, int], dimensions: Sequence[Dimension], here: int
    ) -> Iterator[Lane]:
        """Yield a port, and before it what this job's GPUs have of it, if that is less."""
        own = max(each.capacity(here, machines=1) for each in dimensions) * 8
        lane = self._lane(link, wire, own, node[0])
        if link in self._shared and own * FULL < lane.wire.gbit_s:
            yield Lane(Own(node, link.way), Wire(own, 0))
        yield lane

    def _lane(self, link: Link, wire: Wire, own: float, first: int) -> Lane:
        """Return a link that several jobs pass, or one that only this job does.

        Its rate is its capacity, at most `own` Gb/s where only the job passes; that of `wire` without either.
        """
        limit = self._capacity.get(link._replace(path=0), inf) * 8
        if link._replace(path=0) in self._shared:
            return Lane(link, wire._replace(gbit_s=limit))
        rate = min(limit, own)
        return Lane(Own((first, link), link.way), wire if rate == inf else wire._replace(gbit_s=rate))


def _places(shape: Shape, links: Sequence[Link]) -> list[_At]:
    """Return where each GPU is; machines and racks in the order of the links."""
    machines, racks = (
        iter([link.place for link in links if (link.tier, link.way) == (tier, "out")])
        for tier in ("machine", "rack")
    )
    found: list[_At] = []
    for in_rack in shape:
        rack = next(racks, -1)
        for kind, here in in_rack:
            found += [_At(next(machines), rack, kind, here)] * here
    return found


def _passed(tier: Tier, passed: set[Tier]) -> list[Tier]:
    """Return the tiers whose port or uplink a link passes first; a job alone in its rack skips a switch."""
    found = [each for each in TIERS[1 : TIERS.index(tier) + 1] if each not in passed]
    passed.update(found)
    return found


def _one_way_ns(dimension: Dimension) -> float:
    return dimension.latency_ns if dimension.kind == "switch" else dimension.latency_ns / 2


def _narrowest(shape: Shape, fabric: Fabric) -> SeenTiers:
    """Return the dimensions as the machine type sees them whose ring has the narrowest hop."""
    return max(
        tiers_of(shape, fabric), key=lambda each: ring_of(shape, each, whole=False).hop.narrowest_ns_per_byte
    )
