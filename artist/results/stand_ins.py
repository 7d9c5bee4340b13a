"""Answers of the network in place of its program's: carried over, or a fallback's. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from artist.results.measures import STAND_INS, Metric

CARRIED = (
    "the network model has no answer for the placement itself: carried over from others, such as the "
    "nearest; network.system.across_machines=hierarchical asks ASTRA-sim about even placements themselves, "
    "network.model.ns3_binary its ns-3 about the others"
)
FALLBACK = "the network's program gave no answer: the analytical model's"
_WHY = dict(zip(STAND_INS, (CARRIED, FALLBACK), strict=True))


def stand_ins(summaries: Sequence[Mapping[str, Any]]) -> list[Metric]:
    """Return the columns that count them; none if the program answered every question of these runs."""
    return [metric for metric in STAND_INS if any(metric.of(summary) for summary in summaries)]


def stand_in_notes(summaries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return notes, for below a table of these runs, on these columns."""
    return [
        f"{' '.join(metric.title)}: {_WHY[metric]} (of the pairs of model and placement that came up)"
        for metric in stand_ins(summaries)
    ]
