"""Closed forms, by hand: 1 byte/ns links, so a byte is a nanosecond."""

from math import prod

import numpy as np
import pytest

from netmodels.api import Dimension, SystemSettings
from netmodels.collectives.collectives import chunks_of, phases_of
from netmodels.collectives.dimensions import Level

RING = Dimension("ring", 100, 1.0)
SWITCH = Dimension("switch", 100, 1.0)
MESH = Dimension("fully_connected", 100, 1.0)
PLAIN = SystemSettings(across_machines="hierarchical", endpoint_delay_ns=10)


def levels(dims):
    """Return levels of (dimension, members)."""
    return [Level("machine", dimension, members) for dimension, members in dims]


def phases(dims, size_bytes, system=PLAIN, collective="all_reduce"):
    """Return (dimension, ns, bytes sent) of each phase."""
    priced = phases_of(collective, levels(dims), size_bytes, system)
    return [(part.dimension, part.ns, part.sent_bytes) for part in priced]


@pytest.mark.parametrize(("dimension", "hops"), [(RING, 1), (SWITCH, 2), (MESH, 1)])
def test_all_reduce_in_one_dimension(dimension, hops):
    """4 members, 4000 B: 6 steps of hops x 100 + 1000 ns, 7 delays of 10 ns; each sends 6 x 1000 B."""
    assert phases([(dimension, 4)], 4000) == [(0, 6 * (hops * 100 + 1000) + 70, 6000)]


def test_local_reduction():
    """Adding 1000 received bytes at 2 GB/s takes 3 x 500 ns, in each of 3 steps: + 4500 ns."""
    system = SystemSettings(across_machines="hierarchical", endpoint_delay_ns=10, local_memory_gb_s=2)
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
    baseline = SystemSettings(
        across_machines="hierarchical", endpoint_delay_ns=10, collective_optimization="baseline"
    )
    assert phases([(RING, 2), (SWITCH, 2)], 4000, baseline) == [(0, 4230, 4000), (1, 4430, 4000)]


def test_gathering_starts_from_the_bytes_after_scattering():
    """Remainders are lost on the way: 7 B on 2 x 2 scatter 7 // 2 = 3, reduce 3 // 2 = 1, gather 3."""
    zero = SystemSettings(across_machines="hierarchical", endpoint_delay_ns=0)
    quick = Dimension("ring", 0, 1.0)
    assert phases([(quick, 2), (quick, 2)], 7, zero) == [(0, 3, 3), (1, 2, 2), (0, 3, 3)]


def cut(dims, size_bytes, collective="all_reduce", **system):
    """Return the bytes of a chunk and the number of chunks."""
    sizes = np.array([size_bytes])
    return tuple(
        int(item[0])
        for item in chunks_of(
            collective, prod(members for _, members in dims), sizes, SystemSettings(**system)
        )
    )


def test_fewer_bytes_than_members_are_rounded_up():
    """1 B among 2 x 2 members costs what 4 B cost; no message is free. A gather has no least."""
    assert cut([(RING, 2), (RING, 2)], 1) == (4, 1)
    assert cut([(RING, 2), (RING, 2)], 1, "all_gather") == (1, 1)


def test_chunks_are_equal_and_one_more_takes_the_rest():
    """4000 B in 4: 4 x 1000; 4003 B: 5 x 1000, the last one mostly empty; 5 B among 4 members in 4: 4 x 4."""
    assert cut([(RING, 4)], 4000, chunks=4) == (1000, 4)
    assert cut([(RING, 4)], 4003, chunks=4) == (1000, 5)
    assert cut([(RING, 4)], 5, chunks=4) == (4, 4)


def test_the_other_collectives_over_two_dimensions():
    """2 x 2: scatter outwards 4000 -> 2000 -> 1000; gather inwards 1000 -> 2000 -> 4000; to all 4000 each."""
    dims = [(RING, 2), (SWITCH, 2)]
    assert phases(dims, 4000, collective="reduce_scatter") == [(0, 2120, 2000), (1, 1220, 1000)]
    assert phases(dims, 1000, collective="all_gather") == [(1, 1220, 1000), (0, 2120, 2000)]
    assert phases(dims, 4000, collective="all_to_all") == [(0, 2120, 2000), (1, 2220, 2000)]


def test_a_tier_may_have_its_own_algorithm():
    """Direct in the machine (one send of 1000 B to each), a ring in the rack."""
    system = SystemSettings(
        across_machines="hierarchical", endpoint_delay_ns=10, collective_algorithm=("direct", "ring", "ring")
    )
    pair = [Level("machine", MESH, 4), Level("rack", SWITCH, 2)]
    priced = phases_of("all_reduce", pair, 4000, system)
    assert [part.ns for part in priced] == [1100 + 20, 2 * (200 + 500) + 30, 1100 + 20]


@pytest.mark.parametrize("optimization", ["baseline", "bandwidth_aware"])
def test_one_member_costs_nothing(optimization):
    """A dimension with nobody else in it has nothing to send."""
    system = SystemSettings(across_machines="hierarchical", collective_optimization=optimization)
    assert sum(ns for _, ns, _ in phases([(RING, 1), (SWITCH, 1)], 4000, system)) == 0
