"""Pools, loans and reclaims as counted by an observer of the engine, worked by hand.

The story: two training machines and four inference machines, of 2 GPUs each; by seconds

    0   m2, m3, m4 are lent. e (2 to 4 GPUs) runs on m0 and m2, b on one GPU of each of m1 and m3, a on m4.
    10  inference needs 3 machines, has 1
    12  m2 and m3 go back: e shrinks, b is preempted, and starts again on m1 at once
    30  a finishes, m4 goes back
    40  b finishes, z arrives and runs on m1 for 5 s
    48  e finishes: 12 iterations of 1 s on 4 GPUs, 18 of 2 s on 2 GPUs
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from artist.core.cluster import Allocation, CapacityEvent, Cluster, Group
from artist.core.events import Arrival, Gauges, MachineEvent, Start, Stop
from artist.core.job import JobSpec
from artist.core.plan import Plan, PlanBuilder
from artist.core.result import RunResult
from artist.core.view import ClusterView
from artist.engine.engine import Engine
from artist.engine.stopping import StopRule
from artist.recording.folder import write_run
from artist.recording.metrics import summarise
from artist.recording.pools import Pools, has_pools
from artist.recording.recorder import Recorder
from artist.results.folder import read_run
from artist.results.measures import BY_NAME
from artist.testing.tiny import PlainPerformance, job, on, tiny_cluster
from artist.units import NS_PER_S, seconds_to_ns
from artist.workload.signals import Series

Act = Callable[[PlanBuilder], None]

POOLS = ("training",) * 2 + ("inference",) * 4


class Rounds:
    """A policy that plans by a test's script, by time in seconds and round of that instant."""

    interval_s = None
    on_events = True

    def __init__(self, script: Mapping[float, Sequence[Act]]) -> None:
        self._script = {seconds_to_ns(at): list(acts) for at, acts in script.items()}

    def decide(self, view: ClusterView) -> Plan:
        """Carry out the next line of this instant; ask to be called for the one after."""
        plan = view.plan()
        if self._script.get(view.now_ns):
            self._script[view.now_ns].pop(0)(plan)
        later = [at for at, acts in self._script.items() if acts and at >= view.now_ns]
        if later:
            plan.wake_at(min(later))
        return plan.done()


def plans(
    places: Mapping[int, Allocation | None] | None = None, assigns: Mapping[int, str] | None = None
) -> Act:
    """Return a line of a script: allocations by job, None for a stop, and pools by machine."""

    def act(plan: PlanBuilder) -> None:
        for number, allocation in (places or {}).items():
            if allocation is None:
                plan.stop(number)
            else:
                plan.place(number, allocation)
        for machine, pool in (assigns or {}).items():
            plan.assign(machine, pool)

    return act


def use(*values: float, step_s: float = 10) -> dict[str, Series]:
    """Return a signal `inference`."""
    times_ns = np.arange(len(values), dtype=np.int64) * seconds_to_ns(step_s)
    return {"inference": Series(times_ns, np.array(values))}


def observed(
    jobs: Sequence[JobSpec],
    script: Mapping[float, Sequence[Act]],
    signals: Mapping[str, Series] | None = None,
    cluster: Cluster | None = None,
    **options: Any,
) -> tuple[Pools, RunResult, Recorder]:
    """Run a script; return the closed observer."""
    cluster = cluster or tiny_cluster(6, 2, pools=POOLS)
    pools, recorder = Pools(jobs, cluster, signals or {}), Recorder(jobs, cluster)
    observers = (pools, recorder)
    performance = PlainPerformance()
    result = Engine(
        jobs, cluster, Rounds(script), performance, signals=signals, observers=observers, **options
    ).run()
    pools.close(result.end_ns)
    return pools, result, recorder


def lent(*machines: int) -> dict[int, str]:
    """Return assigns of machines to those on loan."""
    return dict.fromkeys(machines, "on_loan")


def back(*machines: int) -> dict[int, str]:
    """Return assigns of machines to those of inference."""
    return dict.fromkeys(machines, "inference")


@pytest.fixture
def story() -> tuple[Pools, RunResult, Recorder]:
    """Run the story."""
    a, b, e, z = range(4)
    jobs = [
        job("a", 2, 30),
        job("b", 2, 40),
        job("e", 4, 30, min_gpus=2, max_gpus=4, step=2),
        job("z", 1, 5, at=40),
    ]
    starts = {a: on((4, 2)), b: on((1, 1), (3, 1)), e: on((0, 2), (2, 2))}
    script = {
        0: [plans(starts, lent(2, 3, 4))],
        12: [plans({e: on((0, 2)), b: None}, back(2, 3)), plans({b: on((1, 2))})],
        30: [plans(assigns=back(4))],
        40: [plans({z: on((1, 1))})],
    }
    return observed(jobs, script, use(0.25, 0.25, 0.75, 0.5, 0.5))


