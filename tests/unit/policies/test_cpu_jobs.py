"""Placement of jobs without GPUs: machines of 8 CPUs and 100 bytes."""

import pytest

from artist.core.buckets import ALL
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.parts.cpu_jobs import place_cpus
from artist.policies.parts.placer import placer_of
from artist.testing.tiny import on, tiny_cluster


def place(free_cpus, free_memory, *, among=ALL, **asked):
    """Return the machine of a job, given the free resources by machine."""
    n = len(free_cpus)
    cluster = tiny_cluster(n, 2, cpus=8, memory_bytes=100)
    return place_cpus(Free(cluster, [0] * n, free_cpus, free_memory), Demand(0, **asked), among)


def test_the_machine_with_most_cpus_that_holds_it_all():
    """3 CPUs: m1 has 5 free, m0 4; with 50 bytes m1, which has 10, does not do."""
    assert place((4, 5), (100, 100), cpus=3) == on((1, 0, 3, 0))
    assert place((4, 5), (100, 10), cpus=3, memory_bytes=50) == on((0, 0, 3, 50))


def test_else_the_fewest_machines_and_memory_by_cpus():
    """6 CPUs: all 5 of m1 and 1 of m0, so 10 and 2 of 12 bytes; one machine alone has no 6."""
    assert place((4, 5), (100, 10), cpus=6, memory_bytes=12) == on((0, 0, 1, 2), (1, 0, 5, 10))
    assert place((4, 5), (100, 10), cpus=6, max_machines=1) is None


def test_memory_goes_where_there_is_some():
    """5 CPUs are 4 + 1, so 20 bytes would be 16 + 4; with 10 bytes free on each they are 10 + 10."""
    assert place((4, 4), (10, 10), cpus=5, memory_bytes=20) == on((0, 0, 4, 10), (1, 0, 1, 10))


def test_more_machines_if_the_fewest_lack_memory():
    """8 CPUs and 100 bytes: m0 and m1 have the CPUs, but 20 bytes; with m2, which has 90 and 2 CPUs, it fits.

    m2, then m0 have most of both (1/4 + 90/100, 4/8 + 10/100), but 6 CPUs; all three have 10 and 110 bytes.
    Each gives one CPU, and of the 5 others by what it has left, 1, 3, 3 of 7: 0, 2, 2, and the last one m2.
    Bytes by what is free, 90, 10, 10 of 110: 81, 9, 9, and the last one m2.
    """
    result = place((4, 4, 2), (10, 10, 90), cpus=8, memory_bytes=100)
    assert result == on((0, 0, 3, 9), (1, 0, 3, 9), (2, 0, 2, 82))
    assert place((4, 4, 2), (10, 10, 90), cpus=8, memory_bytes=100, max_machines=2) is None
    assert place((4, 4, 2), (10, 10, 79), cpus=8, memory_bytes=100) is None  # 99 bytes are all there is


def test_a_machine_without_cpus_lends_no_memory():
    """m1 has all the memory and no CPU: a job holds memory where it runs."""
    assert place((4, 0), (10, 100), cpus=2, memory_bytes=20) is None


@pytest.mark.parametrize(("among", "machine"), [(0b111, 1), (0b101, 2), (0b001, 0)])
def test_only_the_machines_that_may_serve(among, machine):
    """3, 5 and 4 CPUs are free: m1, or else m2, or else m0."""
    assert place((3, 5, 4), (0, 0, 0), among=among, cpus=3) == on((machine, 0, 3))


def test_any_placer_does_so():
    """Choosers are for GPUs; a job without them is placed the same way under each."""
    cluster = tiny_cluster(2, 2, cpus=8)
    free = Free(cluster, [2, 2], [4, 5], [0, 0])
    for name in ("best_fit", "spread"):
        assert placer_of(name, "as_asked").place(free, Demand(0, cpus=3)) == on((1, 0, 3))
