"""Shifts of iterations: what a plan may ask, what the engine keeps, and what `view.performance` says."""

import pytest

from artist.core.iteration import IterationParts
from artist.errors import PlanError
from artist.testing.tiny import PlainPerformance, Scripted, job, on, run_checked, tiny_cluster
from artist.units import seconds_to_ns

ONE_S, HALF_S = seconds_to_ns(1), seconds_to_ns(0.5)
TWO = [job("a", 1, 10), job("b", 1, 10)]


class Colliding(PlainPerformance):
    """Jobs of m0 take one second longer for each other job there that has their shift; counts questions."""

    asked = 0

    def reprice(self, changed, running):
        self.asked += 1
        there = list(running.jobs_on(0))
        return {job: IterationParts(ONE_S, contention_ns=self._others(job, there, running)) for job in there}

    def _others(self, job, there, running):
        same = [item for item in there if running.shift_ns(item) == running.shift_ns(job)]
        return (len(same) - 1) * ONE_S


def start_both(v, p):
    """A and b on the two GPUs of m0, aligned: 2 s an iteration instead of 1."""
    p.place(0, on((0, 1)))
    p.place(1, on((0, 1)))


def shift_b(v, p):
    p.shift(1, HALF_S)


def ran(script, jobs=TWO, performance=None):
    """Run a script on m0; return the finish times in seconds and the columns."""
    policy = Scripted(script)
    policy.knows_performance = True
    result, _ = run_checked(jobs, tiny_cluster(1), policy, performance or Colliding())
    return [ns / 1e9 for ns in result.columns["finish_ns"].tolist()], result.columns


def test_a_shift_reprices_both_jobs_and_costs_nothing_else():
    """At 5 s each has done 2.5 iterations of 2 s; 7.5 of 1 s remain, the open one carried: 12.5 s."""
    finish, columns = ran({0: start_both, 5: shift_b})
    assert finish == [12.5, 12.5]
    for cost in ("overhead_ns", "lost_ns", "migrations", "resizes", "preemptions"):
        assert columns[cost].tolist() == [0, 0]
    assert columns["starts"].tolist() == [1, 1]
    assert columns["contention_ns"].tolist() == [seconds_to_ns(2.5)] * 2


def test_a_job_may_start_with_a_shift():
    """Never aligned: 10 iterations of 1 s."""

    def start_shifted(v, p):
        start_both(v, p)
        shift_b(v, p)

    assert ran({0: start_shifted})[0] == [10, 10]


def test_a_plan_that_names_the_present_shift_changes_nothing():
    """One question at the start and one at each finish; the same shift again is not a change."""
    again, once = Colliding(), Colliding()
    assert ran({0: start_both, 1: shift_b, 2: shift_b, 3: shift_b}, performance=again) != []
    ran({0: start_both, 1: shift_b}, performance=once)
    assert again.asked == once.asked


def test_a_shift_lasts_until_the_job_stops():
    """B is shifted at 0, stopped at 2 and started at 3 without a shift.

    0 to 2 s: 2 iterations each. A alone until 3 s: 3. Then both take 2 s: a has 7 left, 3 + 14 = 17 s; b has
    done 7 of its 8 by then, and does the last one alone in 1 s: 18 s.
    """
    script = {
        0: lambda v, p: (start_both(v, p), shift_b(v, p)),
        2: lambda v, p: p.stop(1),
        3: lambda v, p: p.place(1, on((0, 1))),
    }
    assert ran(script)[0] == [17, 18]


def test_a_shift_outlasts_other_changes():
    """B gets other CPUs at 2 s and is still shifted: no iteration takes 2 s."""
    retuned = on((0, 1, 0, 0), cap=0.5)
    script = {0: lambda v, p: (start_both(v, p), shift_b(v, p)), 2: lambda v, p: p.place(1, retuned)}
    assert ran(script)[0] == [10, 10]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda v, p: p.shift(7, 1), "job number 7 is unknown"),
        (lambda v, p: p.shift("a", 1), "job number 'a' is unknown"),
        (lambda v, p: p.shift(0, 1), "job 'a': is shifted but does not run after the plan"),
        (
            lambda v, p: (p.place(0, on((0, 1))), p.shift(0, -1)),
            "is shifted by -1 ns; allowed: a wh",
        ),
        (lambda v, p: (p.place(0, on((0, 1))), p.shift(0, 0.5)), "is shifted by 0.5 ns"),
    ],
)
def test_wrong_shifts_are_refused(act, message):
    """An unknown job, one that waits, and what is no time."""
    with pytest.raises(PlanError, match=message):
        ran({0: act})


def test_a_job_that_stops_cannot_be_shifted():
    """It would not run after the plan."""
    with pytest.raises(PlanError, match="job 'b': is shifted but does not run after the plan"):
        ran({0: start_both, 1: lambda v, p: (p.stop(1), p.shift(1, 5))})


def test_policies_may_ask_for_the_effect_of_a_shift():
    """A runs on m0, shifted by 0.5 s; b beside it.

    Beside a with no shift or 0.25 s: 1 s each; with that of a: 2 s each. If a stopped: 1 s, and a is not
    among the others. Alone in the cluster with equal shifts: 2 s each; with different ones 1 s.
    """
    seen = []

    def ask(v, p):
        beside = v.performance.added
        there = on((0, 1))
        seen.append(
            [
                (value.tolist(), others)
                for value, others in (
                    beside([1], [there]),
                    beside([1], [there], [HALF_S // 2]),
                    beside([1], [there], [HALF_S]),
                    beside([0, 1], [None, there], [0, HALF_S]),
                )
            ]
        )
        seen.append(v.performance.together([0, 1], [there, there]).tolist())
        seen.append(v.performance.together([0, 1], [there, there], [0, HALF_S]).tolist())

    ran(
        {
            0: lambda v, p: (p.place(0, on((0, 1))), p.shift(0, HALF_S)),
            1: ask,
            10: lambda v, p: p.place(1, on((0, 1))),
        }
    )
    both = [2 * ONE_S, 2 * ONE_S]
    assert seen == [
        [([ONE_S], {}), ([ONE_S], {}), ([2 * ONE_S], {0: 2 * ONE_S}), ([0, ONE_S], {})],
        both,
        [ONE_S, ONE_S],
    ]


def test_a_job_asked_about_again_keeps_its_shift():
    """A is shifted: placed anew beside b, with no shift given, it still avoids b."""
    seen = []

    def ask(v, p):
        seen.append(v.performance.added([0], [on((0, 1))])[0].tolist())

    ran({0: lambda v, p: (start_both(v, p), p.shift(0, HALF_S)), 1: ask})
    assert seen == [[ONE_S]]
