"""A policy's view: columns at an instant, estimates instead of truth, and nothing undeclared."""

from copy import copy

import numpy as np
import pytest

from artist.core.events import Arrival
from artist.engine.overheads import Overheads
from artist.errors import PlanError
from artist.performance.estimates import Exact
from artist.testing.tiny import PlainPerformance, Scripted, job, on, run_checked, tiny_cluster
from artist.units import NS_PER_S, seconds_to_ns

JOBS = [job("a", 2, 10), job("b", 1, 6, at=1, guaranteed=False), job("c", 1, 5, at=2)]


def look(at, **knows):
    """Run a on m0 from 0, b never before `at`; return the view at `at`, through a list."""
    seen = []

    def act(v, p):
        seen.append(v)
        jobs = v.jobs
        for name in ("job", "gpus", "running", "held_gpus", "held_ns", "attained_gpu_ns", "waiting_since_ns"):
            getattr(jobs, name)  # columns are kept for the call
        for name in ("starts", "iterations_done", "observed_iteration_ns", "observed_gpu_utilization"):
            getattr(jobs, name)
        for flag in knows:
            names = {
                "knows_durations": ("ideal_ns", "remaining_ns"),
                "knows_iterations": ("iterations_left",),
            }
            for name in names.get(flag, ()):
                getattr(jobs, name)
        p.place(1, on((1, 1)))
        p.place(2, on((1, 1)))

    policy = Scripted({0: lambda v, p: p.place(0, on((0, 2))), at: act})
    policy.knows_durations = False
    for name, value in knows.items():
        setattr(policy, name, value)
    run_checked(JOBS, tiny_cluster(), policy)
    return seen[0].jobs


def test_columns_give_the_state_at_the_instant():
    """At 3.5: a has 3 of 10 iterations and 7 GPU-s; b waits since 1, c since 2."""
    jobs = look(3.5)
    assert jobs.job.tolist() == [0, 1, 2]
    assert jobs.running.tolist() == [True, False, False]
    assert jobs.iterations_done.tolist() == [3, 0, 0]
    assert jobs.held_gpus.tolist() == [2, 0, 0]
    assert (jobs.attained_gpu_ns / NS_PER_S).tolist() == [7, 0, 0]
    assert (jobs.held_ns / NS_PER_S).tolist() == [3.5, 0, 0]
    assert jobs.waiting_since_ns.tolist() == [-1, seconds_to_ns(1), seconds_to_ns(2)]
    assert jobs.observed_iteration_ns.tolist() == [NS_PER_S, 0, 0]
    assert jobs.observed_gpu_utilization.tolist() == [1, 0, 0]
    assert jobs.guaranteed.tolist() == [True, False, True]
    assert jobs.now_ns == seconds_to_ns(3.5)


def test_remaining_time_counts_the_open_iteration():
    """a: 10 - 3.5 = 6.5 s of ideal time left."""
    jobs = look(3.5, knows_durations=True, knows_iterations=True)
    assert (jobs.remaining_ns / NS_PER_S).tolist() == [6.5, 6, 5]
    assert (jobs.ideal_ns / NS_PER_S).tolist() == [10, 6, 5]
    assert jobs.iterations_left.tolist() == [7, 6, 5]


