"""From shapes to dimensions and members."""

from fractions import Fraction
from math import prod

import pytest

from netmodels.api import Dimension, Fabric, shape_of
from netmodels.levels import levels_of

SLOT, MACHINE, RACK, CORE = (
    Dimension("ring", ns, 1.0, size) for ns, size in ((1, 4), (2, 0), (3, 0), (4, 0))
)
FLAT = Fabric("flat", (MACHINE,), (RACK,), (CORE,))
SLOTS = Fabric("slots", (SLOT, MACHINE), (RACK,), (CORE,))


def members(fabric, *racks):
    """Return (tier, members) of the levels of a placement; a rack is the list of its machines' GPUs."""
    shape = shape_of((rack, "a", gpus) for rack, machines in enumerate(racks) for gpus in machines)
    return [(level.tier, level.members) for level in levels_of(shape, fabric)]


@pytest.mark.parametrize(
    ("racks", "expected"),
    [
        ([[1]], []),
        ([[8]], [("machine", 8)]),
        ([[4, 4]], [("machine", 4), ("rack", 2)]),
        ([[4], [4]], [("machine", 4), ("network", 2)]),
        ([[1, 1], [1, 1]], [("rack", 2), ("network", 2)]),
        ([[8] * 8, [8] * 8], [("machine", 8), ("rack", 8), ("network", 2)]),
    ],
)
def test_regular_shapes(racks, expected):
    """GPUs per machine, machines per rack, racks; levels of one member are left out."""
    assert members(FLAT, *racks) == expected


def test_irregular_shapes_are_averaged():
    """5 + 3 GPUs: 8 / 2 machines = 4. 2 + 3: 5 / 2. Racks of 2 and 1 machines: 3 / 2 machines a rack."""
    assert members(FLAT, [5, 3]) == [("machine", 4), ("rack", 2)]
    assert members(FLAT, [2, 3]) == [("machine", Fraction(5, 2)), ("rack", 2)]
    assert members(FLAT, [2, 2], [2]) == [("machine", 2), ("rack", Fraction(3, 2)), ("network", 2)]


def test_inner_dimensions_are_filled_first():
    """Slots of 4: 8 GPUs are 4 x 2, 3 are one slot, 6 are two slots of 3 in the mean."""
    assert members(SLOTS, [8]) == [("machine", 4), ("machine", 2)]
    assert members(SLOTS, [3]) == [("machine", 3)]
    assert members(SLOTS, [6]) == [("machine", 3), ("machine", 2)]
    assert members(SLOTS, [6, 2]) == [("machine", Fraction(8, 3)), ("machine", Fraction(3, 2)), ("rack", 2)]


def test_members_multiply_to_the_gpus():
    """No GPU may be lost by averaging: 6 + 2 + 7 and 1 GPUs on slots are 16."""
    assert prod(count for _, count in members(SLOTS, [6, 2, 7], [1])) == 16
