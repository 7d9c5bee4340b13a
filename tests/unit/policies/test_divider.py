"""CPUs and memory of jobs whose GPUs are placed: the integer program by connected machines."""

from collections.abc import Mapping

import pytest

from artist.core.cluster import Allocation
from artist.policies.synergy.divider import Placed, divide
from artist.policies.synergy.points import Point
from artist.testing.tiny import on, tiny_cluster

STILL = (Point(1, 10, 1.0),)  # no faster with more
KEEN = (Point(3, 10, 1.0), Point(4, 10, 1.3), Point(6, 10, 1.9))
KEEN_PAIR = (Point(6, 20, 2.0), Point(8, 20, 2.6), Point(12, 20, 3.8))  # the same on two GPUs


def held(
    *jobs: tuple[tuple[Point, ...], Mapping[int, int]], cpus: int = 6, memory: int = 100
) -> list[Allocation]:
    """Return the jobs' holdings on machines of 2 GPUs."""
    cluster = tiny_cluster(4, 2, cpus=cpus, memory_bytes=memory)
    placed = [Placed(10 - number, points, where) for number, (points, where) in enumerate(jobs)]
    result = divide(placed, dict.fromkeys(range(4), (cpus, memory)), cluster)
    assert list(result) == [item.job for item in placed]
    return list(result.values())


def test_machines_are_divided_each_for_itself():
    """6 CPUs a machine: 1 + 4 (6 do not fit beside 1), while 3 + 3 is all that two keen ones can have."""
    assert held((STILL, {0: 1}), (KEEN, {0: 1}), (KEEN, {1: 1}), (KEEN, {1: 1})) == [
        on((0, 1, 1, 10)),
        on((0, 1, 4, 10)),
        on((1, 1, 3, 10)),
        on((1, 1, 3, 10)),
    ]


def test_a_job_on_two_machines_ties_them_together():
    """6 CPUs a machine: 1 + 4 on each is 8 for the pair, worth 2.6; 12 would need 6 + 1 = 7 on each."""
    assert held((STILL, {0: 1}), (KEEN_PAIR, {0: 1, 1: 1}), (STILL, {1: 1})) == [
        on((0, 1, 1, 10)),
        on((0, 1, 4, 10), (1, 1, 4, 10)),
        on((1, 1, 1, 10)),
    ]


def test_machines_are_tied_through_others():
    """Two pairs in a row, 7 CPUs a machine: 3 + 4 in the middle, 2.0 + 2.7; singly both would take 4."""
    keener = (*KEEN_PAIR[:1], Point(8, 20, 2.7))
    given = held((KEEN_PAIR, {0: 1, 1: 1}), (keener, {1: 1, 2: 1}), cpus=7)
    assert given == [on((0, 1, 3, 10), (1, 1, 3, 10)), on((1, 1, 4, 10), (2, 1, 4, 10))]


def test_the_first_of_equal_jobs_get_more():
    """7 CPUs for two keen jobs: 4 + 3, the 4 for the first in order, whatever its number."""
    assert held((KEEN, {2: 1}), (KEEN, {2: 1}), cpus=7) == [on((2, 1, 4, 10)), on((2, 1, 3, 10))]


def test_a_part_of_a_job_is_rounded_up_but_the_least_not_beyond_its_share():
    """10 CPUs for 3 GPUs: ceil(20 / 3) = 7 and ceil(10 / 3) = 4; of its least, 9 of 10 per 3, 6 and 3."""
    points = (Point(9, 30, 3.0), Point(10, 30, 3.1))
    assert held((points, {0: 2, 1: 1}), cpus=7) == [on((0, 2, 7, 20), (1, 1, 4, 10))]
    assert held((points, {0: 2, 1: 1}), cpus=6) == [on((0, 2, 6, 20), (1, 1, 3, 10))]


def test_a_least_that_cannot_be_divided_stays_within_the_share_of_each_machine():
    """5 CPUs a machine of 2 GPUs: 7 for 3 GPUs is 5 + 2 by shares; rounded up the 2 would be 3."""
    assert held(((Point(7, 30, 3.0),), {0: 2, 1: 1}), cpus=5) == [on((0, 2, 5, 20), (1, 1, 2, 10))]


def test_where_too_little_is_free_jobs_get_their_minimum_in_order():
    """Others left 4 CPUs: 3 for the first keen job, 1 for the second; no error, a plan that fits."""
    cluster = tiny_cluster(1, 2, cpus=6, memory_bytes=100)
    placed = [Placed(0, KEEN, {0: 1}), Placed(1, KEEN, {0: 1})]
    assert divide(placed, {0: (4, 15)}, cluster) == {0: on((0, 1, 3, 10)), 1: on((0, 1, 1, 5))}


@pytest.mark.parametrize("memory", [100, 25])
def test_memory_is_divided_as_cpus_are(memory: int):
    """Worth 2 with 15 bytes, 1 with 10: 100 are enough for both, 25 for one."""
    points = (Point(1, 10, 1.0), Point(1, 15, 2.0))
    given = held((points, {0: 1}), (points, {0: 1}), memory=memory)
    assert given == [on((0, 1, 1, 15)), on((0, 1, 1, 15 if memory == 100 else 10))]
