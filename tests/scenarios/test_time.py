"""One decision per instant, order of events, timers, ticks, stop conditions, stuck runs."""

from dataclasses import replace

import pytest

from artist.core.buckets import ALL
from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.events import Arrival, Finish, Start, Wake
from artist.engine.stopping import StopRule
from artist.errors import StuckError
from artist.policies.basic.ordered import Ordered
from artist.testing.tiny import Scripted, job, on, run_checked, seconds, tiny_cluster
from artist.units import seconds_to_ns


def test_all_arrivals_of_an_instant_are_seen_in_one_decision():
    """Three jobs at t = 0 under SJF on one GPU: decided together the mean completion is 6, not 11.

    Ids in order of arrival: 9, 3, 1 s. Together: 1, then 1 + 3 = 4, then 4 + 9 = 13: mean 6.
    One call per event would start the 9 s job first: 9, 10, 13: mean 10.67.
    """
    jobs = [job("long", 1, 9), job("middle", 1, 3), job("short", 1, 1)]
    result, _ = run_checked(jobs, tiny_cluster(1, 1), Ordered(order="sjf"))
    assert seconds(result, "finish_ns") == [13, 4, 1]


def test_finish_and_arrival_of_one_instant_come_in_that_order_before_the_decision():
    """A GPU that comes free at t = 5 serves the job that arrives at t = 5 without waiting."""
    jobs = [job("a", 1, 5), job("b", 1, 2, at=5)]
    result, log = run_checked(jobs, tiny_cluster(1, 1), Ordered(order="fifo"))
    at5 = [type(e) for e in log if e.time_ns == seconds_to_ns(5)]
    assert at5 == [Finish, Arrival, Start]
    assert seconds(result, "queueing_ns") == [0, 0]


def test_equal_submit_times_keep_the_order_of_the_workload():
    """Ties are first in, first out by construction: b is listed before a."""
    result, _ = run_checked([job("b", 1, 5), job("a", 1, 5)], tiny_cluster(1, 1), Ordered(order="fifo"))
    assert [s.job_id for s in result.jobs] == ["b", "a"]
    assert seconds(result, "finish_ns") == [5, 10]


def test_a_policy_is_woken_when_it_asked_to_be():
    """wake_at(7) calls the policy at 7 although nothing else happens then; it starts the job there."""
    policy = Scripted({0: lambda v, p: None, 7: lambda v, p: p.place(0, on((0, 1)))})
    result, log = run_checked([job("a", 1, 5)], tiny_cluster(), policy)
    assert policy.calls == [0, 7]
    assert [e.time_ns for e in log if isinstance(e, Wake)] == [seconds_to_ns(7)]
    assert seconds(result, "finish_ns") == [12]


def test_a_later_wish_replaces_the_earlier_one():
    """wake_at(9) at t = 0, then wake_at(4) at t = 2: only 4 happens, so the job starts at 4."""

    class Policy:
        def __init__(self):
            self.calls = []

        def decide(self, view):
            plan, t = view.plan(), view.now_ns // 10**9
            self.calls.append(t)
            if t in (0, 2):
                plan.wake_at(seconds_to_ns({0: 9, 2: 4}[t]))
            if t == 4:
                plan.place(0, on((0, 1)))
                plan.place(1, on((0, 1)))
            return plan.done()

    policy = Policy()
    run_checked([job("a", 1, 1), job("b", 1, 1, at=2)], tiny_cluster(), policy)
    assert policy.calls == [0, 2, 4]  # both finish at 5; nobody is left to decide about


