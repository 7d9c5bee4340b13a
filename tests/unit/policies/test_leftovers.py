"""The rest is given to jobs that gain: a part of its CPUs or bytes slows a job, by the scarcer of them."""

from collections.abc import Sequence

from artist.core.cluster import Slice
from artist.policies.synergy.leftovers import HandOut
from artist.testing.tiny import on, tiny_cluster
from tests.unit.policies.packings import Amounts, believed, need

Held = Sequence[tuple[int, int, int, int]]


def handed(jobs: Sequence[Amounts], held: Sequence[Held], cpus: list[int], memory: list[int]) -> list[Held]:
    """Return the slices of jobs once the rest is handed out, with `cpus` and `memory` left."""
    needs = [need(i, job) for i, job in enumerate(jobs)]
    slices = {i: tuple(Slice(*s) for s in item) for i, item in enumerate(held)}
    view = believed(needs, tiny_cluster(2, 4, cpus=24, memory_bytes=240))
    given = HandOut()(needs, slices, cpus, memory, view)
    return [[tuple(s) for s in given[i]] for i in range(len(jobs))]


def test_cpus_only_as_far_as_the_memory_lets_a_job_use_them():
    """40 of its 60 bytes let the first use 8 of its 12 CPUs: of 9 that are left 5, and 4 go to the second."""
    cpus, memory = [9], [0]
    given = handed([(1, 12, 60), (1, 9, 10)], [[(0, 1, 3, 40)], [(0, 1, 3, 10)]], cpus, memory)
    assert given == [[(0, 1, 8, 40)], [(0, 1, 7, 10)]]
    assert (cpus, memory) == ([0], [0])


def test_memory_only_if_the_cpus_make_use_of_it():
    """No CPU is left, so 3 of 12 are served by 30 of 120 bytes; the 30 that are left go to the second."""
    cpus, memory = [0], [30]
    given = handed([(1, 12, 120), (1, 3, 60)], [[(0, 1, 3, 30)], [(0, 1, 3, 30)]], cpus, memory)
    assert given == [[(0, 1, 3, 30)], [(0, 1, 3, 60)]]


def test_memory_and_cpus_where_only_both_together_gain():
    """It can have 6 of 12 CPUs, which use 64 of 128 bytes: 32 more of the 100 that are left."""
    cpus, memory = [3], [100]
    assert handed([(1, 12, 128)], [[(0, 1, 3, 32)]], cpus, memory) == [[(0, 1, 6, 64)]]
    assert (cpus, memory) == ([0], [68])


def test_jobs_alike_are_asked_once():
    """Two jobs that hold and can have the same: one question after the other for the first, none then."""
    needs = [need(i, (1, 12, 60)) for i in range(2)]
    view = believed(needs, tiny_cluster(2, 4, cpus=24, memory_bytes=240))
    asked: list[int] = []
    ask = view.performance.alone
    demand = needs[0].demand
    view.demand = lambda job: demand
    view.performance.alone = lambda jobs, allocations: asked.extend(jobs) or ask(jobs, allocations)
    held = {0: on((0, 1, 3, 40)).slices, 1: on((1, 1, 3, 40)).slices}
    given = HandOut()(needs, held, [9, 9], [0, 0], view)
    assert given == {0: on((0, 1, 8, 40)).slices, 1: on((1, 1, 8, 40)).slices}
    assert set(asked) == {0}
