"""Placements in words, there and back, and those that stand for the tiers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artist.data import data_path
from artist.errors import InputError
from artist.pricing.placements import parse_shape, show_shape, tier_shapes
from netmodels.api import load_topology, shape_of
from netmodels.fabric.shape import gpus

DGX = load_topology(data_path("topologies", "dgx_h100_3tier.yaml"))
POOLS = load_topology(data_path("topologies", "v100_t4_pools.yaml"))


@pytest.mark.parametrize(
    ("text", "slices"),
    [
        ("8", [(0, 8)]),
        ("5+3", [(0, 5), (0, 3)]),
        ("8+8 | 4", [(0, 8), (0, 8), (1, 4)]),
        ("4x8|4x8", [(rack, 8) for rack in (0, 1) for _ in range(4)]),
        (" 2x3 + 1 ", [(0, 3), (0, 3), (0, 1)]),
    ],
)
def test_plus_joins_machines_and_bars_racks(text, slices):
    """The notation of the issue tracker and of papers, with a short form for equal machines."""
    assert parse_shape(text, DGX) == shape_of((rack, "dgx_h100", count) for rack, count in slices)


def test_machine_types_are_named():
    """Without a name, it is the default type."""
    mixed = shape_of([(0, "v100_8gpu", 8), (0, "t4_8gpu", 4)])
    assert parse_shape("8+4@t4_8gpu", POOLS) == mixed
    assert show_shape(mixed, POOLS) == "4@t4_8gpu+8"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "not a placement"),
        ("8+", "not a placement"),
        ("0", "not a placement"),
        ("-1", "not a placement"),
        ("4x", "not a placement"),
        ("8||8", "not a placement"),
        ("9", "more GPUs than a machine of type dgx_h100 has"),
        ("8@dgx", "unknown machine type"),
        ("999999999x8", "a placement too large"),
        ("33x8", "more machines than a rack has"),
    ],
)
def test_a_malformed_placement_is_refused(text, what):
    """With the text as it was given."""
    with pytest.raises(InputError) as error:
        parse_shape(text, DGX)
    assert error.value.what == what


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["v100_8gpu", "t4_8gpu"]), st.integers(1, 8)),
        min_size=1,
        max_size=8,  # machines of a rack
    )
)
def test_there_and_back(slices):
    """Whatever is shown in a table can be asked for again."""
    shape = shape_of(slices)
    assert parse_shape(show_shape(shape, POOLS), POOLS) == shape


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, {"machine": "1"}),
        (7, {"machine": "7", "rack": "4+3", "network": "3 | 4"}),
        (8, {"machine": "8", "rack": "4+4", "network": "4 | 4"}),
        (12, {"rack": "6+6", "network": "6 | 6"}),
        (64, {"rack": "8x8", "network": "4x8 | 4x8"}),
        (128, {"network": "8x8 | 8x8"}),
    ],
)
def test_all_tiers_at_once(count, expected):
    """As few machines and racks as hold the GPUs, but at least two of those that a tier joins."""
    shapes = tier_shapes(count, DGX)
    assert {tier: show_shape(shape, DGX) for tier, shape in shapes.items()} == expected
    assert {gpus(shape) for shape in shapes.values()} == {count}


@pytest.mark.parametrize("count", [0, -3, True, 10**7])
def test_a_wrong_number_of_gpus_is_refused(count):
    """Before anything large is built."""
    with pytest.raises(InputError, match="wrong number of GPUs"):
        tier_shapes(count, DGX)
