"""Time limits: jobs that end at theirs, and backfill around reservations that limits allow."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from artist.core.events import Finish
from artist.core.job import UNLIMITED_NS
from artist.engine.overheads import Overheads
from artist.engine.stopping import StopRule
from artist.errors import PlanError
from artist.policies.basic.ordered import Ordered
from artist.testing.tiny import Scripted, on, run_checked, seconds, tiny_cluster
from artist.testing.tiny import job as plain
from artist.units import seconds_to_ns


def job(name, gpus, runs_s, limit_s=None, at=0, **more):
    """Return a job with a limit."""
    limit_ns = None if limit_s is None else seconds_to_ns(limit_s)
    return replace(plain(name, gpus, runs_s, at, **more), limit_ns=limit_ns)


def run(jobs, policy, cluster=None, **options):
    return run_checked(jobs, cluster or tiny_cluster(1, 4), policy, **options)


# --- the end at a limit


@pytest.mark.parametrize(("enforced", "ends", "done"), [(True, [4, 7], [4, 3]), (False, [10, 13], [10, 3])])
def test_a_job_ends_at_its_limit_if_limits_are_enforced(enforced, ends, done):
    """A has 10 iterations of 1 s and a limit of 4 s: it ends at 4 with 4 done, or at 10; b waits for it."""
    result, events = run(
        [job("a", 4, 10, 4), job("b", 4, 3, 3)], Ordered(order="fifo"), enforce_limits=enforced
    )
    assert seconds(result, "finish_ns") == ends
    assert result.columns["iterations"].tolist() == done
    assert [e.timed_out for e in events if isinstance(e, Finish)] == [enforced, False]


def test_delays_count_towards_a_limit_and_a_stop_starts_it_again():
    """A start takes 2 s. A holds GPUs 0-3 (1 s done), then from 5 to 5 + 4, of which 2 s run: 3 of 5 done."""
    policy = Scripted(
        {
            0: lambda v, p: p.place(0, on((0, 4))),
            3: lambda v, p: p.stop(0),
            5: lambda v, p: p.place(0, on((0, 4))),
        }
    )
    costs = Overheads(start_s=2, resume_s=2, on_stop="keep")
    result, _ = run([job("a", 4, 5, 4)], policy, overheads=costs, enforce_limits=True)
    assert seconds(result, "finish_ns") == [9]
    assert result.columns["iterations"].tolist() == [3]


def test_a_job_that_ends_as_its_limit_is_reached_is_done():
    """4 s of work within 4 s."""
    result, events = run([job("a", 4, 4, 4)], Ordered(order="fifo"), enforce_limits=True)
    assert not events[-1].timed_out
    assert seconds(result, "finish_ns") == [4]


def test_a_cancelled_job_ends_and_an_entry_after_it_counts_instead():
    """A ends at 3 with 3 of 9 iterations done, and is news of the call at 4; b, stopped after it, goes on.

    B has its GPU from 0 to 3, and for its other 6 s from 4 on; its `window` of one job is over with a.
    """
    heard = []
    policy = Scripted(
        {
            0: lambda v, p: (p.place(0, on((0, 1))), p.place(1, on((0, 1)))),
            3: lambda v, p: (p.cancel(0), p.cancel(1), p.stop(1)),
            4: lambda v, p: (heard.extend(v.news), p.place(1, on((0, 1)))),
        }
    )
    jobs = [job("a", 1, 9), job("b", 1, 9)]
    result, _ = run(jobs, policy, overheads=Overheads(on_stop="keep"))
    assert seconds(result, "finish_ns") == [3, 10]
    assert (result.cancelled, result.columns["iterations"].tolist()) == ((0,), [3, 9])
    assert Finish(3 * 10**9, 0, cancelled=True) in heard
    policy = Scripted({0: lambda v, p: p.place(0, on((0, 1))), 3: lambda v, p: p.cancel(0)})
    assert run(jobs, policy, stop=StopRule(jobs=(0, 1)))[0].stopped_by == "window"


def test_a_job_that_does_not_run_cannot_be_cancelled():
    """A waits at 0, and is not known before it arrives."""
    for number in (0, 1):
        policy = Scripted({0: lambda v, p, number=number: p.cancel(number)})
        with pytest.raises(PlanError, match=r"does not run|is unknown"):
            run([job("a", 1, 1), job("b", 1, 1, at=9)], policy)


def test_limits_are_seen_by_those_that_declare_it():
    """A limit is a column with `knows_limits`, the unlimited value where there is none; else it raises."""
    seen = []
    policy = Scripted({0: lambda v, p: (seen.extend(v.jobs.limit_ns.tolist()), p.place(0, on((0, 1))))})
    policy.knows_limits = True
    with pytest.raises(Exception, match="wait"):
        run([job("a", 1, 1, 7), job("b", 1, 1)], policy)
    assert seen == [seconds_to_ns(7), UNLIMITED_NS]
    with pytest.raises(PlanError, match="must declare knows_limits = True"):
        run([job("a", 1, 1, 7)], Scripted({0: lambda v, p: v.jobs.limit_ns}))


# --- backfill

QUEUE = [
    job("runs", 3, 10, 10),
    job("first", 4, 5, 5),  # 10-15 if nothing delays it
    job("long", 1, 12, 12),  # from 0 it would end at 12, after 10
    job("short", 1, 10, 10),  # 0-10
]


@pytest.mark.parametrize(
    ("backfill", "starts"),
    [
        ("none", [0, 10, 15, 15]),
        ("first_fit", [0, 20, 0, 10]),  # long takes the fourth GPU to 12, short one of those from 10 to 20
        ("easy", [0, 10, 15, 0]),
        ("conservative", [0, 10, 15, 0]),
    ],
)
def test_reservations_hold_against_later_jobs(backfill, starts):
    """On 4 GPUs: first fit lets `long` delay `first`; reservations let `short` alone pass."""
    result, _ = run(QUEUE, Ordered(order="fifo", backfill=backfill))
    assert seconds(result, "first_start_ns") == starts


def test_easy_reserves_for_the_first_job_only():
    """On 4 GPUs: a (2) runs 0-10, b (3) waits for 10, c (4, limit 2) behind it; d (1, limit 20).

    At 10 b leaves one GPU over, so under EASY d starts at 0 on it and runs to 20, and c waits for it: 20.
    Conservative has c from 15 to 17, after b, so d, which would hold a GPU until 20, starts at 17.
    """
    jobs = [job("a", 2, 10, 10), job("b", 3, 5, 5), job("c", 4, 2, 2), job("d", 1, 20, 20)]
    easy, conservative = (
        seconds(run(jobs, Ordered(order="fifo", backfill=backfill))[0], "first_start_ns")
        for backfill in ("easy", "conservative")
    )
    assert easy == [0, 10, 20, 0]
    assert conservative == [0, 10, 15, 17]


def test_a_reservation_moves_to_an_earlier_time_when_jobs_end_before_their_limits():
    """Runs ends at 4 instead of 10: first has 4-9, and long and short follow."""
    jobs = [job("runs", 3, 4, 10), *QUEUE[1:3]]
    result, _ = run(jobs, Ordered(order="fifo", backfill="conservative"))
    assert seconds(result, "first_start_ns") == [0, 4, 9]


def test_a_reservation_is_of_machines():
    """Two machines of 2 GPUs: a has one 0-10, first needs both; b, limit 11, would hold the other."""
    jobs = [job("a", 2, 10, 10), job("first", 4, 1, 1), job("b", 2, 11, 11), job("c", 1, 9, 9)]
    result, _ = run(jobs, Ordered(order="fifo", backfill="easy"), tiny_cluster(2, 2))
    assert seconds(result, "first_start_ns") == [0, 10, 11, 0]


@pytest.mark.parametrize(
    ("setting", "starts"),
    [
        (
            {"backfill_window_s": 9},
            [0, 12, 0, 17],
        ),  # none for first at 0, so long runs; at 10 it is due at 12
        ({"backfill_window_s": 10}, [0, 10, 15, 0]),
        ({"backfill_depth": 3}, [0, 10, 15, 15]),  # short is the fourth, and once `runs` runs it is too late
        ({"backfill_resolution_s": 4}, [0, 12, 0, 17]),  # both end at 12: long passes, and short does not
    ],
)
def test_window_depth_and_resolution(setting, starts):
    """Beyond the window there is no reservation; jobs beyond the depth wait; limits of 10 round up to 12."""
    result, _ = run(QUEUE, Ordered(order="fifo", backfill="easy", **setting))
    assert seconds(result, "first_start_ns") == starts


def test_a_job_without_a_limit_passes_none_that_has_a_reservation():
    """Unlimited, `short` would hold its GPU for ever."""
    jobs = [*QUEUE[:2], job("short", 1, 10)]
    result, _ = run(jobs, Ordered(order="fifo", backfill="easy"))
    assert seconds(result, "first_start_ns") == [0, 10, 15]


def test_reservations_are_for_orders_that_do_not_preempt():
    """A job that may be stopped ends at no planned time."""
    with pytest.raises(ValidationError, match="backfill=easy needs preemptive=false"):
        Ordered(order="srtf", preemptive=True, backfill="easy")
    assert Ordered(order="fifo", backfill=True).backfill == "first_fit"
    assert Ordered(order="fifo", backfill=False).backfill == "none"


def test_settings_of_reservations_are_refused_where_there_are_none():
    """A depth of first fit would change nothing."""
    for setting in ({"backfill_depth": 5}, {"backfill_window_s": 0}, {"backfill_resolution_s": 1}):
        with pytest.raises(ValidationError, match="backfill=first_fit has no window, depth and resolution"):
            Ordered(order="fifo", backfill="first_fit", **setting)
