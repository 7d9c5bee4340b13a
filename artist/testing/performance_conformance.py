"""Conformance suite of sources of iteration times: tests to inherit, as for policies.

    class TestMine(PerformanceConformance):
        def make_performance(self) -> Performance:
            return Mine()

The engine asks for prices only when something changed, so earlier answers must equal those that pricing all
running jobs again would give.
"""

import random
from dataclasses import replace

import numpy as np

from artist.core.cluster import MODES, Allocation, Cluster, Group, Slice
from artist.core.iteration import IterationParts
from artist.core.job import Demand, JobSpec
from artist.engine.hypothetical import Hypothetical
from artist.performance.api import Changed, Performance
from artist.testing.tiny import tiny_cluster


class PerformanceConformance:
    """Inherit, define `make_performance`, and pytest runs the suite.

    Attributes
    ----------
    models
        Models of the jobs that are priced; the empty string is a job without one.
    steps
        Changes in each history of jobs.
    """

    models: tuple[str, ...] = ("",)
    steps: int = 120

    def make_performance(self) -> Performance:
        """Return a new source of iteration times."""
        raise NotImplementedError("define make_performance() to return a new source of iteration times")

    def test_answers_along_the_way_equal_prices_from_nothing(self) -> None:
        """A neighbour that is not repriced keeps a wrong speed forever, unnoticed."""
        for seed in range(5):
            performance, history = self.make_performance(), _History(seed, self.models)
            known: dict[int, IterationParts] = {}
            for _ in range(self.steps):
                changed = history.step()
                known = {j: parts for j, parts in known.items() if j in history.held}
                known.update(performance.reprice(changed, history.running()))
                everything = [Changed(j, None, a) for j, a in history.held.items()]
                assert known == dict(self.make_performance().reprice(everything, history.running()))

    def test_answers_are_whole_and_positive(self) -> None:
        """Times are ints of at least 1 ns in all, no part is negative, and only running jobs have them."""
        performance, history = self.make_performance(), _History(7, self.models)
        for _ in range(self.steps):
            changed = history.step()
            answer = performance.reprice(changed, history.running())
            assert {c.job for c in changed if c.after is not None} <= answer.keys() <= history.held.keys()
            for parts in answer.values():
                assert all(type(part) is int and part >= 0 for part in parts), parts
                assert sum(parts) >= 1

    def test_same_questions_give_the_same_answers(self) -> None:
        """Prices depend on allocations, not on random numbers and not on the order of the question."""
        history = _History(8, self.models)
        for _ in range(10):
            history.step()
        everything = [Changed(j, None, a) for j, a in history.held.items()]
        first, same, backward = (
            dict(self.make_performance().reprice(order, history.running()))
            for order in (everything, everything, everything[::-1])
        )
        assert first == same == backward

    def test_a_grid_of_cpus_and_memory_equals_single_questions(self) -> None:
        """A performance that answers for a grid at once (`OnGrid`) gives the answers of single points."""
        performance, history = self.make_performance(), _History(9, self.models)
        grid = getattr(performance, "at_resources", None)
        if grid is None:
            return
        for _ in range(self.steps):
            history.step()
            running, cpus, memory = (
                history.running(),
                np.array([[1], [3], [64]]),
                np.array([[0, 10**9, 10**11]]),
            )
            for job, allocation in history.held.items():
                place = replace(allocation, group=None, opportunistic=False)
                spec = running.spec(job)
                single = [
                    [self._alone(performance, spec, place.with_resources(c, m)) for m in memory[0].tolist()]
                    for c in cpus[:, 0].tolist()
                ]
                assert grid(spec, place, running.cluster, cpus, memory).tolist() == single

    def _alone(self, performance: Performance, spec: JobSpec, allocation: Allocation) -> int:
        running = Hypothetical([spec], _cluster(), {0: allocation})
        return sum(performance.reprice([Changed(0, None, allocation)], running)[0])

    def test_half_the_gpus_are_not_faster(self) -> None:
        """An iteration is a fixed amount of work: fewer GPUs never do it in less compute time."""
        performance, cluster = self.make_performance(), tiny_cluster(2, 4)
        specs = [
            JobSpec("a", 0, Demand(4, min_gpus=1, max_gpus=8), 10, 8_000_000, model=m) for m in self.models
        ]
        for number in range(len(specs)):
            times = []
            for gpus in (4, 2, 1):
                allocation = Allocation((Slice(0, gpus),))
                running = Hypothetical(specs, cluster, {number: allocation})
                answer = performance.reprice([Changed(number, None, allocation)], running)
                times.append(answer[number].compute_ns)
            assert times == sorted(times)


