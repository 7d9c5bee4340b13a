"""NCCL's collectives: the closed forms, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from netmodels.api import NcclFabric, NcclTier, collective_us

# 1 GB/s = 1000 byte/us. Filling costs nothing, LL is as wide as all else: sums stay whole.
PLAIN = NcclFabric(
    machine=NcclTier(step_us=1.0, gpu_gb_s=100.0),
    rack=NcclTier(step_us=10.0, gpu_gb_s=10.0),
    network=NcclTier(step_us=50.0, gpu_gb_s=5.0),
    start_us=5.0,
    skew=0.0,
    pipeline=0.0,
    ll_pipeline=0.0,
    bulk=2.0,
    ll_share=1.0,
    round_us=3.0,
    bulk_round_us=1000.0,
    message_us=7.0,
    exchange=0.5,
    ring_from_mb=1.0,
)
BOX, TWO, FOUR = ((4,),), ((4, 4),), ((4, 4, 4, 4),)


def us(collective, size_bytes, place, nccl=PLAIN):
    """Return the time of one collective in us."""
    return collective_us(collective, np.array([float(size_bytes)]), place, nccl)[0]


def test_an_all_reduce_in_a_machine_goes_up_and_down_a_chain():
    """4 GPUs: 5 + 2 x 3 steps of 1 us + 2 x 3/4 x 1 MB at 100 GB/s (15 us) = 26; at 120 (12.5) = 23.5."""
    assert us("all_reduce", 1e6, BOX) == pytest.approx(26)
    assert us("all_reduce", 1e6, BOX, replace(PLAIN, switch_gb_s=120.0)) == pytest.approx(23.5)


def test_a_switch_adds_no_more_than_the_links_carry():
    """2 (n - 1) / (n + 1) of 100 GB/s: 120 for 4 GPUs, and no less than the link's 100 for 2, of 150 said."""
    switch = replace(PLAIN, switch_gb_s=150.0)
    assert us("all_reduce", 1e6, BOX, switch) == pytest.approx(5 + 6 + 12.5)
    assert us("all_reduce", 1e6, ((2,),), switch) == pytest.approx(5 + 2 + 10)
    assert us("all_reduce", 1e6, ((8,),), switch) == pytest.approx(5 + 14 + 1750 / 150)  # less than 155.6


def test_bandwidth_through_a_machine_holds_inside_it_too():
    """No switch measured, but 110 GB/s through a machine of 100 a link: 1.5 MB of bus at 110 for 4 GPUs."""
    through = replace(PLAIN, channels_gb_s=110.0)
    assert us("all_reduce", 1e6, BOX, through) == pytest.approx(5 + 6 + 1500 / 110)


def test_a_tree_grows_with_the_doublings_of_machines():
    """Chains of 3 us, 10 us a doubling, up and down: 5 + 6 + 20 on 2 machines, + 20 on 4, + 40 on 8."""
    assert us("all_reduce", 1e-6, TWO) == pytest.approx(31)
    assert us("all_reduce", 1e-6, FOUR) == pytest.approx(51)
    assert us("all_reduce", 1e-6, ((4,) * 8,)) == pytest.approx(71)


def test_steps_grow_slower_with_many_machines_by_the_skew():
    """8 machines, skew 0.1: 3 doublings cost 60 x (1 + 0.1 x 2) = 72; the first alone costs no more."""
    skewed = replace(PLAIN, skew=0.1)
    assert us("all_reduce", 1e-6, ((4,) * 8,), skewed) == pytest.approx(5 + 6 + 72)
    assert us("all_reduce", 1e-6, TWO, skewed) == pytest.approx(31)


def test_two_machines_send_half_the_bytes_of_more():
    """40 GB/s a machine: 40 MB leave a root of two once (1000 us), an inner machine of four twice (2000)."""
    assert us("all_reduce", 40e6, TWO) == pytest.approx(31 + 1000)
    assert us("all_reduce", 40e6, FOUR) == pytest.approx(51 + 2000)


def test_bandwidth_through_a_machine_limits_all_reduces_over_machines():
    """Two machines at 20 GB/s: 2 x 7/8 x 40 MB take 3500 us, not 1000; one machine: as before."""
    through = replace(PLAIN, channels_gb_s=20.0)
    assert us("all_reduce", 40e6, TWO, through) == pytest.approx(31 + 3500)
    assert us("all_reduce", 40e6, BOX, through) == us("all_reduce", 40e6, BOX)


