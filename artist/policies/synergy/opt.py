"""Opt: CPUs and memory by integer programs (Synergy-OPT, 4.1).

In plain words: as if all machines were one, an integer program gives each job the CPUs and memory that
maximise the total work done (speed relative to that with the proportional share, weighted by GPUs) while no
job is slower than with its share (`linear_programs`). A second program says which jobs share a machine, so
that this is possible and few are fragmented (`patterns`). Fractions are never placed: once the GPUs are
placed, the first program divides CPUs and memory again, now with the limits of the real machines (`divider`).
So no machine gives more than it has, no job is slower than with its share, and choices that cannot be met are
given up where that costs least. A job larger than any machine is placed before the others, on as few machines
as possible; one that finds no machine is placed after them.

On one machine that stands for all servers (`server_gpus`) jobs get exactly what is chosen: an upper bound for
any mechanism.

Paper: Mohan et al., Synergy, OSDI 2022, sections 4.1 and 6.

Differs from the paper: the programs are of kinds of jobs, not of jobs; the paper rounds fractions without
saying how; a job that one machine could hold is not fragmented to get what the first program chose. The
authors' program counts a job once, whatever its GPUs: `weighted` false.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from artist.core.cluster import Allocation, Slice
from artist.core.free import Free
from artist.core.view import ClusterView
from artist.policies.parts.placement import Consolidate
from artist.policies.synergy.best_case import BestCases, kinds_among
from artist.policies.synergy.divider import divide
from artist.policies.synergy.fronts import Fronts, Point
from artist.policies.synergy.linear_programs import Kind, Option, best_options
from artist.policies.synergy.needs import Mechanism, Need
from artist.policies.synergy.on_machines import OnMachines
from artist.policies.synergy.pattern_placement import Jobs, seats
from artist.policies.synergy.patterns import Pattern, Site, Wish, patterns

_Where = Mapping[int, int]  # GPUs by machine


class Opt(Mechanism):
    """Divides CPUs and memory by integer programs.

    Parameters
    ----------
    memory_points_gib
        Amounts of memory to try for a job, per GPU, besides its share.
    server_gpus
        See `artist.policies.synergy.best_case.BestCases`.
    weighted
        Whether a job counts once for each of its GPUs.
    """

    def __init__(
        self, memory_points_gib: Sequence[float], *, server_gpus: int | None = None, weighted: bool = True
    ) -> None:
        self._fronts = Fronts(BestCases(memory_points_gib, server_gpus=server_gpus), weighted=weighted)
        self._on_machines = OnMachines(self._fronts)
        self._consolidate = Consolidate("network")

    def pack(self, needs: Sequence[Need], free: Free, view: ClusterView) -> dict[int, Allocation]:
        """Return the allocations by job; a job without one waits."""
        kinds = [kinds_among(view.cluster, need.among)[0] for need in needs]
        points = self._fronts.of(view, [need.job for need in needs], [need.gpus for need in needs], kinds)
        where = self._where(needs, points, free, view)
        placed = [
            self._on_machines.placed(view, need.job, where[need.job]) for need in needs if need.job in where
        ]
        there = {m: free.cpus_and_memory(m) for each in placed for m in each.where}
        return divide(placed, there, free.cluster)

    def _where(
        self, needs: Sequence[Need], points: Sequence[tuple[Point, ...]], free: Free, view: ClusterView
    ) -> dict[int, _Where]:
        """Return GPUs by machine, by job."""
        left = Free(free.cluster, free.gpus, free.cpus, free.memory_bytes, free.accepts)
        where: dict[int, _Where] = {}
        kinds = self._chosen(needs, points, left)
        for kind in kinds:
            if kind.gpus > left.buckets.max_free(kind.among):
                for need, point in zip(kind.needs, kind.wishes(), strict=True):
                    self._fragment(need, left, where, point)
        where.update(self._whole([kind for kind in kinds if kind.needs[0].job not in where], left, view))
        for need in needs:
            if need.job not in where:
                self._fragment(need, left, where)
        return where

    def _chosen(
        self, needs: Sequence[Need], points: Sequence[tuple[Point, ...]], free: Free
    ) -> list["_Alike"]:
        """Return the needs by kinds, with what the first program chooses."""
        alike: dict[tuple[tuple[Point, ...], int, int], list[Need]] = {}
        for need, front in zip(needs, points, strict=True):
            alike.setdefault((front, need.gpus, need.among), []).append(need)
        kinds = [
            Kind(tuple(Option(p.worth, (p.cpus, p.memory_bytes)) for p in front), len(same))
            for (front, _, _), same in alike.items()
        ]
        counts = best_options(kinds, (int(free.cpus.sum()), int(free.memory_bytes.sum())))
        if counts is None:
            counts = [[kind.jobs, *[0] * (len(kind.options) - 1)] for kind in kinds]
        return [
            _Alike(front, same, of_kind)
            for ((front, _, _), same), of_kind in zip(alike.items(), counts, strict=True)
        ]

    def _fragment(self, need: Need, left: Free, where: dict[int, _Where], point: Point | None = None) -> None:
        """Place a job on several machines if there are enough GPUs, and take what goes with them."""
        gpus = self._consolidate.machines(left, need.among, need.gpus)
        if gpus is None or len(gpus) > (need.demand.max_machines or len(gpus)):
            return
        where[need.job] = dict(sorted(gpus.items()))
        left.take(_held(where[need.job], point, left))

    def _whole(self, kinds: Sequence["_Alike"], left: Free, view: ClusterView) -> dict[int, _Where]:
        """Place jobs that fit one machine, and take their GPUs."""
        wishes = [
            Wish(kind.gpus, p.cpus, p.memory_bytes, n)
            for kind in kinds
            for p, n in zip(kind.points, kind.counts, strict=True)
            if n
        ]
        of_kind = [number for number, kind in enumerate(kinds) for n in kind.counts if n]
        machines: dict[tuple[int, int, int, tuple[bool, ...]], list[int]] = {}
        for m, gpus in enumerate(left.gpus.tolist()):
            if gpus:
                serves = tuple(bool(kinds[number].among >> m & 1) for number in of_kind)
                machines.setdefault((gpus, *left.cpus_and_memory(m), serves), []).append(m)
        sites = [Site(*facts[:3], len(alike), facts[3]) for facts, alike in machines.items()]
        by_site = [
            (alike, [_by_kind(pattern, of_kind, len(kinds)) for pattern in found])
            for alike, found in zip(machines.values(), patterns(tuple(wishes), tuple(sites)), strict=True)
        ]
        jobs = [Jobs(kind.gpus, [need.job for need in kind.needs]) for kind in kinds]
        gpus = {number: same.gpus for same in jobs for number in same.numbers}
        where: dict[int, _Where] = {
            job: {m: gpus[job]} for job, m in seats(jobs, by_site, _machines(kinds, view)).items()
        }
        for on in where.values():
            left.take(_held(on))
        return where


@dataclass(frozen=True, slots=True)
class _Alike:
    """Identical needs, the points at which they may run, and how many of them would best run at each."""

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


def _by_kind(pattern: Pattern, of_kind: Sequence[int], kinds: int) -> Pattern:
    """Return a pattern whose jobs are counted by kind, not by wish."""
    jobs = [0] * kinds
    for kind, count in zip(of_kind, pattern.jobs, strict=True):
        jobs[kind] += count
    return Pattern(tuple(jobs), pattern.machines)


def _machines(kinds: Sequence[_Alike], view: ClusterView) -> dict[int, int]:
    """Return the machine of each job that is on a single machine now."""
    found = {}
    for kind in kinds:
        for need in kind.needs:
            held = view.allocation(need.job)
            if held is not None and len(held.slices) == 1 and held.slices[0].gpus == need.gpus:
                found[need.job] = held.slices[0].machine
    return found


def _held(where: _Where, point: Point | None = None, left: Free | None = None) -> Allocation:
    """Return GPUs; with a point, also what goes with them there, as far as it is left."""
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
