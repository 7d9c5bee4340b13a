"""The multiple-choice knapsack, against all answers of small instances and scipy's of larger ones."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, milp

from artist.policies.lyra.knapsack import multiple_choice


def group(*items):
    """Return a group of (weight, value)."""
    weights, values = zip(*items, strict=True) if items else ((), ())
    return np.array(weights, dtype=np.int64), np.array(values, dtype=np.float64)


def sums(groups, taken):
    """Return the value and the weight of the items taken."""
    items = [(groups[g][1][i], groups[g][0][i]) for g, i in enumerate(taken) if i >= 0]
    return sum(float(v) for v, _ in items), sum(int(w) for _, w in items)


B = group((1, 20), (2, 30), (3, 36), (4, 40))


def test_figure_6():
    """A's worker takes 2 GPUs (50), B's one each (20, 30, 36, 40): of 4 GPUs A gets 2 (50), B 2 (30)."""
    a = group((2, 50))
    assert [multiple_choice(n, [a, B]) for n in (0, 1, 2, 3, 4, 5, 6, 7)] == [
        [-1, -1],
        [-1, 0],  # 20
        [0, -1],  # 50, not 30
        [0, 0],  # 70, not 36
        [0, 1],  # 80, not 40
        [0, 2],  # 86
        [0, 3],  # 90: all
        [0, 3],
    ]


def test_the_job_that_gains_more_gets_more():
    """Table 2: A gains 50, 75, 90, 100, B 20, 30, 36, 40; of 4 GPUs A gets 3, B 1: 110, not 105 or 100."""
    assert multiple_choice(4, [group((1, 50), (2, 75), (3, 90), (4, 100)), B]) == [2, 0]


def test_ties_take_the_least_weight():
    """5 is worth as much as 7 and lighter; an item of value 0 is not taken though it fits."""
    assert multiple_choice(7, [group((5, 10), (7, 10)), group((1, 0))]) == [0, -1]
    assert multiple_choice(6, [group((5, 10), (6, 10)), group((2, 0))]) == [0, -1]


def test_ties_favor_earlier_groups():
    """One of two equal jobs gets the GPU: the first. Of 3 GPUs for two that gain 5 each: the first gets 2."""
    assert multiple_choice(1, [group((1, 5)), group((1, 5))]) == [0, -1]
    assert multiple_choice(3, [group((1, 5), (2, 10)), group((1, 5), (2, 10))]) == [1, 0]


def test_small_differences_count():
    """If all fits, 10,001 is taken and not the lighter 10,000; if one of two fits, the better one."""
    first, second = group((1, 10_000), (2, 10_001)), group((2, 10_002))
    assert multiple_choice(4, [first, second]) == [1, 0]
    assert multiple_choice(2, [first, second]) == [-1, 0]


def test_a_group_whose_items_are_all_too_heavy_gets_none():
    """4 GPUs: a worker of 8 does not fit, the others share as if it were not there."""
    assert multiple_choice(4, [group((8, 1e9)), group((4, 1), (8, 2)), group()]) == [-1, 0, -1]


def test_workers_that_slow_a_job_down_are_not_taken():
    """Priced by the network, the second machine may cost more than it brings: 3 workers, though 5 fit."""
    slow = group((1, 5), (2, 8), (3, 9), (4, -2), (5, 4))
    assert multiple_choice(5, [slow]) == [2]
    assert multiple_choice(7, [slow, group((2, -1), (4, -3)), B]) == [2, -1, 3]
    assert multiple_choice(13, [slow, group((2, -1), (4, -3)), B]) == [2, -1, 3]  # where all fit


weights = st.integers(1, 6)


@st.composite
def instances(draw):
    """Return a capacity and groups; whole values make ties, few weights a common divisor now and then."""
    unit = draw(st.sampled_from([1, 1, 2, 3]))
    groups = []
    for _ in range(draw(st.integers(0, 5))):
        result = sorted(draw(st.lists(weights, max_size=4, unique=True)))
        groups.append(group(*((unit * w, draw(st.integers(-2, 12))) for w in result)))
    return draw(st.integers(0, 30)), groups


def key(groups, answer):
    """Return the key of the documented rule: most value, least weight, last groups' lightest items."""
    value, weight = sums(groups, answer)
    return -value, weight, answer[::-1]


