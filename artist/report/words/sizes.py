"""How many racks or machines it takes, and what another number that was varied changes. Pure."""

from collections.abc import Sequence
from itertools import pairwise

from artist.report.words.axes import Axis
from artist.report.words.wording import duration, few, per_cent
from artist.results.compare import Comparison
from artist.results.measures import BY_NAME, comparable, difference, is_level
from artist.results.names import listed, short_key, spoken

_ENOUGH = 0.05


def sizes(axis: Axis, comparison: Comparison) -> str:
    """Return how many racks or machines it takes, and what each step gains.

    It takes the least number that was run whose mean JCT is at most 5 % above the lowest of all numbers
    that were run, under each policy for itself. Where that is the largest, more may be better still.
    """
    last = len(axis.at) - 1
    needs = {name: _least(means) for name, means in axis.means.items()}
    said: list[str] = []
    for need in sorted(set(needs.values())):
        names = [name for name, own in needs.items() if own == need]
        count = axis.at[need] if said else spoken(axis.key, [axis.at[need]])
        more = " (the most that was run: more may gain further)" * (need == last)
        said.append(f"{count} {under(names, len(needs))}{more}")
    ranked = sorted(axis.means, key=lambda name: axis.means[name][-1] / max(axis.means[name][0], 1e-9))
    ends = list(dict.fromkeys([ranked[0], ranked[-1]]))
    points = sorted({0, last} | {needs[name] for name in ends})
    steps = "; ".join(f"{_steps(axis.means[name], points)} under {name}" for name in ends)
    used = [_used(comparison, [rows[i] for rows in axis.rows.values()]) for i in points]
    return (
        f"It takes {listed(said)} to come within 5 % of the lowest mean JCT of all sizes run. "
        f"With {spoken(axis.key, [axis.at[i] for i in points])} it is {steps}. "
        f"GPUs compute {listed(used)} of the time."
    )


def along(axis: Axis) -> str:
    """Return how the mean JCT changes with a number, and up to where, or from where on, it hardly does."""
    last = len(axis.at) - 1
    what = short_key(axis.key)
    every = under(list(axis.means), len(axis.means))
    little = f"the mean JCT changes by less than 1 % {every}"
    if _are_level(axis, 0, last):
        return f"From {what}={axis.at[0]} to {axis.at[last]}, {little}."
    start = next(i for i in range(last + 1) if _are_level(axis, i, last))
    stop = next(i for i in range(last, -1, -1) if _are_level(axis, 0, i))
    level = f"; from {axis.at[start]} on, {little}" if start < last else ""
    level = f"; up to {axis.at[stop]}, {little}" if stop and not level else level
    ranked = sorted(axis.means, key=lambda name: axis.means[name][-1] / max(axis.means[name][0], 1e-9))
    said = [f"{_trend(axis, name)} under {name}" for name in dict.fromkeys([ranked[0], ranked[-1]])]
    return f"From {what}={axis.at[0]} to {axis.at[last]}, the mean JCT {listed(said)}{level}."


def _trend(axis: Axis, name: str) -> str:
    """Return by how much the mean JCT rises or falls; the ends where it does neither."""
    means = list(axis.means[name])
    part = difference(means[-1], means[0]) or 0.0
    ups, downs = (
        all(is_level("time", *pair[::step]) for pair in pairwise(means)) for step in (1, -1)
    )  # never, but for 1 %
    if ups or downs:
        return f"{'rises' if part > 0 else 'falls'} by {per_cent(abs(part))}"
    ends = (f"{duration(mean)} (at {axis.at[means.index(mean)]})" for mean in (min(means), max(means)))
    return f"goes up and down between {' and '.join(ends)}"


def under(names: Sequence[str], of: int) -> str:
    """Return under which policies, of so many."""
    return "under every policy" if len(names) == of > 1 else f"under {listed(few(names))}"


def _least(means: Sequence[float]) -> int:
    return next(i for i, mean in enumerate(means) if mean <= min(means) * (1 + _ENOUGH))


def _steps(means: Sequence[float], points: Sequence[int]) -> str:
    said = [duration(means[points[0]])]
    for one, other in pairwise(points):
        part = difference(means[other], means[one]) or 0.0
        said.append(f"{duration(means[other])} ({per_cent(abs(part))} {'more' if part > 0 else 'less'})")
    return listed(said)


def _used(comparison: Comparison, rows: Sequence[int]) -> str:
    shares = [comparable(BY_NAME["gpu_utilization"], comparison.groups[row]).mean or 0.0 for row in rows]
    return per_cent(sum(shares) / len(shares))


def _are_level(axis: Axis, first: int, last: int) -> bool:
    spans = [means[first : last + 1] for means in axis.means.values()]
    return all(is_level("time", max(span), min(span)) for span in spans)
