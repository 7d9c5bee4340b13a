"""Max-min fair rates, by hand."""

from math import inf

import numpy as np
import pytest

from netmodels.contention.max_min import Incidence, fair
from tests.unit.netmodels.sharing.crossings import crossings


def rates(jobs, capacities, weights=None, limits=None):
    """Return the rates of jobs that are given as flows by link, or as links with one flow each."""
    flows = [spec if isinstance(spec, dict) else dict.fromkeys(spec, 1) for spec in jobs]
    arrays = [None if value is None else np.array(value, dtype=float) for value in (weights, limits)]
    return fair(crossings(flows, len(capacities)), np.array(capacities, dtype=float), *arrays).tolist()


def test_two_equal_jobs_share_a_link_evenly():
    """10 bytes/ns and two jobs: 5 each."""
    assert rates([[0], [0]], [10]) == [5, 5]


def test_a_job_limited_on_another_link_leaves_its_share():
    """Three jobs on 12: 4 each, but one has a link of 2, so the other two get (12 - 2) / 2 = 5."""
    assert rates([[0, 1], [0], [0]], [12, 2]) == [2, 5, 5]


def test_remaining_bandwidth_cascades():
    """Links 2, 6, 20: A crosses 0 and 1, gets 2; B, on 1 and 2, 6 - 2 = 4; C, on 2, 20 - 4 = 16."""
    assert rates([[0, 1], [1, 2], [2]], [2, 6, 20]) == [2, 4, 16]


def test_the_textbooks_chain():
    """A long job over two links of 1, one and two short ones: 1/3 for all on the second, 2/3 on the first."""
    assert rates([[0, 1], [0], [1], [1]], [1, 1]) == pytest.approx([1 / 3, 2 / 3, 1 / 3, 1 / 3])


def test_jobs_on_disjoint_links_do_not_meet():
    """Each has its narrowest link: 3 of (3, 7) and 5."""
    assert rates([[0, 1], [2]], [3, 7, 5]) == [3, 5]


def test_shares_follow_weights():
    """1 to 3 of 8: 2 and 6; behind a link of 3 the heavier one leaves 8 - 3 = 5."""
    assert rates([[0], [0]], [8], weights=[1, 3]) == [2, 6]
    assert rates([[0], [0, 1]], [8, 3], weights=[1, 3]) == [5, 3]


def test_every_flow_takes_the_rate_of_its_job():
    """Two flows of A and one of B fill 9: a flow has 3; A's second link carries half a flow, 1.5 of 2."""
    assert rates([{0: 2, 1: 0.5}, {0: 1}], [9, 2]) == [3, 3]
    assert rates([{0: 2, 1: 0.5}, {0: 1}], [9, 1]) == [2, 5]


def test_a_link_that_is_crossed_twice_is_shared_twice():
    """As two flows: of 6, a job that goes over the link and back gets 2 each way beside another's 2."""
    incidence = Incidence.of(np.array([0, 2, 3]), np.array([0, 0, 0]), 1)
    assert fair(incidence, np.array([6.0])).tolist() == [2, 2]


def test_a_limit_leaves_the_rest_to_others():
    """Of 10, A sends 2 at most, so B gets 8; without other jobs or links a limit is the rate."""
    assert rates([[0], [0]], [10], limits=[2, inf]) == [2, 8]
    assert rates([[0], [0]], [10], weights=[4, 1], limits=[2, 20]) == [2, 8]
    assert rates([[]], [10], limits=[3]) == [3]


def test_an_infinite_link_limits_no_job():
    """Alone it gives infinity; before a link of 4 shared by two, 2 each."""
    assert rates([[0], [0, 1], [1]], [inf, 4]) == [inf, 2, 2]
    assert rates([[0], [0]], [inf]) == [inf, inf]


def test_a_job_without_links_is_not_limited():
    """First, in the middle and last, beside jobs that share 6."""
    assert rates([[], [0], [], [0], []], [6]) == [inf, 3, inf, 3, inf]
    assert rates([], [6]) == []


def test_a_link_without_jobs_changes_nothing():
    """Links 0 and 2 carry no job, one of them has no capacity; only used links are kept."""
    assert rates([[1], [1]], [0, 10, 1]) == [5, 5]
    assert crossings([{1: 1}, {1: 1}], 3).used.tolist() == [1]


def test_a_link_without_capacity_stops_its_jobs():
    """A crosses it and gets 0; B has the other link to itself."""
    assert rates([[0, 1], [1]], [0, 6]) == [0, 6]


def test_no_flow_on_a_link_is_no_crossing():
    """A's bytes do not go over the full link: 6 for B, and nothing limits A."""
    assert rates([{0: 0}, {0: 1}], [6]) == [inf, 6]


def test_an_incidence_serves_any_capacities():
    """Kept between calls: 10 and 12 with the same crossings, and the arrays that went in are as before."""
    incidence, capacities = crossings([{0: 1}, {0: 1}], 1), np.array([10.0])
    assert fair(incidence, capacities).tolist() == [5, 5]
    assert fair(incidence, np.array([12.0])).tolist() == [6, 6]
    assert fair(incidence, capacities, limits=np.array([1.0, 2.0])).tolist() == [1, 2]
    assert capacities.tolist() == [10]


def test_a_chain_of_rising_links_fills_from_its_narrow_end():
    """Jobs on links i and i + 1: A and B share the second, 3 / 2; C has 5 - 1.5 = 3.5, D 8 - 3.5 = 4.5."""
    assert rates([[0, 1], [1, 2], [2, 3], [3, 4]], [2, 3, 5, 8, 12]) == [1.5, 1.5, 3.5, 4.5]
