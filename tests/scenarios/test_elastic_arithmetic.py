"""Elastic jobs through the engine: Tables 2 to 4 and Figure 6 of the Lyra paper, and what is believed."""

from dataclasses import replace

import numpy as np
import pytest

from artist.core.cluster import Cluster, Machine
from artist.engine.belief import Belief
from artist.performance.effects.compute import Compute
from artist.performance.estimates import Estimates
from artist.performance.placed import PlacedPerformance
from artist.policies.lyra.reductions import Reductions
from artist.policies.lyra.scaling import SCALINGS
from artist.testing.tiny import PlainPerformance, Scripted, job, on, run_checked, seconds, tiny_cluster
from netmodels.models.zero import ZeroModel

TABLE_2 = [job("a", 6, 50, min_gpus=2, max_gpus=6), job("b", 6, 20, min_gpus=2, max_gpus=6)]
TABLE_4 = [job("a", 3, 100, min_gpus=2, max_gpus=3), job("b", 6, 20, min_gpus=2, max_gpus=6)]


class Forced:
    """Starts both jobs with the workers that a test says; the one that is left then gets its most."""

    on_events, interval_s = True, None

    def __init__(self, *workers):
        self.workers = workers

    def decide(self, view):
        plan = view.plan()
        jobs = view.jobs.job.tolist()
        counts = self.workers if len(jobs) == 2 else [view.demand(j).max_gpus for j in jobs]
        for j, count in zip(jobs, counts, strict=True):
            plan.place(j, on((0, count)))
        return plan.done()


@pytest.mark.parametrize(
    ("jobs", "workers", "jct_s"),
    [
        (TABLE_2, (6, 2), (50, 53.33)),  # b: 100 of 120 worker-seconds done at 50, 20 / 6 more
        (TABLE_2, (2, 6), (63.33, 20)),  # a: 40 of 300 done at 20, 260 / 6 more
        (TABLE_2, (4, 4), (60, 30)),  # b: 120 / 4; a: 120 of 300 done at 30, 180 / 6 more
        (TABLE_2, (5, 3), (56.67, 40)),  # the knapsack's: b: 120 / 3; a: 200 done at 40, 100 / 6 more
        (TABLE_4, (3, 5), (100, 24)),  # the knapsack's, and "a favored": b: 120 / 5
        (TABLE_4, (2, 6), (106.67, 20)),  # b favored; a: 40 of 300 done at 20, 260 / 3 more
    ],
)
def test_tables_3_and_4(jobs, workers, jct_s):
    """8 workers: a has 300, b 120 worker-seconds of work, and progress is proportional to workers."""
    result, _ = run_checked(jobs, tiny_cluster(1, 8), Forced(*workers))
    assert seconds(result, "finish_ns") == pytest.approx(jct_s, abs=0.005)


class Asks(Scripted):
    """Starts jobs at base demand at 0, each on a machine of its own; notes what workers are worth at `at`."""

    knows_iterations = knows_models = knows_performance = True

    def __init__(self, *at, gpu_types=("gpu",), gpus=None, bases=None, **options):
        self.found = []
        self._reductions = Reductions(**options)
        self._gpu_types = gpu_types
        self._gpus = gpus
        self._bases = bases or [None] * len(gpu_types)
        super().__init__({0: self._start} | dict.fromkeys(at, self._ask))

    def _start(self, view, plan):
        for j in view.jobs.job.tolist():
            plan.place(j, on((j, self._gpus or view.demand(j).min_gpus)))
        self._ask(view, plan)

    def _ask(self, view, plan):
        jobs = view.jobs.job.tolist()
        for gpu_type, bases in zip(self._gpu_types, self._bases, strict=True):
            self.found.append(self._reductions.growing(view, gpu_type, jobs, [0] * len(jobs), bases))


def believed(jobs, cluster, *at, performance=None, estimates=None, **asks):
    """Return estimates at 0 and at some times in s, and the finish times in s."""
    policy = Asks(*at, **asks)
    options = {"estimates": estimates} if estimates else {}
    result, _ = run_checked(jobs, cluster, policy, performance or linear(), **options)
    return policy.found, seconds(result, "finish_ns")


def linear(**compute):
    """Return linear scaling of compute, but for the given values, and no communication."""
    return PlacedPerformance(ZeroModel(), None, None, None, compute=Compute(**compute))


def reductions_s(growing):
    return [(g.reduction_ns / 1e9).round(2).tolist() for g in growing]


def test_figure_6():
    """a: 300 worker-seconds, 150 s on 2, 100 on 3; b: 120, 60 s on 2, then 40, 30, 24, 20."""
    (result,), _ = believed(TABLE_4, tiny_cluster(2, 8))
    assert reductions_s(result) == [[50], [20, 30, 36, 40]]
    assert [g.base_ns / 1e9 for g in result] == [150, 60]
    assert SCALINGS["knapsack"].extra(4, result, pending=False) == [1, 3]  # workers (3, 5)
    (result,), _ = believed(TABLE_2, tiny_cluster(2, 8))
    assert reductions_s(result) == [[50, 75, 90, 100], [20, 30, 36, 40]]
    assert SCALINGS["knapsack"].extra(4, result, pending=False) == [3, 1]  # workers (5, 3)


