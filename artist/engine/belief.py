"""Believed iteration times of jobs on proposed allocations."""

from collections.abc import Mapping, Sequence

import numpy as np

from artist.core.arrays import Floats, Ints
from artist.core.buckets import ALL, first_of
from artist.core.cluster import Allocation, Cluster, Slice
from artist.core.iteration import IterationParts
from artist.core.job import JobSpec
from artist.core.link_use import LinkUse
from artist.engine.consolidated import Consolidated
from artist.engine.hypothetical import NO_SHIFTS, Added, Hypothetical
from artist.engine.link_use import link_use
from artist.errors import PlanError
from artist.performance.api import Changed, OnGrid, OnLinks, Performance, Running


class Belief:
    """Believed iteration times; see `artist.core.view.BeliefPerformance`.

    Parameters
    ----------
    specs
        All jobs of the run.
    held
        Allocation of each job, None for one that does not run: the engine's own list.
    running
        The jobs that run now.
    performance, factors
        Believed iteration times, and a factor by job, shape (n_jobs,).
    consolidated
        Assumed placement of a job if the policy gives only its number of GPUs.
    """

    def __init__(
        self,
        specs: Sequence[JobSpec],
        held: Sequence[Allocation | None],
        running: Running,
        performance: Performance,
        factors: Floats,
        consolidated: Consolidated,
    ) -> None:
        self._specs = specs
        self._held = held
        self._running = running
        self._cluster: Cluster = running.cluster
        self._performance = performance
        self._factors = factors.data  # gives Python's floats
        self._consolidated = consolidated
        self._grid = performance.at_resources if isinstance(performance, OnGrid) else None

    def alone(self, jobs: Sequence[int], allocations: Sequence[Allocation]) -> Ints:
        pairs = zip(jobs, allocations, strict=True)
        return np.array([self._priced({j: a})[j] for j, a in pairs], dtype=np.int64)

    def together(
        self, jobs: Sequence[int], allocations: Sequence[Allocation], shift_ns: Sequence[int] = ()
    ) -> Ints:
        shifts = dict(zip(jobs, shift_ns, strict=True)) if len(shift_ns) else {}
        prices = self._priced(dict(zip(jobs, allocations, strict=True)), shifts)
        return np.array([prices[j] for j in jobs], dtype=np.int64)

    def added(
        self, jobs: Sequence[int], allocations: Sequence[Allocation | None], shift_ns: Sequence[int] = ()
    ) -> tuple[Ints, Mapping[int, int]]:
        asked = dict(zip(jobs, allocations, strict=True))
        held = {j: a for j, a in asked.items() if a is not None}
        shifts = shift_ns if len(shift_ns) else map(self._running.shift_ns, jobs)
        placed = Hypothetical(self._specs, self._cluster, held, dict(zip(jobs, shifts, strict=True)))
        changed = [Changed(j, self._held[j], a) for j, a in asked.items()]
        parts = self._performance.reprice(changed, Added(self._running, placed, asked))
        times = np.array([self._believed(j, parts[j]) if j in held else 0 for j in jobs], dtype=np.int64)
        affected = {j: self._running.allocation(j) for j in parts if j not in asked}
        if not affected:
            return times, {}
        now = self._performance.reprice([Changed(j, a, a) for j, a in affected.items()], self._running)
        return times, {j: self._believed(j, parts[j]) for j in affected if sum(parts[j]) != sum(now[j])}

    def sending(self, jobs: Sequence[int], allocations: Sequence[Allocation]) -> list[LinkUse | None]:
        performance = self._performance
        if not isinstance(performance, OnLinks):
            return [None] * len(jobs)
        uses: list[LinkUse | None] = []
        for job, allocation in zip(jobs, allocations, strict=True):
            sent = performance.sending(self._specs[job], allocation, self._cluster)
            use = None if sent is None else link_use(sent, performance.capacity, self._factors[job])
            uses.append(use if use is not None and use.spans else None)
        return uses

    def at_gpus(self, job: int, counts: Sequence[int], among: int = ALL) -> Ints:
        demand, place = self._specs[job].demand, self._consolidated.place
        return self.alone([job] * len(counts), [place(demand, n, among) for n in counts])

    def as_asked(self, jobs: Sequence[int], among: int = ALL) -> Ints:
        place = self._consolidated.place_all
        return self.alone(jobs, [place(self._specs[job].demand, among) for job in jobs])

    def at_resources(
        self, job: int, gpus: int, cpus: Sequence[int], memory_bytes: Sequence[int], among: int = ALL
    ) -> Ints:
        spec = self._specs[job]
        rows, columns = np.array(cpus, dtype=np.int64), np.array(memory_bytes, dtype=np.int64)
        if not spec.demand.gpus and (gpus or (rows < 1).any()):
            raise PlanError(f"job {spec.job_id!r}: at_resources needs 0 GPUs and 1 CPU or more")
        if (rows < 0).any() or (columns < 0).any():
            raise PlanError(f"job {spec.job_id!r}: at_resources needs CPUs and memory of 0 or more")
        if spec.demand.gpus:
            place = self._consolidated.place(spec.demand, gpus, among)
        else:
            place = Allocation((Slice(first_of(among), 0),))
        if self._grid is None:
            times = [
                [sum(self._parts({job: place.with_resources(c, m)})[job]) for m in columns.tolist()]
                for c in rows.tolist()
            ]
            exact = np.array(times, dtype=np.int64).reshape(len(rows), len(columns))
        else:
            exact = self._grid(spec, place, self._cluster, rows[:, None], columns[None, :])
        believed: Ints = np.maximum(1, np.rint(exact * self._factors[job])).astype(np.int64)
        return believed

    def _priced(
        self, held: Mapping[int, Allocation], shifts: Mapping[int, int] = NO_SHIFTS
    ) -> dict[int, int]:
        """Return the believed iteration times of jobs alone in the cluster."""
        return {j: self._believed(j, parts) for j, parts in self._parts(held, shifts).items()}

    def _parts(
        self, held: Mapping[int, Allocation], shifts: Mapping[int, int] = NO_SHIFTS
    ) -> Mapping[int, IterationParts]:
        running = Hypothetical(self._specs, self._cluster, held, shifts)
        return self._performance.reprice([Changed(j, None, a) for j, a in held.items()], running)

    def _believed(self, job: int, parts: IterationParts) -> int:
        return max(1, round(sum(parts) * self._factors[job]))
