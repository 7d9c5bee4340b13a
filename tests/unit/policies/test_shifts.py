"""Interleaving by turning circles: the paper's two jobs, closed forms, several jobs, several links."""

import pytest

from artist.core.link_use import LinkName, LinkUse, Span
from artist.policies.network_aware.circles import rotations, score
from artist.policies.network_aware.shifts import interleaved

MS = 1_000_000
LINK, OTHER, THIRD = (LinkName("rack", rack, "out") for rack in range(3))


def sends(ms, iteration_ms, *links, start_ms=0, share=1.0):
    """Return a job that sends for some ms of its iteration on some links, one by default."""
    span = Span(start_ms * MS, (start_ms + ms) * MS, share)
    return LinkUse(iteration_ms * MS, dict.fromkeys(links or (LINK,), (span,)))


def turned(*uses):
    """Return shifts in ms of jobs on one link, and its score before and after."""
    jobs = [(use, 0) for use in uses]
    result = rotations(LINK, [[job] for job in jobs])
    after = score(LINK, [(use, shift_ns) for use, shift_ns in zip(uses, result, strict=True)])
    return [ns / MS for ns in result], score(LINK, jobs), after


def test_iterations_of_40_and_60_ms_on_a_circle_of_120():
    """The paper's two jobs: each sends 10 ms. Aligned they meet once in 120 ms: score 1 - 10 / 120.

    What counts is their distance modulo 20 ms, of which both together take all: only 10 ms fit, a turn of 30
    degrees of 120 ms.
    """
    result, before, after = turned(sends(10, 40), sends(10, 60))
    assert result == [0, 10]
    assert (before, after) == (pytest.approx(11 / 12), pytest.approx(1))


def test_two_of_the_paper_s_vgg16():
    """Computing 141 ms, sending 114 of 255: 228 fit; half a turn leaves the same gap on both sides."""
    job = sends(114, 255, start_ms=141)
    result, before, after = turned(job, job)
    assert result == [0, 127.5]
    assert (before, after) == (pytest.approx(1 - 114 / 255, abs=0.005), pytest.approx(1))


@pytest.mark.parametrize(
    ("ms", "share", "before", "after"),
    [
        (40, 1.0, 0.6, 1.0),  # 40 % of the time twice the capacity; 2 x 40 fits
        (60, 1.0, 0.4, 0.8),  # 2 x 60 overlap for 20 % at the least
        (60, 0.7, 1 - 0.6 * 0.4, 1 - 0.2 * 0.4),  # where they overlap, 1.4 times the capacity
        (60, 0.5, 1.0, 1.0),  # the link carries both
    ],
)
def test_two_equal_jobs(ms, share, before, after):
    """Of 100 ms; the score is 1 - the mean excess."""
    job = sends(ms, 100, share=share)
    assert turned(job, job)[1:] == (pytest.approx(before), pytest.approx(after))


def test_three_jobs_fit_where_their_times_do():
    """3 x 30 of 100 ms fit if they are packed first and spaced out then; 3 x 40 exceed by 20 %."""
    result, before, after = turned(*[sends(30, 100)] * 3)
    assert (before, after) == (pytest.approx(1 - 0.3 * 2), pytest.approx(1))
    assert turned(*[sends(40, 100)] * 3)[2] == pytest.approx(0.8)
    gaps = sorted(item % 100 for item in result)
    assert all(later - earlier > 30 for earlier, later in zip(gaps, [*gaps[1:], 100], strict=True))


@pytest.mark.parametrize("quick_ns", [1, 10**6, 7 * 10**9])
def test_iterations_of_1_ns_beside_500_s_take_no_more_memory(quick_ns):
    """One always sends at half of the capacity, the other at all of it for 250 of 500 s: half too much then.

    1 - 0.5 x 0.5, whatever the shifts; with 120 steps per ns the circle of the other would take terabytes.
    """
    quick = LinkUse(quick_ns, {LINK: (Span(0, quick_ns, 0.5),)})
    slow = sends(250_000, 500_000)
    assert turned(quick, slow)[1:] == (pytest.approx(0.75), pytest.approx(0.75))


