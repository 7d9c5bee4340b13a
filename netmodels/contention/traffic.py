"""The transfers of one job's iteration, alone, on the links that it shares.

An iteration is its compute and its all-reduces, each of one or more *transfers*: its start-up, then the parts
that `netmodels.models.analytical` prices. Transfers pass one queue beside the backward pass
(`netmodels.collectives.timeline`), each when it has been issued and the one before has ended. A transfer
sends its bytes evenly over its time. With S the size of an all-reduce over n GPUs, a port or an uplink
carries, out and likewise in,

    level by level   the bytes that each GPU sends on the tier, for every GPU of the job behind the link: a
                     machine's port carries the rack's and the network's part, a rack's uplink the network's
    ring             the bytes of one GPU, 2 (n-1) / n S: the ring leaves every machine and every rack once;
                     bytes that leave a rack are divided over the ports of its GPUs, as they are priced
    tree             S / 2 for each edge of either tree that crosses the link. The trees join the machines in
                     order: in one, machine i (of 0 .. k-1) hangs on the even number next to it at twice its
                     distance, where its distance is the largest power of two in i; the other is its mirror
                     image, for odd k shifted by one place (NCCL, src/graph/trees.cc, ncclGetDtree)

Approximated: several chunks or a queue per dimension (`chunks`, `collective_queue`) run side by side; here
each collective is one transfer that carries all its bytes evenly, and the next one waits for it. With
`transport` other than `ideal`, bytes include headers.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol, runtime_checkable

import numpy as np

from netmodels.collectives.across_machines import add_ns
from netmodels.collectives.algorithms import Ints
from netmodels.collectives.packet_transport import HEADER_BYTES, PAYLOAD_BYTES
from netmodels.collectives.ring_steps import Floats
from netmodels.collectives.timeline import Part, Way, issues_of
from netmodels.contention.transfers import JobTraffic, RingLayers
from netmodels.fabric.fabric import Fabric
from netmodels.fabric.links import DIRECTIONS, Link, Slice, ports
from netmodels.fabric.shape import Shape, Tier, gpus, shape_of
from netmodels.fabric.system import SystemSettings
from netmodels.models.analytical import AnalyticalModel
from netmodels.packets.rings import Layer
from netmodels.profiles.buckets import bucketed
from netmodels.profiles.layers import Profile


@runtime_checkable
class Priced(Protocol):
    """A network model that prices the parts of an iteration's all-reduces."""

    def parts(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> tuple[Part, ...]:
        """Return the parts in order; see `netmodels.models.analytical.AnalyticalModel.parts`."""
        ...


def job_traffic(
    profile: Profile,
    placement: Sequence[Slice],
    fabric: Fabric,
    system: SystemSettings,
    model: Priced | None = None,
    *,
    packets: bool = False,
) -> JobTraffic:
    """Return the traffic of an iteration of a job alone.

    Parameters
    ----------
    profile
        The layers.
    placement
        (rack, machine, machine type, GPUs) for each machine of the job.
    fabric, system
        As for `netmodels.api.NetworkModel.iteration`.
    model
        Prices the parts: an `AnalyticalModel` by default, or a `MeasuredModel`.
    packets
        Whether it is to be followed packet by packet, where it runs `in_rings`.
    """
    model = model or AnalyticalModel()
    if profile.program is not None and isinstance(model, AnalyticalModel) and system.collectives == "nccl":
        traffic: JobTraffic = profile.program.traffic(placement, fabric, profile.factor)
        return traffic
    profile = bucketed(profile, system.bucket_bytes)
    shape = shape_of((rack, machine_type, gpus) for rack, _, machine_type, gpus in placement)
    parts = model.parts(profile, shape, fabric, system)
    if profile.launch_ns and parts:
        parts = (Part(np.full_like(parts[0].ns, profile.launch_ns)), *parts)
    links = links_of(placement)
    with_headers = system.packets and system.collectives != "nccl"
    headers = 1 + with_headers * HEADER_BYTES / PAYLOAD_BYTES
    times_ns = np.array([part.ns for part in parts], dtype=np.int64)
    sent = np.array([_on_links(part, placement, links) for part in parts]) * headers
    traffic = _in_order(profile, links, times_ns, sent)
    if not links or not packets or not in_rings(system):
        return traffic
    return replace(traffic, ring=_ring_layers(profile, shape, system, _peaks(placement, links, fabric)))


IN_RINGS = "network.system.collectives=astra_sim with across_machines=flat_ring and chunks=1"
"""The settings of `in_rings`, in the words of the configuration."""


def in_rings(system: SystemSettings) -> bool:
    """Return whether collectives are rings of whole messages, which can be followed packet by packet."""
    return system.across_machines == "flat_ring" and system.chunks == 1 and system.collectives != "nccl"


def _ring_layers(
    profile: Profile, shape: Shape, system: SystemSettings, peaks: tuple[float, ...]
) -> RingLayers:
    """Return the all-reduces as rings of messages."""
    issues, count = issues_of(profile), gpus(shape)
    sizes = issues.sizes[issues.which].tolist()
    computed_ns = np.diff(issues.issued_ns, prepend=0).tolist()
    layers = [
        Layer(
            compute_ns,
            size,
            launch_ns=profile.launch_ns,
            add_ns=add_ns(size // count, system),
            update_ns=update_ns,
        )
        for compute_ns, size, update_ns in zip(computed_ns, sizes, issues.updates_ns.tolist(), strict=True)
    ]
    rest_ns = profile.compute_ns - int(issues.issued_ns[-1]) if layers else profile.compute_ns
    return RingLayers(shape, (*layers, Layer(rest_ns, 0)), peaks)


def _peaks(placement: Sequence[Slice], links: Sequence[Link], fabric: Fabric) -> tuple[float, ...]:
    """Return the rate at which a message leaves or enters the places of each link, as GPUs share ports."""
    peaks: dict[tuple[Tier, int], float] = {}
    for rack, machine, machine_type, count in placement:
        near, far = ports(fabric, machine_type, count)
        peaks["machine", machine], peaks["network", machine] = near, far
        peaks["rack", rack] = max(peaks.get(("rack", rack), 0.0), min(near, far))
    return tuple(peaks[link.tier, link.place] for link in links)


def _on_links(part: Part, placement: Sequence[Slice], links: tuple[Link, ...]) -> Floats:
    """Return the bytes of a part of the collectives of each size on each link, shape (sizes, links)."""
    total = np.zeros((len(part.ns), len(links)))
    for way, sent_bytes in part.sent_bytes:
        carried = carried_by(placement, way)
        total += np.outer(sent_bytes, [carried.get(link, 0.0) for link in links])
    return total


def _in_order(profile: Profile, links: tuple[Link, ...], times_ns: Ints, sent: Floats) -> JobTraffic:
    """Put the parts, shape (parts, sizes), in the order of issue; parts that take no time are left out."""
    issues = issues_of(profile)
    parts = len(times_ns)
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return JobTraffic(profile.compute_ns, none, none, (), np.zeros((0, 0)), none)
    transfers_ns = times_ns[:, issues.which].T.ravel()
    carried = sent[:, issues.which].swapaxes(0, 1).reshape(len(transfers_ns), len(links))
    takes = transfers_ns > 0
    return JobTraffic(
        profile.compute_ns,
        np.repeat(issues.issued_ns, parts)[takes],
        transfers_ns[takes],
        links,
        carried[takes],
        np.repeat(issues.updates_ns, parts)[takes],
    )


def links_of(placement: Sequence[Slice]) -> tuple[Link, ...]:
    """Return the links that a placement sends on; none within one machine."""
    return _links(tuple((rack, machine) for rack, machine, _, _ in in_ring_order(placement)))


@lru_cache(maxsize=4096)
def _links(machines: tuple[tuple[int, int], ...]) -> tuple[Link, ...]:
    """Return the links of (rack, machine) in the order of the ring."""
    racks = list(dict.fromkeys(rack for rack, _ in machines))
    places: list[tuple[Tier, int]] = []
    if len(machines) > 1:
        places += [("machine", machine) for _, machine in machines]
    if len(racks) > 1:
        places += [("network", machine) for _, machine in machines]
        places += [("rack", rack) for rack in racks]
    return tuple(Link(*place, way) for place in places for way in DIRECTIONS)


def carried_by(placement: Sequence[Slice], way: Way) -> dict[Link, float]:
    """Return the bytes that pass each link, in multiples of those that each GPU sends; see the module.

    Parameters
    ----------
    placement
        (rack, machine, machine type, GPUs) for each machine of the job.
    way
        Ring, tree, or a tier's own exchange.
    """
    slices, links = in_ring_order(placement), links_of(placement)
    if way == "ring":
        in_rack = Counter[int]()
        for rack, _, _, count in slices:
            in_rack[rack] += count
        beyond = {machine: count / in_rack[rack] for rack, machine, _, count in slices}
        return {link: beyond[link.place] if link.tier == "network" else 1.0 for link in links}
    if way == "tree":
        passed = Counter[Link]()
        for one, other in tree_edges(len(slices)):
            passed.update((*_climbed(slices, one, other), *_climbed(slices, other, one)))
        return {link: count / 2 for link, count in passed.items()}
    tiers = {"machine": (), "rack": ("machine",), "network": ("machine", "network", "rack")}[way]
    behind = Counter[tuple[bool, int]]()
    for rack, machine, _, count in slices:
        behind[True, rack] += count
        behind[False, machine] += count
    return {link: behind[link.tier == "rack", link.place] for link in links if link.tier in tiers}


def in_ring_order(placement: Sequence[Slice]) -> list[Slice]:
    """Return the machines with GPUs in the order of the ring (`netmodels.fabric.shape`), ties by number."""
    racks: dict[int, list[Slice]] = {}
    for machine in placement:
        if machine[3]:
            racks.setdefault(machine[0], []).append(machine)
    ordered = [sorted(rack, key=lambda machine: (machine[2:], machine[1])) for rack in racks.values()]
    ordered.sort(key=lambda rack: ([machine[2:] for machine in rack], rack[0][0]))
    return [machine for rack in ordered for machine in rack]


@lru_cache(maxsize=4096)
def tree_edges(machines: int) -> tuple[tuple[int, int], ...]:
    """Return (child, parent) for all edges of the two trees that join some machines."""
    first = list(_tree(machines))
    if machines % 2:
        second = [((one + 1) % machines, (other + 1) % machines) for one, other in first]
    else:
        second = [(machines - 1 - one, machines - 1 - other) for one, other in first]
    return (*first, *second)


def _tree(machines: int) -> Iterator[tuple[int, int]]:
    """Yield (child, parent) for all but the root, 0, whose one child is the largest power of two."""
    for child in range(1, machines):
        distance = child & -child
        parent = (child ^ distance) | 2 * distance
        yield child, parent if parent < machines else child ^ distance


def _climbed(slices: Sequence[Slice], one: int, other: int) -> Iterator[Link]:
    """Yield the links that a message passes from one machine to another."""
    (rack, machine, _, _), (to_rack, to_machine, _, _) = slices[one], slices[other]
    yield from (Link("machine", machine, "out"), Link("machine", to_machine, "in"))
    if rack != to_rack:
        yield from (Link("network", machine, "out"), Link("network", to_machine, "in"))
        yield from (Link("rack", rack, "out"), Link("rack", to_rack, "in"))
