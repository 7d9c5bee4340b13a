"""Optimistic profiling: what is measured, what is filled in, who believes it and who pays.

The truth, on a machine of one GPU, 16 CPUs and 200 bytes: 1 CPU feeds the GPU a tenth of what it eats, 2 to 4
feed it 0.4, 5 0.65, 6 0.9, 8 0.92 and 16 all. Processes need 10 bytes, the data set has 100; storage alone
delivers a quarter. Measured are 16; 8, as 16 bring 8.7 % more; 4, as 8 bring 130 %; 6, 2.2 %; 5, 38 %; and 1.
"""

import numpy as np
import pytest

from artist.core.cluster import Cluster, Machine
from artist.core.events import Start
from artist.core.job import Demand, JobSpec
from artist.engine.overheads import Overheads
from artist.performance.effects.compute import Compute
from artist.performance.effects.input_stall import InputStall
from artist.performance.formulas.input_rate import Sensitivity
from artist.performance.placed import PlacedPerformance
from artist.performance.profiling import OptimisticProfiling
from artist.testing.performance_conformance import PerformanceConformance
from artist.testing.tiny import PlainPerformance, Scripted, on, run_checked, seconds
from artist.units import NS_PER_S, seconds_to_ns
from netmodels.api import IterationTime

CPUS, THROUGHPUT, UNCACHED = (1, 2, 4, 6, 8, 16), (0.25, 1, 1, 2.25, 2.3, 2.5), 0.625  # relative to 4 CPUs
MEASURED = [16, 8, 4, 6, 5, 1]


class Network:
    """Exposes 30 % of the compute time between machines, if not said otherwise."""

    version = "1"

    def __init__(self, exposed=30):
        self.exposed = exposed

    def iteration(self, profile, shape, fabric, system):
        return IterationTime(100, self.exposed, self.exposed)


class Profile:
    skew, program = 0.0, None

    def scaled(self, factor):
        return self


def truth(speed=1.0, exposed=30):
    """Return iteration times of a model "net" whose curve was measured on GPUs of a speed."""
    model = Sensitivity(CPUS, THROUGHPUT, speed, 100, UNCACHED, 10, 0)
    compute = Compute()
    stall = InputStall({"net": model}, compute)
    network = Network(exposed), None, None, lambda model: Profile()
    return PlacedPerformance(*network, compute=compute, input_stall=stall)


def machines(*speeds, kinds=None, gpus=1, memory=200):
    """Return machines of one GPU, 16 CPUs and 200 bytes, unless said otherwise."""
    kinds = kinds or ["own"] * len(speeds)
    rows = enumerate(zip(speeds, kinds, strict=True))
    machines_ = [Machine(f"m{i}", 0, kind, gpus, kind, speed, 16, memory) for i, (speed, kind) in rows]
    return Cluster(machines_, "own")


def net(name="a", gpus=1, iterations=10, speed=1.0):
    """Return a job whose iterations compute for a second."""
    return JobSpec(name, 0, Demand(gpus, measured_speed=speed), iterations, NS_PER_S, "net")


def believed(cluster, gpus=1, performance=None, **parameters):
    """Return the policies' estimate, and the CPU counts measured for it."""
    belief = OptimisticProfiling(**parameters).performance(performance or truth())
    return belief, list(belief.input_stall.profile("net", gpus, cluster).throughput)


def grid(performance, cluster, place, cpus, memory, speed=1.0):
    """Return iteration times in s by CPUs and memory."""
    spec = net(gpus=place.gpus, speed=speed)
    axes = np.array(cpus)[:, None], np.array(memory)[None, :]
    return performance.at_resources(spec, place, cluster, *axes) / NS_PER_S


# --- the matrix


def test_measured_counts_are_exact_and_others_interpolated():
    """2 CPUs lie on the line from 0.1 (1) to 0.4 (4): 0.2, where the truth is 0.4; 7 between 0.9 and 0.92.

    With 60 bytes, 10 of them for processes, half of the data set is cached: storage feeds 0.25 / 0.5 of what
    the GPU eats, with 10 bytes 0.25, and with less the job pages: 0.01.
    """
    cluster = machines(1)
    belief, measured = believed(cluster)
    assert measured == MEASURED
    result = grid(belief, cluster, on((0, 1)), [1, 2, 4, 7, 16], [5, 10, 60, 200])
    fed = [[0.1, 0.1, 0.1], [0.2, 0.2, 0.2], [0.25, 0.4, 0.4], [0.25, 0.5, 0.91], [0.25, 0.5, 1]]
    assert result == pytest.approx(np.array([[100, *(1 / item for item in row)] for row in fed]))


