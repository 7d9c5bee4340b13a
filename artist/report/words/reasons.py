"""Why mean completion times differ, in sentences. Pure."""

from collections.abc import Sequence

import numpy as np

from artist.report.words.verdicts import Verdict, at_scenarios, verdicts
from artist.report.words.wording import apart, begun, duration, per_cent, signed
from artist.results.compare import Comparison
from artist.results.digest import Digest
from artist.results.jobcolumns import PARTS
from artist.results.measures import BY_NAME, LEVEL
from artist.results.names import listed
from artist.results.scenarios import Contest

_COMPUTING = PARTS.index("computing")
_COMMUNICATION = PARTS.index("exposed communication")
_STALLS = PARTS.index("stalls and sharing")
_OVERHEADS = (PARTS.index("overheads"), PARTS.index("lost work"))
_MAINLY = 0.6  # of a difference: what makes more of it than that is the main reason
_LESS = (
    "jobs queue for less time",
    "jobs compute for less time",
    "less communication is exposed",
    "jobs stall less",
    "overheads are less",
    "less work is lost",
)


def reasons(comparison: Comparison, contest: Contest, digests: Sequence[Digest]) -> list[tuple[str, str]]:
    """Return why the mean completion times differ most where they do, and that the others do not wait."""
    found = [
        each
        for each in verdicts(comparison, contest, BY_NAME["jct_mean_s"])
        if all(row < len(digests) and not np.isnan(digests[row].parts_s).any() for row in each.scenario.rows)
    ]
    if not found:
        return []
    widest = max(found, key=lambda each: abs(_gap_s(each)))
    said = [_why(widest, contest, digests)] if len(widest.level) < len(widest.scenario.rows) else []
    idle = [
        each
        for each in found
        if len(each.level) == len(each.scenario.rows)
        and max(digests[row].parts_s[0] / digests[row].parts_s.sum() for row in each.scenario.rows) < LEVEL
    ]
    if idle:
        longest = max(digests[row].parts_s[0] for each in idle for row in each.scenario.rows)
        where = at_scenarios([each.scenario for each in idle])
        text = (
            f"{where}jobs wait {duration(longest)} on average at most, which leaves a policy little to decide"
        )
        said.append(begun(text))
    return [("Why", ". ".join(said) + ".")] if said else []


def less_of(each: Verdict, digests: Sequence[Digest]) -> str:
    """Return what makes most of the gap between best and worst of a scenario; "" if that is unclear."""
    rows = [row for row in each.scenario.rows if row < len(digests) and each.of(row).mean is not None]
    if each.best not in rows or any(np.isnan(digests[row].parts_s).any() for row in rows):
        return ""
    worst = max(rows, key=lambda row: float(digests[row].parts_s.sum()))
    gap = digests[worst].parts_s - digests[each.best].parts_s
    most = int(gap.argmax())
    if gap.sum() <= 0 or gap[most] < _MAINLY * gap.sum():
        return ""
    if most != _COMMUNICATION and gap[_COMMUNICATION] > LEVEL * gap.sum():
        return f"{_LESS[most]} and {_LESS[_COMMUNICATION]}"
    return _LESS[most]


def _gap_s(each: Verdict) -> float:
    means = [mean for mean, *_ in each.estimates if mean is not None]
    return max(means) - min(means)


def _why(each: Verdict, contest: Contest, digests: Sequence[Digest]) -> str:
    other = each.baseline
    if other in each.level or other not in each.scenario.rows or each.of(other).mean is None:
        means = [mean or 0.0 for mean, *_ in each.estimates]
        other = each.scenario.rows[means.index(max(means))]
    best, worse = digests[each.best].parts_s, digests[other].parts_s
    gap = worse - best
    names = (contest.contenders[each.best], contest.contenders[other])
    kinds = (
        ("queueing", gap[0]),
        ("communication", gap[_COMMUNICATION]),
        ("overheads (lost work included)", gap[list(_OVERHEADS)].sum()),
        ("stalls and sharing", gap[_STALLS]),
        ("computing", gap[_COMPUTING]),  # jobs hold other GPUs, or more of them
    )
    total = float(gap.sum())
    longer, shorter, between = apart(max(worse.sum(), best.sum()), min(worse.sum(), best.sum()))
    said = (shorter, longer) if total >= 0 else (longer, shorter)
    text = (
        f"{at_scenarios([each.scenario])}the mean JCT is {said[0]} under {names[0]} and "
        f"{said[1]} under {names[1]}. Queueing is {per_cent(worse[0] / worse.sum())} of "
        f"it under {names[1]} and {per_cent(best[0] / best.sum())} under {names[0]}"
    )
    if total > 0:
        text += f". Of the {between} between them, {_shares(kinds, total)}"
        if gap[_COMMUNICATION] > LEVEL * total:
            text += (
                ". Communication also holds GPUs for longer, so part of the queueing is its doing: these "
                "shares say where time was spent, not all of what caused it"
            )
    return begun(text)


def _shares(kinds: Sequence[tuple[str, float]], total: float) -> str:
    """Return what makes how much of a difference: per cents, or times where some work against others."""
    large = [(name, value) for name, value in kinds if abs(value) >= LEVEL * total]
    small = [name for name, value in kinds[:3] if abs(value) < LEVEL * total]
    against = any(value < 0 for _, value in large)
    said = [
        f"{name} {_makes(name)} {signed(value) if against else per_cent(value / total)}".replace(
            " 100 %", " practically all"
        )
        for name, value in large
    ]
    if not small:
        return listed(said)
    each = "make less than 1 % each" if len(small) > 1 else f"{_makes(small[0])} less than 1 %"
    return "; ".join(filter(None, (listed(said), f"{listed(small)} {each}")))


def _makes(name: str) -> str:
    return "make" if name.startswith(("overheads", "stalls")) else "makes"
