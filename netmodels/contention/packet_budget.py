"""How finely jobs that share links are followed packet by packet, so that it is affordable.

What takes too many packets is followed more coarsely, step by step:

1. Packets are joined to cells (`netmodels.contention.packets`), 24, 12, 6 or 4 a window.
2. Time is scaled down by 2, 4, 8 and so on: computing, start-up and bytes are divided. An all-reduce that
   takes longer than its latency even so becomes shorter; of smaller ones that follow each other without a
   gap, sorted by size, one stands for so many, so that latency keeps its part. What latency gains where they
   are too few may be half an iteration.

What is still too much is not followed. A `Runner`, such as `netmodels.ns3`, follows real packets instead,
which are not joined: its time is scaled down further.

Absolute error of together / alone in %, median, p90 and worst, of the
recorded jobs with windows that slow down by more than 2 %, and of the same jobs as fluids:

    24 cells a window   59 jobs    1.0, 2.8, 14     2.6, 7.9, 18
    12                  45         1.0, 3.8, 10     2.3, 8.2, 15
    6                   42         2.2, 7.0, 10     2.8, 6.9, 18
    4                   23         4.8, 9.4, 11     2.7, 3.7, 11

With 1,000,000 packets, the default of `performance.contention_packets`, nearly all are followed packet
by packet; as many again are followed for each job alone: up to twenty seconds in all. Where iterations have
many layers, fewer cells are still nearer than fluids. Two jobs of 4 | 4 GPUs on `v100_100g`: all packets,
250,000, fluids; processor time:

    ShuffleNet x0.1    1.124   7 s      1.127 (4 cells: 1.111)   2 s      1.074
    MobileNetV3 x0.1   1.157   9 s      1.163                    2 s      1.086
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from netmodels.contention.packet_jobs import Layer, RingJob
from netmodels.contention.phases import followed_ns
from netmodels.contention.ring_lanes import RingLanes
from netmodels.contention.sending import Sending
from netmodels.fabric.system import SystemSettings


class How(NamedTuple):
    """How jobs are followed.

    Parameters
    ----------
    cells
        A window, or without windows a message; 0: packets.
    scale
        By how much less time passes, as a power of two.
    iterations
        On average.
    """

    cells: int
    scale: int
    iterations: int


_HOWS = tuple(
    How(*each)
    for each in (
        *((cells, 1, 16) for cells in (0, 24, 12, 6)),
        *((4, 1 << power, 16) for power in range(8)),
        *((4, 1 << power, 8) for power in range(8)),
    )
)
_HOWS_OF_RUNNERS = tuple(How(0, 1 << power, iterations) for iterations in (16, 8) for power in range(12))


@runtime_checkable
class Runner(Protocol):
    """Follows rings of several jobs, packet by packet."""

    def __hash__(self) -> int:
        """Return a hash: equal questions to one runner are asked once."""
        ...

    @property
    def packets_together(self) -> int:
        """As `max_packets` of `netmodels.contention.packet_phases.followed`."""
        ...

    def packets_in(self, message_bytes: int) -> int:
        """Return how many packets a message takes."""
        ...

    def run_rings(
        self, jobs: Sequence[RingJob], lanes: RingLanes, system: SystemSettings, iterations: int
    ) -> Sequence[Sequence[int]]:
        """Return when each job's iterations end, ns, until jobs have done so many on average, as `enough`."""
        ...


def how_of(
    jobs: Sequence[Sending], lanes: RingLanes, most: int | None, runner: Runner | None = None
) -> How | None:
    """Return the finest way to follow jobs that is affordable; None if none is.

    Parameters
    ----------
    jobs, lanes
        What they send, and on which links.
    most
        Packets; None: any number.
    runner
        Follows the packets; None: `netmodels.contention.packet_jobs`.
    """
    hows = _HOWS if runner is None else _HOWS_OF_RUNNERS
    if most is None or not jobs:
        return hows[0]
    for how in hows:
        for number, job in enumerate(jobs):
            layers = layers_of(job, number, lanes, how.scale)
            gained = sum(layer.bytes > 0 for layer in layers) - _collectives(job) / how.scale
            if gained * lanes.latency_ns(number) > job.alone_ns / how.scale / 2:
                return None
        if work_of(jobs, lanes, how, runner) <= most:
            return how
    return None


