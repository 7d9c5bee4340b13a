"""Who is assigned to whom so that the weights sum to the most, where jobs are of a few kinds; and prices.

The Hungarian method, with as many jobs of a kind at once as go the same way. scipy has it for single jobs,
but to load `scipy.optimize` takes longer than all the small assignments of a run.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def assigned(counts: Sequence[int], weights: Sequence[Sequence[float]]) -> list[list[int]]:
    """Return how many jobs of each kind are assigned to jobs of each kind: each job to one, one to each.

    Parameters
    ----------
    counts
        Jobs of each kind.
    weights
        Whole numbers by kinds, so that sums and differences are exact; need not be symmetric.

    Examples
    --------
    Two jobs and one: of the two one is assigned to the other kind and one to its like, 5 + 0 + 5. Each to its
    own kind would be 0 + 0 + 4.

    >>> assigned([2, 1], [[0, 5], [5, 4]])
    [[1, 1], [1, 0]]
    """
    table = _Table(counts, weights)
    for kind, count in enumerate(counts):
        while count:
            count -= table.assign(kind, count)
    return table.times


def dual_prices(more: Floats, weights: Floats) -> Floats:
    """Return prices so that no pair weighs more than its two prices together, shape (n,).

    The highest ones that there are with none above 0 before they are shared out between the two of a pair;
    they do not depend on which of several assignments of the same weight is found.

    Parameters
    ----------
    more
        What the second gets more than the first from those whom the first is assigned to, shape (n, n): the
        price of the second is at most that of the first and this.
    weights
        Shape (n, n), symmetric.
    """
    price: Floats = more.min(axis=0, initial=0.0)
    while (lower := (price[:, None] + more).min(axis=0)).any(where=lower < price):
        price = np.minimum(price, lower)
    partner: Floats = (weights - price[:, None]).max(axis=0)
    return (price + partner) / 2


class _Table:
    """An assignment that grows, with prices so that no pair weighs more than its two prices together.

    A pair that is used weighs just that. What another one weighs less is its length.
    """

    def __init__(self, counts: Sequence[int], weights: Sequence[Sequence[float]]) -> None:
        self._kinds = range(len(counts))
        self._weights = weights
        self._room = list(counts)  # jobs of each kind to whom nobody is assigned yet
        self._row_price = [max(row) for row in weights]
        self._column_price = [0.0] * len(counts)
        self.times = [[0] * len(counts) for _ in counts]

    def assign(self, kind: int, most: int) -> int:
        """Assign jobs of a kind, some of whom were assigned before to others; return how many."""
        column, reached_from, given_up = self._shortest_way(kind)
        row = reached_from[column]
        steps = [(row, column, 1)]
        times = min(most, self._room[column])
        while row != kind:
            back = given_up[row]
            times = min(times, self.times[row][back])
            steps.append((row, back, -1))
            row = reached_from[back]
            steps.append((row, back, 1))
        for row, back, sign in steps:
            self.times[row][back] += sign * times
        self._room[column] -= times
        return times

    def _shortest_way(self, kind: int) -> tuple[int, dict[int, int], dict[int, int]]:
        """Return the nearest column with room, the row before each column, the column before each row."""
        rows, columns = {kind: 0.0}, dict[int, float]()  # how far they are
        given_up: dict[int, int] = {}
        reached_from: dict[int, int] = {}
        ahead = dict.fromkeys(self._kinds, float("inf"))
        newest = [kind]
        while True:
            for a in newest:
                weights, price = self._weights[a], rows[a] + self._row_price[a]
                for b, so_far in ahead.items():
                    length = price + self._column_price[b] - weights[b]
                    if length < so_far:
                        ahead[b] = length
                        reached_from[b] = a
            column = min(ahead, key=ahead.__getitem__)
            far = columns[column] = ahead.pop(column)
            if self._room[column]:
                break
            newest = [a for a in self._kinds if self.times[a][column] and a not in rows]
            rows.update(dict.fromkeys(newest, far))
            given_up.update(dict.fromkeys(newest, column))
        for a, so_far in rows.items():
            self._row_price[a] -= far - so_far
        for b, so_far in columns.items():
            self._column_price[b] += far - so_far
        return column, reached_from, given_up
