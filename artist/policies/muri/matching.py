"""Matching of greatest weight among jobs of a few kinds: pairs of kinds with their counts. For Muri.

Jobs of one kind are identical, so a matching is a table: the number of pairs of kinds a and b. Up to
`MAX_JOBS` jobs are matched one by one by the Blossom algorithm (rustworkx), exactly: the heaviest of the
matchings with as many pairs as possible, weights being rounded to 2^-30. For more jobs, the linear relaxation
over pairs of kinds (HiGHS) has the number of pairs of each two kinds in the best matching that may
halve pairs. All but the last few of each two kinds are kept; the jobs of those, up to `MAX_JOBS`, and single
ones are matched one by one.

A pair is halved at most once for each two kinds, so the loss is at most the weight of kinds / 2 pairs. Of 240
drawn instances of 129 to 320 jobs of 2 to 64 kinds, 237 lost nothing against Blossom over all jobs, the
others, of 64 kinds, at most 0.2 %. For the times see scripts/benchmarks.
"""

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from math import isnan
from typing import NamedTuple

import numpy as np
import rustworkx as rx

from artist.core.arrays import Floats, Ints

MAX_JOBS = 128  # to match one by one; takes 10 ms
MAX_KINDS = 64  # of more jobs; the relaxation then has two thousand unknowns and takes 10 ms
_WHOLE = 2.0**30
_NEARLY = 1e-6  # a number of the relaxation this close to a whole number is whole


class Pairs(NamedTuple):
    """The number of pairs of two kinds, the first not above the second."""

    first: int
    second: int
    times: int


def heaviest_pairs(counts: Sequence[int], weights: Floats, most: int | None = None) -> list[Pairs]:
    """Return the matching of greatest weight among those with the most pairs, by kinds.

    Parameters
    ----------
    counts
        Jobs of each kind; at most `MAX_KINDS` kinds if there are more than `MAX_JOBS` jobs.
    weights
        Weight of a pair by kinds, from 0 to 1, shape (n_kinds, n_kinds), symmetric; NaN forbids a pair.
    most
        No more pairs than this; None for any number.
    """
    left = np.array(counts, dtype=np.int64)
    times = np.zeros(weights.shape, dtype=np.int64)
    if left.sum() > MAX_JOBS:
        times, left = _relaxed(left, weights, most)
    for a, b in _one_by_one(left, weights, None if most is None else most - int(times.sum())):
        times[a, b] += 1
    return [Pairs(a, b, int(times[a, b])) for a, b in np.argwhere(times).tolist()]


def _relaxed(counts: Ints, weights: Floats, most: int | None) -> tuple[Ints, Ints]:
    """Return the pairs to keep, shape (n_kinds, n_kinds), and the jobs of each kind to match one by one."""
    from scipy.optimize import LinearConstraint, milp  # half a second, and few runs are that large
    from scipy.sparse import csc_array

    first, second = np.nonzero(np.triu(~np.isnan(weights)))
    n, total = len(first), int(counts.sum())
    if not n:
        return np.zeros(weights.shape, dtype=np.int64), np.zeros_like(counts)
    rows = np.concatenate((first, second, np.full(n, len(counts))))
    uses = csc_array((np.ones(3 * n), (rows, np.tile(np.arange(n), 3))), shape=(len(counts) + 1, n))
    limits = np.append(counts, total if most is None else most)  # jobs of each kind, and pairs
    answer = milp(-total - weights[first, second], constraints=LinearConstraint(uses, -np.inf, limits))
    if answer.x is None:
        raise RuntimeError(f"the relaxation of a matching was not solved: {answer.message}")
    whole = np.floor(answer.x + _NEARLY).astype(np.int64)
    single = counts - (uses @ whole)[:-1]
    for spare in range(MAX_JOBS, -1, -1):
        kept = np.maximum(whole - spare, 0)
        left = (uses @ (whole - kept))[:-1] + np.minimum(single, 2 + spare)
        if left.sum() <= MAX_JOBS:
            break
    times = np.zeros(weights.shape, dtype=np.int64)
    times[first, second] = kept
    return times, left.astype(np.int64)


def _one_by_one(counts: Ints, weights: Floats, most: int | None) -> list[tuple[int, int]]:
    """Return the kinds of each pair of the heaviest matching of single jobs, the lower first."""
    kind = [kind for kind, count in enumerate(counts.tolist()) for _ in range(count)]
    jobs, whole = len(kind), _whole(weights)
    edges = [
        (a, b, weight)
        for a, b in combinations(range(jobs), 2)
        if (weight := whole[kind[a]][kind[b]]) is not None
    ]
    dummies = range(jobs, jobs if most is None else 2 * jobs - 2 * most)  # jobs paired with one stay single
    edges += [(job, dummy, 0) for job in range(jobs) for dummy in dummies]
    graph: rx.PyGraph[None, int] = rx.PyGraph(multigraph=False)
    graph.extend_from_weighted_edge_list(edges)
    matching = rx.max_weight_matching(graph, max_cardinality=True, weight_fn=int)
    ends = sorted((min(ends), max(ends)) for ends in matching)
    return [(kind[a], kind[b]) for a, b in ends if b < jobs]


def _whole(weights: Floats) -> list[list[int | None]]:
    """Return the weights as whole multiples of 2^-30, and beside each one less than 2^-10 of that.

    The number beside decides between matchings of equal weight, which would otherwise depend on the order in
    which the algorithm looks at the pairs.
    """
    return [
        [
            None if isnan(weight) else (round(weight * _WHOLE) << 50) + tie
            for weight, tie in zip(*row, strict=True)
        ]
        for row in zip(weights.tolist(), _ties(len(weights)), strict=True)
    ]


@cache
def _ties(kinds: int) -> list[list[int]]:
    """Return a number below 2^40 for each pair of kinds: powers of 3 modulo a prime."""
    pairs = [[(min(a, b), max(a, b)) for a in range(kinds)] for b in range(kinds)]
    return [[pow(3, 1000 + a * kinds + b, 2**61 - 1) >> 21 for a, b in row] for row in pairs]
