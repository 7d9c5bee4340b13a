"""Parts of the mean completion time, and the settings that change it. Pure."""

from collections.abc import Collection, Sequence

from artist.report.words.axes import Axis
from artist.report.words.wording import above, capital, duration, named, per_cent, with_settings
from artist.results.compare import POLICY, Comparison
from artist.results.coverage import OVERLOADED
from artist.results.digest import Digest
from artist.results.jobcolumns import COMMUNICATION, PARTS
from artist.results.measures import LEVEL
from artist.results.names import listed
from artist.results.steps import Floats

_HELD = "; communication holds GPUs for longer, so part of the waiting is its doing"
_MOST = 3  # of what was varied is told
_TOLD = 0.002  # part of a difference that a reader who adds its parts up would miss


def drivers(varied: Sequence[Axis], comparison: Comparison, digests: Sequence[Digest]) -> str:
    """Return the setting that changes the mean JCT most, and the parts in which its extremes differ.

    Differences that may be chance count for nothing. Without any, the parts of mean JCTs.
    """
    large = sorted((axis for axis in varied if not axis.idle), key=lambda axis: -axis.effect)
    moving = [axis for axis in large if not axis.chance][:_MOST]
    chance = "".join(
        f" {capital(axis.name)} may matter: mean JCTs are up to {above(axis.effect)} the lowest, "
        "but that may be chance."
        for axis in large
        if axis.chance
    )
    if not moving:
        nothing = "Nothing that was varied makes a clear difference." * bool(varied and not chance)
        return f"{nothing}{chance} {_parts(comparison, digests)}".strip()
    effects = [f"{axis.name}, {above(axis.effect)} the lowest{_where(axis)}" for axis in moving]
    most = " most" * (len(varied) > 1)
    first = effects[0].replace(", ", f" matters{most}: mean JCTs are up to ", 1)
    others = f"; then {listed(effects[1:])}" if effects[1:] else ""
    means, rows = moving[0].means[moving[0].widest], moving[0].rows[moving[0].widest]
    pair = [rows[means.index(extreme)] for extreme in (max(means), min(means))]
    return f"{capital(first)}{others}.{chance}{_between(pair, comparison, digests, moving[0].growing)}"


def _where(axis: Axis) -> str:
    """Return the case in which the effect of an axis is widest; empty if there is only one."""
    if len(axis.means) < 2:
        return ""
    return f" ({with_settings(axis.widest.split(', ')) if axis.key == POLICY else f'under {axis.widest}'})"


def _between(
    pair: Sequence[int], comparison: Comparison, digests: Sequence[Digest], growing: Collection[int]
) -> str:
    """Return the parts that make the difference between two rows; empty if unknown."""
    if max(pair) >= len(digests):
        return ""
    worse, best = (digests[row].parts_s for row in pair)
    gap, total = worse - best, float(worse.sum() - best.sum())
    if not total > 0:  # or NaN
        return ""
    names = [f"{named(comparison.groups[row].label)}{OVERLOADED * (row in growing)}" for row in pair]
    parts = sorted(_large(gap, total).items(), key=lambda pair: -pair[1])
    gains = [f"{duration(seconds)} because {_LESS[name]}" for name, seconds in parts if seconds > 0]
    if len(parts) == 1:
        gains = [f"practically all of it because {_LESS[parts[0][0]]}"]
    more = {name: text.replace("less", "more") for name, text in _LESS.items()}
    costs = [f"{duration(-seconds)} because {more[name]}" for name, seconds in parts if seconds < 0]
    held = _HELD if gap[COMMUNICATION].sum() > LEVEL * total else ""
    rest = abs(total - sum(seconds for _, seconds in parts))
    small = " (parts below 1 % left out)" * (len(parts) > 1 and rest > _TOLD * total)
    reasons = listed(gains) + f", minus {listed(costs)}" * bool(costs) + small + held
    between = f"Under {names[1]}, the mean JCT is {duration(total)} shorter than under {names[0]}"
    return f" {between}: {reasons}."


def _parts(comparison: Comparison, digests: Sequence[Digest]) -> str:
    """Return the parts of the mean JCT of one row, or the share of waiting in several."""
    known = [digest for digest in digests if not digest.group.partial and digest.parts_s.sum() > 0]
    if len(comparison.groups) > 1 and known:
        waits = max(known, key=lambda digest: digest.parts_s[0] / digest.parts_s.sum())
        part = per_cent(float(waits.parts_s[0] / waits.parts_s.sum()))
        wait = duration(float(waits.parts_s[0]))
        if not float(waits.parts_s[0]):
            return "No job waits."
        return (
            f"Jobs wait longest under {named(waits.group.label)}: {wait} on average, {part} of the mean JCT."
        )
    if not known:
        return ""
    total = float(known[0].parts_s.sum())
    parts = _large(known[0].parts_s, total).items()
    clauses = [f"{per_cent(seconds / total)} is {_WORDS[name]}" for name, seconds in parts]
    return f"Of the mean JCT ({duration(total)}), {listed(clauses)}."


def _large(parts_s: Floats, total: float) -> dict[str, float]:
    """Return parts of a time that make at least 1 % of it; lost work is an overhead."""
    by_name = dict(zip(PARTS, map(float, parts_s), strict=True))
    by_name["overheads"] += by_name.pop("lost work")
    return {name: value for name, value in by_name.items() if abs(value) >= LEVEL * total}


_WORDS = {
    "queueing": "waiting in the queue",
    "computing": "computing",
    "exposed communication": "communication",
    "contention": "contention on links",
    "stalls and sharing": "stalls and sharing",
    "overheads": "overheads (lost work included)",
}
_LESS = {
    "queueing": "jobs wait less",
    "computing": "jobs compute for less time (on other GPUs, or more of them)",
    "exposed communication": "jobs communicate for less time",
    "contention": "jobs slow each other less on links that they share",
    "stalls and sharing": "running jobs are held up less (by slow input, or by sharing machines)",
    "overheads": "less is lost to starts, stops and repeated work",
}
