"""Opt: CPUs and memory by integer programs (Synergy-OPT, 4.1).

In plain words: as if all machines were one, an integer program gives each job the CPUs and memory that
maximise the total work done (speed relative to that with the proportional share, weighted by GPUs) while no
job is slower than with its share (`linear_programs`). A second program assigns jobs to machines, so that
this is possible and few are fragmented (`patterns`). Fractions are never placed: once the GPUs are
placed, the first program divides CPUs and memory again, now with the limits of the real machines (`divider`).
So no machine gives more than it has, no job is slower than with its share, and choices that cannot be met are
given up where that costs least. A job larger than any machine is placed before the others, on as few machines
as possible; one that finds no machine is placed after them.

On one machine that stands for all servers (`server_gpus`) jobs get exactly the chosen points: an upper bound
for any mechanism.

Paper: Mohan et al., Synergy, OSDI 2022, sections 4.1 and 6.

Differs from the paper: the programs are of classes of identical jobs, not of jobs; the paper rounds fractions
without a stated rule; a job that one machine could hold is not fragmented for the first program's choice. The
authors' program counts a job once, whatever its GPUs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from artist.core.cluster import Allocation, Slice
from artist.core.free import Free
from artist.core.view import ClusterView
from artist.policies.parts.placement import Consolidate
from artist.policies.synergy.best_case import BestCases, types_among
from artist.policies.synergy.divider import divide
from artist.policies.synergy.linear_programs import JobClass, Option, best_options
from artist.policies.synergy.needs import Mechanism, Need
from artist.policies.synergy.patterns import Jobs, Pattern, Site, Wish, assigned, patterns
from artist.policies.synergy.points import Point, Points

_Where = Mapping[int, int]  # GPUs by machine


class Opt(Mechanism):
    """Divides CPUs and memory by integer programs.

    Parameters
    ----------
    memory_points_gib
        Amounts of memory to try for a job, per GPU, besides its share.
    server_gpus
        See `artist.policies.synergy.best_case.BestCases`.
    """

    def __init__(self, memory_points_gib: Sequence[float], *, server_gpus: int | None = None) -> None:
        self._points = Points(BestCases(memory_points_gib, server_gpus=server_gpus), self.weight)
        self._consolidate = Consolidate("network")

    def weight(self, gpus: int) -> int:
        """Return the weight of a job's relative throughput."""
        return gpus

    def pack(self, needs: Sequence[Need], free: Free, view: ClusterView) -> dict[int, Allocation]:
        """Return the allocations by job; a job without one waits."""
        machines = [types_among(view.cluster, need.among)[0] for need in needs]
        points = self._points.of(view, [need.job for need in needs], [need.gpus for need in needs], machines)
        where = self._where(needs, points, free, view)
        placed = [self._points.placed(view, need.job, where[need.job]) for need in needs if need.job in where]
        amounts = {m: free.cpus_and_memory(m) for job in placed for m in job.where}
        return divide(placed, amounts, free.cluster)

    def _where(
        self, needs: Sequence[Need], points: Sequence[tuple[Point, ...]], free: Free, view: ClusterView
    ) -> dict[int, _Where]:
        """Return GPUs by machine, by job."""
        left = Free(free.cluster, free.gpus, free.cpus, free.memory_bytes, free.accepts)
        where: dict[int, _Where] = {}
        classes = self._chosen(needs, points, left)
        for job_class in classes:
            if job_class.gpus > left.buckets.max_free(job_class.among):
                for need, point in zip(job_class.needs, job_class.wishes(), strict=True):
                    self._fragment(need, left, where, point)
        where.update(
            self._whole(
                [job_class for job_class in classes if job_class.needs[0].job not in where], left, view
            )
        )
        for need in needs:
            if need.job not in where:
                self._fragment(need, left, where)
        return where

    def _chosen(
        self, needs: Sequence[Need], points: Sequence[tuple[Point, ...]], free: Free
    ) -> list["_Alike"]:
        """Return the needs by class, with the points that the first program chooses."""
        alike: dict[tuple[tuple[Point, ...], int, int], list[Need]] = {}
        for need, front in zip(needs, points, strict=True):
            alike.setdefault((front, need.gpus, need.among), []).append(need)
        classes = [
            JobClass(tuple(Option(p.value, (p.cpus, p.memory_bytes)) for p in front), len(same))
            for (front, _, _), same in alike.items()
        ]
        counts = best_options(classes, (int(free.cpus.sum()), int(free.memory_bytes.sum())))
        if counts is None:
            counts = [[job_class.jobs, *[0] * (len(job_class.options) - 1)] for job_class in classes]
        return [
            _Alike(front, same, at_points)
            for ((front, _, _), same), at_points in zip(alike.items(), counts, strict=True)
        ]

    def _fragment(self, need: Need, left: Free, where: dict[int, _Where], point: Point | None = None) -> None:
        """Place a job on several machines if there are enough GPUs, and take their CPUs and memory."""
        unit = need.demand.unit
        units = self._consolidate.machines(left.in_units(unit), need.among, need.gpus // unit)
        if units is None or len(units) > (need.demand.max_machines or len(units)):
            return
        gpus = {machine: count * unit for machine, count in units.items()}
        where[need.job] = dict(sorted(gpus.items()))
        left.take(_held(where[need.job], point, left))

    def _whole(self, classes: Sequence["_Alike"], left: Free, view: ClusterView) -> dict[int, _Where]:
        """Place jobs that fit one machine, and take their GPUs."""
        wishes = [
            Wish(job_class.gpus, p.cpus, p.memory_bytes, n)
            for job_class in classes
            for p, n in zip(job_class.points, job_class.counts, strict=True)
            if n
        ]
        class_of = [number for number, job_class in enumerate(classes) for n in job_class.counts if n]
        machines: dict[tuple[int, int, int, tuple[bool, ...]], list[int]] = {}
        for m, gpus in enumerate(left.gpus.tolist()):
            if gpus:
                serves = tuple(bool(classes[number].among >> m & 1) for number in class_of)
                machines.setdefault((gpus, *left.cpus_and_memory(m), serves), []).append(m)
        sites = [Site(*facts[:3], len(alike), facts[3]) for facts, alike in machines.items()]
        by_number = patterns(tuple(wishes), tuple(sites))
        by_site = [
            (alike, [_by_class(pattern, class_of, len(classes)) for pattern in site_patterns])
            for alike, site_patterns in zip(machines.values(), by_number, strict=True)
        ]
        jobs = [Jobs(job_class.gpus, [need.job for need in job_class.needs]) for job_class in classes]
        gpus = {number: same.gpus for same in jobs for number in same.numbers}
        where: dict[int, _Where] = {
            job: {m: gpus[job]} for job, m in assigned(jobs, by_site, _machines(classes, view)).items()
        }
        for on in where.values():
            left.take(_held(on))
        return where


@dataclass(frozen=True, slots=True)
class _Alike:
    """Identical needs, their points, and the number of them that best run at each."""

    points: tuple[Point, ...]
    needs: Sequence[Need]
    counts: Sequence[int]

    @property
    def gpus(self) -> int:
        """GPUs of one of them."""
        return self.needs[0].gpus

    @property
    def among(self) -> int:
        """Machines that may serve."""
        return self.needs[0].among

    def wishes(self) -> list[Point]:
        """Return the points need by need."""
        return [point for point, count in zip(self.points, self.counts, strict=True) for _ in range(count)]


def _by_class(pattern: Pattern, class_of: Sequence[int], classes: int) -> Pattern:
    """Return a pattern whose jobs are counted by class, not by wish."""
    jobs = [0] * classes
    for job_class, count in zip(class_of, pattern.jobs, strict=True):
        jobs[job_class] += count
    return Pattern(tuple(jobs), pattern.machines)


def _machines(classes: Sequence[_Alike], view: ClusterView) -> dict[int, int]:
    """Return the machine of each job that is on a single machine now."""
    machine_of = {}
    for job_class in classes:
        for need in job_class.needs:
            held = view.allocation(need.job)
            if held is not None and len(held.slices) == 1 and held.slices[0].gpus == need.gpus:
                machine_of[need.job] = held.slices[0].machine
    return machine_of


def _held(where: _Where, point: Point | None = None, left: Free | None = None) -> Allocation:
    """Return GPUs; with a point, also their CPUs and memory there, as far as these are left."""
    total, slices = sum(where.values()), []
    for m, gpus in where.items():
        cpus, memory = left.cpus_and_memory(m) if point and left else (0, 0)
        if point:
            cpus, memory = (
                min(cpus, point.cpus * gpus // total),
                min(memory, point.memory_bytes * gpus // total),
            )
        slices.append(Slice(m, gpus, cpus, memory))
    return Allocation(tuple(slices))
