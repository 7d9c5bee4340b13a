"""Caps of CPU-only jobs, worked out by hand.

Machines have 4 GPUs, 32 CPUs and 100 bytes/s of memory bandwidth: beside GPU jobs, 75 may be drawn. Job g
draws 15 and trains for 20 s. A job that starts is observed in another call at the same instant.
"""

import pytest
from pydantic import TypeAdapter, ValidationError

from artist.core.events import Change
from artist.core.job import Demand, JobSpec
from artist.policies.coda.eliminator import ELIMINATORS, AnyEliminator, Capping, Halving, eliminator_of
from artist.policies.parts.cpu_jobs import start_cpu_jobs
from artist.testing.tiny import job, on, run_checked, tiny_cluster
from artist.units import NS_PER_S, seconds_to_ns

M0 = tiny_cluster(1, 4, cpus=32, memory_bandwidth_bytes_per_s=100)
M0_M1 = tiny_cluster(2, 4, cpus=32, memory_bandwidth_bytes_per_s=100)
G = job("g", 1, 20, memory_bandwidth_bytes_per_s=15)


def cpu_job(name, draws, cpus=8, seconds=20, at=0):
    demand = Demand(0, cpus=cpus, memory_bandwidth_bytes_per_s=draws)
    return JobSpec(name, seconds_to_ns(at), demand, seconds, NS_PER_S)


class Throttling:
    """Does what a script says, then lets an eliminator add to it; writes down what it observes.

    Attributes
    ----------
    drawn
        By time in s: what is drawn on each machine at the last call then.
    held
        By time in s: cap and CPUs on its first machine, of each CPU-only job that runs then.
    """

    knows_durations = True

    def __init__(self, eliminator, script):
        self._eliminator = eliminator
        self._script = {seconds_to_ns(t): act for t, act in script.items()}
        self.drawn, self.held, self.calls = {}, {}, []

    def decide(self, view):
        now, plan = view.now_ns / NS_PER_S, view.plan()
        self.calls.append(now)
        self.drawn[now] = view.observed_bandwidth_bytes_per_s.round(6).tolist()
        self._script.pop(view.now_ns, lambda view, plan: None)(view, plan)
        self._eliminator.throttle(view, plan)
        self.held[now] = held = {}
        for number in view.jobs.job.tolist():
            allocation = plan.changes.get(number, view.allocation(number))
            if allocation is not None and not view.demand(number).gpus:
                held[number] = (allocation.bandwidth_cap, allocation.slices[0].cpus)
        for later in self._script:
            plan.wake_at(later)
        return plan.done()


def placing(*allocations):
    """Return an act that starts jobs 0, 1, ... on these."""
    return lambda view, plan: [
        plan.place(number, allocation) for number, allocation in enumerate(allocations)
    ]


def look(view, plan):
    """Change nothing."""


def throttled(eliminator, jobs, script, cluster=M0):
    policy = Throttling(eliminator, script)
    _, log = run_checked(jobs, cluster, policy)
    return policy, log


GPU, EIGHT, FOUR = on((0, 1)), on((0, 0, 8)), on((0, 0, 4))


def test_a_cap_brings_the_total_to_the_threshold():
    """15 + 80 + 40 = 135 is seen at 0 s: 60 are left for 120, so both CPU jobs get 0.5; 75 from then on."""
    jobs = [G, cpu_job("a", 80), cpu_job("b", 40, 4), cpu_job("c", 0)]
    policy, _ = throttled(Capping(), jobs, {0: placing(GPU, EIGHT, FOUR, EIGHT), 1: look})
    assert policy.calls[:3] == [0, 0, 1]
    assert (policy.drawn[0], policy.drawn[1]) == ([135], [75])
    assert policy.held[0] == policy.held[1] == {1: (0.5, 8), 2: (0.5, 4), 3: (1.0, 8)}


def test_caps_are_lifted_as_soon_as_they_need_not_be():
    """Capped at 0.5 as above. A ends at 5 s: 15 + 40 fit. B has a cap of 1 then, and is faster."""
    jobs = [G, cpu_job("a", 80, seconds=5), cpu_job("b", 40, 4)]
    policy, _ = throttled(Capping(), jobs, {0: placing(GPU, EIGHT, FOUR), 1: look})
    assert policy.held[1] == {1: (0.5, 8), 2: (0.5, 4)}
    assert policy.held[5] == {2: (1.0, 4)}


