"""Reclaiming: the paper's example by hand, and drawn instances against all choices of machines."""

from fractions import Fraction
from itertools import combinations
from time import process_time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from artist.errors import PlanError
from artist.policies.lyra.policy import Lyra
from artist.policies.lyra.reclaiming import (
    RECLAIMS,
    Loaned,
    Optimum,
    Random,
    ServerFraction,
    SmallestCount,
    _Costs,
    jobs_by_machine,
    reclaim_of,
    stopped,
)

A, B, C, D = range(4)
# The text of the paper has Figure 5 only through Table 1. This layout gives every column of it: a job on two
# machines in equal parts, one on a machine of its own, and two that have 0.8 on theirs and 0.2 on server 5.
FIGURE_5 = Loaned(range(1, 7), {A: {1: 8, 2: 8}, B: {3: 8}, C: {4: 8, 5: 2}, D: {5: 2, 6: 8}})


def costs(loaned, fraction):
    """Return the sum over the jobs of each machine of what `fraction` says of a job there."""
    result = jobs_by_machine(loaned)
    return [float(sum(fraction(loaned.gpus[job], m) for job in result[m])) for m in loaned.machines]


def greedy_costs(loaned):
    """Return the cost of each machine before anything is chosen."""
    result = _Costs(loaned)
    return [float(Fraction(cost, result._whole)) for cost in result._cost.values()]


def value(loaned, picked):
    """Return the jobs that stop and the GPUs vacated elsewhere: the optimum is the least of these pairs."""
    jobs = stopped(loaned, picked)
    vacated = [gpus for job in jobs for machine, gpus in loaned.gpus[job].items() if machine not in picked]
    return len(jobs), sum(vacated)


def best_of_all(loaned, n):
    """Return the least value over all sets of machines."""
    return min(value(loaned, picked) for picked in combinations(loaned.machines, n))


@st.composite
def instances(draw, most=8):
    """Return loaned machines, jobs on one to four of them and two others, and how many machines go back."""
    n = draw(st.integers(1, most))
    machine = st.integers(0, n + 1)  # the last two are not on loan
    held = st.dictionaries(machine, st.integers(1, 8), min_size=1, max_size=4)
    jobs = draw(st.lists(held.filter(lambda gpus: min(gpus) < n), max_size=10))
    return Loaned(range(n), dict(enumerate(jobs))), draw(st.integers(0, n))


def test_table_1():
    """All columns: jobs, sum of shares of the jobs' GPUs, sum of 1 / machines of the job."""
    assert costs(FIGURE_5, lambda held, m: 1) == [1, 1, 1, 1, 2, 1]
    assert costs(FIGURE_5, lambda held, m: held[m] / sum(held.values())) == [0.5, 0.5, 1, 0.8, 0.4, 0.8]
    assert greedy_costs(FIGURE_5) == [0.5, 0.5, 1, 0.5, 1, 0.5]


def test_figure_5_servers_1_and_2_go_back():
    """1, 2, 4 and 6 cost 0.5. 1 vacates nothing but 2, which goes back, too; 4 and 6 vacate 2 GPUs of 5."""
    assert ServerFraction().pick(2, FIGURE_5) == [1, 2]
    assert value(FIGURE_5, [1, 2]) == (1, 0)
    assert Optimum().pick(2, FIGURE_5) == [1, 2]


def test_machines_emptied_by_the_way_count_as_far_as_they_are_wanted():
    """One server: 1 now vacates the 8 GPUs of 2 in excess, 4 only 2 of server 5: 4.

    Server 3 (cost 1) would stop one job, too, and vacate nothing else: the optimum's choice.
    """
    assert ServerFraction().pick(1, FIGURE_5) == [4]
    assert value(FIGURE_5, [4]) == (1, 2)
    assert Optimum().pick(1, FIGURE_5) == [3]


def test_a_machine_with_other_jobs_is_not_emptied_by_the_way():
    """0, 2, 3 cost 0.5. 0 vacates 4 GPUs of 1, where job 1 goes on; 2 only those of 3, which goes back."""
    loaned = Loaned(range(4), {0: {0: 4, 1: 4}, 1: {1: 4}, 2: {2: 4, 3: 4}})
    assert ServerFraction().pick(2, loaned) == [2, 3]


def test_costs_follow_each_choice():
    """Four servers: after 1 and 2 comes 4 (0.5); then c is gone from 5, which costs 0.5 as does 6.

    5 vacates the 8 GPUs of 6, 6 the 2 of 5: 6. Of five servers the other one goes back, too, so they tie
    with no excess: 5 by number, and 6 follows. By the costs of the start 5 (1) would come after 6 (0.5).
    """
    assert ServerFraction().pick(4, FIGURE_5) == [1, 2, 4, 6]
    assert ServerFraction().pick(5, FIGURE_5) == [1, 2, 4, 5, 6]
    assert ServerFraction().pick(6, FIGURE_5) == [1, 2, 4, 5, 6, 3]


def test_smallest_count_is_static():
    """Servers 1 to 4 and 6 have one job each, also after 1 has gone: 1, 2, 3; then 4, 6 and at last 5."""
    assert SmallestCount().pick(3, FIGURE_5) == [1, 2, 3]
    assert SmallestCount().pick(6, FIGURE_5) == [1, 2, 3, 4, 6, 5]
    assert value(FIGURE_5, [1, 2, 3]) == (2, 0)


def test_random_takes_any_and_the_same_by_seed():
    """Each of the six is drawn now and then; a seed gives the same choices, another seed other ones."""
    picks = [[Random(seed).pick(2, FIGURE_5) for _ in range(2)] for seed in range(40)]
    assert {m for both in picks for pick in both for m in pick} == set(range(1, 7))
    assert picks == [[Random(seed).pick(2, FIGURE_5) for _ in range(2)] for seed in range(40)]
    chooser = Random(0)
    assert len({tuple(chooser.pick(2, FIGURE_5)) for _ in range(20)}) > 5


