"""Closed forms within one dimension, by hand: 1 byte/ns links, so a byte is a nanosecond."""

import numpy as np
import pytest

from netmodels.api import Dimension, SystemSettings
from netmodels.collectives.algorithms import Group, link_bandwidth_bytes_per_ns, price

RING = Dimension("ring", 100, 1.0)
SWITCH = Dimension("switch", 100, 1.0)
MESH = Dimension("fully_connected", 100, 1.0)
PLAIN = SystemSettings(endpoint_delay_ns=10)
ADDING = SystemSettings(endpoint_delay_ns=10, local_memory_gb_s=2)  # adding 1000 B takes 3 x 500 ns


def cost(collective, algorithm, dimension, members, size, system=PLAIN):
    """Return (ns, bytes sent)."""
    return price(collective, algorithm, Group(dimension, members, system), size)


@pytest.mark.parametrize(
    ("collective", "expected"),
    [
        # 8 members, 8000 B: pairs 1 apart exchange 4000, 2 apart 2000, 4 apart 1000: 7000 + 700
        ("reduce_scatter", (7000 + 700 + 40, 7000)),
        ("all_reduce", (2 * 7700 + 70, 14000)),
    ],
)
def test_halving_doubling_on_a_ring(collective, expected):
    """Hops 1 + 2 + 4 each way at 100 ns; k + 1 = 4 or 2 k + 1 = 7 delays."""
    assert cost(collective, "halving_doubling", RING, 8, 8000) == expected


def test_halving_doubling_outside_rings_takes_fewer_exchanges():
    """The same bytes in 3 exchanges: 3 x 2 hops through a switch, 3 x 1 in a mesh."""
    assert cost("reduce_scatter", "halving_doubling", SWITCH, 8, 8000)[0] == 7000 + 600 + 40
    assert cost("reduce_scatter", "halving_doubling", MESH, 8, 8000)[0] == 7000 + 300 + 40
    # gathering 1000 B each: 1000 to the member 4 places on, 2000 to that 2 on, 4000 to the next
    assert cost("all_gather", "halving_doubling", RING, 8, 1000) == (7000 + 700 + 40, 7000)


def test_halving_doubling_adds_all_but_the_first_exchange():
    """As ASTRA-sim does: 2000 and 1000 of 8000 B are charged, 3 x 1000 and 3 x 500 ns."""
    plain, adding = (
        cost("all_reduce", "halving_doubling", MESH, 8, 8000, value)[0] for value in (PLAIN, ADDING)
    )
    assert adding - plain == 3000 + 1500


def test_members_cost_as_the_next_power_of_two():
    """6 members take the three exchanges of 8; so do trees."""
    for algorithm in ("halving_doubling", "double_binary_tree"):
        six, eight, five = (cost("all_reduce", algorithm, SWITCH, n, 8000)[0] for n in (6, 8, 5))
        assert six == eight == five


def test_double_binary_tree():
    """8 members on a ring: 1000 B over 1 + 2 + 4 hops up and down, 7 delays, 5 additions of 3 x 500 ns."""
    assert cost("all_reduce", "double_binary_tree", RING, 8, 1000)[0] == 2 * (3 * 1000 + 700) + 70
    adding = cost("all_reduce", "double_binary_tree", RING, 8, 1000, ADDING)[0]
    assert adding == 2 * 3700 + 70 + 5 * 1500
    # 7 links up and 7 down carry it: 14 x 1000 B over 8 members
    assert cost("all_reduce", "double_binary_tree", RING, 8, 1000)[1] == 14 * 1000 // 8


@pytest.mark.parametrize(
    ("collective", "expected"),
    [
        ("all_reduce", (2 * 1100 + 30, 6000)),
        ("reduce_scatter", (1100 + 20, 3000)),
        ("all_to_all", (1100 + 20, 3000)),
    ],
)
def test_direct_in_a_mesh(collective, expected):
    """4 members, 4000 B: 1000 B to each of 3 at once, 3 or 2 delays."""
    assert cost(collective, "direct", MESH, 4, 4000) == expected


def test_direct_on_a_ring_waits_for_the_farthest():
    """8 members: the one opposite is 4 hops away."""
    assert cost("all_gather", "direct", RING, 8, 1000) == (400 + 1000 + 20, 7000)


def test_all_to_all_on_a_ring_passes_parts_on():
    """4 members: a part goes 1, 2 or 3 places on: 6 sends of 100 + 1000 ns, 7 delays."""
    assert cost("all_to_all", "ring", RING, 4, 4000) == (6 * 1100 + 70, 6000)


@pytest.mark.parametrize(
    ("algorithm", "collective", "other"),
    [
        ("double_binary_tree", "reduce_scatter", "ring"),
        ("double_binary_tree", "all_gather", "ring"),
        ("double_binary_tree", "all_to_all", "direct"),
        ("halving_doubling", "all_to_all", "direct"),
    ],
)
def test_collectives_unknown_to_an_algorithm_use_another(algorithm, collective, other):
    """It is left to another, so that a setting for all tiers always has an answer."""
    assert cost(collective, algorithm, SWITCH, 4, 4000) == cost(collective, other, SWITCH, 4, 4000)


@pytest.mark.parametrize("algorithm", ["ring", "halving_doubling", "double_binary_tree", "direct"])
@pytest.mark.parametrize("collective", ["all_reduce", "reduce_scatter", "all_gather", "all_to_all"])
def test_many_sizes_at_once(algorithm, collective):
    """An array of sizes costs what its sizes cost one by one."""
    sizes = np.array([8, 1001, 65_536])
    together = cost(collective, algorithm, SWITCH, 8, sizes, ADDING)
    alone = [cost(collective, algorithm, SWITCH, 8, int(size), ADDING) for size in sizes]
    assert list(zip(*(times.tolist() for times in together), strict=True)) == alone


@pytest.mark.parametrize(
    ("kind", "links"),
    [("ring", [4, 4, 4, 6, 6]), ("switch", [2, 3, 4, 5, 6]), ("fully_connected", [2, 1, 1, 1, 1])],
)
def test_links_of_members(kind, links):
    """2 to 6 members: rings next even number, 4 for two; switches n; meshes n // (n - 1)."""
    dimension = Dimension(kind, 0, 1.0, links="members")
    assert [link_bandwidth_bytes_per_ns(dimension, members) for members in range(2, 7)] == links
