"""Constellations: jobs and their shared links, with any numbers of machines and in any order.

Packets that are due in the same ns go job by job, so with equal times an answer depends on the order of the
jobs, in ns-3 as here. Jobs that differ are ordered by content; equal ones differ by the places where they
meet others. Colour refinement separates them: a place has the colours of its jobs, a job those of its places,
again and again until no more jobs differ. Of several that are left, which nearly always could change places,
the first in the question gets a colour of its own.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from netmodels.fabric.links import Link


class Names:
    """Numbers of machines and racks by first occurrence."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[bool, int], int] = {}

    def of(self, tier: str, place: int) -> int:
        """Return the number of a place."""
        return self._numbers.setdefault((tier == "rack", place), len(self._numbers))

    def renamed(self, link: Link) -> Link:
        """Return a link with its place as a number."""
        return Link(link.tier, self.of(link.tier, link.place), link.way, link.path)

    def back(self, links: Iterable[Link]) -> tuple[Link, ...]:
        """Return links with numbers as the links with these places."""
        places = [place for _, place in self._numbers]
        return tuple([Link(tier, places[number], way, path) for tier, number, way, path in links])


def order_of(contents: Sequence[Any], places: Sequence[Sequence[Hashable]]) -> list[int]:
    """Return the numbers of jobs in order.

    Parameters
    ----------
    contents
        Content of each job; of one type that has an order.
    places
        Places where each sends, in the order of its links.
    """
    colours = _refined(_ranks(contents), places)
    while len(set(colours)) < len(colours):
        chosen = min(range(len(colours)), key=lambda job: (-colours.count(colours[job]), colours[job], job))
        colours = _refined(_ranks([(colour, job != chosen) for job, colour in enumerate(colours)]), places)
    return sorted(range(len(colours)), key=colours.__getitem__)


def _refined(colours: list[int], places: Sequence[Sequence[Hashable]]) -> list[int]:
    """Return the colours of jobs, separated by the jobs that they meet at each place."""
    while True:
        met: dict[Hashable, list[tuple[int, int]]] = {}
        for colour, of_job in zip(colours, places, strict=True):
            for number, place in enumerate(of_job):
                met.setdefault(place, []).append((colour, number))
        for pairs in met.values():
            pairs.sort()
        seen = [
            (colour, [met[place] for place in of_job]) for colour, of_job in zip(colours, places, strict=True)
        ]
        finer = _ranks(seen)
        if finer == colours:
            return colours
        colours = finer


def _ranks(values: Sequence[Any]) -> list[int]:
    """Return the rank of each value among the different ones."""
    ordered = sorted(values)
    return [ordered.index(value) for value in values]
