"""Themis as in Gavel: shares, rounds of 10 s, and the units of the program of Muri's authors."""

from dataclasses import replace

import numpy as np
import pytest

from artist.core.cluster import CapacityEvent
from artist.engine.overheads import Overheads
from artist.policies.themis.fair_shares import fair_shares
from artist.policies.themis.gavel import Isolated, ThemisGavel
from artist.policies.themis.muri import ThemisMuri
from artist.testing.tiny import job, run_checked, seconds, tiny_cluster
from artist.units import seconds_to_ns


def run(jobs, gpus=1, cpus=0, kind=ThemisGavel, **parameters):
    """Run jobs on one machine in rounds of 10 s, unless said otherwise."""
    policy = kind(**({"interval_s": 10} | parameters))
    return run_checked(jobs, tiny_cluster(1, gpus, cpus=cpus), policy)


def test_equal_shares_take_turns():
    """One GPU, a of 100 s, b of 10 s: in their halves 200 and 20 s, so a half each makes both 1.

    None has received a round, so a is first; at 10 b has received less. Then a runs the 90 s that it lacks.
    """
    result, _ = run([job("a", 1, 100), job("b", 1, 10)])
    assert seconds(result, "finish_ns") == [110, 20]


SLOW = replace(job("b", 1, 6), compute_ns=5 * 10**9)  # 6 iterations of 5 s


@pytest.mark.parametrize(("kind", "finish"), [(ThemisGavel, [50, 60]), (ThemisMuri, [60, 40])])
def test_the_unit_mixing_is_for_those_with_long_iterations(kind, finish):
    """One GPU; a has 30 iterations of 1 s, b 6 of 5 s.

    Right: both take 30 s, have half of the time, and run in turns: a 0-10, 20-30, 40-50, b in between.
    Mixed: a part of 1/2 GPU, rounded up to 1; isolated "times" 30 / 1 and 6 / 1, so rho is 1 / x and 5 / y:
    shares 1/6 and 5/6. B is first, then a, which had none; at 20 b (5/6) before a (1/6), at 30 b (5/12)
    again: 40.
    """
    result, _ = run([job("a", 1, 30), SLOW], kind=kind)
    assert seconds(result, "finish_ns") == finish


@pytest.mark.parametrize(("kind", "starts"), [(ThemisGavel, [0, 20, 0]), (ThemisMuri, [0, 0, 20])])
def test_the_isolated_part_is_rounded_up_only_in_muris_program(kind, starts):
    """Four GPUs, three jobs of 20 s: a, b ask for 2, c for 1. 4/3 GPUs are c's all and 2/3 of a's, b's time.

    So c can be at 1 at best and has all the time, a and b less: c and a run. Rounded up to 2, all have the
    same share, 4/5: a and b run. Rounds are of 20 s.
    """
    jobs = [job("a", 2, 20), job("b", 2, 20), job("c", 1, 20)]
    result, _ = run(jobs, 4, kind=kind, interval_s=20)
    assert seconds(result, "first_start_ns") == starts


def test_shares_are_recomputed_at_arrivals():
    """One GPU; a (40 s) runs from 0. B (40 s), from 5, has received no round at 10; then a and b take turns.

    C (10 s), from 25, is first at 30. A runs 0-10, 20-30, b 10-20, c 30-40. At 40 two are left.
    """
    result, _ = run([job("a", 1, 40), job("b", 1, 40, at=5), job("c", 1, 10, at=25)])
    assert seconds(result, "first_start_ns") == [0, 10, 30]
    assert seconds(result, "finish_ns")[2] == 40


def test_on_events_the_time_held_counts():
    """No rounds; b (10 s) comes at 5 and has had nothing: it runs 5-15; c (1 s) comes at 7: 7-8, b had 2 s.

    At 8 a had 5 s, b 2: b goes on to 16, then a for the 95 s that it lacks.
    """
    jobs = [job("a", 1, 100), job("b", 1, 10, at=5), job("c", 1, 1, at=7)]
    result, _ = run(jobs, on_events=True, interval_s=None)
    assert seconds(result, "finish_ns") == [111, 16, 8]


def test_without_rounds_a_job_runs_until_another_arrives_or_finishes():
    """One GPU, a of 100 s, b of 10 s: equal, so a is first; the next event is its end. In rounds: 110, 20."""
    result, _ = run([job("a", 1, 100), job("b", 1, 10)], on_events=True, interval_s=None)
    assert seconds(result, "finish_ns") == [100, 110]


def test_the_isolated_time_is_of_the_speeds_of_then():
    """10 iterations left at half speed: 20 s. Four done later: 4 / 0.5 = 8 s, and 6 at a third: 8 + 18 s."""
    isolated = Isolated()
    assert isolated.until_finish([7], np.array([10.0]), np.array([0.5])).tolist() == [20]
    assert isolated.until_finish([7], np.array([6.0]), np.array([1 / 3])) == pytest.approx([26])


def test_lost_iterations_take_their_isolated_time_with_them():
    """10 iterations; 6 done at half speed: 12 s, and 4 at a third: 12 + 12 = 24 s.

    Three of the six are lost: half of the 12 s, and 7 at a third: 6 + 21 = 27 s. All are lost: 10 at full
    speed, 10 s. Subtracted at the speed of the last call, these would have been 12 - 9 + 21 and 3 - 9 + 10.
    """
    isolated = Isolated()
    steps = [(10.0, 1 / 2), (4.0, 1 / 3), (7.0, 1 / 3), (10.0, 1.0)]
    until = [isolated.until_finish([7], np.array([left]), np.array([speed]))[0] for left, speed in steps]
    assert until == pytest.approx([20, 24, 27, 10])


def test_a_job_that_lost_all_has_an_isolated_time_above_zero():
    """Two machines of 5 GPUs, rounds of 10 s; a (5 GPUs, 40 s) runs from 0, five jobs of 5 s from 20 to 25.

    At 20 there are six jobs: 10/6 GPUs are a's for a third of the time. At 25 its machine fails, and all is
    lost. At 30 it is alone: 20 - 20 / (1/3) + 40 would be 0 s in isolation; it is 40 s, and a runs 30-70.
    """
    jobs = [job("a", 5, 40), *(job(f"b{i}", 1, 5, at=19) for i in range(5))]
    outage = [CapacityEvent(seconds_to_ns(at), kind, 0) for at, kind in ((25, "fail"), (26, "join"))]
    policy, loses = ThemisGavel(interval_s=10), Overheads(on_stop="lose_all")
    result, _ = run_checked(jobs, tiny_cluster(2, 5), policy, overheads=loses, capacity_events=outage)
    assert seconds(result, "finish_ns") == [70, 25, 25, 25, 25, 25]


@pytest.mark.parametrize(
    ("stayed", "needed", "isolated"), [(0, 1, 0), (0, 1, -1), (0, 1, np.nan), (0, 0, 1), (np.inf, 1, 1)]
)
def test_shares_of_jobs_without_an_isolated_time_are_refused(stayed, needed, isolated):
    """(0 + 1 / x) / 0 is infinite for every share x, so that a search for the smallest would never end."""
    with pytest.raises(ValueError, match="must be finite"):
        fair_shares(*(np.array([value]) for value in (stayed, needed, isolated, 1.0)), 1)


def test_cpu_jobs_have_no_share_of_the_gpus():
    """Two GPUs and CPUs; a takes one of each, d one CPU. The share of d would be a division by 0 GPUs."""
    result, _ = run([job("a", 1, 20), job("d", 0, 5, cpus=1)], 2, cpus=2)
    assert seconds(result, "finish_ns") == [20, 5]
