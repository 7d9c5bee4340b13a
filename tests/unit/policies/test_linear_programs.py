"""The integer program that divides CPUs and memory: (1)-(5) of Synergy, 4.1."""

from collections.abc import Sequence
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artist.policies.synergy import linear_programs
from artist.policies.synergy.linear_programs import JobClass, Option, best_options
from artist.policies.synergy.points import Point, front


def kind(jobs: int, *options: tuple[float, int, int]) -> JobClass:
    """Return jobs alike whose options are (worth, CPUs, memory)."""
    return JobClass(tuple(Option(worth, (cpus, memory)) for worth, cpus, memory in options), jobs)


def worth(kinds: Sequence[JobClass], counts: Sequence[Sequence[int]]) -> float:
    """Return the value of the chosen options."""
    return sum(
        option.value * n
        for k, of_kind in zip(kinds, counts, strict=True)
        for option, n in zip(k.options, of_kind, strict=True)
    )


def taken(kinds: Sequence[JobClass], counts: Sequence[Sequence[int]]) -> list[int]:
    """Return the use of each row by the chosen options."""
    return [
        sum(
            o.amounts[row] * n
            for k, c in zip(kinds, counts, strict=True)
            for o, n in zip(k.options, c, strict=True)
        )
        for row in range(len(kinds[0].options[0].amounts))
    ]


def exhaustive(kinds: Sequence[JobClass], limits: Sequence[int]) -> float:
    """Return the largest worth, by trying everything."""
    ways = []
    for k in kinds:
        picks = combinations_with_replacement(range(len(k.options)), k.jobs)
        ways.append([tuple(pick.count(o) for o in range(len(k.options))) for pick in picks])
    fits = (
        worth(kinds, counts)
        for counts in product(*ways)
        if all(a <= b for a, b in zip(taken(kinds, counts), limits, strict=True))
    )
    return max(fits)


def test_cpus_are_given_where_they_gain_most():
    """9 CPUs, two jobs worth 1 at 3: 6 (2.0) + 3 (1.0) = 3.0; 5 + 4 would be 1.6 + 1.2 = 2.8."""
    first, second = kind(1, (1, 3, 0), (1.6, 5, 0), (2.0, 6, 0)), kind(1, (1, 3, 0), (1.2, 4, 0))
    assert best_options([first, second], [9, 0]) == [[0, 0, 1], [1, 0]]


def test_jobs_alike_are_one_variable_and_may_have_different_points():
    """10 CPUs for three jobs: 6 x 1 = 3 CPUs each is the least; 3 + 3 + 4: one of them gets the 4th."""
    assert best_options([kind(3, (1, 3, 0), (1.2, 4, 0))], [10, 0]) == [[2, 1]]


def test_memory_limits_as_cpus_do():
    """CPUs for both, memory for one: 60 + 30 = 90 of 100 GB; 120 would be too much."""
    assert best_options([kind(2, (1, 1, 30), (2, 1, 60))], [2, 100]) == [[1, 1]]


def test_all_have_the_best_where_it_fits(monkeypatch: pytest.MonkeyPatch):
    """No program is solved; the best need not be the last: worth 3 with 2 CPUs."""
    monkeypatch.setattr(linear_programs, "_milp", None)
    assert best_options([kind(2, (1, 1, 1), (3, 2, 1), (2, 1, 2))], [4, 2]) == [[0, 2, 0]]


def test_none_where_the_least_does_not_fit():
    """Two jobs of at least 3 CPUs and 5 CPUs: constraint (5) cannot hold."""
    assert best_options([kind(2, (1, 3, 0))], [5, 0]) is None


def test_the_answer_does_not_depend_on_the_order_of_the_kinds():
    """Remembered by the counts of kinds: two kinds the other way round are the same program."""
    a, b = kind(2, (1, 3, 0), (1.5, 5, 0)), kind(1, (1, 3, 0), (1.4, 5, 0))
    linear_programs._solved.cache_clear()
    assert best_options([a, b], [11, 0]) == [[1, 1], [1, 0]]
    assert best_options([b, a], [11, 0]) == [[1, 0], [1, 1]]
    assert linear_programs._solved.cache_info().hits == 1


def test_amounts_that_no_unit_measures_are_rounded_against_the_jobs():
    """One byte too few for both to have 100 GiB more, in units of 200 kB: it is not given twice."""
    more = (100 << 30) + 7
    k = kind(2, (1, 1, 3), (1.1, 1, 3 + (1 << 21)), (2, 1, 3 + more))
    assert best_options([k], [2, 6 + 2 * more - 1]) == [[0, 1, 1]]
    assert best_options([k, kind(1, (1, 1, 1), (1.5, 2, 1))], [3, 7 + 2 * more + (1 << 20)]) == [
        [0, 0, 2],
        [1, 0],
    ]


Options = st.lists(
    st.tuples(st.integers(1, 30), st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=4
)
Kinds = st.lists(st.tuples(st.integers(1, 3), Options), min_size=1, max_size=3)


@settings(deadline=None, max_examples=150)
@given(Kinds, st.integers(0, 12), st.integers(0, 12))
def test_as_good_as_trying_everything(
    drawn: list[tuple[int, list[tuple[int, int, int]]]], cpus: int, memory: int
):
    """Its purpose: the optimum within capacity, one option per job; random tiny instances."""
    kinds = [kind(jobs, *((w / 10, c, m) for w, c, m in options)) for jobs, options in drawn]
    least = taken(kinds, [[k.jobs] + [0] * (len(k.options) - 1) for k in kinds])
    limits = [least[0] + cpus, least[1] + memory]
    counts = best_options(kinds, limits)
    assert counts is not None
    assert [sum(c) for c in counts] == [k.jobs for k in kinds]
    assert all(a <= b for a, b in zip(taken(kinds, counts), limits, strict=True))
    assert abs(worth(kinds, counts) - exhaustive(kinds, limits)) < 1e-4


@settings(deadline=None, max_examples=100)
@given(st.lists(Options, min_size=1, max_size=3), st.integers(0, 12), st.integers(0, 12))
def test_points_that_others_beat_are_not_missed(
    drawn: list[list[tuple[int, int, int]]], cpus: int, memory: int
):
    """The front loses nothing: trying everything, all points and those of the front are equally good."""
    share, limits = (3, 3), [3 * len(drawn) + cpus, 3 * len(drawn) + memory]
    every = [[Point(3, 3, 1.0), *(Point(c, m, 1 + w / 10) for w, c, m in options)] for options in drawn]
    fronts = [front(points, share) for points in every]
    assert all(set(kept) <= set(points) for kept, points in zip(fronts, every, strict=True))

    def best(of_jobs: Sequence[Sequence[Point]]) -> float:
        return exhaustive(
            [kind(1, *((p.value, p.cpus, p.memory_bytes) for p in points)) for points in of_jobs], limits
        )

    assert best(fronts) == best(every)


def test_the_front_starts_at_the_minimum_and_drops_dominated_points():
    """(2, 9) takes the fewest CPUs, but more memory than the share of (3, 4): (3, 4) is the least."""
    points = [
        Point(3, 4, 1),
        Point(4, 4, 1),
        Point(5, 4, 1.5),
        Point(5, 8, 1.5),
        Point(6, 8, 1.4),
        Point(2, 9, 1),
    ]
    assert front(points, (3, 4)) == (Point(3, 4, 1), Point(2, 9, 1), Point(5, 4, 1.5))
