"""Which rows share a panel, how each is drawn there, and what the legend says. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from artist.results.compare import Replicates
from artist.results.looks import group_texts, looks, marked_look
from artist.results.scenarios import Contest

_MOST_PANELS = 8
_MOST_LINES = 6  # in each of several panels


@dataclass(frozen=True, slots=True)
class Facets:
    """Panels of a figure.

    Attributes
    ----------
    sets
        Title and rows of each panel.
    looks
        Of each row.
    texts, examples
        Entries of the legend, and a row that is drawn like each.
    """

    sets: tuple[tuple[str, tuple[int, ...]], ...]
    looks: tuple[dict[str, Any], ...]
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
    if 1 < len(sets) <= _MOST_PANELS and 1 < len(names) <= _MOST_LINES:
        row_looks = [marked_look(names.index(contest.contenders[row])) for row in range(len(groups))]
        examples = [contest.contenders.index(name) for name in names]
        return Facets(sets, tuple(row_looks), tuple(names), tuple(examples))
    everything = tuple(range(len(groups)))
    return Facets((("", everything),), tuple(looks(groups)), tuple(group_texts(groups)), everything)


def scenario_rows(n_rows: int, contest: Contest) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return name and rows of each scenario, of the first rows of a comparison."""
    sets = [(each.name, tuple(row for row in each.rows if row < n_rows)) for each in contest.scenarios]
    return tuple((name, rows) for name, rows in sets if rows)
