"""What the best by mean costs the slowest jobs, in sentences. Pure."""

import math

from artist.report.words.verdicts import MOST_CLAUSES, Verdict, at_scenarios, verdicts
from artist.report.words.wording import begun, duration, per_cent
from artist.results.compare import Comparison
from artist.results.measures import BY_NAME, comparable, difference, is_level
from artist.results.scenarios import Contest

_TAILS = (("jct_p99_s", "the 99th percentile of JCT"), ("jct_max_s", "the longest JCT"))
_TRADE_OFF = 0.03  # a tail that is longer than another's by less is no price to speak of


def trade_offs(comparison: Comparison, contest: Contest) -> list[tuple[str, str]]:
    """Return what the best by mean costs the slowest jobs, where another policy is clearly kinder to them."""
    clauses = [
        clause
        for each in verdicts(comparison, contest, BY_NAME["jct_mean_s"])
        if len(each.level) < len(each.scenario.rows) and (clause := _trade_off(each, comparison, contest))
    ]
    if not clauses:
        return []
    worst = sorted(clauses, reverse=True)[:MOST_CLAUSES]
    text = "; ".join(clause[1] for clause in clauses if clause in worst)
    return [("Trade-off", begun(text) + ".")]


def _trade_off(each: Verdict, comparison: Comparison, contest: Contest) -> tuple[float, str] | None:
    """Return by how much the best is above the least in a tail, and the clause on it."""
    for name, words in _TAILS:
        tails = [comparable(BY_NAME[name], comparison.groups[row])[0] for row in each.scenario.rows]
        least, kinder = min((math.inf if tail is None else tail, i) for i, tail in enumerate(tails))
        own = tails[each.scenario.rows.index(each.best)]
        above = difference(own, least)
        if own is None or above is None or above <= _TRADE_OFF or is_level("time", own, least):
            continue
        best, other = (contest.contenders[row] for row in (each.best, each.scenario.rows[kinder]))
        text = f"{at_scenarios([each.scenario])}{words} is {duration(own)} under {best}"
        return above, f"{text}, {per_cent(above)} above that under {other} ({duration(least)})"
    return None
