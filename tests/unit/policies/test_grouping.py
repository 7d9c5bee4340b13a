"""Groups by rounds of matching: the paper's plans, how far it goes, and how long it takes."""

import time
from collections.abc import Sequence

import numpy as np
import pytest

from artist.performance.effects.stages import measured_shares
from artist.performance.formulas.interleaving import MEASURED_SLOWDOWN, Clock
from artist.policies.muri.grouping import Candidate, Grouping, GroupingRule
from artist.policies.muri.matching import MAX_JOBS

CPU, GPU, NETWORK, STORAGE = (0, 4, 0, 0), (0, 0, 4, 0), (0, 0, 0, 4), (4, 0, 0, 0)


def grouped(stages: Sequence, capacity: int, gpus: Sequence[int] = (), units: Sequence = (), **rule: object):
    """Return the groups of jobs 0, 1, ... by priority; alone each takes the sum of its stages."""
    grouping = Grouping(GroupingRule(**rule))
    kinds = {s: grouping.new_kind(s, sum(s)) for s in dict.fromkeys(stages)}
    gpus, units = gpus or [1] * len(stages), units or [None] * len(stages)
    jobs = [
        Candidate(i, i, n, n, kinds[s], u)
        for i, (s, n, u) in enumerate(zip(stages, gpus, units, strict=True))
    ]
    return [shared.jobs for shared in grouping.group(jobs, capacity)]


def test_figure_5_unlike_jobs_are_paired():
    """A = C use the CPU for 2 and the GPU for 1, B = D the other way round: plan 1, or any like it."""
    stages = [(0, 2, 1, 0), (0, 1, 2, 0), (0, 2, 1, 0), (0, 1, 2, 0)]
    assert grouped(stages, 2) == [(0, 1), (2, 3)]


def test_in_order_of_priority_neighbours_share():
    """Of T = 4 and 5 (8 / 16 + 8 / 20) or twice T = 5 the former; without the matching 0 shares with 1."""
    stages = [CPU, (0, 3, 1, 0), GPU, (0, 1, 3, 0)]
    assert grouped(stages, 2) == [(0, 2), (1, 3)]
    assert grouped(stages, 2, matching="priority") == [(0, 1), (2, 3)]


def test_no_job_is_grouped_while_gpus_are_free():
    """Four jobs of one GPU: four GPUs need no group, three GPUs one pair, two GPUs two."""
    stages = [CPU, GPU, CPU, GPU]
    assert [len(grouped(stages, capacity)) for capacity in (4, 3, 2)] == [4, 3, 2]


def test_four_jobs_of_four_resources_share_one_gpu():
    """Two rounds: pairs, then pairs of pairs; on one GPU all four, each on a resource of its own."""
    assert grouped([CPU, GPU, NETWORK, STORAGE], 1) == [(0, 1, 2, 3)]


@pytest.mark.parametrize(("most", "sizes"), [(1, [1] * 7), (2, [2, 2, 2, 1]), (3, [3, 3, 1]), (4, [4, 3])])
def test_groups_are_no_larger_than_the_limit(most, sizes):
    """Seven jobs: by three, round one makes two pairs and leaves three singles, round two adds one to each.

    By four: three pairs and a single; then a pair of pairs, and the single joins the third.
    """
    seven = [CPU, GPU, NETWORK, STORAGE, CPU, GPU, NETWORK]
    for matching in ("blossom", "priority"):
        result = grouped(seven, 1, max_jobs=most, matching=matching)
        assert sorted(map(len, result), reverse=True) == sizes


def test_only_jobs_of_equal_demand_share():
    """One job of 2 GPUs among three of one: 5 GPUs asked; on 4 two of them share, on 3 or fewer all three."""
    for capacity, plan in ((4, [(0, 3), (1,), (2,)]), (3, [(0, 2, 3), (1,)]), (2, [(0, 2, 3), (1,)])):
        assert grouped([CPU, GPU, CPU, GPU], capacity, gpus=[1, 2, 1, 1]) == plan


