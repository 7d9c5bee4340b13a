"""Points at which a job may run: CPUs, memory, and what its speed there is worth. For the mechanism opt.

All whole numbers of CPUs are tried with each amount of memory at which best cases are sought, and the
proportional share (Synergy, 4.1.1: the matrix W). Points are kept if the job is no slower there than with its
share, constraint (5), and no other point beats them with as few CPUs and as little memory. That loses
nothing: another point in its place uses no more and is worth no less.
"""

from collections.abc import Sequence
from typing import NamedTuple

from artist.core.cluster import Machine
from artist.core.view import ClusterView
from artist.performance.formulas.best_case import share_of
from artist.policies.synergy.best_case import BestCases, times_on

DIGITS = 6  # of a worth: jobs whose times differ by less are identical
_MAX_REMEMBERED = 20_000


class Point(NamedTuple):
    """What a job may hold, and what its speed there is worth; for the whole job."""

    cpus: int
    memory_bytes: int
    worth: float


class Fronts:
    """Points of jobs, computed once for identical jobs; needs what `BestCases` needs.

    Parameters
    ----------
    cases
        Says what is tried.
    weighted
        Whether a job's speed relative to that with its proportional share counts once for each of its GPUs.
    """

    def __init__(self, cases: BestCases, *, weighted: bool = True) -> None:
        self._cases = cases
        self._weighted = weighted
        self._of: dict[tuple[object, ...], tuple[Point, ...]] = {}

    def of(
        self, view: ClusterView, jobs: Sequence[int], gpus: Sequence[int], machines: Sequence[Machine]
    ) -> list[tuple[Point, ...]]:
        """Return the points of jobs on some GPUs.

        Parameters
        ----------
        machines
            Of the kinds that serve, by job.
        """
        columns = view.columns(jobs)
        found = []
        for job, held, model, compute_ns, machine in zip(
            jobs, gpus, columns.model, columns.compute_ns.tolist(), machines, strict=True
        ):
            alike = (model, view.demand(job), compute_ns, held, machine.hardware)
            if alike not in self._of:
                if len(self._of) == _MAX_REMEMBERED:
                    self._of.clear()
                self._of[alike] = self._tried(view, job, held, machine)
            found.append(self._of[alike])
        return found

    def weight(self, gpus: int) -> int:
        """Return what the share of a job is worth."""
        return gpus if self._weighted else 1

    def _tried(self, view: ClusterView, job: int, gpus: int, machine: Machine) -> tuple[Point, ...]:
        cpus, memory = self._cases.grid(machine, gpus)
        share = share_of(machine, gpus)
        cpus, memory = sorted({*cpus, share[0]}), sorted({*memory, share[1]})
        iteration_ns = times_on(view, job, gpus, machine)(cpus, memory).tolist()
        at_share_ns = iteration_ns[cpus.index(share[0])][memory.index(share[1])]
        weight = self.weight(gpus)
        points = [
            Point(c, m, round(weight * (at_share_ns / ns), DIGITS))
            for c, by_memory in zip(cpus, iteration_ns, strict=True)
            for m, ns in zip(memory, by_memory, strict=True)
            if ns <= at_share_ns
        ]
        return front(points, share)


def front(points: Sequence[Point], share: tuple[int, int]) -> tuple[Point, ...]:
    """Return the points that no other beats, by CPUs and memory; the least of them first.

    Parameters
    ----------
    share
        Proportional share of CPUs and memory. The least is the point within it with the fewest CPUs, then the
        least memory.
    """
    kept: list[Point] = []
    for p in sorted(points, key=lambda p: (p.cpus, p.memory_bytes, -p.worth)):
        if not any(q.memory_bytes <= p.memory_bytes and q.worth >= p.worth for q in kept):
            kept.append(p)
    least = next(p for p in kept if p.cpus <= share[0] and p.memory_bytes <= share[1])
    return least, *(p for p in kept if p is not least)
