"""Placements as one ring: blocks, crossings and their links."""

import pytest

from netmodels.api import Dimension, Fabric, SystemSettings, shape_of
from netmodels.collectives import rings
from netmodels.collectives.rings import rings_of
from netmodels.models.analytical import AnalyticalModel
from netmodels.profiles.profile import get_profile

MACHINE = Dimension("switch", 100.0, 10.0)
RACK = Dimension("switch", 200.0, 1.0, machine_bytes_per_ns=4.0)
CORE = Dimension("switch", 300.0, 1.0, machine_bytes_per_ns=4.0, rack_bytes_per_ns=5.0)
FABRIC = Fabric("any", (MACHINE,), (RACK,), (CORE,))


def ring(*racks, fabric=FABRIC):
    """Return the ring of a placement; a rack is the list of its machines' GPUs."""
    (result,) = rings_of(
        shape_of((rack, "a", gpus) for rack, item in enumerate(racks) for gpus in item), fabric
    )
    return result


def test_a_crossing_is_as_wide_as_the_narrower_machine():
    """3 GPUs send 3 byte/ns and 8 share a port of 4; the GPUs' own 10 and the port lie on the way."""
    result = ring([3, 8])
    assert [block.gpus for block in result.blocks] == [3, 8]
    assert {block.out.bytes_per_ns for block in result.blocks} == {3.0}
    assert result.blocks[0].out.ns_per_byte == pytest.approx(1 / 10 + 1 / 3 + 1 / 4 + 1 / 10)
    assert result.blocks[0].out.latency_ns == 400
    assert result.blocks[0].out.queued


def test_inside_a_machine_a_hop_goes_up_to_its_switch_and_down():
    """Two links of 10 byte/ns, 100 ns each; the narrowest is the sender's own."""
    inside = ring([3, 8]).blocks[0].inside
    assert (inside.bytes_per_ns, inside.latency_ns, inside.queued) == (10.0, 200.0, False)
    assert inside.ns_per_byte == pytest.approx(2 / 10)


def test_between_racks_a_hop_climbs_to_the_core():
    """Rack of 4 + 4: each 1 in the rack, its 8 GPUs share 5 on the core; alone in a rack 4 send 4."""
    result = ring([4, 4], [4])
    assert result.tiers == ("machine", "rack", "network")
    alone, first, second = result.blocks  # racks are sorted: ((4),) before ((4, 4),)
    assert (first.out.latency_ns, first.out.bytes_per_ns) == (400.0, 4.0)
    assert alone.out.latency_ns == second.out.latency_ns == 600.0
    assert alone.out.bytes_per_ns == 4.0
    assert second.out.bytes_per_ns == 4.0


def test_a_gpu_alone_in_its_machine_hangs_on_the_racks_switch():
    """1+1: two links of the rack's bandwidth, no machine's switch, and the narrowest is the GPU's own."""
    (first, _) = ring([1, 1]).blocks
    assert first.out.ns_per_byte == pytest.approx(2 / 1.0)
    assert not first.out.queued


def test_the_ring_closes_over_the_widest_tier():
    """The last machine of the last rack sends to the first of the first rack, over the core: 600 ns."""
    result = ring([2, 2], [2, 2])
    assert [block.out.latency_ns for block in result.blocks] == [400, 600, 400, 600]


def test_several_dimensions_in_a_machine_are_blocks_of_their_own():
    """6 GPUs in groups of 4 and 2, joined by a second dimension of 5 byte/ns a GPU: 4 x 5 and 2 x 5 meet."""
    inner, outer = Dimension("ring", 10.0, 20.0, size=4), Dimension("switch", 20.0, 5.0)
    result = ring([6, 6], fabric=Fabric("two", (inner, outer), (RACK,), (CORE,)))
    assert [block.gpus for block in result.blocks] == [4, 2, 4, 2]
    within, across = result.blocks[0].out, result.blocks[1].out
    assert (within.latency_ns, within.bytes_per_ns) == (40.0, 10.0)
    assert (across.latency_ns, across.bytes_per_ns) == (400.0, 4.0)
    assert result.blocks[0].inside.latency_ns == 10.0
    assert result.machines == 2


def test_one_link_per_member_is_used_by_all_gpus_of_a_machine():
    """Three machines of 2 on a switch, 3 links of 0.5 byte/ns a GPU: 2 x 3 x 0.5 leave a machine."""
    switch = Dimension("switch", 10.0, 0.5, links="members")
    result = ring([2, 2, 2], fabric=Fabric("links", (MACHINE,), (switch,), (CORE,)))
    assert {block.out.bytes_per_ns for block in result.blocks} == {3.0}


def test_each_machine_type_sees_its_own_ring():
    """As for dimensions: all machines as if of one type, type by type."""
    slow = ((MACHINE,), (Dimension("switch", 200.0, 0.5),), (CORE,))
    fabric = Fabric("two", (MACHINE,), (RACK,), (CORE,), by_machine_type={"b": slow})
    result = rings_of(shape_of([(0, "a", 2), (0, "b", 2)]), fabric)
    assert [item.blocks[0].out.bytes_per_ns for item in result] == [2.0, 1.0]


def test_equal_rings_are_one_key():
    """Answers are kept by the ring: shapes of other machines that look the same share them."""
    assert ring([3, 8]) == ring([8, 3])
    assert hash(ring([3, 8])) == hash(ring([8, 3]))


def test_the_ring_of_a_shape_is_made_once_for_all_models(monkeypatch):
    """Two models ask about 3+8 | 7: two answers, one ring."""
    calls, real = [], rings.ring_of
    monkeypatch.setattr(rings, "ring_of", lambda *args, **how: calls.append(args) or real(*args, **how))
    shape = shape_of([(0, "a", 3), (0, "a", 8), (5, "a", 7)])
    for name in ("AlexNet", "ResNet50"):
        AnalyticalModel().iteration(get_profile(name), shape, FABRIC, SystemSettings())
    assert len(calls) == 1


def test_ideal_rings_of_one_mean_hop_share_an_answer():
    """5+7 and 6+6 have 10 hops within and 2 over a port of 4 byte/ns; as packets 5+7 meet otherwise."""
    model, profile = AnalyticalModel(), get_profile("AlexNet")
    for transport, answers in (("ideal", 1), ("packets", 2)):
        system = SystemSettings(transport=transport)
        shapes = [shape_of([(0, "a", gpu) for gpu in gpus]) for gpus in ([5, 7], [6, 6])]
        results = [model.iteration(profile, shape, FABRIC, system) for shape in shapes]
        assert len({id(item) for item in results}) == answers


def test_a_rack_is_joined_once_for_all_placements_that_have_it():
    """3+8 beside 2 and beside 5 + 5: of the second placement's two racks one is new."""
    ring([3, 8], [2])
    before = rings._rack.cache_info()
    ring([3, 8], [5, 5])
    after = rings._rack.cache_info()
    assert (after.hits - before.hits, after.misses - before.misses) == (1, 1)