@given(instances())
def test_it_is_the_best_of_all_answers(instance):
    """Of all answers that fit (at most 5^5), the first by value, then weight, then the last groups' items."""
    capacity, groups = instance
    every = product(*(range(-1, len(w)) for w, _ in groups))
    fits = [list(answer) for answer in every if sums(groups, answer)[1] <= capacity]
    assert multiple_choice(capacity, groups) == min(fits, key=lambda answer: key(groups, answer))


def by_program(capacity, groups):
    """Return the answer of the plain dynamic program: every item of every group, at every room."""
    rows = [np.zeros(capacity + 1)]
    for weights, values in groups:
        row = rows[-1].copy()
        for weight, value in zip(weights.tolist(), values.tolist(), strict=True):
            if weight <= capacity:
                row[weight:] = np.maximum(row[weight:], rows[-1][: capacity + 1 - weight] + value)
        rows.append(row)
    taken, left = [], int(rows[-1].argmax())
    for number in range(len(groups) - 1, -1, -1):
        best, before = rows[number + 1][left], rows[number]
        options = [(-1, 0, 0.0), *zip(range(9), *(part.tolist() for part in groups[number]), strict=False)]
        item, weight, _ = next(o for o in options if o[1] <= left and before[left - o[1]] + o[2] == best)
        taken.append(item)
        left -= weight
    return taken[::-1]


@pytest.mark.parametrize("seed", range(12))
def test_larger_ones_are_as_by_the_plain_program(seed):
    """60 jobs, room for 5 to 95 % of what they want; whole values below 40 tie often: equal to the item."""
    rng = np.random.default_rng(seed)
    groups = []
    for _ in range(60):
        workers = np.arange(1, rng.integers(2, 9))
        values = rng.integers(1, 40) * workers / (1 + workers) if seed % 2 else rng.random(len(workers)) * 9
        sizes = workers * rng.choice([1, 2, 4, 8]) if seed % 3 else np.sort(rng.integers(1, 20, len(workers)))
        groups.append((sizes, np.rint(values)))
    wanted = sum(int(w[-1]) for w, _ in groups)
    for share in (0.05, 0.3, 0.6, 0.95):
        capacity = int(wanted * share)
        assert multiple_choice(capacity, groups) == by_program(capacity, groups)


def by_scipy(capacity, groups):
    """Return the greatest value, by mixed integer programming."""
    weight, value = (np.concatenate([g[k] for g in groups]) for k in (0, 1))
    owner = np.repeat(np.arange(len(groups)), [len(w) for w, _ in groups])
    rows = np.vstack([weight, *(owner == g for g in range(len(groups)))])
    limits = np.append(capacity, np.ones(len(groups)))
    constraints = LinearConstraint(rows, -np.inf, limits)
    answer = milp(-value, constraints=constraints, bounds=(0, 1), integrality=np.ones(len(value)))
    return -answer.fun


@pytest.mark.parametrize("concave", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_larger_ones_are_as_good_as_mixed_integer_programming(seed, concave):
    """30 jobs of workers of 1, 2, 3, 4 or 8 GPUs, room for a third of what they want; values to 1e-6."""
    rng = np.random.default_rng(seed)
    groups = []
    for _ in range(30):
        workers = np.arange(1, rng.integers(2, 9))
        time, base = rng.lognormal(5, 1), int(rng.integers(1, 5))
        values = time * workers / (base + workers) if concave else time * rng.random(len(workers))
        groups.append((workers * rng.choice([1, 2, 3, 4, 8]), values))
    capacity = sum(int(w[-1]) for w, _ in groups) // 3
    value, weight = sums(groups, multiple_choice(capacity, groups))
    assert weight <= capacity
    assert value == pytest.approx(by_scipy(capacity, groups), rel=1e-4)  # milp stops at a gap of 1e-4
    assert value >= by_scipy(capacity, groups) * (1 - 1e-6)
