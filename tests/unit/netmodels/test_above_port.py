"""Collectives that ignore their ports, as ASTRA-sim's congestion-unaware back end does, are found."""

from dataclasses import replace

import pytest

from netmodels.api import AnalyticalModel, Dimension, Fabric, Layer, Profile, SystemSettings, shape_of

SWITCH, RING, MESH = (
    Dimension(kind, 300.0, 450.0) for kind in ("switch", "ring", "fully_connected")
)  # 450 GB/s
RACK, CORE = Dimension("switch", 1350.0, 50.0), Dimension("switch", 6000.0, 25.0)
PLAIN = SystemSettings(across_machines="hierarchical")
DIRECT = replace(PLAIN, collective_algorithm="direct")
IN_FLIGHT = replace(PLAIN, chunks=4, chunks_in_flight=4)
SIZE = 10**8


def bound(system, *gpus, inside=SWITCH, collective="all_reduce"):
    """Return the least time of 100 MB on machines of a rack, us; None if it is within the ports."""
    fabric = Fabric("f", (inside,), (RACK,), (CORE,), system)
    shape = shape_of((0, "box", count) for count in gpus)
    above = AnalyticalModel().collective_above_port(collective, SIZE, shape, fabric, system)
    return None if above is None else above.by_port_ns / 1e3


def test_a_direct_all_reduce_on_a_switch_passes_one_port():
    """2 x 7/8 x 100 MB / 450 GB/s = 388.9 us; it takes 2 x (2 x 300 + 12.5 MB / 450) + 3 x 10 ns = 56.8."""
    fabric = Fabric("f", (SWITCH,), (RACK,), (CORE,), DIRECT)
    above = AnalyticalModel().collective_above_port(
        "all_reduce", SIZE, shape_of([(0, "box", 8)]), fabric, DIRECT
    )
    assert above == (2 * (600 + 27_777) + 30, 388_889)


@pytest.mark.parametrize(
    ("system", "gpus", "inside", "collective", "least_us"),
    [
        (PLAIN, (8,), SWITCH, "all_reduce", None),
        (replace(PLAIN, chunks=4), (8,), SWITCH, "all_reduce", None),
        (replace(IN_FLIGHT, chunks=1), (8,), SWITCH, "all_reduce", None),  # one chunk flies alone
        (DIRECT, (2,), SWITCH, "all_reduce", None),  # one message
        (DIRECT, (8,), MESH, "all_reduce", None),  # a link to each of the seven
        (DIRECT, (8,), RING, "all_reduce", 1.75e5 / 450 / 2),  # two links
        (DIRECT, (8,), SWITCH, "reduce_scatter", 7 / 8 * 1e5 / 450),
        (DIRECT, (8,), SWITCH, "all_gather", 7e5 / 450),  # of a GPU's 100 MB
        (DIRECT, (8,), SWITCH, "all_to_all", 7 / 8 * 1e5 / 450),
        (replace(PLAIN, collective_algorithm="halving_doubling"), (8,), SWITCH, "all_to_all", 0.875e5 / 450),
        (replace(PLAIN, collective_algorithm="halving_doubling"), (8,), SWITCH, "all_reduce", None),
        (IN_FLIGHT, (8,), SWITCH, "all_reduce", 1.75e5 / 450),
        (IN_FLIGHT, (8,), MESH, "all_reduce", 1.75e5 / 450),  # a ring has one link there, too
        # Inside 2 x 3/4 x 100 MB, then 2 x 1/2 x 25 MB by 50 GB/s, one after the other.
        (DIRECT, (4, 4), SWITCH, "all_reduce", 1.5e5 / 450 + 0.25e5 / 50),
        # Four chunks overlap: the slower of the two.
        (IN_FLIGHT, (4, 4), SWITCH, "all_reduce", 0.25e5 / 50),
        # 100 MB must leave the machine with one GPU, by 50 GB/s.
        (DIRECT, (7, 1), SWITCH, "all_reduce", 1e5 / 50),
        # One ring through all: 2 x 7/8 x 100 MB pass the port of four GPUs, 200 GB/s.
        (replace(IN_FLIGHT, across_machines="flat_ring"), (4, 4), SWITCH, "all_reduce", 1.75e5 / 200),
        (replace(DIRECT, across_machines="flat_ring"), (4, 4), SWITCH, "all_reduce", None),
        # Trees pass 2 x 100 MB.
        (replace(IN_FLIGHT, across_machines="tree"), (4, 4), SWITCH, "all_reduce", 2e5 / 200),
        (replace(DIRECT, collectives="nccl"), (8,), SWITCH, "all_reduce", None),
        (DIRECT, (1,), SWITCH, "all_reduce", None),
    ],
)
def test_the_bound_is_the_bytes_by_the_bandwidth(system, gpus, inside, collective, least_us):
    """Each with its arithmetic; None where messages share their ports."""
    expected = None if least_us is None else pytest.approx(least_us, rel=1e-4)
    assert bound(system, *gpus, inside=inside, collective=collective) == expected


def test_an_iteration_is_above_the_port_if_one_of_its_collectives_is():
    """8 KB takes 2 x (600 + 2) + 30 ns, bound 31; 100 MB 56.8 us, bound 388.9: 58.0 and 390.1 us together."""
    fabric, shape = Fabric("f", (SWITCH,), (RACK,), (CORE,), DIRECT), shape_of([(0, "box", 8)])
    layers = (Layer("small", 1000, 1000, 1000, 8000), Layer("large", 1000, 1000, 1000, SIZE))
    model = AnalyticalModel()
    assert model.above_port(Profile("both", layers), shape, fabric, DIRECT) == (
        *(1234 + 56_784, 1234 + 388_889),
    )
    assert model.above_port(Profile("small", layers[:1]), shape, fabric, DIRECT) is None
    assert model.above_port(Profile("none", (Layer("x", 1, 1, 1, 0),)), shape, fabric, DIRECT) is None
