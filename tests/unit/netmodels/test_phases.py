"""Jobs that share links, followed in time: closed forms."""

import numpy as np
import pytest

from netmodels.contention.flow_level import together
from netmodels.contention.transfers import JobTraffic
from netmodels.fabric.links import Link

X, Y = Link("machine", 0, "out"), Link("machine", 1, "out")
UP = Link("rack", 0, "out")
TEN = {X: 10.0, Y: 10.0, UP: 10.0}


def job(compute_ns, ride_ns, links=(X,), rate=10.0, issued_ns=None, updates_ns=0):
    """Return a job with one collective, which sends at `rate` byte/ns, by default after computing."""
    return JobTraffic(
        compute_ns,
        np.array([compute_ns if issued_ns is None else issued_ns]),
        np.array([ride_ns]),
        tuple(links),
        np.full((1, len(links)), float(rate * ride_ns)),
        np.array([updates_ns]),
    )


def times(*jobs, **more):
    """Return the mean iteration time of each job."""
    return tuple(together(jobs, more.pop("capacity", TEN), **more))


def test_equal_jobs_that_begin_together_communicate_twice_as_long():
    """1,000 ns of computing, 500 of a full link: 1,000 + 2 x 500; three jobs 1,000 + 3 x 500."""
    assert times(job(1000, 500), job(1000, 500)) == (2000, 2000)
    assert times(*[job(1000, 500)] * 3) == (2500,) * 3


def test_jobs_that_use_part_of_a_link_slow_by_the_excess():
    """6 of 10 byte/ns each: at most 5, so 500 ns take 500 x 6/5 = 600; 5 each fit."""
    assert times(job(1000, 500, rate=6), job(1000, 500, rate=6)) == (1600, 1600)
    assert times(job(1000, 500, rate=5), job(1000, 500, rate=5)) == (1500, 1500)


def test_jobs_shifted_by_half_never_meet():
    """600 ns of computing, 400 of sending: shifted by 500, one sends in 600-1,000, the other in 100-500."""
    assert times(job(600, 400), job(600, 400), shift_ns=(0, 500)) == (1000, 1000)


def test_jobs_that_send_more_than_half_the_time_meet_however_shifted():
    """400 of computing, 600 of sending: of 1,000 the link is needed for 1,200, so iterations take 1,200."""
    assert times(job(400, 600), job(400, 600), shift_ns=(0, 500)) == (1200, 1200)


def test_disjoint_links_leave_jobs_exactly_alone():
    """Other links, other periods: 1,500 and 941 ns, to the nanosecond."""
    assert times(job(1000, 500, [X]), job(700, 241, [Y])) == (1500, 941)


def test_links_without_limit_leave_jobs_exactly_alone():
    """No capacity is known of X: infinite."""
    assert times(job(1000, 500), job(1000, 500), capacity={}) == (1500, 1500)


def test_a_job_limited_on_another_link_leaves_its_share():
    """One that always sends 2 of 10 byte/ns leaves 8: 400 ns take 400 x 10/8 = 500, and its own stay 100."""
    assert times(job(0, 100, rate=2), job(0, 400)) == (100, 500)


def test_a_job_held_by_another_link_leaves_its_share():
    """A and B share X and B and C share Y of 4: B and C get 2 each, A the other 8 of X.

    Alone A sends 10, B and C 4: A takes 400 x 10/8 = 500, B and C twice their 400.
    """
    jobs = job(0, 400, [X]), job(0, 400, [X, Y], rate=4), job(0, 400, [Y], rate=4)
    assert times(*jobs, capacity={X: 10.0, Y: 4.0}) == (500, 800, 800)


def test_rates_keep_the_ratio_of_the_bytes_on_each_link():
    """10 on X and 5 on Y, beside one of 10 on X and one of 10 on Y.

    On X both get 5, so the first has speed 1/2 and 2.5 on Y, where the third gets 7.5: 300 ns take 600, 600
    and 400.
    """
    uneven = JobTraffic(
        0, np.array([0]), np.array([300]), (X, Y), np.array([[3000.0, 1500.0]]), np.array([0])
    )
    assert times(uneven, job(0, 300, [X]), job(0, 300, [Y])) == (600, 600, 400)


def test_hidden_communication_stays_hidden():
    """Issued at 100 of 1,000, 300 ns alone: together until 700, still before computing ends.

    With 500 ns alone: together 100 + 2 x 500 = 1,100.
    """
    assert times(*[job(1000, 300, issued_ns=100)] * 2) == (1000, 1000)
    assert times(*[job(1000, 500, issued_ns=100)] * 2) == (1100, 1100)


def test_passages_without_links_are_not_slowed():
    """300 ns inside machines, then 200 of the link: 300 + 2 x 200."""
    ways = np.array([[0.0], [2000.0]])
    item = JobTraffic(0, np.array([0, 0]), np.array([300, 200]), (X,), ways, np.array([0, 0]))
    assert times(item, item) == (700, 700)


def test_update_delays_come_after_communication():
    """1,000 + 2 x 500 + 70."""
    assert times(*[job(1000, 500, updates_ns=70)] * 2) == (2070, 2070)


def test_recurring_states_give_exact_means():
    """Periods of 1,000 and 2,000, sending in 600-1,000 and in 1,600-2,000: every second iteration meets.

    From 1,600 to 2,400 both have half: the first sends 400 then, and ends at 2,400; so does the second.
    Both then begin anew: (1,000 + 1,400) / 2 and 2,400.
    """
    assert times(job(600, 400), job(1600, 400)) == (1200, 2400)


