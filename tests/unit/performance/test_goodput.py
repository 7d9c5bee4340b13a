"""Goodput: what the batch size does for a job, and elastic jobs that train with the best one."""

from dataclasses import replace

import numpy as np
import pytest

from artist.core.cluster import Cluster, Machine
from artist.core.job import Demand, JobSpec
from artist.performance.effects.compute import Compute
from artist.performance.effects.tuned import TunedCompute, goodput_of, measured_goodputs
from artist.performance.formulas.goodput import Goodput
from artist.run.build import build_compute, build_performance
from artist.run.config import PerformanceConfig
from artist.testing.performance_conformance import PerformanceConformance
from artist.testing.tiny import Scripted, on, run_checked, seconds, tiny_cluster
from artist.units import NS_PER_S
from netmodels.models.zero import ZeroModel
from netmodels.profiles.profile import get_profile, profile_names

TEXT = Goodput(noise_scale=900, batch=100, fixed=0.5)


def test_efficiency_at_the_noise_scale():
    """With a batch of phi, (phi + m0) / 2 phi: half of a sample's worth where m0 is small; 1 with m0."""
    assert TEXT.efficiency(900) == (900 + 100) / (900 + 900)
    assert TEXT.efficiency(100) == 1
    assert Goodput(1e6, 1, 0.5).efficiency(1e6) == pytest.approx(0.5, abs=1e-6)


def test_goodput_is_throughput_times_efficiency():
    """2 workers, batch 200: 2 x 200 / (0.5 + 0.5 x 2) = 266.67 samples; each worth 1000 / 1100: 242.42."""
    assert TEXT.throughput(2, 200) == pytest.approx(400 / 1.5)
    assert TEXT.goodput(2, 200) == pytest.approx(400 / 1.5 * 1000 / 1100)


def test_the_requested_batch_is_linear_in_workers():
    """Lyra's assumption: 100, 200 and 300 samples in the time in which base demand does 100."""
    assert [TEXT.throughput(workers, 100) for workers in (1, 2, 3)] == [100, 200, 300]


@pytest.mark.parametrize("goodput", [TEXT, Goodput(4890, 128, 0.164), Goodput(50, 100, 0.05)])
@pytest.mark.parametrize("workers", [0.5, 1, 1.5, 2, 4, 16])
def test_the_best_batch_beats_every_other(goodput, workers):
    """Of 10,000 batches from m0 to what the workers hold, none has more goodput than the closed form's."""
    batches = np.linspace(goodput.batch, goodput.batch * max(1, workers), 10_000)
    best = goodput.goodput(workers, goodput.best_batch(workers))
    assert best >= max(goodput.goodput(workers, batch) for batch in batches) * (1 - 1e-12)
    assert batches[0] <= goodput.best_batch(workers) <= batches[-1]


def test_the_gain_by_workers():
    """At base 1; with 2, batch 200: 2 / 1.5 x 1000 / 1100 = 1.2121; from 3 on 300: 3 / 2 x 1000 / 1200."""
    gains = [TEXT.gain(workers) for workers in (0.5, 1, 2, 3, 4)]
    assert gains == pytest.approx([1, 1, 2 / 1.5 / 1.1, 1.25, 1.25])


def test_a_batch_that_is_noiseless_is_not_grown():
    """If phi is below m0, samples of larger batches teach little: with fixed = 0.05 the best is m0."""
    assert Goodput(50, 100, 0.05).best_batch(8) == 100
    assert Goodput(900, 100, 0.0).gain(8) == 1  # nothing to spread


def test_every_model_has_a_goodput():
    """The table names no model that does not exist; one that it does not name is as `others`."""
    assert set(measured_goodputs()) - {"others"} == set(profile_names()) - {"A2C", "DQN"}
    assert goodput_of("") == goodput_of("others") == goodput_of("ResNet50")
    assert goodput_of("BERT-large") == Goodput(774, 12, 0.326)


