"""Which rows share a panel, how each is drawn there, and what the legend says. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from artist.results.compare import Replicates
from artist.results.looks import group_texts, looks, marked_look, point_looks, points
from artist.results.scenarios import Contest

MOST_PANELS = 12
MOST_GROUPS = 20  # more lines than this in one panel cannot be told apart
MOST_LINES = 6  # in each of several panels


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
    if 1 < len(sets) <= MOST_PANELS and 1 < len(names) <= MOST_LINES:
        numbers = [names.index(contest.contenders[row]) for row in range(len(groups))]
        lines, dots = tuple(map(marked_look, numbers)), tuple(map(points, numbers))
        return Facets(sets, lines, dots, tuple(names), tuple(map(numbers.index, range(len(names)))))
    everything = tuple(range(len(groups)))
    lines, dots = tuple(looks(groups)), tuple(point_looks(groups))
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


def scenario_rows(n_rows: int, contest: Contest) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return name and rows of each scenario, of the first rows of a comparison."""
    sets = [(each.name, tuple(row for row in each.rows if row < n_rows)) for each in contest.scenarios]
    return tuple((name, rows) for name, rows in sets if rows)


def most_drawn(contest: Contest) -> int:
    """Return how many rows can be drawn so that they can be told apart."""
    few = 1 < len(contest.scenarios) <= MOST_PANELS and 1 < len(set(contest.contenders)) <= MOST_LINES
    return MOST_PANELS * MOST_LINES if few else MOST_GROUPS
