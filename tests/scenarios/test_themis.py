"""Themis: who is worst off, who may bid, who wins, what leases are for. Iterations of 1 s, leases of 10 s."""

import pytest

from artist.core.events import Stop
from artist.policies.themis.policy import Themis
from artist.testing.tiny import PlainPerformance, job, run_checked, seconds, tiny_cluster


def run(jobs, gpus=1, machines=1, performance=None, **parameters):
    """Run jobs under leases of 10 s that nothing breaks, unless said otherwise."""
    policy = Themis(**({"lease_s": 10, "newcomers_break_leases": False} | parameters))
    return run_checked(jobs, tiny_cluster(machines, gpus), policy, performance)


def test_the_worst_off_runs_next():
    """One GPU, a of 100 s, b of 10 s, both at 0; alone on half of it they would take 200 and 20 s.

    At 0 both have 100/200 = 10/20 = 0.5, and a is first. At 10 a would end at 100: still 0.5; b, at 20: 1.0.
    B runs 10-20, then a for the 90 s that it lacks. First come, first served would give 100 and 110.
    """
    result, _ = run([job("a", 1, 100), job("b", 1, 10)])
    assert seconds(result, "finish_ns") == [110, 20]


def test_a_lease_lasts_to_its_end():
    """B comes at 5 and is worse off than a at once, but a has the GPU until 10.

    Then b's 10 s end 15 s after it came; for its 5 s there were 2 jobs, alone 20 s: 0.75. A: 100 s; there
    were 1, then 2 jobs, 1.5 on average: 100 / 150 = 0.67.
    """
    result, _ = run([job("a", 1, 100), job("b", 1, 10, at=5)])
    assert seconds(result, "first_start_ns") == [0, 10]
    assert seconds(result, "finish_ns") == [110, 20]


def test_gpus_freed_within_a_lease_break_no_lease():
    """Two GPUs; x ends at 5. B wants two for 1 s and is worst off, but may not have a's; c has the free one.

    There were 3 jobs from 1 to 2 and 4 to 5, 3.75 on average: b would end after 5 s, alone after 3.75. At 10
    both GPUs are on offer.
    """
    jobs = [job("a", 1, 100), job("x", 1, 5), job("b", 2, 1, at=1), job("c", 1, 10, at=2)]
    result, _ = run(jobs, gpus=2)
    assert seconds(result, "first_start_ns") == [0, 0, 10, 5]


FOUR = [job("x", 4, 10), job("c", 4, 10), job("d", 2, 10, at=10), job("e", 2, 10, at=10)]


@pytest.mark.parametrize(("knob", "starts"), [(0.8, [0, 10, 20, 20]), (0, [0, 20, 10, 10])])
def test_the_auction_is_among_the_worst_off(knob, starts):
    """Four GPUs; x ends at 10, where c (4 GPUs) has waited and d, e (2 each) come. All take 10 s.

    C: 20 s, with 2 jobs in turns alone also 20: 1.0. D, e: 10 s; 2 of a share of 4/3 GPUs are 1.5 turns:
    10/15. A fifth of three jobs is one bidder, c. If all may bid, c gains log(30/20) = 0.41 by winning now
    rather than a lease later, d and e log(20/10) = 0.69 each: the product is largest if they win.
    """
    result, _ = run(FOUR, gpus=4, fairness_knob=knob)
    assert seconds(result, "first_start_ns") == starts


def test_a_short_job_gains_more_from_winning():
    """X ends at 10; c (4 GPUs, 5 s) and d, e (2 each, 40 s) come. C gains log(15/5) = 1.10, they 0.22 each.

    D and e are worse off (40 / 60, c 5 / 15) and more, but the product is larger if c goes first.
    """
    jobs = [job("x", 4, 10), job("c", 4, 5, at=10), job("d", 2, 40, at=10), job("e", 2, 40, at=10)]
    result, _ = run(jobs, gpus=4, fairness_knob=0)
    assert seconds(result, "first_start_ns") == [0, 10, 15, 15]


def test_the_share_goes_by_the_mean_number_of_jobs_not_the_present_one():
    """A (100 s) is alone until b (20 s) comes at 5; at 10 both leases are on offer.

    A's 100 s are worth 100 x 1.5 alone, with 1.5 jobs on average: 0.67; b's 5 + 20 s, with 2, 40: 0.63. So a
    goes on; with the 2 jobs of now it would be 100 / 200 against 25 / 40. At 20 a has 100 / 175, b 35 / 40: b
    runs 20-40 (at 30 it has 35 / 40, a 110 / 183), then a for the 80 s that it lacks.
    """
    result, _ = run([job("a", 1, 100), job("b", 1, 20, at=5)])
    assert seconds(result, "first_start_ns") == [0, 20]
    assert seconds(result, "finish_ns") == [120, 40]


def test_gpus_left_by_the_auction_go_to_the_other_jobs():
    """As above on three GPUs with c for 2 and e for 1: c wins; of the one left over e makes use, d cannot."""
    jobs = [job("x", 3, 10), job("c", 2, 10, at=1), job("d", 2, 10, at=10), job("e", 1, 10, at=10)]
    result, _ = run(jobs, gpus=3)
    assert seconds(result, "first_start_ns") == [0, 10, 20, 10]


