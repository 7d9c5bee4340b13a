"""CPU-only jobs by machine, their room, and which borrowers are aborted."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from artist.core.cluster import Allocation, Slice
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.coda.cpu_loans import CpuArray, fewest_latest
from artist.testing.tiny import on, tiny_cluster

GIB = 1 << 30


def array_of(machines=2, cpus=16, reserve=12, memory_bytes=0):
    """Return the CPU array of machines of which so many CPUs are reserved."""
    cluster = tiny_cluster(machines, 4, cpus=cpus, memory_bytes=memory_bytes)
    free = Free(cluster, cluster.gpus, cluster.cpus, cluster.memory_bytes)
    return CpuArray(cluster, free, np.full(machines, reserve))


def started(array, *jobs):
    """Start jobs, given as (number, CPUs, whether it borrows), on machine 0."""
    for job, cpus, borrows in jobs:
        array.start(job, "u", Demand(0, cpus=cpus), on((0, 0, cpus)), borrows=borrows)


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=7).flatmap(
        lambda sizes: st.tuples(st.just(sizes), st.integers(1, sum(sizes)))
    )
)
def test_the_fewest_borrowers_go_and_of_equally_many_the_latest(case):
    """All ways to choose are tried: fewest jobs that are enough, then the last one as late as can be, ..."""
    sizes, need = case
    jobs = list(enumerate(sizes))
    ways = (way for n in range(1, len(sizes) + 1) for way in combinations(range(len(sizes)), n))
    enough = [way for way in ways if sum(sizes[job] for job in way) >= need]
    best = min(enough, key=lambda way: (len(way), [-job for job in reversed(way)]))
    assert sorted(fewest_latest(jobs, need)) == list(best)


def test_room_is_the_free_cpus_beyond_the_reserve():
    """16 - 12 = 4 on each of two machines. A GPU job takes 14 of machine 0: 2 are left there."""
    array = array_of()
    array.avail.take(on((0, 2, 14)))
    room = array.room(gpu_jobs_wait=False)
    assert room.find(Demand(0, cpus=4), borrow=False) == on((1, 0, 4))
    assert room.find(Demand(0, cpus=5), borrow=False) is None
    assert room.find(Demand(0, cpus=5), borrow=True) == on((1, 0, 5))
    room.take(on((1, 0, 3)), borrows=False)
    assert room.find(Demand(0, cpus=2), borrow=False) == on((0, 0, 2))
    assert room.find(Demand(0, cpus=13), borrow=True) == on((1, 0, 13))


def test_lent_cpus_leave_the_array_unchanged():
    """12 of 16 are borrowed: 4 are left, of the array as well. 2 more: min(4, 2) = 2."""
    array = array_of(machines=1)
    started(array, (1, 12, True))
    assert array.room(gpu_jobs_wait=False).find(Demand(0, cpus=4), borrow=False) == on((0, 0, 4))
    started(array, (2, 2, True))
    assert array.room(gpu_jobs_wait=False).find(Demand(0, cpus=3), borrow=False) is None


def test_jobs_of_one_call_count_as_those_of_earlier_ones():
    """Of 16 CPUs, 4 of them the array's, one job borrows 10: 4 are still the array's, and 6 to borrow."""
    room = array_of(machines=1).room(gpu_jobs_wait=False)
    room.take(on((0, 0, 10)), borrows=True)
    assert room.find(Demand(0, cpus=4), borrow=False) == on((0, 0, 4))
    room.take(on((0, 0, 4)), borrows=False)
    assert room.find(Demand(0, cpus=1), borrow=False) is None
    assert room.find(Demand(0, cpus=2), borrow=True) == on((0, 0, 2))


def test_memory_must_be_there_as_well():
    """Machine 0 has more CPUs, machine 1 has the memory; a job of neither waits."""
    array = array_of(memory_bytes=8 * GIB)
    array.avail.take(on((0, 1, 0, 6 * GIB), (1, 1, 2, 0)))
    assert array.room(gpu_jobs_wait=False).find(Demand(0, cpus=2), borrow=True) == on((0, 0, 2))
    wants = Demand(0, cpus=2, memory_bytes=4 * GIB)
    assert array.room(gpu_jobs_wait=False).find(wants, borrow=True) == on((1, 0, 2, 4 * GIB))
    assert array.room(gpu_jobs_wait=False).find(Demand(0, cpus=15, memory_bytes=4 * GIB), borrow=True) is None


def test_only_a_job_larger_than_any_machine_is_on_several():
    """20 CPUs of machines with 16: two of them. 16 where 10 are free on each: it waits for one machine."""
    array = array_of(reserve=0)
    assert array.room(gpu_jobs_wait=False).find(Demand(0, cpus=20), borrow=False) == on((0, 0, 16), (1, 0, 4))
    array.avail.take(on((0, 0, 6), (1, 0, 6)))
    assert array.room(gpu_jobs_wait=False).find(Demand(0, cpus=16), borrow=False) is None


def test_borrowers_are_taken_over_in_order_of_start_as_far_as_there_is_room():
    """1 of the array's 4 CPUs is left, 4 when job 9 ends. Job 2 has 3 of these, then 1 is left, for job 4."""
    array = array_of(machines=1)
    started(array, (9, 3, False), (1, 5, True), (2, 3, True), (3, 2, True), (4, 1, True))
    array.stop_borrowing()
    assert [job for job, held in array.jobs.items() if held.borrows] == [1, 2, 3, 4]
    array.end(9)
    array.stop_borrowing()
    assert [job for job, held in array.jobs.items() if held.borrows] == [1, 3]


