"""What the mean completion time is made of, and which of what was varied changes it. Pure."""

from collections.abc import Sequence

import numpy as np

from artist.report.words.axes import Axis
from artist.report.words.wording import apart, begun, duration, per_cent, signed
from artist.results.compare import POLICY, Comparison
from artist.results.digest import Digest
from artist.results.jobcolumns import PARTS
from artist.results.measures import LEVEL
from artist.results.names import listed
from artist.results.steps import Floats

_COMMUNICATION = PARTS.index("exposed communication")
_HELD = "; communication holds GPUs for longer, so part of the waiting is its doing"
_MOST = 3  # of what was varied is told


def drivers(varied: Sequence[Axis], comparison: Comparison, digests: Sequence[Digest]) -> str:
    """Return which of what was varied changes the mean JCT most, and what its longest and shortest differ in.

    Where nothing changes it, the parts that it is made of.
    """
    moving = sorted((axis for axis in varied if axis.effect > LEVEL), key=lambda axis: -axis.effect)
    if not moving:
        return _parts(comparison, digests)
    effects = [
        f"{axis.name} {'changes the mean JCT ' * (not at)}by up to {per_cent(axis.effect)}{_where(axis)}"
        for at, axis in enumerate(moving[:_MOST])
    ]
    means, rows = moving[0].means[moving[0].widest], moving[0].rows[moving[0].widest]
    pair = [rows[means.index(extreme)] for extreme in (max(means), min(means))]
    return f"{begun(listed(effects))}.{_between(pair, comparison, digests)}"


def _where(axis: Axis) -> str:
    """Return where the effect of an axis is widest; empty if there is but one place."""
    return f" ({'at' if axis.key == POLICY else 'under'} {axis.widest})" if len(axis.means) > 1 else ""


def _between(pair: Sequence[int], comparison: Comparison, digests: Sequence[Digest]) -> str:
    """Return what makes the difference between two rows; empty if that is not known."""
    if max(pair) >= len(digests):
        return ""
    worse, best = (digests[row].parts_s for row in pair)
    gap, total = worse - best, float(worse.sum() - best.sum())
    if not total > 0:  # or NaN
        return ""
    longer, shorter, between = apart(float(worse.sum()), float(best.sum()))
    names = [comparison.groups[row].label for row in pair]
    held = _HELD if gap[_COMMUNICATION] > LEVEL * total else ""
    return (
        f" Of the {between} between {names[0]} ({longer}) and {names[1]} ({shorter}), {_shares(gap)}{held}."
    )


def _parts(comparison: Comparison, digests: Sequence[Digest]) -> str:
    group = comparison.groups[0]
    if not digests or group.partial or np.isnan(digests[0].parts_s).any():
        return ""
    of = f" under {group.label}" if len(comparison.groups) > 1 else ""
    parts_s = digests[0].parts_s
    return f"Of the mean JCT{of} ({duration(float(parts_s.sum()))}), {_shares(parts_s)}."


def _shares(parts_s: Floats) -> str:
    """Return what makes how much of a time: per cents, or times where some work against others.

    What makes less than 1 % is left out.
    """
    by_name = dict(zip(PARTS, map(float, parts_s), strict=True))
    by_name["overheads"] += by_name.pop("lost work")
    total = sum(by_name.values())
    large = {name: value for name, value in by_name.items() if abs(value) >= LEVEL * total}
    against = any(value < 0 for value in large.values())
    said = [
        f"{_WORDS.get(name, name)} {signed(value) if against else per_cent(value / total)}"
        for name, value in large.items()
    ]
    return f"{listed(said).replace(' 100 %', ' practically all')}"


_WORDS = {
    "queueing": "waiting in the queue makes",
    "computing": "computing makes",  # jobs hold other GPUs, or more of them
    "exposed communication": "communication makes",
    "stalls and sharing": "stalls and sharing make",
    "overheads": "overheads (lost work included) make",
}
