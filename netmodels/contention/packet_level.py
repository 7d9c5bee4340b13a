"""Packet level: jobs that share links, followed packet by packet together and alone.

Jobs begin together, or at their shifts, and are followed by `netmodels.packets.rings` until jobs have done
16 iterations on average and every job eight, or their ends recur to the ns: then times are means over that
period, else over the second half of each job's iterations. Each job is followed alone in the same way, and
together / alone is its slowdown, whatever transport prices it alone.

**Parallel uplinks.** Each message takes one by hash, and the hash of a real cluster is not known. Slowdowns
are means over four draws. One draw is 2 to 4 % off another (ns-3's) at the median, 7 to 13 at p90; the mean
of four 1.6 and 6.0, worst 27, two jobs of 2 GPUs whose messages all happen to collide in ns-3.

Only rings through all GPUs are followed (`netmodels.contention.traffic.in_rings`), on ports and uplinks
(`netmodels.packets.channels`). With all packets followed, the jobs of ../shared/reference/contention take,
from profile and placement on, their times in ns-3 to the ns, with windows, but for the draws of parallel
uplinks (tests/agreement/test_contention_packets.py).

**Resolution.** Jobs that take too many packets are followed more coarsely. First packets are joined to cells
(`netmodels.packets.engine`), 24 or 6 a window. Then, with 4 cells, time is scaled down by the power of
two that is enough: computing, start-up and bytes are divided. An all-reduce that takes longer than its
latency even so becomes shorter; of smaller ones that follow each other without a gap, sorted by size, one
stands for several, so that latency keeps its part. Latency may gain half an iteration where they are too few;
beyond that, jobs are not followed. A `Runner`, such as `netmodels.ns3`, follows real packets instead, which
are not joined: its time is scaled down at once.

Absolute error of together / alone in %, median, p90 and worst, of the recorded jobs with windows that slow
down by more than 2 %, and of the same jobs at flow level:

    24 cells a window   59 jobs    1.0, 2.8, 14     2.6, 7.9, 18
    6                   42         2.2, 7.0, 10     2.8, 6.9, 18
    4                   23         4.8, 9.4, 11     2.7, 3.7, 11

Less time is worse: a job of many small messages beside one of few large ones (GPT-2 and VGG16, 4 | 4 GPUs of
`cloud_ethernet`) is slowed 2.73 times at 24, 6 and 4 cells, 2.35 in a quarter of the time, 1.8 in a 16th.

With 1,000,000 packets, the default of `performance.contention_packets`, nearly all are followed packet by
packet; at most the same number is followed for the jobs alone: up to twenty seconds in all. Where iterations
have many layers, fewer cells are still nearer than flows. Two jobs of 4 | 4 GPUs on `v100_100g`: all packets,
250,000, flows; processor time:

    ShuffleNet x0.1    1.124   7 s      1.127 (4 cells: 1.111)   2 s      1.074
    MobileNetV3 x0.1   1.157   9 s      1.163                    2 s      1.086
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import NamedTuple, Protocol, runtime_checkable

from netmodels.contention.flow_level import enough, followed_ns, mean_ns
from netmodels.contention.transfers import JobTraffic, RingLayers, overloaded
from netmodels.fabric.fabric import Fabric
from netmodels.fabric.links import Link
from netmodels.fabric.system import SystemSettings
from netmodels.packets.channels import RingChannels
from netmodels.packets.rings import Layer, RingJob, together

_ITERATIONS = 16
_CELLS = (0, 24, 6, 4)
"""Resolutions, the finest first: cells a window, or without windows a message; 0: packets."""
_SCALES = tuple(1 << power for power in range(12))
"""Divisors of time at the last resolution."""
_DRAWS = 4
"""Of parallel uplinks."""
_UNLIMITED = 1 << 62


@runtime_checkable
class Runner(Protocol):
    """Follows rings of several jobs, packet by packet."""

    def __hash__(self) -> int:
        """Return a hash: equal questions to one runner are asked once."""
        ...

    @property
    def packets_together(self) -> int:
        """As `max_packets` of `followed`."""
        ...

    def packets_in(self, message_bytes: int) -> int:
        """Return the number of packets of a message."""
        ...

    def run_rings(
        self, jobs: Sequence[RingJob], channels: RingChannels, system: SystemSettings, iterations: int
    ) -> Sequence[Sequence[int]]:
        """Return the ends of each job's iterations, ns, until jobs have done `enough` of them."""
        ...


