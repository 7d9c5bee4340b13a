"""The table of costs, carried iterations, and what a stop loses."""

from dataclasses import replace

import pytest

from artist.core.cluster import Cluster, Machine
from artist.core.events import Change, Finish, Start
from artist.core.job import Demand, JobSpec
from artist.engine.overheads import Overheads
from artist.engine.stopping import StopRule
from artist.errors import InputError
from artist.testing.tiny import PlainPerformance, Scripted, job, on, run_checked, seconds, tiny_cluster
from artist.units import NS_PER_S

COSTS = {"start_s": 1, "resume_s": 2, "restart_s": 3, "migrate_s": 4, "resize_s": 5, "retune_s": 6}


def place(*slices, **kw):
    return lambda v, p: p.place(0, on(*slices, **kw))


def stop(v, p):
    p.stop(0)


def one(script, spec=None, **options):
    spec = spec or job("a", 1, 10)
    return run_checked([spec], tiny_cluster(), Scripted(script), options.pop("performance", None), **options)


def test_first_start_costs_start():
    """10 s of work behind a delay of 1 s end at 11; the delay is overhead, not running."""
    result, _ = one({0: place((0, 1))}, overheads=Overheads(**COSTS))
    assert seconds(result, "finish_ns") == [11]
    assert seconds(result, "overhead_ns") == [1]
    assert seconds(result, "running_ns") == [10]


def test_coming_back_to_the_same_machines_costs_resume():
    """0-1 start delay, 1-4 three iterations, stopped 4-6, 6-8 resume delay, 7 left: 8 + 7 = 15."""
    result, log = one({0: place((0, 1)), 4: stop, 6: place((0, 1))}, overheads=Overheads(**COSTS))
    assert [e.type for e in log if isinstance(e, Start)] == ["start", "resume"]
    assert seconds(result, "finish_ns") == [15]
    assert seconds(result, "queueing_ns") == [2]


def test_resuming_on_another_machine_costs_restart():
    """As before, with 3 s instead of 2: 16."""
    result, log = one({0: place((0, 1)), 4: stop, 6: place((1, 1))}, overheads=Overheads(**COSTS))
    assert [e.type for e in log if isinstance(e, Start)] == ["start", "restart"]
    assert seconds(result, "finish_ns") == [16]


def test_another_machine_is_a_move():
    """0-1 start, 1-4 three iterations, 4-8 migrate, 7 left: 15."""
    result, log = one({0: place((0, 1)), 4: place((1, 1))}, overheads=Overheads(**COSTS))
    assert [e.type for e in log if isinstance(e, Change)] == ["migrate"]
    assert seconds(result, "finish_ns") == [15]
    assert result.columns["migrations"].tolist() == [1]


def test_a_move_cuts_the_open_iteration():
    """Moved at 3.5 without cost: half an iteration is lost, 7 are left: 3.5 + 7 = 10.5."""
    result, _ = one({0: place((0, 1)), 3.5: place((1, 1))})
    assert seconds(result, "finish_ns") == [10.5]
    assert seconds(result, "lost_ns") == [0.5]


def test_more_gpus_is_a_resize_that_carries_the_open_iteration():
    """Ten iterations of 1 s on 2 GPUs, started on 1 (2 s each), grown to 2 at t = 3 in half of the second.

    8.5 iterations are left at 1 s: 3 + 8.5 = 11.5 without cost.
    """
    spec = job("a", 2, 10, min_gpus=1, max_gpus=2)
    result, log = one({0: place((0, 1)), 3: place((0, 2))}, spec)
    assert [e.type for e in log if isinstance(e, Change)] == ["resize"]
    assert seconds(result, "finish_ns") == [11.5]
    assert result.columns["resizes"].tolist() == [1]
    # 1 GPU for 3 s and 2 GPUs for 8.5 s
    assert seconds(result, "gpu_held_ns") == [3 + 17]


def test_a_resize_may_span_machines_if_the_common_part_is_kept():
    """m0:1 -> m0:1+m1:1 keeps m0:1, -> m1:2 keeps m1:1; -> m0:1 keeps nothing and is a migration."""
    spec = job("a", 2, 10, min_gpus=1, max_gpus=2)
    _, log = one({0: place((0, 1)), 1: place((0, 1), (1, 1)), 2: place((1, 2)), 3: place((0, 1))}, spec)
    assert [e.type for e in log if isinstance(e, Change)] == ["resize", "resize", "migrate"]