def test_periods_that_never_repeat_have_a_mean():
    """Periods of 1,000 and 1,618 share 809,000 ns: means, each slower by less than 100 ns."""
    first, second = times(job(900, 100), job(1417, 201))
    assert 1000 <= first < 1100
    assert 1618 <= second < 1718


def test_a_much_faster_job_is_not_followed_forever():
    """10 ns beside 1,000,000: the second does the least, 8 iterations, and is slowed while it sends."""
    fast, slow = times(job(50, 50), job(50_000, 50_000))
    assert 100 < fast < 150
    assert 100_000 < slow < 150_000


def test_similar_passages_without_a_gap_are_one():
    """Issued at 100, 150 and 900, 200 ns each: the first two end at 500, the third begins after a gap.

    Both send 2,000 + 2,000 bytes in 400 ns; the first's update delay of 250 outlasts the second's ride by 50.
    """
    three = JobTraffic(
        1000,
        np.array([100, 150, 900]),
        np.array([200, 200, 200]),
        (X,),
        np.array([[2000.0]] * 3),
        np.array([250, 0, 0]),
    )
    joined = three.joined()
    assert (joined.issued_ns.tolist(), joined.transfers_ns.tolist()) == ([100, 900], [400, 200])
    assert (joined.sent_bytes.tolist(), joined.updates_ns.tolist()) == ([[4000.0], [2000.0]], [50, 0])
    assert joined.alone_ns == three.alone_ns == 1100


def test_passages_that_send_otherwise_stay_apart():
    """200 ns of waiting, 200 of 10 byte/ns, 200 of 9: no two are similar; 9.6 is."""
    for rate, expected in ((9.0, [200, 200, 200]), (9.6, [200, 400])):
        sent = np.array([[0.0], [2000.0], [200 * rate]])
        none = np.zeros(3, dtype=np.int64)
        result = JobTraffic(0, none, np.array([200] * 3), (X,), sent, none).joined()
        assert result.transfers_ns.tolist() == expected


def test_parallel_uplinks_are_chosen_by_hash():
    """Two uplinks: two jobs meet in half of the cases, so 500 ns take (2 x 500 + 500) / 2 = 750.

    Paths of their own leave them alone, one path is one link.
    """
    paths = [UP._replace(path=path) for path in (0, 1)]
    first, second = (job(1000, 500, [path]) for path in paths)
    capacity = dict.fromkeys(paths, 10.0)
    assert times(first, first, capacity=capacity, uplinks=2) == (1750, 1750)
    assert times(first, second, capacity=capacity) == (1500, 1500)
    assert times(second, second, capacity=capacity) == (2000, 2000)


def test_ports_are_not_chosen():
    """Beside parallel uplinks, a machine's port is one link: 1,000 + 2 x 500."""
    crossing = job(1000, 500, [X, UP])
    assert times(crossing, crossing, uplinks=4) == (2000, 2000)


def test_narrow_parallel_uplinks_do_not_make_ports_wider():
    """Four uplinks of 2.5 each: what a path passes is no limit at the port, 10, where each job gets half."""
    crossing = job(1000, 500, [X, UP])
    assert times(crossing, crossing, capacity=TEN | {UP: 2.5}, uplinks=4) == (2000, 2000)


def test_equal_jobs_keep_their_distance():
    """Fluids that begin 100 ns apart end 100 ns apart: 500 + 400 both send, 100 each alone.

    A sends from 1,000 alone for 100, then both at half speed: A's other 400 end at 1,900, B's at 2,000. So do
    all four iterations.
    """
    assert times(*[job(1000, 500)] * 2, shift_ns=(0, 100), iterations=(1, 1)) == (1900, 1900)
    assert times(*[job(1000, 500)] * 2, shift_ns=(0, 100), iterations=(4, 4)) == (1900, 1900)


def test_a_job_that_leaves_no_longer_slows_the_other():
    """The first iteration takes 2,000 together, two after the other has left 1,500."""
    assert times(*[job(1000, 500)] * 2, iterations=(1, 3)) == (2000, (2000 + 2 * 1500) / 3)


def test_a_job_that_does_not_communicate_takes_its_time():
    """50 ns; the other one 10 + 10."""
    none = np.zeros(0, dtype=np.int64)
    idle = JobTraffic(50, none, none, (), np.zeros((0, 0)), none)
    assert times(idle, job(10, 10), iterations=(3, 1)) == times(idle, job(10, 10)) == (50, 20)


def test_more_than_a_link_carries_is_the_link():
    """A direct collective priced at 15 of 10 byte/ns alone has the link, and half of it beside another."""
    assert times(job(0, 100, rate=15), job(1_000_000, 1)) == (pytest.approx(100, abs=0.1), 1_000_002)
    assert times(*[job(0, 100, rate=15)] * 2) == (200, 200)


def test_stretched_iterations_use_links_as_before():
    """A trace computes 3 times as long as the profile, and waits 100 ns: 3 x (1,000 + 500) + 100 alone."""
    slow = job(1000, 500).stretched(3.0, 100)
    assert slow.alone_ns == 4600
    assert times(slow, slow) == (3100 + 2 * 1500,) * 2