class _Ring(NamedTuple):
    """A job's all-reduces as rings of messages, its links, and the time of an iteration alone."""

    layers: RingLayers
    links: tuple[Link, ...]
    alone_ns: float


class _Run(NamedTuple):
    """Jobs that meet others, or one alone, at some resolution.

    Parameters
    ----------
    rings
        The jobs.
    shared, limits
        Links that several jobs pass, and the capacities of the jobs' links, byte/ns.
    fabric, system, runner
        As for `followed`.
    cells, scale
        The resolution, and the divisor of time.
    iterations
        As for `followed`.
    draw
        Of parallel uplinks.
    """

    rings: tuple[_Ring, ...]
    shared: frozenset[Link]
    limits: tuple[tuple[Link, float], ...]
    fabric: Fabric
    system: SystemSettings
    runner: Runner | None
    cells: int = 0
    scale: int = 1
    iterations: tuple[int, ...] = ()
    draw: int = 0

    @property
    def draws(self) -> int:
        """Number of draws of parallel uplinks; a runner has its own."""
        return _DRAWS if self.fabric.uplinks > 1 and self.runner is None else 1

    def channels(self) -> RingChannels:
        """Return the channels that the jobs' packets pass."""
        placed = [(ring.layers.shape, ring.links) for ring in self.rings]
        limits, windows = dict(self.limits), self.system.windows
        return RingChannels(placed, self.shared, limits, self.fabric, windows=windows, draw=self.draw)

    def packets(self, channels: RingChannels) -> float:
        """Return the cost of following the jobs until it is `enough`, about, in packets."""
        until_ns = followed_ns([ring.alone_ns for ring in self.rings], _ITERATIONS)
        total = 0.0
        for number, ring in enumerate(self.rings):
            gpus = len(channels.rings[number])
            layers = scaled(ring.layers.layers, number, channels, self.scale)
            sizes = [layer.bytes // gpus for layer in layers if layer.bytes]
            if self.runner is not None:
                step = gpus * sum(map(self.runner.packets_in, sizes))
            else:
                step = sum(channels.work(number, size, self.cells) for size in sizes)
            total += 2 * (gpus - 1) * step * until_ns / ring.alone_ns
        return total

    def gained_latency(self, channels: RingChannels) -> bool:
        """Return whether, in less time, latency takes more than half of a job's iteration in addition."""
        for number, ring in enumerate(self.rings):
            layers = scaled(ring.layers.layers, number, channels, self.scale)
            counts = [sum(layer.bytes > 0 for layer in of) for of in (layers, ring.layers.layers)]
            gained_ns = (counts[0] - counts[1] / self.scale) * channels.latency_ns(number)
            if gained_ns > ring.alone_ns / self.scale / 2:
                return True
        return False

    def times_ns(self, shift_ns: Sequence[int]) -> list[float]:
        """Return the mean time of an iteration of each job; of a number of iterations, the sum."""
        channels, counts = self.channels(), self.iterations or [_UNLIMITED] * len(self.rings)
        jobs = [
            RingJob(
                channels.rings[number],
                scaled(ring.layers.layers, number, channels, self.scale),
                counts[number],
                shift_ns[number] // self.scale,
            )
            for number, ring in enumerate(self.rings)
        ]
        if self.runner is not None:
            ends = self.runner.run_rings(jobs, channels, self.system, _ITERATIONS)
        else:
            ends = together(
                jobs,
                channels,
                windows=self.system.windows,
                endpoint_delay_ns=self.system.endpoint_delay_ns,
                cells=self.cells,
                enough=None if self.iterations else _settled,
            )
        if self.iterations:
            return [ends_ns[-1] - job.start_ns for ends_ns, job in zip(ends, jobs, strict=True)]
        span_ns = _period_ns(ends)
        return [_steady_ns(of_job) if span_ns is None else _mean_ns(of_job, span_ns) for of_job in ends]


def scaled(layers: Sequence[Layer], job: int, channels: RingChannels, scale: int) -> tuple[Layer, ...]:
    """Return the layers of a job with all times divided; messages have at least one byte."""
    latency_ns, ns_per_byte = channels.latency_ns(job), channels.ns_per_byte(job)
    min_bytes, result = len(channels.rings[job]), list[Layer]()
    compute_ns = 0
    for group in _without_gaps(layers, latency_ns, ns_per_byte, scale):
        compute_ns += group[0].compute_ns
        rings = [layer for layer in group if layer.bytes]
        for ring in _fewer(rings, scale, scale * latency_ns / ns_per_byte):
            result.append(ring._replace(compute_ns=compute_ns // scale, bytes=max(ring.bytes, min_bytes)))
            compute_ns = 0
        compute_ns += sum(layer.compute_ns for layer in group[1:])
    return (*result, Layer(compute_ns // scale, 0))


def _fewer(rings: Sequence[Layer], scale: int, large: float) -> Iterator[Layer]:
    """Yield all-reduces in less time: large ones shorter; of others, by size, one for several."""
    others = sorted((ring for ring in rings if ring.bytes < large), key=lambda ring: -ring.bytes)
    groups = [[ring] for ring in rings if ring.bytes >= large]
    groups += [others[first : first + scale] for first in range(0, len(others), scale)]
    for group in groups:
        yield Layer(
            0,
            sum(ring.bytes for ring in group) // scale,
            "all_reduce",
            sum(ring.launch_ns for ring in group) // scale,
            sum(ring.add_ns for ring in group) // scale,
            max(ring.update_ns for ring in group) // scale,
        )


def _without_gaps(
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
        transfer_ns = layer.launch_ns + latency_ns + layer.bytes * ns_per_byte if layer.bytes else 0.0
        through_ns = max(through_ns, now_ns) + transfer_ns
        group.append(layer)
    yield group


def _steady_ns(ends_ns: Sequence[int]) -> float:
    """Return the mean time of about the second half, an even number: iterations of rings alternate."""
    first = len(ends_ns) // 2
    return mean_ns(ends_ns[first - (len(ends_ns) - 1 - first) % 2 :])


def _settled(ends_ns: Sequence[Sequence[int]]) -> bool:
    """Return whether jobs have done enough, or their iterations recur."""
    return enough([*map(len, ends_ns)], _ITERATIONS) or _period_ns(ends_ns) is not None


def _period_ns(ends_ns: Sequence[Sequence[int]]) -> int | None:
    """Return the time after which the ends of all iterations have recurred; None if they have not."""
    first = ends_ns[0]
    spans = (first[-1] - first[-1 - count] for count in range(2, (len(first) - 1) // 2 + 1))
    return next((span for span in spans if all(_recurs(ends, span) for ends in ends_ns)), None)


def _recurs(ends_ns: Sequence[int], span_ns: int) -> bool:
    """Return whether the ends within a span before the last one are those of the span before, shifted."""
    if not ends_ns or ends_ns[0] > ends_ns[-1] - 2 * span_ns:
        return False
    since_ns = ends_ns[-1] - span_ns
    before = [end + span_ns for end in ends_ns if since_ns - span_ns < end <= since_ns]
    return before == [end for end in ends_ns if end > since_ns]


def _mean_ns(ends_ns: Sequence[int], span_ns: int) -> float:
    return span_ns / sum(end > ends_ns[-1] - span_ns for end in ends_ns)


@lru_cache(maxsize=4096)
def _alone_ns(run: _Run) -> float:
    return run.times_ns([0])[0]


def followed(
    jobs: Sequence[JobTraffic],
    capacity: Mapping[Link, float],
    fabric: Fabric,
    system: SystemSettings,
    shift_ns: Sequence[int] = (),
    *,
    max_packets: int | None = None,
    runner: Runner | None = None,
    iterations: Sequence[int] = (),
) -> list[float] | None:
    """Return together / alone of jobs that share links; None if they cannot be followed.

    Parameters
    ----------
    jobs, capacity, shift_ns
        As for `netmodels.contention.flow_level.together`; of parallel uplinks, `path` 0 stands for all.
    fabric, system
        As for `netmodels.api.NetworkModel.iteration`.
    max_packets
        Of the jobs together, about. None: all.
    runner
        Follows the packets, at most `packets_together`; None: `netmodels.packets.rings`.
    iterations
        Number of iterations after which each job leaves; all of them count; without a runner. By default all
        go on until there are means.
    """
    max_packets = max_packets if runner is None else runner.packets_together
    numbers, run = _meeting(jobs, capacity, fabric, system, runner)
    run = run and _affordable(run, max_packets)
    if run is None:
        return None
    slowdowns = [1.0] * len(jobs)
    if numbers:
        run = run._replace(iterations=tuple(iterations[number] for number in numbers) if iterations else ())
        shifts = [shift_ns[number] if shift_ns else 0 for number in numbers]
        drawn = [_slowdowns(run._replace(draw=draw), shifts) for draw in range(run.draws)]
        for number, ratios in zip(numbers, zip(*drawn, strict=True), strict=True):
            slowdowns[number] = sum(ratios) / len(ratios)
    return slowdowns


def _slowdowns(run: _Run, shift_ns: Sequence[int]) -> Iterator[float]:
    """Yield together / alone of each job of a run."""
    limits = dict(run.limits)
    for place, (ring, time_ns) in enumerate(zip(run.rings, run.times_ns(shift_ns), strict=True)):
        alone = run._replace(
            rings=(ring,),
            shared=run.shared.intersection(ring.links),
            limits=tuple((link, limits[link]) for link in ring.links if link in limits),
            iterations=run.iterations[place : place + 1],
        )
        yield time_ns / _alone_ns(alone)


def _affordable(run: _Run, max_packets: int | None) -> _Run | None:
    """Return a run at the finest resolution that takes few enough packets; None if none does."""
    if max_packets is None or not run.rings:
        return run
    channels = run.channels()
    cells = _CELLS if run.runner is None else _CELLS[:1]
    for resolution in [*((at, 1) for at in cells[:-1]), *((cells[-1], scale) for scale in _SCALES)]:
        coarser = run._replace(cells=resolution[0], scale=resolution[1])
        if coarser.gained_latency(channels):
            return None
        if coarser.packets(channels) * run.draws <= max_packets:
            return coarser
    return None


def resolution_of(
    jobs: Sequence[JobTraffic],
    capacity: Mapping[Link, float],
    fabric: Fabric,
    system: SystemSettings,
    max_packets: int | None,
) -> tuple[int, int] | None:
    """Return cells per window, 0 for packets, and divisor of time of `followed`; None if it is not."""
    _, run = _meeting(jobs, capacity, fabric, system, None)
    run = run and _affordable(run, max_packets)
    return run and (run.cells, run.scale)


def packets_of(
    jobs: Sequence[JobTraffic], capacity: Mapping[Link, float], fabric: Fabric, system: SystemSettings
) -> int:
    """Return the packets of some jobs while all are followed, about; 0 if they cannot be followed."""
    numbers, run = _meeting(jobs, capacity, fabric, system, None)
    return round(run.packets(run.channels())) if run and numbers else 0


def _meeting(
    jobs: Sequence[JobTraffic],
    capacity: Mapping[Link, float],
    fabric: Fabric,
    system: SystemSettings,
    runner: Runner | None,
) -> tuple[list[int], _Run | None]:
    """Return the jobs that meet others, by number, ready to be followed; None if that cannot be."""
    shared = frozenset(overloaded(jobs, capacity))
    numbers = [number for number, job in enumerate(jobs) if not shared.isdisjoint(job.links)]
    meeting = [jobs[number] for number in numbers]
    rings = tuple(_Ring(job.ring, job.links, job.alone_ns) for job in meeting if job.ring)
    if len(rings) < len(numbers) or any(link.tier == "network" for link in shared):
        return numbers, None
    passing = Counter(link for ring in rings for link in ring.links)
    shared |= {link for link, count in passing.items() if count > 1 and capacity.get(link, inf) < inf}
    return numbers, _Run(rings, shared, tuple(capacity.items()), fabric, system, runner)
