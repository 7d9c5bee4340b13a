"""Muri on instances that fit on paper: who shares with whom, and when. CPU and GPU take 4 s an iteration."""

from dataclasses import replace

import pytest

from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.events import Change, Start
from artist.core.job import Stages
from artist.performance.couplings.interleaved import Interleaved
from artist.performance.placed import PlacedPerformance
from artist.policies.muri.policy import Muri
from artist.testing.tiny import job, run_checked, seconds, tiny_cluster
from artist.units import seconds_to_ns
from netmodels.models.zero import ZeroModel

CPU, GPU, NETWORK = (0, 4, 0, 0), (0, 0, 4, 0), (0, 0, 0, 4)
FORMULA = (1, 1, 1)


def staged(name, stages, iterations, at=0, gpus=1):
    """Return a job whose iteration takes the sum of its stages (storage, CPU, GPU, network; in s)."""
    spec = job(name, gpus, iterations * sum(stages), at, iteration_s=sum(stages))
    return replace(spec, stages=Stages(*map(seconds_to_ns, stages)))


def run(jobs, machines=1, gpus=1, *, cpus=0, slowdown=FORMULA, capacity_events=(), **parameters):
    """Run Muri-S on events, unless told otherwise; return the result and all events."""
    how = {"order": "srsf", "on_events": True, "interval_s": None, "loading": "split", **parameters}
    policy = Muri(group_slowdown=slowdown, **how)
    clock = Interleaved(slowdown)
    performance = PlacedPerformance(ZeroModel(), None, None, None, interleaved=clock, network_stage="table")
    cluster = tiny_cluster(machines, gpus, cpus=cpus)
    return run_checked(jobs, cluster, policy, performance, capacity_events=capacity_events)


def groups_of(events):
    """Return the groups that jobs came into, in order, each once."""
    held = [event.allocation.group for event in events if isinstance(event, Start | Change)]
    return list(dict.fromkeys(group.name for group in held if group))


def test_each_stage_of_a_profile_is_measured_with_a_noise_of_its_own():
    """Four stages of 1 s: with noise 1 four different factors in [0, 2]; equal profiles are measured once."""
    policy = Muri(order="srsf", profiling_noise=1.0)
    kind = policy._kind_of((10**9,) * 4 + (4 * 10**9,))
    assert policy._kind_of((10**9,) * 4 + (4 * 10**9,)) == kind
    measured = policy._grouping._stages[kind]
    assert len(set(measured)) == 4
    assert all(0 <= stage <= 2 * 10**9 for stage in measured)


def test_a_cpu_job_starts_though_all_gpus_are_taken():
    """A has the only GPU until 8; c asks for two cores of another machine, and comes at 3: it starts then."""
    cluster = Cluster([Machine("g", 0, "box", 1), Machine("c", 0, "cores", 0, cpus=8)])
    jobs = [staged("a", GPU, 2), job("c", 0, 4, at=3, cpus=2)]
    result, _ = run_checked(jobs, cluster, Muri(order="srsf", on_events=True, interval_s=None))
    assert seconds(result, "first_start_ns") == [0, 3]


def test_jobs_of_different_resources_share_a_gpu():
    """A on the CPU, b on the GPU for 4 s an iteration: T = 4, both end after three, at 12; alone b at 24."""
    jobs = [staged("a", CPU, 3), staged("b", GPU, 3)]
    result, events = run(jobs)
    assert seconds(result, "finish_ns") == [12, 12]
    assert groups_of(events) == ["0+1"]
    alone, _ = run(jobs, max_jobs=1)
    assert seconds(alone, "finish_ns") == [12, 24]


def test_jobs_of_one_resource_go_one_after_another():
    """T = 8 of two that only compute is no less than 4 + 4 in turn: taken apart, the shorter first."""
    result, events = run([staged("a", GPU, 3), staged("b", GPU, 2)])
    assert seconds(result, "finish_ns") == [20, 8]
    assert groups_of(events) == []


