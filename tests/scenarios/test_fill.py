"""CPUs and memory of jobs under each policy, and jobs whose demand never fits."""

import random
from dataclasses import replace

import pytest

from artist.core.cluster import Cluster, Machine
from artist.core.events import Change, Start
from artist.core.job import Stages
from artist.errors import InputError
from artist.policies.antman.policy import AntMan
from artist.policies.basic.ordered import Ordered
from artist.policies.dally.policy import Dally
from artist.policies.gandiva.policy import Gandiva
from artist.policies.muri.policy import Muri
from artist.policies.themis.policy import Themis
from artist.policies.tiresias.policy import Tiresias
from artist.testing.tiny import job, run_checked, seconds, tiny_cluster
from artist.units import seconds_to_ns

HOUR = 3600
POLICIES = {
    "fifo": lambda fill: Ordered(order="fifo", fill=fill),
    "srtf": lambda fill: Ordered(order="srtf", preemptive=True, backfill=True, fill=fill),
    "tiresias": lambda fill: Tiresias(thresholds_gpu_s=[8], fill=fill),
    "dally": lambda fill: Dally(machine_timer_h=3 / HOUR, rack_timer_h=6 / HOUR, lease_s=5, fill=fill),
    "gandiva": lambda fill: Gandiva(
        slicing=True, quantum_s=3, packing=True, profile_s=1, grow_shrink=True, grow_after_s=0.5, fill=fill
    ),
    "themis": lambda fill: Themis(lease_s=5, fill=fill),
    "antman": lambda fill: AntMan(fill=fill),
    "muri": lambda fill: Muri(order="las2d", on_events=True, interval_s=3, fill=fill),
}


def asking_jobs(seed):
    """Return 24 jobs of 1 to 4 GPUs that ask for 1 to 6 CPUs and 1 to 30 bytes a GPU, within 12 s."""
    draw = random.Random(seed)
    jobs = []
    for i in range(24):
        gpus = draw.choice((1, 1, 2, 4))
        asked = {"cpus": gpus * draw.randint(1, 6), "memory_bytes": gpus * draw.randint(1, 30)}
        more = {"gpu_utilization": draw.choice((0.3, 1)), "guaranteed": draw.random() < 0.7}
        spec = job(f"j{i}", gpus, draw.randint(2, 12), draw.randint(0, 12), **more, **asked)
        main = draw.randrange(4)
        stages = Stages(*(seconds_to_ns(0.7 if r == main else 0.1) for r in range(4)))
        jobs.append(replace(spec, stages=stages))
    return jobs


@pytest.mark.parametrize("name", POLICIES)
def test_under_as_asked_every_job_holds_its_demand(name):
    """Whatever a policy does, moves, groups and packs included: the sums over its machines are exact.

    3 machines of 4 GPUs, 12 CPUs, 80 bytes: 6 CPUs a GPU are twice what one brings, so GPUs are left idle.
    """
    for seed in range(3):
        jobs = asking_jobs(seed)
        cluster = tiny_cluster(3, 4, per_rack=2, cpus=12, memory_bytes=80)
        result, events = run_checked(jobs, cluster, POLICIES[name]("as_asked"))
        assert (result.columns["finish_ns"] >= 0).all()
        for event in events:
            if isinstance(event, Start | Change):
                slices, demand = event.allocation.slices, result.jobs[event.job].demand
                assert sum(s.cpus for s in slices) == demand.cpus
                assert sum(s.memory_bytes for s in slices) == demand.memory_bytes


@pytest.mark.parametrize("name", POLICIES)
def test_in_proportion_no_job_waits_for_cpus(name):
    """Two jobs of 1 GPU that ask for 20 of 28 CPUs run side by side on 2 GPUs, with half of them each."""
    jobs = [job("a", 1, 4, cpus=20), job("b", 1, 4, cpus=20)]
    result, events = run_checked(jobs, tiny_cluster(1, 2, cpus=28), POLICIES[name]("proportional"))
    assert seconds(result, "finish_ns") == [4, 4]
    assert [e.allocation.slices[0].cpus for e in events if isinstance(e, Start)] == [14, 14]


