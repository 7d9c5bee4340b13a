"""Findings on policies: the best by metric and scenario, each one's distance, and the certainty. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from artist.report.words.axes import SMALL, mean_jct, ratio_of, ratios
from artist.report.words.verdicts import MAX_CLAUSES, Verdict, at_scenarios, in_words, verdicts
from artist.report.words.wording import (
    at_most,
    begun,
    duration,
    few,
    in_cases,
    longer,
    per_cent,
    times_as_long,
    with_settings,
)
from artist.results.compare import Comparison, Replicates
from artist.results.digest import Digest
from artist.results.interval import LEAST
from artist.results.measures import BY_NAME, LEVEL, comparable, estimate
from artist.results.names import listed
from artist.results.scenarios import Contest
from artist.results.steps import Floats

_MEAN = BY_NAME["jct_mean_s"]
_BY = {
    "mean JCT": _MEAN,
    "median JCT": BY_NAME["jct_median_s"],
    "95th percentile of JCT": BY_NAME["jct_p95_s"],
    "99th percentile of JCT": BY_NAME["jct_p99_s"],
    "longest JCT": BY_NAME["jct_max_s"],
    "mean queueing": BY_NAME["queueing_mean_s"],
    "makespan": BY_NAME["makespan_s"],
}
_MAX_DISTANCES = 4  # from the lowest, in a sentence
_TOLD = ("mean JCT", "95th percentile of JCT", "99th percentile of JCT", "makespan")


def which(
    contested: Sequence[Verdict], contest: Contest, comparison: Comparison, growing: Collection[int] = ()
) -> str:
    """Return the policies with the lowest mean JCT, by scenario, and the distances of the others.

    A policy that is lowest, or within 1 % of it, in every case is named for all cases at once.
    """
    clear = [verdict for verdict in contested if not verdict.even]
    even = [verdict for verdict in contested if verdict.even]
    if contested and not clear and (little := _little_waiting(comparison)):
        return little
    rivals = {case: [contest.contenders[row] for row in _rivals(case, comparison)] for case in clear}
    groups = _by_leaders(clear, contest)
    ranked = sorted(groups.items(), key=lambda pair: -len(pair[1]))[:MAX_CLAUSES]
    of = len(contest.scenarios)
    marked = growing if len(growing) < len(comparison.groups) else ()  # else a caution says it of all rows
    clauses = [
        _lead(_choice(name, cases, comparison, growing, any(map(rivals.get, cases))), cases, contest, marked)
        for name, cases in ranked
    ]
    clauses += ["elsewhere, others (table below)"] * (len(groups) > MAX_CLAUSES)
    if even:
        where = at_scenarios([verdict.scenario for verdict in even], of)
        clauses.append(f"{where}{', ' * bool(where)}any, as mean JCTs are {_apart(even)}")
    names = list(dict.fromkeys(name for of_case in rivals.values() for name in of_case))
    doubt = f" But {listed(few(names))} may be as good: see How sure." if names else ""
    return f"{'. '.join(map(begun, clauses))}.{doubt}"


def _little_waiting(comparison: Comparison) -> str:
    """Return that all policies are as good, where waiting makes at most 5 % of every mean JCT; else ""."""
    waits, jcts, used = (
        [
            estimate(BY_NAME[name], [run.summary for run in group.runs]).mean or 0.0
            for group in comparison.groups
        ]
        for name in ("queueing_mean_s", "jct_mean_s", "gpu_utilization")
    )
    if any(wait > SMALL * jct for wait, jct in zip(waits, jcts, strict=True)):
        return ""
    wait, busy = (
        listed(list(dict.fromkeys((text(min(of)), text(max(of))))), " to ")
        for text, of in ((duration, waits), (per_cent, used))
    )
    return (
        f"This study cannot tell which is best: hardly any job waits (mean wait {wait}, {busy} of GPUs "
        "used); raise the load or use fewer machines."
    )


def _by_leaders(clear: Sequence[Verdict], contest: Contest) -> dict[str, list[Verdict]]:
    """Return verdicts by the names of their leaders, of those that lead everywhere if there are any."""
    leaders = [[contest.contenders[row] for row in _leaders(verdict)] for verdict in clear]
    always = [name for name in leaders[0] if all(name in names for names in leaders)] if clear else []
    groups: dict[str, list[Verdict]] = {}
    for verdict, names in zip(clear, leaders, strict=True):
        groups.setdefault(_either(always or names), []).append(verdict)
    return groups


def _either(names: Sequence[str]) -> str:
    return f"{'either ' * (len(names) == 2)}{listed(few(names), ' or ')}"


def _apart(even: Sequence[Verdict]) -> str:
    """Return the largest distance between mean JCTs that are level."""
    apart = max(verdict.above(row) for verdict in even for row in verdict.scenario.rows)
    if apart > even[0].limit:
        return "less than 1 s apart"
    if not apart:
        return "equal"
    return f"at most {at_most(apart)} apart" + ", too little to tell from one seed" * (apart > LEVEL)


def each_policy(comparison: Comparison, contest: Contest, digests: Sequence[Digest]) -> list[tuple[str, str]]:
    """Return sentences on each policy: its distance from the lowest by each metric, waiting, preemptions."""
    by_title = {title: verdicts(comparison, contest, _BY[title]) for title in _TOLD}
    contest = in_words(contest)
    sentences = []
    for name in dict.fromkeys(contest.contenders):
        rows = [row for row, other in enumerate(contest.contenders) if other == name]
        groups = [comparison.groups[row] for row in rows]
        parts = [digests[row].parts_s for row in rows if row < len(digests)]
        said = [*_places(by_title, rows), *_left_out(groups), *_waiting(parts), _preemptions(groups)]
        sentences.append((name, " ".join(said)))
    return sentences


def _places(by_title: Mapping[str, Sequence[Verdict]], rows: Sequence[int]) -> list[str]:
    """Return sentences on a policy's distance from the lowest by each metric."""
    places = {title: place for title, of in by_title.items() if (place := _place(title, of, rows))}
    first = [title for title, place in places.items() if place.always]
    are = "are" if len(first) > 1 else "is"
    others = [place for place in places.values() if not place.always]
    single = [place.text for place in others if place.cases == 1]
    return [
        *[f"Its {listed(first)} {are} within 1 % of the lowest."] * bool(first),
        *[f"Its {listed(single)}."] * bool(single),
        *(f"Its {place.text}." for place in others if place.cases > 1),
    ]


