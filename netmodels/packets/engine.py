"""Messages of many senders on a fabric's links, packet by packet.

Every switch stores a packet before it sends it on, and each direction of a link is a queue, first in, first
out. A receiver acknowledges every packet; acknowledgements travel back as packets of their own, wait in the
switches' queues like all others, and go before data only at the GPU that sends them. A GPU takes the packets
of its messages in turn. With windows, no message has more bytes on the way than its window: the bytes of an
unloaded round trip on the slowest link of its path (one packet's transmission on every link and all
latencies, there and back; a packet may reach beyond the window's end). A message is over, for both ends, when
its last acknowledgement is back.

The queue pairs and switches of ASTRA-sim's ns-3 back end do the same without congestion control, while
no switch's buffer fills up. Times are whole ns as there: a transmission is rounded to the nearest ns, a round
trip is summed of rounded-down ones. Events of the same ns happen in the order in which they were
scheduled, as there: a transmission schedules its end and the packet's arrival when it begins. This decides
how messages interleave for the rest of a long run, and so does a byte of headers
(`netmodels.collectives.packet_transport`). With windows the answers are ns-3's to the ns
(tests/agreement/test_contention_packets.py).

**Cells.** To follow large messages, whole packets may be joined to *cells*: c of them fill a window of m
packets, so each is (m - 1) / (c - 1) packets long, and of a window as many bytes are on the way as with
packets (without windows, a message is c cells). A switch sends a cell on when it has received its first
packet, and a receiver acknowledges it when it has received the last. Where only one job sends, messages pass
whole, one after the other, in the time that `netmodels.collectives.packet_transport` gives them.

Not here: congestion control, and pauses of full buffers (PFC), which ns-3 sends without windows once some
MiB wait for one port of a switch.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush
from math import ceil
from typing import Any, NamedTuple, Protocol

from netmodels.collectives.ecmp import data_ports
from netmodels.collectives.packet_transport import ACKNOWLEDGEMENT_BYTES, HEADER_BYTES, PAYLOAD_BYTES, Way
from netmodels.fabric.links import Direction, Link

_NO_WINDOW = 1 << 62

Step = Any  # (queue, transmission ns, latency ns) on a link, or the callback at the end of a path
Steps = tuple[Step, ...]
Ended = Callable[[int, Any], None]


class _StoppedError(Exception):
    """Enough has been followed."""


class Wire(NamedTuple):
    """Bandwidth of each direction of a link, in 10^9 bit/s, and its propagation."""

    gbit_s: float
    latency_ns: int


class PrivateLink(NamedTuple):
    """One direction of a link that only one GPU, or one job, has.

    Parameters
    ----------
    place
        Number of the GPU, or another name that is unique.
    way
        From the GPU, or to it.
    """

    place: int | tuple[int, int | Link]
    way: Direction


class Channel(NamedTuple):
    """One direction of a link, with its queue.

    Parameters
    ----------
    link
        Packets on the same one queue. None: packets never queue there.
    wire
        Its bandwidth and latency.
    """

    link: Link | PrivateLink | None
    wire: Wire


class Network(Protocol):
    """Channels between GPUs."""

    @property
    def hosts(self) -> int:
        """GPUs, numbered from 0."""
        ...

    def path(self, sender: int, receiver: int, from_port: int, to_port: int) -> tuple[Channel, ...]:
        """Return the channels that a message passes; ports and GPUs together decide on the uplink."""
        ...

    def unshared(self, sender: int, receiver: int) -> Way | None:
        """Return the way of messages that meet no other job's, if they may pass whole."""
        ...


def transmission_ns(wire: Wire, count_bytes: int) -> int:
    """Return the time to send some bytes over a link."""
    return int(count_bytes * 8 / wire.gbit_s + 0.5)


def window_bytes(channels: tuple[Channel, ...]) -> int:
    """Return the bytes that the slowest link of a path carries in an unloaded round trip."""
    round_trip_ns = sum(
        2 * channel.wire.latency_ns + int(PAYLOAD_BYTES * 8 / channel.wire.gbit_s) for channel in channels
    )
    return int(round_trip_ns * min(channel.wire.gbit_s for channel in channels) / 8)


class _Path:
    """Steps of a message's packets: of whole ones, of the last, and of acknowledgements.

    Those of the sender's own link are apart, as (transmission ns, latency ns).
    """

    __slots__ = ("acknowledgement", "acknowledgement_first", "last", "last_first", "whole", "whole_first")

    def __init__(self, there: list[list[Step]], back: list[Step]) -> None:
        self.whole_first, self.whole = there[0][0][1:], tuple(there[0][1:])
        self.last_first, self.last = there[1][0][1:], tuple(there[1][1:])
        self.acknowledgement_first, self.acknowledgement = back[0][1:], tuple(back[1:])


class _Message:
    """A message on its way."""

    __slots__ = ("acknowledged", "bytes", "cell", "path", "receiver", "sender", "sent", "then", "window")

    def __init__(
        self, count_bytes: int, sizes: tuple[int, int], path: _Path, ends: tuple[Any, Any], then: Any
    ) -> None:
        self.bytes, self.path, self.then = count_bytes, path, then
        self.window, self.cell = sizes
        self.sender, self.receiver = ends
        self.sent = self.acknowledged = 0