@pytest.mark.parametrize("name", POLICIES)
def test_as_asked_a_job_waits_for_its_cpus(name):
    """Two jobs of 1 GPU ask for 20 of 28 CPUs: one after the other though 2 GPUs are there, 8 s in all.

    Under Themis the second breaks the lease of the first, which loses the open iteration.
    """
    jobs = [job("a", 1, 4, cpus=20), job("b", 1, 4, cpus=20)]
    result, _ = run_checked(jobs, tiny_cluster(1, 2, cpus=28), POLICIES[name]("as_asked"))
    assert max(seconds(result, "finish_ns")) == 8 + sum(seconds(result, "lost_ns"))


def test_a_group_that_lacks_cpus_runs_one_by_one():
    """Two jobs of 4 s would share the GPU, but 5 + 5 of 8 CPUs do not fit: one at 0, one at 4.

    4 + 4 do: both keep the GPU busy all the time, so both end at 8.
    """
    for cpus, finish in ((5, [4, 8]), (4, [8, 8])):
        a = replace(job("a", 1, 4, cpus=cpus), stages=Stages(0, 0, seconds_to_ns(1), 0))
        b = replace(job("b", 1, 4, cpus=cpus), stages=Stages(0, seconds_to_ns(1), 0, 0))
        policy = Muri(order="las2d", on_events=True, interval_s=None, fill="as_asked")
        result, events = run_checked([a, b], tiny_cluster(1, 1, cpus=8), policy)
        assert any(isinstance(e, Start) and e.allocation.group for e in events) == (cpus == 4)
        assert seconds(result, "finish_ns") == finish


def test_a_group_goes_where_all_of_it_has_cpus():
    """Four jobs of 5 CPUs each, two GPUs: m0 has 8 CPUs, m1 12, so a pair (10) starts on m1, not on m0.

    The other pair finds no room: one of it starts alone on m0, the other waits.
    """
    stages = (Stages(0, 0, seconds_to_ns(1), 0), Stages(0, seconds_to_ns(1), 0, 0))
    jobs = [replace(job(f"j{i}", 1, 4, cpus=5), stages=stages[i % 2]) for i in range(4)]
    cluster = Cluster([Machine("m0", 0, "a", 1, cpus=8), Machine("m1", 0, "b", 1, cpus=12)])
    policy = Muri(order="las2d", max_jobs=2, on_events=True, interval_s=None, fill="as_asked")
    _, events = run_checked(jobs, cluster, policy)
    starts = [e.allocation for e in events if isinstance(e, Start) and not e.time_ns]
    held = [(a.slices[0].machine, a.slices[0].cpus, a.group is not None) for a in starts]
    assert sorted(held) == [(0, 5, False), (1, 5, True), (1, 5, True)]


def test_a_job_grows_only_on_machines_that_keep_its_demand():
    """E has 1 GPU each of m0 and m1 and 2 of its 4 CPUs there; m1's other GPU comes free at 3.

    On 1 + 2 GPUs the CPUs are 1 + 3. c takes 5 of the 6 CPUs that are free on m1: its own 2 and 1 do. If c
    takes 6, e stays as it is, and its 10 s end at 11.
    """
    cluster = Cluster([Machine("m0", 0, "a", 1, cpus=4), Machine("m1", 0, "b", 2, cpus=8)])
    for cpus, resizes in ((5, 1), (6, 0)):
        elastic = job("e", 2, 10, at=1, cpus=4, min_gpus=2, max_gpus=3)
        jobs = [job("y", 1, 3, cpus=6), elastic, job("c", 0, 20, at=3.5, cpus=cpus)]
        policy = Gandiva(migration=False, grow_shrink=True, grow_after_s=3, fill="as_asked")
        result, _ = run_checked(jobs, cluster, policy)
        assert result.columns["resizes"].tolist() == [0, resizes, 0]
        assert (seconds(result, "finish_ns")[1] == 11) == (not resizes)