def test_the_most_efficient_pairs_are_merged_first():
    """CPU with GPU, T = 4: 8 / 16; with CPU, T = 8: 8 / 32. One merge is enough: only the former is made."""
    assert grouped([CPU, CPU, CPU, GPU], 3) == [(0,), (1,), (2, 3)]


def test_a_group_that_gains_nothing_is_taken_apart():
    """Two jobs that only compute take 4 + 4 in turn and T = 8 together: each runs alone, when it can."""
    assert grouped([GPU, GPU], 1) == [(0,), (1,)]
    assert grouped([GPU, CPU], 1) == [(0, 1)]
    assert grouped([GPU, CPU], 1, clock=Clock((2.0, 1, 1))) == [(0,), (1,)]  # T = 2 x 4 is no less than 4 + 4


def test_the_worst_ordering_shares_less():
    """3 + 1 and 1 + 3 shifted badly: 3 + 1 + 1 + 3 = 8, as in turn; at best 1 + 3 + 3 = 7 or 1 + 3 + 1."""
    stages = [(0, 3, 1, 0), (0, 1, 3, 0)]
    assert grouped(stages, 1) == [(0, 1)]
    assert grouped(stages, 1, clock=Clock(ordering="worst")) == [(0,), (1,)]


def test_current_groups_are_kept():
    """Two alike of each: by priority 0 with 1, 2 with 3; if 0 shares with 3 now, that stays."""
    stages = [CPU, GPU, CPU, GPU]
    assert grouped(stages, 2) == [(0, 1), (2, 3)]
    assert grouped(stages, 2, units=[7, None, None, 7]) == [(0, 3), (1, 2)]
    assert grouped([(1, 2, 1, 1)] * 4, 2, units=[None, 7, None, 7]) == [(0, 2), (1, 3)]


def test_a_plan_for_a_thousand_jobs_takes_less_than_a_second():
    """1,000 jobs of one GPU, drawn from the eight measured models, on 250 GPUs: all in groups of four."""
    shares = list(measured_shares().values())
    stages = [tuple(round(1e9 * share) for share in by_gpus[1]) for by_gpus in shares]
    rng = np.random.default_rng(0)
    drawn = [stages[kind] for kind in rng.integers(0, len(stages), 1000)]
    began = time.process_time()
    result = grouped(drawn, 250)
    assert time.process_time() - began < 1
    assert sum(map(len, result)) == 1000
    assert len(grouped(drawn, 250, clock=Clock(MEASURED_SLOWDOWN))) >= 250


def test_more_different_jobs_than_can_be_matched_at_once_are_matched_in_blocks():
    """300 jobs, all different, in pairs: the first 128 among themselves, the next 128, the last 44."""
    stages = [(1000 + job, 2000 - job, 1500, job) for job in range(300)]
    blocks = [{job // MAX_JOBS for job in jobs} for jobs in grouped(stages, 1, max_jobs=2)]
    assert [len(block) for block in blocks] == [1] * 150
    assert [sum(block == {n} for block in blocks) for n in range(3)] == [64, 64, 22]


def test_128_different_jobs_are_one_block():
    """64 that use the CPU, then 64 that use the GPU: only unlike ones gain, so all pairs go across."""
    stages = [(0, 1000 + job, 0, 0) for job in range(64)] + [(0, 0, 1000 + job, 0) for job in range(64)]
    assert all(jobs[0] < 64 <= jobs[1] for jobs in grouped(stages, 1, max_jobs=2))


def test_many_jobs_of_few_kinds_are_one_block():
    """200 CPU jobs before 200 GPU jobs: all share with one of the others, though 128 are alike at first."""
    assert all(jobs[0] < 200 <= jobs[1] for jobs in grouped([CPU] * 200 + [GPU] * 200, 1, max_jobs=2))


def test_the_time_of_a_plan_grows_with_the_jobs():
    """2,000 jobs, all different, on 500 GPUs: 16 matchings of 128 and 8 of pairs, some 10 ms each."""
    stages = np.random.default_rng(0).integers(10**8, 10**9, (2000, 4)).tolist()
    began = time.process_time()
    result = grouped([tuple(row) for row in stages], 500)
    assert time.process_time() - began < 2
    assert sum(map(len, result)) == 2000
