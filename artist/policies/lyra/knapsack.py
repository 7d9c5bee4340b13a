"""Multiple-choice knapsack: at most one item of each group, the greatest value that fits. For Lyra.

Solved exactly, in the steps of Pisinger, A minimal algorithm for the multiple-choice knapsack problem,
European Journal of Operational Research 83, 1995:

1. If the best items of all groups fit together, they are the answer.
2. Find the price of a unit of weight at which the items of most value beyond their price nearly fill the
   knapsack. It bounds the value of every answer (Lagrangian relaxation). Those items, with others that fit
   beside them, are already an answer.
3. Drop the items that no answer as good as that one can hold. Most groups keep a single one.
4. Choose among the items of the other groups by a dynamic program over the remaining weight. It keeps values
   only; the items are found by going back through its rows, since each repeats the sum that made it.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import gcd
from typing import NamedTuple

import numpy as np

from artist.core.arrays import Floats, Ints

Group = tuple[Ints, Floats]
Options = list[tuple[int, float]]

_ROUNDING = 1e-9  # of the value of an answer: bounds that differ by less are equal
_MAX_GAINS = 16  # more would hardly tighten the bounds


class _Items(NamedTuple):
    """Items of all groups in one list; the first of each group means taking none.

    Attributes
    ----------
    group, item
        Group of each, and number there, -1 for none; shape (n,).
    weight, value
        0 for none; shape (n,).
    place
        Place of each in the list, 0, 1, 2 ...; shape (n,).
    first
        Place of each group's first, shape (n_groups,).
    """

    group: Ints
    item: Ints
    weight: Ints
    value: Floats
    place: Ints
    first: Ints

    def best(self, price: float) -> Ints:
        """Return the item of each group with the greatest value beyond its price, the lightest of equals."""
        beyond = self.value - price * self.weight
        is_best = beyond == np.maximum.reduceat(beyond, self.first)[self.group]
        return np.minimum.reduceat(np.where(is_best, self.place, len(self.place)), self.first)

    def sums(self, taken: Ints) -> tuple[int, float]:
        """Return the weight and the value of some items."""
        return int(self.weight[taken].sum()), float(self.value[taken].sum())


def multiple_choice(capacity: int, groups: Sequence[Group]) -> list[int]:
    """Return the item taken of each group, -1 for none: the greatest sum of values within the capacity.

    Of several answers of greatest value, one of the least weight; of those, the one whose last group takes
    its lightest item (none is lightest of all), then the group before it, and so on: earlier groups get more.

    Parameters
    ----------
    capacity
        Total weight of the items taken at most, 0 or more.
    groups
        Weights, ascending, and values of the items of each group, both of shape (n_items,). Items of value
        0 or less are never taken.

    Examples
    --------
    Figure 6 of the Lyra paper, with room for three GPUs: one more worker of two GPUs for A (50), one of a
    single GPU for B (20).

    >>> b = (np.arange(1, 5), np.array([20.0, 30.0, 36.0, 40.0]))
    >>> multiple_choice(3, [(np.array([2]), np.array([50.0])), b])
    [0, 0]
    """
    if sum(int(weights[-1]) for weights, _ in groups if len(weights)) <= capacity:
        return [int(values.argmax()) if len(values) and values.max() > 0 else -1 for _, values in groups]
    items = _items(capacity, groups)
    taken = items.best(0.0)
    if items.weight[taken].sum() > capacity:
        taken = _best_that_fits(capacity, items, taken)
    numbers: list[int] = items.item[taken].tolist()
    return numbers


def _items(capacity: int, groups: Sequence[Group]) -> _Items:
    """Return all items that fit alone."""
    sizes = np.array([len(weights) + 1 for weights, _ in groups], dtype=np.int64)
    first = sizes.cumsum() - sizes
    group = np.arange(len(groups)).repeat(sizes)
    place = np.arange(len(group))
    item = place - first[group] - 1
    weight, value = np.zeros(len(group), dtype=np.int64), np.zeros(len(group))
    weight[item >= 0] = np.concatenate([weights for weights, _ in groups])
    value[item >= 0] = np.concatenate([values for _, values in groups])
    if weight.max() <= capacity:
        return _Items(group, item, weight, value, place, first)
    fits = weight <= capacity
    group = group[fits]
    first = group.searchsorted(np.arange(len(groups)))
    return _Items(group, item[fits], weight[fits], value[fits], place[: len(group)], first)


def _best_that_fits(capacity: int, items: _Items, heavy: Ints) -> Ints:
    """Return the item of each group, if the best of each are too heavy together."""
    price, light = _price(capacity, items, heavy)
    beyond = items.value - price * items.weight
    most = np.maximum.reduceat(beyond, items.first)
    bound = float(most.sum()) + price * capacity
    _, value = items.sums(_filled(capacity, items, light))
    kept = np.flatnonzero(most[items.group] - beyond <= bound * (1 + _ROUNDING) - value)
    return kept[_program(capacity, items, kept)]


def _price(capacity: int, items: _Items, heavy: Ints) -> tuple[float, Ints]:
    """Return the price of a unit of weight that bounds answers most tightly, and the best items there.

    Of two sets of items, the best at a lower price are too heavy, those at a higher one fit. At the price at
    which both have the same value, others have more and replace one of them, or the price is found.
    """
    light = items.first
    (weight_h, value_h), (weight_l, value_l) = items.sums(heavy), (0, 0.0)
    while True:
        price = (value_h - value_l) / (weight_h - weight_l)
        best = items.best(price)
        weight, value = items.sums(best)
        if not weight_l < weight < weight_h:
            return price, light
        if weight <= capacity:
            light, weight_l, value_l = best, weight, value
        else:
            weight_h, value_h = weight, value


def _filled(capacity: int, items: _Items, taken: Ints) -> Ints:
    """Return the given items, with the greatest gains that fit beside them."""
    taken = taken.copy()
    for _ in range(_MAX_GAINS):
        left = capacity - int(items.weight[taken].sum())
        gain = items.value - items.value[taken][items.group]
        gain[items.weight - items.weight[taken][items.group] > left] = 0
        best = int(gain.argmax())
        if gain[best] <= 0:
            break
        taken[items.group[best]] = best
    return taken


def _program(capacity: int, items: _Items, kept: Ints) -> list[int]:
    """Return the places in `kept` of the items taken, one of each group."""
    weights, values = items.weight[kept].tolist(), items.value[kept].tolist()
    taken: list[int] = items.group[kept].searchsorted(np.arange(len(items.first))).tolist()  # the lightest
    room = capacity - sum(weights[at] for at in taken)
    several, choices = [], []
    for group, (start, end) in enumerate(pairwise([*taken, len(kept)])):
        if end - start > 1:
            several.append(group)
            choices.append([(weights[at] - weights[start], values[at]) for at in range(start, end)])
    for group, option in zip(several, _options(room, choices), strict=True):
        taken[group] += option
    return taken


def _options(room: int, choices: Sequence[Options]) -> list[int]:
    """Return the option of each choice in the answer of greatest value, by dynamic programming.

    Parameters
    ----------
    room
        Total weight of the options at most, at least 0.
    choices
        (weight, value) of each option, ascending by weight; the first weighs 0.
    """
    unit = gcd(*(weight for options in choices for weight, _ in options)) or 1
    choices = [[(weight // unit, value) for weight, value in options] for options in choices]
    room = min(room // unit, sum(options[-1][0] for options in choices))
    rows = np.zeros((len(choices) + 1, room + 1))  # greatest value of the first choices, by room
    for before, row, options in zip(rows, rows[1:], choices, strict=False):
        np.add(before, options[0][1], out=row)
        for weight, value in options[1:]:
            if weight <= room:
                np.maximum(row[weight:], before[: room + 1 - weight] + value, out=row[weight:])
    taken, left = [], int(rows[-1].argmax())  # the first of the best: the least weight
    for before, row, options in zip(rows[-2::-1], rows[:0:-1], reversed(choices), strict=True):
        best = row[left]
        equal = (before[left - weight] + value == best for weight, value in options)
        taken.append(next(option for option, so in enumerate(equal) if so))
        left -= options[taken[-1]][0]
    return taken[::-1]
