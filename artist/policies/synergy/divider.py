"""Division of CPUs and memory among jobs on given GPUs by the integer program of Synergy, 4.1.

Machines that share a job are divided together, others separately, with two rows per machine instead of the
two of the super-machine. A job on several machines takes from each the part of its GPUs there, rounded up,
because it runs at the pace of the GPU with the fewest. If too little is free for every job's least, jobs get
theirs in turn, as far as it is free.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from artist.core.cluster import Allocation, Cluster, Slice
from artist.policies.synergy.linear_programs import JobClass, Option, best_options
from artist.policies.synergy.points import Placed, Point, held_at

Amounts = Mapping[int, tuple[int, int]]  # CPUs and bytes of memory by machine


@dataclass(frozen=True, slots=True)
class _Alike:
    """Jobs with the same points and GPUs, and the allocations of one of them at its points."""

    points: tuple[Point, ...]
    held: list[Allocation]
    jobs: list[int]

    def job_class(self, rows: Mapping[int, int]) -> JobClass:
        """Return the class of these jobs, with two rows per machine."""
        options = []
        for point, held in zip(self.points, self.held, strict=True):
            amounts = [0] * (2 * len(rows))
            for s in held.slices:
                row = 2 * rows[s.machine]
                amounts[row : row + 2] = s.cpus, s.memory_bytes
            options.append(Option(point.value, tuple(amounts)))
        return JobClass(tuple(options), len(self.jobs))

    def divided(self, counts: Sequence[int]) -> dict[int, Allocation]:
        """Return the allocations by job for the number of jobs at each point; the first jobs get more."""
        best_first = sorted(range(len(self.points)), key=lambda p: -self.points[p].value)
        return dict(zip(self.jobs, (self.held[p] for p in best_first for _ in range(counts[p])), strict=True))


def divide(jobs: Sequence[Placed], free: Amounts, cluster: Cluster) -> dict[int, Allocation]:
    """Return the allocations by job of the largest total value.

    Parameters
    ----------
    free
        Amounts for these jobs.
    """
    divided: dict[int, Allocation] = {}
    for part in _parts(jobs):
        divided.update(_divided(part, free, cluster))
    return {placed.job: divided[placed.job] for placed in jobs}


def _divided(jobs: Sequence[Placed], free: Amounts, cluster: Cluster) -> dict[int, Allocation]:
    """Divide machines that jobs share."""
    rows = {m: row for row, m in enumerate(sorted({m for placed in jobs for m in placed.where}))}
    alike = _alike(jobs, cluster)
    counts = best_options(
        [same.job_class(rows) for same in alike], [amount for m in rows for amount in free[m]]
    )
    if counts is None:
        first = {job: same.held[0] for same in alike for job in same.jobs}
        return _in_turn({placed.job: first[placed.job] for placed in jobs}, free)
    return {
        job: held
        for same, at_points in zip(alike, counts, strict=True)
        for job, held in same.divided(at_points).items()
    }


def _parts(jobs: Sequence[Placed]) -> list[list[Placed]]:
    """Return the jobs by connected machines: those that jobs share, directly or through others."""
    leader: dict[int, int] = {}

    def led_by(m: int) -> int:
        while leader.setdefault(m, m) != m:
            m = leader[m]
        return m

    for placed in jobs:
        first, *others = placed.where
        for m in others:
            leader[led_by(m)] = led_by(first)
    parts: dict[int, list[Placed]] = {}
    for placed in jobs:
        parts.setdefault(led_by(next(iter(placed.where))), []).append(placed)
    return list(parts.values())


def _alike(jobs: Sequence[Placed], cluster: Cluster) -> list[_Alike]:
    """Return the jobs by points and GPUs."""
    numbers: dict[tuple[object, ...], list[Placed]] = {}
    for placed in jobs:
        key = placed.points, tuple(placed.where.items()), placed.least
        numbers.setdefault(key, []).append(placed)
    return [
        _Alike(same[0].points, held_at(same[0], cluster), [placed.job for placed in same])
        for same in numbers.values()
    ]


def _in_turn(least: Mapping[int, Allocation], free: Amounts) -> dict[int, Allocation]:
    """Return the allocations by job if jobs get their least in turn, as far as it is free."""
    left = dict(free)
    in_turn = {}
    for job, allocation in least.items():
        slices = []
        for m, gpus, cpus, memory in allocation.slices:
            free_cpus, free_memory = left[m]
            cpus, memory = min(cpus, free_cpus), min(memory, free_memory)
            left[m] = free_cpus - cpus, free_memory - memory
            slices.append(Slice(m, gpus, cpus, memory))
        in_turn[job] = Allocation(tuple(slices))
    return in_turn
