"""Shares by fixed windows, by hand."""

from math import inf

import numpy as np
import pytest

from netmodels.packets import HEADER_BYTES, PAYLOAD_BYTES, way_over
from netmodels.sharing.max_min import fair
from netmodels.sharing.windows import by_windows
from tests.unit.netmodels.sharing.crossings import crossings


def rates(jobs, capacities, windows, round_trips_ns):
    """Return the rates of jobs that are given as flows by link, or as links with one flow each."""
    flows = [each if isinstance(each, dict) else dict.fromkeys(each, 1) for each in jobs]
    arrays = (np.array(each, dtype=float) for each in (capacities, windows, round_trips_ns))
    return by_windows(crossings(flows, len(capacities)), *arrays).tolist()


def test_a_lone_job_sends_its_window_every_round_trip():
    """207,450 bytes a round trip of 22,427 ns, acknowledgements included: 9.25 bytes/ns, 74 of 100 Gb/s.

    That is what ASTRA-sim's ns-3 measures for a ring of four GPUs; max-min would fill the link.
    """
    (alone,) = rates([[0, 1]], [12.5, 12.5], [207_450], [22_427])
    assert alone == 207_450 / 22_427
    assert 8 * alone == pytest.approx(74, abs=0.01)


def test_two_equal_jobs_fill_a_link_that_one_does_not():
    """Each offers 9.25 of 12.5: 6.25 each, so a message takes 9.25 / 6.25 = 1.48 times as long, not twice."""
    assert rates([[0], [0]], [12.5], [207_450] * 2, [22_427] * 2) == pytest.approx([6.25, 6.25])


def test_shares_of_a_full_link_follow_windows():
    """Windows 100, 300 and equal round trips of 10: 40 offered, 8 to share, 2 and 6."""
    assert rates([[0], [0]], [8], [100, 300], [10, 10]) == pytest.approx([2, 6])


def test_a_longer_round_trip_costs_its_share():
    """Both have 60 bytes in flight; at a wait of 10 the loops are 15 and 30 ns: 4 + 2 fill 6."""
    assert rates([[0], [0]], [6], [60, 60], [5, 20]) == pytest.approx([4, 2])


def test_a_job_waits_in_every_queue_on_its_way():
    """Windows 8, round trips 1, two links of 20 / 3: at waits of 1 the long job has 8 / 3, each other 8 / 2.

    Max-min would give all three 10 / 3.
    """
    jobs, capacities = [[0, 1], [0], [1]], [20 / 3, 20 / 3]
    assert rates(jobs, capacities, [8, 8, 8], [1, 1, 1]) == pytest.approx([8 / 3, 4, 4])


def test_a_link_that_is_not_full_has_no_queue():
    """Link 0 holds A at 2 and B at 2; on link 1 C offers 3, and 2 + 3 fit into 10."""
    assert rates([[0, 1], [0], [1]], [4, 10], [8, 8, 3], [1, 1, 1]) == pytest.approx([2, 2, 3])


def test_a_link_relieved_by_another_has_no_queue():
    """A and B offer 8 + 8: too much for links of 4 and 9, but the first leaves 4 for the second."""
    assert rates([[0, 1], [0, 1]], [4, 9], [8, 8], [1, 1]) == pytest.approx([2, 2])


def test_two_links_that_the_same_jobs_fill_count_once():
    """Only the sum of their waits is known: 8 / (1 + 3) each on two links of 4."""
    assert rates([[0, 1], [0, 1]], [4, 4], [8, 8], [1, 1]) == pytest.approx([2, 2])


def test_a_job_with_more_flows_takes_more():
    """Three flows of A beside one of B, all alike, on 8: 2 a flow, 6 for A's three."""
    assert rates([{0: 3}, {0: 1}], [8], [50, 50], [5, 5]) == pytest.approx([2, 2])


def test_infinite_absent_and_empty_links():
    """No, an infinite or an own link: window / round trip; without capacity 0, and the others as if alone."""
    assert rates([[], [0], [1]], [inf, 9], [6, 6, 6], [2, 2, 2]) == [3, 3, 3]
    assert rates([[0, 1], [1], [1]], [0, 8], [9, 40, 40], [1, 1, 1]) == pytest.approx([0, 4, 4])
    assert rates([], [3], [], []) == []


def test_no_flow_on_a_link_is_no_crossing():
    """A's bytes go over neither the link without capacity nor the full one: 9 / 1, and 6 for B."""
    assert rates([{0: 0, 1: 0}, {1: 1}], [0, 6], [9, 9], [1, 1]) == pytest.approx([9, 6])


def test_a_narrow_port_beside_two_others():
    """A's port has 25 Gb/s, the uplink of all three 100: ns-3 measures 13.8 and 41.3 twice; windows' shares.

    7 us each way over six links; senders fill up whole packets: A 57,863 bytes, 8 packets; 207,450, 26.
    Within 10 % of the measurement, where max-min is 81 % off: 25 and (99.4 - 25) / 2 = 37.2.
    """
    capacity = 12.5 * PAYLOAD_BYTES / (PAYLOAD_BYTES + HEADER_BYTES)
    gpu, port = (450.0, 1.0), (12.5, 1.0)
    narrow = way_over(7000.0, (gpu, (3.125, 1.0), port, port, port, gpu), windows=True)
    usual = way_over(7000.0, (gpu, port, port, port, port, gpu), windows=True)
    ways = (narrow, usual, usual)
    windows = [-(-way.window_bytes // PAYLOAD_BYTES) * PAYLOAD_BYTES for way in ways]
    assert windows == [64_000, 208_000, 208_000]
    trips_ns = [way.window_bytes / way.bytes_per_ns for way in ways]
    jobs, capacities = [[0, 1], [1], [1]], [capacity / 4, capacity]
    found = 8 * np.array(rates(jobs, capacities, windows, trips_ns))
    assert found == pytest.approx([13.8, 41.3, 41.3], rel=0.1)
    incidence = crossings([dict.fromkeys(each, 1) for each in jobs], 2)
    assert 8 * fair(incidence, np.array(capacities)) == pytest.approx([24.9, 37.3, 37.3], abs=0.05)


def test_what_goes_in_stays_as_it_was():
    """Windows of jobs without capacity are set to 0 in a copy only."""
    capacities, windows, trips_ns = np.array([0.0]), np.array([5.0]), np.array([1.0])
    assert by_windows(crossings([{0: 1}], 1), capacities, windows, trips_ns).tolist() == [0]
    assert (capacities[0], windows[0], trips_ns[0]) == (0, 5, 1)