def test_measured_times_of_a_group_decide_its_fate():
    """T = 4 with a slowdown of 2 is 8 s, no less than 4 + 4 in turn; with 1.5 it is 6 s, and both share."""
    jobs = [staged("a", CPU, 3), staged("b", GPU, 3)]
    assert seconds(run(jobs, slowdown=(2, 1, 1))[0], "finish_ns") == [12, 24]
    assert seconds(run(jobs, slowdown=(1.5, 1, 1))[0], "finish_ns") == [18, 18]


def test_no_job_shares_gpus_while_others_are_free():
    """On two GPUs a and b run alone; c comes at 4, when three ask for two: one pair.

    A (CPU) with b or c (GPU) uses 8 / 16, b with c 8 / 32 of the time. All have 8 s left at 4, so b is first.
    """
    jobs = [staged("a", CPU, 3), staged("b", GPU, 3), staged("c", GPU, 2, at=4)]
    result, events = run(jobs, gpus=2)
    assert groups_of(events) == ["0+1"]
    assert seconds(result, "first_start_ns") == [0, 0, 4]
    assert seconds(result, "finish_ns") == [12, 12, 12]


def test_a_group_is_parted_when_there_is_room():
    """A (CPU 2, GPU 1; 3 s) and b (CPU 1, GPU 1; 2 s) share one GPU, T = 4, while c holds two others until 8.

    At 8 both have done two iterations and each gets a GPU: a ends at 8 + 2 x 3, b at 8 + 2 x 2.
    """
    jobs = [staged("c", GPU, 2, gpus=2), staged("a", (0, 2, 1, 0), 4), staged("b", (0, 1, 1, 0), 4)]
    result, events = run(jobs, gpus=3)
    assert groups_of(events) == ["1+2"]
    assert seconds(result, "finish_ns") == [8, 14, 12]


def test_the_first_that_fill_the_cluster_in_groups_are_taken():
    """Groups of two on one GPU: the shortest two, b and c, run; a waits although it would fit them better."""
    jobs = [staged("a", CPU, 4), staged("b", GPU, 2), staged("c", NETWORK, 2)]
    result, events = run(jobs, max_jobs=2)
    assert groups_of(events) == ["1+2"]
    assert seconds(result, "finish_ns") == [24, 8, 8]
    result, _ = run(jobs)
    assert seconds(result, "finish_ns") == [16, 8, 8]


def test_only_equal_demands_share():
    """B asks for two GPUs: it shares with nobody, and waits for a and c, who have less to do."""
    jobs = [staged("a", CPU, 3), staged("b", GPU, 3, gpus=2), staged("c", NETWORK, 3)]
    result, events = run(jobs, gpus=2)
    assert groups_of(events) == []
    assert seconds(result, "finish_ns") == [12, 24, 12]


def test_profiles_that_agree_to_three_digits_are_alike():
    """A (CPU) beside c, 4 s on the GPU like it, uses 8 / 16, beside b, 4.01 s, 8.01 / 16.04, which is less.

    B is the shorter job. With 4.004 s its profile counts as c's, and then b shares with a, by priority.
    """
    for stage, shared in ((4.01, "0+2"), (4.004, "0+1")):
        jobs = [staged("a", CPU, 3), staged("b", (0, 0, stage, 0), 2), staged("c", GPU, 3)]
        _, events = run(jobs, gpus=2)
        assert groups_of(events)[0] == shared


def test_neighbours_share_without_the_matching():
    """A and b on the CPU, c and d on the GPU: matched a + c, b + d; as neighbours a + b, c + d, in turn."""
    jobs = [staged(name, stages, 2) for name, stages in zip("abcd", (CPU, CPU, GPU, GPU), strict=True)]
    result, events = run(jobs, gpus=2, max_jobs=2)
    assert groups_of(events) == ["0+2", "1+3"]
    assert seconds(result, "finish_ns") == [8, 8, 8, 8]
    result, events = run(jobs, gpus=2, max_jobs=2, matching="priority")
    assert groups_of(events) == []
    assert seconds(result, "finish_ns") == [8, 8, 16, 16]


