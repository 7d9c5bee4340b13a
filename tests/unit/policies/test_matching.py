"""Matchings of kinds, against all matchings of small instances and a bound of large ones."""

import time
from functools import cache

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from artist.policies.muri import matching
from artist.policies.muri.matching import MAX_JOBS, MAX_KINDS, Pairs, heaviest_pairs

FORBIDDEN = float("nan")


def weight_of(pairs, weights):
    return len_of(pairs), sum(n * weights[a, b] for a, b, n in pairs)


def len_of(pairs):
    return sum(n for _, _, n in pairs)


def best_of_all(counts, weights, most):
    """Return (pairs, weight) of the best matching: the first job with each other one in turn, or single."""

    @cache
    def best(left, allowed):
        first = next((kind for kind, n in enumerate(left) if n), None)
        if first is None or not allowed:
            return (0, 0.0)
        without = tuple(n - (k == first) for k, n in enumerate(left))
        result = best(without, allowed)
        for other, n in enumerate(without):
            if n and not np.isnan(weights[first, other]):
                rest = best(tuple(m - (k == other) for k, m in enumerate(without)), allowed - 1)
                result = max(result, (rest[0] + 1, rest[1] + weights[first, other]))
        return result

    return best(tuple(counts), sum(counts) if most is None else most)


@st.composite
def instances(draw):
    kinds = draw(st.integers(1, 4))
    counts = draw(st.lists(st.integers(0, 3), min_size=kinds, max_size=kinds))
    weight = st.one_of(st.integers(0, 64).map(lambda n: n / 64), st.just(FORBIDDEN))
    weights = np.zeros((kinds, kinds))
    for a in range(kinds):
        for b in range(a, kinds):
            weights[a, b] = weights[b, a] = draw(weight)
    return counts, weights, draw(st.sampled_from([None, 1, 2, 3]))


def used(pairs, kinds):
    return [sum(n * ((a == k) + (b == k)) for a, b, n in pairs) for k in range(kinds)]


def drawn(kinds, jobs, seed, *, few=False):
    """Return the number of jobs per class, and symmetric weights: four values if `few`."""
    rng = np.random.default_rng(seed)
    half = rng.integers(0, 4, (kinds, kinds)) / 4 if few else rng.random((kinds, kinds))
    weights = np.triu(half) + np.triu(half, 1).T
    return rng.multinomial(jobs, np.ones(kinds) / kinds).tolist(), weights


def test_figure_5_the_heavier_plan_wins():
    """A = C and B = D: unlike jobs weigh 1, like ones 0.75. Two unlike pairs weigh 2, two like ones 1.5."""
    assert heaviest_pairs([2, 2], np.array([[0.75, 1], [1, 0.75]])) == [Pairs(0, 1, 2)]


def test_the_number_of_pairs_is_maximised_before_their_weight():
    """A with b weighs 0.1, b with b 1, a with a nothing: a, a, b, b make two pairs of 0.1, not one of 1."""
    weights = np.array([[FORBIDDEN, 0.1], [0.1, 1.0]])
    assert heaviest_pairs([2, 2], weights) == [Pairs(0, 1, 2)]
    assert heaviest_pairs([1, 2], weights) == [Pairs(1, 1, 1)]


def test_no_more_pairs_than_wanted():
    """Of two pairs of 1 and 0.5 the heavier one is kept; none if none is wanted."""
    weights = np.array([[FORBIDDEN, 1.0, 0.0], [1.0, FORBIDDEN, 0.5], [0.0, 0.5, FORBIDDEN]])
    assert heaviest_pairs([1, 2, 1], weights, 1) == [Pairs(0, 1, 1)]
    assert heaviest_pairs([2], np.ones((1, 1)), 0) == []


@settings(deadline=None, max_examples=100)
@given(instances())
def test_it_is_as_heavy_as_the_best_of_all(instance):
    """The greatest weight that there is, with as many pairs."""
    counts, weights, most = instance
    pairs = heaviest_pairs(counts, weights, most)
    assert all(n <= count for n, count in zip(used(pairs, len(counts)), counts, strict=True))
    assert weight_of(pairs, weights) == pytest.approx(best_of_all(counts, weights, most), abs=1e-6)


def test_many_alike_go_by_kinds():
    """301 and 200 jobs: unlike pairs weigh 1, like ones 0.5 and 0.25: 200 unlike, 50 like, one single."""
    weights = np.array([[0.5, 1.0], [1.0, 0.25]])
    assert heaviest_pairs([301, 200], weights) == [Pairs(0, 0, 50), Pairs(0, 1, 200)]


def test_three_odd_kinds_are_joined_where_it_costs_least():
    """Like jobs weigh 1, a with b 0.9, others 0.5. 101 each: 50 like pairs each, a with b, one c single."""
    weights = np.array([[1, 0.9, 0.5], [0.9, 1, 0.5], [0.5, 0.5, 1]])
    result = heaviest_pairs([101, 101, 101], weights)
    assert result == [Pairs(0, 0, 50), Pairs(0, 1, 1), Pairs(1, 1, 50), Pairs(2, 2, 50)]