def test_an_elastic_job_that_moves_a_part_is_resized():
    """m0:2+m1:2 -> m0:2+m2:2 after half of the third iteration: 5 s of delay, and nothing is cut.

    2.5 s done of 10, then 5 + 7.5: 15.
    """
    script = Scripted({0: place((0, 2), (1, 2)), 2.5: place((0, 2), (2, 2))})
    spec = job("a", 4, 10, min_gpus=2, max_gpus=4)
    result, log = run_checked([spec], tiny_cluster(3), script, overheads=Overheads(resize_s=5, migrate_s=9))
    assert [e.type for e in log if isinstance(e, Change)] == ["resize"]
    assert seconds(result, "finish_ns") == [15]
    assert result.columns["migrations"].tolist() == [0]


def test_a_job_that_is_not_elastic_moves_even_if_a_part_stays():
    """The same without bounds: the half iteration is lost, 2.5 + 9 + 8: 19.5."""
    script = Scripted({0: place((0, 2), (1, 2)), 2.5: place((0, 2), (2, 2))})
    costs = Overheads(resize_s=5, migrate_s=9)
    result, log = run_checked([job("a", 4, 10)], tiny_cluster(3), script, overheads=costs)
    assert [e.type for e in log if isinstance(e, Change)] == ["migrate"]
    assert seconds(result, "finish_ns") == [19.5]


def test_a_fungible_job_moves_to_other_gpus():
    """2 GPUs of speed 1 on m0 or 4 of speed 0.5 on m0 and m1 are the job's own number: no resize."""
    machines = [Machine("m0", 0, "half", 4, "T4", 0.5), Machine("m1", 0, "half", 4, "T4", 0.5)]
    machines += [Machine("m2", 0, "whole", 2, "V100", 1.0)]
    spec = job("a", 2, 10, fungible=True, mixed_types=True)
    script = Scripted({0: place((0, 2), (2, 1)), 2: place((0, 2), (1, 2))})
    _, log = run_checked([spec], Cluster(machines), script)
    assert [e.type for e in log if isinstance(e, Change)] == ["migrate"]


def test_resize_costs_resize():
    """Grown at t = 2 after one iteration of 2 s: 5 s delay, then 9 iterations of 1 s: 16 (start free)."""
    spec = job("a", 2, 10, min_gpus=1, max_gpus=2)
    result, _ = one({0: place((0, 1)), 2: place((0, 2))}, spec, overheads=Overheads(resize_s=5))
    assert seconds(result, "finish_ns") == [16]


def test_the_same_gpus_with_another_cap_is_a_retune_that_carries_the_open_iteration():
    """Capped at 0.5 from 2.5 on, iterations take 2 s: half an iteration left is 1 s, then 7 of 2 s: 17.5."""
    performance = PlainPerformance(slow=lambda spec, a: 1 / a.bandwidth_cap)
    result, log = one({0: place((0, 1)), 2.5: place((0, 1), cap=0.5)}, performance=performance)
    assert [e.type for e in log if isinstance(e, Change)] == ["retune"]
    assert seconds(result, "finish_ns") == [17.5]
    assert seconds(result, "lost_ns") == [0]


def test_a_retune_costs_retune():
    """6 s of delay at t = 2 with 8 s left: 16; more CPUs are a retune as well."""
    cluster = tiny_cluster(cpus=4)
    script = Scripted({0: place((0, 1, 1)), 2: place((0, 1, 3))})
    result, log = run_checked([job("a", 1, 10)], cluster, script, overheads=Overheads(retune_s=6))
    assert [e.type for e in log if isinstance(e, Change)] == ["retune"]
    assert seconds(result, "finish_ns") == [16]


def test_a_change_during_a_delay_never_shortens_it():
    """Restart delay 0-3; a free move at t = 1 does not end it: 3 + 10 = 13."""
    result, _ = one({0: place((0, 1)), 1: place((1, 1))}, overheads=Overheads(start_s=3))
    assert seconds(result, "finish_ns") == [13]
    assert seconds(result, "overhead_ns") == [3]


