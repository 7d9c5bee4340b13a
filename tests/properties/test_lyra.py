"""Whatever inference uses and whatever runs, Lyra's book adds up and it keeps to the pools."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.events import Change, Event, MachineEvent, Start, Stop
from artist.core.job import JobSpec
from artist.core.plan import Plan
from artist.core.view import ClusterView
from artist.engine.overheads import Overheads
from artist.performance.effects.compute import Compute
from artist.performance.placed import PlacedPerformance
from artist.policies.lyra.loans import INFERENCE, TRAINING
from artist.policies.lyra.policy import Lyra
from artist.testing.tiny import job, run_checked
from artist.units import seconds_to_ns
from artist.workload.signals import Series
from netmodels.models.zero import ZeroModel

STEP_NS = seconds_to_ns(300)
STEPS = 10
V100S = 3  # machines of the training pool, the first ones
KINDS = {
    "lyra": {},
    "ungrouped": {"grouped": False},
    "random": {"scaling": "none", "base": "requested", "reclaim": "random"},
    "fewest": {"reclaim": "smallest_count"},
    "afs": {"scaling": "marginal_gain", "loaning": False},
    "gandiva": {"scaling": "idle", "base": "requested", "order": "fifo", "backfill": False},
    "predicted": {"predictor": "autoregressive", "order": "srtf"},
    "aging": {"order": "ftf", "reclaim": "optimum"},
}
COSTS = Overheads(on_stop="lose_all", resume_s=63, restart_s=63)
COME_AND_GO = [  # machine 1 and 2 have V100, machine 3 is of inference
    CapacityEvent(seconds_to_ns(310), "fail", 1),
    CapacityEvent(seconds_to_ns(630), "fail", 3),
    CapacityEvent(seconds_to_ns(900), "join", 1),
    CapacityEvent(seconds_to_ns(1120), "leave", 2, seconds_to_ns(1400)),
    CapacityEvent(seconds_to_ns(1510), "join", 3),
    CapacityEvent(seconds_to_ns(1700), "join", 2),
]


def pools(inference: int) -> Cluster:
    """Return three V100 machines for training, and T4 machines of inference, in racks of three."""
    training = [Machine(f"v{i}", 0, "big", 4, "V100", 1.0, 40, pool=TRAINING) for i in range(V100S)]
    others = [
        Machine(f"t{i}", 1 + i // 3, "small", 4, "T4", 1 / 3, 40, pool=INFERENCE, worth=0.5)
        for i in range(inference)
    ]
    return Cluster([*training, *others])


@st.composite
def workloads(draw: st.DrawFn) -> list[JobSpec]:
    """Return jobs of all kinds, in bursts or far apart: there may be none for some time."""
    jobs = []
    for n in range(draw(st.integers(1, 15))):
        workers, step = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2]))
        asks: dict[str, object] = {"step": step} | draw(
            st.sampled_from(
                [
                    {},
                    {"gpu_types": ("V100",)},
                    {"fungible": True},
                    {"fungible": True, "mixed_types": True},
                ]
            )
        )
        if draw(st.booleans()):
            asks |= {"min_gpus": workers * step, "max_gpus": draw(st.integers(1, 3)) * workers * step}
        if draw(st.integers(0, 8)) == 0:
            asks |= {"max_machines": 2, "cpus": workers}
        at, lasts = draw(st.integers(0, STEPS * 300)), draw(st.integers(1, 120))
        jobs.append(
            replace(job(f"j{n}", workers * step, lasts * 10, at, iteration_s=10, **asks), model="any")
        )
    return sorted(jobs, key=lambda spec: spec.submit_ns)


shares = st.lists(st.integers(0, 20).map(lambda n: n / 20), min_size=STEPS + 1, max_size=STEPS + 1)


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


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(jobs=workloads(), use=shares, inference=st.integers(1, 9), changes=st.booleans())
def test_a_run_keeps_the_rules(
    kind: str, jobs: list[JobSpec], use: list[float], inference: int, changes: bool
) -> None:
    """Books add up and all jobs finish; with the oracle inference has ceil(N x max(now, next)) machines.

    Also while no job is there: jobs of 10 to 1200 s arrive in 3000 s, as long as the series is.
    """
    series, cluster = Series(np.arange(len(use)) * STEP_NS, np.array(use)), pools(inference)
    policy = Checked(**{"headroom": 0.0} | KINDS[kind])
    result, events = run_checked(
        jobs,
        cluster,
        policy,
        performance(),
        signals={"inference": series, "inference.next": series.ahead()},
        overheads=COSTS,
        capacity_events=COME_AND_GO if changes else [],
    )
    assert (result.columns["finish_ns"] >= 0).all()
    for event, owners in owners_after(events, cluster):
        check(event, owners, jobs)
        if kind != "predicted" and not changes:
            step = min(event.time_ns // STEP_NS, STEPS)
            assert owners.count(INFERENCE) >= ceil(inference * max(use[step : step + 2]) - 1e-9)


def check(event: Event, owners: Sequence[str], jobs: Sequence[JobSpec]) -> None:
    """Check an event, given the pool of each machine.

    Machines move and jobs are preempted at multiples of 300 s; none migrates. No job is on a machine of the
    inference pool, on V100 and T4 at once unless it may, or on less than its base, in GPUs x worth.
    """
    moves = isinstance(event, MachineEvent) and event.type == "assign"
    if moves or (isinstance(event, Stop) and event.reason == "preempted"):
        assert event.time_ns % STEP_NS == 0
    elif isinstance(event, Start | Change):
        assert isinstance(event, Start) or event.type != "migrate"
        demand, slices = jobs[event.job].demand, event.allocation.slices
        assert all(owners[piece.machine] != INFERENCE for piece in slices)
        on_t4 = [piece.machine >= V100S for piece in slices]
        assert demand.mixed_types or len(set(on_t4)) == 1
        worths = [0.5 if small and demand.fungible else 1 for small in on_t4]
        held = sum(piece.gpus * worth for piece, worth in zip(slices, worths, strict=True))
        assert held >= (demand.min_gpus or demand.gpus)


def owners_after(events: Sequence[Event], cluster: Cluster) -> Iterator[tuple[Event, list[str]]]:
    """Yield each event with the pool of each machine after the moves of its instant."""
    owners = [machine.pool for machine in cluster.machines]
    moves = [event for event in events if isinstance(event, MachineEvent) and event.type == "assign"]
    for event in events:
        while moves and moves[0].time_ns <= event.time_ns:
            move = moves.pop(0)
            owners[move.machine] = move.pool
        yield event, owners


def no_profile(model: str) -> SimpleNamespace:
    """Return a profile that says nothing; communication costs nothing here."""
    return SimpleNamespace(skew=0.0, compute_ns=1000, program=None, scaled=lambda factor: no_profile(model))


def performance() -> PlacedPerformance:
    """Return compute alone, jobs on several types at the sum of their speeds."""
    return PlacedPerformance(ZeroModel(), None, None, no_profile, compute=Compute("sum", 0.7))
