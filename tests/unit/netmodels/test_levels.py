"""From shapes to levels: averages of members, shares of ports, and the gates of irregular placements."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netmodels.api import Dimension, Fabric, shape_of
from netmodels.collectives.dimensions import Gate, views_of

SLOT, MACHINE, RACK, CORE = (
    Dimension("ring", ns, 1.0, size) for ns, size in ((1, 4), (2, 0), (3, 0), (4, 0))
)
FLAT = Fabric("flat", (MACHINE,), (RACK,), (CORE,))
SLOTS = Fabric("slots", (SLOT, MACHINE), (RACK,), (CORE,))


def placed(*racks):
    """Return the shape of a placement; a rack is the list of its machines' GPUs."""
    return shape_of((rack, "a", gpus) for rack, machines in enumerate(racks) for gpus in machines)


def members(fabric, *racks):
    """Return (tier, members) of the levels of a placement of one machine type."""
    (view,) = views_of(placed(*racks), fabric)
    return [(level.tier, level.members) for level in view.levels]


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
    """GPUs per machine, machines per rack, racks; levels of one member are left out; no gates."""
    assert members(FLAT, *racks) == expected
    assert views_of(placed(*racks), FLAT)[0].gates == ()


def test_irregular_shapes_are_averaged():
    """5 + 3 GPUs: 8 / 2 machines = 4. 2 + 3: 5 / 2. Racks of 2 and 1 machines: 3 / 2 machines a rack."""
    assert members(FLAT, [5, 3]) == [("machine", 4), ("rack", 2)]
    assert members(FLAT, [2, 3]) == [("machine", 5 / 2), ("rack", 2)]
    assert members(FLAT, [8, 8], [4]) == [
        ("machine", 20 / 3),
        ("rack", 3 / 2),
        ("network", 2),
    ]


def test_inner_dimensions_are_filled_first():
    """Slots of 4: 8 GPUs are 4 x 2, 3 are one slot, 6 are two slots of 3 in the mean."""
    assert members(SLOTS, [8]) == [("machine", 4), ("machine", 2)]
    assert members(SLOTS, [3]) == [("machine", 3)]
    assert members(SLOTS, [6]) == [("machine", 3), ("machine", 2)]
    assert members(SLOTS, [6, 2]) == [("machine", 8 / 3), ("machine", 3 / 2), ("rack", 2)]


def test_machines_and_racks_of_irregular_shapes_are_gates():
    """5 + 3 over ports of 1 byte/ns: gates of 5 and 3. 8+8 | 4: machines of 8 and 4, racks of 16 and 4."""
    (view,) = views_of(placed([5, 3]), FLAT)
    assert set(view.gates) == {Gate(5, 5.0), Gate(3, 3.0)}
    (view,) = views_of(placed([8, 8], [4]), FLAT)
    assert set(view.gates) == {Gate(8, 8.0), Gate(4, 4.0), Gate(16, 16.0)}
    assert view.gpus == 20


def test_a_gate_is_as_wide_as_its_shared_port():
    """Ports of 10 a machine and uplinks of 12 a rack: 8 GPUs at 16 send 10; racks 12 and 10."""
    rack = Dimension("switch", 1, 16.0, machine_bytes_per_ns=10.0)
    core = Dimension("switch", 1, 16.0, machine_bytes_per_ns=10.0, rack_bytes_per_ns=12.0)
    (view,) = views_of(placed([8, 8], [8]), Fabric("shared", (MACHINE,), (rack,), (core,)))
    assert {(gate.gpus, round(gate.bytes_per_ns, 9)) for gate in view.gates} == {(8, 10.0), (16, 12.0)}


def test_machines_of_another_type_see_their_own_dimensions():
    """Type b sits on a slower rack dimension: one view with it, one with the usual; same members."""
    slow = Dimension("ring", 9, 0.5)
    fabric = Fabric(
        "two", (MACHINE,), (RACK,), (CORE,), by_machine_type={"b": ((MACHINE,), (slow,), (CORE,))}
    )
    views = views_of(shape_of([(0, "a", 2), (0, "b", 4)]), fabric)
    assert [[(level.dimension, level.members) for level in view.levels] for view in views] == [
        [(MACHINE, 3), (RACK, 2)],
        [(MACHINE, 3), (slow, 2)],
    ]
    assert len(views_of(shape_of([(0, "a", 2), (0, "c", 4)]), fabric)) == 1  # a and c see the same


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
    shares = {level.tier: level.dimension.bandwidth_bytes_per_ns for level in view.levels}
    assert (shares["rack"], shares["network"]) == (rack_share, core_share)


@given(st.lists(st.lists(st.integers(1, 8), min_size=1, max_size=4), min_size=1, max_size=4))
def test_members_multiply_to_the_gpus(racks):
    """No GPU is lost or made by averaging, on flat machines and on slots."""
    for fabric in (FLAT, SLOTS):
        assert prod(count for _, count in members(fabric, *racks)) == pytest.approx(
            sum(map(sum, racks)), rel=1e-12
        )
