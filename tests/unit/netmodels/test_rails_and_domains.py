"""Fabrics of today: rails, where a rack is the machines of the same leaves, and NVLink domains of racks."""

import numpy as np
import pytest
import yaml

from artist.data import data_path
from netmodels.api import load_topology
from netmodels.contention.traffic import links_of
from netmodels.fabric.links import Link, capacities
from netmodels.nccl.model import collective_us
from netmodels.nccl.parameters import derived, nccl_of

GB = 1e9


def shipped(name, **ratios):
    """Return a shipped topology with an oversubscribed spine."""
    raw = yaml.safe_load(data_path("topologies", f"{name}.yaml").read_text("utf-8"))
    raw["oversubscription"].update(ratios)
    return load_topology(raw)


def all_reduce_us(name, place, size=GB, **ratios):
    """Return the time of an all-reduce on GPUs by rack and machine."""
    return collective_us("all_reduce", np.array([size]), place, nccl_of(shipped(name, **ratios).fabric))[0]


def test_traffic_of_a_rail_does_not_cross_the_spine():
    """Machines of one rack share leaves: two of them load their four port directions, and no uplink.

    So a spine of 64:1 changes nothing, while over two racks 1 GB passes an uplink of 32 x 8 x 44.8 / 64 =
    179.2 GB/s, in 5,580 us or more.
    """
    near, far = ([(0, 0, "hgx_h100", 8), (rack, 1, "hgx_h100", 8)] for rack in (0, 1))
    assert {link.tier for link in links_of(near)} == {"machine"}
    assert "rack" in {link.tier for link in links_of(far)}
    rails = "h100_rails"
    assert all_reduce_us(rails, ((8, 8),), rack=64) == all_reduce_us(rails, ((8, 8),))
    assert all_reduce_us(rails, ((8,), (8,))) < 5580 < all_reduce_us(rails, ((8,), (8,)), rack=64)


@pytest.mark.parametrize(("ratio", "machines"), [(1, 32), (2, 16), (4, 8)])
def test_the_spine_passes_its_share_of_a_rack(ratio, machines):
    """32 machines of 8 ports of 50 byte/ns send 12,800; at 4:1 the spine passes those of 8 machines."""
    rails = shipped("h100_rails", rack=ratio)
    links = capacities([(0, number, "hgx_h100", 8) for number in range(32)], rails.fabric)
    assert links[Link("rack", 0, "out")] == machines * links[Link("machine", 0, "out")] == machines * 8 * 50


def test_machines_of_an_nvlink_domain_are_one_machine():
    """4+4 GPUs of a rack reduce 1 GB as 8 of one machine do: in the switch, at 886 GB/s.

    D = 2 x 7 x 0.347 us, L = 6.8 + 2.33 D = 18.1, b = 2 x 7 / 8 / 886 = 1,975.2, filling 1.24 b /
    sqrt(1 + (1.24 / 5 b / L)^2) = 90.5: 2,083.9 us.
    """
    assert all_reduce_us("gb200_nvl72", ((4, 4),)) == pytest.approx(2083.9, abs=0.1)
    assert (
        all_reduce_us("gb200_nvl72", ((8,),))
        == all_reduce_us("gb200_nvl72", ((1,) * 8,))
        == (all_reduce_us("gb200_nvl72", ((4, 4),)))
    )
    assert all_reduce_us("gb200_nvl72", ((4,), (4,))) > GB / (4 * 46e3)


def test_a_domain_leaves_its_rack_by_all_its_ports():
    """Two full racks, 2^34 bytes: CoreWeave measured 42.1 ms; a machine's four ports would take 93 ms."""
    size = 2.0**34
    assert all_reduce_us("gb200_nvl72", ((4,) * 18,) * 2, size) == pytest.approx(42_067, rel=0.03)
    assert size / (4 * 46e3) > 93_000
    assert all_reduce_us("gb200_nvl72", ((4,) * 18,), 2.0**33) == pytest.approx(20_299, rel=0.03)


def test_parameters_derived_of_a_domain_have_the_steps_of_its_links():
    """Two links of 300 ns are 0.6 us a step in machine and rack; messages wait for the network's 5 us."""
    (_, machine), (_, rack), (_, network) = shipped("gb200_nvl72").fabric.tiers()
    nccl = derived((machine, rack, network))
    assert nccl.rack == nccl.machine
    assert (nccl.rack.step_us, nccl.network.step_us, nccl.message_us) == pytest.approx((0.6, 5.0, 10.0))
