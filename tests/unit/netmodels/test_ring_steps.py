"""A ring's messages, followed by hand."""

import numpy as np
import pytest

from netmodels.collectives.packet_transport import way_over
from netmodels.collectives.ring_steps import Steps, queueing_ns, representative, round_ns, steps_ns
from netmodels.collectives.rings import Block

STEPS = Steps(2, 0.0, 0.0)
FAST = way_over(0.0, ((1e6, 1.0), (1e6, 1.0)))


def block(gpus, bytes_per_ns=1.0, latency_ns=0.0, windows=True):
    """Return a block whose crossing is narrow behind a switch, and whose inner links take no time."""
    links = ((1e6, 1.0), (bytes_per_ns, 1.0), (1e6, 1.0))
    return Block(gpus, FAST, way_over(latency_ns, links, windows=windows))


def carried_ns(message):
    """Return the transmission of a message at 1 byte/ns, which is long beside its window of 8000 bytes."""
    return float(block(1).out.carried_ns(message))


MESSAGE = 8_000_000.0


def uneven(*gpus):
    """Return the time of an all-reduce over such blocks, in transmissions of a message."""
    blocks = tuple(map(block, gpus))
    return round_ns(blocks, MESSAGE, 2 * (sum(gpus) - 1), STEPS) / carried_ns(MESSAGE)


def test_a_machine_that_has_many_messages_lets_the_next_one_starve():
    """Of 8 GPUs, all with the same crossing: the more uneven, the later. 4+4 keeps both crossings busy.

    14 messages over each crossing take 14 transmissions, and half of one more for each 4 messages, whose
    windows are acknowledged through the other's queue: 14 x 4.5 / 4 = 15.75. Of 7+1 the 7 messages of one
    machine end together after 7; meanwhile the other's crossing carried one.
    """
    times = [uneven(4, 4), uneven(5, 3), uneven(6, 2), uneven(7, 1)]
    assert times == sorted(times)
    assert len(set(times)) == 4
    assert times[0] == pytest.approx(14 * 4.5 / 4, rel=0.06)
    assert times[0] > 14
    assert 1.3 * times[0] < times[3] < 2 * 14


def test_without_windows_messages_queue_and_even_rings_lose_nothing():
    """8 GPUs: of 4+4 each crossing carries 14 messages without a break. 7+1 still starves the one behind 1.

    Its crossing carries one message, and has the next when the first of the other seven is through: after 2
    of 7 the two crossings follow each other, 7 and 1 in turn, but in order of arrival, so less is lost.
    """
    times = [
        round_ns(tuple(block(gpu, windows=False) for gpu in gpus), MESSAGE, 14, STEPS) / carried_ns(MESSAGE)
        for gpus in ((4, 4), (7, 1))
    ]
    assert times[0] == pytest.approx(14, rel=0.01)
    assert times[0] < times[1] < uneven(7, 1)


def test_messages_within_the_window_queue_one_after_the_other():
    """A window of 2 x 10^6 ns x 1 byte/ns holds a message of 8000 bytes: 4+4 keep to the order of arrival.

    A message's step takes one round trip of 2 x 10^6 and nothing to speak of besides: 4 steps of 14 cross.
    """
    blocks = (block(4, latency_ns=1e6), block(4, latency_ns=1e6))
    assert round_ns(blocks, 8000.0, 14, STEPS) == pytest.approx(4 * 2e6, rel=0.03)


def test_latency_is_that_of_the_slowest_way_round():
    """2+2 with inner hops of 100 and crossings of 1000 ns, both ways: of 6 steps 3 are crossings at most."""
    inside = way_over(50.0, ((1e9, 1.0), (1e9, 1.0)))
    across = way_over(500.0, ((1e9, 1.0), (1e9, 1.0)))
    blocks = (Block(2, inside, across),) * 2
    assert round_ns(blocks, 0.0, 6, STEPS) == pytest.approx(3 * 100 + 3 * 1000, rel=1e-3)


def test_a_delay_is_paid_at_the_start_and_with_every_step():
    """10 ns a GPU: 6 steps and a start."""
    blocks = (Block(4, FAST, FAST),)
    with_, without = (round_ns(blocks, 0.0, 6, Steps(2, delay, 0.0)) for delay in (10.0, 0.0))
    assert with_ - without == pytest.approx(70)


