"""Faults that a review found, each as the schedule or the refusal that was wrong."""

import numpy as np
import pytest

from artist.core.cluster import CapacityEvent, Cluster, Group, Machine
from artist.core.events import MachineEvent
from artist.core.iteration import IterationParts
from artist.core.job import Demand, JobSpec
from artist.engine.engine import Engine
from artist.engine.overheads import Overheads
from artist.engine.stopping import StopRule
from artist.errors import InputError, PlanError, StuckError
from artist.policies.basic.ordered import Ordered
from artist.policies.tiresias.policy import Tiresias
from artist.testing.tiny import PlainPerformance, Scripted, job, on, run_checked, seconds, tiny_cluster
from artist.units import NS_PER_S, seconds_to_ns


def test_numpy_numbers_of_a_policy_do_not_overflow_the_integrals():
    """8,000 GPUs for 40 days are 2.8e19 GPU-ns, more than an int64 holds; slices and wake-ups are numpy's."""
    cluster = Cluster([Machine(f"m{i}", 0, "box", 8) for i in range(1000)])
    days = [job(f"j{i}", 8, 40 * 86400, iteration_s=3600) for i in range(1000)]

    class Numpy:
        def decide(self, view):
            plan, free = view.plan(), view.free().gpus
            for j in view.jobs.job[~view.jobs.running]:
                plan.place(j, on((int(j), free[j])))
            plan.wake_at(np.int64(view.now_ns) + seconds_to_ns(86400 * 30))
            return plan.done()

    result, _ = run_checked(days, cluster, Numpy())
    assert result.busy_gpu_ns == 8000 * 40 * 86400 * NS_PER_S


@pytest.mark.parametrize(
    ("mode", "lost"), [("lose_iteration", 0.6), ("lose_since_checkpoint", 1.6), ("lose_all", 3.6)]
)
def test_lost_time_is_the_time_that_was_spent_on_it(mode, lost):
    """Three iterations of 1 s and half of one, then capped to a tenth for 0.1 s: 3.6 s run, stopped.

    The open iteration took 0.5 + 0.1 s, though at the present speed it would have taken 5 s. With a
    checkpoint every second iteration, what was run since 2 is lost: 1 + 0.6 s.
    """
    slow = PlainPerformance(slow=lambda spec, a: 1 / a.bandwidth_cap)
    script = {
        0: lambda v, p: p.place(0, on((0, 1))),
        3.5: lambda v, p: p.place(0, on((0, 1), cap=0.1)),
        3.6: lambda v, p: p.stop(0),
        9: lambda v, p: p.place(0, on((0, 1))),
    }
    overheads = Overheads(on_stop=mode, checkpoint_every_s=2)
    result, _ = run_checked([job("a", 1, 10)], tiny_cluster(), Scripted(script), slow, overheads=overheads)
    assert seconds(result, "lost_ns") == [lost]


def test_a_move_s_loss_is_not_lost_again():
    """Moved at 2.5 (0.5 lost), stopped at 3.2: back to the checkpoint at 2 loses 0.7 s more, 1.2 in all."""
    script = {
        0: lambda v, p: p.place(0, on((0, 1))),
        2.5: lambda v, p: p.place(0, on((1, 1))),
        3.2: lambda v, p: p.stop(0),
        6: lambda v, p: p.place(0, on((1, 1))),
    }
    overheads = Overheads(on_stop="lose_since_checkpoint", checkpoint_every_s=2)
    result, _ = run_checked([job("a", 1, 10)], tiny_cluster(), Scripted(script), overheads=overheads)
    assert seconds(result, "lost_ns") == [1.2]
    assert seconds(result, "running_ns") == [10 + 1.2]