def test_it_decides_every_six_minutes():
    """B comes at 1 s and joins a at 360 s: a has done 90 of 100 iterations, and ends at 400 all the same."""
    jobs = [staged("a", CPU, 100), staged("b", GPU, 20, at=1)]
    result, _ = run(jobs, on_events=False, interval_s=360)
    assert seconds(result, "first_start_ns") == [0, 360]
    assert seconds(result, "finish_ns") == [400, 440]


def test_all_jobs_are_placed_again_by_demand_if_one_does_not_fit():
    """Four singles fill two machines; one on each leaves at 4. E needs two GPUs together: one moves."""
    singles = [staged(name, CPU, 1 if i % 2 else 9) for i, name in enumerate("abcd")]
    result, _ = run([*singles, staged("e", GPU, 3, at=5, gpus=2)], machines=2, gpus=2, order="fifo")
    assert seconds(result, "first_start_ns")[4] == 5
    assert seconds(result, "finish_ns")[4] == 17
    assert result.columns["migrations"].sum() == 1
    assert result.columns["preemptions"].sum() == 0


def test_all_are_placed_by_priority_where_descending_demand_does_not_fit():
    """Machines of 5 and 4 GPUs, jobs of 2, 2, 3 and 2, each on the machine that it leaves the fewest.

    Descending: 3 on the machine of 4, 2 + 2 on the machine of 5, and one GPU is left on each. By priority:
    2 + 2 fill the machine of 4, 3 + 2 the machine of 5. So all start at once.
    """
    cluster = Cluster([Machine("m0", 0, "box", 5), Machine("m1", 0, "box", 4)])
    jobs = [staged(name, GPU, 1, gpus=gpus) for name, gpus in zip("abcd", (2, 2, 3, 2), strict=True)]
    result, _ = run_checked(jobs, cluster, Muri(order="fifo", on_events=True, interval_s=None))
    assert seconds(result, "first_start_ns") == [0, 0, 0, 0]


def test_a_job_on_a_leaving_machine_is_neither_stopped_nor_are_its_gpus_counted():
    """A holds both GPUs of m0, which leaves from 4 on, and one of m1. B and c (one GPU each) come at 5.

    One GPU is left for two, so they share it, CPU and GPU, T = 4: 5-13. Were a's GPU on m1 counted, one of
    them would run alone; were a to be had, it would be stopped, since it has most left.
    """
    jobs = [staged("a", GPU, 9, gpus=3), staged("b", CPU, 2, at=5), staged("c", GPU, 2, at=5)]
    leaves = [CapacityEvent(seconds_to_ns(4), "leave", 0, seconds_to_ns(99))]
    result, events = run(jobs, machines=2, gpus=2, capacity_events=leaves)
    assert groups_of(events) == ["1+2"]
    assert seconds(result, "finish_ns") == [36, 13, 13]
    assert result.columns["preemptions"].sum() == 0


def test_members_divide_the_cpus_of_their_gpus():
    """One GPU of one with six CPUs, three members: two CPUs each."""
    _, events = run([staged(n, s, 3) for n, s in zip("abc", (CPU, GPU, NETWORK), strict=True)], cpus=6)
    assert [e.allocation.slices[0].cpus for e in events if isinstance(e, Start)] == [2, 2, 2]


def test_noise_spoils_the_plan_and_nothing_else():
    """With stages measured wrong by up to 100 % the CPU job may look as if it computed; without, never."""
    mixed = [(0, 3, 2, 0), (0, 2, 3, 0), (0, 3, 1, 1), (1, 1, 3, 0)]
    jobs = [staged(str(i), mixed[i % 4], 3) for i in range(8)]
    plans = {seed: groups_of(run(jobs, gpus=4, profiling_noise=1, seed=seed)[1]) for seed in range(5)}
    exact = groups_of(run(jobs, gpus=4, seed=1)[1])
    assert exact == groups_of(run(jobs, gpus=4, seed=2)[1])
    assert any(plan != exact for plan in plans.values())


def test_groups_of_five_are_refused():
    """There are four resources, so a fifth member would always wait."""
    with pytest.raises(ValueError, match="less than or equal to 4"):
        Muri(order="srsf", max_jobs=5)
