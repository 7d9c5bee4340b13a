"""Muri's 400 jobs, run here and on its authors' 64 GPUs (scripts/validation/testbed.py)."""

import pytest
import testbed

from artist.engine.overheads import Overheads
from artist.policies.basic.ordered import Ordered
from artist.testing.tiny import job, run_checked, seconds, tiny_cluster


@pytest.mark.parametrize("name", [name for name, scheduler in testbed.SCHEDULERS.items() if scheduler.file])
def test_times_are_those_of_the_testbed(name, shared):
    """Mean completion time within 5 %, makespan within 3 %, and jobs in the same order but for 2 % (rank)."""
    scheduler = testbed.SCHEDULERS[name]
    real = testbed.measured(shared, scheduler)
    ours = testbed.simulated(shared, scheduler, stretch=True, anew=True)
    assert len(ours.jct_s) == len(real.jct_s) == 400
    (mean, *_, makespan), (real_mean, *_, real_makespan) = ours.row(), real.row()
    assert mean == pytest.approx(real_mean, rel=0.05)
    assert makespan == pytest.approx(real_makespan, rel=0.03)
    assert testbed.rank(ours.jct_s, real.jct_s) > 0.98


def test_themis_meets_the_four_figures_that_are_known(shared):
    """Mean, median and p99 of the completion times and the makespan within 3 %, of the program that ran."""
    scheduler = testbed.SCHEDULERS["Themis"]
    ours = testbed.simulated(shared, scheduler, stretch=True, anew=True)
    assert ours.row() == pytest.approx(scheduler.figures, rel=0.03)


def test_the_experiment_alone_is_near(shared):
    """Without the start of all jobs at every decision: Muri-L within 2 %, SRTF within 5 %."""
    for name, within in (("Muri-L", 0.02), ("SRTF", 0.05)):
        scheduler = testbed.SCHEDULERS[name]
        real = testbed.measured(shared, scheduler)
        ours = testbed.simulated(shared, scheduler, stretch=False, anew=False)
        assert ours.row()[0] == pytest.approx(real.row()[0], rel=within)


def test_all_jobs_restart_when_one_arrives_and_none_without_an_event():
    """Every 360 s, 5 s a start. A (800 s) from 0; b (400 s), from 100, starts at 360, and a starts anew.

    At 720 nothing has happened since: both go on. B ends at 360 + 5 + 400 = 765; a at 5 + 800 + 5 = 810.
    """
    policy = testbed.AllStartAnew(Ordered(order="srtf", preemptive=True, backfill=True), always=False)
    costs = Overheads(start_s=5, retune_s=5)
    jobs = [job("a", 1, 800), job("b", 1, 400, at=100)]
    result, _ = run_checked(jobs, tiny_cluster(1), policy, overheads=costs)
    assert seconds(result, "finish_ns") == [810, 765]
    assert seconds(result, "overhead_ns") == [10, 5]
