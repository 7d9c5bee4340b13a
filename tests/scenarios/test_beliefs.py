"""Answers of `view.performance`: consolidated, on a grid, beside running jobs; and estimates in its place."""

import random
from dataclasses import replace

import numpy as np
import pytest

from artist.core.buckets import ALL
from artist.core.cluster import Cluster, Group, Machine
from artist.core.job import Demand
from artist.engine.admission import check_jobs
from artist.engine.consolidated import Consolidated
from artist.engine.hypothetical import Added, Hypothetical
from artist.engine.profiled import Profiled
from artist.errors import PlanError
from artist.performance.estimates import Estimates
from artist.testing.tiny import PlainPerformance, Scripted, job, on, run_checked, tiny_cluster
from artist.units import NS_PER_S, seconds_to_ns


def asked(jobs, cluster, script, performance=None, **options):
    """Run a script whose acts may look at performance; return the result."""
    policy = Scripted(script)
    policy.knows_performance = policy.knows_stages = policy.knows_models = True
    return run_checked(jobs, cluster, policy, performance, **options)[0]


# --- a whole performance that is wrong


def test_estimates_may_replace_the_whole_performance():
    """The policy believes iterations of 3 s and no skew; the job runs 10 of 1 s, and ends at 10."""

    class Wrong(Estimates):
        def factors(self, jobs):
            return np.ones(len(jobs))

        def performance(self, truth):
            assert truth.skew(spec) == 1
            wrong = PlainPerformance(slow=lambda spec, allocation: 3)
            wrong.skew = lambda spec: 0.5
            return wrong

    spec = replace(job("a", 2, 10), model="skewed")
    seen = {}

    def act(v, p):
        seen["alone"] = v.performance.alone([0], [on((0, 2))]).tolist()
        seen["at"] = v.performance.at_gpus(0, [2]).tolist()
        seen["profile"], seen["skew"] = v.jobs.alone_ns.tolist(), v.jobs.skew.tolist()
        p.place(0, on((0, 2)))

    result = asked([spec], tiny_cluster(), {0: act}, estimates=Wrong())
    assert seen == {"alone": [3 * NS_PER_S], "at": [3 * NS_PER_S], "profile": [3 * NS_PER_S], "skew": [0.5]}
    assert result.columns["finish_ns"].tolist() == [seconds_to_ns(10)]


# --- consolidated


def by_hand(cluster, gpus, among):
    """Return machines and GPUs by the words of the rule, machine by machine."""
    machines = cluster.machines
    order = [m for m in range(len(machines)) if among >> m & 1]
    order.sort(key=lambda m: (machines[m].rack, m))
    racks = [[m for m in order if machines[m].rack == rack] for rack in sorted({m.rack for m in machines})]
    for chosen in (*racks, order):
        if sum(machines[m].gpus for m in chosen) >= gpus:
            single = [m for m in chosen if machines[m].gpus >= gpus]
            held = {}
            for m in single[:1] or sorted(chosen, key=lambda m: -machines[m].gpus):
                held[m] = min(gpus - sum(held.values()), machines[m].gpus)
            return {m: n for m, n in held.items() if n}
    return None


def test_consolidated_placements_follow_the_rule():
    """200 random clusters of unequal machines in mixed order of racks, any set of them, against the rule."""
    rng = random.Random(1)
    for _ in range(200):
        n = rng.randint(1, 12)
        sizes = [rng.choice((0, 1, 2, 4, 8)) for _ in range(n)]
        cluster = Cluster(
            [Machine(f"m{i}", rng.randrange(3), "box", s, cpus=2 * s) for i, s in enumerate(sizes)]
        )
        among = rng.choice((ALL, rng.getrandbits(n)))
        consolidated = Consolidated(cluster)
        for gpus in range(1, sum(sizes) + 1):
            expected = by_hand(cluster, gpus, among)
            if expected is None:
                with pytest.raises(PlanError, match=f"{gpus} GPUs are not 1..*these machines"):
                    consolidated.place(Demand(gpus), gpus, among)
                continue
            result = consolidated.place(Demand(gpus), gpus, among)
            assert result.gpu_map() == expected
            assert all(s.cpus == 2 * s.gpus for s in result.slices)
            assert consolidated.place(Demand(gpus), gpus, among) is result  # remembered


