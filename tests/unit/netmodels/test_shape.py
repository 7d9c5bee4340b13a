"""Shapes: placements without names."""

from netmodels.fabric.shape import gpus, shape_of, tier


def test_order_and_names_of_racks_and_machines_do_not_matter():
    """Two placements that differ only in names must share one cache entry."""
    one = shape_of([(0, "a", 4), (0, "a", 8), (7, "b", 2)])
    other = shape_of([(3, "b", 2), (1, "a", 8), (1, "a", 4)])
    assert one == other == ((("a", 4), ("a", 8)), (("b", 2),))


def test_machines_without_gpus_are_dropped():
    """A slice may hold CPUs only; the network does not see it: 0 + 2 GPUs is one machine."""
    assert shape_of([(0, "a", 0), (1, "a", 2)]) == ((("a", 2),),)


def test_gpus_and_tier():
    """The widest tier decides: 8 on one machine, 4 + 4 in a rack, 4 + 4 over two racks, nothing at all."""
    assert [(gpus(shape), tier(shape)) for shape in SHAPES] == [
        (8, "machine"),
        (8, "rack"),
        (8, "network"),
        (0, "machine"),
    ]


SHAPES = [
    shape_of([(0, "a", 8)]),
    shape_of([(0, "a", 4), (0, "a", 4)]),
    shape_of([(0, "a", 4), (1, "a", 4)]),
    shape_of([]),
]
