"""What a comparison says, in sentences: which policy is best, where, by how much, and why. Pure."""

from collections.abc import Sequence

from artist.report.words.across import across
from artist.report.words.reasons import less_of, reasons
from artist.report.words.trade_offs import trade_offs
from artist.report.words.verdicts import MOST_CLAUSES, Verdict, at_scenarios, overlap_of, verdicts
from artist.report.words.wording import begun, duration, few, per_cent
from artist.results.compare import Comparison
from artist.results.digest import Digest
from artist.results.interval import LEAST
from artist.results.measures import BY_NAME, LEVEL, difference
from artist.results.names import listed
from artist.results.scenarios import Contest

_QUESTIONS = (
    ("jct_mean_s", "Mean completion time (JCT)"),
    ("jct_p95_s", "The slow tail (95th percentile of JCT)"),
    ("makespan_s", "Makespan"),
)


def findings(comparison: Comparison, contest: Contest, digests: Sequence[Digest]) -> list[tuple[str, str]]:
    """Return (topic, sentence) pairs for the top of the page; one that says so if nothing competes."""
    said: list[tuple[str, str]] = []
    for name, topic in _QUESTIONS:
        found = verdicts(comparison, contest, BY_NAME[name])
        if found and not said:
            said.append(("In short", _in_short(found, contest, digests)))
            said += [] if (along := across(comparison)) is None else [along]
        if found:
            said.append((topic, _sentence(found, contest)))
    if not said:
        along = across(comparison)
        return [("", _alone(comparison))] if along is None else [along]
    return [
        *said,
        *trade_offs(comparison, contest),
        *reasons(comparison, contest, digests),
        ("Certainty", _certainty(comparison, contest)),
    ]


def _sentence(found: Sequence[Verdict], contest: Contest) -> str:
    """Return one sentence for a metric: clauses by scenario, equal outcomes said once."""
    clear = [each for each in found if len(each.level) < len(each.scenario.rows)]
    even = [each for each in found if len(each.level) == len(each.scenario.rows)]
    if len(clear) > MOST_CLAUSES:
        clauses = [_counted(clear, contest)]
    else:
        clauses = [at_scenarios([each.scenario]) + _clause(each, contest) for each in clear]
    if even:
        value = duration(even[0].of(even[0].best)[0] or 0.0)
        about = f" (about {value})" if len(even) == 1 else ""
        every = "both" if len(even[0].scenario.rows) == 2 else "all"
        near = "1 %" if all(_most_apart(each) <= LEVEL for each in even) else "1 % or 1 s"
        clauses.append(
            at_scenarios([each.scenario for each in even])
            + f"{every} policies are within {near} of each other{about}"
        )
    return begun("; ".join(clauses)) + "."


def _most_apart(each: Verdict) -> float:
    """Return by how much of the best the worst is above it."""
    means = [mean for mean, *_ in each.estimates if mean is not None]
    return difference(max(means), min(means)) or 0.0


def _in_short(found: Sequence[Verdict], contest: Contest, digests: Sequence[Digest]) -> str:
    """Return who has the lowest mean completion time, where, and what it has less of."""
    clear = [each for each in found if len(each.level) < len(each.scenario.rows)]
    even = [each for each in found if len(each.level) == len(each.scenario.rows)]
    clauses = []
    for name in dict.fromkeys(_leaders(each, contest) for each in clear):
        cases = [each for each in clear if _leaders(each, contest) == name]
        has = "have" if len(cases[0].level) > 1 else "has"
        text = f"{at_scenarios([each.scenario for each in cases])}{name} {has} the lowest mean JCT"
        less = {less_of(each, digests) for each in cases}
        text += f", mainly because {less.pop()}" if len(less) == 1 and "" not in less else ""
        unsettled = [each.scenario for each in cases if _is_unsettled(each)]
        if unsettled:
            where = at_scenarios(unsettled).removesuffix(": ") if len(cases) > 1 else ""
            text += f" (not settled{' ' * bool(where)}{where}: the 95 % interval overlaps with another's)"
        clauses.append(text)
    if even:
        clauses.append(
            f"{at_scenarios([each.scenario for each in even])}the policy hardly changes the mean JCT"
        )
    return begun("; ".join(clauses)) + "."


