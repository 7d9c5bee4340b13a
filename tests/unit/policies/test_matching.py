"""The ways to match, against each other and against all matchings of small instances."""

import time
from functools import cache

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artist.policies.parts.matching import (
    MOST_JOBS,
    MOST_KINDS,
    Pairs,
    by_jobs,
    by_kinds,
    by_search,
    heaviest_pairs,
)
from artist.policies.parts.matching_jobs import blossom

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
        found = best(without, allowed)
        for other, n in enumerate(without):
            if n and not np.isnan(weights[first, other]):
                rest = best(tuple(m - (k == other) for k, m in enumerate(without)), allowed - 1)
                found = max(found, (rest[0] + 1, rest[1] + weights[first, other]))
        return found

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


@pytest.mark.parametrize("match", [by_search, by_kinds, by_jobs])
def test_figure_5_the_heavier_plan_wins(match):
    """A = C and B = D: unlike jobs weigh 1, like ones 0.75. Two unlike pairs weigh 2, two like ones 1.5."""
    assert match([2, 2], np.array([[0.75, 1], [1, 0.75]])) == [Pairs(0, 1, 2)]


@pytest.mark.parametrize("match", [by_search, by_kinds, by_jobs])
def test_as_many_pairs_as_can_be_come_before_their_weight(match):
    """A with b weighs 0.1, b with b 1, a with a nothing: a, a, b, b make two pairs of 0.1, not one of 1."""
    weights = np.array([[FORBIDDEN, 0.1], [0.1, 1.0]])
    assert match([2, 2], weights) == [Pairs(0, 1, 2)]
    assert match([1, 2], weights) == [Pairs(1, 1, 1)]


@pytest.mark.parametrize("match", [by_search, by_kinds, by_jobs])
def test_no_more_pairs_than_wanted(match):
    """Of two pairs of 1 and 0.5 the heavier one is kept."""
    weights = np.array([[FORBIDDEN, 1.0, 0.0], [1.0, FORBIDDEN, 0.5], [0.0, 0.5, FORBIDDEN]])
    assert match([1, 2, 1], weights, 1) == [Pairs(0, 1, 1)]


@settings(deadline=None, max_examples=60)
@given(instances())
def test_all_ways_are_as_heavy_as_the_best_of_all(instance):
    """Search, integer program and Blossom find the greatest weight that there is, with equally many pairs."""
    counts, weights, most = instance
    best = pytest.approx(best_of_all(counts, weights, most), abs=1e-6)
    for match in (by_kinds, by_jobs, by_search):
        pairs = match(counts, weights, most)
        used = [sum(n * ((a == k) + (b == k)) for a, b, n in pairs) for k in range(len(counts))]
        assert all(u <= n for u, n in zip(used, counts, strict=True))
        assert weight_of(pairs, weights) == best


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=8), st.integers(0, 2**32), st.booleans())
def test_the_search_is_as_good_as_the_integer_program(counts, seed, few):
    """At the size that a plan needs: up to eight kinds, up to nine jobs of each; with ties where `few`."""
    rng = np.random.default_rng(seed)
    half = rng.integers(1, 4, (len(counts),) * 2) / 4 if few else rng.random((len(counts),) * 2)
    weights = (half + half.T) / 2
    one, other = (weight_of(match(counts, weights), weights) for match in (by_search, by_kinds))
    assert one == pytest.approx(other, abs=1e-6)


def test_many_kinds_go_by_jobs():
    """Jobs of all different kinds make a program of thousands of unknowns; Blossom takes them one by one."""
    counts = [1] * max(MOST_KINDS + 2, MOST_JOBS + 2)
    assert len_of(heaviest_pairs(counts, np.ones((len(counts), len(counts))))) == len(counts) // 2
    assert heaviest_pairs([2], np.ones((1, 1)), 0) == []


def test_two_triangles_are_joined_where_it_costs_least():
    """Within a triangle pairs weigh 1, between the two 0.5, but 2 with 3 0.7: two pairs of 1 and that one."""
    weights = np.full((6, 6), 0.5)
    weights[:3, :3] = weights[3:, 3:] = 1
    weights[2, 3] = weights[3, 2] = 0.7
    assert blossom(weights, 0) == [(0, 1), (2, 3), (4, 5)]


def test_the_lightest_stay_single():
    """Jobs 0 to 3 weigh 1 with each other, 4 and 5 0.1 with anybody: if two stay single, 4 and 5 do."""
    weights = np.full((6, 6), 0.1)
    weights[:4, :4] = 1
    assert sorted(job for pair in blossom(weights, 2) for job in pair) == [0, 1, 2, 3]


@settings(deadline=None, max_examples=25)
@given(
    st.integers(2, 60), st.integers(0, 2**32), st.sampled_from([0, 0.5, 0.9]), st.booleans(), st.booleans()
)
def test_the_pairs_of_little_slack_are_enough(n, seed, forbidden, few, most):
    """As heavy as networkx's matching of all pairs: also with ties, with forbidden pairs, and for a third."""
    rng = np.random.default_rng(seed)
    half = rng.integers(0, 4, (n, n)) / 4 if few else rng.random((n, n))
    weights = np.triu(half, 1) + np.triu(half, 1).T
    weights[np.triu(rng.random((n, n)) < forbidden, 1)] = FORBIDDEN
    weights += 0 * weights.T
    singles = n - 2 * (n // 3 if most else n // 2)
    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from(range(n + singles))
    graph.add_edges_from((job, n + other, {"weight": 0}) for job in range(n) for other in range(singles))
    for a, b in np.argwhere(~np.isnan(np.triu(weights, 1) + np.tril(np.full((n, n), FORBIDDEN)))).tolist():
        graph.add_edge(a, b, weight=round(weights[a, b] * 2**40))
    found = [(min(p), max(p)) for p in nx.max_weight_matching(graph, maxcardinality=True)]
    expected = [pair for pair in found if pair[1] < n]
    pairs = blossom(weights, singles)
    assert len({job for pair in pairs for job in pair}) == 2 * len(pairs) == 2 * len(expected)
    assert sum(weights[p] for p in pairs) == pytest.approx(sum(weights[p] for p in expected), abs=1e-6)


def test_five_hundred_different_jobs_take_seconds():
    """Of all pairs Blossom takes minutes. Each job is paired: 250 pairs, nearly all of almost weight 1."""
    rng = np.random.default_rng(0)
    half = rng.random((500, 500))
    began = time.process_time()
    pairs = blossom(np.maximum(half, half.T), 0)
    assert time.process_time() - began < 10
    assert len(pairs) == 250
