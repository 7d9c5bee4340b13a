"""Several jobs' iterations on one network, packet by packet.

In an iteration a GPU computes layer after layer. A layer's collective is issued when its computation ends,
while the next layer computes; a job's collectives run one at a time in order of issue. A GPU's iteration ends
when its computations and collectives have ended, and it begins the next at once: it does not wait for the
other GPUs of its job.

A GPU sends its first message of a collective an endpoint delay after its start. In a ring it sends the next
one an endpoint delay after it has received one, but hears of its k-th receipt only once its k-th message has
been sent; it has ended an endpoint delay after the last receipt, whether or not its own last message has
arrived. In an all-to-all it sends to all others at once, the next GPU of the job first.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from netmodels.packets.engine import Ended, Network, Packets

Enough = Callable[[Sequence[Sequence[int]]], bool]
"""From the ends of each job's iterations, ns, to whether these are enough."""
Collective = Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]


_GATHERED = {"all_reduce": 1, "reduce_scatter": 0}
"""Rounds of a ring at whose end the received part is complete."""


class Layer(NamedTuple):
    """A computation and the collective after it.

    Parameters
    ----------
    compute_ns
        Before the collective is issued, ns.
    bytes
        Input of each GPU; 0 for no collective.
    collective
        Which; an all-to-all is direct, all others are rings in the order of the job's GPUs.
    launch_ns
        Before its first message, once the collective before it has ended.
    add_ns
        Of a GPU to add a message that it has heard of to its own part, before it sends the next: in the first
        half of an all-reduce, and in a reduce-scatter.
    update_ns
        From its end to the earliest end of the iteration.
    """

    compute_ns: int
    bytes: int
    collective: Collective = "all_reduce"
    launch_ns: int = 0
    add_ns: int = 0
    update_ns: int = 0


@dataclass(frozen=True, slots=True)
class RingJob:
    """A job.

    Parameters
    ----------
    gpus
        In the order of its ring; at least 2.
    layers
        Computations and collectives of each iteration, in order of issue.
    iterations
        Their number, unless all stop before.
    start_ns
        Begin of its first iteration.
    """

    gpus: tuple[int, ...]
    layers: tuple[Layer, ...]
    iterations: int
    start_ns: int = 0

    def messages(self, layer: Layer) -> tuple[int, int]:
        """Return the number of a GPU's messages in a layer's collective, and the bytes of each."""
        count = len(self.gpus)
        rounds = 2 if layer.collective == "all_reduce" else 1
        size = layer.bytes if layer.collective == "all_gather" else layer.bytes // count
        return rounds * (count - 1), size


class Messages(Protocol):
    """A network in time, as `Packets` is one."""

    def at(self, time_ns: int, call: Ended, subject: Any) -> None:
        """Call `call(time_ns, subject)` at that time."""
        ...

    def send(self, now_ns: int, ends: tuple[int, int], count_bytes: int, ended: Ended, subject: Any) -> None:
        """Send a message between two GPUs; `ended(time_ns, subject)` is called when it is over."""
        ...

    def run(self) -> None:
        """Go on until nothing is left."""
        ...

    def stop(self) -> None:
        """Let nothing more happen."""
        ...


class _Running:
    """A collective as one GPU sees it."""

    __slots__ = ("awaited", "early", "gathered", "layer", "left", "to_send")

    def __init__(self, layer: Layer, gpus: int) -> None:
        self.layer = layer
        self.gathered = _GATHERED.get(layer.collective, 2) * (gpus - 1)  # the last receipts, not added
        self.left = self.to_send = 0  # receipts still to be heard of, messages still to be sent
        self.awaited = self.early = 0  # receipts to be heard of at once, receipts that must wait


class _Ends:
    """Ends of all jobs' iterations, each with the last GPU of its job."""

    def __init__(self, jobs: int, packets: Messages, enough: Enough | None) -> None:
        self.packets, self.enough = packets, enough
        self.ends_ns: list[list[int]] = [[] for _ in range(jobs)]
        self.left: list[list[int]] = [[] for _ in range(jobs)]  # GPUs that have yet to end, by iteration

    def ended(self, job: int, iteration: int, gpus: int, now: int) -> None:
        """Track the end of an iteration on one of the GPUs of a job."""
        left = self.left[job]
        if iteration == len(left):
            left.append(gpus)
        left[iteration] -= 1
        if not left[iteration]:
            self.ends_ns[job].append(now)
            if self.enough is not None and self.enough(self.ends_ns):
                self.packets.stop()


