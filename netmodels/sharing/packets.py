"""Messages of many senders on a fabric's links, packet by packet.

Every switch stores a packet before it sends it on, and each direction of a link is a queue, first in, first
out. A receiver acknowledges every packet; acknowledgements travel back as packets of their own, wait in the
switches' queues like all others, and go before data only at the GPU that sends them. A GPU takes the packets
of its messages in turn. With windows, no message has more bytes on the way than its window: what the slowest
link of its path carries in an unloaded round trip (one packet's transmission on every link and all latencies,
there and back; a packet may reach beyond the window's end). A message is over, for both ends, when its last
acknowledgement is back.

This is what the queue pairs and switches of ASTRA-sim's ns-3 back end do without congestion control, while
no switch's buffer fills up. Times are whole ns as there: a transmission is rounded to the nearest ns, a round
trip is summed of rounded-down ones. What happens in the same ns happens in the order in which it was
scheduled, as there: a transmission schedules its end and the packet's arrival when it begins. This decides
how messages interleave for the rest of a long run, and so does a byte of headers (`netmodels.packets`). With
windows the answers are ns-3's to the ns (tests/agreement/test_contention_packets.py).

Not here: congestion control, and pauses of full buffers (PFC), which ns-3 sends without windows once some
MiB wait for one port of a switch.
"""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from netmodels.packets import ACKNOWLEDGEMENT_BYTES, HEADER_BYTES, PAYLOAD_BYTES
from netmodels.sharing.tree import Lane, Tree, Wire, data_ports

_NO_WINDOW = 1 << 62

Step = Any  # (queue, transmission ns, latency ns) on a link, or what to call at the end of a path
Steps = tuple[Step, ...]
Ended = Callable[[int, Any], None]


def transmission_ns(wire: Wire, count_bytes: int) -> int:
    """Return the time to send some bytes over a link."""
    return int(count_bytes * 8 / wire.gbit_s + 0.5)


def window_bytes(lanes: tuple[Lane, ...]) -> int:
    """Return what the slowest link of a path carries in an unloaded round trip."""
    round_trip_ns = sum(
        2 * lane.wire.latency_ns + int(PAYLOAD_BYTES * 8 / lane.wire.gbit_s) for lane in lanes
    )
    return int(round_trip_ns * min(lane.wire.gbit_s for lane in lanes) / 8)


class _Path:
    """What the packets of a message pass: steps of whole packets, of the last, and of acknowledgements.

    Those of the sender's own link are apart, as (transmission ns, latency ns).
    """

    __slots__ = ("acknowledgement", "acknowledgement_first", "last", "last_first", "whole", "whole_first")

    def __init__(self, there: list[list[Step]], back: list[Step]) -> None:
        self.whole_first, self.whole = there[0][0][1:], tuple(there[0][1:])
        self.last_first, self.last = there[1][0][1:], tuple(there[1][1:])
        self.acknowledgement_first, self.acknowledgement = back[0][1:], tuple(back[1:])


class _Message:
    """A message on its way."""

    __slots__ = ("acknowledged", "bytes", "path", "receiver", "sender", "sent", "what", "window")

    def __init__(self, count_bytes: int, window: int, path: _Path, ends: tuple[Any, Any], what: Any) -> None:
        self.bytes, self.window, self.path, self.what = count_bytes, window, path, what
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
            self.messages = [each for each in messages if each is chosen or each.acknowledged < each.bytes]
            if chosen is not None:
                self.turn = self.messages.index(chosen)
        return chosen

    def waits(self) -> bool:
        """Return whether it has something that it may send."""
        if self.acknowledgements:
            return True
        for each in self.messages:
            if each.sent < each.bytes and each.sent - each.acknowledged < each.window:
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
    first_port
        Where each pair's port numbers begin, beyond 10000: what ECMP's draws start from.
    """

    def __init__(self, tree: Tree, *, windows: bool = True, first_port: int = 0) -> None:
        self.tree, self.windows, self.first_port = tree, windows, first_port
        # Time, number; steps, place among them; subject, its last byte.
        self._events: list[tuple[int, int, Steps, int, Any, int]] = []
        self._number = 0
        self._hosts = [_Host() for _ in tree.machine_of]
        # Free from; number of the event that frees it; what waits.
        self._queues: dict[tuple[str, int, int, bool], list[Any]] = {}
        self._paths: dict[tuple[tuple[Lane, ...], tuple[Lane, ...], int], _Path] = {}
        self._windows: dict[tuple[int, int], int] = {}
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
        count = self._counts.get(ends, 0)
        self._counts[ends] = count + 1
        from_port, to_port = data_ports(self.first_port + count)
        there = self.tree.lanes(*ends, from_port, to_port)
        back = self.tree.lanes(ends[1], ends[0], to_port, from_port)
        if ends not in self._windows:
            self._windows[ends] = window_bytes(there) if self.windows else _NO_WINDOW
        path = self._path(there, back, (count_bytes - 1) % PAYLOAD_BYTES + 1)
        sender, receiver = self._hosts[ends[0]], self._hosts[ends[1]]
        message = _Message(count_bytes, self._windows[ends], path, (sender, receiver), (ended, subject))
        self.at(now_ns, self._joined, message)

    def run(self) -> None:
        """Run until nothing is left to happen."""
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

    def _freed(self, now: int, number: int, queue: list[Any], _: int) -> None:
        """Begin the next transmission from a queue."""
        takes, latency, *arrival = queue[2].popleft()
        self._number = number = self._number + 2
        queue[0] = end = now + takes
        queue[1] = number - 1
        heappush(self._events, (end + latency, number, *arrival))
        if queue[2]:
            heappush(self._events, (end, number - 1, (self._freed,), 0, queue, 0))

    def _path(self, there: tuple[Lane, ...], back: tuple[Lane, ...], last: int) -> _Path:
        key = there, back, last
        if key not in self._paths:
            sizes = (PAYLOAD_BYTES + HEADER_BYTES, last + HEADER_BYTES)
            data = [self._steps(there, size, self._received) for size in sizes]
            self._paths[key] = _Path(data, self._steps(back, ACKNOWLEDGEMENT_BYTES, self._acknowledged))
        return self._paths[key]

    def _steps(self, lanes: tuple[Lane, ...], size: int, ended: Any) -> list[Step]:
        steps: list[Step] = []
        for name, wire in lanes:
            queue = self._queues.setdefault(name, [-1, 0, deque()])
            steps.append((queue, transmission_ns(wire, size), wire.latency_ns))
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
            message, path, upto = chosen, chosen.path, chosen.sent + PAYLOAD_BYTES
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
            ended, subject = message.what
            ended(now, subject)
        self._serve(message.sender, now, number)


def _called(now: int, number: int, subject: tuple[Ended, Any], _: int) -> None:
    call, what = subject
    call(now, what)


_CALLED: Steps = (_called,)
