"""Pollux by hand: who gets the GPUs of a round, and who keeps them."""

from dataclasses import replace

import numpy as np
import pytest

from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.events import Change, Start
from artist.performance.placed import PlacedPerformance
from artist.policies.pollux.policy import Candidate, Pollux
from artist.policies.pollux.speedups import Speedups
from artist.run.build import build_compute, build_performance
from artist.run.config import PerformanceConfig
from artist.testing.tiny import PlainPerformance, job, on, run_checked, seconds, tiny_cluster
from artist.units import NS_PER_S, seconds_to_ns
from netmodels.models.zero import ZeroModel
from netmodels.profiles.profile import get_profile


def held(events, number, *, at=None):
    """Return the allocations that a job was given, by time in seconds; or the one of a time."""
    given = {
        e.time_ns / NS_PER_S: e.allocation
        for e in events
        if isinstance(e, Start | Change) and e.job == number
    }
    return given if at is None else given[at]


def gpus(events, number):
    """Return the GPUs that a job was given, by time in seconds."""
    return {at: allocation.gpus for at, allocation in held(events, number).items()}


def tuned() -> PlacedPerformance:
    config = PerformanceConfig(tuned_jobs=True)
    return build_performance(config, ZeroModel(), None, None, get_profile, *build_compute(config))


@pytest.mark.parametrize("models", [("BERT-large", "ResNet50"), ("ResNet50", "BERT-large")])
def test_goodput_decides_between_two_jobs(models):
    """Two jobs of 2 to 4 GPUs on 6: throughput would double for either, goodput x 1.177 for BERT only.

    A fair share is 6 / 2 = 3 GPUs, so base demand is worth 2/3. With 4 GPUs BERT has
    2 x 1.1768 x 2/3 = 1.569, ResNet50 2 x 1.0203 x 2/3 = 1.360. If BERT grows, 1 / 1.570 + 1 / 0.668 = 2.134;
    if ResNet50 does, 2.232.
    """
    jobs = [
        replace(job(f"j{i}", 2, 200, min_gpus=2, max_gpus=4, step=2), model=model)
        for i, model in enumerate(models)
    ]
    _, events = run_checked(jobs, tiny_cluster(1, 6), Pollux(), tuned())
    assert {model: gpus(events, i)[0] for i, model in enumerate(models)} == {"BERT-large": 4, "ResNet50": 2}


def test_the_mean_of_speedups_by_hand():
    """With 2 of a fair share of 4 GPUs the speed-up is 0.5 + 0.001; with 4, thrice as fast, 1.5 + 0.001.

    Power -1: -1 / 0.501; 1: 0.501; 0: its logarithm; -2: -1 / 0.501^2. A job that waits has 0.001.
    """
    speedups = Speedups(np.array([2, 4]), np.array([1.0, 3.0]))
    runs, waits = Candidate(0, "", on((0, 2)), speedups), Candidate(0, "", None, speedups)
    assert runs.values(-1, 4).tolist() == pytest.approx([-1 / 0.501, -1 / 1.501])
    assert runs.values(1, 4).tolist() == pytest.approx([0.501, 1.501])
    assert runs.values(0, 4).tolist() == pytest.approx(np.log([0.501, 1.501]).tolist())
    assert waits.values(-2, 4).tolist() == pytest.approx([-1 / 0.001**2, -1 / 0.501**2, -1 / 1.501**2])
    assert (runs.options.tolist(), waits.options.tolist()) == ([2, 4], [0, 2, 4])


def test_an_elastic_job_makes_room_at_the_next_round():
    """Alone it has its 4 GPUs; one of 2 arrives at 5 s and starts at 10, when the first has its base only.

    At 4 GPUs 2 of its iterations of 1 s (on 2) are done a second: 20 of 60 by 10 s. The other takes 10 s, in
    which 10 more are done. At 20 s it grows again, and does the last 30 in 15 s.
    """
    jobs = [job("elastic", 2, 60, min_gpus=2, max_gpus=4), job("fixed", 2, 10, at=5)]
    result, events = run_checked(jobs, tiny_cluster(), Pollux(interval_s=10))
    assert gpus(events, 0) == {0: 4, 10: 2, 20: 4}
    assert seconds(result, "first_start_ns") == [0, 10]
    assert seconds(result, "finish_ns") == [35, 20]


