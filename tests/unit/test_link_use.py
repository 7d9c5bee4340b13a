"""A policy's view of a job's sending, from the network's record of it."""

import numpy as np

from artist.core.link_use import LinkName, Span
from artist.engine.link_use import link_use
from netmodels.contention.transfers import JobTraffic
from netmodels.fabric.links import Link

PORT, UPLINK = Link("machine", 3, "out"), Link("rack", 1, "in")
MS = 1_000_000


def sends(issued_ms, rides_ms, sent_ms, links=(PORT, UPLINK), compute_ms=100):
    """Return a job whose passages carry as many bytes on each link as these ms take at 1 byte/ns."""
    issued, rides = (np.array(value) * MS for value in (issued_ms, rides_ms))
    sent = np.array(sent_ms, dtype=float).reshape(len(rides_ms), len(links)) * MS
    return JobTraffic(compute_ms * MS, issued, rides, links, sent, np.zeros(len(rides), dtype=np.int64))


def test_spans_follow_the_queue_and_shares_the_capacity():
    """Issued at 10 and 15 ms, 20 ms each: 10-30 and, after it, 30-50 ms.

    The port carries 1 byte/ns: all of it first, then half; the uplink 4: a quarter of that.
    """
    use = link_use(sends([10, 15], [20, 20], [[20, 20], [10, 10]]), {PORT: 1.0, UPLINK: 4.0})
    assert use.iteration_ns == 100 * MS
    first, second = (10 * MS, 30 * MS), (30 * MS, 50 * MS)
    assert use.spans == {
        LinkName("machine", 3, "out"): (Span(*first, 1.0), Span(*second, 0.5)),
        LinkName("rack", 1, "in"): (Span(*first, 0.25), Span(*second, 0.125)),
    }
    assert use.max_share(LinkName("machine", 3, "out")) == 1
    assert use.mean_share(LinkName("machine", 3, "out")) == (20 + 10) / 100
    assert use.mean_share(LinkName("rack", 9, "out")) == use.max_share(LinkName("rack", 9, "out")) == 0


def test_links_without_a_limit_are_not_shared():
    """The uplink is as wide as you like: the job is on its port only."""
    use = link_use(sends([0], [10], [[10, 10]]), {PORT: 1.0, UPLINK: float("inf")})
    assert list(use.spans) == [LinkName("machine", 3, "out")]


def test_beliefs_stretch_all_times():
    """Believed to take twice as long: 20-60 of 200 ms, at the same share."""
    use = link_use(sends([10], [20], [[20]], links=(PORT,)), {PORT: 1.0}, 2.0)
    assert use.iteration_ns == 200 * MS
    assert use.spans[LinkName("machine", 3, "out")] == (Span(20 * MS, 60 * MS, 1.0),)


def test_parallel_links_count_by_one_of_them():
    """Two paths of an uplink: a job that fills one of them shares it with the next, as the engine has it."""
    paths = {UPLINK: 1.0, UPLINK._replace(path=1): 1.0}
    use = link_use(sends([0], [10], [[10]], links=(UPLINK,)), paths)
    assert use.max_share(LinkName("rack", 1, "in")) == 1


def test_a_job_that_sends_nothing_is_on_no_link():
    """It has no passages."""
    assert link_use(sends([], [], [], links=()), {PORT: 1.0}).spans == {}