@pytest.mark.parametrize("speed", [0.5, 1, 2])
@pytest.mark.parametrize("cluster_speed", [0.5, 1, 2])
def test_measurements_are_exact_on_gpus_of_any_speed(speed, cluster_speed):
    """The curve was measured on GPUs of one speed, the job runs on another: faster GPUs wait the more."""
    cluster, performance = machines(cluster_speed), truth(speed)
    belief, measured = believed(cluster, performance=performance)
    asked = (cluster, on((0, 1)), [0, *sorted(measured)], range(0, 201, 10), cluster_speed)
    assert grid(belief, *asked) == pytest.approx(grid(performance, *asked), abs=1e-8)


def test_a_job_on_several_machines_is_measured_with_all_that_these_have():
    """2 GPUs on two machines: 32 CPUs, 16 a GPU. 0.3 s of communication come on top of what the input takes.

    16 are 6.7 % slower, (0.3 + 1 / 0.92) / 1.3, and 8 half as fast; 12 are 1.7 % slower than 16, and 10 and
    11, which leave 5 to one of the GPUs, 30 % slower than 12. Both machines together cache all: 2 x 50 bytes.
    """
    cluster = machines(1, 1, 1, memory=60)
    belief, measured = believed(cluster, gpus=2)
    assert measured == [32, 16, 8, 12, 10, 11, 1]
    result = grid(belief, cluster, on((0, 1), (1, 1)), [16, 32], [120])
    assert result[:, 0] == pytest.approx([0.3 + 1 / 0.92, 1.3])


def test_the_proportional_share_is_measured_and_beyond_the_machines_is_extrapolated():
    """Of 8 GPUs and 16 CPUs 2 go with each GPU; there they feed 0.4 in truth as in belief.

    8 GPUs have 16 CPUs at most where they are measured, 0.4. On two machines they may have 4 a GPU, believed
    to feed 0.8: 0.3 + 1 / 0.8 s. In truth it is still 0.4.
    """
    cluster = machines(1, 1, gpus=8)
    belief, measured = believed(cluster)
    assert measured == [*MEASURED, 2]
    assert grid(belief, cluster, on((0, 1)), [2], [200]) == pytest.approx(1 / 0.4)
    spread = cluster, on((0, 4), (1, 4)), [32], [400]
    assert grid(belief, *spread) == pytest.approx(0.3 + 1 / 0.8)
    assert grid(truth(), *spread) == pytest.approx(0.3 + 1 / 0.4)


def test_jobs_alike_have_one_profile():
    """Of a model on one GPU the second job finds that of the first; on two GPUs there is another one."""
    stall, cluster = believed(machines(1, 1))[0].input_stall, machines(1, 1)
    assert stall.profile("net", 1, cluster) is stall.profile("net", 1, cluster)
    assert max(stall.profile("net", 2, cluster).throughput) == 32


def test_profiles_are_made_on_the_clusters_own_kind():
    """The first machine is of another kind, four times as fast: 16 CPUs feed a quarter of what its GPU eats.

    Measured there, 12 CPUs would be worth a look. A job of 2 GPUs finds one of the cluster's own kind only.
    """
    cluster = machines(4, 1, kinds=("other", "own"))
    belief, measured = believed(cluster)
    assert measured == MEASURED
    assert grid(belief, cluster, on((0, 1)), [16], [200], speed=4) == pytest.approx(4)
    wider, _ = believed(cluster, gpus=2)  # own machines are too few: the other one, too
    assert grid(wider, cluster, on((0, 1), (1, 1)), [32], [400]) == pytest.approx(1.3)


def test_a_higher_threshold_measures_less():
    """Only gains of 150 % count: 16, 8, 4, 2 bring 9, 130 and 0 % more than half of them, so 1 is the end."""
    _, measured = believed(machines(1), threshold=1.5)
    assert measured == [16, 8, 4, 2, 1]


def test_noise_is_bounded_and_drawn_from_the_seed():
    """Each measured time is up to 20 % off, and none rises with more CPUs; another seed draws others."""

    def off(seed):
        cluster = machines(1)
        belief, measured = believed(cluster, noise=0.2, seed=seed)
        asked = (cluster, on((0, 1)), sorted(measured), [200])
        result = grid(belief, *asked)[:, 0]
        assert (np.diff(result) <= 0).all()
        return (result / grid(truth(), *asked)[:, 0] - 1).tolist()

    assert off(1) == off(1) != off(2)
    for seed in range(10):
        assert 0.01 < max(map(abs, off(seed))) <= 0.2 + 1e-9