def test_a_ring_takes_over_where_it_is_faster():
    """16 GPUs, rounds of 1 us: 5 + 30 + 2 x 15/16 x 40 MB at 40 GB/s (1875) = 1910; the tree takes 2051."""
    assert us("all_reduce", 40e6, FOUR, replace(PLAIN, bulk_round_us=1.0)) == pytest.approx(1910)


def test_protocols_share_the_sizes():
    """LL at a tenth of the bandwidth: 5 + 26 + 10 b; Simple with twice the latency: 5 + 52 + b."""
    two = replace(PLAIN, ll_share=0.1)
    assert us("all_reduce", 40e3, TWO, two) == pytest.approx(31 + 10 * 1)
    assert us("all_reduce", 400e3, TWO, two) == pytest.approx(57 + 10)


def test_trees_give_way_to_rings_from_a_size_per_gpu():
    """16 GPUs, rounds of 1 us: 8 MB by ring would take 35 + 375 us, but the tree holds to 16 MB: 51 + 400."""
    quick = replace(PLAIN, bulk_round_us=1.0)
    assert us("all_reduce", 8e6, FOUR, quick) == pytest.approx(451)
    assert us("all_reduce", 8e6, FOUR, replace(quick, ring_from_mb=0.5)) == pytest.approx(410)


def test_a_tree_takes_no_longer_than_the_ring_at_the_switch():
    """At 15.9 MB the tree's 51 + 795 us; the ring at 16 MB takes 35 + 750, and the larger is never faster."""
    quick = replace(PLAIN, bulk_round_us=1.0)
    assert us("all_reduce", 15.9e6, FOUR, quick) == pytest.approx(785)
    assert us("all_reduce", 16e6, FOUR, quick) == pytest.approx(785)


def test_filling_a_pipeline_costs_at_most_five_latencies():
    """L = 31, k = 1: at b = 31, 2 x 31 / sqrt(1 + 4/25); at b = 3100 L almost 5 x 31."""
    filled = replace(PLAIN, ll_pipeline=1.0, bulk=1e6)
    assert us("all_reduce", 31 * 40e3, TWO, filled) == pytest.approx(62 + 62 / 1.16**0.5)
    late = us("all_reduce", 31 * 3100 * 40e3, TWO, filled) - 31 - 31 * 3100
    assert 0.99 * 155 < late < 155


def test_filling_grows_with_large_messages_as_their_chunks_do():
    """L = 31, k = 2, LL too narrow: at b = 3.1, 6.2 / sqrt(1 + 1/625); at b = 1000 L almost 5 x 31."""
    filled = replace(PLAIN, pipeline=2.0, bulk=1.0, ll_share=0.01)
    assert us("all_reduce", 3.1 * 40e3, TWO, filled) == pytest.approx(34.1 + 6.2 / (1 + 1 / 625) ** 0.5)
    late = us("all_reduce", 31e3 * 40e3, TWO, filled) - 31 - 31e3
    assert 0.99 * 155 < late < 155


def test_an_all_gather_grows_with_ranks():
    """8 ranks: 5 + 7 rounds of 3 us; 16 ranks: 5 + 15 x 3. 7/8 of 40 MB at 40 GB/s: 875 us more."""
    assert us("all_gather", 1e-6, TWO) == pytest.approx(26)
    assert us("all_gather", 1e-6, FOUR) == pytest.approx(50)
    assert us("reduce_scatter", 40e6, TWO) == pytest.approx(26 + 875)


def test_a_large_all_gather_takes_the_wide_protocol():
    """LL at a tenth: 26 + 8750; large rounds of 100 us: 5 + 700 + 875."""
    two = replace(PLAIN, ll_share=0.1, bulk_round_us=100.0)
    assert us("all_gather", 40e6, TWO, two) == pytest.approx(5 + 700 + 875)


def test_a_step_inside_a_machine_takes_at_most_one_between_machines():
    """4 GPUs, 40 MB (300 us): Simple 5 + 3 x 6 us; with rounds of 2 us between machines 5 + 3 x 2."""
    narrow = replace(PLAIN, ll_share=0.1)
    assert us("all_gather", 40e6, BOX, narrow) == pytest.approx(5 + 18 + 300)
    assert us("all_gather", 40e6, BOX, replace(narrow, bulk_round_us=2.0)) == pytest.approx(5 + 6 + 300)