def test_the_value_is_that_of_the_rest_of_the_work():
    """At 30 both have done 60 worker-seconds: a has 240 left, 120 s, 80 on 3; b 60: 30, 20, 15, 12, 10."""
    (_, result), _ = believed(TABLE_4, tiny_cluster(2, 8), 30)
    assert reductions_s(result) == [[40], [10, 15, 18, 20]]


def test_values_do_not_depend_on_workers_held():
    """Against the time at base demand: a job that has 3 workers from the start has the same reductions."""
    (result, _), finish_s = believed(TABLE_4[:1], tiny_cluster(1, 8), 30, gpus=3)
    assert (reductions_s(result), finish_s) == ([[50]], [100])


def test_a_worker_beyond_the_base_brings_less_where_scaling_is_imperfect():
    """Loss 0.2: 6 workers do as much as 2 + 4 x 0.8 = 5.2, so the work of b is 104, and 2 take 52 s.

    3 workers do 2.8, 37.14 s; 4 do 3.6, 28.89 s; 5 do 4.4, 23.64 s; 6 do 5.2, 20 s.
    """
    (result,), finish_s = believed(TABLE_4[1:], tiny_cluster(1, 8), performance=linear(scaling_loss=0.2))
    assert finish_s == [52]
    assert reductions_s(result) == [[14.86, 23.11, 28.36, 32]]
    assert [len(g.gpus) for g in result] == [4]


T4 = Cluster([Machine("t", 0, "t", 16, "T4", speed=1 / 12, worth=0.5)])
ON_V100 = {"fungible": True, "measured_speed": 0.25, "measured_worth": 1}


def test_workers_on_gpus_of_replacement_ratio_one_half_take_twice_the_gpus():
    """100 s on 8 V100 are 800 V100-seconds: 300 s on 8 T4, 200 on 12, 150 on 16 (a third of the speed)."""
    elastic = job("a", 8, 100, min_gpus=4, max_gpus=8, step=2, **ON_V100)
    (result,), finish_s = believed([elastic], T4, gpu_types=("T4",), gpus=16)
    assert finish_s == [150]
    assert reductions_s(result) == [[100, 150]]
    assert result[0].gpus.tolist() == [4, 8]
    assert result[0].base_ns == 300e9


BOTH = [Machine("v", 0, "v", 8, "V100", speed=1 / 4, worth=1), *T4.machines]


def test_each_type_of_gpu_has_its_own_values():
    """20 s on 1 V100: 10 s on 2; 30 s on 2 T4, 15 s on 4."""
    elastic = job("a", 1, 20, min_gpus=1, max_gpus=2, **ON_V100)
    (on_v100, on_t4), _ = believed([elastic], Cluster(BOTH), gpu_types=("V100", "T4"))
    assert (reductions_s(on_v100), on_v100[0].gpus.tolist()) == ([[10]], [1])
    assert (reductions_s(on_t4), on_t4[0].gpus.tolist()) == ([[15]], [2])


@pytest.mark.parametrize(("efficiency", "saved_s"), [(1, [25, 40]), (0.7, [-7.14, 14.29])])
def test_flexible_workers_may_be_of_another_type(efficiency, saved_s):
    """100 s on 2 V100; 2 T4 more do as much as 2 + 2/3 V100: 75 s; 4 as 2 + 4/3: 60 s; 0.7 of it: 107, 86.

    Where mixed types lose 30 %, a single worker more slows the job down, and the knapsack gives none or two.
    """
    elastic = job("a", 2, 100, min_gpus=2, max_gpus=4, mixed_types=True, **ON_V100)
    performance = linear(mixed_types="sum", mixed_efficiency=efficiency)
    (result,), _ = believed(
        [elastic], Cluster(BOTH), gpu_types=("T4",), bases=[[(("V100", 2),)]], performance=performance
    )
    assert (reductions_s(result), result[0].gpus.tolist(), result[0].base_ns) == ([saved_s], [2, 4], 100e9)
    assert SCALINGS["knapsack"].extra(3, result, pending=False) == [int(efficiency == 1)]
    assert SCALINGS["knapsack"].extra(4, result, pending=False) == [2]


def test_base_workers_of_two_types_have_separate_values():
    """100 s on 2 V100, 150 s on 4 T4, of two jobs that are alike; and the other way round asked again."""
    elastic = [job(name, 2, 100, min_gpus=2, max_gpus=3, mixed_types=True, **ON_V100) for name in "ab"]
    cluster = Cluster([BOTH[0], replace(BOTH[0], name="w"), *T4.machines])
    on_v100, on_t4 = (("V100", 2),), (("T4", 4),)
    bases = [[on_v100, on_t4], [on_t4, on_v100]]
    performance = linear(mixed_types="sum")
    result, _ = believed(elastic, cluster, gpu_types=("T4", "T4"), bases=bases, performance=performance)
    assert [[g.base_ns / 1e9 for g in jobs] for jobs in result] == [[100, 150], [150, 100]]
    assert [reductions_s(jobs) for jobs in result] == [[[25], [50]], [[50], [25]]]  # 150 to 100 s on 6 T4