def test_waiting_jobs_are_a_subset_of_all():
    """Job 1 runs from 1 to 2, job 2 from 2 on; job 0 waits till 9 and could do with one GPU."""
    seen = []

    def note(v, p):
        seen.append((v.now_ns // NS_PER_S, v.waiting.job.tolist(), v.n_waiting))

    def stop(v, p):
        note(v, p)
        p.stop(1)
        p.place(2, on((1, 1)))

    def end(v, p):
        note(v, p)
        assert v.waiting.min_feasible_gpus.tolist() == [1, 1]
        p.place(0, on((0, 2)))
        p.place(1, on((1, 1)))

    elastic = job("e", 2, 10, min_gpus=1, max_gpus=4)
    policy = Scripted({1: lambda v, p: (note(v, p), p.place(1, on((0, 1)))), 2: stop, 3: note, 9: end})
    run_checked([elastic, job("b", 1, 6, at=1), job("c", 1, 5, at=2)], tiny_cluster(), policy)
    assert seen == [(1, [0, 1], 2), (2, [0, 2], 2), (3, [0, 1], 2), (9, [0, 1], 2)]


@pytest.mark.parametrize(
    ("column", "flag"),
    [
        ("remaining_ns", "durations"),
        ("ideal_ns", "durations"),
        ("iterations", "iterations"),
        ("iterations_left", "iterations"),
        ("compute_ns", "iterations"),
        ("model", "models"),
        ("skew", "models"),
        ("stage_ns", "stages"),
        ("alone_ns", "stages"),
    ],
)
def test_undeclared_knowledge_raises(column, flag):
    """A policy cannot quietly know more than its paper allows."""

    class Curious:
        def decide(self, view):
            getattr(view.jobs, column)

    told = f"policy Curious looks at {flag}; it, or its order, must declare knows_{flag} = True"
    with pytest.raises(PlanError, match=told):
        run_checked(JOBS, tiny_cluster(), Curious())


def test_undeclared_performance_raises():
    """view.performance is knowledge too."""

    class Curious:
        def decide(self, view):
            view.performance.at_gpus(0, [1])

    with pytest.raises(PlanError, match="knows_performance"):
        run_checked(JOBS, tiny_cluster(), Curious())


def test_beliefs_are_the_truth_times_the_estimate():
    """A factor of 2 doubles what is believed of durations and of performance, not what happens."""

    class Double(Exact):
        def factors(self, jobs):
            return np.full(len(jobs), 2.0)

    seen = {}

    class Asking:
        knows_durations = knows_performance = True

        def decide(self, view):
            plan = view.plan()
            seen["ideal"] = view.jobs.ideal_ns.tolist()
            seen["alone"] = view.performance.alone([0], [on((0, 2))]).tolist()
            seen["at"] = view.performance.at_gpus(0, [1, 2, 4]).tolist()
            plan.place(0, on((0, 2)))
            return plan.done()

    result, _ = run_checked([job("a", 2, 10)], tiny_cluster(), Asking(), estimates=Double())
    assert seen["ideal"] == [seconds_to_ns(20)]
    assert seen["alone"] == [2 * NS_PER_S]
    # 1, 2 and 4 GPUs: 2 s, 1 s, 0.5 s an iteration, believed doubled
    assert seen["at"] == [4 * NS_PER_S, 2 * NS_PER_S, NS_PER_S]
    assert result.columns["finish_ns"].tolist() == [seconds_to_ns(10)]


def test_profiles_are_of_gpus_close_together():
    """Four GPUs of two machines, as asked: all of the second on the GPU, unless the job says otherwise."""
    seen = {}

    class Asking:
        knows_stages = True

        def decide(self, view):
            seen["stages"], seen["alone"] = view.jobs.stage_ns.tolist(), view.jobs.alone_ns.tolist()
            plan = view.plan()
            plan.place(0, on((0, 2), (1, 2)))
            return plan.done()

    run_checked([job("a", 4, 10)], tiny_cluster(), Asking())
    assert seen == {"stages": [[0, 0, NS_PER_S, 0]], "alone": [NS_PER_S]}


def test_a_proposed_group_is_priced_before_it_runs():
    """Two members take turns: 2 s an iteration each, although nothing runs yet."""
    from artist.core.cluster import Group

    seen = {}

    class Asking:
        knows_performance = True

        def decide(self, view):
            plan = view.plan()
            if len(view.jobs) == 2 and not view.jobs.running.any():
                both = on((0, 2), group=Group("g", ((0, 2),)))
                seen["group"] = view.performance.together([0, 1], [both, both]).tolist()
                plan.place(0, on((0, 2)))
                plan.place(1, on((1, 2)))
            return plan.done()

    run_checked([job("a", 2, 3), job("b", 2, 3)], tiny_cluster(), Asking(), PlainPerformance())
    assert seen["group"] == [2 * NS_PER_S, 2 * NS_PER_S]


def test_news_exclude_the_policys_own_actions():
    """Its own starts are not news; arrivals are, all since its last call."""
    news = []

    class Listening:
        def decide(self, view):
            news.append([type(e).__name__ for e in view.news])
            plan = view.plan()
            for j in view.jobs.job[~view.jobs.running].tolist():
                plan.place(j, on((j, 1)))
            return plan.done()

    run_checked([job("a", 1, 3), job("b", 1, 1, at=1)], tiny_cluster(), Listening())
    assert news == [["Arrival"], ["Arrival"], ["Finish"]]
    assert Arrival.__name__ == "Arrival"


def test_signals_never_look_ahead():
    """A series with a value at 0 and one at 5: at t = 1 only the first is there, even if asked for t = 9."""

    class Series:
        def up_to(self, time_ns):
            times = np.array([0, seconds_to_ns(5)])
            known = times <= time_ns
            return times[known], np.array([0.4, 0.9])[known]

    seen = {}

    def act(v, p):
        seen["times"] = v.signals["inference"].up_to(seconds_to_ns(9))[0].tolist()
        p.place(0, on((0, 1)))

    run_checked([job("a", 1, 8)], tiny_cluster(), Scripted({1: act}), signals={"inference": Series()})
    assert seen["times"] == [0]


def test_a_kept_free_object_does_not_change_with_the_cluster():
    """Kept at 0, unread until 1, while a and b start: 2 + 2 GPUs of 2 machines; taken from at 0: 1 + 2."""
    kept = []

    def start(v, p):
        kept.extend([v.free(), v.free()])
        kept[1].take(on((0, 1)))
        p.place(0, on((0, 2)))

    def again(v, p):
        assert [free.gpus.tolist() for free in kept] == [[2, 2], [1, 2]]
        assert v.free().gpus.tolist() == [0, 2]
        p.place(1, on((1, 1)))
        p.place(2, on((1, 1)))

    run_checked(JOBS, tiny_cluster(), Scripted({0: start, 2: again}))
    assert kept[0].total_gpus == kept[0].buckets.total() == 4  # also after the run


def test_changes_of_buckets_or_copies_do_not_reach_the_machines():
    """2 of 2 + 2 GPUs moved in buckets whose `free` is dropped, 2 of its copy taken later: a gets its 2."""
    copies = []

    def start(v, p):
        v.free().buckets.move(0, 2, 0)
        copies.append(copy(v.free()))
        p.place(0, on((0, 2)))

    def again(v, p):
        assert copies[0].gpus.tolist() == [2, 2]
        copies[0].take(on((1, 2)))
        assert (copies[0].total_gpus, v.free().buckets.total()) == (2, 2)
        p.place(1, on((1, 1)))
        p.place(2, on((1, 1)))

    run_checked(JOBS, tiny_cluster(), Scripted({0: start, 2: again}))


def test_gpus_that_waiting_jobs_ask_for_are_counted():
    """Job a (2 GPUs) starts at 0; b waits from 1, c from 2, one GPU each; a stops at 3, is back at 4."""
    seen = []

    def look_and(act):
        return lambda v, p: (seen.append((v.waiting_gpus, int(v.waiting.gpus.sum()))), act(p))

    def finish(p):
        p.place(1, on((1, 1)))
        p.place(2, on((1, 1)))

    script = {0: lambda p: p.place(0, on((0, 2))), 2: lambda p: None, 3: lambda p: p.stop(0)}
    script |= {4: lambda p: p.place(0, on((0, 2))), 5: finish}
    run_checked(JOBS, tiny_cluster(), Scripted({at: look_and(act) for at, act in script.items()}))
    assert seen == [(2, 2), (2, 2), (2, 2), (4, 4), (2, 2)]


def test_time_held_counts_delays():
    """With 2 s to start, a runs from 0 and stops at 5: it held for 2 + 3 = 5 s, not the 3 s of progress."""
    seen = []

    def act(v, p):
        seen.append(int(v.jobs.held_ns[0]) / NS_PER_S)
        p.place(0, on((0, 2)))

    policy = Scripted({0: lambda v, p: p.place(0, on((0, 2))), 5: lambda v, p: p.stop(0), 6: act})
    run_checked(JOBS[:1], tiny_cluster(), policy, overheads=Overheads(start_s=2))
    assert seen == [5]
