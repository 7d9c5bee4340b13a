"""Assignment of rows to panels, with their styles and the legend. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from artist.drawing.looks import looks, marked_look, point_looks, points
from artist.report.figures.drawing import group_texts
from artist.results.compare import Replicates
from artist.results.digest import Digest
from artist.results.scenarios import Contest, scenario_rows

MAX_PANELS = 12
_MAX_GROUPS = 20  # more lines than this in one panel are indistinguishable
_MAX_LINES = 6  # in each of several panels
_MAX_PICTURES = 6


@dataclass(frozen=True, slots=True)
class Facets:
    """Panels of a figure.

    Attributes
    ----------
    sets
        Title and rows of each panel.
    looks, points
        Of each row: of its lines, and of its lone points, in the same colour.
    texts, examples
        Entries of the legend, and a row that is drawn like each.
    """

    sets: tuple[tuple[str, tuple[int, ...]], ...]
    looks: tuple[dict[str, Any], ...]
    points: tuple[dict[str, Any], ...]
    texts: tuple[str, ...]
    examples: tuple[int, ...]


def facets(groups: Sequence[Replicates], contest: Contest) -> Facets:
    """Give each scenario a panel, with a look for each policy, if that makes few lines in few panels.

    Otherwise all rows share one panel.

    Parameters
    ----------
    groups
        The first rows of the comparison that the contest is of.
    """
    sets = scenario_rows(len(groups), contest)
    names = list(dict.fromkeys(contest.contenders[: len(groups)]))
    if 1 < len(sets) <= MAX_PANELS and 1 < len(names) <= _MAX_LINES:
        numbers = [names.index(contest.contenders[row]) for row in range(len(groups))]
        lines, dots = tuple(map(marked_look, numbers)), tuple(map(points, numbers))
        return Facets(sets, lines, dots, tuple(names), tuple(map(numbers.index, range(len(names)))))
    everything = tuple(range(len(groups)))
    keys = [group.values for group in groups]
    lines, dots = tuple(looks(keys)), tuple(point_looks(keys))
    return Facets((("", everything),), lines, dots, tuple(group_texts(groups)), everything)


def only(layout: Facets, wanted: Sequence[bool]) -> Facets:
    """Leave out rows, and panels in which none is left; the legend stays that of the other figures.

    Parameters
    ----------
    wanted
        Of each row, whether it stays.
    """
    sets = [(name, tuple(row for row in rows if wanted[row])) for name, rows in layout.sets]
    return replace(layout, sets=tuple((name, rows) for name, rows in sets if rows))


def without_idle(layout: Facets, waits: Sequence[bool]) -> tuple[Facets, tuple[str, ...]]:
    """Leave out panels in which nothing is to be seen, and return their titles; not if that were all.

    Parameters
    ----------
    waits
        Of each row, whether there is something to be seen.
    """
    kept = tuple((name, rows) for name, rows in layout.sets if any(waits[row] for row in rows))
    if not kept:
        return layout, ()
    return replace(layout, sets=kept), tuple(name for name, rows in layout.sets if (name, rows) not in kept)


def chosen(
    digests: Sequence[Digest], contest: Contest, wanted: Callable[[Digest], bool] = lambda digest: True
) -> list[int]:
    """Return the rows that get a picture: those of the scenario in which jobs wait longest.

    Parameters
    ----------
    wanted
        Whether a row can have one; at least one can.
    """

    def waiting_s(rows: Sequence[int]) -> float:
        return max(float(np.nan_to_num(digests[row].parts_s[0])) for row in rows)

    sets = [[row for row in rows if wanted(digests[row])] for _, rows in scenario_rows(len(digests), contest)]
    return max(filter(None, sets), key=waiting_s)[:_MAX_PICTURES]


def max_drawn(contest: Contest) -> int:
    """Return the number of rows that can be drawn distinguishably."""
    few = 1 < len(contest.scenarios) <= MAX_PANELS and 1 < len(set(contest.contenders)) <= _MAX_LINES
    return MAX_PANELS * _MAX_LINES if few else _MAX_GROUPS
