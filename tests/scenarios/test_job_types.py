"""GPU jobs and CPU jobs side by side, seen by an observer of the engine: worked out by hand.

Two machines of 2 GPUs, 4 CPUs and 100 bytes/s of memory bandwidth, unless a test says otherwise. The story:

    s                        0    5   10   15   16   20   21   26
    m0, 3 CPUs of c at       x    x    x    x    x    -              80 bytes/s
    m1, 1 GPU, 2 CPUs of g   x    x    -                             busy half of the time
    m1, 2 CPUs of d               x    x    -
    m1, 1 GPU, 4 CPUs of h        waits, asks for 3   x    x    x    -
    m0, 1 CPU of e                                         x    -
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from artist.core.cluster import Allocation, CapacityEvent, Cluster, Group, Machine
from artist.core.events import Arrival, Gauges
from artist.core.job import JobSpec
from artist.core.plan import PlanBuilder
from artist.core.result import RunResult
from artist.core.view import ClusterView
from artist.engine.engine import Engine
from artist.engine.overheads import Overheads
from artist.engine.stopping import StopRule
from artist.recording.job_types import JobTypes, has_cpu_jobs, job_type_columns, summarise_job_types
from artist.testing.tiny import PlainPerformance, Scripted, job, on
from artist.units import NS_PER_S, seconds_to_ns

CPU_JOB = job("cpu", 0, 1, cpus=1)  # so that there is one; it never starts where a test does not place it


def machine(number: int, gpus: int = 2, cpus: int = 4, bandwidth: int = 100, **facts: Any) -> Machine:
    """Return a machine of the story."""
    facts = {"gpu_type": "gpu", "type": "box"} | facts
    return Machine(f"m{number}", 0, gpus=gpus, cpus=cpus, memory_bandwidth_bytes_per_s=bandwidth, **facts)


def places(where: Mapping[int, Any]) -> Callable[[ClusterView, PlanBuilder], None]:
    """Return a line of a script: allocations by job, None for a stop."""

    def act(view: ClusterView, plan: PlanBuilder) -> None:
        for number, allocation in where.items():
            if allocation is None:
                plan.stop(number)
            else:
                plan.place(number, allocation)

    return act


def observed(
    jobs: Sequence[JobSpec],
    script: Mapping[float, Mapping[int, Any]],
    machines: Sequence[Machine] = (machine(0), machine(1)),
    least: float | None = None,
    slow: Callable[[JobSpec, Allocation], float] = lambda spec, allocation: 1.0,
    **options: Any,
) -> tuple[JobTypes, RunResult]:
    """Run a script of allocations by job; return the closed observer."""
    cluster, performance = Cluster(machines), PlainPerformance(slow)
    kinds = JobTypes(jobs, cluster, performance.drawn, least)
    policy = Scripted({time_s: places(where) for time_s, where in script.items()})
    result = Engine(jobs, cluster, policy, performance, observers=(kinds,), **options).run()
    kinds.close(result.end_ns)
    return kinds, result


def until(time_s: float) -> StopRule:
    """Return the rule to stop at a time."""
    return StopRule(time_ns=seconds_to_ns(time_s))


def changes(kinds: JobTypes, name: str) -> list[tuple[float, float]]:
    """Return the times (s) and the values of a column where it changes."""
    kept: list[tuple[float, float]] = []
    column = (kinds.columns | kinds.inner)[name]
    for time_ns, value in zip(kinds.times_ns.tolist(), column.tolist(), strict=True):
        if not kept or kept[-1][1] != value:
            kept.append((time_ns / NS_PER_S, value))
    return kept


def numbers(kinds: JobTypes, result: RunResult) -> dict[str, Any]:
    """Return the summary's numbers."""
    section: dict[str, Any] = summarise_job_types(result, kinds)["kinds"]
    return section


@pytest.fixture
def story() -> tuple[JobTypes, RunResult]:
    """Run the story."""
    jobs = [
        job("c", 0, 20, cpus=3, memory_bandwidth_bytes_per_s=80),
        job("g", 1, 10, cpus=2, gpu_utilization=0.5),
        job("h", 1, 10, at=5, cpus=3),
        job("d", 0, 10, at=5, cpus=2),
        job("e", 0, 1, at=20, cpus=1),
    ]
    jobs = [replace(spec, user=user) for spec, user in zip(jobs, "uvvuw", strict=True)]
    c, g, h, d, e = range(5)
    script = {
        0: {c: on((0, 0, 3)), g: on((1, 1, 2))},
        5: {d: on((1, 0, 2))},
        16: {h: on((1, 1, 4))},
        20: {e: on((0, 0, 1))},
    }
    return observed(jobs, script)


