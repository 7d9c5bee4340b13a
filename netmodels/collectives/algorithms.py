"""Closed forms of collectives within one dimension, as in ASTRA-sim's congestion-unaware back end.

With n members, S bytes, p = S // n, and

    send(d, m) = int(hops * latency + m / bandwidth)   m bytes to the member d places on; hops: 2 through
                                                       a switch, 1 in a mesh, the shorter way in a ring;
                                                       of packets, see
                                                       `netmodels.collectives.packet_transport`
    add(m)     = 3 * int(m / (M * 1e9) * 1e9)          two reads and a write; 0 without local memory
                                                       bandwidth M
    delay      = of a member, per send or receive

a collective takes, beside its delays,

    ring                all-reduce      2 (n-1) send(1, p) + (n-1) add(p)             2 (n-1) + 1 delays
                        reduce-scatter    (n-1) send(1, p) + (n-1) add(p)             n
                        all-gather        (n-1) send(1, S)                            n
                        all-to-all      s = n (n-1) / 2:  s send(1, p)                s + 1
    direct              all-reduce      2 send(n // 2, p) + add(p)                    3
                        reduce-scatter    send(n // 2, p) + add(p)                    2
                        all-gather        send(n // 2, S)                             2
                        all-to-all        send(n // 2, p)                             2
    halving_doubling    reduce-scatter  send(1, S/2) + send(2, S/4) .. send(n/2, S/n)
      n = 2^k                             + add(S/4) .. add(S/n)                      k + 1
                        all-gather      send(n/2, S) + send(n/4, 2 S) .. send(1, S n/2)  k + 1
                        all-reduce      the two one after the other                   2 k + 1
    double_binary_tree  all-reduce      2 (send(1, S) + send(2, S) .. send(n/2, S))
      n = 2^k                             + (2 k - 1) add(S)                          2 k + 1

The S of an all-gather is the size at one member, else the size at every member at the start. A direct
collective sends all its messages at once, each at the full bandwidth: right for a mesh (fully connected), too
fast by up to n - 1 for a switch or a ring, as in ASTRA-sim (`AnalyticalModel.above_port`). A tree passes the
whole message up and down unpipelined.

Rings and direct collectives accept fractional n (`netmodels.collectives.dimensions`): the forms hold for
them. If n is not a power of two, halving-doubling and trees cost the same as with the next one. Collectives
that an algorithm lacks run on another: trees reduce-scatter and all-gather as rings, halving-doubling and
trees run an all-to-all directly, as collective libraries do.

Sources: ASTRA-sim 2.x, whose recorded answers the tests compare; Patarasuk and Yuan, Bandwidth optimal
all-reduce algorithms for clusters of workstations, 2009 (ring); Thakur, Rabenseifner and Gropp, Optimization
of collective communication operations in MPICH, 2005 (halving-doubling); Sanders, Speck and Traeff, Two-tree
algorithms for full bandwidth broadcast, reduction and scan, 2009 (trees).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from netmodels.collectives.packet_transport import way_over
from netmodels.fabric.fabric import Dimension
from netmodels.fabric.system import Algorithm, SystemSettings

Ints = npt.NDArray[np.int64]
N = TypeVar("N", int, Ints)
"""One number, or an array of them, shape (n,): the closed forms hold for many sizes at once."""

Cost = tuple[Any, Any]
"""Time in ns, and bytes that a member sends: numbers or arrays, possibly of fractions still to be cut."""

Collective = Literal["all_reduce", "reduce_scatter", "all_gather", "all_to_all"]


@dataclass(frozen=True, slots=True)
class Group:
    """The members of one collective within one dimension.

    Parameters
    ----------
    dimension
        The links between them.
    members
        Number of members; 1 or more, a fraction if groups of several sizes are averaged.
    system
        Settings of the end points.
    links
        If messages are packets, the links to a neighbour (`netmodels.collectives.packet_transport.way_over`);
        else none.
    """

    dimension: Dimension
    members: Any
    system: SystemSettings
    links: tuple[tuple[float, float], ...] = ()

    @property
    def rounds(self) -> int:
        """Number of halvings of the members: k of n = 2^k, or of the next power of two."""
        return (int(-(-self.members // 1)) - 1).bit_length()

    @property
    def farthest(self) -> int:
        """Places to the member that is farthest away on a ring."""
        return int(-(-self.members // 1)) // 2

    def delays_ns(self, count: Any) -> Any:
        """Return the delays of `count` sends and receives."""
        return count * self.system.endpoint_delay_ns

    def send_ns(self, distance: int, message: Any) -> Any:
        """Return the time until a message has reached the member `distance` places on."""
        around = min(distance, (1 << self.rounds) - distance)
        hops = {"switch": 2, "fully_connected": 1, "ring": around}[self.dimension.kind]
        if self.links:
            latency_ns, windows = hops * self.dimension.latency_ns, self.system.windows
            return _whole(way_over(latency_ns, self.links, windows=windows).send_ns(message))
        bandwidth = link_bandwidth_bytes_per_ns(self.dimension, self.members)
        return _whole(hops * self.dimension.latency_ns + message / bandwidth)

    def add_ns(self, message: Any) -> Any:
        """Return the time to add a received message in GPU memory: two reads and a write."""
        memory = self.system.local_memory_gb_s * 1e9
        return 3 * _whole(message / memory * 1e9) if memory else 0 * message


def link_bandwidth_bytes_per_ns(dimension: Dimension, members: float) -> float:
    """Return the bandwidth at which one of `members` members sends to its neighbour.

    With `links: members` there are as many links as members: a switch member sends over all of them, a
    fully connected one has n // (n - 1) for each neighbour, and a ring has the next even number, 4 for
    two members (ASTRA-sim 1.0, with links-count as the Dally authors set it).
    """
    if dimension.links == "one":
        return dimension.bandwidth_bytes_per_ns
    links = members = ceil(members)
    if dimension.kind == "ring":
        links = 4 if members == 2 else members + members % 2
    elif dimension.kind == "fully_connected":
        links = members // max(1, members - 1)
    return dimension.bandwidth_bytes_per_ns * links


def port_bytes_per_ns(algorithm: Algorithm, dimension: Dimension, members: float) -> float:
    """Return the bandwidth of all links over which an algorithm sends from one member.

    A ring sends to one neighbour. Other algorithms reach every member: over one link to a switch, one link to
    each in a mesh, two links of a ring.
    """
    links = {"switch": 1.0, "ring": 2.0, "fully_connected": members - 1}[dimension.kind]
    bandwidth = link_bandwidth_bytes_per_ns(dimension, members)
    return bandwidth if algorithm == "ring" else bandwidth * max(1.0, links)


def _whole(value: Any) -> Any:
    """Truncate to a whole number."""
    return value.astype(np.int64) if isinstance(value, np.ndarray) else int(value)


# --- closed forms: the time, and the bytes that a member sends (the mean, where members differ)


def _ring_all_reduce(group: Group, size: Any) -> Cost:
    steps, part = group.members - 1, size // group.members
    time_ns = 2 * steps * group.send_ns(1, part) + steps * group.add_ns(part)
    return time_ns + group.delays_ns(2 * steps + 1), 2 * steps * part


def _ring_reduce_scatter(group: Group, size: Any) -> Cost:
    steps, part = group.members - 1, size // group.members
    time_ns = steps * (group.send_ns(1, part) + group.add_ns(part))
    return time_ns + group.delays_ns(steps + 1), steps * part


def _ring_all_gather(group: Group, size: Any) -> Cost:
    steps = group.members - 1
    return steps * group.send_ns(1, size) + group.delays_ns(steps + 1), steps * size


def _ring_all_to_all(group: Group, size: Any) -> Cost:
    """Pass parts from neighbour to neighbour: a member sends its own and passes on those of others."""
    whole = isinstance(group.members, int)
    steps = group.members * (group.members - 1) // 2 if whole else group.members * (group.members - 1) / 2
    part = size // group.members
    return steps * group.send_ns(1, part) + group.delays_ns(steps + 1), steps * part


def _direct_all_reduce(group: Group, size: Any) -> Cost:
    part = size // group.members
    time_ns = 2 * group.send_ns(group.farthest, part) + group.add_ns(part)
    return time_ns + group.delays_ns(3), 2 * (group.members - 1) * part


def _direct_reduce_scatter(group: Group, size: Any) -> Cost:
    part = size // group.members
    time_ns = group.send_ns(group.farthest, part) + group.add_ns(part)
    return time_ns + group.delays_ns(2), (group.members - 1) * part


def _direct_all_gather(group: Group, size: Any) -> Cost:
    return group.send_ns(group.farthest, size) + group.delays_ns(2), (group.members - 1) * size


def _direct_all_to_all(group: Group, size: Any) -> Cost:
    part = size // group.members
    return group.send_ns(group.farthest, part) + group.delays_ns(2), (group.members - 1) * part


def _halving(group: Group, size: Any) -> Cost:
    """Exchange half with the neighbour, a quarter with the member two places on, and so on."""
    halves = [size >> (i + 1) for i in range(group.rounds)]
    time_ns = sum((group.send_ns(1 << i, half) for i, half in enumerate(halves)), start=0 * size)
    time_ns += sum((group.add_ns(half) for half in halves[1:]), start=0 * size)
    return time_ns, sum(halves, start=0 * size)


def _doubling(group: Group, part: Any) -> Cost:
    """Exchange all received data with ever closer members; it doubles every time."""
    sends = [(group.rounds - 1 - i, part << i) for i in range(group.rounds)]
    time_ns = sum((group.send_ns(1 << far, message) for far, message in sends), start=0 * part)
    return time_ns, sum((message for _, message in sends), start=0 * part)


def _halving_reduce_scatter(group: Group, size: Any) -> Cost:
    time_ns, sent = _halving(group, size)
    return time_ns + group.delays_ns(group.rounds + 1), sent


def _doubling_all_gather(group: Group, size: Any) -> Cost:
    time_ns, sent = _doubling(group, size)
    return time_ns + group.delays_ns(group.rounds + 1), sent


def _halving_doubling_all_reduce(group: Group, size: Any) -> Cost:
    there_ns, sent = _halving(group, size)
    back_ns, sent_back = _doubling(group, size >> (group.rounds + 1) << 1)
    return there_ns + back_ns + group.delays_ns(2 * group.rounds + 1), sent + sent_back


def _tree_all_reduce(group: Group, size: Any) -> Cost:
    way_ns = sum((group.send_ns(1 << i, size) for i in range(group.rounds)), start=0 * size)
    time_ns = 2 * way_ns + (2 * group.rounds - 1) * group.add_ns(size)
    return time_ns + group.delays_ns(2 * group.rounds + 1), 2 * (group.members - 1) * size // group.members


Form = Callable[[Group, Any], Cost]
_FORMS: Mapping[tuple[Algorithm, Collective], Form] = MappingProxyType(
    {
        ("ring", "all_reduce"): _ring_all_reduce,
        ("ring", "reduce_scatter"): _ring_reduce_scatter,
        ("ring", "all_gather"): _ring_all_gather,
        ("ring", "all_to_all"): _ring_all_to_all,
        ("direct", "all_reduce"): _direct_all_reduce,
        ("direct", "reduce_scatter"): _direct_reduce_scatter,
        ("direct", "all_gather"): _direct_all_gather,
        ("direct", "all_to_all"): _direct_all_to_all,
        ("halving_doubling", "all_reduce"): _halving_doubling_all_reduce,
        ("halving_doubling", "reduce_scatter"): _halving_reduce_scatter,
        ("halving_doubling", "all_gather"): _doubling_all_gather,
        ("halving_doubling", "all_to_all"): _direct_all_to_all,
        ("double_binary_tree", "all_reduce"): _tree_all_reduce,
        ("double_binary_tree", "reduce_scatter"): _ring_reduce_scatter,
        ("double_binary_tree", "all_gather"): _ring_all_gather,
        ("double_binary_tree", "all_to_all"): _direct_all_to_all,
    }
)


def price(collective: Collective, algorithm: Algorithm, group: Group, size: N) -> tuple[N, N]:
    """Return the time of a collective within one dimension in ns, and the bytes that a member sends.

    Parameters
    ----------
    collective, algorithm
        The collective and its algorithm.
    group
        The members that take part.
    size
        Bytes that a member starts with; one number or an array.
    """
    if group.members == 1:
        return 0 * size, 0 * size
    time_ns, sent = _FORMS[algorithm, collective](group, size)
    return (time_ns, sent) if isinstance(group.members, int) else (_whole(time_ns), _whole(sent))


def left(collective: Collective, members: float, size: N) -> N:
    """Return the bytes that a member has after a collective that it started with `size` bytes."""
    if collective in ("all_reduce", "all_to_all"):
        return size
    now: N = _whole(size // members if collective == "reduce_scatter" else size * members)
    return now