class _Gpu:
    """One GPU of a job."""

    def __init__(self, job: RingJob, number: int, place: int, ends: _Ends, delay_ns: int) -> None:
        self.job, self.number, self.place, self.delay_ns = job, number, place, delay_ns
        self.ends, self.packets = ends, ends.packets
        self.others: list[_Gpu] = []  # of the job in the order of the ring, from the next one on
        self.iteration = self.layer = self.updated_ns = 0
        self.issued: deque[int] = deque()
        self.current: _Running | None = None
        self.started = 0
        self.arrived: dict[int, int] = {}  # messages of collectives that have not begun here, by number

    def begin(self, now: int, _: None) -> None:
        """Begin an iteration."""
        self.layer = 0
        self.packets.at(now + self.job.layers[0].compute_ns, self.computed, None)

    def computed(self, now: int, _: None) -> None:
        """End a layer's computation."""
        if self.job.layers[self.layer].bytes:
            self.issued.append(self.layer)
        self.layer += 1
        if self.layer < len(self.job.layers):
            self.packets.at(now + self.job.layers[self.layer].compute_ns, self.computed, None)
        self.proceed(now)

    def proceed(self, now: int) -> None:
        """Begin the next collective, or the next iteration, if none is running."""
        if self.current is not None:
            return
        if self.issued:
            running = self.current = _Running(self.job.layers[self.issued.popleft()], len(self.job.gpus))
            running.left = running.to_send = self.job.messages(running.layer)[0]
            running.early = self.arrived.pop(self.started, 0)
            direct = running.layer.collective == "all_to_all"
            begins_ns = now + running.layer.launch_ns + self.delay_ns
            self.packets.at(begins_ns, self.spread if direct else self.ready, running)
        elif self.layer == len(self.job.layers):
            if self.updated_ns > now:
                self.packets.at(self.updated_ns, self.updated, None)
                return
            self.iteration += 1
            self.ends.ended(self.number, self.iteration - 1, len(self.others) + 1, now)
            if self.iteration < self.job.iterations:
                self.begin(now, None)

    def updated(self, now: int, _: None) -> None:
        """End the iteration after the last update delay."""
        self.proceed(now)

    def ready(self, now: int, running: _Running) -> None:
        """Send the next message of a ring; or end."""
        if not running.to_send:
            self.end(now, running)
            return
        running.to_send -= 1
        self.send(now, self.others[0], running)
        self.hear(now, running)

    def spread(self, now: int, running: _Running) -> None:
        """Send all messages of an all-to-all."""
        running.to_send = 0
        for other in self.others:
            self.send(now, other, running)
        for _ in self.others:
            self.hear(now, running)

    def send(self, now: int, to: "_Gpu", running: _Running) -> None:
        """Send a message to another GPU of the job."""
        ends = self.job.gpus[self.place], self.job.gpus[to.place]
        self.packets.send(now, ends, self.job.messages(running.layer)[1], to.receive, self.started)

    def hear(self, now: int, running: _Running) -> None:
        """Await one more receipt."""
        running.awaited += 1
        if running.early:
            running.early -= 1
            self.heard(now, running)

    def receive(self, now: int, number: int) -> None:
        """Receive a message of a collective of the job, which may not have begun here."""
        running = self.current
        if running is None or number != self.started:
            self.arrived[number] = self.arrived.get(number, 0) + 1
        elif running.awaited:
            self.heard(now, running)
        else:
            running.early += 1

    def heard(self, now: int, running: _Running) -> None:
        """Go on an endpoint delay after a receipt; an all-to-all only after the last one."""
        running.awaited -= 1
        running.left -= 1
        if running.layer.collective != "all_to_all" or not running.left:
            add_ns = running.layer.add_ns if running.left >= running.gathered else 0
            self.packets.at(now + self.delay_ns + add_ns, self.ready, running)

    def end(self, now: int, running: _Running) -> None:
        """End a collective."""
        self.current = None
        self.updated_ns = max(self.updated_ns, now + running.layer.update_ns)
        self.started += 1
        self.proceed(now)


def together(
    jobs: Sequence[RingJob],
    tree: Network,
    *,
    windows: bool = True,
    endpoint_delay_ns: int = 10,
    cells: int = 0,
    enough: Enough | None = None,
) -> tuple[tuple[int, ...], ...]:
    """Return the ends of each job's iterations, ns, by the last of its GPUs.

    Parameters
    ----------
    jobs
        No two of them on the same GPU.
    tree
        The network.
    windows
        Whether messages have windows.
    endpoint_delay_ns
        Of a GPU before it sends or hears of a message, ns.
    cells
        As for `Packets`.
    enough
        Asked at the end of every iteration, with all ends so far, whether all stop.
    """
    packets = Packets(tree, windows=windows, cells=cells)
    return run_jobs(jobs, packets, endpoint_delay_ns, enough)


def run_jobs(
    jobs: Sequence[RingJob], packets: Messages, endpoint_delay_ns: int, enough: Enough | None = None
) -> tuple[tuple[int, ...], ...]:
    """Return the ends of each job's iterations on a network of any kind; see `together`."""
    ends = _Ends(len(jobs), packets, enough)
    gpus = [gpu for number, job in enumerate(jobs) for gpu in _gpus(job, number, ends, endpoint_delay_ns)]
    for gpu in sorted(gpus, key=lambda gpu: gpu.job.gpus[gpu.place]):  # as ns-3 begins
        packets.at(gpu.job.start_ns, gpu.begin, None)
    packets.run()
    return tuple(map(tuple, ends.ends_ns))


def _gpus(job: RingJob, number: int, ends: _Ends, delay_ns: int) -> list[_Gpu]:
    gpus = [_Gpu(job, number, place, ends, delay_ns) for place in range(len(job.gpus))]
    for place, gpu in enumerate(gpus):
        gpu.others = gpus[place + 1 :] + gpus[:place]
    return gpus
