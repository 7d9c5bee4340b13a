"""A matching of many jobs, all of them different, found by the Blossom algorithm. Shared by the policies.

Networkx has the algorithm, but for all pairs of a thousand jobs it takes minutes, and few pairs matter. The
linear relaxation, an assignment problem, gives each job a price so that no pair weighs more than its two
prices together. What a pair weighs less is its slack, and the heaviest matching is the one with the least
slack. So the algorithm is given the pairs with the least slack only. No matching with another pair is heavier
if that pair alone has more slack than all of the matching found; else the pairs up to there are added.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt

from artist.policies.parts.assignment import dual_prices

Floats = npt.NDArray[np.float64]
_WHOLE = 2.0**30  # weights as whole numbers, so that sums and differences are exact
_FIRST_PAIRS = 5  # to begin with, of each job
_FIRST_SPARE = 20  # and how many more jobs may stay single than do


def blossom(weights: Floats, singles: int) -> list[tuple[int, int]]:
    """Return the pairs of the heaviest matching that leaves so many jobs single, or as few more as can be.

    Parameters
    ----------
    weights
        Weight of a pair, from 0 to 1, shape (n_jobs, n_jobs), symmetric; NaN forbids a pair.
    singles
        How many jobs stay single; as many as the others have an even number.
    """
    n = len(weights)
    if n < 2:
        return []
    whole = np.zeros((n + singles, n + singles))  # a single job is paired with a stand-in
    whole[:n, :n] = np.rint(weights * _WHOLE)
    whole[np.isnan(whole)] = -_WHOLE * n  # so few of these as can be; they are left out at the end
    whole[n:, n:] = -_WHOLE * n * n
    np.fill_diagonal(whole, -_WHOLE * n * n)
    found = _least_slack(_slack(whole), singles)
    return [(a, b) for a, b in found if b < n and not np.isnan(weights[a, b])]


def _slack(whole: Floats) -> Floats:
    """Return what each pair weighs less than its two prices, of the shape of `whole`."""
    from scipy.optimize import linear_sum_assignment  # half a second, and few runs have so many jobs

    partner = linear_sum_assignment(whole, maximize=True)[1]
    price = dual_prices(whole[np.arange(len(whole)), partner] - whole[:, partner], whole)
    slack: Floats = price[:, None] + price - whole
    return slack


def _least_slack(slack: Floats, singles: int) -> list[tuple[int, int]]:
    """Return the pairs of all, the stand-ins last, with the least slack, each pair sorted."""
    n = len(slack) - singles
    first, second = np.triu_indices(n, 1)
    between, alone = slack[first, second], slack[:n, -1] if singles else np.empty(0)
    wanted, spare = _FIRST_PAIRS * n, _FIRST_SPARE
    limit, alone_limit = _smallest(between, wanted), _smallest(alone, singles + spare)
    while True:
        near = np.flatnonzero(between <= limit)
        pairs = zip(first[near].tolist(), second[near].tolist(), between[near].tolist(), strict=True)
        found = _least_sum(chain(pairs, _with_stand_ins(alone, alone_limit, singles)))
        lost = sum(slack[pair] for pair in found)
        if 2 * len(found) < len(slack):
            wanted, spare = 4 * wanted, 4 * spare
            limit, alone_limit = _smallest(between, wanted), _smallest(alone, singles + spare)
        elif lost <= min(limit, alone_limit):
            return found
        else:  # enough, since the next matching has no more slack
            limit = alone_limit = lost


def _smallest(values: Floats, rank: int) -> float:
    return float(np.partition(values, rank)[rank]) if rank < len(values) else np.inf


def _with_stand_ins(alone: Floats, limit: float, singles: int) -> Iterator[tuple[int, int, float]]:
    """Yield pairs of jobs and stand-ins with their slack: all are alike, so that they are taken in order."""
    able = np.flatnonzero(alone <= limit).tolist()
    others = len(able) - singles
    for rank, job in enumerate(able):
        for stand_in in range(max(0, rank - others), min(rank + 1, singles)):
            yield job, len(alone) + stand_in, float(alone[job])


def _least_sum(edges: Iterable[tuple[int, int, float]]) -> list[tuple[int, int]]:
    """Return the matching of as many pairs as can be with the least sum of slack, each pair sorted."""
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph()
    graph.add_weighted_edges_from((a, b, int(-2 * slack)) for a, b, slack in edges)  # it may end in a half
    return sorted((min(pair), max(pair)) for pair in nx.max_weight_matching(graph, maxcardinality=True))
