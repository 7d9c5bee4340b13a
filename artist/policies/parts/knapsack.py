"""Multiple-choice knapsack: at most one item of each group, the greatest value that fits. For Lyra.

Solved exactly by a dynamic program over the capacity, one row a group (Kellerer, Pferschy and Pisinger,
Knapsack Problems, 2004, section 11.5). Only values are kept; the items are found by going back through the
rows, since the row of a group repeats the very sum that made it. Weights and capacity are divided by what all
weights share, and where the best items of all groups fit there is no program at all.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Group = tuple[Ints, Floats]


def multiple_choice(capacity: int, groups: Sequence[Group]) -> list[int]:
    """Return the item taken of each group, -1 for none: the greatest sum of values within the capacity.

    Of several answers of greatest value, one of the least weight; of those, the one whose last group takes
    its lightest item (none is lightest of all), then the group before it, and so on: earlier groups get more.

    Parameters
    ----------
    capacity
        What the items taken may weigh together.
    groups
        Weights, 1 or more, ascending, and values of the items of each group, both of shape (n_items,). Items
        of value 0 or less are never taken.

    Examples
    --------
    Figure 6 of the Lyra paper, with room for three GPUs: one more worker of two GPUs for A (50), one of a
    single GPU for B (20).

    >>> b = (np.arange(1, 5), np.array([20.0, 30.0, 36.0, 40.0]))
    >>> multiple_choice(3, [(np.array([2]), np.array([50.0])), b])
    [0, 0]
    """
    best = [int(values.argmax()) if values.size and values.max() > 0 else -1 for _, values in groups]
    wanted = [int(weights[item]) if item >= 0 else 0 for (weights, _), item in zip(groups, best, strict=True)]
    if sum(wanted) <= capacity:
        return best
    choosing = [group for group, item in enumerate(best) if item >= 0 and groups[group][0][0] <= capacity]
    taken = [-1] * len(groups)
    if choosing:
        unit = int(np.gcd.reduce(np.concatenate([groups[group][0] for group in choosing])))
        items = [(groups[group][0] // unit).tolist() for group in choosing]
        values = [groups[group][1].tolist() for group in choosing]
        for group, item in zip(choosing, _program(capacity // unit, items, values), strict=True):
            taken[group] = item
    return taken


def _program(capacity: int, weights: list[list[int]], values: list[list[float]]) -> list[int]:
    """Return the item taken of each group."""
    rows = np.empty((len(weights) + 1, capacity + 1))
    rows[0] = 0
    room = np.empty(capacity + 1)
    for group, items in enumerate(weights):
        before, row = rows[group], rows[group + 1]
        row[:] = before
        for weight, value in zip(items, values[group], strict=True):
            if weight <= capacity:
                added = np.add(before[: capacity + 1 - weight], value, out=room[weight:])
                np.maximum(row[weight:], added, out=row[weight:])
    return _items(rows, weights, values)


def _items(rows: Floats, weights: list[list[int]], values: list[list[float]]) -> list[int]:
    """Return the item of each group that made the best value, going back through the rows."""
    taken = [-1] * len(weights)
    left = int(rows[-1].argmax())  # the first of the best: the least weight
    for group in range(len(weights) - 1, -1, -1):
        before, best = rows[group], rows[group + 1, left]
        if before[left] == best:
            continue
        taken[group] = next(
            item
            for item, (weight, value) in enumerate(zip(weights[group], values[group], strict=True))
            if weight <= left and before[left - weight] + value == best
        )
        left -= weights[group][taken[group]]
    return taken
