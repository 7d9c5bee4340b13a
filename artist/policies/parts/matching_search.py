"""A matching of few jobs of few kinds, found by a search along its linear relaxation. Shared by the policies.

The relaxation, an assignment problem, gives each kind a price so that no pair weighs more than its two prices
together. What a pair weighs less is its slack, and the heaviest matching is the one with the least slack.
The search (Dijkstra's) takes pair after pair, least slack first. Most pairs of a best matching have none, so
that it sees few states; where there are many, it gives up.
"""

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from artist.policies.parts.assignment import assigned, dual_prices

Floats = npt.NDArray[np.float64]
State = tuple[int, ...]  # jobs of each kind that are still single
_WHOLE = 2.0**24  # weights as whole numbers, so that sums and differences are exact
_FORBIDDEN = -(2.0**42)
_MOST_STATES = 2000


def search(counts: Sequence[int], weights: Floats, singles: int) -> dict[tuple[int, int], int] | None:
    """Return the heaviest matching as times by pair of kinds, or None if it takes too long.

    Parameters
    ----------
    counts, weights
        As of `matching.heaviest_pairs`.
    singles
        How many jobs stay single; as many as the others have an even number. More may only where that
        cannot be helped.
    """
    n, total = len(counts), sum(counts)
    all_counts = [*counts, singles]  # a single job is paired with a stand-in
    whole = np.full((n + 2, n + 2), _FORBIDDEN)
    whole[:n, :n] = np.where(np.isnan(weights), _FORBIDDEN, np.rint(weights * _WHOLE))
    whole[:n, n] = whole[n, :n] = 0
    if np.isnan(weights).any():  # more stand-ins, each at the cost of all weights, or left to each other
        all_counts.append(total - singles)
        whole[:n, n + 1] = whole[n + 1, :n] = -_WHOLE * total
        whole[n + 1, n + 1] = 0
    whole = whole[: len(all_counts), : len(all_counts)]
    alone = np.array(all_counts) < 2
    whole[alone, alone] = _FORBIDDEN
    prices = _prices(all_counts, whole)
    slack = np.maximum(prices[:, None] + prices - whole, 0.0)
    found = _least_slack(tuple(all_counts), slack.tolist())
    if found is None:
        return None
    return {pair: times for pair, times in found.items() if pair[1] < n}


def _prices(counts: Sequence[int], weights: Floats) -> Floats:
    """Return the dual prices of the assignment of each job to another, shape (n_kinds,)."""
    paired = np.array(assigned(counts, weights.tolist())) > 0
    more = np.where(paired, weights[None] - weights[:, None], np.inf).min(axis=2)
    return dual_prices(more, weights)


def _least_slack(counts: State, slack: Sequence[Sequence[float]]) -> dict[tuple[int, int], int] | None:
    """Return the pairs with the least slack that leave nobody over; None beyond the limit of states."""
    partners = [
        [(slack[a][b], b) for b in range(a, len(counts)) if slack[a][b] < -_FORBIDDEN / 2]
        for a in range(len(counts))
    ]
    best: dict[State, tuple[float, State, tuple[int, int]]] = {counts: (0.0, counts, (0, 0))}
    heap = [(0.0, sum(counts), counts)]
    done: set[State] = set()
    while heap and len(done) < _MOST_STATES:
        so_far, left, state = heappop(heap)
        if not left:
            return _pairs_to(state, counts, best)
        if state in done:
            continue
        done.add(state)
        a = next(kind for kind, n in enumerate(state) if n)
        for more, b in partners[a]:
            if state[b] > (a == b):
                after = list(state)
                after[a] -= 1
                after[b] -= 1
                following = tuple(after)
                if following not in best or so_far + more < best[following][0]:
                    best[following] = (so_far + more, state, (a, b))
                    heappush(heap, (so_far + more, left - 2, following))
    return None


def _pairs_to(
    state: State, start: State, best: dict[State, tuple[float, State, tuple[int, int]]]
) -> dict[tuple[int, int], int]:
    """Return how often each pair was taken on the way from the start to a state."""
    times: dict[tuple[int, int], int] = {}
    while state != start:
        _, state, pair = best[state]
        times[pair] = times.get(pair, 0) + 1
    return times
