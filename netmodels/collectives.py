"""Closed forms of ring collectives: ASTRA-sim's congestion-unaware back end, to the nanosecond.

With n members, S bytes and msg = S // n, one step sends msg to the ring neighbour:

    step           = int(hops * latency + msg / bandwidth)
    reduction      = 3 * int(msg / (M * 1e9) * 1e9)                       0 without local memory bandwidth M
    reduce-scatter = (n-1) * step + n * delay + (n-1) * reduction         leaves msg bytes
    all-gather     = (n-1) * step + n * delay, where S is what one member has, leaves n * S bytes
    all-reduce     = 2 (n-1) * step + (2 (n-1) + 1) * delay + (n-1) * reduction

Over several dimensions, `bandwidth_aware` reduce-scatters outwards with shrinking size, all-reduces in the
last dimension and all-gathers back: from what the reduce-scatters left, not from the size before, which
differs where divisions left a remainder. `baseline` is a full-size all-reduce in every dimension. A
collective of fewer bytes than there are members is rounded up to one byte each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

from netmodels.fabric import Dimension
from netmodels.system import SystemSettings

Ints = npt.NDArray[np.int64]
N = TypeVar("N", int, Ints)
"""One number, or an array of them, shape (n,): the closed forms hold for many sizes at once."""


@dataclass(frozen=True, slots=True)
class Phase(Generic[N]):
    """One phase of a collective in one dimension.

    Parameters
    ----------
    dimension
        Index of the dimension, innermost 0.
    ns
        How long the phase takes.
    sent_bytes
        What each member sends in it.
    """

    dimension: int
    ns: N
    sent_bytes: N


def link_bandwidth_bytes_per_ns(dimension: Dimension, members: int) -> float:
    """Return the bandwidth at which one of `members` members sends to its neighbour.

    With `links: members` there are as many links as members: a switch member sends over all of them, a
    fully connected one has n // (n - 1) for each neighbour, and a ring has the next even number, 4 for
    two members (ASTRA-sim 1.0, with links-count as the Dally authors set it).
    """
    if dimension.links == "one":
        return dimension.bandwidth_bytes_per_ns
    links = members
    if dimension.kind == "ring":
        links = 4 if members == 2 else members + members % 2
    elif dimension.kind == "fully_connected":
        links = members // max(1, members - 1)
    return dimension.bandwidth_bytes_per_ns * links


@overload
def _whole(value: float) -> int: ...
@overload
def _whole(value: npt.NDArray[Any]) -> Ints: ...
def _whole(value: float | npt.NDArray[Any]) -> int | Ints:
    """Cut off what is behind the point."""
    return value.astype(np.int64) if isinstance(value, np.ndarray) else int(value)


def step_ns(dimension: Dimension, members: int, message_bytes: N) -> N:
    """Return the time to send one message to the ring neighbour."""
    hops = 2 if dimension.kind == "switch" else 1
    bandwidth = link_bandwidth_bytes_per_ns(dimension, members)
    return _whole(hops * dimension.latency_ns + message_bytes / bandwidth)


def reduction_ns(message_bytes: N, system: SystemSettings) -> N:
    """Return the time to add one received message in GPU memory: two reads and a write."""
    memory = system.local_memory_gb_s * 1e9
    return 3 * _whole(message_bytes / memory * 1e9) if memory else 0 * message_bytes


def reduce_scatter_ns(dimension: Dimension, members: int, size_bytes: N, system: SystemSettings) -> N:
    """Return the time to reduce `size_bytes` so that each member keeps its part."""
    if members == 1:
        return 0 * size_bytes
    message = size_bytes // members
    step = step_ns(dimension, members, message) + reduction_ns(message, system)
    return (members - 1) * step + members * system.endpoint_delay_ns


def all_gather_ns(dimension: Dimension, members: int, part_bytes: N, system: SystemSettings) -> N:
    """Return the time until each member has the `part_bytes` of every other."""
    if members == 1:
        return 0 * part_bytes
    return (members - 1) * step_ns(dimension, members, part_bytes) + members * system.endpoint_delay_ns


def all_reduce_ns(dimension: Dimension, members: int, size_bytes: N, system: SystemSettings) -> N:
    """Return the time of an all-reduce of `size_bytes` in one dimension."""
    if members == 1:
        return 0 * size_bytes
    message = size_bytes // members
    steps = 2 * (members - 1)
    time_ns = steps * step_ns(dimension, members, message) + (members - 1) * reduction_ns(message, system)
    return time_ns + (steps + 1) * system.endpoint_delay_ns


def all_reduce_phases(
    dimensions: Sequence[tuple[Dimension, int]], size_bytes: N, system: SystemSettings
) -> tuple[Phase[N], ...]:
    """Return the phases of one all-reduce, in order.

    Parameters
    ----------
    dimensions
        (dimension, members), innermost first. A dimension of one member costs nothing.
    size_bytes
        Size of the whole tensor, or an array of sizes.
    system
        Endpoint delay, local reduction and `collective_optimization`.
    """
    least = prod(members for _, members in dimensions)
    size = np.maximum(size_bytes, least) if isinstance(size_bytes, np.ndarray) else max(size_bytes, least)
    if system.collective_optimization == "baseline":
        return tuple(_all_reduce(place, *each, size, system) for place, each in enumerate(dimensions))
    return _hierarchical(dimensions, size, system)


def _all_reduce(place: int, dimension: Dimension, members: int, size: N, system: SystemSettings) -> Phase[N]:
    sent = 2 * (members - 1) * (size // members)
    return Phase(place, all_reduce_ns(dimension, members, size, system), sent)


def _hierarchical(
    dimensions: Sequence[tuple[Dimension, int]], size: N, system: SystemSettings
) -> tuple[Phase[N], ...]:
    """Reduce-scatter outwards, all-reduce in the last dimension, all-gather back."""
    phases: list[Phase[N]] = []
    last = len(dimensions) - 1
    for place, (dimension, members) in enumerate(dimensions[:-1]):
        time_ns = reduce_scatter_ns(dimension, members, size, system)
        size = size // members
        phases.append(Phase(place, time_ns, (members - 1) * size))
    if last >= 0:
        phases.append(_all_reduce(last, *dimensions[last], size, system))
    for place in range(last - 1, -1, -1):
        dimension, members = dimensions[place]
        phases.append(Phase(place, all_gather_ns(dimension, members, size, system), (members - 1) * size))
        size = size * members
    return tuple(phases)