def test_the_auction_leaves_its_rest_to_the_worst_off():
    """Two GPUs; x ends at 10, where c (40 s), d (20 s) and e (10 s) have waited for 5. One of three may bid.

    There were 4 jobs, so each would have run at half speed alone: c 45 / 80, d 25 / 40, e 15 / 20. E wins,
    and of the others d is worse off, though c came before it. E ends at 20, when c starts.
    """
    jobs = [job("x", 2, 10), *(job(n, 1, s, at=5) for n, s in (("c", 40), ("d", 20), ("e", 10)))]
    result, _ = run(jobs, gpus=2)
    assert seconds(result, "first_start_ns") == [0, 20, 10, 10]


def test_a_bad_placement_makes_a_job_worse_off():
    """S, u (1 GPU, 1000 s) and a (2 GPUs, 40 iterations) fill two machines; a is spread, 2 s an iteration.

    At 20 c (2 GPUs, 10 s) has waited for 10: 20 s / 20 s = 1.0, as s and u have. A has done 10 iterations;
    20 s and 30 x 2 s = 80 s; alone, with 3.5 jobs on average, 40 s x 1.75 = 70 s: 1.14. A keeps its GPUs.
    Measured at 1 s an iteration it would have 50 / 70, and lose them to c. At 40 c has 40 / 20, a 80 / 75.
    """
    jobs = [job("s", 1, 1000), job("u", 1, 1000), job("a", 2, 40), job("c", 2, 10, at=10)]
    spread = PlainPerformance(lambda spec, allocation: len(allocation.slices))
    result, _ = run(jobs, 2, 2, spread, lease_s=20, placement="spread")
    assert seconds(result, "first_start_ns") == [0, 0, 0, 40]


def run_breaking(jobs, gpus=1):
    """Run jobs under leases of 100 s that newcomers break."""
    return run(jobs, gpus, lease_s=100, newcomers_break_leases=True)


def stops(events):
    """Return job and time in s of each stop."""
    return [(event.job, round(event.time_ns / 1e9, 3)) for event in events if isinstance(event, Stop)]


def test_a_newcomer_that_is_worse_off_than_all_breaks_a_lease():
    """One GPU, a of 1000 s, b of 10 s, both at 0: 0.5 each, and a is first, with a lease to 100.

    A look later, at 1, a would still end at 1000, b at 11: 11 / 20. B runs 1-11, then a for the 999 s it
    lacks.
    """
    result, _ = run_breaking([job("a", 1, 1000), job("b", 1, 10)])
    assert seconds(result, "finish_ns") == [1010, 11]


def test_a_newcomer_waits_while_it_is_not_worst_off():
    """Two GPUs; a, c (1 each, 1000 s) run, b (2, 30 s) waits, all from 0: 3 jobs.

    A, c: 1000 s, in turns alone 1500: 0.67. B would need 90 s alone and has 0.67 at 30, when 60 s is its end.
    """
    result, events = run_breaking([job("a", 1, 1000), job("c", 1, 1000), job("b", 2, 30)], gpus=2)
    assert seconds(result, "first_start_ns") == pytest.approx([0, 0, 30])
    assert stops(events) == [(0, 30), (1, 30)]


def test_the_best_off_lose_their_leases():
    """Two GPUs; a (1000 s) at 0, c (1000 s) at 10, b (10 s) at 20; one GPU each.

    At 25 there were 1.8 jobs on average for a, which is no more than its share: 1.0; 35/15 for c: 1000 s of
    1167, 0.86; 3 for b: 15 s of 15, 1.0. So b breaks c's lease, and c goes on at 35; a never stops.
    """
    jobs = [job("a", 1, 1000), job("c", 1, 1000, at=10), job("b", 1, 10, at=20)]
    result, events = run_breaking(jobs, gpus=2)
    assert seconds(result, "finish_ns") == pytest.approx([1000, 1020, 35])
    assert stops(events) == [(1, 25)]


def test_a_job_breaks_a_lease_once():
    """One GPU; a, b of 150 s at 0. B breaks a's lease at 1; a is worse off than b from 1 on, but has run.

    At 100 both are on offer: a has 100 s and 149 to go, 249 / 300, b 151 / 300. A runs 100-200, then b, with
    200 s and 51 to go, has 251 / 300, a 249 / 300: b ends at 251, and a at 300.
    """
    result, events = run_breaking([job("a", 1, 150), job("b", 1, 150)])
    assert stops(events) == [(0, 1), (1, 100), (0, 200)]
    assert seconds(result, "finish_ns") == [300, 251]


def test_no_more_leases_are_broken_than_gpus_lack():
    """Three GPUs; a at 0 and c at 10 (1 GPU, 1000 s each) leave one free; b (2 GPUs, 10 s) comes at 20.

    A and c are within their share: 1.0. With 3 jobs b has 20 s alone, and 20 s at 30: 1.0. It lacks one GPU.
    """
    jobs = [job("a", 1, 1000), job("c", 1, 1000, at=10), job("b", 2, 10, at=20)]
    result, events = run_breaking(jobs, gpus=3)
    assert stops(events) == [(0, 30)]
    assert seconds(result, "finish_ns") == pytest.approx([1010, 1010, 40])


def test_a_broken_lease_is_for_the_newcomer_not_for_the_largest_gain():
    """One GPU, all may bid; c (20 s) and a (1000 s) at 0, b (50 s) at 1. C gains most, and is first.

    At 1 there were 2 jobs: c has 20 / 40, a 1001 / 2000, which is worse, b 50 / 150. A starts, though b would
    gain more by a lease: log(150 / 50) against log(1101 / 1001).
    """
    jobs = [job("c", 1, 20), job("a", 1, 1000), job("b", 1, 50, at=1)]
    result, _ = run(jobs, lease_s=100, newcomers_break_leases=True, fairness_knob=0)
    assert seconds(result, "first_start_ns")[:2] == [0, 1]
