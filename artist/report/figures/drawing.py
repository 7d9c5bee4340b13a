"""A figure that can be drawn at any width, and texts that several captions, titles and legends share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from artist.results.compare import Replicates
from artist.results.digest import Digest
from artist.results.scenarios import Contest
from artist.tables.grid import clip

_POOLED = " Runs of all seeds are pooled."
_FIRST = " Of several seeds, the lowest is shown."
UNRECORDED = " Only runs made with output.resources=true are drawn."
AVERAGED = " Each point is a mean over a short span of time"
TIER_NAMES = ("in a machine", "in a rack", "over the network")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure that can be drawn at any width, in inches."""

    name: str
    title: str
    caption: str
    draw: Callable[[float], "Figure"]


def pooled(digests: Sequence[Digest]) -> str:
    """Return the caption's sentence on replicates that are drawn as one."""
    return _POOLED * several(digests)


def first(digests: Sequence[Digest]) -> str:
    """Return the caption's sentence where only one of the replicates is drawn."""
    return _FIRST * several(digests)


def several(digests: Sequence[Digest]) -> bool:
    """Return whether some row has replicates."""
    return any(len(digest.group.runs) > 1 for digest in digests)


def without_panel(titles: Sequence[str], what: str) -> str:
    """Return the caption's sentence on panels that are left out."""
    return f" Without a panel, as {what}: {', '.join(titles)}." if titles else ""


def of_scenario(rows: Sequence[int], contest: Contest) -> str:
    """Return the caption's sentence on the scenario of the rows, if there are several scenarios."""
    name = contest.scenario_of(rows[0]).name if len(contest.scenarios) > 1 else ""
    return f" Shown: {name}, where jobs wait longest." if name else ""


_TITLE_CHARS = 44  # the width of a panel


def title(group: Replicates) -> str:
    """Return the title of a group's panel: its label, or its letter with the label's first word."""
    return clip(f"{group.letter}: {group.shown[0]}" if group.letter else group.label, _TITLE_CHARS)


def group_texts(groups: Sequence[Replicates]) -> list[str]:
    """Return the legend's text for each group."""
    return [group.name for group in groups]


def key_texts(groups: Sequence[Replicates]) -> list[str]:
    """Return the key to letters; empty if the groups need none."""
    return group_texts(groups) if any(group.letter for group in groups) else []