def _leaders(each: Verdict, contest: Contest) -> str:
    rows = [each.best, *(row for row in each.level if row != each.best)]
    return listed(few([contest.contenders[row] for row in rows]))


def _is_unsettled(each: Verdict) -> bool:
    rest = [row for row in each.scenario.rows if row not in each.level]
    return any(overlap_of(each.of(each.best), each.of(row)) for row in rest)


def _clause(each: Verdict, contest: Contest) -> str:
    value = duration(each.of(each.best)[0] or 0.0)
    if len(each.level) > 1:
        others = listed(few([contest.contenders[row] for row in each.level if row != each.best]))
        text = f"{contest.contenders[each.best]} is lowest with {value}, level (within 1 %) with {others}"
    else:
        text = f"{contest.contenders[each.best]} is lowest with {value}"
    if each.baseline in each.level or each.below is None:
        return text + _next(each, contest)
    reference = duration(each.of(each.baseline)[0] or 0.0)
    text += f", {per_cent(each.below)} below {contest.contenders[each.baseline]} ({reference}"
    if each.overlap is not None:
        text += "; the 95 % intervals overlap" if each.overlap else "; the 95 % intervals do not overlap"
    return text + ")" + (_next(each, contest) if len(each.level) == 1 else "")


def _next(each: Verdict, contest: Contest) -> str:
    """Return who comes after the best and its equals, unless that was said."""
    means = {row: mean for row, (mean, *_) in zip(each.scenario.rows, each.estimates, strict=True)}
    rest = [(mean, row) for row, mean in means.items() if row not in each.level and mean is not None]
    if not rest:
        return ""
    mean, row = min(rest)
    above = difference(mean, each.of(each.best)[0])
    if above is None or (row == each.baseline and each.baseline not in each.level):
        return ""
    overlap = overlap_of(each.of(row), each.of(each.best))
    hint = " (intervals overlap)" if overlap else ""
    return f", and {contest.contenders[row]} is next, {per_cent(above)} above it{hint}"


def _counted(clear: Sequence[Verdict], contest: Contest) -> str:
    names = [contest.contenders[each.best] for each in clear]
    counts = sorted({name: names.count(name) for name in names}.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{name} at {count}" for name, count in counts]
    text = f"of {len(clear)} cases that differ, lowest is {', '.join(parts)}"
    widest = max(clear, key=lambda each: each.below or 0.0)
    if widest.below:
        best, baseline = contest.contenders[widest.best], contest.contenders[widest.baseline]
        where = at_scenarios([widest.scenario]).removesuffix(": ")
        text += f"; the widest gap is {best} {per_cent(widest.below)} below {baseline}, {where}"
    return text


def _certainty(comparison: Comparison, contest: Contest) -> str:
    counts = {len(group.runs) for group in comparison.groups}
    if max(counts) < LEAST:
        each = "is one run with one seed" if counts == {1} else f"has fewer than {LEAST} seeds"
        return (
            f"Each row {each}: there are no intervals, so a small difference may be chance. Repeat with "
            "several seeds before relying on it."
        )
    least = min(counts)
    seeds = f"{least} seeds" if counts == {least} else f"{least} to {max(counts)} seeds"
    return (
        f"Rows are means over {seeds}; intervals are 95 % intervals of the mean (Student's t), of {LEAST} "
        "seeds or more. Where they overlap, these runs do not settle which is better."
    )


def _alone(comparison: Comparison) -> str:
    count = len(comparison.groups)
    if count == 1:
        return "There is one row, so there is nothing to compare; figures and tables describe it."
    return "Too few jobs have finished to say which row is best."
