"""Jobs that share links on average: closed forms."""

from math import sqrt

import numpy as np
import pytest

from netmodels.contention.mean_field import slowdowns
from netmodels.contention.transfers import JobTraffic
from netmodels.fabric.links import Link

X, Y = Link("machine", 0, "out"), Link("rack", 1, "out")
TEN = {X: 10.0, Y: 10.0}


def job(compute_ns, ride_ns, links=(X,), rate=10.0, issued_ns=None):
    """Return a job with one collective, which sends at `rate` byte/ns, by default after computing."""
    none = np.array([0])
    issued = np.array([compute_ns if issued_ns is None else issued_ns])
    sent = np.full((1, len(links)), rate * ride_ns)
    return JobTraffic(compute_ns, issued, np.array([ride_ns]), tuple(links), sent, none)


def test_jobs_that_always_send_share():
    """No computing: two take twice as long, three of a third each their own time."""
    assert slowdowns([job(0, 100)] * 2, TEN) == (2.0, 2.0)
    assert slowdowns([job(0, 100, rate=10 / 3)] * 3, TEN) == pytest.approx((1.0,) * 3)


def test_jobs_meet_as_often_as_the_others_send():
    """1,000 of computing, 500 of sending: s = 1 + f, f = 500 s / (1,000 + 500 s), so f = sqrt(2) - 1.

    An iteration takes 1,000 + 500 sqrt(2) of 1,500.
    """
    expected = (1000 + 500 * sqrt(2)) / 1500
    assert slowdowns([job(1000, 500)] * 2, TEN) == pytest.approx((expected,) * 2, rel=1e-4)


def test_hidden_communication_stays_hidden():
    """300 ns from 100 on under 1,000 of computing: less than twice as long, so hidden."""
    assert slowdowns([job(1000, 300, issued_ns=100)] * 2, TEN) == (1.0, 1.0)


def test_other_links_do_not_matter():
    """Disjoint links, or links without limit."""
    assert slowdowns([job(0, 100, [X]), job(0, 100, [Y])], TEN) == (1.0, 1.0)
    assert slowdowns([job(0, 100)] * 2, {}) == (1.0, 1.0)


def test_a_job_limited_on_another_link_leaves_its_share():
    """2 of 10 byte/ns leave 8: the other takes 10/8, it takes its own time."""
    assert slowdowns([job(0, 100, rate=2), job(0, 100)], TEN) == pytest.approx((1.0, 1.25))


def test_jobs_that_could_overload_a_link_but_do_not_on_average():
    """100 ns at 9 and 300 ns at 1 byte/ns are 3 on average: two jobs have room on 10."""
    passages = np.array([[900.0], [300.0]])
    times = np.array([0, 0]), np.array([100, 300])
    uneven = JobTraffic(0, *times, (X,), passages, np.array([0, 0]))
    assert slowdowns([uneven] * 2, TEN) == (1.0, 1.0)


def test_parallel_uplinks_halve_the_meetings():
    """Two of two uplinks by hash: (2 + 1) / 2."""
    assert slowdowns([job(0, 100, [Y])] * 2, TEN, uplinks=2) == pytest.approx((1.5, 1.5))


def test_a_job_uses_the_parallel_uplinks_that_it_needs():
    """Of four paths of 10, 15 byte/ns take two, 7.5 each, alone at no cost; 40 take all.

    The other job is on a path of the job with chance 1/2, where 15 pass at 10: (1.5 + 1) / 2. Two that take
    all have half of each.
    """
    assert slowdowns([job(0, 100, [Y], rate=15)], TEN, uplinks=4) == (1.0,)
    assert slowdowns([job(0, 100, [Y], rate=15)] * 2, TEN, uplinks=4) == pytest.approx((1.25,) * 2)
    assert slowdowns([job(0, 100, [Y], rate=40)] * 2, TEN, uplinks=4) == pytest.approx((2.0,) * 2)


def test_many_jobs_are_added_up():
    """12 jobs that always send take 12 times as long; over 2 uplinks each meets 11/2 others."""
    assert slowdowns([job(0, 100, [Y])] * 12, TEN) == pytest.approx((12.0,) * 12)
    assert slowdowns([job(0, 100, [Y])] * 12, TEN, uplinks=2) == pytest.approx((6.5,) * 12)