def test_base_workers_may_be_of_two_types():
    """100 s on 6 V100; 4 V100 and 4 T4 do as much as 4 + 4/3: 112.5 s; 2 T4 more: 100 s; 4 more: 90 s.

    The base alone would be 12 T4 of 8; 4 of these are left to grow on, two workers, not four.
    """
    elastic = job("a", 6, 100, min_gpus=6, max_gpus=10, mixed_types=True, **ON_V100)
    cluster = Cluster([BOTH[0], replace(T4.machines[0], gpus=8)])
    bases, performance = [[(("T4", 4), ("V100", 4))]], linear(mixed_types="sum")
    (result,), _ = believed([elastic], cluster, gpu_types=("T4",), bases=bases, performance=performance)
    assert (reductions_s(result), result[0].base_ns) == ([[12.5, 22.5]], 112.5e9)
    assert result[0].gpus.tolist() == [2, 4]


def test_flexible_workers_of_another_type_are_on_machines_that_have_them():
    """A job is slow by its machines, and T4 machines have 2 GPUs: 2 x 100 / 2 s on 4 GPUs, 3 x 100 / 3 on 6.

    Two workers more, of 4 T4, are all that there are.
    """
    cluster = Cluster([BOTH[0], *(replace(T4.machines[0], name=name, gpus=2) for name in "tu")])
    elastic = [job("a", 2, 100, min_gpus=2, max_gpus=6, mixed_types=True, **ON_V100)]
    spread = PlainPerformance(lambda spec, held: len(held.slices))
    result, _ = believed(elastic, cluster, gpu_types=("T4",), bases=[[(("V100", 2),)]], performance=spread)
    assert (reductions_s(result[0]), result[0][0].gpus.tolist()) == ([[0, 0]], [2, 4])


def test_no_more_workers_than_gpus_of_the_type():
    """4 to 16 V100 are 8 to 32 T4, of which there are 16: four workers more than the base, not twelve."""
    elastic = job("a", 8, 100, min_gpus=4, max_gpus=16, **ON_V100)
    (result,), _ = believed([elastic], T4, gpu_types=("T4",), gpus=16)
    assert result[0].gpus.tolist() == [2, 4, 6, 8]


def test_the_base_demand_may_be_the_demand():
    """Asked 3 of 2 to 4: 60 worker-seconds, 20 s on 3, 15 on 4; from the least: 30, 20, 15."""
    elastic = [job("a", 3, 20, min_gpus=2, max_gpus=4)]
    (result,), _ = believed(elastic, tiny_cluster(1, 8), requested=True)
    assert (reductions_s(result), result[0].base_ns) == ([[5]], 20e9)
    (result,), _ = believed(elastic, tiny_cluster(1, 8), requested=False)
    assert (reductions_s(result), result[0].base_ns) == ([[10, 15]], 30e9)


def test_communication_counts():
    """Of one model twice as long beyond 4 GPUs: 60, 40, 30 s, then 48 and 40; of the other 24 and 20."""
    slow = PlainPerformance(lambda spec, held: 2.0 if spec.model == "chatty" and held.gpus > 4 else 1.0)
    jobs = [replace(TABLE_4[1], job_id=model, model=model) for model in ("chatty", "silent")]
    (result,), _ = believed(jobs, tiny_cluster(2, 8), performance=slow)
    assert reductions_s(result) == [[20, 30, 12, 20], [20, 30, 36, 40]]


class Twice(Estimates):
    """Every job is believed to take twice as long."""

    def factors(self, jobs):
        return np.full(len(jobs), 2.0)


def test_an_estimate_is_applied_once():
    """Believed twice as long, a is worth 100, b 40, 60, 72, 80."""
    (result,), _ = believed(TABLE_4, tiny_cluster(2, 8), estimates=Twice())
    assert reductions_s(result) == [[100], [40, 60, 72, 80]]


def test_scaling_is_asked_once_per_demand(monkeypatch):
    """Of three jobs two have one demand: two questions at 0, none at 5.

    The third has its own value: 21,720 - 10 worker-seconds left, 10,855 s on 2, 7236.67 on 3.
    """
    asked = []
    at_gpus = Belief.at_gpus
    monkeypatch.setattr(
        Belief, "at_gpus", lambda self, job, *rest: asked.append(job) or at_gpus(self, job, *rest)
    )
    longer = job("c", 6, 3620, min_gpus=2, max_gpus=6)
    (_, result), _ = believed([*TABLE_4, longer], tiny_cluster(3, 8), 5)
    assert asked == [0, 1]
    assert reductions_s(result)[2] == [3618.33, 5427.5, 6513, 7236.67]