def test_a_group_goes_with_any_of_its_machines():
    """A group owns m0 and m1, a sits on m0, b on m1; m1 fails at 2: both stop, and no GPU of it stays busy.

    Both at half speed until 2 (1 of 3 done); a goes on alone on m0 at 2 and ends at 4; b from 4 to 6 on m1.
    """
    group = Group("g", ((0, 2), (1, 2)))

    def start(v, p):
        p.place(0, on((0, 2), group=group))
        p.place(1, on((1, 2), group=group))

    script = {0: start, 2: lambda v, p: p.place(0, on((0, 2))), 4: lambda v, p: p.place(1, on((1, 2)))}
    events = [CapacityEvent(seconds_to_ns(2), "fail", 1), CapacityEvent(seconds_to_ns(4), "join", 1)]
    policy = Scripted(script)
    result, _ = run_checked([job("a", 2, 3), job("b", 2, 3)], tiny_cluster(), policy, capacity_events=events)
    assert seconds(result, "finish_ns") == [4, 6]
    assert result.columns["evictions"].tolist() == [1, 1]
    # 4 GPUs for 2 s, 2 until 4, 2 until 6
    assert result.busy_gpu_ns == seconds_to_ns(8 + 4 + 4)


def test_a_policy_that_is_never_called_is_refused():
    """Neither on events nor on a grid; and a grid of zero."""
    policy = Scripted({})
    policy.on_events = False
    with pytest.raises(InputError, match="never called"):
        run_checked([job("a")], tiny_cluster(), policy)
    for wrong in (0, -1, "x", 1e-9):
        policy.interval_s = wrong
        with pytest.raises(InputError, match="interval"):
            run_checked([job("a")], tiny_cluster(), policy)


def test_a_policy_that_wakes_itself_for_ever_is_stopped():
    """wake_at(now) at every call."""

    class Restless:
        def decide(self, view):
            plan = view.plan()
            plan.wake_at(view.now_ns)
            return plan.done()

    with pytest.raises(PlanError, match="policy Restless wakes itself forever at 0"):
        run_checked([job("a")], tiny_cluster(), Restless())


class Polling:
    """Starts what fits, and wakes itself again and again."""

    def __init__(self, every_ns, places=True):
        self.every_ns, self.places = every_ns, places

    def decide(self, view):
        plan = view.plan()
        for j in view.jobs.job[~view.jobs.running] if self.places else ():
            plan.place(j, on((0, 1)))
        plan.wake_at(view.now_ns + self.every_ns)
        return plan.done()


def test_a_policy_that_wakes_itself_each_nanosecond_is_stopped(monkeypatch):
    """A job of 10 s from 0 on: the thousandth wake-up comes 999 ns after the first, at 1 us.

    Of four jobs, 500 ns apart, the last comes at 1.5 us: never 1000 in a row until 2.5 us.
    """
    monkeypatch.setattr("artist.engine.wakes._MANY", 1000)
    told = "policy Polling woke itself 1,000 times in a row, the last 1,000 times within 9.99e-07 s"
    with pytest.raises(PlanError, match=told + r".* at 1e-06 s; the next event is due at 10.0 s; wake_at"):
        run_checked([job("a")], tiny_cluster(), Polling(1))
    stream = [job(f"j{i}", at=i * 5e-7) for i in range(4)]
    with pytest.raises(PlanError, match=r"1,000 times .* at 2.5e-06 s"):
        run_checked(stream, Cluster([Machine("m0", 0, "box", 4)]), Polling(1))


def test_a_policy_that_polls_slowly_is_not_stopped(monkeypatch):
    """Each second for 3,500 s while a job runs, which is three times as many as are looked at."""
    monkeypatch.setattr("artist.engine.wakes._MANY", 1000)
    result, _ = run_checked([job("a", seconds=3500)], tiny_cluster(), Polling(NS_PER_S))
    assert seconds(result, "finish_ns") == [3500]


def test_a_policy_that_polls_for_nothing_is_stopped(monkeypatch):
    """A job waits, nothing runs and nothing is due: ten times as many, then it is told."""
    monkeypatch.setattr("artist.engine.wakes._MANY", 100)
    with pytest.raises(PlanError, match=r"1,000 times in a row, the last 100 .* nothing else is due"):
        run_checked([job("a")], tiny_cluster(), Polling(60 * NS_PER_S, places=False))
    later = [job("a"), job("b", at=90_000)]  # due for 1500 wake-ups, and 1000 more follow: until 150,000 s
    with pytest.raises(PlanError, match=r"1,000 times in a row, .* at 15\d{4}.0 s; nothing else is due"):
        run_checked(later, tiny_cluster(), Polling(60 * NS_PER_S, places=False))


