"""The formulas of interleaved jobs against the paper's own examples and closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from artist.performance.formulas.interleaving import (
    FORMULA,
    MEASURED_SLOWDOWN,
    Clock,
    efficiencies,
    orderings,
    periods,
)

A = C = (2, 1)  # CPU, GPU: Fig. 4
B = D = (1, 2)
STAGES = st.lists(st.lists(st.integers(0, 10**6), min_size=4, max_size=4), min_size=1, max_size=4)


def gamma(*jobs):
    """Return the efficiency of a group."""
    stages = np.array(jobs)
    return float(efficiencies(stages, periods(stages)))


def test_figure_4_a_and_b_fill_each_other_s_idle_time():
    """A with B: max(2, 2) + max(1, 1) = 3, in which both resources are used for 3: gamma 1."""
    assert int(periods(np.array([A, B]))) == 3
    assert gamma(A, B) == gamma(C, D) == 1


def test_figure_4_plan_1_beats_plan_2():
    """A with C: 2 + 2 = 4, CPU used for 4, GPU for 2: 0.75; plan 1 has 1 + 1, plan 2 0.75 + 0.75."""
    assert gamma(A, C) == gamma(B, D) == 0.75
    assert gamma(A, B) + gamma(C, D) > gamma(A, C) + gamma(B, D)


def test_figure_6_the_ordering_matters():
    """A has 2 on the CPU, B 2 on the GPU, all else is 1: shifted by one stage 5, otherwise 2 + 2 + 1 + 1."""
    jobs = np.array([(1, 2, 1, 1), (1, 1, 2, 1)])
    assert (int(periods(jobs, "best")), int(periods(jobs, "worst"))) == (5, 6)


def test_all_orderings_are_looked_at_and_none_twice():
    """Of 2 jobs 3 shifts, of 3 jobs 3 x 2, of 4 jobs 3!; two jobs of two resources have one."""
    assert [len(orderings(p, 4)) for p in (1, 2, 3, 4)] == [1, 3, 6, 6]
    assert orderings(2, 2).tolist() == [[0, 1]]
    assert all(len(set(row)) == 4 for row in orderings(4, 4).tolist())


def test_table_2_jobs_share_one_clock():
    """Throughputs together over the batch sizes 128, 64, 4, 16 are all 13.7: iterations take 1 / 13.7 s.

    The sum of the normalised throughputs is the sum of the times alone over T: with T = 1 / 13.72 s,
    13.72 x (128 / 2041 + 64 / 1811 + 4 / 134 + 16 / 890) = 2.00, the paper's figure.
    """
    batch = np.array([128, 64, 4, 16])
    shared = np.array([1756, 878, 55, 220]) / batch
    alone_s = batch / np.array([2041, 1811, 134, 890])
    assert shared == pytest.approx(13.72, abs=0.035)
    assert 13.72 * alone_s.sum() == pytest.approx(2.00, abs=0.005)


def test_equal_jobs_with_one_long_stage_gain_nothing():
    """K jobs that only use one resource, for 10 each: they follow each other, T = 10 k."""
    for jobs in (1, 2, 3, 4):
        assert int(periods(np.array([(0, 0, 10, 0)] * jobs))) == 10 * jobs


def test_four_jobs_on_four_resources_cost_as_much_as_the_longest():
    """Each only uses a resource of its own: all four at once, T = max = 40, all used: (10+20+30+40) / 160."""
    stages = np.diag([10, 20, 30, 40])
    assert int(periods(stages)) == 40
    assert float(efficiencies(stages, np.array(40))) == 100 / 160


def test_contention_stretches_the_clock_by_the_size_of_the_group():
    """T = 20 of two equal jobs: x 1.33 = 26.6, rounded to 27; alone there is none."""
    assert Clock(MEASURED_SLOWDOWN).group_ns([(0, 0, 10, 0)] * 2) == 27
    assert [Clock(MEASURED_SLOWDOWN).factor(n) for n in (1, 2, 3, 4)] == [1, 1.33, 1.5, 1.37]


def test_a_loader_of_two_steps_has_no_barrier_within():
    """Both read for 3 and prepare for 1, then GPU 2 and network 2, shifted by two: 3 + 1 beside 2 + 2, twice.

    With the barrier max(3, 2) + max(1, 2), twice: 10.
    """
    both = np.array([(3, 1, 2, 2)] * 2)
    assert (int(periods(both, loading="whole")), int(periods(both))) == (8, 10)


def test_loaders_of_neighbours_overlap():
    """Four jobs that prepare for 10 each and do nothing else: two at a time, 20; else in turn, 40."""
    jobs = np.array([(0, 10, 0, 0)] * 4)
    assert (int(periods(jobs, loading="whole")), int(periods(jobs))) == (20, 40)


def test_loading_of_four_jobs_overlaps_with_two_other_stages():
    """Four equal jobs of loading 6 (in any parts), GPU 2 and network 1.

    Each step has one GPU and one network stage, so takes 2; two steps must hold a loader: 6. T = 2 x 6 = 12,
    however the 6 are split; with the barrier the longer part fills each step: 4 x 3, and 4 x 5 of 5 + 1.
    """
    even, odd = ([(storage, 6 - storage, 2, 1)] * 4 for storage in (3, 5))
    assert [int(periods(np.array(jobs), loading="whole")) for jobs in (even, odd)] == [12, 12]
    assert [int(periods(np.array(jobs))) for jobs in (even, odd)] == [12, 20]


@given(STAGES)
def test_the_longest_way_is_the_least_sum_of_the_steps(stages):
    """Duality: what a linear program finds for the best and the worst ordering is T."""
    rows = np.array(stages)
    sums = []
    for offsets in orderings(len(stages), 4):
        at = (offsets[:, None] + np.arange(4)) % 4
        during = np.take_along_axis(rows, at, axis=1)
        fits = [(np.eye(4)[step], during[job, step]) for job, step in np.argwhere(at >= 2)]
        for job, step in np.argwhere(at == 0):
            after = (step + 1) % 4
            fits.append((np.eye(4)[step] + np.eye(4)[after], during[job, step] + during[job, after]))
        steps, least = (np.array(column) for column in zip(*fits, strict=True))
        sums.append(linprog(np.ones(4), A_ub=-steps, b_ub=-least).fun)
    assert periods(rows, "best", "whole") == pytest.approx(min(sums))
    assert periods(rows, "worst", "whole") == pytest.approx(max(sums))


@given(STAGES)
def test_a_barrier_less_is_never_slower(stages):
    """Whole loaders may split their two steps in any way, also in that of the barrier."""
    rows = np.array(stages)
    for ordering in ("best", "worst"):
        assert periods(rows, ordering, "whole") <= periods(rows, ordering, "split")


def test_more_jobs_than_resources_run_in_sequence():
    """Five jobs: the first four side by side in 10, then the fifth alone in 7."""
    assert FORMULA.group_ns([*np.diag([10] * 4).tolist(), (0, 0, 7, 0)]) == 17


@given(STAGES, st.randoms())
def test_the_order_of_the_members_does_not_matter(stages, rng):
    """A group is a set: the engine's clock must not depend on who joined first."""
    shuffled = rng.sample(stages, len(stages))
    for ordering in ("best", "worst"):
        assert periods(np.array(stages), ordering) == periods(np.array(shuffled), ordering)


@given(STAGES)
def test_the_clock_is_between_the_slowest_member_and_the_sum_of_all(stages):
    """No ordering is shorter than one member's stages or one resource's use, or longer than all in turn."""
    rows = np.array(stages)
    best, worst = (int(periods(rows, o)) for o in ("best", "worst"))
    assert max(rows.sum(axis=1).max(), rows.sum(axis=0).max()) <= best <= worst <= rows.sum()
    assert 0 <= float(efficiencies(rows, np.array(best))) <= 1 + 1e-12


@given(STAGES)
def test_many_groups_at_once_are_as_one_by_one(stages):
    """The vectorised form that grouping uses is the formula, group for group."""
    rows = np.array(stages)
    many = np.stack([rows, rows[::-1] * 2, rows * 3])
    assert periods(many).tolist() == [int(periods(group)) for group in many]