def test_jobs_whose_iterations_share_no_short_multiple_are_left_alone():
    """120 and 119 steps meet at every distance in turn: no turn is better than another."""
    result, before, after = turned(sends(30, 120), sends(30, 119))
    assert result == [0, 0]
    assert before == after < 1


def test_sending_at_different_times_of_an_iteration_needs_no_shift():
    """One sends first, the other last: they fit as they are, and what fits is moved to the middle only.

    0-30 and 60-90 of 100 ms: between the gaps of 30 and 10 ms the middle is 10 ms earlier.
    """
    result, before, after = turned(sends(30, 100), sends(30, 100, start_ms=60))
    assert before == after == pytest.approx(1)
    assert result[1] % 100 == pytest.approx(90, abs=1.5)


def test_a_chain_of_links_gives_each_job_one_shift():
    """A and b on one link, b and c on the other, 40 of 100 ms each: b half a turn off, c with a again."""
    result = interleaved({7: sends(40, 100, LINK), 8: sends(40, 100, LINK, OTHER), 9: sends(40, 100, OTHER)})
    assert {job: ns / MS for job, ns in result.shift_ns.items()} == {7: 0, 8: 50, 9: 0}
    assert result.scores == {LINK: pytest.approx(1), OTHER: pytest.approx(1)}


def test_tied_jobs_are_shifted_together():
    """A, b on one link and c, d on another are tied half a turn apart; then b and c meet on a third.

    Of 100 ms a and d send 45, b and c 40. B is at 50 and d 50 after c; c is best 50 after b: at 0, d at 50.
    """
    last = LinkName("rack", 9, "in")
    result = interleaved(
        {
            0: sends(45, 100, LINK),
            1: sends(40, 100, LINK, OTHER),
            2: sends(40, 100, last, OTHER),
            3: sends(45, 100, last),
        }
    )
    assert result.worst == pytest.approx(1)
    shifts = [result.shift_ns[job] / MS for job in range(4)]
    assert (shifts[2] - shifts[1]) % 100 == pytest.approx(50)
    assert shifts[0] == 0
    for one, other in ((0, 1), (3, 2)):  # the longer needs 45 before the shorter begins, the shorter 40
        assert 45 <= (shifts[other] - shifts[one]) % 100 <= 60


def test_a_loop_is_closed_with_the_shifts_that_there_are():
    """Three jobs of 40 in 100 ms, each two on a link of their own: on the third link both collide."""
    result = interleaved(
        {
            0: sends(40, 100, LINK, OTHER),
            1: sends(40, 100, LINK, THIRD),
            2: sends(40, 100, OTHER, THIRD),
        }
    )
    assert sorted(result.scores.values()) == [pytest.approx(0.6), pytest.approx(1), pytest.approx(1)]
    assert result.worst == min(result.scores.values())


def test_links_of_the_same_jobs_count_once():
    """Both ways of two ports: the one with most to carry stands for all."""
    ports = [LinkName("machine", m, way) for m in (0, 1) for way in ("in", "out")]
    result = interleaved({0: sends(40, 100, *ports), 1: sends(40, 100, *ports)})
    assert len(result.scores) == 1
    assert result.worst == pytest.approx(1)


def test_links_that_carry_all_are_not_shared():
    """Half of the link each: nobody is shifted."""
    result = interleaved({0: sends(40, 100, share=0.5), 1: sends(40, 100, share=0.5)})
    assert result == ({}, {})
    assert result.worst == 1


def test_jobs_that_keep_their_shifts_are_not_turned():
    """A and b are 40 ms apart and stay so; c of 20 in 100 ms fits between 80 and 100 only: a shift of 80.

    The link that only a and b share is not looked at.
    """
    a, b, c = sends(40, 100, LINK, OTHER), sends(40, 100, LINK, OTHER), sends(20, 100, LINK)
    result = interleaved({0: a, 1: b, 2: c}, {0: 0, 1: 40 * MS})
    assert {job: ns / MS for job, ns in result.shift_ns.items()} == {2: 80}
    assert result.scores == {LINK: pytest.approx(1)}
