"""The formulas of interleaved jobs against the paper's own examples and closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from artist.performance.interleaving import (
    MEASURED_CONTENTION,
    contention_of,
    efficiencies,
    group_ns,
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
    assert group_ns([(0, 0, 10, 0)] * 2, MEASURED_CONTENTION) == 27
    assert [contention_of(n, MEASURED_CONTENTION) for n in (1, 2, 3, 4)] == [1, 1.33, 1.5, 1.37]


def test_more_jobs_than_resources_take_turns():
    """Five jobs: the first four side by side in 10, then the fifth alone in 7."""
    assert group_ns([*np.diag([10] * 4).tolist(), (0, 0, 7, 0)]) == 17


@given(STAGES, st.randoms())
def test_the_order_of_the_members_does_not_matter(stages, rng):
    """A group is a set: the engine's clock must not depend on who joined first."""
    shuffled = rng.sample(stages, len(stages))
    for ordering in ("best", "worst"):
        assert periods(np.array(stages), ordering) == periods(np.array(shuffled), ordering)


@given(STAGES)
def test_the_clock_lies_between_the_slowest_member_and_all_in_turn(stages):
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
