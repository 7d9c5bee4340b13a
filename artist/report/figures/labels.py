"""Names of a comparison's rows in titles, legends and keys."""

from collections.abc import Sequence

from artist.results.compare import Replicates
from artist.tables.grid import clip

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