@pytest.mark.parametrize(("reserve", "borrow"), [(8, []), (13, [1]), (16, [1])])
def test_another_reserve_makes_room_and_no_borrowers(reserve, borrow):
    """Job 0 has the array's 4, job 1 borrows 4. With 8 reserved there is room for both; job 0 stays."""
    array = array_of(machines=1)
    started(array, (0, 4, False), (1, 4, True))
    array.reserved(np.array([reserve]))
    array.stop_borrowing()
    assert [job for job, held in array.jobs.items() if held.borrows] == borrow


def test_a_gpu_job_may_take_lent_cpus_and_aborts_their_borrowers():
    """6 + 4 are borrowed, 2 are of the array: 14 to take, 4 free. 8 are taken: the latest, with 4, goes."""
    array = array_of(machines=1)
    started(array, (0, 2, False), (1, 6, True), (2, 4, True))
    assert array.avail.cpus.tolist() == [14]
    array.avail.take(on((0, 4, 8)))
    assert [job for job, _ in array.abort([0])] == [2]
    assert array.abort([0]) == []
    assert sorted(array.jobs) == [0, 1]


def test_a_borrower_on_several_machines_goes_from_all():
    """It borrows 4 CPUs on each of two; a GPU job that takes all of machine 0 frees 4 on machine 1."""
    array = array_of()
    array.start(1, "u", Demand(0, cpus=8), on((0, 0, 4), (1, 0, 4)), borrows=True)
    array.avail.take(on((0, 4, 16)))
    assert [job for job, _ in array.abort([0])] == [1]
    assert array.room(gpu_jobs_wait=False).find(Demand(0, cpus=16), borrow=True) == on((1, 0, 16))


@pytest.mark.parametrize("borrows", [True, False])
def test_a_job_whose_cores_are_halved_gives_them_back(borrows):
    """8 CPUs become 4 of 16: 12 are free. Another cap changes no CPUs."""
    array = array_of(machines=1, reserve=8)
    started(array, (1, 8, borrows))
    assert array.change(1, on((0, 0, 8), cap=0.5)) == 0
    assert array.change(1, Allocation((Slice(0, 0, 4),), 0.5)) == 4
    assert array.room(gpu_jobs_wait=False).find(Demand(0, cpus=12), borrow=True) == on((0, 0, 12))
    assert array.avail.cpus.tolist() == [16 if borrows else 12]
    array.end(1)
    assert array.room(gpu_jobs_wait=False).find(Demand(0, cpus=16), borrow=True) == on((0, 0, 16))
