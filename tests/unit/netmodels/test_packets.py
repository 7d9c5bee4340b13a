"""Messages as packets, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from netmodels.collectives.packet_transport import way_over

# Two links of 1 byte/ns and 500 ns together: a round trip of 1000 + 2 x 8000 ns, a window of 17,000 bytes.
OWN = way_over(500.0, ((1.0, 1.0), (1.0, 1.0)), windows=True)
# The same behind wider links of the GPUs: 4 of them share 1 byte/ns in the middle.
SHARED = way_over(500.0, ((10.0, 1.0), (1.0, 4.0), (1.0, 4.0), (10.0, 1.0)), windows=True)


def test_a_step_is_a_round_trip_and_stores_a_packet_at_every_hop():
    """1000 bytes: 1036 on the narrow link; 2 x 500 latency, 1036 on the other link, 2 x 48 acknowledged."""
    assert OWN.send_ns(1000) == pytest.approx(1036 + 1000 + 1036 + 96)


def test_every_packet_has_a_header():
    """16,001 bytes are three packets: 3 x 36 more on the narrow link, and one of 8036 on the other."""
    assert OWN.send_ns(16_001) == pytest.approx(16_109 + 1000 + 8036 + 96)


def test_beyond_the_window_a_sender_waits_for_a_packet_a_window():
    """Of 34,000 bytes half lies beyond a window of 17,000: 8000 / 17,000 of that half is waited for."""
    carried = 34_000 + 5 * 36
    assert OWN.send_ns(34_000) - OWN.beside_ns(34_000) == pytest.approx(carried * (1 + 0.5 * 8 / 17))


def test_behind_a_switch_a_full_window_waits_half_a_round_trip():
    """Four flows share the link; half of a message twice its window waits half a transmission."""
    twice = 2 * SHARED.window_bytes
    assert SHARED.queued
    assert SHARED.flows == 4
    assert SHARED.send_ns(twice) - SHARED.beside_ns(twice) == pytest.approx(SHARED.carried_ns(twice) * 4.25)


def test_without_windows_nothing_waits_beyond_them():
    """The same two ways: four messages take four transmissions however long, one takes one."""
    alone, shared = (replace(way, windows=False) for way in (OWN, SHARED))
    long = 20 * SHARED.window_bytes
    assert alone.send_ns(long) - alone.beside_ns(long) == pytest.approx(alone.carried_ns(long))
    assert shared.send_ns(long) - shared.beside_ns(long) == pytest.approx(4 * shared.carried_ns(long))


def test_the_narrowest_link_is_narrowest_for_each_of_its_flows():
    """8 GPUs on 4 byte/ns have half a byte each: less than their own 1, so they queue in the switch."""
    way = way_over(0.0, ((1.0, 1.0), (4.0, 8.0), (4.0, 8.0), (1.0, 1.0)))
    assert (way.bytes_per_ns, way.flows, way.queued) == (4.0, 8.0, True)


def test_an_array_of_messages_is_priced_as_one_by_one():
    """Iterations ask for all their sizes at once."""
    sizes = np.array([1, 7999, 8000, 8001, 10**6])
    assert SHARED.send_ns(sizes).tolist() == pytest.approx([SHARED.send_ns(size) for size in sizes.tolist()])