def test_rows_of_the_story(story: tuple[Pools, RunResult, Recorder]) -> None:
    """Of 4 inference machines ceil(4 x 0.25) = 1 is needed, ceil(4 x max(0.25, 0.75)) = 3 from 10 s on.

    Totals of what came back: m2 and m3 at 12 s, m4 at 30 s.
    """
    pools = story[0]
    assert (pools.times_ns // NS_PER_S).tolist() == [0, 10, 12, 20, 30, 40, 45, 48]
    rows = {name: column.tolist() for name, column in pools.columns.items()}
    assert rows == {
        "training_machines": [2] * 8,
        "training_gpus": [4] * 8,
        "training_held": [3, 3, 4, 4, 4, 3, 2, 0],
        "inference_machines": [1, 1, 3, 3, 4, 4, 4, 4],
        "inference_gpus": [2, 2, 6, 6, 8, 8, 8, 8],
        "inference_held": [0] * 8,
        "on_loan_machines": [3, 3, 1, 1, 0, 0, 0, 0],
        "on_loan_gpus": [6, 6, 2, 2, 0, 0, 0, 0],
        "on_loan_held": [5, 5, 2, 2, 0, 0, 0, 0],
        "inference_needed": [1, 3, 3, 3, 2, 2, 2, 2],
        "reclaimed_idle": [0, 0, 0, 0, 1, 1, 1, 1],
        "reclaimed_flexible": [0, 0, 1, 1, 1, 1, 1, 1],
        "reclaimed_preempting": [0, 0, 1, 1, 1, 1, 1, 1],
        "reclaimed_preempted_jobs": [0, 0, 1, 1, 1, 1, 1, 1],
    }


def test_shortage_of_the_story(story: tuple[Pools, RunResult, Recorder]) -> None:
    """From 10 to 12 s 3 are needed and 1 is there: 2 machines x 2 s."""
    assert story[0].summary()["inference_short"] == {"server_s": 4.0, "worst_servers": 2}


def test_reclaims_of_the_story(story: tuple[Pools, RunResult, Recorder]) -> None:
    """At 12 s e shrinks off m2, b is preempted on m3; m4 is idle at 30 s, since a finishes then.

    b is one of 3 jobs that ran, and held 1 GPU on m1, which stays: 1 of the 3 x 2 GPUs that came back.
    """
    assert story[0].summary()["reclaims"] == {
        "machines": 3,
        "idle": 1,
        "flexible": 1,
        "preempting": 1,
        "preempted_jobs": 1,
        "of_running": 1 / 3,
        "flexible_met": 0.5,
        "collateral_gpus": 1,
        "collateral": 1 / 6,
    }


def test_use_of_the_story(story: tuple[Pools, RunResult, Recorder]) -> None:
    """From the first arrival to the last, 0 to 40 s; GPU-seconds.

    Training and on loan: held 8 x 12 + 6 x 18 + 4 x 10 = 244 of 10 x 12 + 6 x 18 + 4 x 10 = 268. On loan:
    5 x 12 + 2 x 18 = 96 of 6 x 12 + 2 x 18 = 108. Inference uses 2 GPUs for 20 s, 6 for 10 s and 4 for 10 s,
    140: with it 384 of 12 x 40. On loan are 3 machines for 12 s and 1 for 18 s: 54 machine-seconds of 40 s.
    """
    assert story[0].summary()["pools"] == {
        "training_held": 244 / 268,
        "on_loan_held": 96 / 108,
        "on_loan_machines": 54 / 40,
        "combined": 384 / 480,
    }


def test_jobs_of_the_story(story: tuple[Pools, RunResult, Recorder], tmp_path: Path) -> None:
    """Job a is on m4 for 30 s, b on m3 and e on m2 for 12 s; e takes 2 to 4 GPUs, others what they ask."""
    pools, result, recorder = story
    summary = summarise(result, policy="p", seed=0, network_distinct=0, topics=[pools], run={})
    write_run(tmp_path, result, recorder, summary, topics=[pools])
    run = read_run(tmp_path)
    assert list(run.jobs["on_loan_s"]) == [30, 12, 12, 0]
    assert run.jobs[["min_gpus", "max_gpus"]].to_numpy().tolist() == [[2, 2], [2, 2], [2, 4], [1, 1]]
    frame = run.table("pools")
    assert list(frame["time_s"]) == [0, 10, 12, 20, 30, 40, 45, 48]
    assert list(frame["inference_needed"]) == [1, 3, 3, 3, 2, 2, 2, 2]


def test_metrics_of_the_story(story: tuple[Pools, RunResult, Recorder]) -> None:
    """Each number has a name in tables; 1 preempted job of 4 that were submitted."""
    pools, result, _ = story
    summary = summarise(result, policy="p", seed=0, network_distinct=0, topics=[pools], run={})
    expected = {
        "combined_usage": 0.8,
        "training_usage": 244 / 268,
        "on_loan_usage": 96 / 108,
        "reclaimed": 3,
        "preempted_of_submissions": 0.25,
        "preempted_of_running": 1 / 3,
        "collateral": 1 / 6,
        "flexible_met": 0.5,
        "inference_short": 4,
        "inference_worst_short": 2,
    }
    assert {name: BY_NAME[name].of(summary) for name in expected} == expected
    without = summarise(result, policy="p", seed=0, network_distinct=0, run={})
    assert {BY_NAME[name].of(without) for name in expected} == {None}


def reclaims(script: Mapping[float, Sequence[Act]], *jobs: JobSpec) -> dict[str, Any]:
    """Return the reclaims."""
    return dict(observed(jobs, script)[0].summary()["reclaims"])


def test_a_preemption_on_a_kept_machine_is_not_counted_as_reclaim() -> None:
    """At 5 s idle m2 goes back, and a is stopped on m0, which stays: no machine had to be cleared."""
    script = {
        0: [plans({0: on((0, 1))}, lent(2))],
        5: [plans({0: None}, back(2)), plans({0: on((0, 1))})],
    }
    counted = reclaims(script, job("a", 1, 10))
    assert (counted["idle"], counted["preempted_jobs"], counted["collateral_gpus"]) == (1, 0, 0)
    assert (counted["of_running"], counted["flexible_met"], counted["collateral"]) == (None, None, 0)


def test_a_machine_is_preempting_if_any_job_on_it_was_preempted() -> None:
    """On m2 e shrinks and a is stopped; b, on m3 and m4, vacates m4, too, which comes back as well.

    Preempted are 2 of 3 jobs, with no GPU elsewhere; the machines are m2, m3 and m4.
    """
    e = job("e", 2, 20, min_gpus=1, max_gpus=2)
    starts = {0: on((2, 1)), 1: on((3, 1), (4, 1)), 2: on((0, 1), (2, 1))}
    script = {
        0: [plans(starts, lent(2, 3, 4))],
        5: [plans({0: None, 1: None, 2: on((0, 1))}, back(2, 3, 4)), plans({0: on((0, 1)), 1: on((1, 2))})],
    }
    counted = reclaims(script, job("a", 1, 10), job("b", 2, 10), e)
    assert (counted["preempting"], counted["flexible"], counted["idle"]) == (3, 0, 0)
    assert (counted["preempted_jobs"], counted["of_running"], counted["collateral_gpus"]) == (2, 2 / 3, 0)


def test_a_job_that_moves_away_is_not_preempted() -> None:
    """Job a migrates from m2 to m0: the machine was cleared without a preemption, as by shrinking."""
    script = {0: [plans({0: on((2, 1))}, lent(2))], 5: [plans({0: on((0, 1))}, back(2))]}
    counted = reclaims(script, job("a", 1, 10))
    assert (counted["flexible"], counted["preempted_jobs"], counted["flexible_met"]) == (1, 0, 1)


def test_a_machine_that_is_lent_again_at_once_did_not_come_back() -> None:
    """At 5 s m2 goes back and is lent in the next round, and m3 the other way round: nothing changed."""
    script = {
        0: [plans({0: on((0, 1))}, lent(2))],
        5: [plans(assigns=back(2) | lent(3)), plans(assigns=lent(2) | back(3))],
    }
    assert reclaims(script, job("a", 1, 10))["machines"] == 0


def test_a_job_of_this_instant_clears_nothing() -> None:
    """At 5 s a starts on idle m2 and is stopped in the next round, as m2 goes back: it was idle."""
    script = {
        0: [plans(assigns=lent(2))],
        5: [plans({0: on((2, 1))}), plans({0: None}, back(2)), plans({0: on((0, 1))})],
    }
    counted = reclaims(script, job("a", 1, 10))
    assert (counted["idle"], counted["preempting"], counted["preempted_jobs"]) == (1, 0, 0)


def test_jobs_that_finish_at_the_instant_do_not_run() -> None:
    """Job a finishes at 10 s; of the 2 jobs that are left b is preempted."""
    script = {
        0: [plans({0: on((0, 1)), 1: on((2, 1)), 2: on((1, 1))}, lent(2))],
        10: [plans({1: None}, back(2)), plans({1: on((0, 1))})],
    }
    jobs = job("a", 1, 10), job("b", 1, 20), job("c", 1, 20)
    assert reclaims(script, *jobs)["of_running"] == 1 / 2


def test_means_cover_only_instants_that_cleared_machines() -> None:
    """5 s: 1 of 2 jobs preempted; 7 s: an idle machine, not counted; 9 s: e shrinks, m5 is idle.

    Means of 1/2 and 0, and of 0 and 1. That c finished and e was stopped before says nothing.
    """
    e = job("e", 2, 20, min_gpus=1, max_gpus=2)
    wide = on((0, 1), (3, 1))
    script = {
        0: [plans({0: on((2, 1)), 1: wide, 2: on((1, 1))}, lent(2, 3, 4, 5))],
        3: [plans({1: None}), plans({1: wide})],
        5: [plans({0: None}, back(2)), plans({0: on((1, 1))})],
        7: [plans(assigns=back(4))],
        9: [plans({1: on((0, 1))}, back(3, 5))],
    }
    counted = reclaims(script, job("a", 1, 30), e, job("c", 1, 2))
    assert (counted["of_running"], counted["flexible_met"]) == (1 / 4, 1 / 2)


def test_inference_uses_no_more_than_is_there() -> None:
    """Of 8 GPUs it wants 8 x 1, but 3 of 4 machines are lent, and c holds 1 GPU of the last: 1, for 10 s.

    With what a and c hold 3 of 12 GPUs are in use; 3 machines are lent and c is on the fourth, for 20 s.
    """
    jobs = [job("a", 1, 20), job("c", 1, 20), job("b", 1, 1, at=10)]
    starts = {0: on((0, 1)), 1: on((5, 1))}
    script = {0: [plans(starts, lent(2, 3, 4))], 10: [plans({2: on((1, 1))})]}
    summary = observed(jobs, script, use(1.0))[0].summary()
    assert summary["pools"]["combined"] == 3 / 12
    assert summary["pools"]["on_loan_held"] == 0
    assert summary["inference_short"] == {"server_s": 80.0, "worst_servers": 4}


def test_machines_with_jobs_are_not_there_for_the_pool_that_they_are_in() -> None:
    """Inference needs 2 of m2 to m5, and 4 from 10 s on; no machine is lent.

    a is on m2 and m3 until 30 s, b on m2 too from 5 to 15 s: 2 short from 10 s to 30 s.
    At 12 s c takes a GPU of m4 and gives it back at 18 s: 3 short meanwhile. 2 x 20 + 1 x 6 = 46.
    """
    jobs = [job("a", 2, 30), job("b", 1, 10, at=5), job("c", 1, 6, at=12)]
    script = {
        0: [plans({0: on((2, 1), (3, 1))})],
        5: [plans({1: on((2, 1))})],
        12: [plans({2: on((4, 1))})],
    }
    pools, _, _ = observed(jobs, script, use(0.5, 0.5, 1.0))
    assert pools.summary()["inference_short"] == {"server_s": 46, "worst_servers": 3}
    taken = dict(
        zip((pools.times_ns // NS_PER_S).tolist(), pools.columns["inference_taken"].tolist(), strict=True)
    )
    assert {at: taken[at] for at in (0, 5, 12, 15, 18, 30)} == {0: 2, 5: 2, 12: 3, 15: 3, 18: 2, 30: 0}


def test_a_machine_with_a_job_that_fails_or_is_lent_is_lacking_once() -> None:
    """All 4 are needed until the end at 9 s, and 2 are lacking throughout: 18.

    m5 has a until it fails at 4 s. m4 has b until it is lent at 6 s; it comes back, and b with it, at 8 s.
    """
    jobs = [job("a", 1, 10), job("b", 1, 10)]
    script = {
        0: [plans({0: on((5, 1)), 1: on((4, 1))})],
        6: [plans({1: on((0, 1))}, lent(4))],
        8: [plans(assigns=back(4)), plans({1: on((4, 1))})],
    }
    events = [CapacityEvent(4 * NS_PER_S, "fail", 5)]
    stop = StopRule(time_ns=9 * NS_PER_S)
    pools, _, _ = observed(jobs, script, use(1.0), capacity_events=events, stop=stop)
    assert pools.summary()["inference_short"] == {"server_s": 18, "worst_servers": 2}


def test_a_machine_that_fails_is_not_there() -> None:
    """m5 fails from 4 to 6 s: 3 of the 4 needed machines, for 2 s."""
    events = [CapacityEvent(4 * NS_PER_S, "fail", 5), CapacityEvent(6 * NS_PER_S, "join", 5)]
    pools, _, _ = observed([job("a", 1, 10)], {0: [plans({0: on((0, 1))})]}, use(1.0), capacity_events=events)
    assert pools.summary()["inference_short"] == {"server_s": 2.0, "worst_servers": 1}
    assert pools.columns["inference_gpus"].tolist() == [8, 6, 8, 8]


def test_an_eviction_is_not_a_preemption() -> None:
    """At 5 s m3 fails, which evicts a, and m2 is given back: it was idle when the policy acted."""
    script = {0: [plans({0: on((2, 1), (3, 1))}, lent(2, 3))], 5: [plans({0: on((0, 2))}, back(2))]}
    events = [CapacityEvent(5 * NS_PER_S, "fail", 3)]
    counted = observed([job("a", 2, 10)], script, capacity_events=events)[0].summary()["reclaims"]
    assert (counted["idle"], counted["preempting"], counted["flexible"]) == (1, 0, 0)


def test_calls_of_one_time_are_one_instant() -> None:
    """All wait once a was stopped at 5 s, so the engine asks and tells again: m2 goes back, a preempted."""
    cluster, jobs = tiny_cluster(6, 2, pools=POOLS), [job("a", 1, 10)]
    pools, none, five = Pools(jobs, cluster, {}), Gauges(0, 12, 1, 0), 5 * NS_PER_S
    lends = MachineEvent(0, 2, "assign", "on_loan")
    pools.observe(0, [Arrival(0, 0), lends, Start(0, 0, on((2, 1)), "start", 0)], none)
    pools.observe(five, [Stop(five, 0, "preempted", 5)], none)
    pools.observe(five, [MachineEvent(five, 2, "assign", "inference")], none)
    pools.close(five)
    assert pools.summary()["reclaims"]["preempting"] == 1


def test_jobs_that_share_gpus_hold_them_once() -> None:
    """Jobs a and b share the one GPU of their group on m2, lent at 5 s: 1 GPU held until both are done."""
    group = Group("g", ((2, 1),))
    shared = on((2, 1), group=group)
    jobs = [job("a", 1, 10, at=5), job("b", 1, 10, at=5)]
    pools, _, _ = observed(jobs, {5: [plans({0: shared, 1: shared}, lent(2))]})
    assert pools.columns["on_loan_held"].tolist() == [0, 1, 0]
    assert pools.columns["on_loan_machines"].tolist() == [0, 1, 1]


def test_the_end_of_a_run_is_counted() -> None:
    """Stopped at 8 s, a has been on loan for 8 s; one arrival is no span of time to take shares over.

    The policy is called at 4 s and changes nothing, which makes no row.
    """
    script = {0: [plans({0: on((2, 1))}, lent(2))], 4: [plans()]}
    pools, _, _ = observed([job("a", 1, 10)], script, stop=StopRule(time_ns=8 * NS_PER_S))
    assert list(pools.on_loan_ns) == [8 * NS_PER_S]
    assert pools.times_ns.tolist() == [0, 8 * NS_PER_S]
    assert set(pools.summary()) == {"pools", "reclaims"}  # and no shortage without a signal
    assert set(pools.summary()["pools"].values()) == {None}


@pytest.mark.parametrize(("end_s", "needed"), [(10, [0, 9, 7, 8, 8]), (20, [0, 9, 7, 8, 8, 8])])
def test_need_follows_the_signal(end_s: int, needed: list[int]) -> None:
    """Shares of 100 machines, 9, 7, 7 and 8 % from 3, 4, 5 and 12 s on: none, then the greater of two.

    Also of one that lies beyond the end; the last stays. 7 % are 7, though 100 * 0.07 is 7.000000000000001.
    """
    assert 100 * 0.07 > 7
    cluster = tiny_cluster(101, 1, pools=("training",) + ("inference",) * 100)
    times_ns = np.array([3, 4, 5, 12]) * NS_PER_S
    signals = {"inference": Series(times_ns, np.array([0.09, 0.07, 0.07, 0.08]))}
    script = {0: [plans({0: on((0, 1))})]}
    pools, _, _ = observed([job("a", 1, end_s)], script, signals, cluster)
    assert pools.columns["inference_needed"].tolist() == needed


def test_one_pool_is_not_observed() -> None:
    """Runs of one pool keep their bytes; a second pool makes the difference."""
    assert not has_pools(tiny_cluster())
    assert has_pools(tiny_cluster(2, pools=("training", "inference")))
