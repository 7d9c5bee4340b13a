"""Refused jobs that may fit since jobs ended: 3 machines of 2 GPUs, 4 CPUs and 10 bytes."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from artist.core.cluster import CapacityEvent
from artist.core.events import Arrival, Finish, Stop
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.basic.drf import Drf
from artist.policies.basic.freed_machines import Freed
from artist.policies.basic.ordered import Ordered
from artist.policies.parts.placement import CHOOSERS
from artist.testing.conformance import generated_jobs
from artist.testing.tiny import on, run_checked, tiny_cluster
from artist.units import seconds_to_ns

ONE = Demand(1, cpus=2, memory_bytes=4, max_machines=1)
RUNNING = {0: on((1, 1, 1), (2, 1, 1)), 1: on((2, 1, 1))}
FREE = Free(tiny_cluster(3, 2, cpus=4, memory_bytes=10), [2, 1, 0], [4, 2, 4], [10, 4, 10])


def freed(*news, placement="consolidate", fill="as_asked"):
    """Return the knowledge after some news, job 0 having run on machines 1 and 2, and job 1 on 2."""
    freed = Freed(placement, fill)
    for job in RUNNING:
        freed.hold(job)
    freed.look(seen())
    freed.look(seen(*news))
    return freed


def seen(*news):
    """Return a policy's view of it."""
    return SimpleNamespace(news=news, allocation=RUNNING.get)


def test_only_where_jobs_ended_is_looked():
    """Of all machines 1 has room for the job too: seen when job 0 ends there, not when job 1 ends on 2."""
    assert freed(Finish(5, 0)).may_fit(FREE, ONE)
    assert not freed(Finish(5, 1)).may_fit(FREE, ONE)
    assert not freed(Arrival(5, 2)).may_fit(FREE, ONE)


@pytest.mark.parametrize(
    "more", [{"gpus": 2}, {"cpus": 3}, {"memory_bytes": 5}], ids=["gpus", "cpus", "memory"]
)
def test_all_that_a_job_asks_for_must_be_there(more):
    """Machine 1 has 1 GPU, 2 CPUs and 4 bytes: one more of any is too much."""
    asked = {"gpus": 1, "cpus": 2, "memory_bytes": 4} | more
    assert not freed(Finish(5, 0)).may_fit(FREE, Demand(max_machines=1, **asked))


def test_jobs_that_may_span_machines_may_always_fit():
    """2 GPUs of machines 0 and 1 together, whichever job ended; fungible jobs may take fewer."""
    assert freed(Finish(5, 1)).may_fit(FREE, Demand(2, max_machines=2))
    assert freed(Finish(5, 1)).may_fit(FREE, Demand(3))
    assert freed(Finish(5, 1)).may_fit(FREE, Demand(1, max_machines=1, fungible=True))


def test_other_news_may_have_freed_anything():
    """An eviction, and parts of which it is not known when they refuse."""
    assert freed(Finish(5, 1), Stop(5, 0, "evicted", 0)).may_fit(FREE, ONE)
    assert freed(Finish(5, 1), fill="proportional").may_fit(FREE, ONE)
    assert freed(Finish(5, 1), placement=CHOOSERS["spread"](0)).may_fit(FREE, ONE)


def test_freed_is_set_by_finishes_and_evictions_only():
    """After arrivals nothing is; after a finish or an eviction something may be."""
    for news, expected in ((Arrival(5, 2), False), (Finish(5, 0), True), (Stop(5, 0, "evicted", 0), True)):
        known = Freed("consolidate", "as_asked")
        known.hold(0)
        known.look(seen())
        assert known.look(seen(news)) is expected


def test_a_job_that_ended_at_once_may_have_freed_anything():
    """It is not there any more when where it ran would be seen."""
    known = Freed("consolidate", "as_asked")
    known.hold(7)
    assert known.look(seen(Finish(5, 7)))
    assert known.may_fit(FREE, ONE)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "make",
    [lambda: Drf(), lambda: Ordered(order="fifo", queues="kinds", fill="as_asked")],
    ids=["drf", "by_kind"],
)
def test_schedules_are_those_of_a_full_search(make, seed, monkeypatch):
    """Jobs for one machine and for several, CPUs short, a machine that fails: no job starts later for it."""
    cluster = tiny_cluster(3, 4, per_rack=2, cpus=8, memory_bytes=1 << 30)
    jobs = [
        replace(
            spec, user=f"u{i % 3}", demand=replace(spec.demand, max_machines=-(-spec.demand.gpus // 4) or 1)
        )
        for i, spec in enumerate(generated_jobs(seed, 60, cpu_jobs=True))
    ]
    events = [CapacityEvent(seconds_to_ns(at), kind, 0) for at, kind in ((9.5, "fail"), (40, "join"))]

    def finish():
        return run_checked(jobs, cluster, make(), capacity_events=events)[0].columns["finish_ns"].tolist()

    result = finish()
    monkeypatch.setattr(Freed, "may_fit", lambda self, free, demand: True)
    assert finish() == result
