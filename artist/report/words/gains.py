"""Findings on who gains and who pays by a change. Pure."""

from collections.abc import Sequence
from itertools import groupby

from artist.report.words.verdicts import at_scenarios
from artist.report.words.wording import MAX_ROWS, capital, duration
from artist.results.gains import Gain
from artist.results.names import listed
from artist.results.scenarios import Contest, Scenario


def who_pays(gains: Sequence[Gain], contest: Contest) -> str:
    """Return the groups that gain and pay most, row by row; empty if there are none to compare.

    Parameters
    ----------
    gains
        Row by row, the group that pays most first.
    """
    rows = [list(of_row) for _, of_row in groupby(gains, key=lambda gain: gain.row)]
    scenarios: dict[tuple[str, str, str], list[Scenario]] = {}
    for of_row in rows:
        names = (contest.contenders[of_row[0].baseline], contest.contenders[of_row[0].row])
        scenarios.setdefault((*names, _changes(of_row)), []).append(contest.scenario_of(of_row[0].row))
    sentences, before = list[str](), ""
    for (baseline, name, changes), at in list(scenarios.items())[:MAX_ROWS]:
        where = at_scenarios(at, len(contest.scenarios))
        under = f"{where}{', ' * bool(where)}under {name}, {changes}."
        sentences.append(capital(under) if baseline == before else f"Compared with {baseline}: {under}")
        before = baseline
    more = len(scenarios) - MAX_ROWS
    if more > 0:
        sentences.append(f"The table below has {more} more change{'s' * (more > 1)}.")
    return " ".join(sentences)


def _changes(gains: Sequence[Gain]) -> str:
    better, worse = [gain for gain in reversed(gains) if gain.gains], [gain for gain in gains if gain.pays]
    if not better and not worse:
        return "no group's mean wait changes by more than 1 %"
    return f"{_clause(better, 'less')}; {_clause(worse, 'longer')}"


def _clause(gains: Sequence[Gain], how: str) -> str:
    if not gains:
        return f"nobody waits {how}"
    first = {gain.by == "gpus": gain for gain in reversed(gains)}  # of people, and of sizes, that change most
    named = [first[by_size] for by_size in sorted(first)]
    parts = [
        f"{gain.name} {'wait' if gain.by == 'gpus' else 'waits'} {duration(abs(gain.change_s))} {how}"
        for gain in named
    ]
    rest = len(gains) - len(named)
    return listed(parts) + (
        f", and so do {rest} other groups" if rest > 1 else ", and so does 1 other group" * rest
    )
