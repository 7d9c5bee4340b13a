"""Jobs that share links, followed packet by packet where that is affordable.

What `netmodels.sharing.phases` does with fluids, with the packets of `netmodels.sharing.packet_jobs`: jobs
begin together, or at their shifts, and are followed until each GPU's place in its iteration recurs to the
nanosecond at the end of an iteration of the first job, or until jobs have done some iterations on average and
every job eight; times are means over the period, or over the second half of each job's. How long a job takes
alone is found in the same way, and what it takes longer beside others is added to `Sending.alone_ns`.

Only rings through all GPUs are followed (`across_machines=flat_ring`, one chunk, not `nccl`), on ports and
uplinks. What takes too many packets is followed more coarsely, step by step, until it is affordable:

1. Packets are joined to cells (`netmodels.sharing.packets`), 24, 12, 6 or 4 a window.
2. Time is scaled down by 2, 4, 8 and so on: computing, start-up and bytes are divided. An all-reduce that
   takes longer than its latency even so becomes shorter; of smaller ones that follow each other without a
   gap, sorted by size, one stands for so many, so that latency keeps its part. What latency gains where they
   are too few may be half an iteration.

What is still too much is not followed. A `Runner`, such as `netmodels.ns3`, follows real packets instead,
which are not joined: its time is scaled down further.

Together / alone of two jobs of 4 + 4 GPUs on `v100_100g`, in packets
or 24 cells (VGG16), at this cost, and as fluids; processor time in s:

    VGG16             1.764   61 s      1.755   0.5 s      1.658
    ResNet50 x0.1     1.287   82 s      1.331   0.7 s      1.215
    MobileNetV3 x0.1  1.166    8 s      1.161   0.5 s      1.086
    ShuffleNet x0.1   1.136    5 s      1.101   0.5 s      1.074
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol, runtime_checkable

from netmodels.fabric import Fabric
from netmodels.sharing.links import Link
from netmodels.sharing.packet_jobs import Layer, RingJob
from netmodels.sharing.packet_jobs import together as run_together
from netmodels.sharing.phases import Together, answer, enough, mean_ns, settled
from netmodels.sharing.ring_lanes import RingLanes
from netmodels.sharing.sending import Sending
from netmodels.sharing.shares import crowded
from netmodels.system import SystemSettings

MOST_PACKETS = 60_000
"""Of the jobs together, about: half a second."""
_EVER = 1 << 62


class _How(NamedTuple):
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


@runtime_checkable
class Runner(Protocol):
    """Follows rings of several jobs, packet by packet."""

    def __hash__(self) -> int:
        """Return a hash: equal questions to one runner are asked once."""
        ...

    @property
    def packets_together(self) -> int:
        """As `most_packets` of `followed`."""
        ...

    def packets_of(self, message_bytes: int) -> int:
        """Return what a message costs, in packets."""
        ...

    def run_rings(
        self, jobs: Sequence[RingJob], lanes: RingLanes, system: SystemSettings, iterations: int
    ) -> Sequence[Sequence[int]]:
        """Return when each job's iterations end, ns, until jobs have done so many on average, as `enough`."""
        ...


_HOWS = tuple(
    _How(*each)
    for each in (
        *((cells, 1, 16) for cells in (0, 24, 12, 6)),
        *((4, 1 << power, 16) for power in range(8)),
        *((4, 1 << power, 8) for power in range(8)),
    )
)
_HOWS_OF_RUNNERS = tuple(_How(0, 1 << power, iterations) for iterations in (16, 8) for power in range(12))


