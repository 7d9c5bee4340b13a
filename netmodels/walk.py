"""One data-parallel iteration, walked layer by layer.

Forward through all layers; then backward from the last: weight gradient, issue the layer's all-reduce,
input gradient. Layer 0 has no input gradient. The all-reduces run beside the backward pass; the iteration
ends when both are done, and a layer's update delay, if it has one, has passed since its all-reduce.

    t = sum of forward
    for layer = last .. 0:  t += weight gradient;  issue(layer, t);  if layer > 0: t += input gradient
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from netmodels.api import IterationTime, Span
from netmodels.layers import Profile
from netmodels.shape import TIERS, Tier
from netmodels.system import SystemSettings


@dataclass(frozen=True, slots=True)
class Passage:
    """One phase of a collective, as the queues see it: a server, a time, and what is sent.

    Parameters
    ----------
    server
        Index of the dimension that serves it.
    tier
        Tier of that dimension.
    ns
        Service time.
    sent_bytes
        What each GPU sends.
    """

    server: int
    tier: Tier
    ns: int
    sent_bytes: int


Route = tuple[Passage, ...]
Price = Callable[[int], Route]
"""From the bytes of a gradient to the passages of its all-reduce, in order."""
Issue = tuple[int, int, Route]
"""Time of issue in ns, layer, route. A collective is its place in the list of issues."""
Served = tuple[int, int, Passage]
"""Start in ns, place of the collective, passage."""


def walk(profile: Profile, price: Price, system: SystemSettings) -> IterationTime:
    """Walk one iteration.

    Parameters
    ----------
    profile
        The layers.
    price
        Route of an all-reduce by its bytes; an empty route costs nothing.
    system
        `collective_queue` and `queue_order`.
    """
    routes: dict[int, Route] = {}
    issues: list[Issue] = []
    for layer, bytes_, issued_ns in _issues(profile):
        if bytes_ not in routes:
            routes[bytes_] = price(bytes_)
        issues.append((issued_ns, layer, routes[bytes_]))
    if system.collective_queue == "one":
        served = _one_queue(issues)
    else:
        served = _queue_per_dimension(issues, by_layer=system.queue_order == "lowest_layer_first")
    updates_ns = [profile.layers[layer].update_ns for _, layer, _ in issues]
    return _summarise(profile.compute_ns, served, updates_ns)


def _issues(profile: Profile) -> Iterator[tuple[int, int, int]]:
    """Yield (layer, gradient bytes, time of issue) in order of issue, for layers that have a gradient."""
    now_ns = sum(layer.forward_ns for layer in profile.layers)
    for index in range(len(profile.layers) - 1, -1, -1):
        layer = profile.layers[index]
        now_ns += layer.weight_gradient_ns
        if layer.gradient_bytes:
            yield index, layer.gradient_bytes, now_ns
        now_ns += layer.input_gradient_ns


def _one_queue(issues: Sequence[Issue]) -> list[Served]:
    """Serve whole collectives one after the other in order of issue."""
    served: list[Served] = []
    free_ns = 0
    for place, (issued_ns, _, route) in enumerate(issues):
        free_ns = max(free_ns, issued_ns)
        for passage in route:
            served.append((free_ns, place, passage))
            free_ns += passage.ns
    return served


def _queue_per_dimension(issues: Sequence[Issue], *, by_layer: bool) -> list[Served]:
    """Let every dimension serve one passage at a time.

    A free dimension takes the pending collective with the lowest layer index (`by_layer`) or the one issued
    first. Whatever becomes pending at an instant is seen before anything starts at that instant.
    """
    # Events are (time, place of the collective, index of the passage that it now wants).
    events = [(issued_ns, place, 0) for place, (issued_ns, _, _) in enumerate(issues)]
    rank = [layer if by_layer else place for place, (_, layer, _) in enumerate(issues)]
    pending: dict[int, list[tuple[int, int, int]]] = {}
    free_ns: dict[int, int] = {}
    served: list[Served] = []
    events.sort()
    while events:
        now_ns = events[0][0]
        while events and events[0][0] == now_ns:
            _, place, index = heappop(events)
            route = issues[place][2]
            if index < len(route):
                heappush(pending.setdefault(route[index].server, []), (rank[place], place, index))
        for server, waiting in pending.items():
            if waiting and free_ns.get(server, 0) <= now_ns:
                _, place, index = heappop(waiting)
                passage = issues[place][2][index]
                served.append((now_ns, place, passage))
                free_ns[server] = now_ns + passage.ns
                heappush(events, (now_ns + passage.ns, place, index + 1))
    return served


def _summarise(compute_ns: int, served: Sequence[Served], updates_ns: Sequence[int]) -> IterationTime:
    if not served:
        return IterationTime(compute_ns, 0, 0)
    ends_ns = (start_ns + passage.ns + updates_ns[place] for start_ns, place, passage in served)
    end_ns = max(compute_ns, *ends_ns)
    spans = _spans(served)
    tiers = tuple(
        (tier, sum(span.end_ns - span.start_ns for span in spans if span.tier == tier))
        for tier in TIERS
        if any(passage.tier == tier for _, _, passage in served)
    )
    comm_ns = _union_ns(spans)
    return IterationTime(compute_ns, comm_ns, end_ns - compute_ns, tiers, spans)


def _spans(served: Sequence[Served]) -> tuple[Span, ...]:
    """Join touching and overlapping passages of one tier into spans, sorted by start."""
    joined: list[tuple[int, int, Tier, int]] = []
    open_: dict[Tier, tuple[int, int, int]] = {}  # start, end, bytes
    for begin_ns, _, passage in served:
        tier, until_ns = passage.tier, begin_ns + passage.ns
        start_ns, end_ns, sent_bytes = open_.get(tier, (begin_ns, begin_ns, 0))
        if begin_ns > end_ns:
            joined.append((start_ns, end_ns, tier, sent_bytes))
            start_ns, end_ns, sent_bytes = begin_ns, begin_ns, 0
        open_[tier] = (start_ns, max(end_ns, until_ns), sent_bytes + passage.sent_bytes)
    joined += [(start_ns, end_ns, tier, sent) for tier, (start_ns, end_ns, sent) in open_.items()]
    joined.sort(key=lambda each: (each[0], each[1], TIERS.index(each[2])))
    return tuple(Span(*each) for each in joined)


def _union_ns(spans: tuple[Span, ...]) -> int:
    """Return the time that at least one span covers."""
    total_ns = 0
    reached_ns = 0
    for span in spans:
        if span.end_ns > reached_ns:
            total_ns += span.end_ns - max(span.start_ns, reached_ns)
            reached_ns = span.end_ns
    return total_ns
