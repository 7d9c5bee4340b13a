"""Which policy is best, by which metric and where, how each fared, and how sure that is. Pure."""

from collections.abc import Sequence

from artist.report.words.verdicts import MOST_CLAUSES, Verdict, at_scenarios, verdicts
from artist.report.words.wording import begun, duration, few, often, per_cent
from artist.results.compare import Comparison
from artist.results.digest import Digest
from artist.results.interval import LEAST
from artist.results.measures import BY_NAME, changes, comparable, difference, estimated
from artist.results.names import listed
from artist.results.scenarios import Contest

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
_TOLD = ("mean JCT", "95th percentile of JCT", "99th percentile of JCT", "makespan")
Lowest = tuple[tuple[str, ...], list[tuple[str, ...]]]  # headings, rows


def which(found: Sequence[Verdict], contest: Contest) -> str:
    """Return what has the lowest mean JCT, where, and by how much; equal outcomes said once."""
    clear = [each for each in found if not each.even]
    even = [each.scenario for each in found if each.even]
    leaders = list(dict.fromkeys(_leaders(each, contest) for each in clear))
    if len(leaders) > 1 and len(clear) > MOST_CLAUSES:
        clauses = [_counted(clear, contest)]
    else:
        clauses = [
            _lead(name, [each for each in clear if _leaders(each, contest) == name], len(found), contest)
            for name in leaders
        ]
    if even:
        clauses.append(f"{at_scenarios(even)}the policy hardly changes the mean JCT (by 1 % or 1 s at most)")
    return begun("; ".join(clauses)) + "."


def lowest_by(comparison: Comparison, contest: Contest) -> Lowest | None:
    """Return a table of what is lowest, or level with it, by scenario and metric; None if none competes."""
    found = {title: verdicts(comparison, contest, metric) for title, metric in _BY.items()}
    rows = []
    for scenario in contest.scenarios:
        own = [next((each for each in of if each.scenario is scenario), None) for of in found.values()]
        if any(own):
            cells = ["-" if each is None else _cell(each, contest) for each in own]
            rows.append((scenario.name or "all runs", *cells))
    return (("lowest by", *found), rows) if rows else None


def each_policy(comparison: Comparison, contest: Contest, digests: Sequence[Digest]) -> list[tuple[str, str]]:
    """Return a sentence on each policy: how far from the lowest it is by each metric, and how much waits."""
    found = {title: verdicts(comparison, contest, metric) for title, metric in _BY.items() if title in _TOLD}
    said = []
    for name in dict.fromkeys(contest.contenders):
        rows = [row for row, other in enumerate(contest.contenders) if other == name]
        standings = {title: _standing(title, of, rows) for title, of in found.items()}
        first = [title for title, text in standings.items() if text == ""]
        clauses = [f"lowest, or within 1 % of it, in {listed(first)}"] if first else []
        clauses += filter(None, standings.values())
        parts = [digests[row].parts_s for row in rows if row < len(digests)]
        if any(comparison.groups[row].partial for row in rows):
            clauses.append("unfinished jobs: not compared")
        waits = [part[0] / part.sum() for part in parts if part.sum() > 0]
        if waits:
            clauses.append(f"{_span(waits)} of the mean JCT is queueing")
        stops = [comparable(BY_NAME["preemptions"], comparison.groups[row]).mean or 0.0 for row in rows]
        clauses.append(f"preemptions a run: {sum(stops) / len(stops):,.0f}")
        said.append((name, "; ".join(clauses) + "."))
    return said


def how_sure(comparison: Comparison, contest: Contest, found: Sequence[Verdict]) -> str:
    """Return how sure it is that what is lowest in mean JCT is.

    A scenario is settled if the lowest is below each policy that is not level with it, seed by seed: the 95 %
    interval (Student's t) of the change excludes 0; with two seeds, which have no interval, both agree.
    """
    counts = sorted({len(group.runs) for group in comparison.groups})
    if counts[-1] < 2:
        return (
            "Not very: each row is one run with one seed, so a small difference may be chance, and other "
            "jobs may give another order. Repeat with several seeds before relying on it."
        )
    if not found and len(comparison.groups) > 1:
        return "No two rows may be compared."
    few_seeds = (
        f"Not very: fewer than {LEAST} seeds a row give no intervals, and a small difference may be chance. "
    )
    seeds = f"{counts[0]} seeds" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
    text = few_seeds if counts[-1] < LEAST else f"Rows are means over {seeds}. "
    clear = [each for each in found if not each.even]
    if not clear:
        return text.strip()
    how = "with 95 % confidence (Student's t, seed by seed)" if counts[0] >= LEAST else "at every seed"
    rivals = {row: each.scenario for each in clear for row in _rivals(each, comparison)}
    if not rivals:
        return f"{text}Where rows differ, the lowest mean JCT is below all others {how}."
    open_ = list(dict.fromkeys(rivals.values()))
    where = f" {at_scenarios(open_).removesuffix(': ')}" if len(open_) < len(clear) else ""
    names = listed(few(list(dict.fromkeys(contest.contenders[row] for row in rivals))))
    return f"{text}Not settled{where}: the lowest mean JCT is not below that of {names} {how}."


