"""How CPUs and memory are divided among jobs whose GPUs are placed: the integer program of Synergy, 4.1.

Machines that share a job are divided together, others each for itself, with two rows per machine instead of
the two of the super-machine. A job on several machines takes from each what goes with its GPUs there, rounded
up, because it runs at the pace of the GPU with the fewest. If too little is free for every job's least, jobs
get theirs in turn, as far as it is free.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from artist.core.cluster import Allocation, Cluster, Slice
from artist.policies.synergy.fronts import Point
from artist.policies.synergy.linear_programs import Kind, Option, best_options

Amounts = Mapping[int, tuple[int, int]]  # CPUs and bytes of memory by machine


class Placed(NamedTuple):
    """A job with GPUs.

    Attributes
    ----------
    points
        What it may hold, for the whole job (`artist.policies.synergy.fronts`).
    where
        GPUs by machine, in order of the machines.
    least
        What it holds at the first point; None for what the point says, nowhere more than the share of its
        GPUs.
    """

    job: int
    points: tuple[Point, ...]
    where: Mapping[int, int]
    least: Allocation | None = None


@dataclass(frozen=True, slots=True)
class _Alike:
    """Jobs with the same points and GPUs, and what one of them holds at each point."""

    points: tuple[Point, ...]
    held: list[Allocation]
    jobs: list[int]

    def kind(self, rows: Mapping[int, int]) -> Kind:
        """Return the kind of these jobs, with two rows for each machine."""
        options = []
        for point, held in zip(self.points, self.held, strict=True):
            takes = [0] * (2 * len(rows))
            for s in held.slices:
                row = 2 * rows[s.machine]
                takes[row : row + 2] = s.cpus, s.memory_bytes
            options.append(Option(point.worth, tuple(takes)))
        return Kind(tuple(options), len(self.jobs))

    def given(self, counts: Sequence[int]) -> dict[int, Allocation]:
        """Return what each job holds if so many have each point: the first jobs get more."""
        best_first = sorted(range(len(self.points)), key=lambda p: -self.points[p].worth)
        return dict(zip(self.jobs, (self.held[p] for p in best_first for _ in range(counts[p])), strict=True))


def divide(jobs: Sequence[Placed], free: Amounts, cluster: Cluster) -> dict[int, Allocation]:
    """Return what jobs hold: their GPUs, and the CPUs and memory that are worth most in all.

    Parameters
    ----------
    free
        What is there for these jobs.
    """
    found: dict[int, Allocation] = {}
    for part in _parts(jobs):
        found.update(_divided(part, free, cluster))
    return {placed.job: found[placed.job] for placed in jobs}


def _divided(jobs: Sequence[Placed], free: Amounts, cluster: Cluster) -> dict[int, Allocation]:
    """Divide machines that jobs share."""
    rows = {m: row for row, m in enumerate(sorted({m for placed in jobs for m in placed.where}))}
    alike = _alike(jobs, cluster)
    counts = best_options([each.kind(rows) for each in alike], [amount for m in rows for amount in free[m]])
    if counts is None:
        first = {job: each.held[0] for each in alike for job in each.jobs}
        return _in_turn({placed.job: first[placed.job] for placed in jobs}, free)
    return {
        job: held
        for each, of_each in zip(alike, counts, strict=True)
        for job, held in each.given(of_each).items()
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
        _Alike(same[0].points, held_at(same[0], cluster), [each.job for each in same])
        for same in numbers.values()
    ]


def held_at(placed: Placed, cluster: Cluster) -> list[Allocation]:
    """Return what a job holds at each of its points."""
    where = [*placed.where.items()]
    least = placed.least or _held(placed.points[0], where, cluster, least=True)
    return [least, *(_held(point, where, cluster, least=False) for point in placed.points[1:])]


def _held(point: Point, where: Sequence[tuple[int, int]], cluster: Cluster, *, least: bool) -> Allocation:
    """Return what a job holds at a point; the least is nowhere more than the share of its GPUs."""
    total, slices = sum(gpus for _, gpus in where), []
    for m, gpus in where:
        cpus, memory = -(-point.cpus * gpus // total), -(-point.memory_bytes * gpus // total)
        if least:
            share = cluster.machines[m].share(gpus)
            cpus, memory = min(cpus, share[0]), min(memory, share[1])
        slices.append(Slice(m, gpus, cpus, memory))
    return Allocation(tuple(slices))


def _in_turn(least: Mapping[int, Allocation], free: Amounts) -> dict[int, Allocation]:
    """Return what jobs hold if they get their least in turn, as far as it is free."""
    left = dict(free)
    found = {}
    for job, allocation in least.items():
        slices = []
        for m, gpus, cpus, memory in allocation.slices:
            free_cpus, free_memory = left[m]
            cpus, memory = min(cpus, free_cpus), min(memory, free_memory)
            left[m] = free_cpus - cpus, free_memory - memory
            slices.append(Slice(m, gpus, cpus, memory))
        found[job] = Allocation(tuple(slices))
    return found
