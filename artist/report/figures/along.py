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
    groups = comparison.groups
    own = [i for i, key in enumerate(comparison.keys) if of_policy(key)]
    others = [i for i in range(len(comparison.keys)) if i not in own]
    swept = next(
        (i for i in others + own if len({g.values[i] for g in groups if is_number(g.values[i])}) > 1), None
    )
    if swept is None:
        return None
    rest = [i for i in others if i != swept]
    there = [row for row, group in enumerate(groups) if is_number(group.values[swept])]
    at = sorted({groups[row].values[swept] for row in there}, key=float)
    policy = [i for i in own if i != swept]
    of_row = {row: tuple(groups[row].shown[i] for i in policy) for row in there}
    different = list(dict.fromkeys(of_row.values()))
    lines = tuple(labels([comparison.keys[i] for i in policy], different))
    names = {row: lines[different.index(shown)] for row, shown in of_row.items()}
    rows: dict[tuple[str, ...], dict[tuple[str, str], int]] = {}
    for row in there:
        kind = tuple(groups[row].shown[i] for i in rest)
        rows.setdefault(kind, {})[names[row], groups[row].values[swept]] = row
    if len(rows) > _MAX_SETS or len(lines) > _MAX_LINES or not 2 <= len(at) <= _MAX_VALUES:
        return None
    keys = [comparison.keys[i] for i in rest]
    telling = [len({kind[i] for kind in rows}) > 1 for i in range(len(rest))]
    sets = tuple(
        (
            ", ".join(
                spoken(key, [value])
                for key, value, tells in zip(keys, kind, telling, strict=True)
                if value and tells
            ),
            tuple(tuple(found.get((line, value), -1) for value in at) for line in lines),
        )
        for kind, found in rows.items()
    )
    shown = {group.values[swept]: group.shown[swept] for group in groups}
    known = list(dict.fromkeys(contest.contenders))
    numbers = tuple(known.index(line) if line in known else i for i, line in enumerate(lines))
    return Along(comparison.keys[swept], tuple(shown[value] for value in at), lines, numbers, sets)


def relative(found: Along, baseline: Sequence[int]) -> Along | None:
    """Return the lines that differ from their baselines; None if there are none."""
    kept = [
        number
        for number in range(len(found.lines))
        if any(row >= 0 and baseline[row] != row for _, rows in found.sets for row in rows[number])
    ]
    if not kept:
        return None
    sets = tuple((name, tuple(rows[number] for number in kept)) for name, rows in found.sets)
    lines, looks = tuple(found.lines[i] for i in kept), tuple(found.numbers[i] for i in kept)
    return replace(found, lines=lines, numbers=looks, sets=sets)