def test_a_cap_is_raised_when_some_of_the_load_ends():
    """30 are left for 120 beside 45: 0.25. At 5 s a GPU job ends that drew 30: 60 are left, 0.5."""
    jobs = [G, job("h", 1, 5, memory_bandwidth_bytes_per_s=30), cpu_job("a", 80), cpu_job("b", 40, 4)]
    policy, _ = throttled(Capping(), jobs, {0: placing(GPU, GPU, EIGHT, FOUR), 1: look, 6: look})
    assert policy.held[1] == {2: (0.25, 8), 3: (0.25, 4)}
    assert policy.held[5] == {2: (0.5, 8), 3: (0.5, 4)}
    assert (policy.drawn[1], policy.drawn[6]) == ([75], [75])


def test_nothing_is_capped_without_gpu_jobs():
    """120 of 100 are drawn, and no job minds until g comes at 2 s; nor from 22 s on, when it has ended."""
    jobs = [cpu_job("a", 80, seconds=60), cpu_job("b", 40, 4, seconds=60), job("g", 1, 20, at=2)]
    script = {0: placing(EIGHT, FOUR), 1: look, 2: lambda view, plan: plan.place(2, GPU), 3: look}
    policy, _ = throttled(Capping(), jobs, script)
    assert policy.held[1] == {0: (1.0, 8), 1: (1.0, 4)}
    assert policy.held[2] == policy.held[3] == {0: (0.625, 8), 1: (0.625, 4)}  # 75 of 120
    assert policy.held[22] == {0: (1.0, 8), 1: (1.0, 4)}


@pytest.mark.parametrize("leave", [lambda v, p: p.stop(0), lambda v, p: p.place(0, on((1, 1)))])
def test_a_gpu_job_that_leaves_in_the_same_plan_does_not_count(leave):
    """At 1 s g stops, or moves, and 80 + 40 may be drawn from then on: caps are lifted in that plan."""
    jobs = [job("g", 1, 20, memory_bandwidth_bytes_per_s=15), cpu_job("a", 80), cpu_job("b", 40, 4)]
    script = {0: placing(GPU, EIGHT, FOUR), 1: leave, 2: placing(GPU)}
    policy, _ = throttled(Capping(), jobs, script, M0_M1)
    assert policy.held[1] == {1: (1.0, 8), 2: (1.0, 4)}
    assert policy.held[2] == {1: (0.5, 8), 2: (0.5, 4)}


def test_a_cap_is_no_less_than_a_twentieth():
    """Of 1000 bytes/s 5 would be left beside 70: a cap of 0.005, but 0.05 it is."""
    jobs = [job("g", 1, 20, memory_bandwidth_bytes_per_s=70), cpu_job("a", 1000)]
    policy, _ = throttled(Capping(), jobs, {0: placing(GPU, EIGHT), 1: look})
    assert policy.held[1] == {1: (0.05, 8)}
    assert policy.drawn[1] == [120]


def test_caps_are_rounded_down():
    """60 of 70 are 0.857142...: with 0.857 a total of 74.99, and the same again at any later call."""
    jobs = [G, cpu_job("a", 70), job("later", 1, 1, at=3)]
    script = {0: placing(GPU, EIGHT), 1: look, 3: lambda view, plan: plan.place(2, GPU)}
    policy, log = throttled(Capping(), jobs, script)
    assert policy.drawn[1] == [74.99]
    assert sum(isinstance(event, Change) for event in log) == 1  # the cap, at 0 s


def test_a_cap_computed_again_is_equal():
    """72 of 17 + 143 are left: 0.45; and again when h starts, of draws x 0.45 / 0.45, 160.00000000000003."""
    jobs = [job("g", 1, 20, memory_bandwidth_bytes_per_s=3), cpu_job("a", 17), cpu_job("b", 143)]
    script = {0: placing(GPU, EIGHT, EIGHT), 3: lambda view, plan: plan.place(3, GPU)}
    policy, log = throttled(Capping(), [*jobs, job("h", 1, 1, at=3)], script)
    assert policy.held[3] == policy.held[4] == {1: (0.45, 8), 2: (0.45, 8)}
    assert sum(isinstance(event, Change) for event in log) == 2  # both, at 0 s


def test_a_gpu_job_that_moves_beside_a_job_that_draws_is_seen_at_once():
    """G comes from m1 at 2 s to a, which draws 70: 85 in a second call then, so 60 / 70."""
    script = {0: placing(on((1, 1)), EIGHT), 2: lambda view, plan: plan.place(0, GPU), 3: look}
    policy, _ = throttled(Capping(), [G, cpu_job("a", 70)], script, M0_M1)
    assert (policy.drawn[2], policy.drawn[3]) == ([85, 0], [74.99, 0])


