"""The rows of a comparison along a number that was swept over, such as the size of the cluster. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from artist.results.compare import Comparison
from artist.results.names import is_number, labels, spoken
from artist.results.scenarios import Contest, of_policy

_MAX_SETS, _MAX_LINES, _MAX_VALUES = 4, 8, 12


@dataclass(frozen=True, slots=True)
class Along:
    """Rows of a comparison along a swept number.

    Attributes
    ----------
    key
        What was swept over.
    at
        Its values, ascending, as texts.
    lines, numbers
        Names of the contenders, and the number of the look that each has in other figures.
    sets
        What else differs, in words, and the row of each contender at each value, (n_lines, n_values); -1 for
        none.
    """

    key: str
    at: tuple[str, ...]
    lines: tuple[str, ...]
    numbers: tuple[int, ...]
    sets: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...]


def along(comparison: Comparison, contest: Contest) -> Along | None:
    """Return the rows along the first number that was swept over, a policy's own only if there is no other.

    None if there is none, or too much else.
    """
    swept = _swept(comparison)
    if swept is None:
        return None
    groups = comparison.groups
    value_of = {
        row: group.values[swept] for row, group in enumerate(groups) if is_number(group.values[swept])
    }
    at = sorted(set(value_of.values()), key=float)
    names = _line_names(comparison, swept, list(value_of))
    lines = tuple(dict.fromkeys(names.values()))
    rest = [i for i, key in enumerate(comparison.keys) if i != swept and not of_policy(key)]
    rows: dict[tuple[str, ...], dict[tuple[str, str], int]] = {}
    for row, value in value_of.items():
        scenario = tuple(groups[row].shown[i] for i in rest)
        rows.setdefault(scenario, {})[names[row], value] = row
    if len(rows) > _MAX_SETS or len(lines) > _MAX_LINES or not 2 <= len(at) <= _MAX_VALUES:
        return None
    titles = _set_titles([comparison.keys[i] for i in rest], list(rows))
    row_sets = [
        tuple(tuple(of_set.get((line, value), -1) for value in at) for line in lines)
        for of_set in rows.values()
    ]
    shown = {group.values[swept]: group.shown[swept] for group in groups}
    contenders = list(dict.fromkeys(contest.contenders))
    looks = tuple(contenders.index(line) if line in contenders else i for i, line in enumerate(lines))
    texts = tuple(shown[value] for value in at)
    return Along(comparison.keys[swept], texts, lines, looks, tuple(zip(titles, row_sets, strict=True)))


def _swept(comparison: Comparison) -> int | None:
    """Return the column of the first number that was swept over, those of policies last; None without one."""
    in_order = sorted(range(len(comparison.keys)), key=lambda i: of_policy(comparison.keys[i]))
    for i in in_order:
        values = (group.values[i] for group in comparison.groups)
        if len({value for value in values if is_number(value)}) > 1:
            return i
    return None


def _line_names(comparison: Comparison, swept: int, rows: Sequence[int]) -> dict[int, str]:
    """Return the contender of each row, named by its policy and the policy's settings."""
    policy = [i for i, key in enumerate(comparison.keys) if of_policy(key) and i != swept]
    shown = {row: tuple(comparison.groups[row].shown[i] for i in policy) for row in rows}
    different = list(dict.fromkeys(shown.values()))
    names = dict(zip(different, labels([comparison.keys[i] for i in policy], different), strict=True))
    return {row: names[values] for row, values in shown.items()}


def _set_titles(keys: Sequence[str], scenarios: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the values in which some scenarios differ, in words."""
    varied = [len(set(values)) > 1 for values in zip(*scenarios, strict=True)]
    titles = []
    for scenario in scenarios:
        known = [i for i, value in enumerate(scenario) if value and varied[i]]
        titles.append(", ".join(spoken(keys[i], [scenario[i]]) for i in known))
    return titles


def relative(swept: Along, baseline: Sequence[int]) -> Along | None:
    """Return the lines that differ from their baselines; None if there are none."""
    kept = [
        number
        for number in range(len(swept.lines))
        if any(row >= 0 and baseline[row] != row for _, rows in swept.sets for row in rows[number])
    ]
    if not kept:
        return None
    sets = tuple((name, tuple(rows[number] for number in kept)) for name, rows in swept.sets)
    lines, looks = tuple(swept.lines[i] for i in kept), tuple(swept.numbers[i] for i in kept)
    return replace(swept, lines=lines, numbers=looks, sets=sets)