def test_the_gains_of_the_table():
    """ResNet50 gains 2.0 % with twice its base; BERT 17.7 %, and with four times its base 26.6 %.

    BERT: 2 / (0.326 + 0.674 x 2) x 786 / (774 + 24) = 1.1768; with four, batch 48:
    4 / (0.326 + 0.674 x 4) x 786 / (774 + 48) = 1.2657.
    """
    bert = goodput_of("BERT-large")
    assert [bert.gain(2), bert.gain(4)] == pytest.approx([2 / 1.674 * 786 / 798, 4 / 3.022 * 786 / 822])
    assert goodput_of("ResNet50").gain(2) == pytest.approx(2 / 1.927 * 11590 / 11790)


def elastic(model="BERT-large", **demand):
    return JobSpec("j", 0, Demand(2, min_gpus=2, max_gpus=8, **demand), 10, NS_PER_S, model)


def test_an_elastic_job_is_tuned_to_its_gpus():
    """On 2 GPUs, its base, an iteration takes 1 s; on 4 half of it / 1.1768 instead of 0.5 s."""
    cluster, tuned = tiny_cluster(2, 4), TunedCompute()
    assert tuned.ns(elastic(), on((0, 2)), cluster) == NS_PER_S
    assert tuned.ns(elastic(), on((0, 4)), cluster) == round(NS_PER_S / 2 / (2 / 1.674 * 786 / 798))
    assert Compute().ns(elastic(), on((0, 4)), cluster) == NS_PER_S // 2


def test_the_base_demand_counts_instead_of_the_demand():
    """A job of 4 GPUs that can do with 2: 1 s on 4 becomes 1 / 1.1768, and 2 s on 2 stay."""
    spec, cluster = replace(elastic(), demand=Demand(4, min_gpus=2, max_gpus=8)), tiny_cluster(2, 4)
    times = [TunedCompute().ns(spec, on((0, gpus)), cluster) for gpus in (4, 2)]
    assert times == [round(NS_PER_S / (2 / 1.674 * 786 / 798)), 2 * NS_PER_S]


def test_a_job_that_is_not_elastic_keeps_its_batch():
    """A fixed job computes as without, on faster GPUs, too; and a CPU-only job."""
    cluster = Cluster([Machine("m", 0, "box", 4, speed=2.0, cpus=8)])
    fixed = replace(elastic(), demand=Demand(4))
    cpus = replace(elastic(""), demand=Demand(0, cpus=2))
    for spec, held in ((fixed, on((0, 4))), (cpus, on((0, 0, 4)))):
        assert TunedCompute().ns(spec, held, cluster) == Compute().ns(spec, held, cluster)


def test_workers_of_less_memory_count_by_replacement_ratio():
    """8 GPUs worth 1/2 hold the batch of 4: the gain of twice the base, at the speed of 8 x 1/3."""
    cluster = Cluster([Machine("t4", 0, "box", 8, gpu_type="t4", speed=1 / 3, worth=1 / 2)])
    spec = elastic(fungible=True, measured_worth=1.0)
    time = TunedCompute().ns(spec, on((0, 8)), cluster)
    assert time == pytest.approx(NS_PER_S * 2 / (8 / 3) / (2 / 1.674 * 786 / 798), abs=2)


def performance(**fields):
    config = PerformanceConfig(**fields)
    return build_performance(config, ZeroModel(), None, None, get_profile, *build_compute(config))


class TestTunedJobs(PerformanceConformance):
    """Answers on a grid and in a run agree with tuned jobs as without."""

    def make_performance(self):
        return performance(tuned_jobs=True)


@pytest.mark.parametrize(("fields", "gain"), [({}, 1), ({"tuned_jobs": True}, 2 / 1.674 * 786 / 798)])
def test_the_configuration_switches_it_on_and_policies_believe_it(fields, gain):
    """10 iterations on 4 GPUs take 5 s, tuned 5 / 1.1768; at_gpus says the same, and 1 s at the base."""
    seen = []

    def start(view, plan):
        seen.extend(view.performance.at_gpus(0, [2, 4]).tolist())
        plan.place(0, on((0, 4)))

    script = Scripted({0: start})
    script.knows_performance = True
    result, _ = run_checked([elastic()], tiny_cluster(1, 4), script, performance(**fields))
    assert seen == [NS_PER_S, round(NS_PER_S / 2 / gain)]
    assert seconds(result, "finish_ns") == pytest.approx([5 / gain], abs=1e-7)