def test_leases_are_a_heap_of_the_policy_behind_one_timer():
    """Two leases of 4 s: job b gets a's GPU when a's lease ends at 4, a gets it back at 8.

    a: 6 s of work: runs 0-4 and 8-10; b: 4 s of work, runs 4-8.
    """

    class Leases:
        def decide(self, view):
            plan, t = view.plan(), view.now_ns
            running = [j for j in (0, 1) if j in set(view.jobs.job.tolist()) and view.allocation(j)]
            waiting = [j for j in view.jobs.job.tolist() if view.allocation(j) is None]
            expired = t % seconds_to_ns(4) == 0
            if waiting and (not running or expired):
                for j in running:
                    plan.stop(j)
                plan.place(waiting[0], on((0, 1)))
            plan.wake_at((t // seconds_to_ns(4) + 1) * seconds_to_ns(4))
            return plan.done()

    result, _ = run_checked([job("a", 1, 6), job("b", 1, 4)], tiny_cluster(1, 1), Leases())
    assert seconds(result, "finish_ns") == [10, 8]
    assert result.columns["preemptions"].tolist() == [1, 0]


def test_a_policy_on_a_grid_is_called_at_multiples_only():
    """Interval 10 s: a job that arrives at 3 starts at 10; ticks do not keep the run alive."""
    policy = Ordered(order="fifo", interval_s=10)
    policy.on_events = False
    result, _ = run_checked([job("a", 1, 5, at=3)], tiny_cluster(), policy)
    assert seconds(result, "first_start_ns") == [10]
    assert result.end_ns == seconds_to_ns(15)


@pytest.mark.parametrize(("only", "calls"), [(False, [0, 1, 2]), (True, [0, 2])])
def test_a_policy_may_be_left_alone_while_no_job_waits(only, calls):
    """A runs to 1 s, b to 4 s; c comes at 2 s. No job waits when a ends: that may be news at 2 s only."""
    heard = []

    class Starts:
        only_while_jobs_wait = only

        def decide(self, view):
            heard.append((view.now_ns, [(type(event), event.job) for event in view.news]))
            plan = view.plan()
            for j in view.waiting.job.tolist():
                plan.place(j, on((j % 2, 1)))
            return plan.done()

    jobs = [job("a", 1, 1), job("b", 1, 4), job("c", 1, 2, at=2)]
    run_checked(jobs, tiny_cluster(2, 1), Starts())
    assert [now for now, _ in heard][: len(calls)] == [seconds_to_ns(at) for at in calls]
    assert heard[len(calls) - 1][1] == [(Finish, 0)] * only + [(Arrival, 2)]


@pytest.mark.parametrize(("wait", "calls"), [(False, [0, 1, 2, 4, 7]), (True, [0, 4, 7])])
def test_a_plan_may_let_arrivals_wait_for_gpus(wait, calls):
    """A holds both GPUs to 4 s; b, at 1 s, needs both, and c, at 2 s, one: news at 4 s, when b starts.

    c starts when b ends at 7 s, and runs to 9 s.
    """
    heard = []

    class InOrder:
        def decide(self, view):
            heard.append((view.now_ns, [(type(event), event.job) for event in view.news]))
            plan = view.plan()
            first = view.waiting.job.tolist()[0]
            if view.free_gpus == 2:
                plan.place(first, on((0, view.demand(first).gpus)))
            if wait:
                plan.wait_for_gpus(1)
            return plan.done()

    jobs = [job("a", 2, 4), job("b", 2, 3, at=1), job("c", 1, 2, at=2)]
    result, _ = run_checked(jobs, tiny_cluster(1, 2), InOrder())
    assert [now for now, _ in heard] == [seconds_to_ns(at) for at in calls]
    assert heard[calls.index(4)][1] == [(Arrival, 1), (Arrival, 2)] * wait + [(Finish, 0)]
    assert seconds(result, "first_start_ns") == [0, 4, 7]


def test_only_a_strict_queue_waits_for_gpus():
    """One GPU, busy to 4 s; then three arrive. FIFO is asked at 0, at 1 (b waits) and at each finish."""
    jobs = [job("a", 1, 4), job("b", 1, 1, at=1), job("c", 1, 1, at=2), job("d", 1, 1, at=3)]
    for parameters, calls in (
        ({"order": "fifo"}, [0, 1, 4, 5, 6]),
        ({"order": "fifo", "backfill": True}, [0, 1, 2, 3, 4, 5, 6]),
        ({"order": "sjf"}, [0, 1, 2, 3, 4, 5, 6]),
    ):
        policy, asked = Ordered(**parameters), []
        decide = policy.decide
        policy.decide = lambda view, decide=decide, asked=asked: (asked.append(view.now_ns), decide(view))[1]
        run_checked(jobs, tiny_cluster(1, 1), policy)
        assert asked == [seconds_to_ns(at) for at in calls], parameters


def test_a_finish_ends_the_wait_of_arrivals_while_others_run():
    """A to 4 s and b to 10 s hold both GPUs; c (1 s) and d (2 s) wait: c starts at 4 s, d when c ends."""
    jobs = [job("a", 1, 4), job("b", 1, 10), job("c", 1, 3, at=1), job("d", 1, 1, at=2)]
    result, _ = run_checked(jobs, tiny_cluster(1, 2), Ordered(order="fifo"))
    assert seconds(result, "first_start_ns") == [0, 0, 4, 7]


@pytest.mark.parametrize(("joins", "calls"), [(False, [0, 1, 6, 8]), (True, [0, 1, 5, 6, 8])])
def test_a_finish_that_frees_too_few_gpus_needs_no_call(joins, calls):
    """A to 4 s, b to 6 s, d to 9 s hold 3 GPUs; c, at 1 s, needs 2: FIFO is asked at 6 s, 1 + 1 free.

    C runs from 6 to 8 s, e, which came at 2 s, from 8 to 10 s. A machine without GPUs that joins at 5 s has
    it asked then, too.
    """
    jobs = [job("a", 1, 4), job("b", 1, 6), job("d", 1, 9), job("c", 2, 2, at=1), job("e", 2, 2, at=2)]
    cluster = Cluster([Machine("full", 0, "box", gpus=3), Machine("late", 0, "box", gpus=0, present=False)])
    events = [CapacityEvent(seconds_to_ns(5), "join", 1)] * joins
    policy, asked = Ordered(order="fifo"), []
    decide = policy.decide
    policy.decide = lambda view: (asked.append(view.now_ns), decide(view))[1]
    result, _ = run_checked(jobs, cluster, policy, capacity_events=events)
    assert asked == [seconds_to_ns(at) for at in calls]
    assert seconds(result, "first_start_ns") == [0, 0, 0, 6, 8]


def test_a_refusal_of_the_chooser_lets_no_arrival_wait():
    """Two GPUs; the chooser refuses b at 1 s, though one is free, and takes it when c arrives at 2 s."""

    class Once:
        asked = 0

        def choose(self, free, demand, among=ALL):
            self.asked += 1
            return None if self.asked == 2 else {0: demand.gpus}

    jobs = [job("a", 1, 4), job("b", 1, 3, at=1), job("c", 1, 1, at=2)]
    result, _ = run_checked(jobs, tiny_cluster(1, 2), Ordered(order="fifo", placement=Once()))
    assert seconds(result, "first_start_ns") == [0, 2, 4]


@pytest.mark.parametrize("on_events", [True, False])
def test_a_tick_comes_once_an_instant(on_events):
    """Every 5 s: b arrives at 5 and a, of 10 s, ends at 10, on ticks; at 5 the policy also asks for a round.

    One call for tick and event together, a second one at 5 as asked, none twice for the tick; b runs 5-12.
    """

    class Policy(Scripted):
        interval_s = 5

        def decide(self, view):
            plan = super().decide(view)
            again = view.now_ns == seconds_to_ns(5) and self.calls.count(5) == 1
            return replace(plan, wake_ns=view.now_ns) if again else plan

    policy = Policy({0: lambda v, p: p.place(0, on((0, 1))), 5: lambda v, p: p.place(1, on((1, 1)))})
    policy.on_events = on_events
    run_checked([job("a", 1, 10), job("b", 1, 7, at=5)], tiny_cluster(), policy)
    assert policy.calls == [0, 5, 5, 10]


def test_a_window_of_jobs_ends_the_run():
    """Jobs 1 and 2 of four are measured: the run ends when the later of them finishes, at 3.

    One GPU, FIFO, 1 s each: finishes 1, 2, 3, (4). Job 3 has no finish time and waited 3 s.
    """
    jobs = [job(f"j{i}", 1, 1) for i in range(4)]
    result, _ = run_checked(jobs, tiny_cluster(1, 1), Ordered(order="fifo"), stop=StopRule(jobs=(1, 3)))
    assert result.stopped_by == "window"
    assert seconds(result, "finish_ns") == [1, 2, 3, -1]
    assert seconds(result, "queueing_ns") == [0, 1, 2, 3]


def test_stop_time_ends_the_run_and_books_finished_iterations():
    """Stopped at 2.5 s: 2 of 4 iterations are done, 2.5 s were run, the finish is empty."""
    result, _ = run_checked(
        [job("a", 1, 4)], tiny_cluster(), Ordered(order="fifo"), stop=StopRule(time_ns=seconds_to_ns(2.5))
    )
    assert (result.stopped_by, result.end_ns) == ("time", seconds_to_ns(2.5))
    assert result.columns["iterations"].tolist() == [2]
    assert seconds(result, "running_ns") == [2.5]
    assert result.busy_gpu_ns == seconds_to_ns(2.5)


def test_a_policy_that_never_starts_anything_is_reported_with_the_job_s_story():
    """Jobs that wait for ever end the run with an error that names the first one, after two calls."""
    policy = Scripted({})
    expected = r"(?s)stuck at 1\.0 s: 1 jobs wait.*'a'.*asks for 2 GPUs.*arrival"
    with pytest.raises(StuckError, match=expected) as error:
        run_checked([job("a", 2, 4, at=1)], tiny_cluster(), policy)
    assert (error.value.result.stopped_by, error.value.result.end_ns) == ("stuck", seconds_to_ns(1))
    assert policy.calls == [1, 1]


def test_a_stuck_policy_on_a_grid_is_reported_after_two_ticks():
    """Ticks alone do not keep a run alive."""
    policy = Scripted({})
    policy.interval_s, policy.on_events = 10, False
    with pytest.raises(StuckError, match="stuck at 20"):
        run_checked([job("a", 2, 4, at=1)], tiny_cluster(), policy)
    assert policy.calls == [10, 20]


def test_the_story_of_a_starved_job_lists_its_evictions():
    """A job that was started and stopped, and then starves, has that in its story."""
    policy = Scripted({0: lambda v, p: p.place(0, on((0, 1))), 2: lambda v, p: p.stop(0)})
    with pytest.raises(
        StuckError, match=r"(?s)1 starts, 1 preemptions.*2 iterations done.*stop \(preempted\)"
    ):
        run_checked([job("a", 1, 4)], tiny_cluster(), policy)


def test_unfinished_jobs_wait_only_while_a_future_event_is_due():
    """A policy may do nothing for long as long as an arrival is still to come: no stuck error."""
    policy = Scripted({100: lambda v, p: (p.place(0, on((0, 1))), p.place(1, on((0, 1))))})
    result, _ = run_checked([job("a", 1, 1), job("b", 1, 1, at=100)], tiny_cluster(), policy)
    assert seconds(result, "finish_ns") == [101, 101]
