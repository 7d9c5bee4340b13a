"""Jobs on the same links in the engine: whose times change, by how much, and when, worked out by hand."""

import random
from dataclasses import replace

import numpy as np
import pytest

from artist.core.cluster import Allocation, Slice
from artist.core.iteration import IterationParts
from artist.core.job import Demand, JobSpec, Stages
from artist.engine.belief import Belief
from artist.engine.consolidated import Consolidated
from artist.engine.hypothetical import Hypothetical
from artist.engine.overheads import Overheads
from artist.engine.running import RunningJobs
from artist.performance.api import Changed
from artist.performance.placed import PlacedPerformance
from artist.policies.basic.ordered import Ordered
from artist.testing.links import ENDLESS, FABRIC, Rings, links_of, model
from artist.testing.performance_conformance import PerformanceConformance
from artist.testing.tiny import Scripted, on, run_checked, seconds, tiny_cluster
from artist.units import NS_PER_S

S = NS_PER_S
CLUSTER = tiny_cluster(8, 4, per_rack=2)
"""Racks of two machines: 0 and 1, 2 and 3, ..."""
PROFILES = {
    "half": model(S, S),  # computes 1 s, then sends 1 s on two GPUs
    "bare": model(1000, 10**6),
    "hidden": model(S, 3 * S // 10, hidden_ns=6 * S // 10),
    "small": model(700_000, 300_000, hidden_ns=200_000),
}


def performance(way="flow_level", cluster=CLUSTER, fabric=FABRIC, **parts):
    shared = None if way == "none" else links_of(way, cluster, fabric)
    return PlacedPerformance(Rings(), fabric, fabric.system, PROFILES.__getitem__, contention=shared, **parts)


def spec(name="half", gpus=2, iterations=10, at_s=0, compute_s=1.0, **more):
    return JobSpec(name, round(at_s * S), Demand(gpus), iterations, round(compute_s * S), model=name, **more)


def prices(held, way="flow_level", **parts):
    """Return the parts of jobs that run together, given as (spec, allocation)."""
    running = Hypothetical([value for value, _ in held], CLUSTER, {i: a for i, (_, a) in enumerate(held)})
    changed = [Changed(i, None, a) for i, (_, a) in enumerate(held)]
    result = performance(way, **parts).reprice(changed, running)
    return [result[i] for i in range(len(held))]


A, B = on((0, 1), (2, 1)), on((1, 1), (3, 1))
"""Two jobs between racks 0 and 1, on machines of their own."""


def test_two_jobs_that_begin_together_send_half_as_fast():
    """1 s of computing, then 2 s instead of 1 s: 1 s of contention beside 1 s of exposed communication."""
    together = IterationParts(S, exposed_ns=S, contention_ns=S)
    assert prices([(spec(), A), (spec(), B)]) == [together, together]
    assert prices([(spec(), A)]) == [IterationParts(S, exposed_ns=S)]


def test_contention_is_none_unless_asked_for():
    """As in the schedulers' papers: each job has all links to itself."""
    assert prices([(spec(), A), (spec(), B)], "none") == [IterationParts(S, exposed_ns=S)] * 2


def test_hidden_communication_that_outlasts_computing_shows():
    """0.3 s behind 0.6 s of computing: two take 0.6 s there, nothing; three 0.9 s, 0.3 s more than alone."""
    third = on((0, 1), (3, 1))
    held = [(spec("hidden"), A), (spec("hidden"), B), (spec("hidden"), third)]
    assert [price.contention_ns for price in prices(held[:2])] == [0, 0]
    assert [price.contention_ns for price in prices(held)] == [3 * S // 10] * 3


def test_times_follow_the_trace_and_not_the_profile():
    """The trace computes 3 s where the profile does 1 s, so all times are three times as long."""
    held = [(spec(compute_s=3), A), (spec(compute_s=3), B)]
    assert prices(held) == [IterationParts(3 * S, exposed_ns=3 * S, contention_ns=3 * S)] * 2


def test_a_job_with_stages_sends_after_the_stage_of_its_gpus():
    """Of 4 s measured the GPUs compute 1 s: 1 s is exposed, as of the profile, and as much is added."""
    staged = replace(spec(compute_s=4), stages=Stages(S, S, S, S))
    assert prices([(staged, A), (staged, B)]) == [IterationParts(4 * S, exposed_ns=S, contention_ns=S)] * 2


def test_a_job_whose_gpus_compute_nothing_sends_nothing():
    """Communication is a share of computing, so the other job is alone."""
    idle = spec(stages=Stages(S, S, 0, S))
    result = prices([(idle, A), (spec(), B)])
    assert result[1] == IterationParts(S, exposed_ns=S)
    assert result[0].exposed_ns == result[0].contention_ns == 0


def test_waiting_for_input_comes_before_sending():
    """One job waits 1 s for input: it sends in 2-3 and 5-6 s, the other in 1-2, 3-4, 5-6 s: there they meet.

    If both wait, both send from 2 s on, for 2 s.
    """

    class Waits:
        part = "input_stall_ns"

        def ns(self, spec, allocation, cluster, compute_ns):
            return S if allocation == B else 0

    result = prices([(spec(), A), (spec(), B)], effects=[Waits()])
    assert [item.input_stall_ns for item in result] == [0, S]
    assert 0 < result[0].contention_ns < S
    both = prices([(spec(), A), (spec(), B)], effects=[WaitsToo()])
    assert both == [IterationParts(S, input_stall_ns=S, exposed_ns=S, contention_ns=S)] * 2


class WaitsToo:
    """Every job waits 1 s for input."""

    part = "input_stall_ns"

    def ns(self, spec, allocation, cluster, compute_ns):
        return S


@pytest.mark.parametrize("delay_s", [0, 1])
def test_a_finish_speeds_up_the_jobs_on_its_links(delay_s):
    """a: 20 iterations from 0, alone 2 s each; b: 5 from 10 s, together 3 s each.

    a has done 5 at 10 s, 5 more by 25 s, when b finishes, and the other 10 in 2 s each: 45 s. If starts take
    1 s: a computes from 1 s and has done 4.5 at 10 s. b counts from 10 s, computes from 11 s, ends at 26 s;
    in these 16 s a does 16 / 3, then the other 20 - 4.5 - 16 / 3 in 2 s each.
    """
    jobs = [replace(spec(iterations=20), job_id="a"), replace(spec(iterations=5, at_s=10), job_id="b")]
    script = {0: lambda v, p: p.place(0, A), 10: lambda v, p: p.place(1, B)}
    costs = Overheads(start_s=delay_s)
    result, _ = run_checked(jobs, CLUSTER, Scripted(script), performance(), overheads=costs)
    ends = [45, 25] if not delay_s else [26 + (20 - 4.5 - 16 / 3) * 2, 26]
    assert seconds(result, "finish_ns") == pytest.approx(ends, abs=1e-8)
    if not delay_s:
        assert seconds(result, "contention_ns") == [5, 5]
        assert seconds(result, "exposed_comm_ns") == [20, 5]


@pytest.mark.parametrize("way", ["mean_field", "flow_level"])
@pytest.mark.parametrize(("first", "second"), [(A, on((4, 1), (6, 1))), (A, on((1, 2))), (A, on((0, 2)))])
def test_a_job_that_meets_no_other_keeps_its_price(way, first, second):
    """Other racks, or no other machine: as without contention, and the first is not even asked about."""
    held = [(spec(), first), (spec(), second)]
    assert prices(held, way) == prices(held, "none")
    running = Hypothetical([value for value, _ in held], CLUSTER, {0: first, 1: second})
    assert list(performance(way).reprice([Changed(1, None, second)], running)) == [1]


def test_added_returns_the_effect_of_a_job_on_running_jobs():
    """Job b would take 3 s an iteration beside a, and a 3 s instead of 2 s; alone it would take 2 s.

    Far from a, b takes 2 s, and a is not mentioned.
    """
    specs, cluster = [spec(), spec()], CLUSTER
    running = Hypothetical(specs, cluster, {0: A})
    belief = Belief(specs, [A, None], running, performance(), np.ones(2), Consolidated(cluster))
    capacity, others = belief.added([1], [B])
    assert capacity.tolist() == [3 * S]
    assert others == {0: 3 * S}
    assert belief.alone([1], [B]).tolist() == [2 * S]
    assert belief.together([0, 1], [A, B]).tolist() == [3 * S, 3 * S]
    capacity, others = belief.added([1], [on((4, 1), (6, 1))])
    assert (capacity.tolist(), others) == ([2 * S], {})


def test_a_job_that_would_move_leaves_its_links():
    """Jobs a and b share an uplink; if b moved away, a would be as fast as alone."""
    specs, cluster, far = [spec(), spec()], CLUSTER, on((4, 1), (6, 1))
    running = Hypothetical(specs, cluster, {0: A, 1: B})
    belief = Belief(specs, [A, B], running, performance(), np.ones(2), Consolidated(cluster))
    capacity, others = belief.added([1], [far])
    assert (capacity.tolist(), others) == ([2 * S], {0: 2 * S})


def test_bytes_are_on_real_links_and_in_the_jobs_own_time():
    """3 s of computing instead of 1 s: 3 x 10^9 bytes in 3 s, out of and into machines 0, 2, racks 0, 1."""
    sending = performance().sending(spec(compute_s=3), A, CLUSTER)
    assert sending.alone_ns == 6 * S
    places = {(link.tier, link.place) for link in sending.links}
    assert places >= {("machine", 0), ("machine", 2), ("rack", 0), ("rack", 1)}
    assert set(sending.sent_bytes.ravel().tolist()) == {3e9}
    assert performance("none").sending(spec(), A, CLUSTER) is None
    assert performance().sending(spec(), on((0, 2)), CLUSTER) is None


def test_a_shift_keeps_jobs_apart():
    """Computing 1 s and sending 1 s: b begins 1 s later, and both are as fast as alone."""
    jobs = [replace(spec(iterations=20), job_id="a"), replace(spec(iterations=20), job_id="b")]
    both = lambda v, p: [p.place(0, A), p.place(1, B)]  # noqa: E731
    script = {0: both, 30: lambda v, p: p.shift(1, S)}
    result, _ = run_checked(jobs, CLUSTER, Scripted(script), performance())
    assert seconds(result, "finish_ns") == [50, 50]  # 10 x 3 s, then 10 x 2 s


def test_finishes_outside_groups_matter():
    """A finish frees links: with contention the engine must ask about it, without it need not."""
    assert performance("none").only_groups
    assert not performance().only_groups


class TestAverage(PerformanceConformance):
    """Incremental answers with average contention equal those from nothing."""

    models = ("bare", "small", "")
    way = "mean_field"

    def make_performance(self):
        return performance(self.way, tiny_cluster(3, 4, per_rack=2))


class TestPhases(TestAverage):
    """Likewise of jobs followed in time."""

    way = "flow_level"
    steps = 20


@pytest.mark.parametrize(("way", "seed"), [("mean_field", 0), ("mean_field", 1), ("flow_level", 2)])
def test_incremental_answers_equal_those_from_nothing(way, seed):
    """Up to 10 jobs on 2 or 3 of 16 machines, one change at a time: no price is left out of date."""
    rng, cluster = random.Random(seed), tiny_cluster(16, 8, per_rack=4)
    specs = [
        spec(rng.choice(("half", "hidden", "small")), 2 + i % 2, compute_s=0.7 + i % 3) for i in range(10)
    ]
    along, held, known = performance(way, cluster), dict[int, Allocation](), {}
    contended = 0
    for _ in range(30):
        job = rng.randrange(len(specs))
        before = held.pop(job, None)
        if before is None or rng.random() < 0.5:
            machines = sorted(rng.sample(range(16), specs[job].demand.gpus))
            held[job] = Allocation(tuple(Slice(m, 1) for m in machines))
        known.pop(job, None)
        running = Hypothetical(specs, cluster, dict(held))
        known.update(along.reprice([Changed(job, before, held.get(job))], running))
        everything = [Changed(j, None, a) for j, a in held.items()]
        assert known == dict(performance(way, cluster).reprice(everything, running))
        contended += sum(parts.contention_ns > 0 for parts in known.values())
    assert contended > 20


class Doubting(PlacedPerformance):
    """Compares, at every question of the engine, what it has answered so far with answers from nothing."""

    def __init__(self, way, cluster, specs):
        shared = links_of(way, cluster)
        super().__init__(Rings(), FABRIC, FABRIC.system, PROFILES.__getitem__, contention=shared)
        self.fresh = lambda: performance(way, cluster)
        self.specs, self.held, self.known, self.contended = specs, {}, {}, 0

    def reprice(self, changed, running):
        result = super().reprice(changed, running)
        if isinstance(running, RunningJobs):
            for job, _, after in changed:
                self.held.pop(job, None)
                self.known.pop(job, None)
                self.held |= {} if after is None else {job: after}
            self.known |= result
            now = Hypothetical(self.specs, running.cluster, self.held)
            everything = [Changed(j, None, a) for j, a in self.held.items()]
            assert self.known == dict(self.fresh().reprice(everything, now))
            kept, table = self._links._index(running), self._links._table
            for link, (is_uplink, place) in enumerate(table.places):
                there = running.crossing_rack(place) if is_uplink else running.crossing_machine(place)
                assert set(kept.on[link]) <= set(there)
                loads = [item.load.loads[link] for item in kept.on[link].values()]
                assert kept.offered[link] == pytest.approx(sum(loads), abs=1e-9)
            self.contended += sum(parts.contention_ns > 0 for parts in result.values())
        return result


@pytest.mark.parametrize(("way", "jobs"), [("mean_field", 40), ("flow_level", 40)])
def test_the_index_of_a_run_is_never_out_of_date(way, jobs):
    """Jobs come, are stopped for shorter ones, start elsewhere and finish: prices are as from nothing."""
    rng, cluster = random.Random(4), tiny_cluster(8, 4, per_rack=2)
    names = [rng.choice(("half", "hidden", "small")) for _ in range(jobs)]
    specs = [
        replace(spec(name, rng.choice((1, 2, 2, 3, 6)), rng.randint(3, 20), at_s=i), job_id=f"j{i}")
        for i, name in enumerate(names)
    ]
    doubting = Doubting(way, cluster, specs)
    policy = Ordered(order="srtf", preemptive=True, placement="random", seed=3)
    result, _ = run_checked(specs, cluster, policy, doubting)
    assert doubting.contended > 40
    assert (result.columns["preemptions"] > 0).any()


def test_links_without_end_change_nothing():
    """Every machine its own link to every other: prices with contention are those without."""
    held = [(spec(), A), (spec("bare"), B), (spec("hidden"), on((0, 1), (3, 1)))]
    for way in ("mean_field", "flow_level"):
        assert prices(held, way, fabric=ENDLESS) == prices(held, "none", fabric=ENDLESS)
