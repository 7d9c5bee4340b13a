"""What a comparison says, in sentences: which policy is best, where, by how much, and why. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from artist.results.across import across
from artist.results.compare import Comparison
from artist.results.digest import Digest
from artist.results.jobcolumns import PARTS
from artist.results.measures import BY_NAME, LEVEL, Estimate, Metric, difference, estimate, is_level
from artist.results.names import listed, spoken
from artist.results.scenarios import Contest, Scenario
from artist.results.wording import apart, begun, duration, per_cent

_MOST_CLAUSES = 4
_MOST_NAMES = 5
_QUESTIONS = (
    ("jct_mean_s", "Mean completion time (JCT)"),
    ("jct_p95_s", "The slow tail (95th percentile of JCT)"),
    ("makespan_s", "Makespan"),
)
_TAILS = (("jct_p99_s", "the 99th percentile of JCT"), ("jct_max_s", "the longest JCT"))
_TRADE_OFF = 0.03  # a tail that is longer than another's by less is no price to speak of
_COMMUNICATION = PARTS.index("exposed communication")
_STALLS = PARTS.index("stalls and sharing")
_MAINLY = 0.6  # of a difference: what makes more of it than that is the main reason
_LESS = (
    "jobs queue for less time",
    "jobs compute for less time",
    "less communication is exposed",
    "jobs stall less",
    "jobs are restarted and moved less",
    "less work is lost",
)
_PREEMPTION = (PARTS.index("restarts and moves"), PARTS.index("lost work"))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who is best by a metric in a scenario.

    Attributes
    ----------
    best, baseline
        Rows.
    level
        Rows within 1 % or a second of the best, the best included.
    below
        By how much of the baseline the best is below it; None if that cannot be said.
    overlap
        Whether the 95 % intervals of best and baseline overlap; None without replicates of both.
    """

    scenario: Scenario
    best: int
    baseline: int
    level: tuple[int, ...]
    estimates: tuple[Estimate, ...]
    below: float | None
    overlap: bool | None

    def of(self, row: int) -> Estimate:
        """Return mean and interval of a row of the scenario."""
        return self.estimates[self.scenario.rows.index(row)]


def verdicts(comparison: Comparison, contest: Contest, metric: Metric) -> list[Verdict]:
    """Return who is best in each scenario in which several rows have the number."""
    found = []
    for scenario in contest.scenarios:
        estimates = [
            estimate(metric, [run.summary for run in comparison.groups[row].runs]) for row in scenario.rows
        ]
        means = [math.inf if mean is None else mean for mean, *_ in estimates]
        if sum(map(math.isfinite, means)) < 2:
            continue
        least = min(means)
        best = scenario.rows[means.index(least)]
        level = tuple(
            row for row, mean in zip(scenario.rows, means, strict=True) if is_level(metric.kind, mean, least)
        )
        baseline = contest.baseline[best]
        reference = _own(scenario, estimates, baseline)
        drop = difference(least, reference.mean)
        overlap = _overlap(estimates[means.index(least)], reference) if best != baseline else None
        below = None if drop is None else -drop
        found.append(Verdict(scenario, best, baseline, level, tuple(estimates), below, overlap))
    return found


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
        *_trade_offs(comparison, contest),
        *_reasons(comparison, contest, digests),
        ("Certainty", _certainty(comparison, contest)),
    ]


def _own(scenario: Scenario, estimates: Sequence[Estimate], row: int) -> Estimate:
    return estimates[scenario.rows.index(row)] if row in scenario.rows else Estimate()


def _overlap(one: Estimate, other: Estimate) -> bool | None:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return None
    return one.low <= other.high and other.low <= one.high


