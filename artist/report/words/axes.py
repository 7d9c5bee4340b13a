"""Axes of a comparison: each varied setting, with the mean JCT along it while all else is equal. Pure."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from artist.report.words.wording import duration, named
from artist.results.compare import Comparison, Replicates, of_policy
from artist.results.coverage import OVERLOADED
from artist.results.interval import LEAST
from artist.results.measures import BY_NAME, LEVEL, Estimate, changes, comparable, estimated
from artist.results.names import is_number, labels, listed, natural, noun, spoken

SIZES = {
    "cluster.racks": "racks",
    "cluster.machines": "machines",
    "cluster.machines_per_rack": "machines per rack",
}
SMALL = 0.05  # excess that counts as none in a choice of sizes, or where rows are single runs


@dataclass(frozen=True, slots=True)
class Axis:
    """Something that was varied.

    Attributes
    ----------
    key
        Of the config; POLICY for the policy with its settings.
    at
        Its values, numbers ascending, others in the order of the rows. A value at which no run finished all
        jobs is left out.
    rows
        Of the comparison, one per value, by the name of their common settings. Where a value is
        missing, so is the entry.
    means
        Likewise, the mean JCT in seconds.
    growing
        Rows of the comparison whose queue grows.
    limit
        Part up to which means count as equal.
    chance
        Whether not every seed shows the difference where it is widest.
    """

    key: str
    at: tuple[str, ...]
    rows: dict[str, tuple[int, ...]]
    means: dict[str, tuple[float, ...]]
    growing: Collection[int]
    limit: float
    chance: bool

    @property
    def widest(self) -> str:
        """Name of the rows whose mean JCTs differ most."""
        return _widest(self.means)

    @property
    def effect(self) -> float:
        """Excess of the longest mean JCT over the lowest, as part of it, where they differ most."""
        means = self.means[self.widest]
        return max(means) / max(min(means), 1e-9) - 1

    @property
    def idle(self) -> bool:
        """Return whether it does not matter, as far as the runs show."""
        return self.effect <= self.limit

    @property
    def name(self) -> str:
        """Return the axis in words."""
        return noun(self.key)

    def said(self, name: str, i: int) -> str:
        """Return a mean JCT in words, marked if its queue grows."""
        return mean_jct(self.means[name][i], self.rows[name][i] in self.growing)

    @property
    def numeric(self) -> bool:
        """Return whether all values are numbers."""
        return all(map(is_number, self.at))


def axes(comparison: Comparison, growing: Collection[int] = ()) -> list[Axis]:
    """Return the axes: the policy with its settings, and each other key."""
    every = range(len(comparison.keys))
    policy = [i for i in every if of_policy(comparison.keys[i])]
    columns = [policy, *([i] for i in every if i not in policy)]
    return [axis for column in columns if (axis := _axis(comparison, column, growing)) is not None]


def mean_jct(seconds: float, growing: bool) -> str:
    """Return a mean JCT in words, marked if the queue grows."""
    return f"{duration(seconds)}{OVERLOADED * growing}"


def limit(comparison: Comparison) -> float:
    """Return the part up to which means count as equal: 1 %, or 5 % if each row counts as one run."""
    return SMALL if all(group.samples == 1 for group in comparison.groups) else LEVEL


def ratios(one: Replicates, other: Replicates) -> list[float]:
    """Return the ratio of two rows' mean JCTs, per seed that counts."""
    every = [1 + difference for difference in changes(BY_NAME["jct_mean_s"], one, other)]
    return every[: max(one.samples, other.samples)]


def ratio_of(one: Replicates, other: Replicates) -> Estimate:
    """Return the ratio of two rows' mean JCTs, and its 95 % interval from three seeds on.

    Seed by seed, and of its logarithm (Student's t), since ratios of a wide gap differ widely.
    """
    times = ratios(one, other)
    if len(times) < LEAST or min(times) <= 0:
        return Estimate()
    return Estimate(*(None if of is None else math.exp(of) for of in estimated(list(map(math.log, times)))))


def _widest(lines: Mapping[str, Sequence[float]]) -> str:
    return max(lines, key=lambda name: max(lines[name]) / max(min(lines[name]), 1e-9))


def _axis(comparison: Comparison, columns: Sequence[int], growing: Collection[int]) -> Axis | None:
    means = [comparable(BY_NAME["jct_mean_s"], group).mean for group in comparison.groups]
    rest = [i for i in range(len(comparison.keys)) if i not in columns]
    known = [row for row, mean in enumerate(means) if mean is not None]
    by_rest = _rows_by_value(comparison, known, columns, rest)
    at = _in_order(dict.fromkeys(value for line in by_rest.values() for value in line))
    whole = {
        common: line
        for common, line in by_rest.items()
        if len(line) == len(at) and _same_seeds(comparison, line.values())
    }
    if len(at) < 2 or not whole:
        return None
    of = _value_names([comparison.keys[i] for i in columns], at)
    names = _line_names([comparison.keys[i] for i in rest], list(whole), policies=rest[:1] == [0])
    rows = {name: tuple(map(line.__getitem__, at)) for name, line in zip(names, whole.values(), strict=True)}
    mean_jcts = {name: tuple(means[row] or 0.0 for row in line) for name, line in rows.items()}
    order = sorted(rows[_widest(mean_jcts)], key=lambda row: means[row] or 0.0)
    shown = ratios(comparison.groups[order[-1]], comparison.groups[order[0]])
    chance = min(shown, default=0.0) <= 1 + LEVEL
    key = comparison.keys[columns[0]]
    return Axis(key, tuple(of), rows, mean_jcts, growing, limit(comparison), chance)


def _in_order(values: Collection[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return values in their order, but those of several keys, and numbers, in natural order."""
    if any(len(value) == 1 and not is_number(*value) for value in values):
        return list(values)
    return sorted(values, key=lambda value: [*map(natural, value)])


def _same_seeds(comparison: Comparison, rows: Collection[int]) -> bool:
    return len({frozenset(comparison.groups[row].seeds) for row in rows}) == 1


def _rows_by_value(
    comparison: Comparison, rows: Sequence[int], columns: Sequence[int], rest: Sequence[int]
) -> dict[tuple[str, ...], dict[tuple[str, ...], int]]:
    """Return rows by their values in some columns, and these by the values in the rest of them."""
    by_rest: dict[tuple[str, ...], dict[tuple[str, ...], int]] = {}
    for row in rows:
        value, common = (tuple(comparison.groups[row].shown[i] for i in of) for of in (columns, rest))
        by_rest.setdefault(common, {})[value] = row
    return by_rest


def _value_names(keys: Sequence[str], values: Sequence[tuple[str, ...]]) -> list[str]:
    return labels(keys, values) if len(keys) > 1 else [value[0] for value in values]


def _line_names(keys: Sequence[str], lines: Sequence[tuple[str, ...]], *, policies: bool) -> list[str]:
    """Return names of lines from their values of some keys, the first of which may be the policy."""
    if policies:
        return [named(label) for label in labels(keys, lines)]
    return [listed([spoken(key, [value]) for key, value in zip(keys, line, strict=True)]) for line in lines]