@pytest.mark.parametrize("eliminator", [Capping(), Halving()])
def test_gpu_jobs_are_never_throttled(eliminator):
    """Two GPU jobs draw 90 of 100 together; beside them a draws 1, and is throttled alone."""
    jobs = [job(name, 1, 9, memory_bandwidth_bytes_per_s=45) for name in "gh"]
    policy, log = throttled(eliminator, [*jobs, cpu_job("a", 8)], {0: placing(GPU, GPU, EIGHT), 1: look})
    assert {event.job for event in log if isinstance(event, Change)} == {2}
    assert policy.held[1] == ({2: (0.05, 8)} if isinstance(eliminator, Capping) else {2: (1.0, 1)})


def test_the_lowest_cap_of_several_machines_holds():
    """A draws 40 on each of two machines: beside 15 + 80 on m0, and beside 65 on m1.

    60 of 120 are left on m0, so 0.5, and 10 of 40 on m1, so 0.25: a has that, and b its 0.5. When g1 ends at
    5 s a has 0.5, too; when g0 does at 20 s both have 1.
    """
    jobs = [
        job("g0", 1, 20, memory_bandwidth_bytes_per_s=15),
        job("g1", 1, 5, memory_bandwidth_bytes_per_s=65),
        cpu_job("a", 80, 8, 90),
        cpu_job("b", 80, 8, 90),
    ]
    script = {0: placing(GPU, on((1, 1)), on((0, 0, 4), (1, 0, 4)), EIGHT), 1: look, 6: look, 21: look}
    policy, _ = throttled(Capping(), jobs, script, M0_M1)
    assert policy.held[1] == {2: (0.25, 4), 3: (0.5, 8)}
    assert policy.drawn[1] == [65, 75]
    assert policy.held[6] == {2: (0.5, 4), 3: (0.5, 8)}
    assert policy.drawn[6] == [75, 20]
    assert policy.held[21] == {2: (1.0, 4), 3: (1.0, 8)}


def test_a_capped_job_that_moves_away_is_free_of_its_cap():
    """At 1 s the policy moves a to m1, where no job trains: full speed there, and b alone fits on m0."""
    jobs = [G, cpu_job("a", 80), cpu_job("b", 40, 4)]
    away = {
        0: placing(GPU, EIGHT, FOUR),
        1: lambda view, plan: plan.place(1, on((1, 0, 8), cap=0.5)),
        2: look,
    }
    policy, _ = throttled(Capping(), jobs, away, M0_M1)
    assert policy.held[1] == policy.held[2] == {1: (1.0, 8), 2: (1.0, 4)}
    assert policy.drawn[2] == [55, 80]


def test_cores_are_halved_until_the_total_is_below():
    """15 + 80 + 40 = 135. A: 8 to 4 CPUs, 95; a and b draw 40, the first again: 2 CPUs, 20, so 75.

    They stay so when b ends at 5 s, and when g does at 20 s.
    """
    jobs = [G, cpu_job("a", 80, seconds=60), cpu_job("b", 40, 4, seconds=5), cpu_job("c", 0)]
    policy, _ = throttled(Halving(), jobs, {0: placing(GPU, EIGHT, FOUR, EIGHT), 1: look, 6: look, 21: look})
    assert (policy.drawn[0], policy.drawn[1], policy.drawn[6]) == ([135], [75], [35])
    assert policy.held[0] == policy.held[1] == {1: (1.0, 2), 2: (1.0, 4), 3: (1.0, 8)}
    assert policy.held[21][1] == (1.0, 2)


def test_no_cores_are_halved_without_gpu_jobs():
    """120 of 100 are drawn, and no job minds."""
    jobs = [cpu_job("a", 80), cpu_job("b", 40, 4)]
    policy, _ = throttled(Halving(), jobs, {0: placing(EIGHT, FOUR), 1: look})
    assert policy.held[1] == {0: (1.0, 8), 1: (1.0, 4)}


def test_the_last_core_stays():
    """3 CPUs of 300 bytes/s, halved: 1, still 100 of them; no more to be had, and the run goes on."""
    policy, _ = throttled(Halving(), [G, cpu_job("a", 300, 3)], {0: placing(GPU, on((0, 0, 3))), 1: look})
    assert policy.held[1] == {1: (1.0, 1)}
    assert policy.drawn[1] == [115]


