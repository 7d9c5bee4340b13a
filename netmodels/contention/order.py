"""Jobs in an order that does not depend on who asks: by what they are, then by whom they meet where.

Packets that are due in the same ns go job by job, so with equal times an answer depends on the order of the
jobs, in ns-3 as here. Jobs that differ have an order of their own; equal ones differ by the places where they
meet others. Colour refinement tells them apart: a place has the colours of its jobs, a job those of its
places, again and again until no more jobs differ. Of several that are left, which nearly always could change
places, the first to be mentioned gets a colour of its own.
"""

from collections.abc import Hashable, Sequence
from typing import Any


def order_of(contents: Sequence[Any], places: Sequence[Sequence[Hashable]]) -> list[int]:
    """Return the numbers of jobs in order.

    Parameters
    ----------
    contents
        What each job is; of one type that has an order.
    places
        Where each sends, in the order of its links.
    """
    colours = _refined(_ranks(contents), places)
    while len(set(colours)) < len(colours):
        chosen = min(range(len(colours)), key=lambda job: (-colours.count(colours[job]), colours[job], job))
        colours = _refined(_ranks([(each, job != chosen) for job, each in enumerate(colours)]), places)
    return sorted(range(len(colours)), key=colours.__getitem__)


def _refined(colours: list[int], places: Sequence[Sequence[Hashable]]) -> list[int]:
    """Return the colours of jobs, told apart by those whom they meet at each place."""
    while True:
        met: dict[Hashable, list[tuple[int, int]]] = {}
        for colour, own in zip(colours, places, strict=True):
            for number, place in enumerate(own):
                met.setdefault(place, []).append((colour, number))
        for there in met.values():
            there.sort()
        seen = [(colour, [met[place] for place in own]) for colour, own in zip(colours, places, strict=True)]
        finer = _ranks(seen)
        if finer == colours:
            return colours
        colours = finer


def _ranks(values: Sequence[Any]) -> list[int]:
    """Return the place of each value among the different ones, sorted."""
    found = sorted(values)
    return [found.index(value) for value in values]
