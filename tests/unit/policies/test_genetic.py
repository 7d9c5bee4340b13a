"""The genetic algorithm of Pollux: an option a job within a capacity."""

from itertools import product

import numpy as np
import pytest

from artist.policies.pollux.genetic import Genetic, _Problem

FEW = [np.array([0, 2]), np.array([0, 1, 3])]  # weights
WORTH = [np.array([0.0, 5.0]), np.array([0.0, 4.0, 6.0])]


def rng(seed=0):
    return np.random.default_rng(seed)


def weight(weights, chosen):
    return sum(int(weight[place]) for weight, place in zip(weights, chosen, strict=True))


def worth(values, chosen):
    return sum(float(value[place]) for value, place in zip(values, chosen, strict=True))


@pytest.mark.parametrize(
    ("capacity", "expected"),
    [(5, [1, 2]), (4, [1, 1]), (3, [1, 1]), (2, [1, 0]), (1, [0, 1]), (0, [0, 0])],
)
def test_options_by_hand(capacity, expected):
    """5 + 6 weigh 5; 5 + 4 weigh 3, more than 6 alone; then 5 alone (2), 4 alone (1), nothing."""
    assert Genetic().best(capacity, FEW, WORTH, [], rng()).tolist() == expected


def random_case(chance):
    jobs = int(chance.integers(2, 6))
    weights = [
        np.concatenate([[0], np.sort(chance.integers(0, 9, chance.integers(1, 5)))]) for _ in range(jobs)
    ]
    values = [chance.normal(size=len(weight)) for weight in weights]
    return int(chance.integers(0, 20)), weights, values


def test_it_finds_the_optimum_of_small_cases():
    """Of 60 cases of 2 to 5 jobs each is as good as the best of all combinations that fit."""
    chance = rng(7)
    for _ in range(60):
        capacity, weights, values = random_case(chance)
        every = product(*(range(len(weight)) for weight in weights))
        best = max(worth(values, item) for item in every if weight(weights, item) <= capacity)
        result = Genetic().best(capacity, weights, values, [], chance)
        assert weight(weights, result) <= capacity
        assert worth(values, result) == pytest.approx(best)


def large_case(chance, jobs=80):
    weights = [np.arange(chance.integers(2, 9)) * chance.integers(1, 5) for _ in range(jobs)]
    return 100, weights, [np.sqrt(weight) * chance.random() for weight in weights]


def test_it_fits_and_comes_near_the_optimum_of_a_large_case():
    """Of 80 jobs what it returns fits 100 and is worth 98 % of what dynamic programming finds."""
    capacity, weights, values = large_case(rng(1))
    best = np.zeros(capacity + 1)
    for item, value in zip(weights, values, strict=True):
        with_it = [
            np.concatenate([np.full(w, -np.inf), best[: capacity + 1 - w] + v])
            for w, v in zip(item, value, strict=True)
        ]
        best = np.max(with_it, axis=0)
    result = Genetic().best(capacity, weights, values, [], rng())
    assert weight(weights, result) <= capacity
    assert 0.98 * best[-1] <= worth(values, result) <= best[-1] + 1e-9


def test_the_result_is_never_worse_than_the_start():
    """The best of parents and children stay; without children what is given is still a candidate."""
    capacity, weights, values = large_case(rng(2))
    given = Genetic().best(capacity, weights, values, [], rng())
    after = Genetic(population=2, generations=0).best(capacity, weights, values, [given], rng(3))
    assert worth(values, after) >= worth(values, given)
    assert worth(values, Genetic().best(capacity, weights, values, [given], rng(3))) >= worth(values, given)


def test_the_start_is_kept_if_nothing_is_better():
    """Two jobs of equal worth and room for one: the one that has it keeps it, whichever it is."""
    weights, values = [np.array([0, 1])] * 2, [np.array([0.0, 1.0])] * 2
    for given in ([1, 0], [0, 1]):
        assert Genetic().best(1, weights, values, [np.array(given)], rng()).tolist() == given


def test_allocations_that_do_not_fit_are_repaired():
    """Of [3, 3] with room for 4, one job keeps 3 and the other gets the 1 that is left."""
    options = [np.array([0, 1, 3])] * 2
    values = [np.array([0.0, 0.0, 0.0])] * 2
    only = Genetic(population=2, generations=0)
    result = only.best(4, options, values, [np.array([2, 2])], rng())
    assert sorted(result.tolist()) == [1, 2]


def test_jobs_after_one_that_does_not_fit_get_nothing():
    """Three jobs of 2 and room for 3: the first has 2, of the next nothing fits, the last gets none."""
    options, values = [np.array([0, 2])] * 3, [np.array([0.0, 1.0])] * 3
    result = Genetic(population=2, generations=0).best(3, options, values, [np.array([1, 1, 1])], rng())
    assert sorted(result.tolist()) == [0, 0, 1]


def test_children_mix_their_parents():
    """Of parents with no option 1 and with nothing else, children of both have some 20 of 40.

    Half of the children have two different parents; mutation changes one of 40 on average.
    """
    problem = _Problem(40, [np.array([0, 1])] * 40, [np.zeros(2)] * 40)
    parents = np.repeat([[0], [1]], 50, axis=0) * np.ones(40, dtype=np.int64)
    ones = problem.children(parents, np.zeros(100), rng()).sum(axis=1)
    assert 30 < np.count_nonzero((ones > 10) & (ones < 30)) < 70
    assert np.count_nonzero(ones <= 10) > 10 < np.count_nonzero(ones >= 30)


class Counting(np.random.Generator):
    """Counts the permutations, one for the first population and one a generation."""

    def __init__(self):
        super().__init__(np.random.PCG64(0))
        self.permutations = 0

    def permutation(self, *of, **how):
        self.permutations += 1
        return super().permutation(*of, **how)


@pytest.mark.parametrize(("generations", "patience", "expected"), [(250, 7, 7), (5, 7, 5), (0, 7, 0)])
def test_it_ends_when_nothing_improves(generations, patience, expected):
    """All options are worth the same: it ends after 7 generations, or earlier if it may do no more."""
    chance = Counting()
    options, values = [np.array([0, 1])] * 3, [np.zeros(2)] * 3
    Genetic(generations=generations, patience=patience).best(3, options, values, [], chance)
    assert chance.permutations - 1 == expected


def test_improvements_reset_the_patience():
    """A large case improves again and again: it goes on for more than the 3 generations of its patience."""
    chance = Counting()
    Genetic(patience=3).best(*large_case(rng(4)), [], chance)
    assert chance.permutations > 10


def test_the_same_seed_finds_the_same():
    """Equal generators give equal solutions, of jobs of which many are alike."""
    case = large_case(rng(5))
    assert np.array_equal(*(Genetic(generations=3).best(*case, [], rng(9)) for _ in range(2)))
