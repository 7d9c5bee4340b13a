"""From shapes to the regular slices that their GPUs see."""

from fractions import Fraction
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netmodels.api import Dimension, Fabric, shape_of
from netmodels.levels import views_of

SLOT, MACHINE, RACK, CORE = (
    Dimension("ring", ns, 1.0, size) for ns, size in ((1, 4), (2, 0), (3, 0), (4, 0))
)
FLAT = Fabric("flat", (MACHINE,), (RACK,), (CORE,))
SLOTS = Fabric("slots", (SLOT, MACHINE), (RACK,), (CORE,))
POD = Dimension("ring", 5, 1.0, 2)
PODS = Fabric("pods", (MACHINE,), (POD, RACK), (CORE,))


def placed(*racks):
    """Return the shape of a placement; a rack is the list of its machines' GPUs."""
    return shape_of((rack, "a", gpus) for rack, machines in enumerate(racks) for gpus in machines)


def members(fabric, *racks):
    """Return the views of a placement, as {(tier, members)...}."""
    views = views_of(placed(*racks), fabric)
    return [[(level.tier, level.members) for level in view] for view in views]


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
def test_regular_shapes_have_one_view(racks, expected):
    """GPUs per machine, machines per rack, racks; levels of one member are left out."""
    assert members(FLAT, *racks) == [expected]


def test_irregular_shapes_have_the_views_of_their_gpus():
    """5 + 3: as 5 + 5 and as 3 + 3. Racks 8 + 8 and 4: as 2 x 8 + 8 and as 2 x 4."""
    assert members(FLAT, [5, 3]) == [
        [("machine", 3), ("rack", 2)],
        [("machine", 5), ("rack", 2)],
    ]
    assert members(FLAT, [8, 8, 4]) == [[("machine", 4), ("rack", 3)], [("machine", 8), ("rack", 3)]]
    assert members(FLAT, [8, 8], [4]) == [
        [("machine", 4), ("network", 2)],
        [("machine", 8), ("rack", 2), ("network", 2)],
    ]


def test_only_what_is_there_is_seen():
    """Four machines of 8 in one rack, one GPU in another: nobody sees four machines of one GPU."""
    assert members(FLAT, [8] * 4, [1]) == [
        [("network", 2)],
        [("machine", 8), ("rack", 4), ("network", 2)],
    ]


def test_inner_dimensions_are_filled_first():
    """Slots of 4: 8 GPUs are 4 x 2, 3 are one slot, 6 are a slot of 4 and one of 2."""
    assert members(SLOTS, [8]) == [[("machine", 4), ("machine", 2)]]
    assert members(SLOTS, [3]) == [[("machine", 3)]]
    assert members(SLOTS, [6]) == [[("machine", 2), ("machine", 2)], [("machine", 4), ("machine", 2)]]
    # pods of 2 machines: three machines are a pod of 2 and one of 1
    assert members(PODS, [1, 1, 1]) == [[("rack", 2)], [("rack", 2), ("rack", 2)]]


def test_machines_of_another_type_see_their_own_dimensions():
    """Type b sits on a slower rack dimension; its view has it, that of type a has the usual one."""
    slow = Dimension("ring", 9, 0.5)
    fabric = Fabric(
        "two", (MACHINE,), (RACK,), (CORE,), by_machine_type={"b": ((MACHINE,), (slow,), (CORE,))}
    )
    views = views_of(shape_of([(0, "a", 2), (0, "b", 4)]), fabric)
    assert [[(level.dimension, level.members) for level in view] for view in views] == [
        [(MACHINE, 2), (RACK, 2)],
        [(MACHINE, 4), (slow, 2)],
    ]


@pytest.mark.parametrize(
    ("gpus", "machines", "racks", "rack_share", "core_share"),
    [
        (1, 2, 2, 10.0, 10.0),  # alone on its machine's port of 10; 2 on an uplink of 20
        (4, 2, 2, 2.5, 2.5),  # 10 / 4; 20 / 8
        (1, 4, 2, 10.0, 5.0),  # 10; 20 / 4
    ],
)
def test_shared_ports(gpus, machines, racks, rack_share, core_share):
    """A GPU gets the least of its own 16, its machine's 10 / GPUs there, its rack's 20 / GPUs there."""
    rack = Dimension("switch", 1, 16.0, machine_bytes_per_ns=10.0)
    core = Dimension("switch", 1, 16.0, machine_bytes_per_ns=10.0, rack_bytes_per_ns=20.0)
    fabric = Fabric("shared", (MACHINE,), (rack,), (core,))
    (view,) = views_of(placed(*[[gpus] * machines] * racks), fabric)
    shares = {level.tier: level.dimension.bandwidth_bytes_per_ns for level in view}
    assert (shares["rack"], shares["network"]) == (rack_share, core_share)


@given(st.lists(st.lists(st.integers(1, 8), min_size=1, max_size=4), min_size=1, max_size=4))
def test_the_gpus_lie_between_the_views(racks):
    """Over the GPUs of any tree, 1 / product of the path adds up to 1: some see fewer, some more."""
    products = [prod(count for _, count in view) for view in members(FLAT, *racks)]
    assert min(products) <= sum(map(sum, racks)) <= max(products)
    by_gpu = [gpus * Fraction(1, gpus * len(rack) * len(racks)) for rack in racks for gpus in rack]
    assert sum(by_gpu) == 1
