"""Findings on the number of racks or machines, and on other varied numbers. Pure."""

from collections.abc import Sequence
from itertools import pairwise

from artist.report.words.axes import SMALL, Axis, ratio_of
from artist.report.words.wording import at_most, few, longer, per_cent, times_as_long
from artist.results.compare import Comparison
from artist.results.measures import BY_NAME, comparable, is_level
from artist.results.names import listed, spoken


def sizes(axis: Axis, comparison: Comparison) -> str:
    """Return the number of racks or machines that is enough, and the loss with fewer.

    Enough is the least number that was run whose mean JCT is under every policy at most 5 % above the lowest
    of all numbers that were run. Where that is the largest, more may be better still.
    """
    above = {name: [mean / max(min(means), 1e-9) - 1 for mean in means] for name, means in axis.means.items()}
    worst = [max(parts[i] for parts in above.values()) for i in range(len(axis.at))]
    need = next((i for i, part in enumerate(worst) if part <= SMALL + 1e-9), worst.index(min(worst)))
    enough = need < len(axis.at) - 1
    are = "is" if axis.at[need] == "1" else "are"
    if enough:
        under = f"the mean JCT is at most {at_most(worst[need])} above the lowest with any other number"
        text = f"{spoken(axis.key, [axis.at[need]])} {are} enough: {under}."
    else:
        most = f"{spoken(axis.key, axis.at[-1:])}, the most that were run"
        text = f"Not found: the mean JCT still falls up to {most}, so more may be better."
        text += _last_fall(axis, comparison)
    for i in sorted({0, max(need - 1, 0)} - {need}):
        ranked = sorted(above, key=lambda name: above[name][i])
        ends = [
            f"{longer([above[name][i]])} under {name} ({axis.said(name, i)})"
            for name in dict.fromkeys([ranked[0], ranked[-1]])
        ]
        at = spoken(axis.key, [axis.at[i]])
        than = f"With {at}, it is" if enough else f"Compared with the best number, the mean JCT with {at} is"
        text += f" {than} {listed(ends)}."
    points = sorted({0, need, len(axis.at) - 1})
    used = [
        f"{_used(comparison, axis, i)}{' of the time' * (not n)} with {spoken(axis.key, [axis.at[i]])}"
        for n, i in enumerate(points)
    ]
    mean = "Averaged over policies, " * (len(axis.means) > 1)
    return f"{text} {mean}GPUs compute for {listed(used)}."


def _last_fall(axis: Axis, comparison: Comparison) -> str:
    """Return the mean JCT with the last number but one, as a ratio to that with the last; empty if unknown.

    Under the policy whose interval begins lowest.
    """
    falls = {
        name: ratio_of(*(comparison.groups[rows[i]] for i in (-2, -1))) for name, rows in axis.rows.items()
    }
    known = {name: fall for name, fall in falls.items() if fall.low is not None}
    if not known:
        return ""
    name = min(known, key=lambda name: known[name].low or 0.0)
    seeds = f"{len(comparison.groups[axis.rows[name][-1]].runs)} seeds"
    with_fewer = f"with {spoken(axis.key, [axis.at[-2]])} it is {times_as_long(known[name], seeds)}"
    return f" Seed by seed, {with_fewer}{f' under {name}' * (len(known) > 1)}."


def along(axis: Axis) -> str:
    """Return the change of the mean JCT with a number, and the range in which it hardly changes."""
    last = len(axis.at) - 1
    every = under(list(axis.means), len(axis.means))
    little = f"the mean JCT changes by less than 1 % {every}"
    ends = spoken(axis.key, (axis.at[0], axis.at[last]), " to ")
    if _are_level(axis, 0, last):
        return f"From {ends}, {little}."
    start = next(i for i in range(last + 1) if _are_level(axis, i, last))
    stop = next(i for i in range(last, -1, -1) if _are_level(axis, 0, i))
    level = f"; from {axis.at[start]} on, {little}" if start < last else ""
    level = f"; up to {axis.at[stop]}, {little}" if stop and not level else level
    ranked = sorted(axis.means, key=lambda name: axis.means[name][-1] / max(axis.means[name][0], 1e-9))
    trends = [f"{_trend(axis, name)} under {name}" for name in dict.fromkeys([ranked[0], ranked[-1]])]
    chance = " This may be chance." * (axis.idle or axis.chance)
    return f"From {ends}, the mean JCT {listed(trends)}{level}.{chance}"


def _trend(axis: Axis, name: str) -> str:
    """Return between which means it rises or falls; first, extremes and last where it does neither."""
    means = list(axis.means[name])
    last = len(means) - 1
    ups, downs = (
        all(is_level("time", *pair[::step]) for pair in pairwise(means)) for step in (1, -1)
    )  # never, but for 1 %
    if ups or downs:
        way = "rises" if means[-1] > means[0] else "falls"
        return f"{way} from {axis.said(name, 0)} to {axis.said(name, last)}"
    points = sorted({0, means.index(min(means)), means.index(max(means)), last})
    return f"goes up and down ({listed([f'{axis.said(name, i)} at {axis.at[i]}' for i in points])})"


def under(names: Sequence[str], of: int) -> str:
    """Return the policies concerned, of all."""
    return "under every policy" if len(names) == of > 1 else f"under {listed(few(names))}"


def _used(comparison: Comparison, axis: Axis, i: int) -> str:
    rows = [comparison.groups[rows[i]] for rows in axis.rows.values()]
    shares = [comparable(BY_NAME["gpu_utilization"], row).mean or 0.0 for row in rows]
    return per_cent(sum(shares) / len(shares))


def _are_level(axis: Axis, first: int, last: int) -> bool:
    spans = [means[first : last + 1] for means in axis.means.values()]
    return all(is_level("time", max(span), min(span)) for span in spans)
