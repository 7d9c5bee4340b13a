"""A network with times that are simple to compute by hand: rings over ports and uplinks of 1 byte/ns.

A job on two GPUs sends each byte of its gradients once: a model that sends n bytes needs n ns.
"""

from collections.abc import Iterable
from typing import Literal

from artist.core.cluster import Cluster
from netmodels.api import (
    Contention,
    Dimension,
    Fabric,
    IterationTime,
    Layer,
    Profile,
    Shape,
    Slice,
    SystemSettings,
)
from netmodels.collectives.timeline import Part, ring_parts, through_one_queue
from netmodels.fabric.shape import gpus

_IN_RACK = Dimension("switch", 0.0, 1.0, machine_bytes_per_ns=1.0)
_BETWEEN_RACKS = Dimension("switch", 0.0, 1.0, machine_bytes_per_ns=1.0, rack_bytes_per_ns=1.0)
_IN_MACHINE = Dimension("switch", 0.0, 1.0, links="members")
FABRIC = Fabric("narrow", (_IN_MACHINE,), (_IN_RACK,), (_BETWEEN_RACKS,))
ENDLESS = Fabric("endless", (_IN_MACHINE,), (_IN_MACHINE,), (_IN_MACHINE,))
"""Links that no two jobs share."""


class Rings:
    """A network model: every all-reduce is one ring over all GPUs of a job on several machines.

    Parameters
    ----------
    slower
        Factor by which rings take longer because of another limit of each job.
    """

    version = "1"

    def __init__(self, slower: int = 1) -> None:
        self._slower = slower

    def iteration(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> IterationTime:
        """Return the time of one iteration; see `netmodels.api.NetworkModel`."""
        parts = self.parts(profile, shape, fabric, system)
        if not parts:
            return IterationTime(profile.compute_ns, 0, 0)
        return through_one_queue(profile, parts[0].ns, lambda: IterationTime(0, 0, 0))

    def parts(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> tuple[Part, ...]:
        """Return the one part of each all-reduce."""
        n = gpus(shape)
        if sum(len(rack) for rack in shape) < 2:
            return ()
        return ring_parts(profile, shape, lambda sizes: self._slower * 2 * (n - 1) * sizes // n)


def model(compute_ns: int, sent_ns: int, hidden_ns: int = 0) -> Profile:
    """Return a model by the time that it computes and, on 2 GPUs, sends.

    Parameters
    ----------
    hidden_ns
        Compute time left when it begins to send.
    """
    first = Layer("first", 0, 0, hidden_ns, 0)
    last = Layer("last", 0, 0, compute_ns - hidden_ns, sent_ns)
    return Profile("toy", (first, last))


Way = Literal["mean_field", "flow_level"]


def shared_links(way: Way, machines: Iterable[Slice], fabric: Fabric = FABRIC, slower: int = 1) -> Contention:
    """Return the links of some machines, with all their GPUs, which jobs share; no packets are followed."""
    known: Literal["mean_field", "packets"] = "packets" if way == "flow_level" else way
    return Contention(known, machines, fabric, SystemSettings(), Rings(slower), max_packets=0)


def links_of(way: Way, cluster: Cluster, fabric: Fabric = FABRIC, slower: int = 1) -> Contention:
    """Return the links of a cluster, which jobs share."""
    machines = [(m.rack, number, m.type, m.gpus) for number, m in enumerate(cluster.machines)]
    return shared_links(way, machines, fabric, slower)
