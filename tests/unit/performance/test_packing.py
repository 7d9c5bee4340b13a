"""The formulas of packed jobs."""

from hypothesis import given
from hypothesis import strategies as st

from artist.performance.formulas.opportunistic import MIN_SHARE, slowdowns
from artist.performance.formulas.packing import busy_share, slowdown

SHARES = st.lists(st.floats(0.001, 1.0), min_size=1, max_size=8)


def test_a_job_is_busy_for_its_share_of_compute():
    """80 % of 1000 ns of compute in an iteration of 2000 ns: 0.4; nothing but compute: exactly 1."""
    assert busy_share(1000, 2000, 0.8) == 0.4
    assert busy_share(12_345_678_901_234_567, 12_345_678_901_234_567, 1.0) == 1.0


def test_idle_time_is_filled_before_anybody_waits():
    """0.4 + 0.5 fit; 0.75 + 0.75 take 1.5 times as long; 2 + 1 + 1 GPUs of 2 twice as long."""
    assert (slowdown([0.4, 0.5]), slowdown([0.75, 0.75]), slowdown([2, 1, 1], 2)) == (1.0, 1.5, 2.0)


@given(SHARES)
def test_gpus_are_never_busy_for_more_than_all_of_the_time(shares):
    """Each share shrinks by the slowdown; their sum is at most 1, and exactly as before where all fit."""
    slower = slowdown(shares)
    assert sum(share / slower for share in shares) <= 1 + 1e-12
    assert slower == 1 or sum(shares) > 1 - 1e-12


@given(SHARES, st.randoms())
def test_the_order_of_the_members_does_not_matter(shares, rng):
    """A plain sum of floats would depend on it, and with it the results."""
    shuffled = rng.sample(shares, len(shares))
    assert slowdown(shuffled) == slowdown(shares)


def test_opportunistic_jobs_share_the_remaining_gpu_time():
    """0.6 of two GPUs busy leave 1.4 for 2.8: twice as long; a job that never pauses leaves 0.01 of one."""
    assert slowdowns([0.6], [1.4, 1.4], gpus=2) == (1, 2)
    assert slowdowns([0.5], [0.5]) == (1, 1)
    guaranteed, opportunistic = slowdowns([1.0], [0.5])
    assert guaranteed == 1 / 0.99
    assert abs(opportunistic - 0.5 / 0.01) < 1e-9


@given(SHARES)
def test_without_opportunistic_jobs_nothing_changes(shares):
    """And with nobody else, opportunistic jobs are as any."""
    assert slowdowns(shares, []) == (slowdown(shares), 1)
    assert slowdowns([], shares) == (1, slowdown(shares))


@given(SHARES, SHARES)
def test_opportunistic_jobs_cost_the_others_next_to_nothing(guaranteed, opportunistic):
    """At most the least share; and the GPUs are never busy for more than all of the time."""
    first, second = slowdowns(guaranteed, opportunistic)
    assert slowdown(guaranteed) <= first <= slowdown(guaranteed) / (1 - MIN_SHARE) + 1e-12
    assert sum(guaranteed) / first + sum(opportunistic) / second <= 1 + 1e-9
