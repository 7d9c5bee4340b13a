"""From a shape to the network dimensions that it uses, and how many members each has."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from netmodels.fabric import Dimension, Fabric
from netmodels.shape import Shape, Tier


@dataclass(frozen=True, slots=True)
class Level:
    """One dimension of the fabric as a placement uses it.

    Parameters
    ----------
    tier
        The tier that the dimension belongs to.
    dimension
        Latency, bandwidth and kind.
    members
        Members of one group, more than 1; a fraction where groups differ in size.
    """

    tier: Tier
    dimension: Dimension
    members: int | Fraction


def levels_of(shape: Shape, fabric: Fabric) -> tuple[Level, ...]:
    """Return the levels of a shape, innermost first; levels of one member are left out.

    The dimensions of a tier are filled innermost first: a machine with 6 GPUs on dimensions of size 4 and 2
    makes two groups at the first and one at the second. The members of a level are the groups below it
    divided by its own groups, so the members of all levels multiply to the number of GPUs, exactly. For a
    regular shape (all groups of a level alike) that is a whole number, else the average.

    Parameters
    ----------
    shape
        The placement.
    fabric
        The network.
    """
    machines = [count for rack in shape for _, count in rack]
    racks = [len(rack) for rack in shape]
    units = {"machine": machines, "rack": racks, "network": [len(shape)]}
    levels: list[Level] = []
    for tier, dimensions in fabric.tiers():
        levels += _fill(tier, dimensions, units[tier])
    return tuple(levels)


def _fill(tier: Tier, dimensions: Sequence[Dimension], units: Sequence[int]) -> list[Level]:
    """Fill the dimensions of one tier; `units` is how many members each instance of the tier holds."""
    levels: list[Level] = []
    last = len(dimensions) - 1
    for place, dimension in enumerate(dimensions):
        below = sum(units)
        units = [1 if place == last else -(-count // dimension.size) for count in units]
        members = Fraction(below, max(1, sum(units)))
        if members > 1:
            whole = members.denominator == 1
            levels.append(Level(tier, dimension, members.numerator if whole else members))
    return levels
