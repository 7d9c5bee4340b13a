"""What was varied, and the mean JCT along each of these while all else is equal. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from artist.results.compare import POLICY, Comparison
from artist.results.measures import BY_NAME, comparable
from artist.results.names import labels, natural, short_key, spoken
from artist.results.scenarios import of_policy

SIZES = {
    "cluster.racks": "racks",
    "cluster.machines": "machines",
    "cluster.machines_per_rack": "machines a rack",
}


@dataclass(frozen=True, slots=True)
class Axis:
    """Something that was varied.

    Attributes
    ----------
    key
        Of the config; POLICY for the policy with its settings.
    at
        Its values, numbers ascending. A value at which no run finished all jobs is left out.
    rows
        Of the comparison, one for each value, by the name of what they have in common. Where a value is
        missing, so is the entry.
    means
        Likewise, the mean JCT in seconds.
    """

    key: str
    at: tuple[str, ...]
    rows: dict[str, tuple[int, ...]]
    means: dict[str, tuple[float, ...]]

    @property
    def widest(self) -> str:
        """Name of the rows whose mean JCTs differ most."""
        return max(self.means, key=lambda name: max(self.means[name]) / max(min(self.means[name]), 1e-9))

    @property
    def effect(self) -> float:
        """By what part of the longest mean JCT the shortest is below it, where they differ most."""
        means = self.means[self.widest]
        return 1 - min(means) / max(max(means), 1e-9)

    @property
    def name(self) -> str:
        """What was varied, in words."""
        if self.key in SIZES:
            return f"the number of {SIZES[self.key]}"
        known = {POLICY: "the policy", "topology.name": "the fabric"}
        return known.get(self.key, short_key(self.key))

    @property
    def numeric(self) -> bool:
        """Whether all values are numbers."""
        return all(map(is_number, self.at))


def axes(comparison: Comparison) -> list[Axis]:
    """Return what was varied: the policy with its settings, and each other key."""
    every = range(len(comparison.keys))
    policy = [i for i in every if of_policy(comparison.keys[i])]
    columns = [policy, *([i] for i in every if i not in policy)]
    return [axis for each in columns if (axis := _axis(comparison, each)) is not None]


def is_number(text: str) -> bool:
    """Return whether a value is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _axis(comparison: Comparison, columns: Sequence[int]) -> Axis | None:
    keys, rest = comparison.keys, [i for i in range(len(comparison.keys)) if i not in columns]
    means = [comparable(BY_NAME["jct_mean_s"], group).mean for group in comparison.groups]
    found: dict[tuple[str, ...], dict[tuple[str, ...], int]] = {}
    for row, group in enumerate(comparison.groups):
        if means[row] is not None:
            value = tuple(group.shown[i] for i in columns)
            found.setdefault(tuple(group.shown[i] for i in rest), {})[value] = row
    at = sorted(
        {value for line in found.values() for value in line}, key=lambda value: [*map(natural, value)]
    )
    whole = {common: line for common, line in found.items() if len(line) == len(at)}
    if len(at) < 2 or not whole:
        return None
    of = labels([keys[i] for i in columns], at) if len(columns) > 1 else [value[0] for value in at]
    if rest[:1] == [0]:
        names = labels([keys[i] for i in rest], list(whole))
    else:
        names = [
            ", ".join(spoken(keys[i], [value]) for i, value in zip(rest, common, strict=True))
            for common in whole
        ]
    rows = {
        name: tuple(line[value] for value in at) for name, line in zip(names, whole.values(), strict=True)
    }
    lines = {name: tuple(means[row] or 0.0 for row in line) for name, line in rows.items()}
    return Axis(keys[columns[0]], tuple(of), rows, lines)