def _waiting(parts_s: Sequence[Floats]) -> list[str]:
    waits = [float(part[0] / part.sum()) for part in parts_s if part.sum() > 0]
    text = f"Waiting makes {_span(waits)} of the mean JCT." if any(waits) else "No job waits."
    return [text] * bool(waits)


def _preemptions(groups: Sequence[Replicates]) -> str:
    stops = [comparable(BY_NAME["preemptions"], group).mean or 0.0 for group in groups]
    return f"Preemptions per run: {sum(stops) / len(stops):,.0f}." if any(stops) else "No job is preempted."


def _left_out(groups: Sequence[Replicates]) -> list[str]:
    """Return the reason that a policy is not compared, if any."""
    if any(group.partial for group in groups):
        return ["Not compared, as jobs are unfinished."]
    return ["Not compared, as seeds or jobs are missing."] * any(group.lacking for group in groups)


def how_sure(comparison: Comparison, contest: Contest, ranked: Sequence[Verdict]) -> str:
    """Return the certainty that the policy lowest in mean JCT is: rivals, and numbers of cases."""
    compared = [group for group in comparison.groups if not group.lacking] or comparison.groups
    counts = sorted({len(group.runs) for group in compared})
    if counts[-1] > 1 and all(group.samples == 1 for group in compared):
        return (
            "Not very: the seed changes nothing, so the runs of a row count as one, and differences below "
            "5 % may be chance. Repeat with other workloads before relying on it."
        )
    if counts[-1] < 2:
        runs = "each row is one run" if len(comparison.groups) > 1 else "it is one run"
        return (
            f"Unknown: {runs}, which does not say what is chance; differences below 5 % are not counted "
            "here. Repeat with several seeds before relying on it."
        )
    seeds = f"{counts[0]} seeds" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
    text = f"Not very: each row is the mean of only {seeds}. " * (counts[-1] < LEAST)
    clear = [verdict for verdict in ranked if not verdict.even]
    if comparison.has_choice and clear:
        return text + _settled(comparison, contest, clear, seeds)
    if comparison.has_choice and not ranked:
        return ""
    even = (
        f"No policy is ahead over {seeds}: mean JCTs are {_apart(ranked)}. " if comparison.has_choice else ""
    )
    return f"{text}{even}{_uncertainty(comparison, seeds)}".strip()


