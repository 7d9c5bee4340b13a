"""What must hold of every run under Lyra, with two pools and jobs of all kinds, recounted all the time."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.events import Change, Event, MachineEvent, Stop
from artist.core.job import JobSpec
from artist.core.plan import Plan
from artist.core.view import ClusterView
from artist.engine.overheads import Overheads
from artist.performance.effects.compute import Compute
from artist.performance.placed import PlacedPerformance
from artist.policies.lyra import Lyra
from artist.policies.parts.loans import INFERENCE, TRAINING
from artist.testing.tiny import job, run_checked
from artist.units import seconds_to_ns
from artist.workload.signals import Series
from netmodels.zero import ZeroModel

STEP_S = 5.0
KINDS = {
    "lyra": {},
    "ungrouped": {"grouped": False},
    "random": {"scaling": "none", "base": "requested", "reclaim": "random"},
    "fewest": {"reclaim": "smallest_count"},
    "afs": {"scaling": "marginal_gain", "loaning": False},
    "gandiva": {"scaling": "idle", "base": "requested", "order": "fifo", "skip": False},
    "predicted": {"predictor": "autoregressive", "order": "srtf"},
    "aging": {"order": "ftf", "reclaim": "optimum"},
}
COSTS = Overheads(resume_s=2, restart_s=2, on_stop="lose_all")


def pools() -> Cluster:
    """Return 3 training machines of 8 GPUs, 5 of inference with GPUs worth half, in racks of 4."""
    training = [Machine(f"v{i}", 0, "big", 8, "V100", 1.0, 40, pool=TRAINING) for i in range(3)]
    inference = [
        Machine(f"t{i}", 1 + i // 4, "small", 8, "T4", 1 / 3, 40, pool=INFERENCE, worth=0.5) for i in range(5)
    ]
    return Cluster([*training, *inference])


def use(seed: int, n: int = 400) -> Series:
    """Return a share of the inference machines every 5 s, a random walk that ends low."""
    steps = np.random.default_rng([seed, 1]).normal(0, 0.12, n)
    values = 0.5 + 0.45 * np.sin(np.cumsum(steps))
    values[-1] = 0.1
    return Series(np.arange(n) * seconds_to_ns(STEP_S), values)


def jobs_of_all_kinds(seed: int, n: int = 60) -> list[JobSpec]:
    """Return jobs of 1 to 8 GPUs: for V100, fungible, elastic, heterogeneous, or both."""
    rng = np.random.default_rng([seed, 2])
    jobs = []
    for i, at in enumerate(np.cumsum(rng.exponential(4, n)).tolist()):
        gpus, kind = int(rng.choice([1, 2, 4, 8])), int(rng.integers(0, 6))
        asks: dict[str, object] = {"step": max(1, gpus // int(rng.choice([1, 2])))}
        if kind == 0:
            asks["gpu_types"] = ("V100",)
        else:
            asks["fungible"] = kind != 5
            asks["mixed_types"] = kind in (3, 4)
        if kind in (2, 4, 5):
            asks |= {"min_gpus": gpus, "max_gpus": gpus * int(rng.integers(1, 4))}
        if i % 9 == 0:
            asks["max_machines"] = 2
        if i % 11 == 0:
            asks |= {"cpus": gpus}
        jobs.append(replace(job(f"j{i}", gpus, float(rng.exponential(25)) + 1, at, **asks), model="any"))
    return jobs


class Checked(Lyra):
    """Recounts its book after every decision."""

    def decide(self, view: ClusterView) -> Plan:
        plan = super().decide(view)
        free, workers = view.free(), self._workers
        for number in plan.changes:
            if (before := view.allocation(number)) is not None:
                free.give(before)
        for number, after in plan.changes.items():
            if after is not None:
                free.take(after)
                assert workers.jobs[number].allocation == after
        accepts = view.accepts
        for machine in range(len(view.cluster)):
            flexible = sum(workers.flexible_on(machine).values())
            assert bool(flexible) == bool(workers.with_flexible >> machine & 1)
            assert bool(workers.base_on(machine)) == bool(workers.with_base >> machine & 1)
            if accepts[machine]:
                loose = int(free.gpus[machine]) + flexible
                assert workers.loose_gpus[machine] == loose
                assert workers.loose.sets[loose] >> machine & 1
        for held in workers.jobs.values():
            flexible = sum(held.flexible.values())
            assert flexible == held.steps[held.extra]
            together = {m: held.base.get(m, 0) + held.flexible.get(m, 0) for m in held.base | held.flexible}
            assert together == held.allocation.gpu_map()
        return plan


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_keeps_the_rules(kind: str, seed: int) -> None:
    """Books add up; jobs stop only at a step; none migrates; with the oracle inference is never short."""
    series, cluster = use(seed), pools()
    policy = Checked(**KINDS[kind], interval_s=STEP_S, seed=seed)
    events = [
        CapacityEvent(seconds_to_ns(31), "fail", 1),
        CapacityEvent(seconds_to_ns(63), "fail", 5),
        CapacityEvent(seconds_to_ns(90), "join", 1),
        CapacityEvent(seconds_to_ns(112), "leave", 2, seconds_to_ns(140)),
        CapacityEvent(seconds_to_ns(151), "join", 5),
        CapacityEvent(seconds_to_ns(170), "join", 2),
    ] * (seed % 2)
    jobs = jobs_of_all_kinds(seed)
    result, log = run_checked(
        jobs,
        cluster,
        policy,
        performance(),
        signals={"inference": series, "inference.next": series.ahead()},
        overheads=COSTS,
        capacity_events=events,
    )
    assert (result.columns["finish_ns"] >= 0).all()
    assert [e for e in log if isinstance(e, Change) and e.how == "migrate"] == []
    stops = [e.time_ns for e in log if isinstance(e, Stop) and e.reason == "preempted"]
    assert not [t for t in stops if t % seconds_to_ns(STEP_S)]
    if not events and kind != "predicted":
        assert short_s(log, cluster, series) == 0


def no_profile(model: str) -> SimpleNamespace:
    """Return a profile that says nothing; communication costs nothing here."""
    return SimpleNamespace(skew=0.0, compute_ns=1000, scaled=lambda factor: no_profile(model))


def performance() -> PlacedPerformance:
    """Return compute alone, jobs on several types at the sum of their speeds."""
    return PlacedPerformance(ZeroModel(), None, None, no_profile, compute=Compute("sum", 0.7))


def short_s(log: Sequence[Event], cluster: Cluster, series: Series) -> float:
    """Return for how many seconds x machines inference had less than it used, in any step."""
    owner = [m.pool for m in cluster.machines]
    n, moves = owner.count(INFERENCE), [e for e in log if isinstance(e, MachineEvent) and e.how == "assign"]
    short, end = 0.0, log[-1].time_ns
    for at, now, then in zip(series.times_ns, series.values, series.ahead().values, strict=True):
        if at > end:
            break
        while moves and moves[0].time_ns <= at:
            move = moves.pop(0)
            owner[move.machine] = move.pool
        short += max(0, int(np.ceil(n * max(now, then) - 1e-9)) - owner.count(INFERENCE)) * STEP_S
    return short
