"""Machines by number of free GPUs, so that selecting one does not scan all.

A set of machines is an integer with one bit per machine: machine 0 is the lowest bit. Sets of a thousand
machines are united, intersected and searched for their first member in well under a microsecond.
"""

from collections.abc import Hashable, Iterable, Sequence
from functools import reduce
from operator import or_
from typing import TypeVar

ALL = -1  # every machine

K = TypeVar("K", bound=Hashable)


def first_of(machines: int) -> int:
    """Return the lowest machine of a set that is not empty."""
    return (machines & -machines).bit_length() - 1


def set_of(machines: Iterable[int]) -> int:
    """Return the set of some machines, each named once.

    >>> set_of([0, 2])
    5
    """
    return sum(1 << machine for machine in machines)


def sets_by(keys: Iterable[K]) -> dict[K, int]:
    """Return the machines by their key, as sets, in order of first appearance.

    >>> sets_by(["a", "b", "a"])
    {'a': 5, 'b': 2}
    """
    sets: dict[K, int] = {}
    for machine, key in enumerate(keys):
        sets[key] = sets.get(key, 0) | 1 << machine
    return sets


def members_of(machines: int) -> list[int]:
    """Return the machines of a set, lowest first."""
    members = []
    while machines:
        lowest = machines & -machines
        members.append(lowest.bit_length() - 1)
        machines ^= lowest
    return members


class Buckets:
    """Sets of machines by free GPUs, and free GPUs by rack; of the machines that take new work.

    Attributes
    ----------
    sets
        The machines with 0, 1, 2, ... free GPUs.
    in_rack
        Free GPUs by rack.
    """

    __slots__ = ("_rack", "in_rack", "sets")

    def __init__(self, sets: list[int], in_rack: list[int], rack: Sequence[int]) -> None:
        self.sets = sets
        self.in_rack = in_rack
        self._rack = rack

    @classmethod
    def of(
        cls, gpus: Sequence[int], accepts: Sequence[bool | int], rack: Sequence[int], max_gpus: int
    ) -> "Buckets":
        """Return the buckets of machines with `gpus` free; no machine has more than `max_gpus`."""
        buckets = cls([0] * (max_gpus + 1), [0] * (max(rack, default=0) + 1), rack)
        for machine, count in enumerate(gpus):
            if accepts[machine]:
                buckets.add(machine, count)
        return buckets

    def part(self, among: int, gpus: Sequence[int], rack: Sequence[int], max_gpus: int) -> "Buckets":
        """Return the buckets of successive machines, numbered from 0, which take new work; others as `of`."""
        first, in_rack = first_of(among), [0] * (max(rack) + 1)
        for count, at in zip(gpus, rack, strict=True):
            in_rack[at] += count
        return Buckets([(machines & among) >> first for machines in self.sets[: max_gpus + 1]], in_rack, rack)

    def copy(self) -> "Buckets":
        """Return an independent copy."""
        return Buckets(self.sets[:], self.in_rack[:], self._rack)

    def in_units(self, unit: int, in_rack: list[int]) -> "Buckets":
        """Return the machines by units of `unit` free GPUs; `in_rack` are the units by rack."""
        parts = (self.sets[first : first + unit] for first in range(0, len(self.sets), unit))
        return Buckets([reduce(or_, sets) for sets in parts], in_rack, self._rack)

    def add(self, machine: int, gpus: int) -> None:
        """Add a machine that takes new work."""
        self.sets[gpus] |= 1 << machine
        self.in_rack[self._rack[machine]] += gpus

    def remove(self, machine: int, gpus: int) -> None:
        """Remove a machine that takes no new work."""
        self.sets[gpus] ^= 1 << machine
        self.in_rack[self._rack[machine]] -= gpus

    def move(self, machine: int, before: int, after: int) -> None:
        """Update the sets after the free GPUs of a machine changed."""
        bit = 1 << machine
        self.sets[before] ^= bit
        self.sets[after] |= bit
        self.in_rack[self._rack[machine]] += after - before

    def best_fit(self, need: int, among: int = ALL) -> int | None:
        """Return the machine with the fewest free GPUs that are enough, the lowest of equals, or None."""
        for machines in self.sets[need:]:
            candidates = machines & among
            if candidates:
                return first_of(candidates)
        return None

    def max_free(self, among: int = ALL) -> int:
        """Return the free GPUs of the emptiest machine."""
        sets = self.sets
        return next((count for count in range(len(sets) - 1, 0, -1) if sets[count] & among), 0)

    def total(self, among: int = ALL) -> int:
        """Return the free GPUs of a set of machines."""
        if among == ALL:
            return sum(self.in_rack)
        return sum(count * (machines & among).bit_count() for count, machines in enumerate(self.sets))

    def fewest(self, need: int, among: int = ALL) -> dict[int, int] | None:
        """Return GPUs by machine on as few machines as possible, None if there are too few GPUs.

        The emptiest machines first, the best fit for the rest last.
        """
        taken: dict[int, int] = {}
        for count in range(len(self.sets) - 1, 0, -1):
            machines = self.sets[count] & among
            while machines and need > count:
                lowest = machines & -machines
                machines ^= lowest
                taken[lowest.bit_length() - 1] = count
                need -= count
            if machines:
                tighter = (common for free in self.sets[need:count] if (common := free & among))
                taken[first_of(next(tighter, machines))] = need
                return taken
        return None
