"""Checkpoints: what writing them takes, saving at a preemption, recovery from a failure, Daly's interval."""

import pytest

from artist.core.cluster import CapacityEvent
from artist.engine.overheads import Overheads
from artist.errors import InputError
from artist.testing.tiny import Scripted, job, on, run_checked, seconds, tiny_cluster
from artist.units import seconds_to_ns

EVERY_5_S = {"on_stop": "lose_since_checkpoint", "checkpoint_every_s": 5.0}


def held(machine):
    return lambda view, plan: plan.place(0, on((machine, 2)))


def run(**overheads):
    """A job of 20 iterations of 1 s is preempted at 10.5 s, resumed at 11 s; its machine fails at 18 s."""
    fails = [CapacityEvent(seconds_to_ns(18), "fail", 0)]
    script = Scripted({0: held(0), 10.5: lambda view, plan: plan.stop(0), 11: held(0), 18: held(1)})
    costs = Overheads(**overheads)
    return run_checked([job("a", 2, 20)], tiny_cluster(2), script, overheads=costs, capacity_events=fails)[0]


def test_writing_checkpoints_slows_each_iteration_by_its_part():
    """2 s for 5 iterations: 1.4 s each. 10.5 s: 7 done, back to 5; 18 s: 5 more; the last 10 take 14 s."""
    result = run(**EVERY_5_S, checkpoint_write_s=2)
    assert seconds(result, "finish_ns") == [32]
    assert seconds(result, "lost_ns") == [10.5 - 7]
    assert seconds(result, "checkpoint_ns") == [pytest.approx((10.5 + 7 + 14) * 0.4 / 1.4)]


def test_a_preempted_job_saves_and_a_failure_loses_the_work_since():
    """10.5 s: 7 done and saved, 0.7 s lost. Written by 13 s; 18 s: 3 more and 0.8 s, back to 7.

    A recovery of 4 s, then 13 x 1.4 s = 18.2 s: 40.2 s. Lost: 0.7 s + 5 s; overhead 2 s + 4 s.
    """
    result = run(**EVERY_5_S, checkpoint_write_s=2, on_preemption="save", recover_s=4)
    assert seconds(result, "finish_ns") == [40.2]
    assert seconds(result, "lost_ns") == [5.7]
    assert seconds(result, "overhead_ns") == [6]


def test_a_job_that_restarts_from_nothing_may_still_save_when_it_is_preempted():
    """lose_all: 10 done and saved at 10.5 s; at 18 s 7 more are lost; 10 are left: 28 s."""
    assert seconds(run(on_stop="lose_all", on_preemption="save"), "finish_ns") == [28]
    assert seconds(run(on_stop="lose_all"), "finish_ns") == [38]


def test_recovery_replaces_the_delay_of_a_restart_after_a_failure_alone():
    """The resume takes 1 s, to 12 s: 16 done by 18 s; recovery 3 s, 4 left: 25 s. Else restart 2 s: 24 s."""
    delays = {"resume_s": 1, "restart_s": 2}
    assert seconds(run(**delays, recover_s=3), "finish_ns") == [25]
    assert seconds(run(**delays), "finish_ns") == [24]


def test_dalys_interval_follows_from_the_write_time_and_the_failures_of_the_job():
    """60 s, one failure per day: sqrt(2 x 60 x 86,400) = 3220; x (1 + 0.0186 / 3 + 0.0003 / 9) - 60 = 3180 s.

    Of 8 times the GPUs 8 times the rate: 1138 s x (1 + 0.0527 / 3 + 0.0028 / 9) - 60 s = 1099 s.
    """
    costs = Overheads(on_stop="lose_since_checkpoint", checkpoint_every_s="daly", checkpoint_write_s=60)
    costs = costs.under(lambda gpus: gpus / 8 / 86_400)
    jobs = [job("a", 8, 10_000), job("b", 64, 10_000)]
    assert costs.checkpoints(jobs) == [3180, 1099]
    assert costs.writes_ns(jobs, [3180, 1099]) == [round(60e9 / 3180), round(60e9 / 1099)]


def test_dalys_interval_where_checkpoints_take_longer_than_failures_and_where_nothing_fails():
    """Write time above twice the mean time of 100 s: that time. No failures: a checkpoint never reached."""
    costs = Overheads(on_stop="lose_since_checkpoint", checkpoint_every_s="daly", checkpoint_write_s=300)
    assert costs.under(lambda gpus: 0.01).checkpoints([job("a", 8, 1000)]) == [100]
    assert costs.under(lambda gpus: 0.0).checkpoints([job("a", 8, 1000)])[0] > 1000
    with pytest.raises(InputError, match="no rate of failures"):
        costs.checkpoints([job("a")])


@pytest.mark.parametrize(
    "wrong",
    [
        {"checkpoint_write_s": 5},
        {"checkpoint_write_s": 5, "on_stop": "keep"},
        {"checkpoint_every_s": "daly"},
        {"checkpoint_every_s": "daly", "checkpoint_write_s": 5, "on_preemption": "save"},
        {"checkpoint_every_s": "daly", "on_stop": "lose_since_checkpoint"},
        {"checkpoint_every_s": "young"},
        {"on_preemption": "keep"},
        {"recover_s": -1},
    ],
)
def test_settings_without_effect_or_meaning_are_refused(wrong):
    """A write time without checkpoints, an optimum without one, unknown names."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Overheads(**wrong)