class _Host:
    """A GPU's own link: its messages in turn, acknowledgements first."""

    __slots__ = ("acknowledgements", "armed", "free_ns", "freed", "messages", "turn")

    def __init__(self) -> None:
        self.acknowledgements: deque[tuple[_Message, int]] = deque()
        self.messages: list[_Message] = []
        self.turn = self.freed = 0
        self.free_ns = -1
        self.armed = False

    def next_message(self) -> _Message | None:
        """Return the message whose turn it is, and forget those that are over."""
        messages, count = self.messages, len(self.messages)
        chosen, over = None, False
        for ahead in range(1, count + 1):
            place = (self.turn + ahead) % count
            message = messages[place]
            if message.sent < message.bytes and message.sent - message.acknowledged < message.window:
                chosen = message
                self.turn = place
                break
            over = over or message.acknowledged >= message.bytes
        if over:
            self.messages = [
                message for message in messages if message is chosen or message.acknowledged < message.bytes
            ]
            if chosen is not None:
                self.turn = self.messages.index(chosen)
        return chosen

    def waits(self) -> bool:
        """Return whether it has something that it may send."""
        if self.acknowledgements:
            return True
        for message in self.messages:
            if message.sent < message.bytes and message.sent - message.acknowledged < message.window:
                return True
        return False


