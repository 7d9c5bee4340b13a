"""Waits that users met, and hints at the rule of the site, worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from artist.describe.waits import real_waits


def table(*rows, vc="", user="u"):
    """Return jobs by submission, start, end and GPUs."""
    columns = dict(zip(("submit_s", "started_s", "ended_s", "gpus"), np.array(rows, float).T, strict=True))
    return pd.DataFrame(columns | {"vc": vc, "user": user})


JOBS = table(
    (0, 0, 1000, 6),  # of 8 GPUs
    (100, 1000, 4600, 8),  # waits for the first; overtaken by the next
    (200, 300, 500, 2),  # waits for 100 s while 2 GPUs are idle
    (300, 4600, 4700, 4),  # from 1,000 s on for the second; from 500 s on 2 GPUs are idle, and 4 asked for
)


def test_waits_overtakings_and_waiting_beside_idle_gpus():
    """Waits 0, 900, 100, 4300: mean 1325, median 500; one of three overtaken, 100 of 5,300 s idle."""
    waits = real_waits(JOBS)
    (every, *others) = waits.groups
    assert (every.jobs, every.waits_s["mean"], every.waits_s["median"]) == (4, 1325, 500)
    assert every.waits_s["over_10min"] == 0.5
    assert every.waits_s["p90"] == pytest.approx(900 + 0.7 * 3400)  # at 2.7 of 3
    assert every.overtaken == pytest.approx(1 / 3)
    assert every.idle_s == (100, 5300)
    assert [(group.by, group.name, group.jobs) for group in others] == [("gpus", "2-7", 3), ("gpus", "8", 1)]
    # of the first hour, in which all arrive
    assert waits.waiting.tolist() == pytest.approx([(900 + 100 + 3300) / 3600])
    assert waits.busy[0] == pytest.approx((6000 + 400 + 8 * 2600) / 3600)


def test_strict_fifo_is_never_overtaken():
    """Ties in submission overtake nobody."""
    rows = table((0, 0, 100, 8), (10, 100, 200, 8), (10, 150, 200, 1), (20, 200, 300, 1))
    assert real_waits(rows).groups[0].overtaken == 0


def test_pools_are_apart():
    """In clusters of their own no job is overtaken, and each has the GPUs that it used: no idle ones.

    The third job's cluster has 2 GPUs, of which none is busy from 200 to 300 s.
    """
    waits = real_waits(JOBS.assign(vc=["x", "x", "y", "x"]))
    assert waits.pool == "vc"
    by = {(group.by, group.name): group for group in waits.groups}
    assert [by["vc", name].overtaken for name in "xy"] == [0, 0]
    assert [by["vc", name].idle_s for name in "xy"] == [(0, 5200), (100, 100)]


def test_jobs_that_ran_before_use_gpus_and_do_not_wait():
    """The first started 50 s before the window."""
    rows = JOBS.assign(started_s=[-50, 1000, 300, 4600])
    assert real_waits(rows).groups[0].jobs == 3
    assert real_waits(rows).busy.tolist() == real_waits(JOBS).busy.tolist()


@pytest.mark.parametrize("jobs", [JOBS.drop(columns="started_s"), JOBS.assign(started_s=np.nan)])
def test_a_trace_without_starts_has_no_waits(jobs):
    """As most published traces."""
    assert real_waits(jobs) is None


def test_one_pool_needs_no_column():
    """The names of a column that has one value say nothing."""
    assert {group.by for group in real_waits(JOBS.assign(vc="x")).groups} == {"", "gpus"}


def test_users_who_waited_longest_come_first():
    """One waited 4,300 + 100, the other 900 s."""
    groups = real_waits(JOBS.assign(user=["u", "u", "v", "v"])).groups
    assert [group.name for group in groups if group.by == "user"] == ["v", "u"]
