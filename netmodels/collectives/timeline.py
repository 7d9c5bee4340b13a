"""Iteration timeline: compute of one data-parallel iteration layer by layer, and its collectives.

Forward through all layers; then backward from the last: weight gradient, issue the layer's all-reduce,
input gradient. Layer 0 has no input gradient. The all-reduces run beside the backward pass; the iteration
ends when both are done, and a layer's update delay, if it has one, has passed since its all-reduce.

    t = sum of forward
    for layer = last .. 0:  t += weight gradient;  issue(layer, t);  if layer > 0: t += input gradient
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import accumulate, count
from typing import Literal, NamedTuple

import numpy as np

from netmodels.collectives.algorithms import Ints
from netmodels.collectives.iteration_time import IterationTime, Span
from netmodels.fabric.shape import TIERS, Shape, Tier, gpus, tier
from netmodels.fabric.system import SystemSettings
from netmodels.profiles.layers import Profile


@dataclass(frozen=True, slots=True)
class Transfer:
    """One phase of a chunk, as the queues see it: a server, a time, and bytes.

    Parameters
    ----------
    server
        Index of the dimension that serves it.
    tier
        Tier of that dimension.
    ns
        Service time.
    sent_bytes
        Bytes that each GPU sends.
    """

    server: int
    tier: Tier
    ns: int
    sent_bytes: int


@dataclass(frozen=True, slots=True)
class ChunkedCollective:
    """A collective as the queues see it: equal chunks with the same transfers, one after the other.

    Parameters
    ----------
    transfers
        Transfers of one chunk, in order; empty if it costs nothing.
    chunks
        Number of chunks.
    launch_ns
        Start-up cost of the collective, during which its first dimension serves no other collective.
    """

    transfers: tuple[Transfer, ...]
    chunks: int = 1
    launch_ns: int = 0

    @property
    def first_way(self) -> tuple[Transfer, ...]:
        """Transfers of the first chunk: the start-up is part of the first of them."""
        if not (self.launch_ns and self.transfers):
            return self.transfers
        first, *others = self.transfers
        return replace(first, ns=first.ns + self.launch_ns), *others


Way = Tier | Literal["ring", "tree"]
"""Carrier of a part of a collective: one tier, level by level, or all tiers in one ring or tree."""


class Part(NamedTuple):
    """A part of every all-reduce of an iteration; the parts of one follow each other.

    Parameters
    ----------
    ns
        Duration alone, shape (sizes,), in the order of `Issues.sizes`.
    sent_bytes
        Bytes that each GPU sends, shape (sizes,), by carrier; of a tree, the bytes that it all-reduces.
    """

    ns: Ints
    sent_bytes: tuple[tuple[Way, Ints], ...] = ()


Served = tuple[int, int, Transfer]
"""Start in ns, place of the collective in the order of issue, transfer."""


@dataclass(frozen=True, slots=True, eq=False)
class Issues:
    """The collectives of an iteration in order of issue, as arrays of shape (n,).

    Parameters
    ----------
    sizes
        The distinct sizes in bytes, sorted, shape (sizes,).
    which
        Size of each collective, as an index into `sizes`.
    issued_ns
        End of the weight gradient.
    updates_ns
        Update delay of its layer.
    """

    sizes: Ints
    which: Ints
    issued_ns: Ints
    updates_ns: Ints


@lru_cache(maxsize=4096)
def issues_of(profile: Profile) -> Issues:
    """Return the collectives of one iteration."""
    issues = list(_issues(profile))
    sizes, which = np.unique([size for _, size, _ in issues], return_inverse=True)
    return Issues(
        sizes.astype(np.int64),
        which,
        np.array([issued_ns for _, _, issued_ns in issues], dtype=np.int64),
        np.array([profile.layers[layer].update_ns for layer, _, _ in issues], dtype=np.int64),
    )


Durations = Callable[[Ints], Ints]
"""From the sizes of all-reduces to their durations alone, ns, both of shape (sizes,)."""


def ring_parts(profile: Profile, shape: Shape, durations: Durations) -> tuple[Part, ...]:
    """Return an iteration's all-reduces as one ring each through all GPUs; none for one GPU, or no bytes."""
    sizes, count = issues_of(profile).sizes, gpus(shape)
    if count < 2 or not len(sizes):
        return ()
    return (Part(durations(sizes), (("ring", 2 * sizes * (count - 1) // count),)),)


def ring_iteration(profile: Profile, shape: Shape, durations: Durations) -> IterationTime:
    """Return the time of an iteration with `ring_parts`, each after its start-up, in one queue."""
    parts = ring_parts(profile, shape, durations)
    if not parts:
        return IterationTime(profile.compute_ns, 0, 0)
    ((alone_ns, ((_, sent_bytes),)),) = parts
    durations_ns = alone_ns + profile.launch_ns

    def details() -> IterationTime:
        sizes = issues_of(profile).sizes
        columns = zip(sizes.tolist(), durations_ns.tolist(), sent_bytes.tolist(), strict=True)
        collectives = {
            size: ChunkedCollective((Transfer(0, tier(shape), ns, sent),)) for size, ns, sent in columns
        }
        return iteration_timeline(profile, collectives, SystemSettings())

    return through_one_queue(profile, durations_ns, details)


def through_one_queue(
    profile: Profile, durations_ns: Ints, details: Callable[[], IterationTime]
) -> IterationTime:
    """Return the time of an iteration whose collectives pass one queue, without the transfers.

    Each starts when it is issued and the one before has ended: with S the running sum of durations, end = S
    + running maximum of (issued - S before).

    Parameters
    ----------
    profile
        The layers.
    durations_ns
        Duration of the collective of each of `issues_of(profile).sizes`.
    details
        Computes the timeline, called only if tiers or spans are read.
    """
    issues = issues_of(profile)
    durations = durations_ns[issues.which]
    sums = durations.cumsum()
    ends = sums + np.maximum.accumulate(issues.issued_ns - (sums - durations))
    end_ns = max(profile.compute_ns, int((ends + issues.updates_ns).max()))
    return IterationTime(profile.compute_ns, int(sums[-1]), end_ns - profile.compute_ns, details=details)


def iteration_timeline(
    profile: Profile, collectives: Mapping[int, ChunkedCollective], system: SystemSettings
) -> IterationTime:
    """Return the timeline of one iteration.

    Parameters
    ----------
    profile
        The layers.
    collectives
        The all-reduce of each size in bytes that a layer has.
    system
        `collective_queue`, `queue_order` and `chunks_in_flight`.
    """
    issues = list(_issues(profile))
    if system.collective_queue == "one":
        served = _one_queue(issues, collectives, system)
    else:
        by_layer = system.queue_order == "lowest_layer_first"
        chunks = [
            chunk
            for place, (layer, size, issued_ns) in enumerate(issues)
            for chunk in _chunks(issued_ns, layer if by_layer else place, place, collectives[size])
        ]
        served = _queue_per_dimension(chunks, system.chunks_in_flight)
    return _summarise(profile.compute_ns, served, [profile.layers[layer].update_ns for layer, _, _ in issues])


def alone(collective: ChunkedCollective, system: SystemSettings) -> tuple[list[tuple[int, Transfer]], int]:
    """Return the transfers of a collective alone, with their starts in ns, and its duration."""
    if collective.chunks == 1:  # nothing queues, and by far the most frequent case
        way = collective.first_way
        *starts, end_ns = accumulate((transfer.ns for transfer in way), initial=0)
        return list(zip(starts, way, strict=True)), end_ns
    served = _queue_per_dimension(_chunks(0, 0, 0, collective), system.chunks_in_flight)
    end_ns = max((start_ns + transfer.ns for start_ns, _, transfer in served), default=0)
    return [(start_ns, transfer) for start_ns, _, transfer in served], end_ns


def _issues(profile: Profile) -> Iterator[tuple[int, int, int]]:
    """Yield (layer, gradient bytes, time of issue) in order of issue, for layers that have a gradient."""
    now_ns = sum(layer.forward_ns for layer in profile.layers)
    for index in range(len(profile.layers) - 1, -1, -1):
        layer = profile.layers[index]
        now_ns += layer.weight_gradient_ns
        if layer.gradient_bytes:
            yield index, layer.gradient_bytes, now_ns
        now_ns += layer.input_gradient_ns


def _one_queue(
    issues: Sequence[tuple[int, int, int]],
    collectives: Mapping[int, ChunkedCollective],
    system: SystemSettings,
) -> list[Served]:
    """Serve whole collectives one after the other in order of issue."""
    known: dict[int, tuple[list[tuple[int, Transfer]], int]] = {}
    served: list[Served] = []
    free_ns = 0
    for place, (_, size, issued_ns) in enumerate(issues):
        if size not in known:
            known[size] = alone(collectives[size], system)
        transfers, duration_ns = known[size]
        start_ns = max(free_ns, issued_ns)
        served += [(start_ns + offset_ns, place, transfer) for offset_ns, transfer in transfers]
        free_ns = start_ns + duration_ns
    return served


class _Chunk(NamedTuple):
    """A chunk in a queue: earliest time, rank (lowest first), collective, transfers."""

    issued_ns: int
    rank: int
    place: int
    transfers: tuple[Transfer, ...]


def _chunks(issued_ns: int, rank: int, place: int, collective: ChunkedCollective) -> list[_Chunk]:
    """Return the chunks of a collective; the first includes the start-up, the others wait for it."""
    first = _Chunk(issued_ns, rank, place, collective.first_way)
    other = _Chunk(issued_ns + collective.launch_ns, rank, place, collective.transfers)
    return [first, *[other] * (collective.chunks - 1)]


def _queue_per_dimension(chunks: Sequence[_Chunk], in_flight: int) -> list[Served]:
    """Serve up to `in_flight` chunks at a time in every dimension.

    A free dimension takes the pending chunk of the lowest rank; of equals, the first to arrive. All chunks
    that become pending at an instant are considered before any starts at that instant.
    """
    # Events are (time, chunk, index of its next transfer), at the ends of transfers.
    events = [(chunk.issued_ns, number, 0) for number, chunk in enumerate(chunks)]
    pending: dict[int, list[tuple[int, int, int, int]]] = {}
    busy: dict[int, int] = {}
    served: list[Served] = []
    arrivals = count()
    heapify(events)
    while events:
        now_ns = events[0][0]
        while events and events[0][0] == now_ns:
            _, number, index = heappop(events)
            transfers = chunks[number].transfers
            if index:
                busy[transfers[index - 1].server] -= 1
            if index < len(transfers):
                wish = (chunks[number].rank, next(arrivals), number, index)
                heappush(pending.setdefault(transfers[index].server, []), wish)
        for server, waiting in pending.items():
            while waiting and busy.get(server, 0) < in_flight:
                _, _, number, index = heappop(waiting)
                transfer = chunks[number].transfers[index]
                served.append((now_ns, chunks[number].place, transfer))
                busy[server] = busy.get(server, 0) + 1
                heappush(events, (now_ns + transfer.ns, number, index + 1))
    return served


def _summarise(compute_ns: int, served: Sequence[Served], updates_ns: Sequence[int]) -> IterationTime:
    if not served:
        return IterationTime(compute_ns, 0, 0)
    ends_ns = (start_ns + transfer.ns + updates_ns[place] for start_ns, place, transfer in served)
    end_ns = max(compute_ns, *ends_ns)
    spans = _spans(served)
    return IterationTime(compute_ns, _union_ns(spans), end_ns - compute_ns, _tiers(spans), spans)


def _tiers(spans: tuple[Span, ...]) -> tuple[tuple[Tier, int], ...]:
    """Return the time for which each tier carries data; the spans of one tier do not overlap."""
    used = {span.tier for span in spans}
    return tuple(
        (tier, sum(span.end_ns - span.start_ns for span in spans if span.tier == tier))
        for tier in TIERS
        if tier in used
    )


def _spans(served: Sequence[Served]) -> tuple[Span, ...]:
    """Join adjacent and overlapping transfers of one tier into spans, sorted by start."""
    joined: list[tuple[int, int, Tier, int]] = []
    open_: dict[Tier, tuple[int, int, int]] = {}  # start, end, bytes
    for begin_ns, _, transfer in served:
        tier, until_ns = transfer.tier, begin_ns + transfer.ns
        start_ns, end_ns, sent_bytes = open_.get(tier, (begin_ns, begin_ns, 0))
        if begin_ns > end_ns:
            joined.append((start_ns, end_ns, tier, sent_bytes))
            start_ns, end_ns, sent_bytes = begin_ns, begin_ns, 0
        open_[tier] = (start_ns, max(end_ns, until_ns), sent_bytes + transfer.sent_bytes)
    joined += [(start_ns, end_ns, tier, sent) for tier, (start_ns, end_ns, sent) in open_.items()]
    joined.sort(key=lambda row: (row[0], row[1], TIERS.index(row[2])))
    return tuple(Span(*row) for row in joined)


def _union_ns(spans: tuple[Span, ...]) -> int:
    """Return the time that at least one span covers."""
    total_ns = 0
    reached_ns = 0
    for span in spans:
        if span.end_ns > reached_ns:
            total_ns += span.end_ns - max(span.start_ns, reached_ns)
            reached_ns = span.end_ns
    return total_ns