def test_thirds_sum_to_one():
    """Three jobs with a third on machine 0 cost as much as one job of machine 4: the tie is exact.

    0 vacates 2 x 3 GPUs on 1 to 3; machine 4 nothing: 4. In floats 1/3 + 1/3 + 1/3 may be less than 1.
    """
    thirds = {job: {0: 1, 1: 1, 5 + job: 1} for job in range(3)}
    loaned = Loaned([0, 4], thirds | {3: {4: 8}})
    assert greedy_costs(loaned) == [1, 1]
    assert ServerFraction().pick(1, loaned) == [4]


def test_machines_that_are_not_on_loan_count_as_machines_of_a_job():
    """Job 0 has half of its machines in the training pool: 0.5 against 1 for a machine of one job's own."""
    loaned = Loaned([0, 1], {0: {1: 8, 9: 8}, 1: {0: 8}})
    assert greedy_costs(loaned) == [1, 0.5]
    assert ServerFraction().pick(1, loaned) == [1]
    assert value(loaned, [1]) == (1, 8)
    assert Optimum().pick(1, loaned) == [0]  # one job as well, but nothing else is vacated


def test_greedy_may_stop_more_than_the_optimum():
    """X on 0, 1, 4 (1/3 each) is cheapest at 0; 1 and 4 have two jobs more each, so next comes P on 2 and 3.

    Greedy stops X and P, the optimum only P.
    """
    alone = {2: {1: 1}, 3: {1: 1}, 4: {4: 1}, 5: {4: 1}}
    loaned = Loaned(range(5), {0: {0: 2, 1: 2, 4: 2}, 1: {2: 8, 3: 8}} | alone)
    assert ServerFraction().pick(2, loaned) == [0, 2]
    assert Optimum().pick(2, loaned) == [2, 3]
    assert (value(loaned, [0, 2]), value(loaned, [2, 3])) == ((2, 12), (1, 0))


@given(instances())
@settings(max_examples=150, deadline=None)
def test_the_optimum_is_that_of_all_choices(instance):
    """The integer program against every set of machines: as many jobs, as much collateral."""
    loaned, n = instance
    picked = Optimum().pick(n, loaned)
    assert len(set(picked)) == n
    assert value(loaned, picked) == best_of_all(loaned, n)


@pytest.mark.slow
@given(instances())
@settings(max_examples=300, deadline=None)
def test_no_way_is_better_than_the_optimum(instance):
    """Greedy, smallest count and random choose n different machines and stop no fewer jobs."""
    loaned, n = instance
    best = best_of_all(loaned, n)
    for make in RECLAIMS.values():
        picked = make(0).pick(n, loaned)
        assert len(set(picked)) == len(picked) == n
        assert set(picked) <= set(loaned.machines)
        assert value(loaned, picked) >= best


@given(instances())
@settings(max_examples=150, deadline=None)
def test_one_machine_is_chosen_as_well_as_can_be_by_count_of_machines(instance):
    """Each chosen machine had the least sum of 1 / machines over the jobs not stopped yet, as fractions."""
    loaned, n = instance
    gone: list[int] = []
    for machine in ServerFraction().pick(n, loaned):
        over = set(stopped(loaned, gone))
        cost = {
            m: sum(Fraction(1, len(loaned.gpus[j])) for j in jobs if j not in over)
            for m, jobs in jobs_by_machine(loaned).items()
            if m not in gone
        }
        assert cost[machine] == min(cost.values())
        gone.append(machine)


def test_five_hundred_machines_take_some_milliseconds():
    """500 machines, 1,500 jobs on one to four of them, 60 go back: 10 ms allowed, 3 to 4 taken."""
    rng = np.random.default_rng(0)
    jobs = [rng.choice(500, rng.integers(1, 5), replace=False).tolist() for _ in range(1500)]
    loaned = Loaned(range(500), {job: dict.fromkeys(held, 2) for job, held in enumerate(jobs)})
    ServerFraction().pick(60, loaned)
    times = []
    for _ in range(5):
        start = process_time()
        ServerFraction().pick(60, loaned)
        times.append(process_time() - start)
    assert min(times) < 0.01


class Mine:
    """A way that returns a test's values."""

    def __init__(self, answer):
        self.answer = answer

    def pick(self, n, loaned):
        return self.answer


@pytest.mark.parametrize("answer", [[1], [1, 1], [1, 7], None, [1, 2, 3]])
def test_a_wrong_choice_of_ones_own_is_refused(answer):
    """Two different ones of 1 to 6 are wanted: too few, one twice, one not on loan, none, too many."""
    with pytest.raises(PlanError, match=r"^reclaim \S+\.Mine: pick returned .*must be 2 different ones of"):
        reclaim_of(Mine(answer)).pick(2, FIGURE_5)
    assert reclaim_of(Mine([6, 1])).pick(2, FIGURE_5) == [6, 1]


def test_a_policy_takes_ways_and_predictors_by_name_or_ones_own():
    """Anything with `pick`, or `next_use`, will do; another name is refused with the names there are."""
    predictor = SimpleNamespace(next_use=lambda view: 0.5)
    assert Lyra(reclaim=Mine([1]), predictor=predictor).reclaim.answer == [1]
    for wrong in (
        {"reclaim": "best"},
        {"predictor": "best"},
        {"reclaim": predictor},
        {"predictor": Mine([1])},
    ):
        with pytest.raises(ValidationError, match="no such part"):
            Lyra(**wrong)