def test_naming_the_same_allocation_again_changes_nothing():
    """A plan may repeat what runs: no event, no cost, no placement counted."""
    result, log = one({0: place((0, 1)), 4: place((0, 1))}, overheads=Overheads(**COSTS))
    assert len([e for e in log if isinstance(e, Start | Change)]) == 1
    assert seconds(result, "finish_ns") == [11]
    assert result.placements == {"machine": 1, "rack": 0, "network": 0}


@pytest.mark.parametrize(
    ("mode", "finish", "lost", "why"),
    [
        ("lose_iteration", 13.5, 0.5, "3 of 10 done at 3.5; 7 left from 6.5"),
        ("keep", 13.0, 0.0, "3.5 of 10 done; 6.5 left from 6.5"),
        ("lose_since_checkpoint", 14.5, 1.5, "checkpoint every 2 iterations: 2 done; 8 left from 6.5"),
        ("lose_all", 16.5, 3.5, "all 10 left from 6.5"),
    ],
)
def test_each_on_stop_mode_loses_its_part_of_the_work(mode, finish, lost, why):
    """Stopped at 3.5, back at 6.5, with each of the four modes."""
    overheads = Overheads(on_stop=mode, checkpoint_every_s=2)
    result, _ = one({0: place((0, 1)), 3.5: stop, 6.5: place((0, 1))}, overheads=overheads)
    assert seconds(result, "finish_ns") == [finish], why
    assert seconds(result, "lost_ns") == [lost]
    # running = 10 s of useful work + what was lost
    assert seconds(result, "running_ns") == [10 + lost]


@pytest.mark.parametrize(
    ("script", "finish"),
    [
        ({0: place((0, 1))}, 9.6),
        ({0: place((0, 1)), 0.4: stop, 1: place((0, 1))}, 10.6),
        ({0: place((0, 1)), 2: stop, 3: place((0, 1))}, 11),
    ],
)
def test_a_first_iteration_may_be_shorter(script, finish):
    """Ten of 1 s, the first 0.4 shorter, take 9.6. Cut at 0.4 s, they begin anew at 1 s: 1 + 9.6.

    Cut at 2 s, two are done, at 0.6 and 1.6 s, and 0.4 s of the third lost: eight from 3 s.
    """
    spec = replace(job("a", 1, 10), first_shorter_ns=int(0.4 * NS_PER_S))
    result, _ = one(script, spec)
    assert seconds(result, "finish_ns") == [finish]


def test_a_first_iteration_is_as_much_shorter_at_any_speed():
    """As above at half the speed, in ten of 2 s: 19.6 s."""
    spec = replace(job("a", 1, 10), first_shorter_ns=int(0.4 * NS_PER_S))
    result, _ = one({0: place((0, 1))}, spec, performance=PlainPerformance(lambda *at: 2))
    assert seconds(result, "finish_ns") == [19.6]


@pytest.mark.parametrize(
    ("gpus", "on_stop", "lost", "why"),
    [
        (1, None, 0.5, "a GPU job loses its open iteration, as all jobs do"),
        (0, None, 3.5, "a CPU-only job loses all"),
        (0, "keep", 0.0, "unless it says its own"),
    ],
)
def test_cpu_only_jobs_lose_work_by_their_own_on_stop_mode(gpus, on_stop, lost, why):
    """Stopped at 3.5 of 10 s, back at 6.5: the settings for CPU-only jobs differ from those for all."""
    overheads = Overheads(on_stop="lose_iteration", cpu_on_stop="lose_all")
    spec = JobSpec("a", 0, Demand(gpus, cpus=1 - gpus), 10, NS_PER_S, on_stop=on_stop)
    back = place((0, gpus, 1 - gpus))
    result, _ = run_checked(
        [spec], tiny_cluster(cpus=4), Scripted({0: back, 3.5: stop, 6.5: back}), overheads=overheads
    )
    assert seconds(result, "lost_ns") == [lost], why
    assert seconds(result, "finish_ns") == [13 + lost]


