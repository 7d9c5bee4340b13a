"""An auction of GPUs among jobs that take their whole demand or nothing. Pure; for Themis.

A winner has the valuation V(win), a loser V(lose). The product of all valuations is largest where the sum of
the winners' gains log(V(win) / V(lose)) is: a knapsack of GPUs.
"""

import numpy as np

from artist.core.arrays import Bools, Floats, Ints

_MAX_CELLS = 20_000_000  # bidders x GPUs up to which the answer is exact; about 0.1 s


def winners(gains: Floats, gpus: Ints, capacity: int, max_cells: int = _MAX_CELLS) -> Bools:
    """Return a mask of the winners, shape (n,): the bidders that fit together with the largest sum of gains.

    Exact, by dynamic programming, up to `max_cells` = bidders x GPUs; beyond that by gain per GPU, as far
    as there is room; this loses less than the largest gain of one bidder. Among equals the first win.

    Parameters
    ----------
    gains
        Above 0, shape (n,).
    gpus
        GPUs asked for, 0 or more, shape (n,).
    capacity
        GPUs on offer.

    Examples
    --------
    >>> winners(np.array([0.4, 0.7, 0.7]), np.array([4, 2, 2]), 4)
    array([False,  True,  True])
    """
    capacity = min(capacity, int(gpus.sum()))
    if len(gpus) * capacity > max_cells:
        return _by_density(gains, gpus, capacity)
    return _best(gains.tolist(), gpus.tolist(), capacity)


def _best(gains: list[float], gpus: list[int], capacity: int) -> Bools:
    best = np.zeros(capacity + 1)  # largest sum of gains by GPUs on offer, from the last bidder on
    takes = np.zeros((len(gpus), capacity + 1), dtype=np.bool_)
    for row in range(len(gpus) - 1, -1, -1):
        need = gpus[row]
        if need > capacity:
            continue
        with_it = best[: capacity + 1 - need] + gains[row]
        takes[row, need:] = with_it >= best[need:]
        best[need:] = np.maximum(best[need:], with_it)
    won = np.zeros(len(gpus), dtype=np.bool_)
    for row, need in enumerate(gpus):
        if need <= capacity and takes[row, capacity]:
            won[row] = True
            capacity -= need
    return won


def _by_density(gains: Floats, gpus: Ints, capacity: int) -> Bools:
    won = np.zeros(len(gpus), dtype=np.bool_)
    for row in np.argsort(-gains / np.maximum(gpus, 1), kind="stable").tolist():
        if gpus[row] <= capacity:
            won[row] = True
            capacity -= int(gpus[row])
    return won
