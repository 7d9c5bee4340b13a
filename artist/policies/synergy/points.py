"""Operating points of a job: CPUs and memory, and its weighted relative throughput there. For opt.

All whole numbers of CPUs are tried with all amounts of memory at which best cases are sought, and the
proportional share (Synergy, 4.1.1: the matrix W). A point is kept if the job is no slower there than with its
share, constraint (5), and no other point has at least its value with at most its CPUs and memory. That loses
nothing: the other point in its place uses no more and has no smaller value.

On one machine the points of its type hold; on several the believed times there decide, and the least point is
the proportional share if the job would be slower with less.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import starmap
from typing import NamedTuple

from artist.core.cluster import Allocation, Cluster, Machine, Slice
from artist.core.view import ClusterView
from artist.performance.formulas.best_case import share_of
from artist.policies.synergy.best_case import BestCases, times_on

DIGITS = 6  # of a value: jobs whose times differ by less are identical
_MAX_REMEMBERED = 20_000


class Point(NamedTuple):
    """CPUs and memory of a whole job, and its throughput there relative to its share, weighted."""

    cpus: int
    memory_bytes: int
    value: float


class Placed(NamedTuple):
    """A job with GPUs.

    Attributes
    ----------
    points
        CPUs and memory that it may hold, for the whole job.
    where
        GPUs by machine, in order of the machines.
    least
        Allocation at the first point; None for its part of the point on each machine, nowhere more than the
        share of its GPUs.
    """

    job: int
    points: tuple[Point, ...]
    where: Mapping[int, int]
    least: Allocation | None = None


class Points:
    """Points of jobs, computed once for identical jobs; needs the knowledge that `BestCases` needs.

    Parameters
    ----------
    cases
        Amounts of CPUs and memory to try.
    weight
        Weight of a job by its GPUs.
    """

    def __init__(self, cases: BestCases, weight: Callable[[int], int] = int) -> None:
        self._cases = cases
        self._weight = weight
        self._on_one: dict[tuple[object, ...], tuple[Point, ...]] = {}
        self._on_several: dict[tuple[int, tuple[tuple[int, int], ...]], Placed] = {}

    def of(
        self, view: ClusterView, jobs: Sequence[int], gpus: Sequence[int], machines: Sequence[Machine]
    ) -> list[tuple[Point, ...]]:
        """Return the points of jobs on given numbers of GPUs.

        Parameters
        ----------
        machines
            A machine of the type that serves, by job.
        """
        columns = view.columns(jobs)
        points = []
        for job, n, model, compute_ns, machine in zip(
            jobs, gpus, columns.model, columns.compute_ns.tolist(), machines, strict=True
        ):
            key = (model, view.demand(job), compute_ns, n, machine.hardware)
            if key not in self._on_one:
                if len(self._on_one) == _MAX_REMEMBERED:
                    self._on_one.clear()
                self._on_one[key] = self._tried(view, job, n, machine)
            points.append(self._on_one[key])
        return points

    def placed(self, view: ClusterView, job: int, where: Mapping[int, int]) -> Placed:
        """Return a job with its points on given GPUs, at which it is no slower than with its share."""
        first, machines = next(iter(where)), view.cluster.machines
        if len(where) == 1:
            (points,) = self.of(view, [job], [where[first]], [machines[first]])
            return Placed(job, points, where)
        key = job, tuple(where.items())
        if key not in self._on_several:
            if len(self._on_several) == _MAX_REMEMBERED:
                self._on_several.clear()
            (points,) = self.of(view, [job], [sum(where.values())], [machines[first]])
            self._on_several[key] = self._believed(view, Placed(job, points, where))
        return self._on_several[key]

    def _tried(self, view: ClusterView, job: int, gpus: int, machine: Machine) -> tuple[Point, ...]:
        cpus, memory = self._cases.grid(machine, gpus)
        share = share_of(machine, gpus)
        cpus, memory = sorted({*cpus, share[0]}), sorted({*memory, share[1]})
        iteration_ns = times_on(view, job, gpus, machine)(cpus, memory).tolist()
        share_ns = iteration_ns[cpus.index(share[0])][memory.index(share[1])]
        points = [
            Point(c, m, self._value(gpus, share_ns, ns))
            for c, by_memory in zip(cpus, iteration_ns, strict=True)
            for m, ns in zip(memory, by_memory, strict=True)
            if ns <= share_ns
        ]
        return front(points, share)

    def _believed(self, view: ClusterView, placed: Placed) -> Placed:
        """Return a job on several machines at those of its points that are believed to hold there, too."""
        job, points = placed.job, placed.points
        share = Allocation(tuple(starmap(view.cluster.share, placed.where.items())))
        least, *others = held_at(placed, view.cluster)
        held = [share, least, *others]
        share_ns, base_ns, *others_ns = map(int, view.performance.alone([job] * len(held), held))
        if base_ns > share_ns:
            least, base_ns = share, share_ns
        amounts = (sum(s.cpus for s in least.slices), sum(s.memory_bytes for s in least.slices))
        kept = [Point(*amounts, self._value(share.gpus, share_ns, base_ns))]
        for point, ns in zip(points[1:], others_ns, strict=True):
            if ns <= share_ns:
                kept.append(point._replace(value=self._value(share.gpus, share_ns, ns)))
        return placed._replace(points=tuple(kept), least=least)

    def _value(self, gpus: int, share_ns: int, ns: int) -> float:
        """Return the relative throughput of a job with a given iteration time, weighted."""
        return round(self._weight(gpus) * (share_ns / ns), DIGITS)


def front(points: Sequence[Point], share: tuple[int, int]) -> tuple[Point, ...]:
    """Return the points that no other dominates, by CPUs and memory; the least of them first.

    Parameters
    ----------
    share
        Proportional share of CPUs and memory. The least is the point within it with the fewest CPUs, then the
        least memory.
    """
    kept: list[Point] = []
    for p in sorted(points, key=lambda p: (p.cpus, p.memory_bytes, -p.value)):
        if not any(q.memory_bytes <= p.memory_bytes and q.value >= p.value for q in kept):
            kept.append(p)
    least = next(p for p in kept if p.cpus <= share[0] and p.memory_bytes <= share[1])
    return least, *(p for p in kept if p is not least)


def held_at(placed: Placed, cluster: Cluster) -> list[Allocation]:
    """Return the allocations of a job at its points."""
    where = [*placed.where.items()]
    least = placed.least or _held(placed.points[0], where, cluster, least=True)
    return [least, *(_held(point, where, cluster, least=False) for point in placed.points[1:])]


def _held(point: Point, where: Sequence[tuple[int, int]], cluster: Cluster, *, least: bool) -> Allocation:
    """Return the allocation of a job at a point; the least is nowhere more than the share of its GPUs."""
    total, slices = sum(gpus for _, gpus in where), []
    for m, gpus in where:
        cpus, memory = -(-point.cpus * gpus // total), -(-point.memory_bytes * gpus // total)
        if least:
            share = cluster.machines[m].share(gpus)
            cpus, memory = min(cpus, share[0]), min(memory, share[1])
        slices.append(Slice(m, gpus, cpus, memory))
    return Allocation(tuple(slices))
