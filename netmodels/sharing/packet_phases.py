"""Jobs that share links, followed packet by packet where that is affordable.

What `netmodels.sharing.phases` does with fluids, with the packets of `netmodels.sharing.packet_jobs`: jobs
begin together, or at their shifts, and are followed until jobs have done 16 iterations on average and every
job eight; times are means over the second half of each job's. How long a job takes alone is found in the same
way, and together / alone is what `Sending.alone_ns` is multiplied by.

Only rings through all GPUs are followed (`netmodels.sharing.traffic.in_rings`), on ports and uplinks
(`netmodels.sharing.ring_lanes`). With all packets followed, the jobs of ../shared/reference/contention take,
from profile and placement on, what they take in ns-3 to the ns, with windows, but for the draws of parallel
uplinks (tests/agreement/test_contention_packets.py). What takes too many packets is followed more coarsely,
step by step, until it is affordable:

1. Packets are joined to cells (`netmodels.sharing.packets`), 24, 12, 6 or 4 a window.
2. Time is scaled down by 2, 4, 8 and so on: computing, start-up and bytes are divided. An all-reduce that
   takes longer than its latency even so becomes shorter; of smaller ones that follow each other without a
   gap, sorted by size, one stands for so many, so that latency keeps its part. What latency gains where they
   are too few may be half an iteration.

What is still too much is not followed. Absolute error of together / alone in %, median, p90 and worst, of the
recorded jobs with windows that slow down by more than 2 %, and of the same jobs as fluids:

    24 cells a window   59 jobs    1.0, 2.8, 14     2.6, 7.9, 18
    12                  45         1.0, 3.8, 10     2.3, 8.2, 15
    6                   42         2.2, 7.0, 10     2.8, 6.9, 18
    4                   23         4.8, 9.4, 11     2.7, 3.7, 11

So `MOST_PACKETS` leaves recorded jobs 12 cells or more. Where iterations have many layers, fewer cells are
still nearer than fluids. Two jobs of 4 | 4 GPUs on `v100_100g`: all packets, cells, fluids; processor time:

    ShuffleNet x0.1    1.124   7 s      1.127 (4 cells: 1.111)   2 s      1.074
    MobileNetV3 x0.1   1.157   9 s      1.163                    2 s      1.086
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import NamedTuple

from netmodels.fabric import Fabric
from netmodels.sharing.links import Link
from netmodels.sharing.packet_jobs import Layer, RingJob
from netmodels.sharing.packet_jobs import together as run_together
from netmodels.sharing.phases import LEAST, Together, answer, enough, mean_ns, settled
from netmodels.sharing.ring_lanes import RingLanes
from netmodels.sharing.sending import Sending
from netmodels.sharing.shares import crowded
from netmodels.system import SystemSettings

MOST_PACKETS = 250_000
"""Of the jobs together, about: one to three seconds."""
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


_HOWS = tuple(
    _How(*each)
    for each in (
        *((cells, 1, 16) for cells in (0, 24, 12, 6)),
        *((4, 1 << power, 16) for power in range(8)),
        *((4, 1 << power, 8) for power in range(8)),
    )
)


def packets_of(
    jobs: Sequence[Sending], capacity: Mapping[Link, float], fabric: Fabric, system: SystemSettings
) -> int:
    """Return how many packets it takes to follow all of some jobs, about; 0 if they cannot be followed."""
    meeting = _meeting(jobs, capacity, fabric, system, None)
    return round(_packets(meeting.jobs, meeting.lanes, _HOWS[0])) if meeting else 0


class _Meeting(NamedTuple):
    """Those of some jobs that meet others, and how they are followed.

    Parameters
    ----------
    numbers
        Which they are.
    jobs, lanes
        What they send, and on which links.
    how
        How they are followed.
    alone
        How each is followed alone, in the same way.
    """

    numbers: list[int]
    jobs: list[Sending]
    lanes: RingLanes
    how: _How
    alone: "list[_Alone]"


def followed(
    jobs: Sequence[Sending],
    capacity: Mapping[Link, float],
    fabric: Fabric,
    system: SystemSettings,
    shift_ns: Sequence[int] = (),
    *,
    most_packets: int | None = MOST_PACKETS,
) -> Together | None:
    """Return how long iterations take of jobs that share links; None if they cannot be followed.

    Parameters
    ----------
    jobs, capacity, shift_ns
        As for `netmodels.sharing.phases.together`; of parallel uplinks, `path` 0 stands for all.
    fabric, system
        As for `netmodels.api.NetworkModel.iteration`.
    most_packets
        Of the jobs together, about. None: all.
    """
    meeting = _meeting(jobs, capacity, fabric, system, most_packets)
    if meeting is None:
        return None
    iteration_ns = [job.alone_ns for job in jobs]
    is_settled = True
    if meeting.jobs:
        ends = _ends(meeting.jobs, meeting.lanes, system, _starts(meeting, shift_ns), meeting.how)
        is_settled = all(map(settled, ends))
        for number, each, alone in zip(meeting.numbers, ends, meeting.alone, strict=True):
            iteration_ns[number] *= _mean_ns(each) / _alone_ns(alone)
    return answer(jobs, capacity, iteration_ns, is_settled)


def slowdowns_of(
    jobs: Sequence[Sending],
    capacity: Mapping[Link, float],
    fabric: Fabric,
    system: SystemSettings,
    iterations: Sequence[int],
    shift_ns: Sequence[int] = (),
    *,
    most_packets: int | None = MOST_PACKETS,
) -> list[float] | None:
    """Return together / alone of jobs that leave after some iterations; None if they cannot be followed.

    Parameters
    ----------
    iterations
        Of each job, 1 or more.
    """
    meeting = _meeting(jobs, capacity, fabric, system, most_packets)
    if meeting is None:
        return None
    found = [1.0] * len(jobs)
    starts = _starts(meeting, shift_ns)
    counts = [iterations[number] for number in meeting.numbers]
    ends = _ends(meeting.jobs, meeting.lanes, system, starts, meeting.how, counts)
    for number, start, count, each, alone in zip(
        meeting.numbers, starts, counts, ends, meeting.alone, strict=True
    ):
        (by_itself,) = _ends([alone.job], alone.lanes(), system, [0], meeting.how, [count])
        found[number] = (each[-1] - start) / by_itself[-1]
    return found


def _meeting(
    jobs: Sequence[Sending],
    capacity: Mapping[Link, float],
    fabric: Fabric,
    system: SystemSettings,
    most: int | None,
) -> _Meeting | None:
    """Return the jobs that meet others, ready to be followed; None if that cannot be."""
    shared = frozenset(crowded(jobs, capacity))
    numbers = [number for number, job in enumerate(jobs) if not shared.isdisjoint(job.links)]
    those = [jobs[number] for number in numbers]
    if any(job.ring is None for job in those) or any(link.tier == "network" for link in shared):
        return None
    passing = Counter(link for job in those for link in job.links)
    shared |= {link for link, count in passing.items() if count > 1 and capacity.get(link, inf) < inf}
    lanes = RingLanes(those, shared, capacity, fabric, windows=system.windows)
    how = _how(those, lanes, most)
    if how is None:
        return None
    alone = []
    for job in those:
        limits = tuple((link, capacity[link]) for link in job.links if link in capacity)
        alone.append(_Alone(job, shared.intersection(job.links), limits, fabric, system, how))
    return _Meeting(numbers, those, lanes, how, alone)


def _starts(meeting: _Meeting, shift_ns: Sequence[int]) -> list[int]:
    return [shift_ns[number] // meeting.how.scale if shift_ns else 0 for number in meeting.numbers]


def _how(jobs: Sequence[Sending], lanes: RingLanes, most: int | None) -> _How | None:
    """Return the finest way to follow jobs that is affordable."""
    if most is None or not jobs:
        return _HOWS[0]
    for how in _HOWS:
        for number, job in enumerate(jobs):
            layers = _layers(job, number, lanes, how.scale)
            gained = sum(layer.bytes > 0 for layer in layers) - _collectives(job) / how.scale
            if gained * lanes.latency_ns(number) > job.alone_ns / how.scale / 2:
                return None
        if _packets(jobs, lanes, how) <= most:
            return how
    return None


def _packets(jobs: Sequence[Sending], lanes: RingLanes, how: _How) -> float:
    """Return what jobs cost to follow, in packets."""
    per_ns = sum(1 / job.alone_ns for job in jobs) / max(len(jobs), 1)
    return sum(
        _work(number, _layers(job, number, lanes, how.scale), lanes, how.cells)
        * max(how.iterations / job.alone_ns / per_ns, LEAST)
        for number, job in enumerate(jobs)
    )


def _work(number: int, layers: Sequence[Layer], lanes: RingLanes, cells: int) -> int:
    """Return what an iteration of a job costs to follow, in packets."""
    count = len(lanes.rings[number])
    sizes = [layer.bytes // count for layer in layers if layer.bytes]
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


def _ends(
    jobs: Sequence[Sending],
    lanes: RingLanes,
    system: SystemSettings,
    starts: Sequence[int],
    how: _How,
    iterations: Sequence[int] = (),
) -> tuple[tuple[int, ...], ...]:
    """Return when the iterations of each job end: so many, or as many as a mean needs."""
    runs = [
        RingJob(ring, tuple(_layers(job, number, lanes, how.scale)), count, start)
        for number, (job, ring, count, start) in enumerate(
            zip(jobs, lanes.rings, iterations or [_EVER] * len(jobs), starts, strict=True)
        )
    ]
    return run_together(
        runs,
        lanes,
        windows=system.windows,
        endpoint_delay_ns=system.endpoint_delay_ns,
        cells=how.cells,
        enough=None
        if iterations
        else lambda ends_ns: enough([len(each) for each in ends_ns], how.iterations),
    )


def _mean_ns(ends_ns: Sequence[int]) -> float:
    """Return the mean of about the second half of iterations, an even number: rings alternate."""
    first = len(ends_ns) // 2
    return mean_ns(ends_ns[first - (len(ends_ns) - 1 - first) % 2 :])


class _Alone:
    """A job alone, as a question: equal if all is that its answer depends on."""

    def __init__(
        self,
        job: Sending,
        shared: frozenset[Link],
        limits: tuple[tuple[Link, float], ...],
        fabric: Fabric,
        system: SystemSettings,
        how: _How,
    ) -> None:
        self.job, self.shared, self.limits, self.fabric = job, shared, limits, fabric
        self.system, self.how = system, how
        self._key = job.ring, job.links, shared, limits, fabric, system, how

    def lanes(self) -> RingLanes:
        """Return the links that it passes."""
        return RingLanes([self.job], self.shared, dict(self.limits), self.fabric, windows=self.system.windows)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Alone) and self._key == other._key


@lru_cache(maxsize=4096)
def _alone_ns(alone: _Alone) -> float:
    """Return the mean iteration time of a job alone on links that it shares."""
    (found,) = _ends([alone.job], alone.lanes(), alone.system, [0], alone.how)
    return _mean_ns(found)
