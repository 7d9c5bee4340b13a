"""Jobs that share links, followed packet by packet where that is affordable.

What `netmodels.contention.phases` does with fluids, with the packets of `netmodels.contention.packet_jobs`:
jobs begin together, or at their shifts, and are followed until jobs have done 16 iterations on average and
every job eight; times are means over the second half of each job's. How long a job takes alone is found in
the same way, and together / alone is what `Sending.alone_ns` is multiplied by.

Only rings through all GPUs are followed (`netmodels.contention.traffic.in_rings`), on ports and uplinks
(`netmodels.contention.ring_lanes`). With all packets followed, the jobs of ../shared/reference/contention
take, from profile and placement on, what they take in ns-3 to the ns, with windows, but for the draws of
parallel uplinks (tests/agreement/test_contention_packets.py). What takes too many packets is followed more
coarsely (`netmodels.contention.packet_budget`); what is still too much, not at all. A `Runner`, such as
`netmodels.ns3`, follows real packets instead.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import NamedTuple

from netmodels.contention.links import Link
from netmodels.contention.packet_budget import How, Runner, how_of, layers_of, work_of
from netmodels.contention.packet_jobs import RingJob
from netmodels.contention.packet_jobs import together as run_together
from netmodels.contention.phases import enough, mean_ns
from netmodels.contention.ring_lanes import RingLanes
from netmodels.contention.sending import Sending
from netmodels.contention.shares import crowded
from netmodels.fabric.fabric import Fabric
from netmodels.fabric.system import SystemSettings

_EVER = 1 << 62


def packets_of(
    jobs: Sequence[Sending], capacity: Mapping[Link, float], fabric: Fabric, system: SystemSettings
) -> int:
    """Return how many packets it takes to follow all of some jobs, about; 0 if they cannot be followed."""
    meeting = _meeting(jobs, capacity, fabric, system, None)
    return round(work_of(meeting.jobs, meeting.lanes)) if meeting else 0


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
    how: How
    alone: "list[_Alone]"


def followed(
    jobs: Sequence[Sending],
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
        As for `netmodels.contention.phases.together`; of parallel uplinks, `path` 0 stands for all.
    fabric, system
        As for `netmodels.api.NetworkModel.iteration`.
    max_packets
        Of the jobs together, about. None: all.
    runner
        Follows the packets, as many as it says; None: `netmodels.contention.packet_jobs`.
    iterations
        Of each job, which leaves after so many, all of which count; without a runner. By default all go on
        until there are means.
    """
    max_packets = max_packets if runner is None else runner.packets_together
    meeting = _meeting(jobs, capacity, fabric, system, max_packets, runner, iterations)
    if meeting is None:
        return None
    found = [1.0] * len(jobs)
    if meeting.jobs:
        starts = [shift_ns[number] // meeting.how.scale if shift_ns else 0 for number in meeting.numbers]
        counts = [alone.iterations for alone in meeting.alone]
        ends = _ends(meeting.jobs, meeting.lanes, system, starts, meeting.how, runner, counts)
        for number, start, each, alone in zip(meeting.numbers, starts, ends, meeting.alone, strict=True):
            found[number] = _time_ns(each, start, alone.iterations) / _alone_ns(alone)
    return found


def _meeting(
    jobs: Sequence[Sending],
    capacity: Mapping[Link, float],
    fabric: Fabric,
    system: SystemSettings,
    most: int | None,
    runner: Runner | None = None,
    iterations: Sequence[int] = (),
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
    how = how_of(those, lanes, most, runner)
    if how is None:
        return None
    alone = []
    for number, job in zip(numbers, those, strict=True):
        limits = tuple((link, capacity[link]) for link in job.links if link in capacity)
        own, count = shared.intersection(job.links), iterations[number] if iterations else None
        alone.append(_Alone(job, own, limits, fabric, system, how, runner, count))
    return _Meeting(numbers, those, lanes, how, alone)


def _ends(
    jobs: Sequence[Sending],
    lanes: RingLanes,
    system: SystemSettings,
    starts: Sequence[int],
    how: How,
    runner: Runner | None,
    iterations: Sequence[int | None],
) -> Sequence[Sequence[int]]:
    """Return when the iterations of each job end: so many, or, if None is said, as many as a mean needs."""
    runs = [
        RingJob(ring, tuple(layers_of(job, number, lanes, how.scale)), count or _EVER, start)
        for number, (job, ring, count, start) in enumerate(
            zip(jobs, lanes.rings, iterations, starts, strict=True)
        )
    ]
    if runner is not None:
        return runner.run_rings(runs, lanes, system, how.iterations)
    return run_together(
        runs,
        lanes,
        windows=system.windows,
        endpoint_delay_ns=system.endpoint_delay_ns,
        cells=how.cells,
        enough=None
        if all(iterations)
        else lambda ends_ns: enough([len(each) for each in ends_ns], how.iterations),
    )


def _time_ns(ends_ns: Sequence[int], start_ns: int, iterations: int | None) -> float:
    """Return the time of so many iterations; else the mean of about the second half.

    That is an even number: rings alternate.
    """
    if iterations is not None:
        return ends_ns[-1] - start_ns
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
        how: How,
        runner: Runner | None,
        iterations: int | None,
    ) -> None:
        self.job, self.shared, self.limits, self.fabric = job, shared, limits, fabric
        self.system, self.how, self.runner, self.iterations = system, how, runner, iterations
        self._key = job.ring, job.links, shared, limits, fabric, system, how, runner, iterations

    def lanes(self) -> RingLanes:
        """Return the links that it passes."""
        return RingLanes([self.job], self.shared, dict(self.limits), self.fabric, windows=self.system.windows)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Alone) and self._key == other._key


@lru_cache(maxsize=4096)
def _alone_ns(alone: _Alone) -> float:
    """Return what a job takes alone on links that it shares, as `_time_ns`."""
    count = alone.iterations
    (found,) = _ends([alone.job], alone.lanes(), alone.system, [0], alone.how, alone.runner, [count])
    return _time_ns(found, 0, count)
