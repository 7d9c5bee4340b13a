"""Closed forms, by hand: 1 byte/ns links, so a byte is a nanosecond."""

import pytest

from netmodels.api import Dimension, SystemSettings
from netmodels.collectives import all_reduce_phases, link_bandwidth_bytes_per_ns

RING = Dimension("ring", 100, 1.0)
SWITCH = Dimension("switch", 100, 1.0)
MESH = Dimension("fully_connected", 100, 1.0)
PLAIN = SystemSettings(endpoint_delay_ns=10)


def phases(dims, size_bytes, system=PLAIN):
    """Return (dimension, ns, bytes sent) of each phase."""
    return [
        (each.dimension, each.ns, each.sent_bytes) for each in all_reduce_phases(dims, size_bytes, system)
    ]


@pytest.mark.parametrize(("dimension", "hops"), [(RING, 1), (SWITCH, 2), (MESH, 1)])
def test_all_reduce_in_one_dimension(dimension, hops):
    """4 members, 4000 B: 6 steps of hops x 100 + 1000 ns, 7 delays of 10 ns; each sends 6 x 1000 B."""
    assert phases([(dimension, 4)], 4000) == [(0, 6 * (hops * 100 + 1000) + 70, 6000)]


def test_local_reduction():
    """Adding 1000 received bytes at 2 GB/s takes 3 x 500 ns, in each of 3 steps: + 4500 ns."""
    system = SystemSettings(endpoint_delay_ns=10, local_memory_gb_s=2)
    assert phases([(RING, 4)], 4000, system)[0][1] - phases([(RING, 4)], 4000)[0][1] == 4500


def test_bandwidth_aware_shrinks_outwards():
    """2 x 2, 4000 B: scatter 100 + 2000 + 2 delays, reduce 2 (200 + 1000) + 3 delays, gather."""
    assert phases([(RING, 2), (SWITCH, 2)], 4000) == [
        (0, 2120, 2000),
        (1, 2 * (200 + 1000) + 30, 2000),
        (0, 2120, 2000),
    ]


def test_baseline_is_full_size_everywhere():
    """2 x 2 members, 4000 B: 2 steps of 100 + 2000 and 2 steps of 200 + 2000, 3 delays each."""
    baseline = SystemSettings(endpoint_delay_ns=10, collective_optimization="baseline")
    assert phases([(RING, 2), (SWITCH, 2)], 4000, baseline) == [(0, 4230, 4000), (1, 4430, 4000)]


def test_gathering_starts_from_what_scattering_left():
    """Remainders are lost on the way: 7 B on 2 x 2 scatter 7 // 2 = 3, reduce 3 // 2 = 1, gather 3."""
    zero = SystemSettings(endpoint_delay_ns=0)
    quick = Dimension("ring", 0, 1.0)
    assert phases([(quick, 2), (quick, 2)], 7, zero) == [(0, 3, 3), (1, 2, 2), (0, 3, 3)]


def test_fewer_bytes_than_members_are_rounded_up():
    """1 B among 2 x 2 members costs what 4 B cost; zero-byte messages would be free."""
    assert phases([(RING, 2), (RING, 2)], 1) == phases([(RING, 2), (RING, 2)], 4)


@pytest.mark.parametrize("optimization", ["baseline", "bandwidth_aware"])
def test_one_member_costs_nothing(optimization):
    """A dimension with nobody else in it has nothing to send."""
    system = SystemSettings(collective_optimization=optimization)
    assert sum(each.ns for each in all_reduce_phases([(RING, 1), (SWITCH, 1)], 4000, system)) == 0


@pytest.mark.parametrize(
    ("kind", "links"),
    [("ring", [4, 4, 4, 6, 6]), ("switch", [2, 3, 4, 5, 6]), ("fully_connected", [2, 1, 1, 1, 1])],
)
def test_links_of_members(kind, links):
    """2 to 6 members: rings next even number, 4 for two; switches n; meshes n // (n - 1)."""
    dimension = Dimension(kind, 0, 1.0, links="members")
    assert [link_bandwidth_bytes_per_ns(dimension, members) for members in range(2, 7)] == links
