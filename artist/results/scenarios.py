"""Scenarios: rows of a comparison that compete with each other, and the baseline of each. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from artist.errors import InputError
from artist.results.compare import Comparison, competing, key_index, of_policy
from artist.results.names import is_named, labels, short_key, spoken
from artist.results.seen import held
from artist.tables.grid import clip

_LONG = 60


@dataclass(frozen=True, slots=True)
class Scenario:
    """Rows that differ in choices alone (the policy, its settings, what the user named), and so compete.

    Attributes
    ----------
    name
        The settings that distinguish the rows from others, such as `64 machines`; may be empty.
    rows
        Indices of groups of the comparison.
    parts
        Keys and values that the name is made of.
    """

    name: str
    rows: tuple[int, ...]
    parts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Contest:
    """A comparison sorted into scenarios.

    Attributes
    ----------
    contenders
        A name for each row, unlike the others' of its scenario.
    baseline
        For each row the row that it is measured against.
    asked
        Whether the user named the baseline.
    """

    scenarios: tuple[Scenario, ...]
    contenders: tuple[str, ...]
    baseline: tuple[int, ...]
    asked: bool = False

    def scenario_of(self, row: int) -> Scenario:
        """Return the scenario of a row."""
        return next(scenario for scenario in self.scenarios if row in scenario.rows)


def contest(comparison: Comparison, wanted: str | None = None) -> Contest:
    """Sort a comparison into scenarios, and find each row's baseline.

    Parameters
    ----------
    wanted
        `key=value,...`; the baseline of a row is the first row that matches in its own scenario, of several
        policies the one whose settings are most like its own, and the first that matches at all if there is
        none. By default the policy of the first row, or of the row that represents a site, in each scenario;
        the scenario's first row where that policy is absent.

    Raises
    ------
    InputError
        If nothing is named, or no row is as named.
    """
    columns, rows = competing(comparison.keys, [g.values for g in comparison.groups], comparison.choices)
    scenarios = _scenarios(comparison, columns, list(rows.values()))
    lettered: list[str] = []
    if len(columns) > len(comparison.choices) and any(group.letter for group in comparison.groups):
        lettered = [f"{group.letter} ({group.shown[0]})" for group in comparison.groups]
    picked = [_picked(group.shown, columns) for group in comparison.groups]
    names = lettered or labels(_picked(comparison.keys, columns), picked)
    match = _default(comparison, columns) if wanted is None else _matching(comparison, wanted)
    baseline = _baselines(comparison, scenarios, match, wanted)
    clipped = [clip(name, _LONG) for name in names]
    distinct = len(set(clipped)) == len(set(names))
    return Contest(scenarios, tuple(clipped if distinct else names), baseline, wanted is not None)


def _baselines(
    comparison: Comparison, scenarios: Sequence[Scenario], match: Sequence[int], wanted: str | None
) -> tuple[int, ...]:
    """Return the baseline of each row, from the rows that match the wanted one, or by default."""
    baseline = [0] * len(comparison.groups)
    keys = [pair.partition("=")[0].strip() for pair in (wanted or "").split(",")]
    at = [key_index(comparison.keys, key) for key in keys]
    by_policy = all(i is not None and of_policy(comparison.keys[i]) for i in at)
    for scenario in scenarios:
        candidates = [row for row in scenario.rows if row in match]
        for row in scenario.rows:
            if candidates and by_policy:
                baseline[row] = -max((_alike(comparison, row, other), -other) for other in candidates)[1]
            elif candidates:
                baseline[row] = candidates[0]
            else:
                baseline[row] = scenario.rows[0] if wanted is None else match[0]
    return tuple(baseline)


def _alike(comparison: Comparison, row: int, other: int) -> int:
    """Return the number of values that two rows share."""
    values = zip(comparison.groups[row].values, comparison.groups[other].values, strict=True)
    return sum(one == another for one, another in values)


def scenario_rows(n_rows: int, contest: Contest) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return name and rows of each scenario, of the first rows of a comparison."""
    sets = [
        (scenario.name, tuple(row for row in scenario.rows if row < n_rows)) for scenario in contest.scenarios
    ]
    return tuple((name, rows) for name, rows in sets if rows)


def matching(comparison: Comparison, contest: Contest, wanted: str) -> list[list[int]]:
    """Return the rows of each scenario that match `--baseline`."""
    rows = _matching(comparison, wanted)
    return [[row for row in scenario.rows if row in rows] for scenario in contest.scenarios]


def _scenarios(
    comparison: Comparison, columns: Sequence[int], rows: Sequence[Sequence[int]]
) -> tuple[Scenario, ...]:
    others = [i for i in range(len(comparison.keys)) if i not in columns]
    keys = _picked(comparison.keys, others)
    parts = []
    for members in rows:
        values = _picked(comparison.groups[members[0]].shown, others)
        parts.append(tuple((key, value) for key, value in zip(keys, values, strict=True) if value))
    brief = [tuple(part for part in pairs if is_named(*part)) for pairs in parts]
    pairs_of_rows = brief if all(brief) and len(set(brief)) == len(brief) else parts
    names = [", ".join(spoken(key, [value]) for key, value in pairs) for pairs in pairs_of_rows]
    return tuple(
        Scenario(name, tuple(members), pairs)
        for name, members, pairs in zip(names, rows, pairs_of_rows, strict=True)
    )


def _picked(values: Sequence[str], at: Sequence[int]) -> tuple[str, ...]:
    return tuple(values[i] for i in at)


def _default(comparison: Comparison, columns: Sequence[int]) -> list[int]:
    site = held(comparison)
    first = _picked((comparison.groups[0] if site is None else site.today).values, columns)
    return [i for i, group in enumerate(comparison.groups) if _picked(group.values, columns) == first]


def _matching(comparison: Comparison, wanted: str) -> list[int]:
    """Return the rows that are as named."""
    rows = list(range(len(comparison.groups)))
    for pair in wanted.split(","):
        name, equals, value = (part.strip() for part in pair.partition("="))
        at = key_index(comparison.keys, name)
        if not equals or at is None:
            allowed = "key=value,... of " + ", ".join(map(short_key, comparison.keys))
            raise InputError("no such key tells rows apart", where="--baseline", found=pair, allowed=allowed)
        known = [(group.values[at], group.shown[at]) for group in comparison.groups]
        rows = [row for row in rows if value in known[row]]
        if not rows:
            allowed = ", ".join(dict.fromkeys(shown for _, shown in known))
            raise InputError("no row is like that", where=f"--baseline {name}", found=value, allowed=allowed)
    return rows
