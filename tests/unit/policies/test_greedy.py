"""Greedy and GPU-proportional packing, on machines of 4 GPUs, 12 CPUs and 120 bytes."""

from dataclasses import replace

from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.synergy.greedy import Greedy
from artist.policies.synergy.proportional import Proportional
from artist.testing.tiny import on, tiny_cluster
from tests.unit.policies.packings import Amounts, need, packed, view


def test_greedy_gives_the_best_case_or_skips():
    """The second wants 5 of the 3 CPUs that are left: skipped, and the third overtakes it."""
    jobs: list[Amounts] = [(1, 9, 10), (1, 5, 10), (1, 3, 10)]
    assert packed(jobs, mechanism=Greedy()) == [((0, 1, 9, 10),), None, ((0, 1, 3, 10),)]


def test_greedy_leaves_gpus_idle():
    """Two jobs hold all 12 CPUs and one GPU each: the other two GPUs serve none of the rest."""
    assert packed([(1, 6, 10)] * 4, mechanism=Greedy()) == [((0, 1, 6, 10),)] * 2 + [None, None]


def test_greedy_keeps_a_job_that_fits_one_machine_on_one():
    """3 GPUs of each machine are free and 4 are wanted; a job of 5 is larger than any, and goes to two."""
    assert packed([(1, 1, 1), (1, 12, 1), (4, 4, 4)], 2, Greedy())[2] is None
    assert packed([(1, 6, 1), (1, 7, 1), (5, 5, 5)], 2, Greedy())[2] == ((0, 2, 2, 2), (1, 3, 3, 3))


def test_greedy_skips_only_demands_equal_to_refused_ones():
    """The third is like the second; the fourth wants less CPU, the last fewer GPUs."""
    jobs: list[Amounts] = [(2, 6, 10), (2, 8, 10), (2, 8, 10), (2, 7, 10), (1, 6, 10)]
    assert packed(jobs, mechanism=Greedy())[1:] == [None, None, None, ((0, 1, 6, 10),)]
    here = [need(0, (1, 12, 10)), need(1, (1, 9, 10), among=0b01), need(2, (1, 9, 10), among=0b10)]
    assert packed(here, 2, Greedy())[1:] == [None, ((1, 1, 9, 10),)]


def test_greedy_places_whole_units():
    """3 GPUs are free on each machine: 6 in units of 2 would be 2 + 2; without a unit they are 3 + 3."""
    jobs = [need(0, (1, 6, 1)), need(1, (1, 7, 1))]
    six = Demand(6, unit=2), Demand(6)
    jobs += [replace(need(2 + i, (6, 4, 6)), demand=demand) for i, demand in enumerate(six)]
    assert packed(jobs, 2, Greedy())[2:] == [None, ((0, 3, 2, 3), (1, 3, 2, 3))]


def test_proportional_gives_every_job_its_share():
    """3 CPUs and 30 bytes a GPU, whatever the best case; 5 GPUs are 4 of machine 1 and 1 of machine 0."""
    assert packed([(1, 9, 99), (5, 1, 1)], 2, Proportional()) == [
        ((0, 1, 3, 30),),
        ((0, 1, 3, 30), (1, 4, 12, 120)),
    ]


def test_proportional_gives_the_rest_that_cpu_jobs_leave():
    """2 CPUs and 40 bytes are free: the second finds none and 10."""
    free = Free(tiny_cluster(1, 4, cpus=12, memory_bytes=120), [4], [2], [40])
    result = Proportional().pack([need(0, (1, 9, 9)), need(1, (1, 9, 9))], free, view())
    assert result == {0: on((0, 1, 2, 30)), 1: on((0, 1, 0, 10))}