def test_an_all_to_all_pays_per_message_and_for_bytes_leaving_the_machine():
    """8 GPUs: 5 + 4 messages of 7 us; half of 4 x 40 MB leaves a machine at half of 40 GB/s: 4000 us."""
    assert us("all_to_all", 1e-6, TWO) == pytest.approx(33)
    assert us("all_to_all", 40e6, TWO) == pytest.approx(33 + 4000)


def test_an_all_to_all_in_a_machine_leaves_nothing():
    """4 GPUs: 5 + 4 messages of 7 us x 1/10 (steps), 3/4 of 40 MB at 100 GB/s: 300 us."""
    assert us("all_to_all", 40e6, BOX) == pytest.approx(5 + 2.8 + 300)


def test_send_and_receive_use_one_link():
    """40 MB: 400 us at 100 GB/s in a machine; between two, one GPU's 10 GB/s, half of it: 8000."""
    assert us("send_receive", 40e6, BOX) == pytest.approx(5 + 1 + 400)
    assert us("send_receive", 40e6, TWO) == pytest.approx(5 + 10 + 8000)


def test_the_machine_with_the_fewest_ports_gives_the_channels():
    """7+1: 10 GB/s leave the machine of one GPU, 80 those of 8+8: 40 MB take 4000 us, and 500."""
    assert us("all_reduce", 40e6, ((1, 7),)) == pytest.approx(5 + 12 + 20 + 4000)
    assert us("all_reduce", 40e6, ((8, 8),)) == pytest.approx(5 + 14 + 20 + 750)  # inside: 15/8 x 400
    assert us("all_to_all", 40e6, ((1, 7),)) == pytest.approx(5 + 7 * 7 + 40e3 * 7 / 8 / 5)


def test_shared_ports_are_narrower_than_the_sum():
    """4 GPUs of 10 GB/s behind one port of 20 a machine, or behind 20 for a rack of 8: 2000 and 4000 us."""
    port = replace(PLAIN, rack=replace(PLAIN.rack, machine_gb_s=20.0))
    assert us("all_reduce", 40e6, TWO, port) == pytest.approx(31 + 2000)
    rack = replace(PLAIN, rack=replace(PLAIN.rack, rack_gb_s=20.0))
    assert us("all_reduce", 40e6, TWO, rack) == pytest.approx(31 + 4000)


def test_racks_are_joined_by_the_network():
    """4 | 4: a step of 50 us each way, 20 GB/s a machine; 4+4 | 4+4: one doubling of 10 us, one of 50."""
    assert us("all_reduce", 40e6, ((4,), (4,))) == pytest.approx(5 + 6 + 100 + 2000)
    assert us("all_reduce", 1e-6, ((4, 4), (4, 4))) == pytest.approx(5 + 6 + 20 + 100)
    assert us("all_gather", 1e-6, ((4,), (4,))) == pytest.approx(26 + 2 * 40)
    ring = replace(PLAIN, bulk_round_us=1.0, bulk=100.0, ll_share=0.01)  # 14 rounds, twice 2 x 40 us, 3500
    assert us("all_reduce", 40e6, ((4,), (4,)), ring) == pytest.approx(5 + 14 + 160 + 3500)
    assert us("send_receive", 40e6, ((4,), (4,))) == pytest.approx(5 + 50 + 16_000)


def test_an_uplink_carries_only_what_leaves_the_rack():
    """16 GPUs, 4+4 | 4+4, an all-to-all of 40 MB: each machine keeps 1/4, sends 1/4 nearby and half further.

    Its port: 4 x (4/16 / 40 + 8/16 / 20) = 0.125 us per KB; an uplink of 20 GB/s: 8 x 8/16 / 20 = 0.2. Half
    of the bandwidth is reached: 10,000 and 16,000 us. Of messages to the next GPU, one leaves each rack:
    40 MB at half of 4 GB/s.
    """
    place, beside = ((4, 4), (4, 4)), 5 + 12 * 7 + 2 * 40
    assert us("all_to_all", 40e6, place) == pytest.approx(beside + 10_000)
    uplink = replace(PLAIN, network=replace(PLAIN.network, rack_gb_s=20.0))
    assert us("all_to_all", 40e6, place, uplink) == pytest.approx(beside + 16_000)
    narrow = replace(PLAIN, network=replace(PLAIN.network, rack_gb_s=4.0))
    assert us("send_receive", 40e6, place, narrow) == pytest.approx(5 + 50 + 20_000)
