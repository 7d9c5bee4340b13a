"""Findings on who gains and who pays by a change. Pure."""

from collections.abc import Sequence
from itertools import groupby

from artist.report.words.wording import MAX_ROWS, duration
from artist.results.gains import Gain
from artist.results.names import listed
from artist.results.scenarios import Contest

_MAX_GROUPS = 2  # named in a sentence


def who_pays(gains: Sequence[Gain], contest: Contest) -> str:
    """Return the groups that gain and pay most, row by row; empty if there are none to compare.

    Parameters
    ----------
    gains
        Row by row, the group that pays most first.
    """
    rows = [list(of_row) for _, of_row in groupby(gains, key=lambda gain: gain.row)]
    shown, sentences = rows[:MAX_ROWS], list[str]()
    for before, of_row in zip([None, *shown], shown, strict=False):
        new = before is None or before[0].baseline != of_row[0].baseline
        against = f"Compared with {contest.contenders[of_row[0].baseline]}: with " if new else "With "
        sentences.append(f"{against}{contest.contenders[of_row[0].row]}, {_changes(of_row)}.")
    if len(rows) > MAX_ROWS:
        sentences.append(f"{len(rows) - MAX_ROWS} further rows are in the table.")
    return " ".join(sentences)


def _changes(gains: Sequence[Gain]) -> str:
    better, worse = [gain for gain in reversed(gains) if gain.gains], [gain for gain in gains if gain.pays]
    if not better and not worse:
        return "no group's mean wait changes by more than 1 %"
    return f"{_clause(better, 'less')}; {_clause(worse, 'longer')}"


def _clause(gains: Sequence[Gain], how: str) -> str:
    if not gains:
        return f"nobody waits {how}"
    ranked = sorted(gains, key=lambda gain: gain.by == "gpus")  # people first
    parts = [
        f"{gain.name} {'wait' if gain.by == 'gpus' else 'waits'} {duration(abs(gain.change_s))} {how}"
        for gain in ranked[:_MAX_GROUPS]
    ]
    rest = len(gains) - _MAX_GROUPS
    return listed(parts) + (f" (and {rest} other group{'s' * (rest > 1)})" if rest > 0 else "")
