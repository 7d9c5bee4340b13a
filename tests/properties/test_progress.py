"""The closed forms of progress against references that walk: a nanosecond or an iteration at a time."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from artist.engine import progress

LARGE = 10**15  # ns, eleven days
iterations_ns = st.integers(1, 50)


@st.composite
def clocks(draw: st.DrawFn, largest: int = 50) -> tuple[int, int, int]:
    """Return (iterations done, remaining, iteration) with 0 < remaining <= iteration."""
    iteration = draw(st.integers(1, largest))
    return draw(st.integers(0, 1000)), draw(st.integers(1, iteration)), iteration


def walk(done: int, remaining: int, iteration: int, elapsed: int) -> tuple[int, int]:
    """Let one nanosecond pass at a time."""
    for _ in range(elapsed):
        remaining -= 1
        if not remaining:
            done, remaining = done + 1, iteration
    return done, remaining


@given(clocks(), st.integers(0, 700))
def test_settle_equals_walking_one_ns_at_a_time(clock: tuple[int, int, int], elapsed: int) -> None:
    """One division must say what a step per nanosecond says, at every boundary of an iteration."""
    assert progress.settle(*clock, elapsed) == walk(*clock, elapsed)


@given(clocks(LARGE), st.integers(0, LARGE), st.integers(0, LARGE))
def test_settling_twice_equals_settling_once(clock: tuple[int, int, int], first: int, second: int) -> None:
    """Settling is lazy: when somebody looks must not matter, so settle(s + t) = settle(t) after settle(s)."""
    done, remaining = progress.settle(*clock, first)
    again = progress.settle(done, remaining, clock[2], second)
    assert again == progress.settle(*clock, first + second)


@given(clocks(LARGE), st.integers(1, 1000))
def test_time_left_is_when_the_last_iteration_ends(clock: tuple[int, int, int], left: int) -> None:
    """A finish event comes at the nanosecond of the last iteration's end: one earlier it is not done."""
    done, remaining, iteration = clock
    time = progress.time_left(remaining, left, iteration)
    assert progress.settle(*clock, time) == (done + left, iteration)
    assert progress.settle(*clock, time - 1)[0] == done + left - 1


@given(clocks(LARGE), st.integers(1, LARGE))
def test_carry_keeps_the_share_and_rounds_up(clock: tuple[int, int, int], new: int) -> None:
    """The open share is kept as an exact fraction, rounded up by less than 1 ns: at least 1, at most all."""
    _, remaining, old = clock
    carried = progress.carry(remaining, old, new)
    exact = Fraction(remaining * new, old)
    assert exact <= carried < exact + 1
    assert 1 <= carried <= new
    assert progress.carry(remaining, old, old) == remaining


@given(
    st.integers(1, 60),
    st.lists(st.tuples(iterations_ns, st.integers(0, 200)), min_size=1, max_size=8),
    st.integers(0, 100),
)
def test_progress_through_changes_of_speed_equals_that_in_fractions(
    asked: int, speeds: list[tuple[int, int]], look: int
) -> None:
    """Through changes of speed a job is never ahead, and behind by less than 1 ns of its pace a change.

    The reference does work at 1 / iteration a ns in exact fractions; (iteration, how long) per speed.
    `look` settles a first time on the way, which must change nothing.
    """
    done, remaining, old, now, work = 0, 0, 0, 0, Fraction(0)
    slack = Fraction(0)  # iterations lost to rounding up, at most
    for iteration, lasts in speeds:
        remaining = progress.carry(remaining, old, iteration) if remaining else iteration
        slack += Fraction(1, iteration)
        finish = now + progress.time_left(remaining, asked - done, iteration)
        exact = now + (asked - work) * iteration
        assert exact <= finish < exact + slack * iteration
        if finish <= now + lasts:
            return
        first = min(look, lasts)
        if first:
            done, remaining = progress.settle(done, remaining, iteration, first)
        if lasts > first:
            done, remaining = progress.settle(done, remaining, iteration, lasts - first)
        now, old = now + lasts, iteration
        work += Fraction(lasts, iteration)
        assert done <= work < done + 1 + slack


@given(st.lists(st.tuples(clocks(LARGE), st.integers(0, LARGE)), min_size=1, max_size=20))
def test_columns_equal_the_scalar_versions(rows: list[tuple[tuple[int, int, int], int]]) -> None:
    """Policies see progress through vector expressions, the engine's books go by the scalar ones."""
    done, remaining, iteration, elapsed = (
        np.array(column, dtype=np.int64) for column in zip(*[(*clock, t) for clock, t in rows], strict=True)
    )
    expected = [progress.settle(*clock, t) for clock, t in rows]
    more, spent = progress.since_settled(remaining, iteration, elapsed)
    assert (done + more).tolist() == [d for d, _ in expected]
    assert (iteration - spent).tolist() == [r for _, r in expected]


def test_columns_of_a_job_that_never_ran() -> None:
    """Waiting jobs have no iteration time, which counts as 1: remaining 0, no time passed, nothing done."""
    zero = np.zeros(2, dtype=np.int64)
    with np.errstate(all="raise"):
        more, spent = progress.since_settled(zero, zero + 1, zero)
    assert more.tolist() == [0, 0]
    assert spent.tolist() == [0, 0]