def test_a_running_job_keeps_its_base_demand():
    """A job that wants all 4 GPUs waits for an elastic one that needs 2 and, meanwhile, keeps all 4."""
    jobs = [job("elastic", 2, 60, min_gpus=2, max_gpus=4), job("whole", 4, 10, at=5)]
    result, events = run_checked(jobs, tiny_cluster(), Pollux(interval_s=10))
    assert gpus(events, 0) == {0: 4}
    assert seconds(result, "first_start_ns") == [0, 30]  # 60 iterations, 2 a second
    assert result.columns["preemptions"].sum() == 0


def test_an_elastic_job_starts_with_its_base_demand():
    """One of 3 GPUs is idle: a job that asks for 2 and can do with 1 starts, and grows when it can."""
    jobs = [job("fixed", 2, 20), job("elastic", 2, 30, min_gpus=1, max_gpus=2)]
    _, events = run_checked(jobs, tiny_cluster(1, 3), Pollux(interval_s=10))
    assert gpus(events, 1) == {0: 1, 20: 2}


def test_a_job_is_expected_on_a_type_that_has_enough():
    """A job of 3 to 4 GPUs: the first machine has 2 of another type, so it starts on the second, with 4."""
    machines = [Machine("m0", 0, "small", 2, gpu_type="old"), Machine("m1", 0, "big", 4, gpu_type="new")]
    _, events = run_checked([job("a", 3, 30, min_gpus=3, max_gpus=4)], Cluster(machines), Pollux())
    assert held(events, 0) == {0: on((1, 4))}


def test_a_job_that_is_not_elastic_has_all_or_nothing():
    """3 of 4 GPUs are taken for 30 s; a job of 2 that arrives first of two waits, one of 1 starts at once."""
    jobs = [job("large", 3, 30), job("two", 2, 10, at=1), job("one", 1, 10, at=2)]
    result, events = run_checked(jobs, tiny_cluster(), Pollux(interval_s=10))
    assert seconds(result, "first_start_ns") == [0, 30, 10]
    assert gpus(events, 1) == {30: 2}


def test_more_jobs_start_rather_than_large_ones():
    """4 GPUs: of a job of 4 and three smaller ones the three start, since a job that waits has 0.001.

    A fair share is 1. All three: 1 / 0.001 + 2 / 1.001 + 1 / 2.001 = 1002.5; the large one alone: 3000.2.
    """
    jobs = [job("four", 4, 10), job("two", 2, 10), job("one", 1, 10), job("other", 1, 10)]
    result, _ = run_checked(jobs, tiny_cluster(), Pollux(interval_s=10))
    assert seconds(result, "first_start_ns") == [10, 0, 0, 0]


class Counted:
    """Counts the searches of a policy."""

    def __init__(self, policy):
        self.searches = 0
        self._search = policy._genetic.best
        policy._genetic = self

    def best(self, *arguments):
        self.searches += 1
        return self._search(*arguments)


def test_it_searches_only_when_jobs_or_machines_have_changed():
    """Two elastic jobs want 4 of 6 GPUs each: one search at 0, none at the rounds at which nothing is new.

    The first to finish leaves enough for the other, and so does that for one that comes at 201 s: where all
    fit, nothing is searched for.
    """
    both = {"min_gpus": 2, "max_gpus": 4, "step": 2}
    policy = Pollux(interval_s=10)
    counted = Counted(policy)
    jobs = [job("a", 2, 100, **both), job("b", 2, 100, **both), job("late", 2, 10, at=201)]
    run_checked(jobs, tiny_cluster(1, 6), policy)
    assert counted.searches == 1


def test_a_machine_that_joins_is_used_at_the_next_round():
    """A job of 1 to 4 GPUs has the 2 that are there; a machine of 2 joins at 35 s, and at 40 it has 4."""
    cluster = Cluster([Machine("m0", 0, "box", 2), Machine("m1", 0, "box", 2, present=False)])
    joins = [CapacityEvent(seconds_to_ns(35), "join", 1)]
    elastic = [job("a", 1, 400, min_gpus=1, max_gpus=4)]
    _, events = run_checked(elastic, cluster, Pollux(interval_s=10), capacity_events=joins)
    assert gpus(events, 0) == {0: 2, 40: 4}


def test_a_job_on_a_machine_that_leaves_stays_as_it_is():
    """m0 leaves from 5 s on; when m1 is idle at 20, the elastic job on m0 does not grow to 4."""
    jobs = [job("elastic", 1, 100, min_gpus=1, max_gpus=4), job("blocker", 2, 20, step=2)]
    leaves = [CapacityEvent(seconds_to_ns(5), "leave", 0, seconds_to_ns(1000))]
    _, events = run_checked(jobs, tiny_cluster(), Pollux(interval_s=10), capacity_events=leaves)
    assert held(events, 0) == {0: on((0, 2))}