def work_of(
    jobs: Sequence[Sending], lanes: RingLanes, how: How = _HOWS[0], runner: Runner | None = None
) -> float:
    """Return what jobs cost to follow, in packets; by default all of them."""
    if not jobs:
        return 0
    until_ns = followed_ns([job.alone_ns for job in jobs], how.iterations)
    return sum(
        _work(number, layers_of(job, number, lanes, how.scale), lanes, how.cells, runner)
        * until_ns
        / job.alone_ns
        for number, job in enumerate(jobs)
    )


def _work(number: int, layers: Sequence[Layer], lanes: RingLanes, cells: int, runner: Runner | None) -> int:
    """Return what an iteration of a job costs to follow, in packets."""
    count = len(lanes.rings[number])
    sizes = [layer.bytes // count for layer in layers if layer.bytes]
    if runner is not None:
        return 2 * (count - 1) * count * sum(map(runner.packets_in, sizes))
    return 2 * (count - 1) * sum(lanes.work(number, size, cells) for size in sizes)


def _collectives(job: Sending) -> int:
    assert job.ring is not None
    return sum(layer.bytes > 0 for layer in job.ring.layers)


def layers_of(job: Sending, number: int, lanes: RingLanes, scale: int) -> list[Layer]:
    """Return the layers of a job in so much less time; messages have at least one byte."""
    assert job.ring is not None
    least, latency_ns, ns_per_byte = (
        len(lanes.rings[number]),
        lanes.latency_ns(number),
        lanes.ns_per_byte(number),
    )
    found: list[Layer] = []
    compute_ns = 0
    for group in _groups(job.ring.layers, latency_ns, ns_per_byte, scale):
        compute_ns += group[0].compute_ns
        rings = [layer for layer in group if layer.bytes]
        for ring in _fewer(rings, scale, scale * latency_ns / ns_per_byte):
            size = max(ring.bytes, least)
            found.append(ring._replace(compute_ns=compute_ns // scale, bytes=size))
            compute_ns = 0
        compute_ns += sum(layer.compute_ns for layer in group[1:])
    return [*found, Layer(compute_ns // scale, 0)]


def _fewer(rings: Sequence[Layer], scale: int, large: float) -> Iterator[Layer]:
    """Yield all-reduces of so much less in all: large ones shorter; of others, by size, one for so many."""
    large_ones = [ring for ring in rings if ring.bytes >= large]
    others = sorted((ring for ring in rings if ring.bytes < large), key=lambda ring: -ring.bytes)
    each = [[ring] for ring in large_ones]
    each += [others[first : first + scale] for first in range(0, len(others), scale)]
    for those in each:
        yield Layer(
            0,
            sum(ring.bytes for ring in those) // scale,
            "all_reduce",
            sum(ring.launch_ns for ring in those) // scale,
            sum(ring.add_ns for ring in those) // scale,
            max(ring.update_ns for ring in those) // scale,
        )


def _groups(
    layers: Sequence[Layer], latency_ns: float, ns_per_byte: float, scale: int
) -> Iterator[list[Layer]]:
    """Yield layers whose all-reduces follow each other without a gap; with scale 1, one by one."""
    now_ns = through_ns = 0.0
    group: list[Layer] = []
    for layer in layers:
        now_ns += layer.compute_ns
        if group and (scale == 1 or now_ns > through_ns or not layer.bytes):
            yield group
            group = []
        ride_ns = layer.launch_ns + latency_ns + layer.bytes * ns_per_byte if layer.bytes else 0.0
        through_ns = max(through_ns, now_ns) + ride_ns
        group.append(layer)
    yield group