def test_a_ring_that_repeats_itself_is_followed_for_one_period():
    """All blocks alike: one. 5, 3, 5, 3: two."""
    assert representative((block(8),) * 25) == (block(8),)
    assert representative((block(5), block(3)) * 4) == (block(5), block(3))


def test_a_long_ring_is_stood_for_by_fewer_blocks():
    """200 machines of 5 GPUs or so: few blocks, the smallest among them, in the order of the ring."""
    blocks = tuple(block(5 + place * 7 % 4 + place % 3, 1 + place) for place in range(200))
    few = representative(blocks)
    assert 2 <= len(few) <= 20
    assert blocks[0] in few
    assert list(few) == sorted(few, key=lambda value: value.out.bytes_per_ns)
    assert representative(blocks[:4]) == blocks[:4]


def test_a_substitute_ring_costs_nearly_the_same():
    """8 x 8 GPUs and 5: 5 blocks stand for 9 within a tenth."""
    blocks = (*[block(8, latency_ns=5000.0)] * 8, block(5, latency_ns=5000.0))
    for message in (1e4, 1e6):
        whole = round_ns(blocks, message, 2 * 68, STEPS)
        assert steps_ns(blocks, STEPS, np.array([message]))[0] == pytest.approx(whole, rel=0.12)


def test_a_long_ring_waits_for_each_of_its_own_links():
    """8 machines of 8 GPUs and, over two hops of 9000 ns, one of 3: 7 crossings of 3000, 58 inner of 100.

    67 GPUs x 9 blocks: 5 blocks stand for them, the two far crossings among them. 132 steps without bytes
    are twice round, but for two inner hops: 2 x (2 x 9000 + 7 x 3000 + 58 x 100) - 2 x 100 = 89,400 ns.
    """

    def way(round_trip_ns):
        return way_over(round_trip_ns / 2, ((1e9, 1.0), (1e9, 1.0)))

    inside, near, far = way(100.0), way(3000.0), way(9000.0)
    blocks = (*[Block(8, inside, near)] * 7, Block(8, inside, far), Block(3, inside, far))
    assert len(representative(blocks)) == 5
    (result,) = steps_ns(blocks, STEPS, np.array([0.0]))
    assert result == pytest.approx(2 * (2 * 9000 + 7 * 3000 + 58 * 100) - 2 * 100, rel=1e-3)


def test_more_bytes_are_never_faster():
    """Between and beyond the sizes that are followed, for an uneven ring."""
    sizes = np.geomspace(1, 1e10, 400)
    times = steps_ns((block(5, latency_ns=1e5), block(3, latency_ns=1e5)), STEPS, sizes)
    assert (np.diff(times) >= 0).all()


def test_interpolated_times_are_near_followed_ones():
    """5+3 at sizes in between."""
    blocks = (block(5, latency_ns=1e5), block(3, latency_ns=1e5))
    for message in (1e3, 2e4, 4e5, 1e6, 1e7):
        followed = round_ns(blocks, message, 14, STEPS)
        assert steps_ns(blocks, STEPS, np.array([message]))[0] == pytest.approx(followed, rel=0.12)


def test_bunches_in_closed_form_meet_the_bound_and_the_chain():
    """4+4 without windows: 14 messages through each crossing, and of the last one's 14 hops 4 are crossings.

    14.6 = sqrt(14^2 + 4^2) transmissions; by simulation 14. 1+1 has no bunch: the larger, 2 and 2 crossings.
    """
    sizes = np.array([MESSAGE])
    for gpus, expected in ((4, (14**2 + 4**2) ** 0.5), (1, 2)):
        (time_ns,) = queueing_ns((block(gpus, windows=False),) * 2, STEPS, sizes)
        assert time_ns / carried_ns(MESSAGE) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("form", [steps_ns, queueing_ns])
def test_racks_of_two_single_gpus_wait_for_the_links_between_racks(form):
    """Three racks of 1+1, hops of 100 ns in a rack and 1000 between.

    Ten hops of an all-reduce without bytes are five of each, 5,500 ns; five of an all-gather are three
    between racks and two in them, 3,200.
    """
    near, far = (way_over(latency_ns, ((1e9, 1.0), (1e9, 1.0))) for latency_ns in (50.0, 500.0))
    blocks = (Block(1, near, near), Block(1, near, far)) * 3
    for rounds, expected in ((2, 5500), (1, 3200)):
        (time_ns,) = form(blocks, Steps(rounds, 0.0, 0.0), np.array([0.0]))
        assert time_ns == pytest.approx(expected, rel=2e-3)
