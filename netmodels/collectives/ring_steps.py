"""The packet transport's time of a ring: messages followed from block to block.

A ring of n GPUs takes `steps` steps, 2 (n - 1) for an all-reduce. A GPU has a message to send at the start,
and one more whenever it has received one: n messages circulate, each for one hop per step. Every
crossing is simulated: its messages share it fairly, or queue (`netmodels.collectives.packet_transport`). On
uneven rings this is slower than the bandwidth of the narrowest crossing requires: a crossing that has many
messages at once finishes all of them at the end, and the next one starves meanwhile. So 4+4 < 5+3 < 6+2 <
7+1, although all have the same narrowest crossing. Inside a block, messages that arrive together share every
link.

Work: messages x crossings x 2 rounds. A ring that repeats itself is simulated for one period. One with more
than `_MAX_WORK` GPUs x blocks is represented by fewer of its blocks: evenly taken from them in order of size,
and simulated in the order of the ring. Times grow with the number of steps, and the time of their hops
besides transmission is scaled to that of the whole ring: messages of no bytes wait for every true link.

The time is computed for a few sizes of a message and interpolated: up to the window of the narrowest
crossing, within which messages queue; from it on, where they share; and linearly beyond 12 windows, where
latency no longer counts. It never falls with the size. But messages may queue differently on a faster fabric:
if one tier of a shipped one has up to twice the bandwidth or half the latency, one random placement in 13 is
slower, by up to 13 %; with windows, one in 6 by up to 35 %, where messages no longer fit into them.

In closed form (`queueing_ns`), without simulation: the last message makes its hops one after the other, which
takes the *chain*, and the narrowest link carries all messages, which takes the *bound*. Machines of several
GPUs send their messages in bunches, which find the link busy; messages of single GPUs stay apart. With the
share f of hops that are inside machines,

    time = (1 - f) max(bound, chain) + f sqrt(bound^2 + chain^2)

Nothing is fitted. On 2,000 random rings of the shipped fabrics it is 1.7 / 9.4 / 19 % off the simulation
(median, p90, p99). It grows with bytes and latencies and falls with bandwidths. GPUs of two machines in one
raise f, and so the time by more than 1 % (up to 14 %) in one random placement in 20.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from netmodels.collectives.packet_transport import Way
from netmodels.collectives.rings import Block

Floats = npt.NDArray[np.float64]
_MAX_WORK = 256
_QUEUED = np.array([0.0, 1 / 16, 1 / 4, 1.0, 3.0, 12.0])
_WINDOWS = np.insert(_QUEUED, 4, 1.0 + 1e-6)
_ARRIVES, _HANDS_ON, _ACKNOWLEDGED = range(3)


@dataclass(frozen=True, slots=True)
class Steps:
    """Work of the members of a ring.

    Parameters
    ----------
    rounds
        Steps / (GPUs - 1): 2 for an all-reduce, 1 for a reduce-scatter or an all-gather.
    delay_ns
        Of a GPU between receiving a message and sending the next.
    delay_ns_per_byte
        Of local reductions, averaged over the steps.
    """

    rounds: int
    delay_ns: float
    delay_ns_per_byte: float


def steps_ns(blocks: tuple[Block, ...], steps: Steps, messages: Floats) -> Floats:
    """Return the time of all steps for several sizes of a message, shape (n,).

    Parameters
    ----------
    blocks
        The ring.
    steps
        Work of its members.
    messages
        Bytes, shape (n,).
    """
    narrowest = min((block.out for block in blocks), key=lambda way: way.bytes_per_ns)
    known = narrowest.window_bytes * (_WINDOWS if narrowest.windows else _QUEUED)
    needed = min(int(np.searchsorted(known, messages.max())) + 1, len(known))
    times = np.maximum.accumulate([_time_ns(blocks, steps, message) for message in known[:needed].tolist()])
    time_ns: Floats = np.interp(messages, known[:needed], times)
    if needed == len(known):
        slope = (times[-1] - times[-2]) / (known[-1] - known[-2])
        time_ns += np.maximum(messages - known[-1], 0) * slope
    return time_ns


def queueing_ns(blocks: tuple[Block, ...], steps: Steps, messages: Floats) -> Floats:
    """Return the time of all steps in closed form, shape (n,); parameters as for `steps_ns`."""
    delay_ns = steps.delay_ns + steps.delay_ns_per_byte * messages
    ways = _ways(blocks)
    hop_ns = {way: delay_ns + way.alone_ns(messages) + way.beside_ns(messages) for way in ways}
    chain_ns = _chain_ns(blocks, hop_ns, steps.rounds)
    gpus = sum(block.gpus for block in blocks)
    bound_ns = steps.rounds * (gpus - 1) * np.max([way.carried_ns(messages) for way in ways], axis=0)
    inside = 1 - len(blocks) / gpus
    apart_ns, bunched_ns = np.maximum(bound_ns, chain_ns), np.hypot(bound_ns, chain_ns)
    time_ns: Floats = steps.delay_ns + (1 - inside) * apart_ns + inside * bunched_ns
    return time_ns


def _ways(blocks: tuple[Block, ...]) -> set[Way]:
    """Return the paths of a ring; the inner one of a single GPU is not used."""
    return {way for block in blocks for way in (block.inside, block.out)[block.gpus == 1 :]}


def _chain_ns(blocks: tuple[Block, ...], hop_ns: Mapping[Way, Floats], rounds: int) -> Floats:
    """Return the time of the last message's hops: those of `rounds` rings but `rounds` neighbours, the least.

    `hop_ns` has arrays of shape (n,), as has the result.
    """
    hops = [hop_ns[way] for block in blocks for way in (*[block.inside] * (block.gpus - 1), block.out)]
    ring = np.array(hops)
    spared = ring + np.roll(ring, 1, axis=0) if rounds == 2 else ring
    time_ns: Floats = rounds * ring.sum(axis=0) - spared.min(axis=0)
    return time_ns


@lru_cache(maxsize=65_536)
def _time_ns(blocks: tuple[Block, ...], steps: Steps, message: float) -> float:
    followed = representative(blocks)
    gpus, few = (sum(block.gpus for block in ring) for ring in (blocks, followed))
    if len(followed) == 1:
        return round_ns(followed, message, steps.rounds * (gpus - 1), steps)
    stretch = _hop_ns(blocks, message, steps) / _hop_ns(followed, message, steps)
    time_ns = round_ns(followed, message, steps.rounds * (few - 1), steps, stretch)
    return time_ns * (gpus - 1) / (few - 1)


def _hop_ns(blocks: tuple[Block, ...], message: float, steps: Steps) -> float:
    """Return the time of a hop besides transmission, averaged over those of the last message."""
    beside_ns = {way: np.array([way.beside_ns(message)]) for way in _ways(blocks)}
    hops = steps.rounds * (sum(block.gpus for block in blocks) - 1)
    delay_ns = steps.delay_ns + steps.delay_ns_per_byte * message
    return delay_ns + float(_chain_ns(blocks, beside_ns, steps.rounds)[0]) / hops


@lru_cache(maxsize=4096)
def representative(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the ring to simulate: one period; or fewer blocks, of the same sizes on average."""
    count = len(blocks)
    for period in range(1, count // 2 + 1):
        if count % period == 0 and blocks[:period] * (count // period) == blocks:
            blocks, count = blocks[:period], period
            break
    gpus = sum(block.gpus for block in blocks)
    if gpus * count <= _MAX_WORK:
        return blocks
    kept = max(2, min(count - 1, int(count * (_MAX_WORK / (gpus * count)) ** 0.5)))
    ranked = sorted(
        range(count), key=lambda place: (blocks[place].out.bytes_per_ns, blocks[place].gpus, place)
    )
    chosen = {ranked[place * (count - 1) // (kept - 1)] for place in range(kept)}
    return tuple(block for place, block in enumerate(blocks) if place in chosen)


class _Crossing:
    """A crossing and the messages on it, in transmissions of one of them.

    Acknowledgements of its messages leave the machine behind it by the next crossing's narrow link.
    """

    __slots__ = (
        "back",
        "busy_ns",
        "idle",
        "last_ns",
        "least",
        "on_it",
        "queue",
        "queued",
        "round_ns",
        "served",
        "turn",
        "unit_ns",
        "whole",
    )

    def __init__(self, block: Block, message: float) -> None:
        way, beyond = block.out, float(block.out.beyond_window(message))
        self.back = self
        self.queued, self.whole = way.queued, way.queued and beyond == 0
        self.idle, self.least = 0.5 * beyond, 1 + beyond * way.lost_at_sender
        self.unit_ns = float(way.carried_ns(message))
        self.round_ns = way.window_bytes / way.bytes_per_ns
        self.queue: deque[tuple[float, list[int]]] = deque()  # service at which it ends, hops left
        self.on_it = self.turn = 0
        self.served = self.last_ns = self.busy_ns = 0.0

    def pace_ns(self) -> float:
        """Return the time of one transmission for each message on it."""
        waits = self.back.queued and self.back.on_it
        return max(self.on_it + self.idle if waits else self.on_it, self.least) * self.unit_ns

    def advance(self, now_ns: float) -> None:
        """Serve the messages on it until now."""
        if self.on_it:
            self.served += (now_ns - self.last_ns) / self.pace_ns()
        self.last_ns = now_ns

    def ahead_ns(self, now_ns: float) -> float:
        """Return the time for which an acknowledgement waits here for data."""
        if self.whole:
            return max(self.busy_ns - now_ns, 0.0)
        return (self.on_it - 1) * self.round_ns if self.queued and self.on_it else 0.0


class _Ring:
    """State of a ring with its circulating messages."""

    def __init__(self, blocks: tuple[Block, ...], message: float, steps: Steps, stretch: float) -> None:
        delay_ns = steps.delay_ns + steps.delay_ns_per_byte * message
        self.blocks = blocks
        self.crossings = [_Crossing(block, message) for block in blocks]
        for place, crossing in enumerate(self.crossings):
            crossing.back = self.crossings[(place + 1) % len(blocks)]
        self.beside_ns = [stretch * (float(block.out.beside_ns(message)) + delay_ns) for block in blocks]
        self.inner_ns = [stretch * (float(block.inside.beside_ns(message)) + delay_ns) for block in blocks]
        self.inner_unit_ns = [float(block.inside.alone_ns(message)) for block in blocks]
        # Time, number, event type, place, the crossing's turn at scheduling, hops left of each message.
        self.events: list[tuple[float, int, int, int, int, list[int]]] = []
        self.number, self.end_ns = 0, 0.0

    def push(self, at_ns: float, event: int, place: int, messages: list[int], turn: int = 0) -> None:
        """Add an event."""
        self.number += 1
        heappush(self.events, (at_ns, self.number, event, place, turn, messages))

    def run(self, hops: int, start_ns: float) -> float:
        """Return the time at which the last message has made `hops` hops."""
        for place, block in enumerate(self.blocks):
            apart_ns = self.inner_ns[place] + self.inner_unit_ns[place]
            for back in range(min(block.gpus, hops)):
                self.push(start_ns + back * apart_ns, _ARRIVES, place, [hops - back])
        while self.events:
            now_ns, _, event, place, turn, messages = heappop(self.events)
            if event == _ACKNOWLEDGED:
                self.acknowledged(now_ns, place, messages)
            elif event == _ARRIVES:
                self.arrives(now_ns, place, messages)
            elif turn == self.crossings[place].turn:
                self.handed_on(now_ns, place)
        return self.end_ns

    def arrives(self, now_ns: float, place: int, messages: list[int]) -> None:
        """Add messages to a crossing."""
        crossing = self.crossings[place]
        if crossing.whole:
            crossing.busy_ns = max(crossing.busy_ns, now_ns) + len(messages) * crossing.unit_ns
            self.push(crossing.busy_ns + self.beside_ns[place] / 2, _ACKNOWLEDGED, place, messages)
            return
        self.settle(now_ns, place, crossing)
        crossing.queue.append((crossing.served + 1, messages))
        crossing.on_it += len(messages)
        self.arm(place, crossing, changed=crossing.on_it == len(messages))

    def handed_on(self, now_ns: float, place: int) -> None:
        """Remove the first messages from a crossing."""
        crossing = self.crossings[place]
        self.settle(now_ns, place, crossing)
        messages = crossing.queue.popleft()[1]
        crossing.on_it -= len(messages)
        self.arm(place, crossing, changed=not crossing.on_it)
        self.push(now_ns + self.beside_ns[place] / 2, _ACKNOWLEDGED, place, messages)

    def acknowledged(self, now_ns: float, place: int, messages: list[int]) -> None:
        """Pass on acknowledged messages through the next block, to its crossing."""
        following = (place + 1) % len(self.blocks)
        now_ns += self.beside_ns[place] / 2 + self.crossings[following].ahead_ns(now_ns)
        hop_ns = self.inner_ns[following] + len(messages) * self.inner_unit_ns[following]
        inner = self.blocks[following].gpus - 1
        ended = max((left - 1 for left in messages if left - 1 <= inner), default=None)
        if ended is not None:
            self.end_ns = max(self.end_ns, now_ns + ended * hop_ns)
        on = [left - 1 - inner for left in messages if left - 1 > inner]
        if on:
            self.push(now_ns + inner * hop_ns, _ARRIVES, following, on)

    def settle(self, now_ns: float, place: int, crossing: _Crossing) -> None:
        """Serve a crossing until now, and the one before, whose pace it may change."""
        crossing.advance(now_ns)
        self.crossings[place - 1].advance(now_ns)

    def arm(self, place: int, crossing: _Crossing, *, changed: bool) -> None:
        """Schedule the next handover of a crossing, and of the one whose acknowledgements it delays."""
        before = (place - 1) % len(self.blocks)
        both = changed and crossing.queued and before != place
        for at in (before, place) if both else (place,):
            armed = self.crossings[at]
            armed.turn += 1
            if armed.queue:
                due = armed.last_ns + (armed.queue[0][0] - armed.served) * armed.pace_ns()
                self.push(due, _HANDS_ON, at, [], armed.turn)


def round_ns(
    blocks: tuple[Block, ...], message: float, hops: int, steps: Steps, stretch: float = 1.0
) -> float:
    """Return the time at which the last of a ring's messages has made `hops` hops.

    Parameters
    ----------
    blocks
        The ring.
    message
        Bytes.
    hops
        Of each message.
    steps
        Delays.
    stretch
        Factor on the time of a hop besides transmission.
    """
    return _Ring(blocks, message, steps, stretch).run(hops, steps.delay_ns)