def followed(
    jobs: Sequence[Sending],
    capacity: Mapping[Link, float],
    fabric: Fabric,
    system: SystemSettings,
    shift_ns: Sequence[int] = (),
    *,
    most_packets: int = MOST_PACKETS,
    runner: Runner | None = None,
) -> Together | None:
    """Return how long iterations take of jobs that share links; None if they cannot be followed.

    Parameters
    ----------
    jobs, capacity, shift_ns
        As for `netmodels.sharing.phases.together`; of parallel uplinks, `path` 0 stands for all.
    fabric, system
        As for `netmodels.api.NetworkModel.iteration`.
    most_packets
        Of the jobs together, about.
    runner
        Follows the packets; None: `netmodels.sharing.packet_jobs`.
    """
    shared = frozenset(crowded(jobs, capacity))
    meeting = [number for number, job in enumerate(jobs) if not shared.isdisjoint(job.links)]
    those = [jobs[number] for number in meeting]
    if any(job.ring is None for job in those) or any(link.tier == "network" for link in shared):
        return None
    iteration_ns = [job.alone_ns for job in jobs]
    is_settled = True
    if those:
        lanes = RingLanes(those, shared, capacity, fabric, windows=system.windows)
        how = _how(those, lanes, most_packets if runner is None else runner.packets_together, runner)
        if how is None:
            return None
        starts = [shift_ns[number] // how.scale if shift_ns else 0 for number in meeting]
        beside, is_settled = _run(those, lanes, system, starts, how, runner)
        for number, job, ns in zip(meeting, those, beside, strict=True):
            limits = tuple(sorted((link, capacity[link]) for link in shared.intersection(job.links)))
            alone_ns = _alone_ns(_Alone(job), limits, fabric, system, how, runner)
            iteration_ns[number] += how.scale * (ns - alone_ns)
    return answer(jobs, capacity, iteration_ns, is_settled)


def _how(jobs: Sequence[Sending], lanes: RingLanes, most: int, runner: Runner | None = None) -> _How | None:
    """Return the finest way to follow jobs that is affordable."""
    per_ns = sum(1 / job.alone_ns for job in jobs) / len(jobs)
    for how in _HOWS if runner is None else _HOWS_OF_RUNNERS:
        work = 0.0
        for number, job in enumerate(jobs):
            layers = _layers(job, number, lanes, how.scale)
            work += _work(number, layers, lanes, how.cells, runner) * max(
                how.iterations / job.alone_ns / per_ns, 8
            )
            gained = sum(layer.bytes > 0 for layer in layers) - _collectives(job) / how.scale
            if gained * lanes.latency_ns(number) > job.alone_ns / how.scale / 2:
                return None
        if work <= most:
            return how
    return None


def _work(number: int, layers: Sequence[Layer], lanes: RingLanes, cells: int, runner: Runner | None) -> int:
    """Return what an iteration of a job costs to follow, in packets."""
    count = len(lanes.rings[number])
    sizes = [layer.bytes // count for layer in layers if layer.bytes]
    if runner is not None:
        return 2 * (count - 1) * count * sum(map(runner.packets_of, sizes))
    return 2 * (count - 1) * sum(lanes.work(number, size, cells) for size in sizes)


def _collectives(job: Sending) -> int:
    assert job.ring is not None
    return sum(layer.bytes > 0 for layer in job.ring.layers)


def _layers(job: Sending, number: int, lanes: RingLanes, scale: int) -> list[Layer]:
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


def _run(
    jobs: Sequence[Sending],
    lanes: RingLanes,
    system: SystemSettings,
    starts: Sequence[int],
    how: _How,
    runner: Runner | None,
) -> tuple[list[float], bool]:
    """Return the mean iteration time of each job, and whether it has settled."""
    runs = [
        RingJob(ring, tuple(_layers(job, number, lanes, how.scale)), _EVER, starts[number])
        for number, (job, ring) in enumerate(zip(jobs, lanes.rings, strict=True))
    ]
    if runner is not None:
        found = runner.run_rings(runs, lanes, system, how.iterations)
        return [_mean_ns(each) for each in found], all(map(settled, found))
    ends = run_together(
        runs,
        lanes,
        windows=system.windows,
        endpoint_delay_ns=system.endpoint_delay_ns,
        cells=how.cells,
        enough=lambda ends_ns: enough([len(each) for each in ends_ns], how.iterations),
    )
    return [_mean_ns(each) for each in ends], all(map(settled, ends))


def _mean_ns(ends_ns: Sequence[int]) -> float:
    """Return the mean of about the second half of iterations, an even number: rings alternate."""
    first = len(ends_ns) // 2
    return mean_ns(ends_ns[first - (len(ends_ns) - 1 - first) % 2 :])


class _Alone:
    """A job as a question: equal if rings and links are."""

    def __init__(self, job: Sending) -> None:
        self.job = job
        self._key = job.ring, job.links

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Alone) and self._key == other._key


@lru_cache(maxsize=4096)
def _alone_ns(
    job: _Alone,
    limits: tuple[tuple[Link, float], ...],
    fabric: Fabric,
    system: SystemSettings,
    how: _How,
    runner: Runner | None,
) -> float:
    """Return the mean iteration time of a job alone on links that it shares."""
    capacity = dict(limits)
    lanes = RingLanes([job.job], capacity.keys(), capacity, fabric, windows=system.windows)
    (found,), _ = _run([job.job], lanes, system, [0], how, runner)
    return found