def _sentence(found: Sequence[Verdict], contest: Contest) -> str:
    """Return one sentence for a metric: clauses by scenario, equal outcomes said once."""
    clear = [each for each in found if len(each.level) < len(each.scenario.rows)]
    even = [each for each in found if len(each.level) == len(each.scenario.rows)]
    if len(clear) > _MOST_CLAUSES:
        clauses = [_counted(clear, contest)]
    else:
        clauses = [_at([each.scenario]) + _clause(each, contest) for each in clear]
    if even:
        value = duration(even[0].of(even[0].best)[0] or 0.0)
        about = f" (about {value})" if len(even) == 1 else ""
        every = "both" if len(even[0].scenario.rows) == 2 else "all"
        near = "1 %" if all(_most_apart(each) <= LEVEL for each in even) else "1 % or 1 s"
        clauses.append(
            _at([each.scenario for each in even]) + f"{every} policies are within {near} of each other{about}"
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
        text = f"{_at([each.scenario for each in cases])}{name} {has} the lowest mean JCT"
        less = {_less_of(each, digests) for each in cases}
        text += f", mainly because {less.pop()}" if len(less) == 1 and "" not in less else ""
        unsettled = [each.scenario for each in cases if _is_unsettled(each)]
        if unsettled:
            where = _at(unsettled).removesuffix(": ") if len(cases) > 1 else ""
            text += f" (not settled{' ' * bool(where)}{where}: the 95 % interval overlaps with another's)"
        clauses.append(text)
    if even:
        clauses.append(f"{_at([each.scenario for each in even])}the policy hardly changes the mean JCT")
    return begun("; ".join(clauses)) + "."


def _leaders(each: Verdict, contest: Contest) -> str:
    rows = [each.best, *(row for row in each.level if row != each.best)]
    return listed(_few([contest.contenders[row] for row in rows]))


def _few(names: list[str]) -> list[str]:
    return names if len(names) <= _MOST_NAMES else [*names[:2], f"{len(names) - 2} others"]


def _is_unsettled(each: Verdict) -> bool:
    rest = [row for row in each.scenario.rows if row not in each.level]
    return any(_overlap(each.of(each.best), each.of(row)) for row in rest)


def _less_of(each: Verdict, digests: Sequence[Digest]) -> str:
    """Return what makes most of the gap between best and worst of a scenario; "" if that is unclear."""
    rows = [row for row in each.scenario.rows if row < len(digests)]
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


def _clause(each: Verdict, contest: Contest) -> str:
    value = duration(each.of(each.best)[0] or 0.0)
    if len(each.level) > 1:
        others = listed(_few([contest.contenders[row] for row in each.level if row != each.best]))
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
    overlap = _overlap(each.of(row), each.of(each.best))
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
        text += (
            f"; the widest gap is {best} {per_cent(widest.below)} below {baseline}, {_at([widest.scenario])}"
        )
        text = text.removesuffix(": ")
    return text


def _at(scenarios: Sequence[Scenario]) -> str:
    """Return where: `at 64 machines: `, `at 96 and 133 machines: `, or nothing if there is but one place."""
    named = [each for each in scenarios if each.name]
    if not named:
        return ""
    if all(len(each.parts) == 1 for each in named) and len({each.parts[0][0] for each in named}) == 1:
        return f"at {spoken(named[0].parts[0][0], [each.parts[0][1] for each in named])}: "
    names = [each.name for each in named]
    return f"at {' and at '.join(names) if len(names) < 4 else f'{len(names)} others'}: "


def _trade_offs(comparison: Comparison, contest: Contest) -> list[tuple[str, str]]:
    """Return what the best by mean costs the slowest jobs, where another policy is clearly kinder to them."""
    clauses = [
        clause
        for each in verdicts(comparison, contest, BY_NAME["jct_mean_s"])
        if len(each.level) < len(each.scenario.rows) and (clause := _trade_off(each, comparison, contest))
    ]
    if not clauses:
        return []
    worst = sorted(clauses, reverse=True)[:_MOST_CLAUSES]
    text = "; ".join(clause[1] for clause in clauses if clause in worst)
    return [("Trade-off", begun(text) + ".")]


def _trade_off(each: Verdict, comparison: Comparison, contest: Contest) -> tuple[float, str] | None:
    """Return by how much the best is above the least in a tail, and the clause on it."""
    for name, words in _TAILS:
        tails = [
            estimate(BY_NAME[name], [run.summary for run in comparison.groups[row].runs])[0]
            for row in each.scenario.rows
        ]
        least, kinder = min((math.inf if tail is None else tail, i) for i, tail in enumerate(tails))
        own = tails[each.scenario.rows.index(each.best)]
        above = difference(own, least)
        if own is None or above is None or above <= _TRADE_OFF or is_level("time", own, least):
            continue
        best, other = (contest.contenders[row] for row in (each.best, each.scenario.rows[kinder]))
        text = f"{_at([each.scenario])}{words} is {duration(own)} under {best}, {per_cent(above)} above that"
        return above, f"{text} under {other} ({duration(least)})"
    return None


def _reasons(comparison: Comparison, contest: Contest, digests: Sequence[Digest]) -> list[tuple[str, str]]:
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
        where = _at([each.scenario for each in idle])
        text = (
            f"{where}jobs wait {duration(longest)} on average at most, which leaves a policy little to decide"
        )
        said.append(begun(text))
    return [("Why", ". ".join(said) + ".")] if said else []


def _gap_s(each: Verdict) -> float:
    means = [mean for mean, *_ in each.estimates if mean is not None]
    return max(means) - min(means)


def _why(each: Verdict, contest: Contest, digests: Sequence[Digest]) -> str:
    other = each.baseline
    if other in each.level or other not in each.scenario.rows:
        means = [mean or 0.0 for mean, *_ in each.estimates]
        other = each.scenario.rows[means.index(max(means))]
    best, worse = digests[each.best].parts_s, digests[other].parts_s
    gap = worse - best
    names = (contest.contenders[each.best], contest.contenders[other])
    kinds = (
        ("queueing", gap[0]),
        ("communication", gap[_COMMUNICATION]),
        ("preemption (restarts, moves, lost work)", gap[list(_PREEMPTION)].sum()),
        ("stalls and sharing", gap[_STALLS]),
    )
    total = float(gap.sum())
    longer, shorter, between = apart(max(worse.sum(), best.sum()), min(worse.sum(), best.sum()))
    said = (shorter, longer) if total >= 0 else (longer, shorter)
    text = (
        f"{_at([each.scenario])}the mean JCT is {said[0]} under {names[0]} and "
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
    large = [(name, value) for name, value in kinds if abs(value) >= LEVEL * total]
    small = [name for name, value in kinds[:3] if abs(value) < LEVEL * total]
    said = [
        f"{name} makes {per_cent(value / total)}".replace("makes 100 %", "makes practically all")
        for name, value in large
    ]
    if not small:
        return listed(said)
    each = "make less than 1 % each" if len(small) > 1 else "makes less than 1 %"
    return "; ".join(filter(None, (listed(said), f"{listed(small)} {each}")))


def _certainty(comparison: Comparison, contest: Contest) -> str:
    counts = {len(group.runs) for group in comparison.groups}
    if counts == {1}:
        return (
            "Each row is one run with one seed: there are no intervals, so a small difference may be chance. "
            "Repeat with several seeds before relying on it."
        )
    least = min(counts)
    seeds = f"{least} seeds" if counts == {least} else f"{least} to {max(counts)} seeds"
    return (
        f"Rows are means over {seeds}; intervals are 95 % bootstrap intervals of the mean. Overlapping "
        "intervals mean that these runs do not settle which is better; from 2 or 3 seeds they say little."
    )


def _alone(comparison: Comparison) -> str:
    count = len(comparison.groups)
    if count == 1:
        return "There is one row, so there is nothing to compare; figures and tables describe it."
    return "Too few jobs have finished to say which row is best."
