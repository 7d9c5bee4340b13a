"""Matching of greatest weight among jobs of a few kinds: which kinds pair, how often. Shared by policies.

Jobs of one kind are alike, so a matching is a table: how many pairs there are of kinds a and b. Of few jobs
it is found by a search (`artist.policies.parts.matching_search`); else, with few kinds, it is a small integer
program, solved exactly (HiGHS); with many it is a matching of single jobs, found by the Blossom algorithm
(`artist.policies.parts.matching_jobs`). All give the heaviest of the matchings with as many pairs as can be.
"""

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from artist.policies.parts.matching_jobs import blossom
from artist.policies.parts.matching_search import search

Floats = npt.NDArray[np.float64]
MOST_JOBS = 128  # of a search: its assignment problem then takes a millisecond
MOST_KINDS = 64  # of an integer program: it then has two thousand unknowns


class Pairs(NamedTuple):
    """How many pairs of two kinds there are, the first not above the second."""

    first: int
    second: int
    times: int


def heaviest_pairs(counts: Sequence[int], weights: Floats, most: int | None = None) -> list[Pairs]:
    """Return the matching of greatest weight among those with as many pairs as can be, by kinds.

    Parameters
    ----------
    counts
        Jobs of each kind.
    weights
        Weight of a pair by kinds, shape (n_kinds, n_kinds), symmetric; NaN forbids a pair.
    most
        No more pairs than this; None for as many as there can be.
    """
    if most == 0:
        return []
    found = by_search(counts, weights, most)
    if found is not None:
        return found
    return (by_kinds if len(counts) <= MOST_KINDS else by_jobs)(counts, weights, most)


def by_search(counts: Sequence[int], weights: Floats, most: int | None = None) -> list[Pairs] | None:
    """Do as `heaviest_pairs` by a search; None if the jobs are too many, or it takes too long."""
    total = sum(counts)
    if total > MOST_JOBS:
        return None
    pairs = total // 2 if most is None else min(most, total // 2)
    found = search(counts, weights, total - 2 * pairs) if pairs else {}
    return None if found is None else [Pairs(a, b, found[a, b]) for a, b in sorted(found)]


def by_kinds(counts: Sequence[int], weights: Floats, most: int | None = None) -> list[Pairs]:
    """Do as `heaviest_pairs` by an integer program over the kinds."""
    pairs = [
        (a, b)
        for a, b in combinations_with_replacement(range(len(counts)), 2)
        if min(counts[a], counts[b]) > (a == b) and not np.isnan(weights[a, b])
    ]
    if not pairs:
        return []
    uses = np.zeros((len(counts) + 1, len(pairs)))  # jobs of each kind, and last: pairs
    for column, (a, b) in enumerate(pairs):
        uses[a, column] += 1
        uses[b, column] += 1
    uses[-1] = 1
    limit = sum(counts) // 2 if most is None else min(most, sum(counts) // 2)
    if np.isnan(weights).any():  # not everybody may find a partner: first, how many pairs can there be
        limit = min(limit, int(_solve(np.ones(len(pairs)), uses, [*counts, limit], fewest=0).sum()))
    gains = np.array([weights[pair] for pair in pairs])
    chosen = _solve(gains, uses, [*counts, limit], fewest=limit)
    return [Pairs(a, b, n) for (a, b), n in zip(pairs, chosen.tolist(), strict=True) if n]


def by_jobs(counts: Sequence[int], weights: Floats, most: int | None = None) -> list[Pairs]:
    """Do as `heaviest_pairs` by the Blossom algorithm over the single jobs."""
    kinds = np.repeat(np.arange(len(counts)), counts)
    pairs = len(kinds) // 2 if most is None else min(most, len(kinds) // 2)
    found: dict[tuple[int, int], int] = {}
    for job, other in blossom(weights[np.ix_(kinds, kinds)], len(kinds) - 2 * pairs):
        pair = int(kinds[job]), int(kinds[other])  # the jobs are sorted by kind
        found[pair] = found.get(pair, 0) + 1
    return [Pairs(a, b, found[a, b]) for a, b in sorted(found)]


def _solve(gains: Floats, uses: Floats, limits: Sequence[int], *, fewest: int) -> npt.NDArray[np.int64]:
    """Return whole numbers >= 0 of most gain whose uses are within limits; the last use at least `fewest`."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # half a second, and few runs have so many jobs

    low = np.zeros(len(limits))
    low[-1] = fewest
    answer = milp(
        -gains,
        integrality=np.ones(len(gains)),
        bounds=Bounds(0, np.inf),
        constraints=LinearConstraint(uses, low, limits),
        options={"mip_rel_gap": 0.0},
    )
    if answer.x is None:
        raise RuntimeError(f"no matching was found: {answer.message}")
    whole: npt.NDArray[np.int64] = np.rint(answer.x).astype(np.int64)
    return whole