class Churning:
    """Stops the job that runs at one call and starts the next at another, or moves it to the next machine."""

    def __init__(self, every_ns, machines=1):
        self.every_ns, self.machines, self.turn = every_ns, machines, 0

    def decide(self, view):
        plan = view.plan()
        running = view.jobs.job[view.jobs.running].tolist()
        self.turn += 1
        if self.machines > 1 and running:
            plan.place(running[0], on((self.turn % self.machines, 1)))
        elif running:
            plan.stop(running[0])
        else:
            waiting = view.jobs.job.tolist()
            plan.place(waiting[self.turn // 2 % len(waiting)], on((0, 1)))
        plan.wake_at(view.now_ns + self.every_ns)
        return plan.done()


@pytest.mark.parametrize(
    ("every_ns", "machines", "options"),
    [
        (0, 1, {}),  # at one instant
        (1, 1, {}),
        (NS_PER_S // 2, 1, {}),  # half of an iteration, and it is lost
        (NS_PER_S // 2, 2, {}),  # moves do so, too
        (5 * NS_PER_S, 1, {"overheads": Overheads(start_s=9, restart_s=9, resume_s=9)}),
        (3 * NS_PER_S, 1, {"overheads": Overheads(on_stop="lose_all")}),
        (1, 1, {"overheads": Overheads(on_stop="keep")}),  # 10 s would take 20 billion calls
    ],
)
def test_a_policy_that_preempts_without_progress_is_stopped(every_ns, machines, options):
    """Two jobs of 10 iterations of 1 s stop or move again before one gets further than before."""
    kind = StuckError if every_ns else PlanError  # at one instant no time passes
    with pytest.raises(kind, match=r"without progress of any job, at |forever at 0") as error:
        run_checked([job("a"), job("b")], tiny_cluster(2), Churning(every_ns, machines), **options)
    assert "Churning" in str(error.value)
    if every_ns:
        assert error.value.result.stopped_by == "stuck"


def test_a_policy_that_preempts_often_but_to_some_end_is_not_stopped():
    """Turns of 0.25 ms that keep their progress: two jobs of 1 s need 8,000 turns, and as many stops."""
    jobs, keep = [job("a", seconds=1), job("b", seconds=1)], Overheads(on_stop="keep")
    result, _ = run_checked(jobs, tiny_cluster(), Churning(NS_PER_S // 4000), overheads=keep)
    assert result.columns["preemptions"].sum() > 7_000


def test_changes_are_counted_anew_when_a_job_arrives(monkeypatch):
    """280 starts and stops, half a second each, are 28 checks; a job comes each 10 s, after two of them.

    From 140 s on turns last for 1.5 s, and all complete their one iteration.
    """
    monkeypatch.setattr("artist.engine.wakes._A_CHECK", 10)

    class Second(Churning):
        def decide(self, view):
            self.every_ns = NS_PER_S * (3 if view.now_ns >= 140 * NS_PER_S else 1) // 2
            return super().decide(view)

    jobs = [job(f"j{i}", seconds=1, at=10 * i) for i in range(15)]
    result, _ = run_checked(jobs, tiny_cluster(), Second(0))
    assert result.columns["preemptions"].sum() > 100


def test_assigning_the_pool_that_it_has_changes_nothing():
    """No event, and it does not keep a stuck run alive."""

    class Orchestrator:
        def decide(self, view):
            plan = view.plan()
            plan.assign(0, "default")
            return plan.done()

    with pytest.raises(StuckError):
        run_checked([job("a")], tiny_cluster(), Orchestrator())


def test_a_machine_leaves_before_it_joins_again_at_the_same_instant():
    """Deadline 5, join 5: a is evicted at 5, the machine is back at once, a starts there again."""
    events = [
        CapacityEvent(seconds_to_ns(1), "leave", 0, seconds_to_ns(5)),
        CapacityEvent(seconds_to_ns(5), "join", 0),
    ]
    result, log = run_checked(
        [job("a", 2, 10)], tiny_cluster(1), Ordered(order="fifo"), capacity_events=events
    )
    assert [e.type for e in log if isinstance(e, MachineEvent)] == ["leave", "left", "join"]
    assert result.columns["evictions"].tolist() == [1]
    assert seconds(result, "finish_ns") == [10]


def test_the_view_gives_the_deadline_of_a_leaving_machine():
    """A policy may move jobs away in time."""
    seen = []

    class Listening(Ordered):
        def decide(self, view):
            seen.extend(e.deadline_ns for e in view.news if isinstance(e, MachineEvent))
            return super().decide(view)

    events = [CapacityEvent(seconds_to_ns(1), "leave", 0, seconds_to_ns(5))]
    run_checked([job("a", 1, 3)], tiny_cluster(), Listening(order="fifo"), capacity_events=events)
    assert seen == [seconds_to_ns(5)]


def test_cpu_only_jobs_are_never_stopped_by_a_ranking():
    """SRTF without overtaking: c (CPUs only) is ranked last, but nobody needs its CPUs: it runs 0-9."""
    jobs = [job("c", 0, 9, cpus=1), job("a", 4, 3, at=1), job("b", 4, 5, at=1)]
    for skip in (True, False):
        policy = Ordered(order="srtf", preemptive=True, backfill=skip)
        result, _ = run_checked(jobs, tiny_cluster(cpus=8), policy)
        assert seconds(result, "finish_ns") == [9, 4, 9]


def types():
    return Cluster([Machine("a", 0, "A", 1, gpu_type="A"), Machine("b", 0, "B", 1, gpu_type="B")])


def test_a_job_that_needs_one_gpu_type_preempts_on_that_type():
    """L (100 s, any type) got A; h (3 s, A only) comes at 1: under SRTF l makes room, and goes on on B."""
    jobs = [job("l", 1, 100), job("h", 1, 3, at=1, gpu_types=("A",)), job("x", 1, 1, at=2, gpu_types=("B",))]
    result, _ = run_checked(jobs, types(), Ordered(order="srtf", preemptive=True, backfill=True))
    assert seconds(result, "finish_ns")[1:] == [4, 3]


def test_mixed_types_are_no_excuse_for_a_demand_of_one_type():
    """Types A or B, one GPU each: two GPUs of one type exist nowhere."""
    with pytest.raises(InputError, match="can never fit"):
        run_checked([job("a", 2, gpu_types=("A", "B"))], types(), Ordered(order="fifo"))


@pytest.mark.parametrize(
    "demand",
    [
        {"gpus": 0, "cpus": 1, "memory_bytes": 10**9},
        {"gpus": 3, "min_gpus": 2, "max_gpus": 4, "step": 2},
        {"gpus": 2, "min_gpus": 2, "max_gpus": 4, "step": 0},
    ],
)
def test_demands_off_the_grid_or_beyond_memory_are_refused(demand):
    """Memory of a CPU job, a GPU count between the steps, a step of zero."""
    with pytest.raises(InputError, match="can never fit"):
        run_checked([job("a", **demand)], tiny_cluster(cpus=4), Ordered(order="fifo"))


def test_a_machine_that_never_joins_does_not_count():
    """Absent at the start, and no event lets it join."""
    cluster = Cluster([Machine("m0", 0, "box", 2), Machine("m1", 0, "box", 2, present=False)])
    with pytest.raises(InputError, match="can never fit"):
        run_checked([job("a", 4)], cluster, Ordered(order="fifo"))


def test_a_job_too_long_to_count_is_refused():
    """2^62 ns are 1,281,024 h: a job of 147 years is longer."""
    giant = JobSpec("a", 0, Demand(8), 147 * 365 * 24, 3600 * NS_PER_S)
    with pytest.raises(InputError, match=r"too long to count.*\n.*1,281,024 h"):
        run_checked([giant], tiny_cluster(1, 8), Ordered(order="fifo"))


def test_gpu_times_beyond_64_bits_are_counted_exactly():
    """Llama 3, two at a time: 16,384 GPUs x 54 days x 86,400 x 10^9 ns = 7.64 x 10^19 ns, 8.3 times 2^63.

    Under 2D-LAS as well, which ranks by GPU time: the second starts when the first has ended.
    """
    llama = [JobSpec(name, 0, Demand(16_384), 54 * 24, 3600 * NS_PER_S) for name in "ab"]
    for order in ("fifo", "las2d"):
        result, _ = run_checked(llama, tiny_cluster(2048, 8), Ordered(order=order))
        assert result.columns["gpu_held_ns"].tolist() == [16_384 * 54 * 86_400 * NS_PER_S] * 2
        assert result.columns["queueing_ns"].tolist() == [0, 54 * 86_400 * NS_PER_S]


def test_capacity_events_name_machines_that_exist():
    """Machine 7 of 2."""
    with pytest.raises(InputError, match="capacity event"):
        run_checked(
            [job("a")], tiny_cluster(), Ordered(order="fifo"), capacity_events=[CapacityEvent(0, "fail", 7)]
        )


@pytest.mark.parametrize("parts", [IterationParts(0), IterationParts(5, exposed_ns=-1)])
def test_wrong_prices_are_named(parts):
    """An iteration of no time, a negative part."""

    class Wrong(PlainPerformance):
        def reprice(self, changed, running):
            return {c.job: parts for c in changed if c.after}

    with pytest.raises(RuntimeError, match="wrong price for job 'a'"):
        run_checked([job("a")], tiny_cluster(), Ordered(order="fifo"), Wrong())


def test_a_wake_up_calls_a_policy_that_is_called_on_a_grid_only():
    """Grid of 100 s, but it asked for 107."""
    policy = Scripted({100: lambda v, p: p.place(0, on((0, 1))), 107: lambda v, p: None})
    policy.on_events, policy.interval_s = False, 100
    run_checked([job("a", 1, 50, at=1)], tiny_cluster(), policy)
    assert policy.calls == [100, 107]


def test_the_future_is_not_to_be_seen():
    """Job 1 arrives at 5; neither its size nor its columns are there at 0."""

    class Peeking:
        def __init__(self, look):
            self.look = look

        def decide(self, view):
            self.look(view)

    for look in (lambda v: v.demand(1), lambda v: v.columns([1]).gpus):
        with pytest.raises(PlanError, match="job number 1, which has not arrived"):
            run_checked([job("a"), job("b", 1, 1, at=5)], tiny_cluster(), Peeking(look))


def test_a_window_beyond_the_jobs_is_refused():
    """Jobs 5 to 9 of one."""
    with pytest.raises(InputError, match="no such window"):
        run_checked([job("a")], tiny_cluster(), Ordered(order="fifo"), stop=StopRule(jobs=(5, 9)))


def test_malformed_allocations_and_wakes_are_refused():
    """A string, fractions of GPUs, a wake-up in fractions."""
    for act, match in (
        (lambda v, p: p.place(0, "m0"), "allowed: an Allocation"),
        (lambda v, p: p.place(0, on((0, 1.0))), "whole numbers"),
        (lambda v, p: p.place("a", on((0, 1))), "job number 'a' is unknown"),
        (lambda v, p: p.wake_at(1.5), "whole number of nanoseconds"),
    ):
        with pytest.raises(PlanError, match=match):
            run_checked([job("a")], tiny_cluster(), Scripted({0: act}))


def test_loss_at_stops_may_differ_per_job():
    """B starts over, a keeps its checkpoint: both stopped at 3 (1 s iterations), back at 4."""
    a = job("a", 1, 5)
    b = JobSpec("b", 0, Demand(1), 5, NS_PER_S, on_stop="lose_all")

    def both(v, p):
        p.place(0, on((0, 1)))
        p.place(1, on((0, 1)))

    def none(v, p):
        p.stop(0)
        p.stop(1)

    result, _ = run_checked([a, b], tiny_cluster(), Scripted({0: both, 3: none, 4: both}))
    assert seconds(result, "finish_ns") == [6, 9]


def test_a_rescale_that_keeps_some_gpus_is_a_resize():
    """m0:2 + m1:2 -> m0:2 + m2:1: fewer GPUs, those on m0 kept."""
    from artist.core.events import Change

    script = {0: lambda v, p: p.place(0, on((0, 2), (1, 2))), 2: lambda v, p: p.place(0, on((0, 2), (2, 1)))}
    _, log = run_checked([job("a", 4, 9, min_gpus=1, max_gpus=4)], tiny_cluster(3), Scripted(script))
    assert [e.type for e in log if isinstance(e, Change)] == ["resize"]


def test_tiresias_wakes_by_the_gpus_that_a_job_holds():
    """A fungible job of 1 holds 2 GPUs of half the speed: 4 GPU-s are reached at 2, when b gets its turn."""
    cluster = Cluster([Machine("slow", 0, "t", 2, gpu_type="T", speed=0.5)])
    jobs = [job("a", 1, 9, fungible=True), job("b", 1, 1, at=1, fungible=True)]

    class Held(PlainPerformance):
        def _parts(self, spec, allocation, running):
            return IterationParts(NS_PER_S)

    result, _ = run_checked(jobs, cluster, Tiresias(thresholds_gpu_s=(4,)), Held())
    assert seconds(result, "first_start_ns") == [0, 2]


def test_unsubmitted_engine_of_no_jobs_ends_at_once():
    """Nothing to do is no error of the engine."""
    result = Engine([], tiny_cluster(), Ordered(order="fifo"), PlainPerformance()).run()
    assert (result.end_ns, result.events) == (0, 0)


@pytest.mark.parametrize("backfill", [True, False])
def test_an_elastic_job_larger_than_the_cluster_runs_on_all_gpus(backfill):
    """8 GPUs asked, 2 to 8 allowed, 4 there: 10 iterations of 1 s at 8 GPUs take 2 s each on 4: 20 s."""
    spec = job("a", 8, 10, min_gpus=2, max_gpus=8)
    for policy in (
        Ordered(order="fifo", backfill=backfill),
        Ordered(order="srtf", preemptive=True, backfill=backfill),
        Tiresias(backfill=backfill),
    ):
        result, _ = run_checked([spec], tiny_cluster(), policy)
        assert seconds(result, "finish_ns") == [20]


@pytest.mark.parametrize(
    ("demand", "gpus"),
    [
        ({"gpus": 4, "min_gpus": 1, "max_gpus": 4, "gpu_types": ("A",)}, 2),
        ({"gpus": 6, "min_gpus": 1, "max_gpus": 6}, 4),
        ({"gpus": 6, "min_gpus": 1, "max_gpus": 6, "max_machines": 1}, 4),
    ],
)
def test_an_elastic_job_is_measured_by_the_machines_that_it_may_use(demand, gpus):
    """2 GPUs of type A, 4 of type B: as many as its types and machines allow."""
    cluster = Cluster([Machine("a", 0, "A", 2, gpu_type="A"), Machine("b", 0, "B", 4, gpu_type="B")])
    for policy in (Ordered(order="fifo"), Ordered(order="srtf", preemptive=True, backfill=True)):
        result, _ = run_checked([job("x", seconds=3, **demand)], cluster, policy)
        held = result.columns["gpu_held_ns"][0] / (result.columns["finish_ns"][0])
        assert held == gpus


def test_one_gpu_type_has_one_speed():
    """Otherwise how many GPUs a fungible job takes would depend on the machine."""
    with pytest.raises(InputError, match="two speeds"):
        Cluster([Machine("a", 0, "x", 2, speed=1.0), Machine("b", 0, "y", 2, speed=2.0)])


def test_groups_count_in_whole_numbers():
    """1.5 GPUs are none."""
    half = on((0, 1), group=Group("g", ((0, 1.5),)))
    with pytest.raises(PlanError, match="whole numbers"):
        run_checked([job("a")], tiny_cluster(), Scripted({0: lambda v, p: p.place(0, half)}))


def test_a_job_that_makes_room_moves_rather_than_waits_beside_free_gpus():
    """At 2 r1 has 3 GPUs of m0, where x has left one, and v one of m1; w (4 GPUs of one machine) precedes v.

    V makes room on m1, and goes on on m0 at once.
    """
    jobs = [job("r1", 3, 600), job("x", 1, 1, at=0.05), job("v", 1, 1000, at=0.1), job("w", 4, 700, at=2)]
    policy = Ordered(order="srtf", preemptive=True, backfill=True, placement="consolidate_machine")
    result, _ = run_checked(jobs, tiny_cluster(2, 4), policy)
    by_id = dict(zip((s.job_id for s in result.jobs), seconds(result, "queueing_ns"), strict=True))
    assert by_id["v"] == by_id["w"] == 0
    assert result.columns["migrations"].tolist() == [0, 0, 1, 0]
