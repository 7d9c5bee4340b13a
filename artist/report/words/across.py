"""What changes along a number that was swept beside the policy, such as the size of the cluster. Pure."""

import math
from dataclasses import dataclass

from artist.report.words.wording import duration, per_cent
from artist.results.compare import Comparison
from artist.results.measures import BY_NAME, comparable, difference, is_level
from artist.results.names import labels, listed, short_key, spoken
from artist.results.scenarios import of_policy

_CLOSE = 0.05  # of the level that is reached: worth naming the smaller value that comes so close
_MOST_LINES = 4
_TOPICS = {"cluster.machines": "Cluster size", "cluster.racks": "Cluster size"}
_MORE = {"cluster.machines": "more machines change", "cluster.racks": "more racks change"}


@dataclass(frozen=True, slots=True)
class Lines:
    """Mean JCT of each contender along a key.

    Attributes
    ----------
    at
        Values of the key, ascending.
    means
        Of each contender at each of them, in seconds.
    """

    key: str
    at: tuple[str, ...]
    means: dict[str, tuple[float, ...]]


def across(comparison: Comparison) -> tuple[str, str] | None:
    """Return topic and sentence on the one numeric key that was swept; None if there is no such key."""
    lines = _lines(comparison)
    if lines is None:
        return None
    topic = _TOPICS.get(lines.key, f"Across {short_key(lines.key)}")
    return topic, _sentence(lines) + "."


def _lines(comparison: Comparison) -> Lines | None:
    others = [i for i, key in enumerate(comparison.keys) if not of_policy(key)]
    if len(others) != 1:
        return None
    (swept,) = others
    policy = [i for i in range(len(comparison.keys)) if i != swept]
    shown = list(dict.fromkeys(tuple(group.shown[i] for i in policy) for group in comparison.groups))
    names = dict(zip(shown, labels([comparison.keys[i] for i in policy], shown), strict=True))
    values: dict[float, str] = {}
    found: dict[str, dict[float, float]] = {name: {} for name in names.values()}
    for group in comparison.groups:
        value = _number(group.values[swept])
        mean, *_ = comparable(BY_NAME["jct_mean_s"], group)
        if value is None:
            return None
        values[value] = group.shown[swept]
        if mean is not None:
            found[names[tuple(group.shown[i] for i in policy)]][value] = mean
    at = sorted(values)
    whole = {
        name: tuple(means[value] for value in at) for name, means in found.items() if len(means) == len(at)
    }
    if len(at) < 2 or not whole:
        return None
    return Lines(comparison.keys[swept], tuple(values[value] for value in at), whole)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _sentence(lines: Lines) -> str:
    last = len(lines.at) - 1
    level_from = next(i for i in range(last + 1) if _are_level(lines, i, last))
    level_to = next(i for i in range(last, -1, -1) if _are_level(lines, 0, i))
    under = "under any policy" if len(lines.means) > 1 else f"under {next(iter(lines.means))}"
    little = f"the mean JCT by less than 1 % {under}"
    if not level_from:
        return f"From {_place(lines, 0, last)}, {_place(lines)} hardly matters: it changes {little}"
    if level_from < last:
        near = _nearest(lines, level_from)
        more = _MORE.get(lines.key, "greater values change")
        return f"From {_place(lines, level_from)} on, {more} {little}; {_beside(lines, near, level_from)}"
    if level_to:
        text = f"Up to {_place(lines, level_to)}, {_place(lines)} changes {little}"
        return f"{text}; {_beside(lines, last, level_to)}"
    return f"From {_place(lines, 0, last)}, the mean JCT {_changes(lines)}"


def _are_level(lines: Lines, first: int, last: int) -> bool:
    spans = [means[first : last + 1] for means in lines.means.values()]
    return all(is_level("time", max(span), min(span)) for span in spans)


def _nearest(lines: Lines, level_from: int) -> int:
    """Return the least value at which somebody comes close to the level; the one before it otherwise."""
    reached = _best(lines, level_from)
    near = [i for i in range(level_from) if _best(lines, i) <= reached * (1 + _CLOSE)]
    return near[0] if near else level_from - 1


def _best(lines: Lines, i: int) -> float:
    return min(means[i] for means in lines.means.values())


def _beside(lines: Lines, i: int, level: int) -> str:
    """Return how far each contender is from the best mean of the level."""
    reached = _best(lines, level)
    ranked = sorted((means[i], name) for name, means in lines.means.items())
    if len(ranked) > _MOST_LINES:
        ranked = [ranked[0], ranked[-1]]
    said: list[str] = []
    for mean, name in ranked:
        part = difference(mean, reached) or 0.0
        side = "above" if part >= 0 else "below"
        word = f" {side} the {duration(reached)} reached there" if not said else f" {side}" * (part < 0)
        said.append(
            f"{name} is {per_cent(abs(part))}{word}" if not said else f"{name} {per_cent(abs(part))}{word}"
        )
    return f"at {_place(lines, i)} {listed(said)}"


def _changes(lines: Lines) -> str:
    changes = sorted((difference(means[-1], means[0]) or 0.0, name) for name, means in lines.means.items())
    ends = changes if len(changes) < 2 else [changes[0], changes[-1]]
    said = [
        f"{'rises' if part > 0 else 'falls'} by {per_cent(abs(part))} under {name}" for part, name in ends
    ]
    return listed(said)


def _place(lines: Lines, *ends: int) -> str:
    """Return a value, or two as a span, or the name of the key, in words."""
    if not ends:
        name = spoken(lines.key, ["2"])
        return "the number of " + name.removeprefix("2 ") if "=" not in name else short_key(lines.key)
    if len(ends) == 1:
        return spoken(lines.key, [lines.at[ends[0]]])
    first, last = (lines.at[i] for i in ends)
    return spoken(lines.key, [last]).replace(last, f"{first} to {last}")