class Packets:
    """The network in time: an event queue with the links' queues.

    Parameters
    ----------
    tree
        The links.
    windows
        Whether messages have windows.
    cells
        Into how many a window is cut, or a message without windows; 2 or more. 0: into packets.
    """

    def __init__(self, tree: Network, *, windows: bool = True, cells: int = 0) -> None:
        self.tree, self.windows, self.cells = tree, windows, cells
        # Time, number; steps, place among them; subject, its last byte.
        self._events: list[tuple[int, int, Steps, int, Any, int]] = []
        self._number = 0
        self._hosts = [_Host() for _ in range(tree.hosts)]
        # Free from; number of the event that frees it; the waiting packets.
        self._queues: dict[Any, list[Any]] = {}
        self._paths: dict[tuple[tuple[Channel, ...], tuple[Channel, ...], int, int], _Path] = {}
        self._windows: dict[tuple[int, int], int] = {}
        self._free_ns: dict[tuple[int, int], float] = {}  # of ways that messages pass whole
        self._counts: dict[tuple[int, int], int] = {}
        self._wakes: Steps = (self._woken,)
        self.packets = 0

    def at(self, time_ns: int, call: Ended, subject: Any) -> None:
        """Call `call(time_ns, subject)` at that time."""
        self._number += 1
        heappush(self._events, (time_ns, self._number, _CALLED, 0, (call, subject), 0))

    def send(self, now_ns: int, ends: tuple[int, int], count_bytes: int, ended: Ended, subject: Any) -> None:
        """Send a message; `ended(time_ns, subject)` is called when it is over.

        Parameters
        ----------
        now_ns
            The time.
        ends
            GPU that sends, GPU that receives.
        count_bytes
            At least 1.
        ended, subject
            See above.
        """
        if self.cells:
            way = self.tree.unshared(*ends)
            if way is not None:
                through_ns = max(self._free_ns.get(ends, 0), now_ns) + float(way.alone_ns(count_bytes))
                self._free_ns[ends] = through_ns
                self.at(round(through_ns + float(way.beside_ns(count_bytes))), ended, subject)
                return
        count = self._counts.get(ends, 0)
        self._counts[ends] = count + 1
        from_port, to_port = data_ports(count)
        there = self.tree.path(*ends, from_port, to_port)
        back = self.tree.path(ends[1], ends[0], to_port, from_port)
        if ends not in self._windows:
            self._windows[ends] = window_bytes(there) if self.windows else _NO_WINDOW
        window = self._windows[ends]
        cell = cell_bytes(self.cells, window if self.windows else count_bytes)
        path = self._path(there, back, cell, (count_bytes - 1) % cell + 1)
        sender, receiver = self._hosts[ends[0]], self._hosts[ends[1]]
        if cell > PAYLOAD_BYTES and self.windows:
            window = cell * (self.cells - 1) + 1
        message = _Message(count_bytes, (window, cell), path, (sender, receiver), (ended, subject))
        self.at(now_ns, self._joined, message)

    def run(self) -> None:
        """Run until nothing is left to happen, or `stop` is called."""
        with suppress(_StoppedError):
            self._run()

    def _run(self) -> None:
        events, push, pop, freed = self._events, heappush, heappop, (self._freed,)
        while events:
            now, number, steps, place, subject, upto = pop(events)
            step = steps[place]
            if step.__class__ is not tuple:
                step(now, number, subject, upto)
                continue
            queue, takes, latency = step
            waiting = queue[2]
            if queue[0] > now or waiting or (queue[0] == now and queue[1] > number):
                if not waiting:
                    push(events, (queue[0], queue[1], freed, 0, queue, 0))
                waiting.append((takes, latency, steps, place + 1, subject, upto))
                continue
            self._number = number = self._number + 2
            queue[0] = end = now + takes
            queue[1] = number - 1
            push(events, (end + latency, number, steps, place + 1, subject, upto))

    def stop(self) -> None:
        """End `run` at once."""
        raise _StoppedError

    def _freed(self, now: int, number: int, queue: list[Any], _: int) -> None:
        """Begin the next transmission from a queue."""
        takes, latency, *arrival = queue[2].popleft()
        self._number = number = self._number + 2
        queue[0] = end = now + takes
        queue[1] = number - 1
        heappush(self._events, (end + latency, number, *arrival))
        if queue[2]:
            heappush(self._events, (end, number - 1, (self._freed,), 0, queue, 0))

    def _path(self, there: tuple[Channel, ...], back: tuple[Channel, ...], cell: int, last: int) -> _Path:
        key = there, back, cell, last
        if key not in self._paths:
            data = [self._steps(there, _with_headers(size), self._received) for size in (cell, last)]
            packets = max(1, cell // PAYLOAD_BYTES)
            self._paths[key] = _Path(
                data, self._steps(back, packets * ACKNOWLEDGEMENT_BYTES, self._acknowledged)
            )
        return self._paths[key]

    def _steps(self, channels: tuple[Channel, ...], size: int, ended: Any) -> list[Step]:
        """Return the steps of a packet, or of a cell that is sent on once its first packet is there."""
        steps: list[Step] = []
        head = min(size, PAYLOAD_BYTES + HEADER_BYTES)
        for link, wire in channels:
            takes_ns, through_ns = transmission_ns(wire, size), transmission_ns(wire, head) + wire.latency_ns
            if link is None and steps:
                queue, before_ns, latency_ns = steps[-1]
                steps[-1] = (queue, before_ns, latency_ns + through_ns)
            else:
                queue = self._queues.setdefault(link, [-1, 0, deque()])
                steps.append((queue, takes_ns, through_ns - takes_ns))
        if size > head:
            queue, before_ns, latency_ns = steps[-1]
            tail_ns = max(transmission_ns(wire, size - head) for _, wire in channels)
            steps[-1] = (queue, before_ns, latency_ns + tail_ns)
        return [*steps, ended]

    def _serve(self, host: _Host, now: int, number: int) -> None:
        """Send the next packet of a GPU, if its link is free."""
        if host.free_ns > now or (host.free_ns == now and host.freed > number):
            self._arm(host)
            return
        if host.acknowledgements:
            message, upto = host.acknowledgements.popleft()
            first, steps = message.path.acknowledgement_first, message.path.acknowledgement
        else:
            chosen = host.next_message()
            if chosen is None:
                return
            message, path, upto = chosen, chosen.path, chosen.sent + chosen.cell
            if upto < message.bytes:
                first, steps = path.whole_first, path.whole
            else:
                first, steps, upto = path.last_first, path.last, message.bytes
            message.sent = upto
            self.packets += 1
        self._number = number = self._number + 2
        host.free_ns, host.freed = now + first[0], number - 1
        heappush(self._events, (host.free_ns + first[1], number, steps, 0, message, upto))
        if host.waits():
            self._arm(host)

    def _arm(self, host: _Host) -> None:
        """Wake a GPU when its link is free."""
        if not host.armed:
            host.armed = True
            heappush(self._events, (host.free_ns, host.freed, self._wakes, 0, host, 0))

    def _joined(self, now: int, message: _Message) -> None:
        message.sender.messages.append(message)
        self._serve(message.sender, now, self._number)

    def _woken(self, now: int, number: int, host: _Host, _: int) -> None:
        host.armed = False
        self._serve(host, now, number)

    def _received(self, now: int, number: int, message: _Message, upto: int) -> None:
        message.receiver.acknowledgements.append((message, upto))
        self._serve(message.receiver, now, number)

    def _acknowledged(self, now: int, number: int, message: _Message, upto: int) -> None:
        message.acknowledged = upto
        if upto == message.bytes:
            ended, subject = message.then
            ended(now, subject)
        self._serve(message.sender, now, number)


def cell_bytes(cells: int, window: int) -> int:
    """Return the bytes of one of the cells that fill a window; of a packet, if that is half of it or more.

    Parameters
    ----------
    cells
        2 or more; 0 for packets.
    window
        Bytes, or without windows those of the message.
    """
    packets = (ceil(window / PAYLOAD_BYTES) - 1) / (cells - 1) if cells else 1.0
    return ceil(packets * PAYLOAD_BYTES) if packets > 2 else PAYLOAD_BYTES


def _with_headers(size: int) -> int:
    return size + -(-size // PAYLOAD_BYTES) * HEADER_BYTES


def _called(now: int, number: int, subject: tuple[Ended, Any], _: int) -> None:
    call, argument = subject
    call(now, argument)


_CALLED: Steps = (_called,)
