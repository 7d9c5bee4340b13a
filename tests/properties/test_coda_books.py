"""Whatever comes and goes, CODA's notes agree with the engine, and no GPU job waits for a borrower."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.events import Event
from artist.core.job import JobSpec
from artist.core.plan import Plan
from artist.core.view import ClusterView
from artist.engine.overheads import Overheads
from artist.policies.coda.gpu_array import cpus_on
from artist.policies.coda.policy import Coda
from artist.testing.conformance import cpu_job
from artist.testing.tiny import PlainPerformance, job, run_checked
from artist.units import seconds_to_ns

MACHINES = {  # GPUs, CPUs, GPU type
    "roomy": (5, 28, "old"),
    "small": (4, 12, "old"),
    "starved": (2, 3, "new"),
    "cpus": (0, 16, "none"),
    "unknown": (4, 0, "old"),
}
NEEDS = {"AlexNet": 4, "BAT": 6, "Transformer": 2, "none known": 3}
KINDS: dict[str, dict[str, Any]] = {
    "coda": {},
    "divided": {"large_machines": 1, "reserve_per_gpu": 2},
    "requested": {"allocator": "requested", "eliminator": "halve"},
    "no arrays": {"arrays": False, "eliminator": "off"},
    "spread": {"placement": "spread", "eliminator": "halve"},
}
REACHED = {
    "evicted": KINDS,
    "preempted": KINDS.keys() - {"no arrays"},
    "migrate": KINDS.keys() - {"no arrays"},
    "retune": KINDS,
}


class Audited(Coda):
    """Looks at its own notes after each call."""

    def decide(self, view: ClusterView) -> Plan:
        plan = super().decide(view)
        held = {**self._cpus.jobs, **self._gpus.jobs}
        after = {job: plan.changes.get(job, view.allocation(job)) for job in view.jobs.job.tolist()}
        noted = {job: held[job].allocation if job in held else None for job in after}
        assert noted == after
        self._audit_what_is_free(view, plan)
        self._audit_arrays(view)
        self._audit_waiting(view, [job for job in after if after[job] is None])
        return plan

    def _audit_what_is_free(self, view: ClusterView, plan: Plan) -> None:
        """To take is what is borrowed, and what is free after the plan, less what is kept for tries."""
        free = view.free()
        for changed in plan.changes:
            before = view.allocation(changed)
            if before is not None:
                free.give(before)
        for after in plan.changes.values():
            if after is not None:
                free.take(after)
        self.free_cpus = free.cpus.copy()
        for lent in self._cpus.jobs.values():
            if lent.borrows:
                free.give(cpus_on(lent.allocation, [s.cpus for s in lent.allocation.slices]))
        for held in self._gpus.jobs.values():
            pairs = zip(held.owned, held.allocation.slices, strict=True)
            free.take(cpus_on(held.allocation, [owned - s.cpus for owned, s in pairs]))
        for noted, there in (
            (self._cpus.avail.gpus, free.gpus),
            (self._cpus.avail.cpus, free.cpus),
            (self._cpus.avail.memory_bytes, free.memory_bytes),
        ):
            assert noted.tolist() == there.tolist()

    def _audit_arrays(self, view: ClusterView) -> None:
        """Remaining and lent CPUs of the CPU array are sums over jobs."""
        left, borrowed = view.cluster.cpus - self._arrays.reserve, np.zeros(len(view.cluster), dtype=np.int64)
        for held in self._cpus.jobs.values():
            for s in held.allocation.slices:
                if held.borrows:
                    borrowed[s.machine] += s.cpus
                else:
                    left[s.machine] -= s.cpus
        assert self._cpus._left.tolist() == left.tolist()
        assert self._cpus._borrowed.tolist() == borrowed.tolist()
        assert self.arrays or not borrowed.any()

    def _audit_waiting(self, view: ClusterView, waiting: Sequence[int]) -> None:
        """No machine has the GPUs of a user's first job and, borrowed or free, a CPU for each."""
        avail, seen = self._cpus.avail, set()
        for number, user in zip(waiting, view.columns(waiting).user.tolist(), strict=True):
            demand = view.demand(number)
            if not demand.gpus or user in seen:
                continue
            seen.add(user)
            plain = not (demand.memory_bytes or demand.elastic or demand.fungible or demand.gpu_types)
            if plain and self.allocator == "tuned":
                enough = (avail.gpus >= demand.gpus) & (avail.cpus >= demand.gpus)
                assert not enough.any(), f"job {number} waits"


