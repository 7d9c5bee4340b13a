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
    sentences = [_sentence(of_row, contest) for of_row in rows[:MAX_ROWS]]
    if len(rows) > MAX_ROWS:
        sentences.append(f"{len(rows) - MAX_ROWS} further rows are in the table.")
    return " ".join(sentences)


def _sentence(gains: Sequence[Gain], contest: Contest) -> str:
    first = gains[0]
    head = f"With {contest.contenders[first.row]} instead of {contest.contenders[first.baseline]}"
    better, worse = [gain for gain in reversed(gains) if gain.gains], [gain for gain in gains if gain.pays]
    if not better and not worse:
        return f"{head}, no group's mean wait changes by more than 1 %."
    return f"{head}, {_clause(better, 'less')}; {_clause(worse, 'longer')}."


def _clause(gains: Sequence[Gain], how: str) -> str:
    if not gains:
        return f"nobody waits {how}"
    parts = [
        f"{gain.name} {'wait' if gain.by == 'gpus' else 'waits'} {duration(abs(gain.change_s))} {how}"
        for gain in gains[:_MAX_GROUPS]
    ]
    rest = len(gains) - _MAX_GROUPS
    return listed(parts) + (f" (and {rest} other group{'s' * (rest > 1)})" if rest > 0 else "")