def test_freed_cores_are_there_for_jobs_that_wait_at_the_same_instant():
    """A has all 32 CPUs and draws 80; with 16 it draws 40, and b, which waits for 4, starts at 0 s, too.

    It draws 40: 15 + 40 + 40 = 95, so a is halved again, to 8: 75.
    """

    class Starting(Throttling):
        def decide(self, view):
            self._script.setdefault(view.now_ns, self._start)
            return super().decide(view)

        def _start(self, view, plan):
            start_cpu_jobs(view, plan, view.free(), view.waiting.job.tolist())

    policy = Starting(Halving(), {0: placing(GPU, on((0, 0, 32))), 1: look})
    run_checked([G, cpu_job("a", 80, 32), cpu_job("b", 40, 4)], M0, policy)
    assert policy.held[1] == {1: (1.0, 8), 2: (1.0, 4)}
    assert policy.drawn[1] == [75]


@pytest.mark.parametrize("name", ELIMINATORS)
def test_nothing_is_done_or_asked_where_no_job_draws(name):
    """No second call at 0 s, no change: a run whose jobs draw nothing is what it was."""
    jobs = [job("g", 1, 20), cpu_job("a", 0), cpu_job("b", 0, 4)]
    policy, log = throttled(eliminator_of(name), jobs, {0: placing(GPU, EIGHT, FOUR)})
    assert policy.calls == [0]
    assert not any(isinstance(event, Change) for event in log)


@pytest.mark.parametrize("name", ELIMINATORS)
def test_a_machine_of_unknown_bandwidth_is_never_capped(name):
    """1000 bytes/s of an unknown bandwidth are no share of anything."""
    silent = tiny_cluster(1, 4, cpus=32)
    _, log = throttled(eliminator_of(name), [G, cpu_job("a", 1000)], {0: placing(GPU, EIGHT)}, silent)
    assert not any(isinstance(event, Change) for event in log)


def test_off_throttles_no_job():
    """135 of 100 at 0 s, and later."""
    jobs = [G, cpu_job("a", 80), cpu_job("b", 40, 4)]
    policy, _ = throttled(eliminator_of("off"), jobs, {0: placing(GPU, EIGHT, FOUR), 1: look})
    assert policy.drawn[1] == [135]


def test_the_threshold_may_be_another():
    """A quarter: 10 of 120 are left beside 15, 0.083 rounded down."""
    jobs = [G, cpu_job("a", 80), cpu_job("b", 40, 4)]
    policy, _ = throttled(Capping(threshold=0.25), jobs, {0: placing(GPU, EIGHT, FOUR), 1: look})
    assert policy.held[1] == {1: (0.083, 8), 2: (0.083, 4)}


def test_a_gpu_job_that_starts_beside_a_job_that_draws_is_seen_at_once():
    """A draws 70 alone. G starts at 2 s: 85 in a second call then, so 60 / 70; with h at 4 s no more."""
    jobs = [cpu_job("a", 70), job("g", 1, 20, at=2, memory_bandwidth_bytes_per_s=15), job("h", 1, 9, at=4)]
    script = {0: placing(EIGHT), 2: lambda v, p: p.place(1, GPU), 4: lambda v, p: p.place(2, GPU), 5: look}
    policy, _ = throttled(Capping(), jobs, script)
    assert (policy.drawn[2], policy.drawn[5]) == ([85], [74.99])
    assert policy.calls[:6] == [0, 0, 2, 2, 4, 4]


def test_a_name_that_is_none_is_refused():
    """The error names the allowed values; a part with a method `throttle` is taken as it is."""
    capping = Capping(0.5)
    adapter = TypeAdapter(AnyEliminator)
    assert adapter.validate_python(capping) is capping
    assert eliminator_of(capping) is capping
    with pytest.raises(ValidationError, match="no such part"):
        adapter.validate_python("mbs")


@pytest.mark.parametrize("name", ["mba", "halve"])
def test_gpu_jobs_alone_above_three_quarters_cap_no_cpu_job(name):
    """G draws 90 of 100 beside c, which draws nothing: c keeps its 8 CPUs and runs 20 s."""
    jobs = [job("g", 1, 20, memory_bandwidth_bytes_per_s=90), cpu_job("c", 0)]
    policy = Throttling(eliminator_of(name), {0: placing(on((0, 1, 1)), on((0, 0, 8)))})
    run_checked(jobs, M0, policy)
    assert policy.held[0] == {1: (1.0, 8)}