def _lead(name: str, cases: Sequence[Verdict], of: int, contest: Contest) -> str:
    """Return that these are lowest, and by how much: in one scenario in detail, in several as a span."""
    first = cases[0]
    where = at_scenarios([each.scenario for each in cases]) if len(cases) < of or of == 1 else ""
    text = f"{where}{name} {'have' if len(first.level) > 1 else 'has'} the lowest mean JCT"
    drops = [each.below for each in cases if each.below is not None and each.baseline not in each.level]
    baseline = contest.contenders[first.baseline]
    if len(cases) > 1:
        everywhere = "" if where else " in every scenario"
        return f"{text}{everywhere}" + (f", {_span(drops)} below {baseline}" if drops else "")
    text += f", {duration(first.of(first.best)[0] or 0.0)}"
    if drops:
        text += f", {per_cent(drops[0])} below {baseline} ({duration(first.of(first.baseline)[0] or 0.0)})"
    return text + _next(first, contest)


def _next(each: Verdict, contest: Contest) -> str:
    """Return what comes after the lowest and its equals, unless that was said."""
    means = zip(each.scenario.rows, each.estimates, strict=True)
    rest = [(mean, row) for row, (mean, *_) in means if row not in each.level and mean is not None]
    mean, row = min(rest, default=(0.0, each.baseline))
    above = difference(mean, each.of(each.best)[0])
    if above is None or row == each.baseline:
        return ""
    return f"; {contest.contenders[row]} is next, {per_cent(above)} above it"


def _leaders(each: Verdict, contest: Contest) -> str:
    rows = [each.best, *(row for row in each.level if row != each.best)]
    return listed(few([contest.contenders[row] for row in rows]))


def _cell(each: Verdict, contest: Contest) -> str:
    value = duration(each.of(each.best)[0] or 0.0)
    return f"{'all alike' if each.even else _leaders(each, contest)} ({value})"


def _standing(title: str, found: Sequence[Verdict], rows: Sequence[int]) -> str | None:
    """Return how far from the lowest a policy is in its scenarios; empty if it is lowest, None if unknown."""
    cases = [(each, row) for each in found for row in rows if row in each.scenario.rows]
    cases = [(each, row) for each, row in cases if each.of(row).mean is not None]
    best = sum(row in each.level for each, row in cases)
    if best == len(cases):
        return "" if cases else None
    far = [difference(each.of(row).mean, each.of(each.best).mean) or 0.0 for each, row in cases]
    worst, row = cases[far.index(max(far))]
    own, least = (worst.of(at).mean or 0.0 for at in (row, worst.best))
    text = f"{duration(own)} where the lowest is {duration(least)}"
    if len(cases) == 1:
        return f"{title} {text}"
    often = f"lowest in {best} of {len(cases)} scenarios" if best else "never lowest"
    return f"{title} {often}, at worst {text} ({worst.scenario.name})"


def _span(parts: Sequence[float]) -> str:
    least, most = per_cent(min(parts)), per_cent(max(parts))
    return least if least == most else f"{least.removesuffix(' %')} to {most}"


def _counted(clear: Sequence[Verdict], contest: Contest) -> str:
    names = [contest.contenders[row] for each in clear for row in each.level]
    text = often({name: names.count(name) for name in names}, len(clear), "scenarios that differ")
    widest = max(clear, key=lambda each: each.below or 0.0)
    if not widest.below:
        return text
    best, baseline = contest.contenders[widest.best], contest.contenders[widest.baseline]
    where = at_scenarios([widest.scenario]).removesuffix(": ")
    return f"{text}; the widest gap is {best} {per_cent(widest.below)} below {baseline}, {where}"


def _rivals(each: Verdict, comparison: Comparison) -> list[int]:
    """Return the rows that the lowest is not clearly below, those that are level with it left out."""
    rivals = []
    for row in each.scenario.rows:
        if row not in each.level and each.of(row).mean is not None:
            above = changes(_MEAN, comparison.groups[row], comparison.groups[each.best])
            low = estimated(above).low if len(above) >= LEAST else min(above, default=0.0)
            rivals += [row] * (low is None or low <= 0)
    return rivals