def test_rows_of_the_story(story: tuple[JobTypes, RunResult]) -> None:
    """H asks for 1 GPU and 3 CPUs. M0 has 2 GPUs and 1 CPU left, m1 1 and 0 until g ends, then 2 and 2.

    So 2 + 1, 2 + 2 and, when d has ended and m1 has 4 CPUs, 2 GPUs starve; none, once h runs.
    """
    kinds = story[0]
    assert (kinds.times_ns // NS_PER_S).tolist() == [0, 5, 10, 15, 16, 20, 21, 26]
    assert {name: column.tolist() for name, column in kinds.columns.items()} == {
        "gpu_jobs_waiting": [0, 1, 1, 1, 0, 0, 0, 0],
        "cpu_jobs_waiting": [0] * 8,
        "cpus_of_gpu_jobs": [2, 2, 0, 0, 4, 4, 4, 0],
        "cpus_of_cpu_jobs": [3, 5, 5, 3, 3, 1, 0, 0],
        "capacity_cpus": [8] * 8,
        "starved_gpus": [0, 3, 4, 2, 0, 0, 0, 0],
        "gpus_used": [0.5, 0.5, 0, 0, 1, 1, 1, 0],
        "bandwidth_bytes_per_s": [80, 80, 80, 80, 80, 0, 0, 0],
        "capacity_bytes_per_s": [200] * 8,
    }
    assert changes(kinds, "crowded") == [(0, 0)]  # 80 of 100 bytes/s on m0, where no GPU job is
    assert changes(kinds, "training") == [(0, 1), (10, 0), (16, 1), (26, 0)]  # g, then h on m1


def test_shares_of_the_story(story: tuple[JobTypes, RunResult]) -> None:
    """All over the 20 s from the first to the last arrival; a GPU job waits from 5 to 16 s."""
    said = numbers(*story)
    assert said["gpu"]["waiting"] == 11 / 20
    assert said["cpu"]["waiting"] == 0
    assert said["gpu_active_queued"] == 5 / (4 * 11)  # g's GPU, to 10 s
    assert said["starved"] == pytest.approx((3 * 5 + 4 * 5 + 2 * 1) / (4 * 11))
    assert said["starved_all_time"] == pytest.approx((3 * 5 + 4 * 5 + 2 * 1) / (4 * 20))
    assert said["gpu_utilization_active"] == pytest.approx((0.5 * 10 + 1 * 4) / (10 + 4))
    assert said["gpu_utilization_queued"] == 0.5  # g alone
    assert said["cpus_of_gpu_jobs"] == (2 * 10 + 4 * 4) / (8 * 20)
    assert said["cpus_of_cpu_jobs"] == (3 * 5 + 5 * 10 + 3 * 5) / (8 * 20)
    assert said["bandwidth"] == pytest.approx(80 / 200)
    assert said["over_threshold"] == 0


def test_jobs_of_the_story(story: tuple[JobTypes, RunResult]) -> None:
    """G held what it asked for, h one CPU more. H waited 11 s, all others not at all.

    So h took 21 s and g 10 s; c, d and e took 20, 10 and 1 s, and lost nothing.
    Users: v with g and h has p99 = 0.99 x 11 s, and is the only one with GPU jobs; u and w have 0.
    """
    said = numbers(*story)
    counts = ("jobs", "finished", "at_once", "within_10s", "within_3min", "over_10min", "over_1h")
    assert [said["gpu"][name] for name in counts] == [2, 2, 1 / 2, 1 / 2, 1, 0, 0]
    assert [said["cpu"][name] for name in counts] == [3, 3, 1, 1, 1, 0, 0]
    assert said["gpu"]["queueing_s"]["mean"] == 5.5
    assert said["gpu"]["jct_s"]["mean"] == (10 + 21) / 2
    assert said["cpu"]["jct_s"]["mean"] == pytest.approx((20 + 10 + 1) / 3)
    assert (said["more_cpus"], said["fewer_cpus"], said["cpu_lost"]) == (1 / 2, 0, 0)
    assert (said["aborted"], said["retunes_per_gpu_job"]) == (0, 0)
    assert said["user_p99_gpu_s"] == pytest.approx(0.99 * 11)
    assert said["user_p99_cpu_only_s"] == 0
    columns = {name: column.tolist() for name, column in job_type_columns(story[1], story[0]).items()}
    assert columns == {"cpus": [3, 2, 3, 2, 1], "cpus_last": [3, 2, 4, 2, 1]}


def test_gpus_used_are_those_of_the_account(story: tuple[JobTypes, RunResult]) -> None:
    """The integral is the engine's own: 10 s at one half and 10 s of a GPU."""
    kinds, result = story
    used = (kinds.columns["gpus_used"][:-1] * np.diff(kinds.times_ns)).sum()
    assert used == result.compute_gpu_ns == 15 * NS_PER_S


def test_limits_of_waiting() -> None:
    """Waits of 0, 1, 10, 11, 180, 181, 600, 601, 3600 and 3601 s: a limit itself is within it, not over.

    At once 1, within 10 s 3, within 3 min 5, over 10 min 3, over 1 h 1 of 10.
    """
    waits = [0, 1, 10, 11, 180, 181, 600, 601, 3600, 3601]
    jobs = [CPU_JOB, *(job(f"g{wait}", 1, 1) for wait in waits)]
    script: dict[float, dict[int, Any]] = {wait: {number: on((0, 1))} for number, wait in enumerate(waits, 1)}
    script[0][0] = on((1, 0, 1))
    said = numbers(*observed(jobs, script))
    limits = ("at_once", "within_10s", "within_3min", "over_10min", "over_1h")
    assert [said["gpu"][name] for name in limits] == [n / 10 for n in (1, 3, 5, 3, 1)]
    assert [said["cpu"][name] for name in limits] == [1, 1, 1, 0, 0]


def test_all_waiting_of_a_job_counts_and_only_stops_by_the_policy_abort() -> None:
    """C waits from 0, 5 (stopped) and 15 s (m1 fails) to 2, 12 and 20 s: 2 + 7 + 5 s.

    The policy stops g too, which aborts no CPU job.
    """
    jobs = [job("c", 0, 10, cpus=2), job("g", 1, 10, cpus=2)]
    script = {
        2: {0: on((1, 0, 2)), 1: on((0, 1, 2))},
        5: {0: None, 1: None},
        12: {0: on((1, 0, 1))},
        20: {0: on((0, 0, 2)), 1: on((0, 1, 2))},
    }
    fail = CapacityEvent(seconds_to_ns(15), "fail", 1)
    kinds, result = observed(jobs, script, capacity_events=[fail])
    assert changes(kinds, "cpu_jobs_waiting")[:6] == [(0, 1), (2, 0), (5, 1), (12, 0), (15, 1), (20, 0)]
    said = numbers(kinds, result)
    assert said["aborted"] == 1
    assert said["cpu"]["queueing_s"]["max"] == 14
    assert said["cpu"]["within_10s"] == 0


def test_cpus_held_last_are_those_of_the_last_allocation() -> None:
    """G asks for 3 CPUs, gets 4, 2 on the way and 1 at last; h keeps its 2; i never starts; j asks for none.

    Fewer: g, of g and h, which have finished and asked. Two retunes of g over g, h and j, which started: that
    of the CPU job does not count, nor does the move of g.
    """
    jobs = [job("c", 0, 50, cpus=2), job("g", 1, 20, cpus=3), job("h", 1, 5, cpus=2)]
    jobs += [job("i", 1, 5, cpus=1), job("j", 1, 5)]
    script = {
        0: {0: on((1, 0, 2)), 1: on((0, 1, 3)), 2: on((1, 1, 2)), 4: on((1, 1))},
        5: {1: on((0, 1, 4)), 0: on((1, 0, 1))},
        7: {1: on((1, 1, 2))},
        9: {1: on((1, 1, 1))},
    }
    kinds, result = observed(jobs, script, stop=until(40))
    assert job_type_columns(result, kinds)["cpus"].tolist() == [2, 3, 2, 1, 0]
    last = job_type_columns(result, kinds)["cpus_last"]
    assert last == pytest.approx([1, 1, 2, np.nan, 0], nan_ok=True)
    said = numbers(kinds, result)
    assert (said["more_cpus"], said["fewer_cpus"]) == (0, 1 / 2)
    assert said["retunes_per_gpu_job"] == 2 / 3
    assert (said["gpu"]["jobs"], said["gpu"]["finished"]) == (4, 3)


def test_cpus_on_several_machines_are_one_jobs() -> None:
    """3 + 1 CPUs are 4, of 4 that it asked for."""
    jobs = [CPU_JOB, job("g", 2, 10, cpus=4)]
    kinds, result = observed(jobs, {0: {0: on((0, 0, 1)), 1: on((0, 1, 3), (1, 1, 1))}})
    assert changes(kinds, "cpus_of_gpu_jobs") == [(0, 4), (10, 0)]
    assert numbers(kinds, result)["fewer_cpus"] == numbers(kinds, result)["more_cpus"] == 0


# --- the run, its end, and what it lacks


def test_without_waiting_gpu_jobs_no_share_under_queueing_is_written() -> None:
    """G starts at once: no share of GPUs held in a time that there is not; but no GPU starves."""
    jobs = [job("g", 1, 10, cpus=1), job("c", 0, 10, at=5, cpus=1)]
    said = numbers(*observed(jobs, {0: {0: on((0, 1, 1))}, 5: {1: on((1, 0, 1))}}))
    assert said["gpu_active_queued"] is said["gpu_utilization_queued"] is None
    assert said["starved"] == 0
    assert said["gpu_utilization_active"] == 1
    assert said["gpu"]["waiting"] == 0


def test_without_gpu_jobs_or_a_span_of_arrivals_there_are_no_shares() -> None:
    """A CPU job alone, which arrives at 3 s and has a user without GPU jobs: the span has no length."""
    said = numbers(*observed([job("c", 0, 10, at=3, cpus=1)], {5: {0: on((0, 0, 1))}}))
    nothing = {name for name, value in said.items() if value is None}
    assert nothing == {
        *("gpu_active_queued", "gpu_utilization_active", "gpu_utilization_queued", "starved"),
        *("starved_asked", "starved_all_time", "more_cpus_1_to_5", "fewer_cpus_1_to_20"),
        *("cpus_of_gpu_jobs", "cpus_of_cpu_jobs", "bandwidth", "over_threshold"),
        *("more_cpus", "fewer_cpus", "user_p99_gpu_s", "retunes_per_gpu_job"),
    }
    assert {name for name, value in said["gpu"].items() if value is None} == {
        *("at_once", "within_10s", "within_3min", "over_10min", "over_1h", "waiting"),
    }
    assert said["user_p99_cpu_only_s"] == 2


def test_a_run_that_ends_early_ends_the_rows_then() -> None:
    """At 12 s: c runs, g waits since 5 s, e would arrive at 20 s. Shares are over the 12 s that there are.

    G waits 7 of 12 s; it has not finished, and nothing is said of how long it waited.
    """
    jobs = [job("c", 0, 30, cpus=4), job("g", 1, 10, at=5, cpus=1), job("e", 0, 1, at=20, cpus=1)]
    kinds, result = observed(jobs, {0: {0: on((0, 0, 4))}}, stop=until(12))
    assert (kinds.times_ns // NS_PER_S).tolist() == [0, 5, 12]
    assert kinds.columns["gpu_jobs_waiting"].tolist() == [0, 1, 1]
    said = numbers(kinds, result)
    assert said["gpu"]["waiting"] == pytest.approx(7 / 12)
    assert said["cpus_of_cpu_jobs"] == 1 / 2
    assert said["starved"] == 1 / 2  # the GPUs of m0, whose CPUs c holds
    assert (said["gpu"]["jobs"], said["gpu"]["finished"], said["gpu"]["at_once"]) == (1, 0, None)
    assert said["gpu"]["queueing_s"]["mean"] is None


def test_jobs_outside_the_window_do_not_count() -> None:
    """The window has g (waits 1 s) and d (2 s), both Ann's, not b before, nor h (4 s) and c (2 s) after.

    B and h have more CPUs than they asked for. Ann's 99th percentile is 1.99 s; Cy has c alone.
    """
    jobs = [job("b", 1, 5, cpus=1), job("g", 1, 5, cpus=1), job("d", 0, 5, cpus=1)]
    jobs += [job("h", 1, 1, at=0.5, cpus=1), job("c", 0, 1, at=0.5, cpus=1)]
    jobs = [
        replace(spec, user=user) for spec, user in zip(jobs, ("bob", "ann", "ann", "bob", "cy"), strict=True)
    ]
    script = {
        0: {0: on((0, 1, 2))},
        1: {1: on((0, 1, 1))},
        2: {2: on((0, 0, 1))},
        2.5: {4: on((1, 0, 1))},
        4.5: {3: on((1, 1, 2))},
    }
    said = numbers(*observed(jobs, script, stop=StopRule(jobs=(1, 3))))
    assert (said["gpu"]["jobs"], said["gpu"]["queueing_s"]["max"]) == (1, 1)
    assert (said["cpu"]["jobs"], said["cpu"]["queueing_s"]["max"]) == (1, 2)
    assert said["user_p99_gpu_s"] == pytest.approx(1.99)
    assert said["user_p99_cpu_only_s"] is None
    assert said["more_cpus"] == 0


def test_users_have_percentiles_of_all_their_jobs() -> None:
    """U (g and c) waits 0 and 4 s: p99 3.96 s; v (h) 6 s; w (d, e) 1 and 3 s: 2.98 s; x (f) 5 s.

    Means: (3.96 + 6) / 2 of users with GPU jobs, (2.98 + 5) / 2 of those without. Y has not finished.
    """
    kinds_of = ((1, "u"), (0, "u"), (1, "v"), (0, "w"), (0, "w"), (0, "x"), (0, "y"))
    waits = [0, 4, 6, 1, 3, 5, 100]
    jobs = [replace(job(f"{i}", gpus, 1, cpus=1), user=user) for i, (gpus, user) in enumerate(kinds_of)]
    script: dict[float, dict[int, Any]] = {
        wait: {i: on((0, jobs[i].demand.gpus, 1))} for i, wait in enumerate(waits)
    }
    said = numbers(*observed(jobs, script, stop=until(50)))
    assert said["user_p99_gpu_s"] == pytest.approx((0.99 * 4 + 6) / 2)
    assert said["user_p99_cpu_only_s"] == pytest.approx((1 + 0.99 * 2 + 5) / 2)


def test_delays_hold_cpus_and_use_no_gpus() -> None:
    """A start costs 3 s, a move 2 s: g uses its GPU from 3 to 6 s, and for the other 9 s from 8 s on."""
    jobs = [CPU_JOB, job("g", 1, 12, cpus=2)]
    script = {0: {1: on((0, 1, 2))}, 6: {1: on((1, 1, 2))}, 18: {0: on((0, 0, 1))}}
    kinds, result = observed(jobs, script, overheads=Overheads(start_s=3, migrate_s=2))
    assert changes(kinds, "gpus_used") == [(0, 0), (3, 1), (6, 0), (8, 1), (17, 0)]
    assert changes(kinds, "cpus_of_gpu_jobs") == [(0, 2), (17, 0)]
    assert (kinds.columns["gpus_used"][:-1] * np.diff(kinds.times_ns)).sum() == result.compute_gpu_ns


def test_gpus_are_used_while_a_job_computes() -> None:
    """An iteration of 1 s takes 4 s, of which 3 are communication: 1/4 of 2 GPUs."""
    jobs = [CPU_JOB, job("g", 2, 3)]
    script = {0: {1: on((0, 2))}, 12: {0: on((0, 0, 1))}}
    kinds, result = observed(jobs, script, slow=lambda spec, allocation: 4.0)
    assert changes(kinds, "gpus_used") == [(0, 0.5), (12, 0)]
    assert result.compute_gpu_ns == 6 * NS_PER_S


def test_the_longest_of_several_delays_counts() -> None:
    """A start takes 5 s, a move 2 s. G moves at 1 s: still to 5 s. H moves at 4 s: to 6 s.

    Both move at 8 s: from 10 s on for what is left of 10 s, 7 and 8.
    """
    jobs = [CPU_JOB, job("g", 1, 10), job("h", 1, 10)]
    script = {
        0: {1: on((0, 1)), 2: on((0, 1))},
        1: {1: on((1, 1))},
        4: {2: on((1, 1))},
        8: {1: on((0, 1)), 2: on((0, 1))},
        20: {0: on((0, 0, 1))},
    }
    kinds, result = observed(jobs, script, overheads=Overheads(start_s=5, migrate_s=2))
    used = [(0, 0), (5, 1), (6, 2), (8, 0), (10, 2), (17, 1), (18, 0)]
    assert changes(kinds, "gpus_used") == used
    assert (kinds.columns["gpus_used"][:-1] * np.diff(kinds.times_ns)).sum() == result.compute_gpu_ns


def test_a_stop_or_a_retune_in_a_delay() -> None:
    """The start at 0 would end at 5 s, but g is stopped at 2 s; it resumes at 4 s, a retune at 5 s is free.

    H starts at 0 and is retuned at 2 s, within its delay of 5 s, which goes on.
    """
    jobs = [CPU_JOB, job("g", 1, 10, cpus=2), job("h", 1, 10, cpus=2)]
    script = {
        0: {1: on((0, 1, 2)), 2: on((1, 1, 2))},
        2: {1: None, 2: on((1, 1, 1))},
        4: {1: on((0, 1, 2))},
        5: {1: on((0, 1, 3))},
        16: {0: on((0, 0, 1))},
    }
    kinds, _ = observed(jobs, script, overheads=Overheads(start_s=5))
    assert changes(kinds, "gpus_used") == [(0, 0), (4, 1), (5, 2), (14, 1), (15, 0)]


# --- machines


def test_machines_that_fail_leave_and_join() -> None:
    """M1 leaves from 2 s, is gone at 4, joins at 6 and fails at 8 s; c holds all CPUs of m0 and g waits.

    G asks for 3 CPUs: m1, whose 2 CPUs are too few, starves while it takes new work: to 2, and from 6 to 8 s.
    At 3 s m0 joins, which is there, and at 5 s m1 fails, which is not: nothing changes.
    """
    jobs = [job("c", 0, 20, cpus=4), job("g", 1, 5, cpus=3)]
    events = [
        CapacityEvent(seconds_to_ns(2), "leave", 1, seconds_to_ns(4)),
        CapacityEvent(seconds_to_ns(3), "join", 0),
        CapacityEvent(seconds_to_ns(5), "fail", 1),
        CapacityEvent(seconds_to_ns(6), "join", 1),
        CapacityEvent(seconds_to_ns(8), "fail", 1),
    ]
    machines = (machine(0, gpus=1), machine(1, cpus=2, bandwidth=50))
    script = {0: {0: on((0, 0, 4))}, 20: {1: on((0, 1, 3))}}
    kinds, _ = observed(jobs, script, machines, capacity_events=events)
    assert changes(kinds, "starved_gpus") == [(0, 3), (2, 1), (6, 3), (8, 1), (20, 0)]
    assert changes(kinds, "capacity_cpus") == [(0, 6), (4, 4), (6, 6), (8, 4)]
    assert changes(kinds, "capacity_bytes_per_s") == [(0, 150), (4, 100), (6, 150), (8, 100)]
    assert changes(kinds, "capacity_gpus") == [(0, 3), (4, 1), (6, 3), (8, 1)]


def test_shares_are_of_the_machines_that_are_there() -> None:
    """M1 is away from 4 to 8 s of 10: 2 CPUs of 8, of 4, of 8, and 60 bytes/s of 200, of 100, of 200.

    20 of 8 x 6 + 4 x 4 CPU s; 600 of 1200 + 400 bytes.
    """
    jobs = [job("c", 0, 10, cpus=2, memory_bandwidth_bytes_per_s=60), job("d", 0, 1, at=10, cpus=1)]
    events = [CapacityEvent(seconds_to_ns(4), "fail", 1), CapacityEvent(seconds_to_ns(8), "join", 1)]
    script = {0: {0: on((0, 0, 2))}, 10: {1: on((0, 0, 1))}}
    said = numbers(*observed(jobs, script, capacity_events=events))
    assert said["cpus_of_cpu_jobs"] == 20 / 64
    assert said["bandwidth"] == pytest.approx(600 / 1600)


# --- memory bandwidth


def test_bandwidth_follows_cpus_caps_and_places() -> None:
    """C draws 80 bytes/s with its 4 CPUs: 40 with 2, 20 with a cap of one half, 80 with all; then on m1.

    G draws 30 on each machine from 8 s on: 110 of 100 on m1. Without a GPU job no machine is crowded.
    """
    jobs = [
        job("c", 0, 10, cpus=4, memory_bandwidth_bytes_per_s=80),
        job("g", 2, 4, memory_bandwidth_bytes_per_s=60),
    ]
    script = {
        0: {0: on((0, 0, 2))},
        2: {0: on((0, 0, 2), cap=0.5)},
        4: {0: on((0, 0, 4))},
        6: {0: on((1, 0, 4))},
        8: {1: on((0, 1), (1, 1))},
    }
    kinds, _ = observed(jobs, script)
    drawn = [(0, 40), (2, 20), (4, 80), (8, 140), (10, 60), (12, 0)]
    assert changes(kinds, "bandwidth_bytes_per_s") == drawn
    assert changes(kinds, "crowded") == [(0, 0), (8, 1), (10, 0)]


def test_a_machine_is_crowded_while_it_has_a_gpu_job() -> None:
    """C draws 80 of 100 bytes/s of m0 for 20 s. G is there from 2 to 8 s, on m1, and there again from 12 s.

    H joins g at 4 s, so that there are two, and one again when h ends at 6 s. While g is on m1, nothing is
    drawn there. All is over when c ends at 20 s; at 24 s g ends, too. So 6 + 8 of the 22 s with GPU jobs.
    """
    jobs = [
        job("c", 0, 20, cpus=2, memory_bandwidth_bytes_per_s=80),
        job("g", 1, 22, cpus=1),
        job("h", 1, 2, cpus=1),
        job("e", 0, 1, at=24, cpus=1),
    ]
    script = {
        0: {0: on((0, 0, 2))},
        2: {1: on((0, 1, 1))},
        4: {2: on((0, 1, 1))},
        8: {1: on((1, 1, 1))},
        12: {1: on((0, 1, 1))},
        24: {3: on((0, 0, 1))},
    }
    kinds, result = observed(jobs, script)
    assert changes(kinds, "crowded") == [(0, 0), (2, 1), (8, 0), (12, 1), (20, 0)]
    assert changes(kinds, "training") == [(0, 0), (2, 1), (24, 0)]
    assert numbers(kinds, result)["over_threshold"] == pytest.approx((6 + 8) / 22)


def test_three_quarters_of_the_bandwidth_are_not_over_the_threshold() -> None:
    """75 of 100 bytes/s by a cap of 0.75 are not, 76 are; where the bandwidth is unknown no machine counts.

    G and h train all the while.
    """
    drawing = {"cpus": 1, "memory_bandwidth_bytes_per_s": 100}
    jobs = [job("c", 0, 10, **drawing), job("d", 0, 10, **drawing), job("e", 0, 1, at=10, cpus=1)]
    jobs[2:2] = [job("g", 1, 10, cpus=1), job("h", 1, 10, cpus=1)]
    script = {
        0: {0: on((0, 0, 1), cap=0.75), 1: on((1, 0, 1)), 2: on((0, 1, 1)), 3: on((1, 1, 1))},
        5: {0: on((0, 0, 1), cap=0.76)},
        10: {4: on((0, 0, 1))},
    }
    kinds, result = observed(jobs, script, (machine(0), machine(1, bandwidth=0)))
    assert changes(kinds, "crowded") == [(0, 0), (5, 1), (10, 0)]
    assert numbers(kinds, result)["over_threshold"] == 1 / 2  # of one machine's time
    kinds, result = observed(jobs, script, (machine(0, bandwidth=0), machine(1, bandwidth=0)))
    assert numbers(kinds, result)["over_threshold"] is numbers(kinds, result)["bandwidth"] is None


def test_bytes_that_rounding_adds_do_not_pass_the_threshold() -> None:
    """One of 150 000 000 001 bytes/s, of 200 000 000 000: such a job was to be held at 150; 151 are over."""
    for drawn, over in ((150_000_000_001, 0), (151_000_000_000, 1)):
        jobs = [job("c", 0, 10, cpus=1, memory_bandwidth_bytes_per_s=drawn), job("g", 1, 10, cpus=1)]
        script = {0: {0: on((0, 0, 1)), 1: on((0, 1, 1))}}
        kinds, _ = observed(jobs, script, (machine(0, bandwidth=200_000_000_000),))
        assert changes(kinds, "crowded")[0] == (0, over)


# --- what is idle


def test_the_gpus_of_a_group_are_taken_once() -> None:
    """G and h share a GPU of m0 and take turns: 4 s for 2 of each, 1 s for the rest of h; k asks for 9 CPUs.

    M0 has an idle GPU, and 2 when the group is gone; m1 has 2.
    """
    group = Group("shared", ((0, 1),))
    jobs = [CPU_JOB, job("g", 1, 2, cpus=1), job("h", 1, 3, cpus=1), job("k", 1, 1, cpus=9)]
    machines = (machine(0), machine(1), machine(2, gpus=1, cpus=9, present=False))
    script = {0: {1: on((0, 1, 1), group=group), 2: on((0, 1, 1), group=group)}, 8: {3: on((2, 1, 9))}}
    join = CapacityEvent(seconds_to_ns(8), "join", 2)
    kinds, _ = observed(jobs, script, machines, capacity_events=[join], stop=until(8.5))
    assert changes(kinds, "starved_gpus") == [(0, 3), (5, 4), (8, 0)]


def test_a_policy_with_its_own_cpus_sets_the_cpus_that_suffice() -> None:
    """G asks for 3 CPUs a GPU; m0 has 1 left, m1 none: both starve, but with 1 a GPU only m1.

    What starves by the CPUs asked for is counted beside it, so that policies can be compared.
    """
    jobs = [job("c", 0, 10, cpus=3), job("d", 0, 10, cpus=4), job("g", 1, 1, cpus=3)]
    script = {0: {0: on((0, 0, 3)), 1: on((1, 0, 4))}}
    kinds, _ = observed(jobs, script, stop=until(5))
    assert kinds.columns["starved_gpus"].tolist() == kinds.inner["starved_asked"].tolist() == [4, 4]
    kinds, _ = observed(jobs, script, least=1, stop=until(5))
    assert kinds.columns["starved_gpus"].tolist() == [2, 2]
    assert kinds.inner["starved_asked"].tolist() == [4, 4]


def test_shares_of_starved_gpus_by_both_yardsticks() -> None:
    """The same until 5 s, when an e arrives: g waits from 0 s. Then c and d end, which frees all CPUs.

    With 1 CPU a GPU 2 of 4 GPUs starve, as asked 4 of 4: in all of the 5 s.
    """
    jobs = [job("c", 0, 10, cpus=3), job("d", 0, 10, cpus=4), job("g", 1, 1, cpus=3)]
    jobs.append(job("e", 0, 1, at=5, cpus=1))
    script = {0: {0: on((0, 0, 3)), 1: on((1, 0, 4))}}
    said = numbers(*observed(jobs, script, least=1, stop=until(8)))
    assert (said["starved"], said["starved_asked"], said["starved_all_time"]) == (1 / 2, 1, 1 / 2)


def test_lost_work_of_cpu_jobs_counts_by_the_cpus_asked_for() -> None:
    """C (3 CPUs) runs 4 s, is stopped, then 10 s; d (1 CPU) 10 s: 3 x 4 of 3 x 14 + 1 x 10 CPU s are lost.

    G loses 4 s as well, but is no CPU job.
    """
    jobs = [job("c", 0, 10, cpus=3), job("d", 0, 10, cpus=1), job("g", 1, 10, cpus=1)]
    jobs = [replace(spec, on_stop="lose_all") for spec in jobs]
    script = {
        0: {0: on((0, 0, 3)), 1: on((1, 0, 1)), 2: on((1, 1, 1))},
        4: {0: None, 2: None},
        5: {0: on((0, 0, 3)), 2: on((1, 1, 1))},
    }
    said = numbers(*observed(jobs, script))
    assert said["cpu_lost"] == pytest.approx(12 / 52)
    assert said["cpu"]["jct_s"]["max"] == 15


def test_one_to_five_more_and_one_to_twenty_fewer_cpus() -> None:
    """Jobs get 0, 1, 5 and 6 more, and 1, 20 and 21 fewer: 3 and 3 of 7, of which 2 and 2 count."""
    changed = (0, 1, 5, 6, -1, -20, -21)
    jobs = [CPU_JOB, *(job(f"g{more}", 1, 1, cpus=22) for more in changed)]
    machines = (machine(0, gpus=7, cpus=200), machine(1))
    script = {0: {0: on((1, 0, 1)), **{i: on((0, 1, 22 + more)) for i, more in enumerate(changed, 1)}}}
    said = numbers(*observed(jobs, script, machines))
    assert (said["more_cpus"], said["fewer_cpus"]) == (3 / 7, 3 / 7)
    assert (said["more_cpus_1_to_5"], said["fewer_cpus_1_to_20"]) == (2 / 7, 2 / 7)


def test_instants_are_followed_however_many_there_are() -> None:
    """Of 2500 CPU jobs one arrives each second: 1 waits at 0 s, 2500 at 2499 s, and at the end at 2600 s."""
    jobs = [job(f"c{i}", 0, 1, at=i, cpus=1) for i in range(2500)]
    kinds = JobTypes(jobs, Cluster([machine(0)]), PlainPerformance().drawn)
    for number in range(2500):
        now = seconds_to_ns(number)
        kinds.observe(now, [Arrival(now, number)], Gauges(0, 2, number + 1, 0))
    kinds.close(seconds_to_ns(2600))
    assert (kinds.times_ns // NS_PER_S).tolist() == [*range(2500), 2600]
    assert kinds.columns["cpu_jobs_waiting"].tolist() == [*range(1, 2501), 2500]


def test_kinds_are_seen_where_a_job_asks_for_no_gpus() -> None:
    """One of several is enough."""
    assert has_cpu_jobs([job("g"), CPU_JOB])
    assert not has_cpu_jobs([job("g")])