def test_only_the_pool_serves():
    """A cluster of two pools: jobs fill the training machine, and wait though the other is idle."""
    machines = [Machine(f"m{i}", 0, "box", 2, pool=pool) for i, pool in enumerate(("inference", "training"))]
    jobs = [job("elastic", 1, 40, min_gpus=1, max_gpus=4), job("next", 2, 10, at=5)]
    result, events = run_checked(jobs, Cluster(machines), Pollux(interval_s=10, pool="training"))
    assert held(events, 0, at=0) == on((1, 2))
    assert held(events, 1, at=20) == on((1, 2))
    assert seconds(result, "finish_ns") == [20, 30]


def test_a_job_gives_up_machines_with_few_of_its_gpus():
    """It starts on m0 (2 GPUs) with 1 of m1; where it shrinks, m1 is left, and m0 kept whole.

    3 GPUs while another job has 1 of m1. At 10 s a job of 1 arrived: the elastic one keeps 2, on m0.
    """
    jobs = [job("fixed", 1, 100), job("elastic", 2, 100, min_gpus=2, max_gpus=3), job("late", 1, 10, at=5)]
    _, events = run_checked(jobs, tiny_cluster(), Pollux(interval_s=10))
    assert held(events, 1, at=0).gpus == 3
    assert len(held(events, 1, at=10).slices) == 1
    assert held(events, 2, at=10).slices[0].gpus == 1


def test_a_job_grows_on_no_more_machines_than_it_may_span():
    """Two machines of 2 GPUs: a job of 2 to 4 that may span one stays on 2, another one grows to 4."""
    for most, expected in ((1, 2), (2, 4)):
        jobs = [job("a", 2, 10, min_gpus=2, max_gpus=4, max_machines=most)]
        _, events = run_checked(jobs, tiny_cluster(), Pollux())
        assert gpus(events, 0) == {0: expected}


def test_a_job_grows_on_the_type_that_it_is_on():
    """A new machine is idle, but a job on old GPUs would mix the two: it grows to the 3 old ones."""
    kinds = ("old", "new", "old")
    machines = [Machine(f"m{i}", 0, kind, 2, gpu_type=kind) for i, kind in enumerate(kinds)]
    jobs = [
        job("blocker", 1, 100, gpu_types=("old",)),
        job("elastic", 1, 100, min_gpus=1, max_gpus=6, gpu_types=("old", "new")),
    ]
    _, events = run_checked(jobs, Cluster(machines), Pollux())
    assert {machines[s.machine].gpu_type for s in held(events, 1, at=0).slices} == {"old"}
    assert gpus(events, 1) == {0: 3}


def test_more_workers_that_are_no_faster_are_not_taken():
    """If a third GPU makes the job slower it stays at 2, though all 4 are idle."""
    slow = PlainPerformance(lambda spec, allocation: 1.0 if allocation.gpus < 3 else 2.0)
    _, events = run_checked([job("a", 1, 10, min_gpus=1, max_gpus=4)], tiny_cluster(), Pollux(), slow)
    assert gpus(events, 0) == {0: 2}


def test_the_seed_decides_among_equals():
    """Thirty equal jobs and room for some: equal seeds start the same ones, others do not."""
    jobs = [job(f"j{i}", 2, 50, min_gpus=1, max_gpus=4) for i in range(30)]

    def run(seed):
        _, events = run_checked(jobs, tiny_cluster(4, 4), Pollux(seed=seed))
        return {e.job: e.allocation for e in events if isinstance(e, Start) and not e.time_ns}

    assert run(0) == run(0)
    assert run(0) != run(1)


def test_a_job_goes_on_with_the_gpus_that_a_failure_leaves():
    """10 of 40 iterations by 10 s on 4 GPUs, m1 down until 100 s: 30 x 2 s on the other 2, to 70 s."""
    fails = [CapacityEvent(seconds_to_ns(10), "fail", 1, cause="gpu", repair_ns=seconds_to_ns(90))]
    jobs = [job("a", 4, 40, min_gpus=2, max_gpus=4, step=2)]
    result, events = run_checked(jobs, tiny_cluster(2), Pollux(), failures=fails)
    assert gpus(events, 0) == {0: 4, 10: 2}
    assert seconds(result, "finish_ns") == [70]
    assert seconds(result, "evictions") == [0]