def test_suspend_resume_carries_the_open_iteration_to_another_speed():
    """Kept half of an iteration of 1 s; machine 1 is twice as slow: 0.5 x 2 + 6 x 2 = 13 from 6.5."""
    slow = PlainPerformance(slow=lambda spec, a: 2.0 if a.slices[0].machine == 1 else 1.0)
    result, _ = one(
        {0: place((0, 1)), 3.5: stop, 6.5: place((1, 1))},
        performance=slow,
        overheads=Overheads(on_stop="keep"),
    )
    assert seconds(result, "finish_ns") == [19.5]


def test_a_change_of_speed_rounds_the_open_iteration_up():
    """7 ns iterations, 4 left, stretched 7 -> 10 ns: ceil(4 x 10 / 7) = 6 ns, not 5.7."""
    spec = JobSpec("a", 0, Demand(1), iterations=2, compute_ns=7)
    performance = PlainPerformance(slow=lambda s, a: 10 / 7 if a.bandwidth_cap < 1 else 1.0)
    result, _ = one({0: place((0, 1)), 3e-9: place((0, 1), cap=0.5)}, spec, performance=performance)
    assert result.columns["finish_ns"].tolist() == [3 + 6 + 10]


def in_turn(first_s, second_s, **options):
    """Run two jobs on the same two GPUs, the second as soon as the first has finished."""
    script = Scripted({0: place((0, 2)), first_s: lambda v, p: p.place(1, on((0, 2)))})
    jobs = [job("first", 2, first_s), job("second", 2, second_s)]
    return run_checked(jobs, tiny_cluster(), script, **options)


def test_a_finish_is_noticed_at_the_next_multiple():
    """Every 3 s: 10 s of work end at 10, noticed at 12; 5 more end at 15, at once. Nothing waits for that.

    The GPUs are free at 10: the first job held 2 of them for 10 s, and the second starts there.
    """
    result, log = in_turn(10, 5, overheads=Overheads(notice_s=3))
    assert seconds(result, "finish_ns") == [12, 15]
    assert seconds(result, "overhead_ns") == [2, 0]
    assert seconds(result, "running_ns") == [10, 5]
    assert seconds(result, "machine_tier_ns") == [12, 5]
    assert seconds(result, "gpu_held_ns") == [20, 10]
    assert seconds(result, "queueing_ns") == [0, 10]
    assert [e.time_ns / 10**9 for e in log if isinstance(e, Finish)] == [10, 15]


@pytest.mark.parametrize("stop", [StopRule(jobs=(0, 1)), StopRule(time_ns=10 * 10**9)])
def test_a_run_ends_as_the_jobs_do_and_not_as_that_is_noticed(stop):
    """The window is over at 10, and at the limit of 10 s the first job counts: it is noticed at 12."""
    result, _ = in_turn(10, 5, overheads=Overheads(notice_s=3), stop=stop)
    assert result.end_ns == 10 * 10**9
    assert seconds(result, "finish_ns") == [12, -1]


def test_costs_come_from_the_job_then_the_table_then_the_constants(tmp_path):
    """Three jobs that start: own delay 1 s, the table's 2 s for (vgg, 2), the constant 3 s."""
    table = tmp_path / "overheads.csv"
    table.write_text("model,gpus,start_s\nvgg,2,2\n")
    delayed = JobSpec("own", 0, Demand(2), 1, 10**9, "vgg", delays_ns={"start": 10**9})
    listed = JobSpec("listed", 0, Demand(2), 1, 10**9, "vgg")
    other = JobSpec("other", 0, Demand(1), 1, 10**9, "vgg")

    def start(v, p):
        p.place(0, on((0, 2)))
        p.place(1, on((1, 2)))
        p.place(2, on((2, 1)))

    result, _ = run_checked(
        [delayed, listed, other],
        tiny_cluster(3),
        Scripted({0: start}),
        overheads=Overheads(start_s=3, table=table),
    )
    assert seconds(result, "overhead_ns") == [1, 2, 3]


@pytest.mark.parametrize(
    "text", ["model,gpus,typo_s\n", "model,gpus,start_s\na,1,-2\n", "model,gpus,start_s\na,x,2\n"]
)
def test_a_bad_table_of_costs_is_refused(tmp_path, text):
    """Wrong columns, negative or non-numeric entries are named before the clock starts."""
    table = tmp_path / "overheads.csv"
    table.write_text(text)
    with pytest.raises(InputError, match=r"overheads\.csv"):
        Overheads(table=table)