def test_noise_never_makes_an_iteration_shorter_than_one_that_is_fed():
    """Communication takes 30 s and compute 1: 20 % less than 31 s is less than communication alone."""
    cluster, performance = machines(1, 1), truth(exposed=3000)
    for seed in range(10):
        belief, _ = believed(cluster, gpus=2, performance=performance, noise=0.2, seed=seed)
        assert grid(belief, cluster, on((0, 1), (1, 1)), [2, 32], [400]).min() >= 31


def test_without_sensitivity_there_is_nothing_to_profile():
    """A performance without input stall, or one of another source, is believed as it is."""
    plain = PlainPerformance()
    placed = PlacedPerformance(Network(), None, None, lambda model: Profile())
    part = OptimisticProfiling(charge=True)
    assert part.performance(plain) is plain
    assert part.performance(placed) is placed
    assert part.first_delays_ns([net()], placed, machines(1)).tolist() == [0]


# --- who believes it, who pays


def test_the_policy_sees_the_belief_and_the_engine_the_truth():
    """With 2 CPUs the policy believes 5 s an iteration, however it asks; it takes 2.5 s: 25 s for 10."""
    seen = {}

    def act(v, p):
        held, ask = on((0, 1, 2, 200)), v.performance
        seen["alone"], seen["together"] = ask.alone([0], [held])[0], ask.together([0], [held])[0]
        seen["grid"] = ask.at_resources(0, 1, [2], [200])[0, 0]
        seen["added"] = ask.added([0], [held])[0][0]
        p.place(0, held)

    def later(v, p):
        seen["observed"] = v.jobs.observed_iteration_ns[0]

    policy = Scripted({0: act, 1: later})
    policy.knows_performance = True
    result, _ = run_checked([net()], machines(1), policy, truth(), estimates=OptimisticProfiling())
    assert seen.pop("observed") == 2.5 * NS_PER_S
    assert {name: round(ns / NS_PER_S, 6) for name, ns in seen.items()} == dict.fromkeys(seen, 5)
    assert seconds(result, "finish_ns") == [25]


def charged(jobs, script, overheads=None, **parameters):
    """Run jobs that pay for their profiles; return finishes in s and the delays of starts."""
    options = {"estimates": OptimisticProfiling(charge=True, **parameters), "overheads": overheads}
    result, events = run_checked(jobs, machines(1, 1), Scripted(script), truth(), **options)
    delays = [(e.job, e.delay_ns / NS_PER_S) for e in events if isinstance(e, Start)]
    return seconds(result, "finish_ns"), delays


def start(job, machine):
    """Place a job with all CPUs of a machine."""
    return lambda v, p: p.place(job, on((machine, 1, 16, 200)))


def test_each_job_pays_for_its_measurements_before_its_first_run():
    """A start costs 5 s, 6 points of a minute 360: both jobs hold their GPUs for that, then run for 10 s."""

    def both(v, p):
        start(0, 0)(v, p)
        start(1, 1)(v, p)

    finishes, delays = charged([net("a"), net("b")], {0: both}, Overheads(start_s=5))
    assert delays == [(0, 365), (1, 365)]
    assert finishes == [375, 375]


def test_a_job_pays_once():
    """2 s a point: it starts at 12, has done 3 iterations at 15, stops, and does the other 7 from 20 on."""
    script = {0: start(0, 0), 15: lambda v, p: p.stop(0), 20: start(0, 0)}
    finishes, delays = charged([net()], script, minutes_per_point=1 / 30)
    assert delays == [(0, 12), (0, 0)]
    assert finishes == [27]


def test_no_job_pays_unless_charged():
    """By default the measurements are made elsewhere: 10 iterations of 1 s end at 10 s.

    A CPU-only job and one without a model are not profiled even if they were charged for it.
    """
    estimates = OptimisticProfiling()
    result, _ = run_checked([net()], machines(1), Scripted({0: start(0, 0)}), truth(), estimates=estimates)
    assert seconds(result, "finish_ns") == [10]
    cpu_job = JobSpec("cpu", 0, Demand(0, cpus=1), 1, NS_PER_S, "net")
    jobs = [cpu_job, JobSpec("x", 0, Demand(1), 1, NS_PER_S), net()]
    part = OptimisticProfiling(charge=True)
    delays_ns = part.first_delays_ns(jobs, part.performance(truth()), machines(1))
    assert delays_ns.tolist() == [0, 0, seconds_to_ns(360)]


class TestBelief(PerformanceConformance):
    """An estimate is a source of iteration times like any other."""

    models = ("", "net")

    def make_performance(self):
        return OptimisticProfiling(noise=0.1).performance(truth())
