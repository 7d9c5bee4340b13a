"""Workers of jobs beyond base demand: the shipped rules, and rules of one's own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from artist.core.job import Demand
from artist.errors import PlanError
from artist.policies.lyra.scaling import SCALINGS, AnyScaling, Growing, scaling_of
from artist.policies.parts.base_demand import counts_from


def linear(job, base, most, work, worker_gpus=1):
    """Return a job of `work` worker-seconds whose speed is proportional to its workers, base to most."""
    extra = np.arange(1, most - base + 1)
    return Growing(job, 0, work / base, extra * worker_gpus, work / base - work / (base + extra))


def extra(name, capacity, jobs, *, pending=False):
    return scaling_of(name).extra(capacity, jobs, pending=pending)


A2, B = linear(0, 2, 6, 300), linear(1, 2, 6, 120)  # Table 2: 50 s and 20 s on 6 workers
A4 = linear(0, 2, 3, 300)  # Table 4: 100 s on 3 workers


def test_the_knapsack_on_tables_2_and_4():
    """8 workers, 4 of them base. Table 2: (5, 3), saves 90 + 20 = 110 s; Table 4: (3, 5), 50 + 36 = 86 s."""
    assert extra("knapsack", 4, [A2, B]) == [3, 1]
    assert A2.reduction_ns[2] + B.reduction_ns[0] == 110
    assert extra("knapsack", 4, [A4, B]) == [1, 3]
    assert A4.reduction_ns[0] + B.reduction_ns[2] == 86


def test_the_knapsack_weighs_gpus():
    """Figure 6: A's worker takes 2 GPUs, so of 4 GPUs A gets one worker and B two: 50 + 30."""
    assert extra("knapsack", 4, [linear(0, 2, 3, 300, worker_gpus=2), B]) == [1, 2]


def test_only_the_knapsack_reads_durations():
    """A has 1000 times the work of B and the same range; the knapsack gives A all 4 workers.

    Each worker adds half of the throughput at base demand to either: marginal gain has ties, the earlier
    job gets all.
    """
    long, short = linear(1, 2, 6, 300_000), linear(0, 2, 6, 300)
    assert extra("knapsack", 4, [short, long]) == [0, 4]
    assert extra("marginal_gain", 4, [short, long]) == [4, 0]


def test_marginal_gain_is_relative_to_the_base_demand():
    """A worker more is 1/4 of the throughput of a job with base 4, and 1/2 for base 2, which comes first."""
    wide, narrow = linear(0, 4, 8, 100), linear(1, 2, 4, 100)
    assert extra("marginal_gain", 3, [wide, narrow]) == [1, 2]


def test_marginal_gain_is_per_gpu():
    """Workers of 4 GPUs bring 1/2 for 4 GPUs, of 1 GPU 1/4 for one: the latter come first."""
    large, small = linear(0, 2, 4, 100, worker_gpus=4), linear(1, 4, 6, 100)
    assert extra("marginal_gain", 6, [large, small]) == [1, 2]
    assert extra("marginal_gain", 5, [large, small]) == [0, 2]  # 3 left, 4 needed
    first, second = linear(0, 2, 4, 100, worker_gpus=2), linear(1, 5, 6, 100)  # 1/4 and 1/5 a GPU
    assert extra("marginal_gain", 1, [first, second]) == [0, 1]  # the better one does not fit


def test_marginal_gain_goes_worker_by_worker():
    """Throughputs 1, 1.5, 1.7 and 1, 1.3, 1.6: gains 0.5, then 0.3, 0.3, then 0.2."""

    def measured(job, *throughput):
        return Growing(job, 0, 100.0, np.array([1, 2]), 100 - 100 / np.array(throughput))

    jobs = [measured(0, 1.5, 1.7), measured(1, 1.3, 1.6)]
    results = [extra("marginal_gain", n, jobs) for n in range(1, 5)]
    assert results == [[1, 0], [1, 1], [1, 2], [2, 2]]
    assert extra("marginal_gain", 9, [measured(0, 1.5, 1.4), measured(1, 0.9, 2.0)]) == [1, 0]


def test_marginal_gain_leaves_jobs_without_a_rest_alone():
    """The rest of a job rounds to 0 in its last instant: 0 / 0 is no gain, and the other job gets all."""
    done = linear(0, 2, 6, 0)
    assert extra("marginal_gain", 4, [done, B]) == [0, 4]
    assert extra("marginal_gain", 4, [done]) == [0]