def test_half_pairs_are_not_rounded_up():
    """64 kinds of 17 jobs: like pairs weigh 1, others 0.5. Eight like pairs each, and 32 of the rest."""
    pairs = heaviest_pairs([17] * 64, (np.ones((64, 64)) + np.eye(64)) / 2)
    assert used(pairs, 64) == [17] * 64
    assert sum(n for a, b, n in pairs if a == b) == 64 * 8


@settings(deadline=None, max_examples=30)
@given(st.integers(2, MAX_KINDS), st.integers(MAX_JOBS + 1, 1000), st.integers(0, 2**32), st.booleans())
def test_less_is_lost_than_a_pair_for_each_two_kinds(kinds, jobs, seed, few):
    """All but one job are paired. Half of the heaviest assignment is a bound, and halves can be kinds / 2."""
    counts, weights = drawn(kinds, jobs, seed, few=few)
    pairs = heaviest_pairs(counts, weights)
    assert all(n <= count for n, count in zip(used(pairs, kinds), counts, strict=True))
    number, weight = weight_of(pairs, weights)
    assert number == jobs // 2
    single = np.repeat(np.repeat(weights, counts, axis=0), counts, axis=1)
    bound = single[linear_sum_assignment(single, maximize=True)].sum() / 2
    assert bound - kinds / 2 <= weight <= bound + 1e-6


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most", [None, 50])
def test_matching_by_classes_of_equal_jobs_loses_no_weight(seed, most, monkeypatch):
    """160 jobs of eight kinds weigh as much as matched one by one, all pairs or the 50 heaviest."""
    counts, weights = drawn(8, 160, seed, few=seed % 2 == 0)
    by_kinds = weight_of(heaviest_pairs(counts, weights, most), weights)
    monkeypatch.setattr(matching, "MAX_JOBS", 1000)
    assert by_kinds == pytest.approx(weight_of(heaviest_pairs(counts, weights, most), weights), abs=1e-6)


def test_jobs_that_no_other_suits_stay_single():
    """Of 200 and 20 jobs only unlike ones suit: 20 pairs, also if 30 are allowed; if 9 are, 9."""
    weights = np.array([[FORBIDDEN, 0.5], [0.5, FORBIDDEN]])
    for most, times in ((None, 20), (30, 20), (9, 9)):
        assert heaviest_pairs([200, 20], weights, most) == [Pairs(0, 1, times)]
    assert heaviest_pairs([200], np.array([[FORBIDDEN]])) == []


def test_equal_matchings_do_not_depend_on_the_order_of_jobs(monkeypatch):
    """18 jobs of six kinds, all pairs alike. Networkx, given the jobs in reverse, finds the same."""

    def by_networkx(pairs, *, max_cardinality, weight_fn):
        graph: nx.Graph = nx.Graph()
        graph.add_nodes_from(reversed(pairs.node_indices()))
        graph.add_weighted_edges_from((b, a, weight_fn(w)) for a, b, w in pairs.weighted_edge_list())
        return nx.max_weight_matching(graph, maxcardinality=max_cardinality)

    result = heaviest_pairs([3] * 6, np.ones((6, 6)))
    monkeypatch.setattr(matching.rx, "max_weight_matching", by_networkx)
    assert heaviest_pairs([3] * 6, np.ones((6, 6))) == result


@settings(deadline=None, max_examples=25)
@given(
    st.integers(2, 60), st.integers(0, 2**32), st.sampled_from([0, 0.5, 0.9]), st.booleans(), st.booleans()
)
def test_all_different_jobs_weigh_as_much_as_with_networkx(n, seed, forbidden, few, most):
    """Blossom twice: also with ties, with forbidden pairs, and for a third of the jobs."""
    _, weights = drawn(n, n, seed, few=few)
    gone = np.triu(np.random.default_rng(seed).random((n, n)) < forbidden)
    weights[gone | gone.T] = FORBIDDEN
    allowed = n // 3 if most else n // 2
    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from(range(n))
    stand_ins = range(n, 2 * n - 2 * allowed)
    graph.add_edges_from((job, other, {"weight": 0}) for job in range(n) for other in stand_ins)
    for a, b in np.argwhere(~np.isnan(np.triu(weights, 1) + np.tril(np.full((n, n), FORBIDDEN)))).tolist():
        graph.add_edge(a, b, weight=round(weights[a, b] * 2**40))
    results = [(min(p), max(p)) for p in nx.max_weight_matching(graph, maxcardinality=True)]
    expected = [Pairs(a, b, 1) for a, b in results if b < n]
    pairs = heaviest_pairs([1] * n, weights, allowed)
    assert max(used(pairs, n)) <= 1
    assert weight_of(pairs, weights) == pytest.approx(weight_of(expected, weights), abs=1e-6)


def test_the_longest_matching_takes_a_fraction_of_a_second():
    """10,000 jobs of 64 kinds: 5,000 pairs; and 128 jobs that are all different: 64."""
    for counts in ([157] * 16 + [156] * 48, [1] * MAX_JOBS):
        _, weights = drawn(len(counts), 1, 0)
        began = time.process_time()
        pairs = heaviest_pairs(counts, weights)
        assert time.process_time() - began < 1
        assert len_of(pairs) == sum(counts) // 2