def test_consolidated_keeps_to_allowed_gpu_types_and_mixes_only_where_allowed():
    """V100 m0, T4 m1 in rack 0, T4 m2 in rack 1, 2 GPUs each.

    3 GPUs of one type: T4 on m1 and m2; mixed: rack 0; 5 GPUs: no type has them, so mixed. One V100: m0; one
    T4: m1; 3 V100: none.
    """
    kinds = (("V100", 0), ("T4", 0), ("T4", 1))
    cluster = Cluster([Machine(f"m{i}", rack, kind, 2, kind) for i, (kind, rack) in enumerate(kinds)])
    place = Consolidated(cluster).place
    assert place(Demand(3), 3).gpu_map() == {1: 2, 2: 1}
    assert place(Demand(3, mixed_types=True), 3).gpu_map() == {0: 2, 1: 1}
    assert place(Demand(5), 5).gpu_map() == {0: 2, 1: 2, 2: 1}
    assert place(Demand(1), 1).gpu_map() == {0: 1}
    assert place(Demand(1, gpu_types=("T4",)), 1).gpu_map() == {1: 1}
    with pytest.raises(PlanError, match=r"3 GPUs are not 1\.\.2, the GPUs of type V100 of these machines"):
        place(Demand(3, gpu_types=("V100",)), 3)
    with pytest.raises(PlanError, match=r"1 GPUs are not 1\.\.0, the GPUs of type A100"):
        place(Demand(1, gpu_types=("A100",)), 1)