def cluster_of(rng: np.random.Generator) -> Cluster:
    """Return up to six machines, half of the time alike."""
    names = list(MACHINES)
    first = names[rng.integers(2)]
    alike = rng.random() < 0.5
    kinds = [first, *(first if alike else names[rng.integers(5)] for _ in range(rng.integers(6)))]
    machines = []
    for i, kind in enumerate(kinds):
        gpus, cpus, gpu_type = MACHINES[kind]
        speed = 2.0 if gpu_type == "new" else 1.0
        extra = {"memory_bytes": 64, "memory_bandwidth_bytes_per_s": 100}
        machines.append(Machine(f"m{i}", i // 3, kind, gpus, gpu_type, speed, cpus, **extra))  # type: ignore[arg-type]
    return Cluster(machines)


def jobs_of(rng: np.random.Generator, cluster: Cluster, n: int = 50) -> list[JobSpec]:
    """Return jobs of all kinds, that the first machine's GPU type is enough for."""
    first_type = [m for m in cluster.machines if m.gpu_type == cluster.machines[0].gpu_type]
    ask = all(m.cpus >= m.gpus for m in first_type)
    max_gpus, max_cpus = sum(m.gpus for m in first_type), int(cluster.cpus.max())
    jobs, at = [], 0.0
    for i in range(n):
        at += float(rng.exponential(1.5)) * float(rng.choice([0.01, 1, 3])) + 1e-3
        seconds = float(rng.exponential(10)) + 0.5
        more: dict[str, Any] = {"memory_bytes": int(rng.integers(9))} if rng.random() < 0.3 else {}
        if rng.random() < 0.5:
            more["memory_bandwidth_bytes_per_s"] = int(rng.choice([0, 0, 100]))
            spec = cpu_job(f"j{i}", int(rng.integers(1, max_cpus + 1)), seconds, at)
        else:
            gpus = min(int(rng.choice([1, 1, 1, 2, 2, 3, 4, 6, 8])), max_gpus)
            more |= ({}, {}, {"min_gpus": 1, "max_gpus": gpus}, {"fungible": True})[rng.integers(4)]
            more |= {"gpu_types": (first_type[0].gpu_type,)} if rng.random() < 0.2 else {}
            spec = job(
                f"j{i}", gpus, seconds, at, iteration_s=0.5, cpus=gpus if ask and rng.random() < 0.5 else 0
            )
            spec = replace(spec, model=str(rng.choice(list(NEEDS))))
        jobs.append(replace(spec, demand=replace(spec.demand, **more), user=f"u{rng.integers(4)}"))
    return jobs


def events_of(rng: np.random.Generator, cluster: Cluster) -> list[CapacityEvent]:
    """Return machines that fail, or leave, and come back half a minute later."""
    events = []
    for machine in range(len(cluster)):
        if rng.random() < 0.4:
            gone = float(rng.uniform(0, 60))
            kind, deadline = ("fail", 0.0) if rng.random() < 0.5 else ("leave", gone + 15)
            events.append(CapacityEvent(seconds_to_ns(gone), kind, machine, seconds_to_ns(deadline)))  # type: ignore[arg-type]
            events.append(CapacityEvent(seconds_to_ns(gone + 30), "join", machine))
    return sorted(events, key=lambda event: event.time_ns)


def slow(spec: JobSpec, allocation: Any) -> float:
    """Return the slowdown of an iteration by the CPUs that a job has."""
    if not allocation.gpus:
        return 1.0
    cpus = sum(s.cpus for s in allocation.slices) / allocation.gpus
    need = NEEDS[spec.model]
    return max(1.0, need / max(cpus, 0.1)) + 0.01 * max(0.0, cpus - need)


@pytest.mark.parametrize("kind", KINDS)
def test_the_books_equal_the_state_of_the_cluster(kind: str) -> None:
    """20 workloads, which reach what the kind is for: walks or halved cores, aborts, moves, and failures."""
    log: list[Event] = []
    for seed in range(20):
        rng = np.random.default_rng([seed, 18])
        cluster = cluster_of(rng)
        policy = Audited(**{"step_s": float(rng.choice([1, 2, 5])), "review_s": 7} | KINDS[kind])
        jobs, events = jobs_of(rng, cluster), events_of(rng, cluster)
        costs = Overheads(migrate_s=0.3, on_stop="lose_all")
        options = {"capacity_events": events, "overheads": costs}
        result, happened = run_checked(jobs, cluster, policy, PlainPerformance(slow), **options)
        assert (result.columns["finish_ns"] >= 0).all()
        log += happened
    happened_to = {getattr(event, "reason", getattr(event, "type", "")) for event in log}
    for what, kinds in REACHED.items():
        assert (what in happened_to) == (kind in kinds), what