def test_idle_grows_jobs_in_order_of_arrival_when_none_waits():
    """5 GPUs: the first job takes its 4, the second 1; workers of 2 GPUs: one, since 1 GPU is no worker."""
    assert extra("idle", 5, [A2, B]) == [4, 1]
    assert extra("idle", 3, [linear(0, 2, 6, 300, worker_gpus=2), B]) == [1, 1]
    assert extra("idle", 5, [A2, B], pending=True) == [0, 0]


def test_only_idle_stops_for_waiting_jobs():
    """A job that waits does not fit, or phase one would have started it: others may use the rest."""
    for name in ("knapsack", "marginal_gain"):
        assert extra(name, 4, [A2, B], pending=True) == extra(name, 4, [A2, B])


def test_none_leaves_jobs_at_base_demand():
    """Nothing of 100 GPUs."""
    assert extra("none", 100, [A2, B]) == [0, 0]


growing = st.builds(
    linear, st.just(0), st.integers(1, 4), st.integers(1, 9), st.floats(1, 1e6), st.integers(1, 8)
)


@given(st.integers(0, 40), st.lists(growing, max_size=6), st.booleans(), st.sampled_from(sorted(SCALINGS)))
def test_no_rule_grants_more_than_there_is(capacity, jobs, pending, name):
    """Never more GPUs than the capacity, fewer workers than base, or more for a job than its most."""
    result = extra(name, capacity, jobs, pending=pending)
    assert all(0 <= count <= len(job.gpus) for count, job in zip(result, jobs, strict=True))
    assert sum(int(j.gpus[n - 1]) for n, j in zip(result, jobs, strict=True) if n) <= capacity
    assert len(result) == len(jobs)


@given(st.integers(0, 40), st.lists(growing, max_size=6))
def test_no_rule_saves_more_than_the_knapsack(capacity, jobs):
    """It is the exact optimum of the time saved; 1e-9 for rounding."""

    def saved(name):
        counts = extra(name, capacity, jobs)
        return sum(float(j.reduction_ns[n - 1]) for n, j in zip(counts, jobs, strict=True) if n)

    assert saved("knapsack") * (1 + 1e-9) >= max(saved("marginal_gain"), saved("idle"))


class Answers:
    """A rule of one's own that always answers the same."""

    def __init__(self, *answer):
        self.answer = answer

    def extra(self, capacity, jobs, *, pending):
        return self.answer


def test_a_rule_of_ones_own():
    """It is taken by `_target_`, and its answers are used as they are if they are possible."""
    rule = TypeAdapter(AnyScaling, config={"arbitrary_types_allowed": True}).validate_python(Answers(2, 1))
    assert scaling_of(rule).extra(4, [A2, B], pending=False) == [2, 1]


def test_a_rule_of_ones_own_may_answer_with_an_array():
    """Numbers of numpy are whole numbers, too; the policy gets plain ones."""
    result = scaling_of(Answers(*np.array([2, 1]))).extra(4, [A2, B], pending=False)
    assert result == [2, 1]
    assert [type(count) for count in result] == [int, int]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((1,), "1 numbers for 2 jobs"),
        ((5, 0), "5 workers for job 0, 0 to 4 are allowed"),
        ((0, -1), "-1 workers for job 1"),
        ((0.5, 0), "0.5 workers for job 0"),
        ((3, 2), "workers of 5 GPUs, 4 are there"),
    ],
)
def test_answers_that_are_impossible_are_refused(answer, words):
    """Of 4 GPUs for two jobs of 4 workers at most."""
    with pytest.raises(PlanError, match=r"test_scaling\.Answers: extra returned .*" + words):
        scaling_of(Answers(*answer)).extra(4, [A2, B], pending=False)


def test_names_that_no_rule_has_are_refused():
    """The names are those of SCALINGS."""
    check = TypeAdapter(AnyScaling, config={"arbitrary_types_allowed": True}).validate_python
    assert [check(name) for name in SCALINGS] == ["knapsack", "marginal_gain", "idle", "none"]
    with pytest.raises(ValidationError, match="no such part"):
        check("greedy")


def test_the_base_demand_is_the_minimum_or_the_demand():
    """2, 4, 6, 8 GPUs; asked 6: 6, 8; asked 5, which it may not have: from 4; below the least: all."""
    counts = [list(counts_from(Demand(n, min_gpus=2, max_gpus=8, step=2), requested=True)) for n in (6, 5, 1)]
    assert counts == [[6, 8], [4, 6, 8], [2, 4, 6, 8]]
    assert list(counts_from(Demand(6, min_gpus=2, max_gpus=8, step=2), requested=False)) == [2, 4, 6, 8]
