"""The shape of a placement: the placement without names, as the network sees it.

GPUs of one machine are interchangeable, so are machines of one type in one rack, and racks. Placements of
equal shape therefore cost the same, which makes the shape the key of every cache of answers.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

Shape = tuple[tuple[tuple[str, int], ...], ...]
"""Racks, sorted; each a sorted tuple of (machine type, GPUs), one entry per machine."""

Tier = Literal["machine", "rack", "network"]
TIERS: tuple[Tier, ...] = ("machine", "rack", "network")


def shape_of(slices: Iterable[tuple[int, str, int]]) -> Shape:
    """Return the shape of a placement.

    Parameters
    ----------
    slices
        One (rack, machine type, GPUs) per machine, in any order. Machines that give no GPU are dropped.
    """
    racks: dict[int, list[tuple[str, int]]] = {}
    for rack, machine_type, gpus_here in slices:
        if gpus_here > 0:
            racks.setdefault(rack, []).append(_machine(machine_type, gpus_here))
    return tuple(sorted(_rack(tuple(sorted(machines))) for machines in racks.values()))


@lru_cache(maxsize=4096)
def _machine(name: str, gpus_here: int) -> tuple[str, int]:
    """Return the one pair of a machine type and a number of GPUs: the many shapes share it."""
    return name, gpus_here


@lru_cache(maxsize=65_536)
def _rack(machines: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    """Return the one rack of such machines, likewise."""
    return machines


def gpus(shape: Shape) -> int:
    """Count the GPUs of a shape."""
    return sum(count for rack in shape for _, count in rack)


def tier(shape: Shape) -> Tier:
    """Return the widest tier that a shape crosses; the empty shape stays in a machine."""
    if len(shape) > 1:
        return "network"
    return "rack" if shape and len(shape[0]) > 1 else "machine"