def test_cpu_jobs_overtake_only_with_backfill():
    """4 CPUs: c1 has 3 until 5, c2 asks for 3, c3 for 1; c3 starts at once if it may overtake, else at 5."""
    jobs = [job("c1", 0, 5, cpus=3), job("c2", 0, 5, cpus=3), job("c3", 0, 5, cpus=1)]
    for backfill, start in ((True, 0), (False, 5)):
        policy = Ordered(order="fifo", preemptive=True, backfill=backfill)
        result, _ = run_checked(jobs, tiny_cluster(1, 2, cpus=4), policy)
        assert seconds(result, "first_start_ns") == [0, 5, start]


def test_a_lease_is_taken_for_its_cpus():
    """A holds 1 of 2 GPUs and 20 of 28 CPUs; b asks for the other GPU and as many CPUs. Leases are of 10 s.

    At 10 a has sensitivity 1, b, which never ran, 0: b takes over, and a comes back for its other 10 s at 12.
    """
    jobs = [job("a", 1, 20, cpus=20), job("b", 1, 2, at=1, cpus=20)]
    result, _ = run_checked(jobs, tiny_cluster(1, 2, cpus=28), Dally(lease_s=10, fill="as_asked"))
    assert seconds(result, "finish_ns") == [22, 12]


def test_a_cpu_job_takes_no_lease():
    """A has the GPU and all 4 CPUs; c, which asks for CPUs only, waits for its end at 25, not for a lease."""
    jobs = [job("a", 1, 25), job("c", 0, 2, at=1, cpus=3)]
    result, _ = run_checked(jobs, tiny_cluster(1, 1, cpus=4), Dally(lease_s=10))
    assert seconds(result, "first_start_ns") == [0, 25]


@pytest.mark.parametrize(
    ("demand", "machines"),
    [
        ({"gpus": 1, "cpus": 9}, "up to 8 CPUs and 100 bytes"),
        ({"gpus": 1, "memory_bytes": 101}, "up to 8 CPUs and 100 bytes"),
        ({"gpus": 4, "cpus": 17}, "up to 8 CPUs and 100 bytes"),  # both machines have 16
        ({"gpus": 3, "cpus": 13}, "up to 8 CPUs and 100 bytes"),  # 8 are good for 1 of 3 GPUs: 3 x 8 / 13
        ({"gpus": 2, "cpus": 9, "max_machines": 1}, "up to 8 CPUs and 100 bytes"),
        ({"gpus": 2, "min_gpus": 1, "max_gpus": 4, "cpus": 17}, "up to 8 CPUs and 100 bytes"),
    ],
)
def test_a_job_whose_demand_never_fits_is_refused(demand, machines):
    """2 machines of 2 GPUs, 8 CPUs, 100 bytes; what is asked goes by GPUs over the machines of a job."""
    with pytest.raises(InputError, match="can never fit the cluster") as error:
        run_checked([job("a", **demand)], tiny_cluster(cpus=8, memory_bytes=100), Ordered(order="fifo"))
    assert machines in str(error.value)
    assert f"{demand['gpus']} GPUs, " in str(error.value)


def test_a_job_whose_demand_fits_is_admitted():
    """4 GPUs, 16 CPUs are all of 2 x 2 and 2 x 8; 3 GPUs, 12 CPUs are 4 a GPU, good for 2 on each machine."""
    for gpus, cpus in ((4, 16), (3, 12), (2, 9), (1, 8)):
        run_checked(
            [job("a", gpus, 3, cpus=cpus)], tiny_cluster(cpus=8), Ordered(order="fifo", fill="as_asked")
        )


def test_a_fungible_job_is_let_in_where_its_gpus_bring_the_cpus():
    """2 GPUs of speed 1 or 4 of 0.5 with 16 CPUs: the slow machine has 4 GPUs and 16 CPUs, the fast one 8."""
    fast = Machine("f", 0, "f", 2, gpu_type="F", cpus=8)
    for cpus in (16, 15):
        slow = Machine("s", 0, "s", 4, gpu_type="S", speed=0.5, cpus=cpus)
        jobs, policy = [job("a", 2, 3, cpus=16, fungible=True)], Ordered(order="fifo", fill="as_asked")
        if cpus == 16:
            run_checked(jobs, Cluster([fast, slow]), policy)
        else:
            with pytest.raises(InputError, match="can never fit"):
                run_checked(jobs, Cluster([fast, slow]), policy)
