"""The Dally authors' schedulers: what leaks, for how long, and what is left without the leak."""

from dataclasses import replace

import dally_programs
import numpy as np
import pytest

from artist.core.cluster import Cluster
from artist.core.job import JobSpec
from artist.policies.dally.policy import Dally
from artist.testing.tiny import PlainPerformance, job, run_checked, seconds, tiny_cluster


def finishes(policy: object, jobs: list[JobSpec], cluster: Cluster) -> list[float]:
    """Return the finish times in seconds."""
    return seconds(run_checked(jobs, cluster, policy)[0], "finish_ns")


@pytest.mark.parametrize(
    ("leak", "ends", "leaked"), [(True, [5410, 3610, 5420], [(0, 1)]), (False, [5400, 1010, 4010], [])]
)
def test_a_leaked_gpu_is_on_offer_to_no_job_until_its_winner_ends(leak, ends, leaked):
    """Two GPUs, leases of 3600 s: a, of 5400 s, runs from 0 s, and wins the idle GPU, which it never uses.

    b (1000 s, 10 s long) waits for the end of a's lease. As it has not run yet, it is first, and ends at
    3610 s; a goes on for 1800 s. c (4000 s, 10 s long) waits for the end of a at 5410 s, and then wins the
    other GPU as well. Without the leak b and c start at once.
    """
    jobs = [job("a", 1, 5400), job("b", 1, 10, at=1000), job("c", 1, 10, at=4000)]
    policy = dally_programs.DallyProgram(leak=leak, batch_iterations=1)
    assert finishes(policy, jobs, tiny_cluster(1, 2)) == ends
    assert [(time / 1e9, gpus) for time, _, gpus in policy.series] == leaked


def test_a_running_job_wins_once_per_batch():
    """Five GPUs, batches of 100 s: a, of 500 s, wins one at 0 s, none at 50 s, one at 110 s.

    b (50 s) holds a third GPU, and wins a fourth. It ends at 60 s, when no job is left that may bid: only a's
    is leaked. So at 110 s c gets one, then a wins one, c another.
    """
    jobs = [job("a", 1, 500), job("b", 1, 10, at=50), job("c", 1, 10, at=110)]
    policy = dally_programs.TiresiasProgram(batch_iterations=100)
    assert finishes(policy, jobs, tiny_cluster(1, 5)) == [500, 60, 120]
    assert [(time / 1e9, gpus) for time, _, gpus in policy.series][:4] == [(0, 1), (50, 2), (60, 1), (110, 3)]


@pytest.mark.parametrize("seed", range(5))
def test_without_the_leak_dally_ends_jobs_as_with_literal_renewal(seed):
    """On one machine, where timers do not count, each of 20 jobs ends as under `policy=dally`."""
    rng = np.random.default_rng(seed)
    sizes, lengths, arrivals = (
        rng.integers(*ends, 20).tolist() for ends in ((1, 4), (100, 20_000), (0, 20_000))
    )
    jobs = [job(f"{n}", *one) for n, one in enumerate(zip(sizes, lengths, sorted(arrivals), strict=True))]
    program = dally_programs.DallyProgram(leak=False, batch_iterations=1)
    assert finishes(program, jobs, tiny_cluster(1, 4)) == finishes(Dally(), jobs, tiny_cluster(1, 4))


@pytest.mark.parametrize(("model", "end"), [("skewed", 60), ("plain", 12)])
def test_under_tiresias_only_jobs_of_low_skew_leave_their_rack(model, end):
    """Two racks of one machine of two GPUs: a and c take one of each for 50 s, b one of the first until 1 s.

    d (2 s, two GPUs, 10 s long) takes the last of both machines; with high skew it waits until 50 s.
    """
    jobs = [job("a", 1, 50), job("b", 1, 1), job("c", 1, 50), replace(job("d", 2, 10, at=2), model=model)]
    policy = dally_programs.TiresiasProgram(leak=False)
    assert finishes(policy, jobs, tiny_cluster(2, 2, per_rack=1)) == [50, 1, 50, end]


def test_under_gandiva_a_running_job_moves_to_the_gpus_that_it_wins():
    """Two racks of three machines of two GPUs: jobs of two GPUs take the first of a rack, of one the second.

    The last job, four GPUs and 20 iterations of 1 s, or of 2 s over two racks, gets the third ones at 1 s. At
    11 s it has done 5, the others of the first rack end, and it moves there: it ends 15 s later, at 26 s.
    """
    sizes_and_lengths = [(2, 11), (2, 40), (1, 11), (1, 40), (1, 11), (1, 40)]
    jobs = [job(f"{n}", *one) for n, one in enumerate(sizes_and_lengths)] + [job("last", 4, 20, at=1)]
    apart = PlainPerformance(lambda spec, held: 1 + (held.machines[0] < 3 <= held.machines[-1]))
    policy = dally_programs.GandivaProgram()
    result = run_checked(jobs, tiny_cluster(6, 2, per_rack=3), policy, apart)[0]
    assert seconds(result, "finish_ns") == [11, 40, 11, 40, 11, 40, 26]
    assert policy.series == []