def _uncertainty(comparison: Comparison, seeds: str) -> str:
    """Return the widest 95 % interval of a mean JCT; empty where none has an interval."""
    numbers = [comparable(_MEAN, group) for group in comparison.groups]
    halves = [number.half / number.mean for number in numbers if number.mean and number.half is not None]
    if not halves:
        return ""
    of = "The mean JCT has a 95 % interval" if len(numbers) == 1 else "Mean JCTs have 95 % intervals"
    return f"{of} of {'up to ' * (len(numbers) > 1)}\u00b1 {per_cent(max(halves))} over {seeds}."


def _settled(comparison: Comparison, contest: Contest, clear: Sequence[Verdict], seeds: str) -> str:
    """Return that the leaders came first, and how far ahead, or the policies against which that is open."""
    names, of = contest.contenders, len(contest.scenarios)
    groups = comparison.groups
    rest = {
        (verdict, row): ratio_of(groups[row], groups[verdict.best])
        for verdict in clear
        for row in _rest(verdict)
    }
    rivals = [(verdict, row) for verdict in clear for row in _rivals(verdict, comparison)]
    if not rivals:
        leaders = {listed(few([names[row] for row in _leaders(verdict)])) for verdict in clear}
        where = at_scenarios([verdict.scenario for verdict in clear], of)
        first = leaders.pop() if len(leaders) == 1 else "the policy with the lowest mean JCT"
        (_, row), least = min(rest.items(), key=lambda pair: pair[1].low or 0.0)
        closest = ", the closest," * (len(rest) > 1)
        ahead = " in every seed"
        if least.low is not None:
            ahead = (
                f"; seed by seed, the mean JCT under {names[row]}{closest} is {times_as_long(least, seeds)}"
            )
        return f"Sure: {where + ', ' * bool(where) + first} came first{ahead}."
    against = []
    for name in dict.fromkeys(names[row] for _, row in rivals):
        at = [rest[pair] for pair in rivals if names[pair[1]] == name]
        least = min(at, key=lambda ratio: ratio.low or 0.0)
        far = "is not longer in every seed" if least.low is None else f"is {times_as_long(least, seeds)}"
        against.append(f"the mean JCT under {name} {far}{in_cases(len(at), of)}")
    return f"Not sure: seed by seed, {'; '.join(few(against))}."


def _choice(
    name: str, cases: Sequence[Verdict], comparison: Comparison, growing: Collection[int], doubtful: bool
) -> str:
    """Return the advice to take a policy, perhaps or not for good, and that it knows run times if it does."""
    knowing = all(comparison.groups[case.best].knows_run_times for case in cases) and " or " not in name
    knows = " (it knows run times in advance)" * knowing
    if any(case.best in growing for case in cases):
        return f"none is safe, but in runs as long as these take {name}{knows}"
    return f"{'perhaps' if doubtful else 'choose'} {name}{knows}"


