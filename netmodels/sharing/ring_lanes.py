"""The links that the rings of several jobs cross, as packets have them.

Each job's GPUs have their own links to the switch of their machine; a machine's part of the job has its way
to the rack, and a rack's its way to the core, as wide as all its GPUs' ports together
(`netmodels.astra_sim.hosts`: what ns-3 is asked about the job alone). Where jobs could overload a port or an
uplink, all pass that one; if it is wider than the job's own way to it, that comes before it. Packets queue at
the GPU that sends them, on shared links, and on own links narrower than all before them; elsewhere they take
their time.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from math import ceil

from netmodels.astra_sim.hosts import Link as HostLink
from netmodels.astra_sim.hosts import Network
from netmodels.fabric import Fabric
from netmodels.levels import SeenTiers, tiers_of
from netmodels.packets import Way, way_over
from netmodels.rings import ring_of
from netmodels.shape import TIERS, Shape, Tier, gpus
from netmodels.sharing.links import FULL, Direction, Link
from netmodels.sharing.packets import cell_bytes, window_bytes
from netmodels.sharing.sending import Sending
from netmodels.sharing.tree import Lane, Own, Wire, core_of


class RingLanes:
    """The links of some jobs' rings.

    Parameters
    ----------
    jobs
        Jobs whose `ring` is known.
    shared
        Links that they could overload.
    capacity
        Of these, byte/ns.
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
        self._shared = {link: capacity[link] * 8 for link in shared}
        self.uplinks = fabric.uplinks
        self._windows = windows
        self.hosts = 0
        self.rings: list[tuple[int, ...]] = []
        self._rack_of: list[int] = []
        self._lanes: dict[tuple[int, int], tuple[tuple[Lane, ...], ...]] = {}  # by uplink
        self._own: dict[tuple[int, int], Way] = {}
        for job in jobs:
            assert job.ring is not None
            self._add(job.ring.shape, job.links, fabric)

    def lanes(self, sender: int, receiver: int, from_port: int, to_port: int) -> tuple[Lane, ...]:
        """Return the links that a message takes; see `netmodels.sharing.tree.Tree.lanes`."""
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
            Of a message, as for `netmodels.sharing.packets.Packets`.
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

    def _add(self, shape: Shape, links: Sequence[Link], fabric: Fabric) -> None:
        network, first = Network(shape, _narrowest(shape, fabric)), self.hosts
        count = gpus(shape)
        self.hosts += count
        self.rings.append(tuple(range(first, first + count)))
        places = {
            tier: [link.place for link in links if (link.tier, link.way) == (tier, "out")]
            for tier in ("machine", "rack")
        }
        at: list[tuple[int, int]] = []  # machine and rack of each GPU
        for rack, machines in enumerate(shape):
            for _, here in machines:
                place = places["machine"][len({machine for machine, _ in at})]
                at += [(place, places["rack"][rack] if places["rack"] else -1)] * here
        self._rack_of += [rack for _, rack in at]
        for one in range(count):
            other = (one + 1) % count
            for ends in ((one, other), (other, one)):
                up, down = network.ways(*ends)
                paths = [
                    tuple(
                        _queued(
                            [
                                *self._half(up, at[ends[0]], "out", first, path),
                                *reversed(list(self._half(down, at[ends[1]], "in", first, path))),
                            ]
                        )
                    )
                    for path in range(self.uplinks if at[one][1] != at[other][1] else 1)
                ]
                self._lanes[first + ends[0], first + ends[1]] = tuple(paths)
                if at[one][0] == at[other][0]:
                    wires = [lane.wire for lane in paths[0]]
                    over = tuple((wire.gbit_s / 8, 1.0) for wire in wires)
                    way = way_over(sum(wire.latency_ns for wire in wires), over, windows=self._windows)
                    self._own[first + ends[0], first + ends[1]] = way

    def _half(
        self, way_up: Sequence[HostLink], at: tuple[int, int], way: Direction, first: int, path: int
    ) -> Iterator[Lane]:
        """Yield the links between a GPU and the switch on top, from the GPU on."""
        passed: set[Tier] = set()
        for each in way_up:
            own = each.bits_per_s / 1e9
            mine = Lane(Own((first, each.ends[1]), way), Wire(own, 0))
            lanes: list[Lane] = []
            for tier in _passed(each.tier, passed):
                link = Link("machine", at[0], way) if tier == "rack" else Link("rack", at[1], way, path)
                rate = self._shared.get(link._replace(path=0))
                if rate is not None:
                    lanes.append(Lane(link, Wire(rate, 0)))
                elif tier != each.tier:  # the port, on the way to an uplink
                    lanes.append(mine)
            if mine not in lanes and all(lane.wire.gbit_s > own * FULL for lane in lanes):
                lanes.insert(0, mine)
            latency_ns = round(each.latency_ns / len(lanes))
            yield from (lane._replace(wire=Wire(lane.wire.gbit_s, latency_ns)) for lane in lanes)


def _passed(tier: Tier, passed: set[Tier]) -> list[Tier]:
    """Return the tiers whose port or uplink a link passes first; a job alone in its rack skips a switch."""
    found = [each for each in TIERS[1 : TIERS.index(tier) + 1] if each not in passed]
    passed.update(found)
    return found


def _queued(lanes: Sequence[Lane]) -> Iterator[Lane]:
    """Yield links, those without a name where packets cannot queue."""
    narrowest = float("inf")
    for lane in lanes:
        keeps = lane.wire.gbit_s < narrowest or isinstance(lane.link, Link)
        yield lane if keeps else Lane(None, lane.wire)
        narrowest = min(narrowest, lane.wire.gbit_s)


def _narrowest(shape: Shape, fabric: Fabric) -> SeenTiers:
    """Return the dimensions as the machine type sees them whose ring has the narrowest hop."""
    return max(
        tiers_of(shape, fabric), key=lambda each: ring_of(shape, each, whole=False).hop.narrowest_ns_per_byte
    )