def test_a_profile_holds_for_the_gpus_that_a_job_can_get():
    """One H100 machine of 4 GPUs worth 4 each, then two T4 machines of 8 worth 1 each.

    A fungible job of 8 GPUs of worth 1 takes ceil(8 / 4) = 2 H100; of T4 it takes all 8 of one machine. An
    elastic job of 17 H100, at least 1, in steps of 2, has 1, 3, 5, ...: 3 of the 4 there are. Without types
    it is 15 of 16 T4, 8 + 7. One second on all GPUs asked for takes 8 / 2 = 4 s on 2 and 17 / 3 s on 3.
    """
    cluster = Cluster(
        [Machine("h0", 0, "h", 4, "H100", 4.0)] + [Machine(f"t{i}", 0, "t", 8, "T4") for i in range(2)]
    )
    place = Consolidated(cluster).place_all
    assert place(Demand(8, fungible=True, gpu_types=("T4",))).gpu_map() == {1: 8}
    assert place(Demand(8, fungible=True)).gpu_map() == {0: 2}
    assert place(Demand(17, min_gpus=1, max_gpus=17, step=2)).gpu_map() == {1: 8, 2: 7}
    jobs = [
        job("a", 8, fungible=True, gpu_types=("H100",)),
        job("b", 17, min_gpus=1, max_gpus=17, step=2, gpu_types=("H100",)),
    ]
    check_jobs(jobs, cluster)
    profiled = Profiled(jobs, cluster, PlainPerformance(), Consolidated(cluster))
    assert profiled.of(np.arange(2))[:, 4].tolist() == [4 * NS_PER_S, 17 * NS_PER_S // 3]


def test_at_gpus_counts_the_machines_of_a_set_only():
    """On two machines an iteration takes 3 times as long: 2 GPUs fit m0, but in m1 and m2 only 1 + 1 do."""
    cluster = Cluster([Machine("m0", 0, "box", 2), Machine("m1", 0, "box", 1), Machine("m2", 0, "box", 1)])
    far = PlainPerformance(slow=lambda spec, a: 3 if len(a.slices) > 1 else 1)
    seen = {}

    def act(v, p):
        seen["all"] = v.performance.at_gpus(0, [1, 2]).tolist()
        seen["some"] = v.performance.at_gpus(0, [1, 2], among=0b110).tolist()
        p.place(0, on((0, 2)))

    asked([job("a", 2, 10)], cluster, {0: act}, far)
    assert seen == {"all": [2 * NS_PER_S, NS_PER_S], "some": [2 * NS_PER_S, 3 * NS_PER_S]}


# --- a grid of CPUs and memory


def test_cpus_and_memory_are_spread_in_proportion_to_gpus():
    """3 + 1 GPUs: of 10 CPUs 7 and 3 (7.5 rounded down, the rest after it), of 8 bytes 6 and 2."""
    assert on((0, 3), (2, 1)).with_resources(10, 8) == on((0, 3, 7, 6), (2, 1, 3, 2))
    assert on((1, 0)).with_resources(10, 8) == on((1, 0, 10, 8))


def test_at_resources_asks_for_each_point_where_a_performance_answers_one_at_a_time():
    """An iteration takes 1 s x 8 / CPUs, and twice that without memory; estimates double it."""

    class Double(Estimates):
        def factors(self, jobs):
            return np.full(len(jobs), 2.0)

    def slow(spec, a):
        cpus, memory = (sum(column) for column in list(zip(*a.slices, strict=True))[2:])
        return 8 / cpus * (1 if memory else 2)

    seen = {}

    def act(v, p):
        seen["grid"] = v.performance.at_resources(0, 2, [2, 4, 8], [0, 100]) / NS_PER_S
        p.place(0, on((0, 2, 8, 1)))

    cluster = tiny_cluster(cpus=8, memory_bytes=100)
    asked([job("a", 2, 10)], cluster, {0: act}, PlainPerformance(slow), estimates=Double())
    assert seen["grid"].tolist() == [[16, 8], [8, 4], [4, 2]]


def test_at_resources_asks_once_where_a_performance_knows_the_grid():
    """It sees the placement and the two axes of the grid, and answers with CPUs x memory seconds."""
    questions = []

    class Grid(PlainPerformance):
        def at_resources(self, spec, allocation, cluster, cpus, memory_bytes):
            questions.append((allocation, cpus.tolist(), memory_bytes.tolist()))
            return cpus * memory_bytes * NS_PER_S

    seen = {}

    def act(v, p):
        seen["grid"] = v.performance.at_resources(0, 4, range(1, 4), [1, 5]) / NS_PER_S
        seen["cpu_job"] = v.performance.at_resources(1, 0, [2], [1]) / NS_PER_S
        p.place(0, on((0, 2), (1, 2)))
        p.place(1, on((0, 0, 1)))

    jobs = [job("a", 4, 10), job("b", 0, 10, cpus=1)]
    asked(jobs, tiny_cluster(cpus=2), {0: act}, Grid())
    assert seen["grid"].tolist() == [[1, 5], [2, 10], [3, 15]]
    assert seen["cpu_job"].tolist() == [[2]]
    assert questions[0] == (on((0, 2, 2), (1, 2, 2)), [[1], [2], [3]], [[1, 5]])
    assert questions[1] == (on((0, 0)), [[2]], [[1]])


@pytest.mark.parametrize(
    ("number", "gpus", "cpus", "memory", "reason"),
    [
        (0, 2, [-1], [0], "job 'a': at_resources needs CPUs and memory of 0 or more"),
        (0, 2, [1], [-5], "job 'a': at_resources needs CPUs and memory of 0 or more"),
        (0, 5, [1], [0], r"5 GPUs are not 1\.\.4, the GPUs of these machines"),
        (0, 0, [1], [0], r"0 GPUs are not 1\.\.4"),
        (1, 0, [0], [0], "job 'b': at_resources needs 0 GPUs and 1 CPU or more"),
        (1, 1, [1], [0], "job 'b': at_resources needs 0 GPUs and 1 CPU or more"),
    ],
)
def test_questions_that_make_no_sense_are_refused(number, gpus, cpus, memory, reason):
    """A job runs on at least a GPU, or a CPU if it asks for none."""

    def act(v, p):
        v.performance.at_resources(number, gpus, cpus, memory)

    with pytest.raises(PlanError, match=reason):
        asked([job("a", 2), job("b", 0, 10, cpus=1)], tiny_cluster(cpus=2), {0: act})


# --- beside what runs

SHARED = Group("g", ((0, 2),))


def beside(question, **b):
    """Return the answer of `question` at 1, when a holds m0 alone, c has m1, and b waits."""
    seen = {}

    def start(v, p):
        p.place(0, on((0, 2), group=SHARED))
        p.place(2, on((1, 2)))

    def act(v, p):
        placed, others = question(v.performance)
        seen["own"], seen["others"] = (
            (placed / NS_PER_S).tolist(),
            {j: t / NS_PER_S for j, t in others.items()},
        )
        p.place(1, on((0, 2), group=SHARED))

    jobs = [job("a", 2, 10, gpu_utilization=0.5), job("b", 2, 10, **b), job("c", 2, 10)]
    asked(jobs, tiny_cluster(), {0: start, 1: act})
    return seen["own"], seen["others"]


def test_added_returns_the_new_times_of_a_job_and_of_jobs_that_it_slows_down():
    """A uses its GPUs half of the time; beside b, which always does, both take 1.5 s; c is not touched."""
    placed, others = beside(lambda ask: ask.added([1], [on((0, 2), group=SHARED)]))
    assert placed == [1.5]
    assert others == {0: 1.5}


def test_added_leaves_out_neighbours_that_are_as_fast_as_before():
    """Half of the time each: 0.5 + 0.5 fill the GPUs exactly, nobody waits."""
    placed, others = beside(lambda ask: ask.added([1], [on((0, 2), group=SHARED)]), gpu_utilization=0.5)
    assert placed == [1]
    assert others == {}


def test_added_counts_a_running_job_where_it_would_be_only():
    """C would leave m1 for a's group, b takes m1: a and c take 1.5 s, b has m1 alone."""
    placed, others = beside(lambda ask: ask.added([2, 1], [on((0, 2), group=SHARED), on((1, 2))]))
    assert placed == [1.5, 1]
    assert others == {0: 1.5}


def test_added_returns_the_jobs_that_gain_from_a_move():
    """A and b share m0, 1.5 s each, until b would move to m1: a second each again."""
    seen = {}

    def act(v, p):
        placed, others = v.performance.added([1], [on((1, 2))])
        seen["own"], seen["others"] = placed.tolist(), others

    both = {j: on((0, 2), group=SHARED) for j in (0, 1)}
    script = {0: lambda v, p: [p.place(j, a) for j, a in both.items()], 1: act}
    asked([job("a", 2, 10, gpu_utilization=0.5), job("b", 2, 10)], tiny_cluster(), script)
    assert seen == {"own": [NS_PER_S], "others": {0: NS_PER_S}}


def test_added_asks_the_believed_performance():
    """Believed, everything takes 4 times as long: own and others."""

    class Slow(Estimates):
        def factors(self, jobs):
            return np.full(len(jobs), 2.0)

        def performance(self, truth):
            return PlainPerformance(slow=lambda spec, a: 2)

    seen = {}

    def act(v, p):
        placed, others = v.performance.added([1], [on((0, 2), group=SHARED)])
        seen["own"], seen["others"] = placed.tolist(), others
        p.place(1, on((1, 2)))

    script = {0: lambda v, p: p.place(0, on((0, 2), group=SHARED)), 1: act}
    jobs = [job("a", 2, 3, gpu_utilization=1), job("b", 2, 3)]
    asked(jobs, tiny_cluster(), script, estimates=Slow())
    # 2 s alone of which 1 s is compute: two of them fill the GPUs, none waits; b's price alone is 2 s
    assert seen == {"own": [4 * NS_PER_S], "others": {}}


def test_hypothetical_indices_equal_those_of_jobs_that_run():
    """100 random placements beside random ones: each index has the jobs that it has if they simply ran."""
    rng, cluster = random.Random(2), tiny_cluster(4, per_rack=2)
    specs = [job(f"j{i}") for i in range(6)]

    def allocation():
        held = on(*((m, 1) for m in sorted(rng.sample(range(4), rng.randint(1, 3)))))
        group = Group(rng.choice("gh"), tuple((s.machine, 1) for s in held.slices))
        return rng.choice((held, replace(held, group=group)))

    for _ in range(100):
        before = {j: allocation() for j in rng.sample(range(6), 4)}
        placed = {j: allocation() for j in rng.sample(range(6), 2)}
        result = Added(Hypothetical(specs, cluster, before), Hypothetical(specs, cluster, placed))
        expected = Hypothetical(specs, cluster, before | placed)
        for index, keys in {
            "jobs_on": range(4),
            "crossing_machine": range(4),
            "crossing_rack": range(2),
            "members": "gh",
        }.items():
            for key in keys:
                assert sorted(getattr(result, index)(key)) == sorted(getattr(expected, index)(key)), index
        assert all(result.allocation(j) == expected.allocation(j) for j in before | placed)