def _lead(choice: str, cases: Sequence[Verdict], contest: Contest, growing: Collection[int]) -> str:
    """Return the choice in some cases, and the distances of the others from the lowest."""
    of = len(contest.scenarios)
    first = cases[0]
    rest: dict[str, list[tuple[Verdict, int]]] = {}
    for case in cases:
        for row in _rest(case):
            rest.setdefault(contest.contenders[row], []).append((case, row))
    where = at_scenarios([case.scenario for case in cases], of)
    where += ", " * bool(where)
    if len(cases) > 1:
        alike = ", or one within 1 % of it," * any(len(case.level) > 1 for case in cases)
        every = in_cases(len(cases), len(cases))
        text = f"{where}{choice}: the lowest mean JCT{alike}{every}"
    else:
        lowest = mean_jct(first.of(first.best).mean or 0.0, first.best in growing)
        text = f"{where}{choice}: the lowest mean JCT, {lowest}"
    ranked = sorted(rest.items(), key=lambda pair: max(verdict.above(row) for verdict, row in pair[1]))
    distances = []
    for other, at in ranked:
        parts = [verdict.above(row) for verdict, row in at]
        parts += [0.0] * (len(cases) - len(at))
        lowest = mean_jct(at[0][0].of(at[0][1]).mean or 0.0, at[0][1] in growing) if len(cases) == 1 else ""
        distances.append(f"{longer(parts)} under {other}{f' ({lowest})' * bool(lowest)}")
    if len(distances) > _MAX_DISTANCES:
        between = len(distances) - 3
        last = f"{distances[-1]}, with {between} other{'s' * (between > 1)} between"
        distances = [*distances[:2], last]
    return f"{text}; it is {listed(distances)}" if distances else text


def _rest(verdict: Verdict) -> list[int]:
    """Return the rows that are not level with the lowest."""
    return [
        row for row in verdict.scenario.rows if row not in verdict.level and verdict.of(row).mean is not None
    ]


def _leaders(verdict: Verdict) -> list[int]:
    return [verdict.best, *(row for row in verdict.level if row != verdict.best)]


@dataclass(frozen=True, slots=True)
class _Place:
    """Distance of a policy from the lowest by a metric.

    Attributes
    ----------
    cases
        Number of scenarios.
    always
        Whether it is lowest, or level with the lowest, in all of them.
    """

    cases: int
    always: bool
    text: str


def _place(title: str, ranked: Sequence[Verdict], rows: Sequence[int]) -> _Place | None:
    """Return a policy's distance from the lowest in its scenarios; None if unknown."""
    cases = [(verdict, row) for verdict in ranked for row in rows if row in verdict.scenario.rows]
    cases = [(verdict, row) for verdict, row in cases if verdict.of(row).mean is not None]
    if not cases:
        return None
    best = sum(row in verdict.level for verdict, row in cases)
    far = [verdict.above(row) for verdict, row in cases]
    worst, row = cases[far.index(max(far))]
    mean, least = (duration(worst.of(at).mean or 0.0) for at in (row, worst.best))
    text = f"{title} is {mean} (the lowest: {least})"
    if len(cases) > 1:
        near = f"within 1 % of the lowest{in_cases(best, len(cases))}" if best else "never the lowest"
        where = with_settings(worst.scenario.name.split(", "))
        text = f"{title} is {near}; the largest gap is {mean} against {least}, {where}"
    return _Place(len(cases), best == len(cases), text)


def _span(parts: Sequence[float]) -> str:
    least, most = per_cent(min(parts)), per_cent(max(parts))
    return least if least == most else f"{least.removesuffix(' %')} to {most}"


def _rivals(verdict: Verdict, comparison: Comparison) -> list[int]:
    """Return the rows that the lowest is not clearly below, those that are level with it left out.

    With three seeds it is if the interval of their ratio is above 1. With two if both agree; with one from
    5 % on, and where the seed changes nothing.
    """
    rivals = []
    for row in _rest(verdict):
        pair = comparison.groups[row], comparison.groups[verdict.best]
        times, low = ratios(*pair), ratio_of(*pair).low
        if low is None:
            low = min(times, default=0.0) - SMALL * (len(times) == 1)
        rivals += [row] * (low <= 1)
    return rivals
