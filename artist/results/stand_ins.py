"""Answers of the network to be taken with care: carried over, a fallback's, above a port, of flows. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from artist.results.measures import STAND_INS, Metric

CARRIED = (
    "the network model has no answer for the placement itself: carried over from others, such as the "
    "nearest; network.system.across_machines=hierarchical asks ASTRA-sim about even placements themselves, "
    "network.model.ns3_binary its ns-3 about the others"
)
FALLBACK = "the network's program gave no answer: the analytical model's"
ABOVE_PORT = (
    "messages do not share their port, as in ASTRA-sim's congestion-unaware back end: a collective with "
    "collective_algorithm=direct, or chunks_in_flight above 1, is faster than the port that carries it"
)
NOT_IN_PACKETS = (
    "jobs that share links were to be followed packet by packet, but were priced at flow level, or by the "
    "mean field: packets beyond performance.contention_packets, collectives that are no flat rings of one "
    "chunk (such as NCCL's), plans of parallelism, or more than 8 jobs joined by links"
)
_WHY = dict(zip(STAND_INS, (CARRIED, FALLBACK, ABOVE_PORT, NOT_IN_PACKETS), strict=True))


def stand_ins(summaries: Sequence[Mapping[str, Any]]) -> list[Metric]:
    """Return the columns that count them; none if the program answered every question of these runs."""
    return [metric for metric in STAND_INS if any(metric.of(summary) for summary in summaries)]


def stand_in_notes(summaries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return notes, for below a table of these runs, on these columns."""
    notes = []
    for metric in stand_ins(summaries):
        counted = "answers" if _WHY[metric] is NOT_IN_PACKETS else "pairs of model and placement that came up"
        note = f"{' '.join(metric.title)}: {_WHY[metric]} (of the {counted})"
        bounds = [summary["above_port"] for summary in summaries if "above_port" in summary]
        if _WHY[metric] is ABOVE_PORT:
            worst = max(bounds, key=lambda bound: bound["least_s"] - bound["comm_s"])
            times = f"{1e3 * worst['comm_s']:.4g} ms, by the ports at least {1e3 * worst['least_s']:.4g} ms"
            note += f"; {worst['worst']} communicates for {times}"
        notes.append(note)
    return notes
