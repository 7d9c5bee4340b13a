"""Jobs on GPUs of several speeds and worths: how many they hold, and for how long."""

import pytest

from artist.core.cluster import Cluster, Machine
from artist.core.events import Start, Stop
from artist.core.job import Demand
from artist.data import data_path
from artist.datacenter.build import build_cluster
from artist.datacenter.config import ClusterConfig
from artist.errors import InputError
from artist.performance.placed import PlacedPerformance
from artist.policies.basic.ordered import Ordered
from artist.testing.tiny import job, run_checked, seconds
from netmodels.api import load_topology
from netmodels.models.zero import ZeroModel
from netmodels.profiles.profile import get_profile

POOLS = load_topology(data_path("topologies", "v100_t4_pools.yaml"))
ON_V100 = {"fungible": True, "measured_speed": 0.25, "measured_worth": 1.0}
T4 = {"gpu_type": "T4", "speed": 0.25 / 3, "worth": 0.5}


def compute_only():
    """Return iteration times without communication."""
    return PlacedPerformance(ZeroModel(), POOLS.fabric, POOLS.fabric.system, get_profile)


def starts(log):
    """Return the GPUs of each start, by machine."""
    return [event.allocation.gpu_map() for event in log if isinstance(event, Start)]


@pytest.mark.parametrize("preemptive", [False, True])
def test_a_fungible_job_takes_two_t4_for_a_v100_and_half_as_long_again(preemptive):
    """100 s on 8 V100. The second job gets 8 x 1 / 0.5 = 16 T4: 100 x 8 x 0.25 / (16 x 0.25 / 3) = 150 s."""
    groups = {"machines": [{"type": "v100_8gpu", "count": 1}, {"type": "t4_8gpu", "count": 2}]}
    cluster, _ = build_cluster(ClusterConfig.model_validate(groups), POOLS)
    jobs = [job(name, 8, 100, **ON_V100) for name in "ab"]
    policy = Ordered(order="srtf" if preemptive else "fifo", preemptive=preemptive, backfill=True)
    result, log = run_checked(jobs, cluster, policy, compute_only())
    assert starts(log) == [{0: 8}, {1: 8, 2: 8}]
    assert seconds(result, "finish_ns") == [100, 150]


@pytest.mark.parametrize("busy", [False, True])
def test_fungible_jobs_are_counted_by_the_gpus_that_they_take(busy):
    """16 T4; jobs of 4 V100, which are 8 T4 for 1.5 times as long; a machine of V100 is busy, or not there.

    a (300 s) runs on 8 T4. At 10 come d (40 s) and e (60 s), before it in line: they need all 16, so it
    stops; were they counted as 4 each, it would go on, and e wait. They end at 10 + 60 and 10 + 90.
    """
    machines = [Machine("t", 0, "t4_8gpu", 16, **T4)]
    jobs = [job("a", 4, 300, **ON_V100), job("d", 4, 40, at=10, **ON_V100), job("e", 4, 60, at=10, **ON_V100)]
    if busy:
        machines.append(Machine("v", 0, "v100_8gpu", 8, gpu_type="V100", speed=0.25, worth=1.0))
        jobs.insert(0, job("b", 8, 200, gpu_types=("V100",), measured_speed=0.25))
    policy = Ordered(order="srtf", preemptive=True, backfill=True)
    result, log = run_checked(jobs, Cluster(machines), policy, compute_only())
    stopped = [(event.time_ns // 10**9, jobs[event.job].job_id) for event in log if isinstance(event, Stop)]
    assert stopped == [(10, "a")]
    assert {sum(gpus.values()) for gpus in starts(log)} == {8}
    assert seconds(result, "finish_ns")[-2:] == [70, 100]


@pytest.mark.parametrize(("gpus", "machines"), [(8, 2), (9, 3)])
def test_a_fungible_job_is_admitted_by_replacement_ratio(gpus, machines):
    """8 V100 are 16 T4, 9 are 18: two machines of 8 hold the one, three the other."""
    t4 = [Machine(f"t{i}", 0, "t4_8gpu", 8, **T4) for i in range(machines)]
    spec = job("a", gpus, 100, **ON_V100)
    for cluster, fits in ((Cluster(t4), True), (Cluster(t4[1:]), False)):
        if fits:
            _, log = run_checked([spec], cluster, Ordered(order="fifo"), compute_only())
            assert sum(starts(log)[0].values()) == 2 * gpus
        else:
            with pytest.raises(InputError, match=f"1..{4 * (machines - 1)} GPUs"):
                run_checked([spec], cluster, Ordered(order="fifo"), compute_only())


def test_an_elastic_fungible_job_larger_than_the_cluster_runs_on_all_gpus():
    """8 V100 asked, 4 to 8 allowed, 8 T4 there, which are 4 V100: 100 x 8 x 0.25 / (8 x 0.25 / 3) = 300 s."""
    cluster = Cluster([Machine("t", 0, "t4_8gpu", 8, **T4)])
    spec = job("a", 8, 100, min_gpus=4, max_gpus=8, **ON_V100)
    for preemptive in (False, True):
        policy = Ordered(order="srtf" if preemptive else "fifo", preemptive=preemptive, backfill=True)
        result, log = run_checked([spec], cluster, policy, compute_only())
        assert starts(log) == [{0: 8}]
        assert seconds(result, "finish_ns") == [300]


def test_a_fungible_job_is_admitted_in_the_gpus_that_it_was_measured_on():
    """8 T4 of worth 0.5 are 4 V100 of worth 1: one machine holds them; 9 need 4.5."""
    t4 = Cluster([Machine("t", 0, "v100_8gpu", 4, gpu_type="V100", speed=0.25, worth=1.0)])
    asks = {"fungible": True, "measured_speed": 0.25 / 3, "measured_worth": 0.5}
    _, log = run_checked([job("a", 8, 10, **asks)], t4, Ordered(order="fifo"), compute_only())
    assert starts(log) == [{0: 4}]
    with pytest.raises(InputError, match=r"1\.\.8 GPUs"):
        run_checked([job("a", 9, 10, **asks)], t4, Ordered(order="fifo"), compute_only())


def test_the_replacement_ratio_of_measured_gpus_defaults_to_their_speed():
    """As the worth of a machine is."""
    assert Demand(1, measured_speed=0.25).measured_worth == 0.25
    assert Demand(1, measured_speed=0.25, measured_worth=1.0).measured_worth == 1.0
    assert Machine("m", 0, "box", 1, speed=0.25).worth == 0.25


def test_gpus_of_one_type_have_one_replacement_ratio():
    """Otherwise how many GPUs a fungible job takes would depend on the machine."""
    with pytest.raises(InputError, match="two worths"):
        Cluster([Machine("a", 0, "x", 2, worth=1.0), Machine("b", 0, "y", 2, worth=2.0)])