def _cluster() -> Cluster:
    return tiny_cluster(3, 4, per_rack=2, cpus=64, memory_bandwidth_bytes_per_s=100 * 10**9)


class _History:
    """Jobs that start, stop, change caps and form groups of both modes at random, where there is room.

    A CPU-only job draws 60 % of the memory bandwidth of its machine, or half of that on half of its CPUs.
    """

    def __init__(self, seed: int, models: tuple[str, ...]) -> None:
        self._rng = random.Random(seed)
        self._cluster = _cluster()
        cpu_job = Demand(0, cpus=2, max_machines=1, memory_bandwidth_bytes_per_s=60 * 10**9)
        demands = (Demand(1), Demand(2), Demand(4), Demand(2), cpu_job)
        self._specs = [
            JobSpec(f"j{i}", 0, demands[i % 5], 10, 1_000_000 + 7919 * i, model=models[i % len(models)])
            for i in range(10)
        ]
        self._specs[1::3] = [replace(spec, gpu_utilization=0.3) for spec in self._specs[1::3]]
        self.held: dict[int, Allocation] = {}
        self._names = 0

    def running(self) -> Hypothetical:
        """Return the jobs that run now."""
        return Hypothetical(self._specs, self._cluster, dict(self.held))

    def step(self) -> list[Changed]:
        """Change one to three jobs, and return the changes."""
        before = dict(self.held)
        for job in self._rng.sample(range(len(self._specs)), self._rng.randint(1, 3)):
            if job in self.held and self._rng.random() < 0.5:
                del self.held[job]
            else:
                self._place(job)
        jobs = [j for j in range(len(self._specs)) if before.get(j) != self.held.get(j)]
        return [Changed(j, before.get(j), self.held.get(j)) for j in jobs]

    def _place(self, job: int) -> None:
        rng, demand = self._rng, self._specs[job].demand
        self.held.pop(job, None)
        cap = rng.choice((1.0, 0.5))
        if not demand.gpus:
            cpus = rng.choice((demand.cpus, demand.cpus // 2))
            self.held[job] = Allocation((Slice(rng.randrange(3), 0, cpus),), cap)
            return
        free = self._free()
        groups = [a.group for a in self.held.values() if a.group and a.gpus == demand.gpus]
        if groups and rng.random() < 0.6:
            group = rng.choice(groups)
            slices = [Slice(m, gpus) for m, gpus in group.gpus]
            self.held[job] = Allocation(tuple(slices), cap, group, rng.random() < 0.3)
            return
        need, slices = demand.gpus, list[Slice]()
        for m in rng.sample(range(3), 3):
            take = min(need, free[m])
            if take:
                slices.append(Slice(m, take))
                need -= take
        if need:
            return
        shared: Group | None = None
        if rng.random() < 0.5:
            self._names += 1
            owned = tuple((s.machine, s.gpus) for s in sorted(slices))
            shared = Group(f"g{self._names}", owned, depth=10, mode=MODES[self._names % 2])
        self.held[job] = Allocation(tuple(sorted(slices)), cap, shared)

    def _free(self) -> list[int]:
        free = self._cluster.gpus.tolist()
        for group in {a.group for a in self.held.values() if a.group}:
            for m, gpus in group.gpus:
                free[m] -= gpus
        for a in self.held.values():
            for s in a.slices if a.group is None else ():
                free[s.machine] -= s.gpus
        return [int(gpus) for gpus in free]
