"""CODA's arrays: where jobs start, who borrows and who gives back, worked out by hand.

Machines have 4 GPUs and 16 CPUs. Where nothing else is said GPU jobs get the CPUs that they ask for, steps of
the allocator are longer than the runs, and a job that is stopped starts over.
"""

from dataclasses import replace

import pytest

from artist.core.cluster import CapacityEvent
from artist.core.events import Change, Start, Stop
from artist.engine.overheads import Overheads
from artist.policies.coda.policy import Coda
from artist.testing.conformance import cpu_job
from artist.testing.tiny import job, run_checked, seconds, tiny_cluster
from artist.units import NS_PER_S

START_OVER = Overheads(on_stop="lose_all")
REQUESTED = {"allocator": "requested", "eliminator": "off"}


def run(jobs, machines=2, *, gpus=4, cpus=16, events=(), **parameters):
    """Return the result, and what happens to jobs: (time in s, name, GPUs and CPUs by machine), or a word."""
    cluster = tiny_cluster(machines, gpus, cpus=cpus)
    policy = Coda(**REQUESTED | parameters)
    result, log = run_checked(jobs, cluster, policy, overheads=START_OVER, capacity_events=events)
    told = []
    for event in log:
        if isinstance(event, Start | Change):
            what = {s.machine: (s.gpus, s.cpus) for s in event.allocation.slices}
            told.append((event.time_ns / 1e9, result.jobs[event.job].job_id, what))
            if isinstance(event, Change):
                told[-1] = (*told[-1], event.type)
        elif isinstance(event, Stop):
            told.append((event.time_ns / 1e9, result.jobs[event.job].job_id, event.reason))
    return result, told


def gpu(name, gpus, seconds=100, at=0, cpus=None, **demand):
    """Return a GPU job that asks for a CPU a GPU."""
    return job(name, gpus, seconds, at, cpus=gpus if cpus is None else cpus, **demand)


def cpu(name, cpus, seconds=100, at=0, **demand):
    """Return a job without GPUs."""
    return cpu_job(name, cpus, seconds, at, **demand)


def of(told, name):
    """Return the events of one job, without its name."""
    return [(event[0], *event[2:]) for event in told if event[1] == name]


# --- sub-arrays


def test_each_kind_starts_in_its_own_sub_array():
    """Machine 0 is for jobs of 4 GPUs, machine 1 for others: the small one passes the lower number by."""
    _, told = run([gpu("small", 1), gpu("large", 4, at=1)], large_machines=1)
    assert told == [(0, "small", {1: (1, 1)}), (1, "large", {0: (4, 4)})]
    _, told = run([gpu("small", 1), gpu("large", 4, at=1)], arrays=False)
    assert told == [(0, "small", {0: (1, 1)}), (1, "large", {1: (4, 4)})]


def test_small_jobs_borrow_from_the_4_gpu_sub_array():
    """3 + 1 GPUs fill machine 1: the next one goes to machine 0."""
    _, told = run([gpu("a", 3), gpu("b", 1, at=1), gpu("c", 1, at=2)], large_machines=1)
    assert told == [(0, "a", {1: (3, 3)}), (1, "b", {1: (1, 1)}), (2, "c", {0: (1, 1)})]


def test_large_jobs_borrow_from_the_1_gpu_sub_array():
    """Machine 0 is taken: the second large job goes to machine 1, the third waits to 100 s."""
    _, told = run([gpu(name, 4, at=at) for at, name in enumerate("abc")], large_machines=1)
    assert told == [(0, "a", {0: (4, 4)}), (1, "b", {1: (4, 4)}), (100, "c", {0: (4, 4)})]


def test_a_job_is_spread_only_if_no_sub_array_has_it_on_one_machine():
    """Two of machine 0's GPUs are free and all of machine 1's: 3 GPUs come from 1, though it is borrowed."""
    small = {"large_machines": 1, "large_gpus": 3}
    _, told = run([gpu("a", 4), gpu("b", 2, at=1), gpu("c", 3, 50, at=2)], machines=3, **small)
    assert told[2] == (2, "c", {2: (3, 3)})
    _, told = run([gpu("a", 4), gpu("b", 2, at=1), gpu("c", 4, 50, at=2)], machines=2, **small)
    assert told[2] == (100, "c", {0: (4, 4)})
    jobs = [gpu("a", 4), gpu("b", 2, at=1), gpu("c", 3, 90, at=1), gpu("d", 3, 50, at=3)]
    assert of(run(jobs, machines=3, **small)[1], "d") == [(3, {1: (2, 2), 2: (1, 1)})]


def test_a_place_on_one_machine_of_the_other_sub_array_is_better_than_two_of_its_own():
    """Machines 0 and 1, for jobs of 2 GPUs and more, have 1 GPU left each; machine 2 has 4."""
    jobs = [gpu("a", 3), gpu("b", 3, at=1), gpu("c", 2, 50, at=3)]
    _, told = run(jobs, machines=3, large_machines=2, large_gpus=2)
    assert of(told, "c") == [(3, {2: (2, 2)})]


def test_a_job_larger_than_both_sub_arrays_has_machines_of_both():
    """8 GPUs are machine 0 and machine 1, one of each sub-array."""
    _, told = run([gpu("l", 8)], large_machines=1)
    assert told == [(0, "l", {0: (4, 4), 1: (4, 4)})]


# --- taking back


def test_a_large_job_reclaims_cpus_lent_to_small_jobs():
    """Machine 1 is full, c borrows from 0. B is done at 10 s; at 11 s c moves to 1, and l has all of 0."""
    jobs = [gpu("a", 3), gpu("b", 1, 10, 0.5), gpu("c", 1, 30, 1), gpu("l", 4, 20, 11)]
    result, told = run(jobs, large_machines=1)
    assert of(told, "c") == [(1, {0: (1, 1)}), (11, {1: (1, 1)}, "migrate")]
    assert of(told, "l") == [(11, {0: (4, 4)})]
    assert seconds(result, "finish_ns") == [100, 10.5, 31, 31]


def test_nothing_moves_where_there_is_no_room_for_it():
    """The same with b to 40 s: c stays where it is, and l starts when it is done at 31 s."""
    jobs = [gpu("a", 3), gpu("b", 1, 40, 0.5), gpu("c", 1, 30, 1), gpu("l", 4, 20, 11)]
    _, told = run(jobs, large_machines=1)
    assert of(told, "c") == [(1, {0: (1, 1)})]
    assert of(told, "l") == [(31, {0: (4, 4)})]


def test_small_jobs_take_nothing_back():
    """2 GPUs are free on each machine: 3 more are spread, though b, on machine 0, could move to machine 1."""
    jobs = [gpu("a", 2), gpu("full", 2, 10), gpu("b", 2, 90, 1), gpu("c", 3, 20, 11)]
    _, told = run(jobs, large_machines=1)
    assert of(told, "b") == [(1, {0: (2, 2)})]
    assert of(told, "c") == [(11, {0: (2, 2), 1: (1, 1)})]


def test_large_jobs_do_not_move():
    """B, of 2 GPUs, is large here, and at home on machine 0: l waits, though b could go to machine 1."""
    jobs = [gpu("a", 1), gpu("b", 2, 90, 1), gpu("l", 4, 20, 11, max_machines=1)]
    _, told = run(jobs, large_machines=1, large_gpus=2)
    assert of(told, "b") == [(1, {0: (2, 2)})]
    assert of(told, "l") == [(91, {0: (4, 4)})]


@pytest.mark.parametrize(
    ("gpus", "need", "moved"),
    [
        ((1, 2), 4, ["s1"]),  # 2 of 5 are idle, 2 more are needed: s1 alone, not s0 and a part of s1
        ((1, 1, 1), 4, ["s1", "s2"]),  # 2 are idle: two of the three, those that started last
        ((1, 1), 4, ["s1"]),  # 3 are idle: one of them, the last one
        ((2, 1), 3, ["s1"]),  # 2 are idle: one is enough, and s1 is no larger than needed
    ],
)
def test_the_fewest_small_jobs_move(gpus, need, moved):
    """Small jobs borrow from machine 0. On machine 1, full at first, 3 or 2 of 5 GPUs are idle from 10 s."""
    jobs = [gpu("stays", 2), gpu("goes", 2, 10), gpu("other", 1, 10 if need == 4 else 100)]
    jobs += [gpu(f"s{i}", count, 50, 1 + i / 10) for i, count in enumerate(gpus)]
    _, told = run([*jobs, gpu("l", need, 20, 11)], gpus=5, large_machines=1, large_gpus=need)
    assert of(told, "l") == [(11, {0: (need, need)})]
    assert sorted(event[1] for event in told if event[-1] == "migrate") == moved


def test_the_machine_with_the_fewest_to_move_is_cleared():
    """Of the two machines of the sub-array one has two small jobs, the other, with a higher number, one."""
    jobs = [gpu("stays", 1), gpu("full", 3, 10), gpu("a", 1, 50, 1), gpu("b", 1, 50, 2), gpu("c", 3, 50, 3)]
    _, told = run([*jobs, gpu("l", 4, 20, 11)], machines=3, large_machines=2)
    assert [of(told, name)[0] for name in "abc"] == [(1, {0: (1, 1)}), (2, {0: (1, 1)}), (3, {1: (3, 3)})]
    assert of(told, "c")[1:] == [(11, {2: (3, 3)}, "migrate")]
    assert of(told, "l") == [(11, {1: (4, 4)})]


def test_a_job_of_several_machines_takes_back_too():
    """8 GPUs need machines 0 and 1. A small job on 1 moves to machine 2, whose jobs are done at 10 s."""
    jobs = [gpu("full", 3, 10), gpu("half", 1, 10, 0.5), gpu("low", 4, 10, 1), gpu("s", 3, 50, 2)]
    _, told = run([*jobs, gpu("l", 8, 20, 12)], machines=3, large_machines=2)
    assert of(told, "s") == [(2, {1: (3, 3)}), (12, {2: (3, 3)}, "migrate")]
    assert of(told, "l") == [(12, {0: (4, 4), 1: (4, 4)})]


def test_gpus_freed_by_a_move_are_usable_at_once():
    """S, with 2 GPUs and 6 CPUs, moves to machine 1 for l at 11 s. On machine 0 l takes 4 GPUs and 4 CPUs.

    There 1 GPU and 16 - 4 - 4 CPUs are left then: x, which waits for 8 since 5 s, starts.
    """
    jobs = [
        gpu("stays", 3, cpus=10),
        gpu("full", 2, 10, cpus=2),
        gpu("s", 2, at=1, cpus=6),
        cpu("c", 4, at=2),
        replace(gpu("x", 1, at=5, cpus=8), user="w"),
        gpu("l", 4, at=11),
    ]
    _, told = run(jobs, gpus=5, large_machines=1, reserve_per_gpu=0)
    assert of(told, "s")[1:] == [(11, {1: (2, 6)}, "migrate")]
    assert (of(told, "l"), of(told, "x")) == ([(11, {0: (4, 4)})], [(11, {0: (1, 8)})])


def test_cpus_that_come_free_beside_small_jobs_let_a_large_one_take_back():
    """C and d hold all GPUs of machine 0, k 10 of its CPUs to 20 s; on machine 1 m leaves 4 CPUs for 4 GPUs.

    L, with 8 CPUs, finds 16 - 10 on machine 0, were c and d on machine 1; at 20 s it finds 16.
    """
    jobs = [gpu("a", 3, 10), gpu("b", 1, 10), cpu("k", 10, 19, 1), cpu("m", 12, at=1.5)]
    jobs += [gpu("c", 3, at=2), gpu("d", 1, at=3), gpu("l", 4, at=11, cpus=8)]
    _, told = run(jobs, large_machines=1, reserve_per_gpu=0)
    assert [of(told, name)[0][1] for name in "km"] == [{0: (0, 10)}, {1: (0, 12)}]
    assert of(told, "l") == [(20, {0: (4, 8)})]
    assert [of(told, name)[1] for name in "cd"] == [
        (20, {1: (3, 3)}, "migrate"),
        (20, {1: (1, 1)}, "migrate"),
    ]


def test_an_elastic_job_with_fewer_gpus_keeps_its_cpus_per_gpu():
    """It asks for 8 GPUs and 16 CPUs, 2 for each. Machine 1 fails at 10 s: on machine 0 it has 4 and 8.

    The one exception to CODA without its own rules being FIFO: `as_asked` waits for all that is asked.
    """
    fails = [CapacityEvent(10 * NS_PER_S, "fail", 1)]
    _, told = run([gpu("e", 8, cpus=16, min_gpus=1, max_gpus=8)], arrays=False, events=fails)
    assert of(told, "e") == [(0, {0: (4, 8), 1: (4, 8)}), (10, "evicted"), (10, {0: (4, 8)})]


def test_a_gpu_job_goes_where_its_memory_is():
    """Machine 0 has 2 of 8 bytes left, machine 1 all: the job that asks for 3 goes there."""
    cluster = tiny_cluster(2, 4, cpus=16, memory_bytes=8)
    jobs = [gpu("a", 1, memory_bytes=6), gpu("b", 1, at=1, memory_bytes=3), gpu("c", 1, at=2, memory_bytes=2)]
    _, log = run_checked(jobs, cluster, Coda(**REQUESTED))
    places = [event.allocation.slices for event in log if isinstance(event, Start)]
    assert places == [((0, 1, 1, 6),), ((1, 1, 1, 3),), ((0, 1, 1, 2),)]


# --- the CPU array, and what is borrowed from the reserve


def test_cpu_jobs_start_in_their_array_where_most_is_left():
    """3 of 4 CPUs a GPU are reserved: 4 on each machine are left. The second goes where nothing is taken."""
    _, told = run([cpu("a", 1), cpu("b", 3, at=1), cpu("c", 1, at=2)], reserve_per_gpu=3)
    assert told == [(0, "a", {0: (0, 1)}), (1, "b", {1: (0, 3)}), (2, "c", {0: (0, 1)})]


def test_no_more_than_is_free_counts_as_room():
    """The GPU job holds 14 of 16 CPUs of machine 0: of the 4 that are not reserved 2 are there."""
    _, told = run([gpu("g", 2, cpus=14), cpu("a", 3, at=1)], reserve_per_gpu=3)
    assert of(told, "a") == [(1, {1: (0, 3)})]


def test_cpu_jobs_borrow_reserved_cpus_and_are_aborted_for_a_gpu_job():
    """One machine, 4 CPUs in the array: a has them, b borrows 12. G needs 6: b stops, starts over at 30 s.

    Until g ends at 30 s there are 16 - 4 - 6 = 6 CPUs, too few for b; its 10 s of work are done again.
    """
    jobs = [cpu("a", 4), cpu("b", 12, 40, 1), gpu("g", 2, 20, 10, cpus=6)]
    result, told = run(jobs, machines=1, reserve_per_gpu=3)
    assert of(told, "b") == [(1, {0: (0, 12)}), (10, "preempted"), (30, {0: (0, 12)})]
    assert of(told, "g") == [(10, {0: (2, 6)})]
    assert seconds(result, "finish_ns") == [100, 70, 30]
    _, told = run(jobs, machines=1, arrays=False)
    assert of(told, "b") == [(1, {0: (0, 12)})]
    assert of(told, "g") == [(41, {0: (2, 6)})]


def test_jobs_of_the_cpu_array_are_not_aborted():
    """Nothing is reserved: b is in its array, and g waits for it to 41 s."""
    jobs = [cpu("a", 4), cpu("b", 12, 40, 1), gpu("g", 2, 20, 10, cpus=6)]
    _, told = run(jobs, machines=1, reserve_per_gpu=0)
    assert of(told, "g") == [(41, {0: (2, 6)})]


def test_no_cpu_job_borrows_beside_a_free_gpu_while_a_gpu_job_waits():
    """G holds 3 of 4 GPUs to 50 s, h waits for 4. A is of the array: 16 - 3 - 1 CPUs are left, and b waits.

    Without h it need not.
    """
    jobs = [gpu("g", 3, 50), gpu("h", 4, 20, 1), cpu("a", 1, 10, 2), cpu("b", 12, 10, 2)]
    _, told = run(jobs, machines=1, reserve_per_gpu=3)
    assert (of(told, "a"), of(told, "b")) == ([(2, {0: (0, 1)})], [(50, {0: (0, 12)})])
    assert of(run([jobs[0], *jobs[2:]], machines=1, reserve_per_gpu=3)[1], "b") == [(2, {0: (0, 12)})]


def test_cpu_jobs_borrow_where_a_gpu_job_that_waits_finds_no_gpu():
    """G holds all 4 GPUs and 4 CPUs to 50 s, h waits: b has the other 12, though its array has 4 only.

    At 50 s h takes 8 of 16 CPUs: b is aborted, and starts over when h is done at 70 s.
    """
    jobs = [gpu("g", 4, 50), gpu("h", 4, 20, 1, cpus=8), cpu("b", 12, 90, 2)]
    result, told = run(jobs, machines=1, reserve_per_gpu=3)
    assert of(told, "h") == [(50, {0: (4, 8)})]
    assert of(told, "b") == [(2, {0: (0, 12)}), (50, "preempted"), (70, {0: (0, 12)})]
    assert seconds(result, "finish_ns") == [50, 70, 160]


def test_cpu_jobs_borrow_on_the_full_machine_while_a_gpu_job_waits():
    """8 CPUs are free on machine 0, whose GPUs are all taken, 13 on 1, with a free GPU: b goes to 0."""
    jobs = [gpu("f", 4, cpus=8), gpu("g", 3, at=1), gpu("h", 4, 20, 2), cpu("b", 8, 10, 3)]
    _, told = run(jobs, large_machines=1, reserve_per_gpu=3)
    assert of(told, "b") == [(3, {0: (0, 8)})]
    assert of(run([*jobs[:2], jobs[3]], large_machines=1, reserve_per_gpu=3)[1], "b") == [(3, {1: (0, 8)})]


def test_a_borrower_of_several_machines_has_the_arrays_part_beside_a_free_gpu():
    """H waits. Machine 0, full, has 12 CPUs left, machine 1 has 13, of which 8 are not reserved: 20."""
    full = [gpu("f", 4), gpu("g", 3, at=1), gpu("h", 4, at=2)]
    many = cpu("b", 20, 10, 3)
    many = replace(many, demand=replace(many.demand, max_machines=0))
    _, told = run([*full, many], large_machines=1, reserve_per_gpu=2)
    assert of(told, "b") == [(3, {0: (0, 12), 1: (0, 8)})]


def test_the_last_free_gpu_of_a_machine_frees_its_reserve():
    """G holds 3 GPUs, h waits for 4, b for 12 CPUs. At 3 s i takes the last GPU: 16 - 3 - 1 = 12 are lent."""
    last = replace(gpu("i", 1, at=3), user="w")
    _, told = run([gpu("g", 3), gpu("h", 4, at=1), cpu("b", 12, 10, 2), last], machines=1, reserve_per_gpu=3)
    assert of(told, "b") == [(3, {0: (0, 12)})]


def test_the_fewest_borrowers_are_aborted_of_these_the_last():
    """B to e borrow 2, 4, 4 and 2 of 16 CPUs, 4 are free. G needs 8: d alone goes, not c, nor b and e."""
    jobs = [cpu("b", 2, 90), cpu("c", 4, 90, 1), cpu("d", 4, 90, 2), cpu("e", 2, 90, 3)]
    _, told = run([*jobs, gpu("g", 4, 20, 10, cpus=8)], machines=1, reserve_per_gpu=4)
    assert [event for event in told if event[-1] == "preempted"] == [(10, "d", "preempted")]


def test_aborted_jobs_are_first_in_the_queue_of_their_user():
    """B borrows 16, c waits behind it. G has 4 CPUs from 10 to 30 s: then b starts again, not c."""
    jobs = [cpu("b", 16, 40), cpu("c", 16, 10, 1), gpu("g", 1, 20, 10, cpus=4)]
    _, told = run(jobs, machines=1, reserve_per_gpu=4)
    assert of(told, "b") == [(0, {0: (0, 16)}), (10, "preempted"), (30, {0: (0, 16)})]
    assert of(told, "c") == [(70, {0: (0, 16)})]


def test_memory_of_a_borrower_is_offered_when_it_ends():
    """B borrows 4 of 16 CPUs, and has 8 of 10 bytes to 50 s. G asks for 5 bytes: it starts then."""
    cluster = tiny_cluster(1, 4, cpus=16, memory_bytes=10)
    b = cpu("b", 4, 50)
    jobs = [replace(b, demand=replace(b.demand, memory_bytes=8)), gpu("g", 1, 10, 5, memory_bytes=5)]
    result, _ = run_checked(jobs, cluster, Coda(**REQUESTED))
    assert list(seconds(result, "first_start_ns")) == [0, 50]


def test_an_aborted_job_may_start_over_on_another_machine_at_once():
    """C has 7 CPUs of machine 1 from 5 s. B's 9 on machine 0 are needed at 10 s, and 9 are left on 1.

    It starts there with nothing done, which is no migration: it ends at 10 + 40 s.
    """
    large = gpu("g", 4, 20, 10, cpus=12, max_machines=1)
    result, told = run([cpu("b", 9, 40), large, cpu("c", 7, 100, 5)], reserve_per_gpu=4)
    assert of(told, "c") == [(5, {1: (0, 7)})]
    assert of(told, "g") == [(10, {0: (4, 12)})]
    assert of(told, "b") == [(0, {0: (0, 9)}), (10, "preempted"), (10, {1: (0, 9)})]
    assert seconds(result, "finish_ns")[0] == 50


def test_a_borrower_stays_once_the_array_has_room_for_it():
    """A has the array's 4 CPUs to 10 s, b borrows 4. Then b is of the array: g finds 12 of 16 CPUs, to 51 s.

    If a goes at 30 s, when g waits already, g is first: b is aborted.
    """
    jobs = [cpu("a", 4, 10), cpu("b", 4, 50, 1), gpu("g", 4, 20, 20, cpus=16)]
    _, told = run(jobs, machines=1, reserve_per_gpu=3)
    assert told[1:] == [(1, "b", {0: (0, 4)}), (51, "g", {0: (4, 16)})]
    _, told = run([cpu("a", 4, 30), *jobs[1:]], machines=1, reserve_per_gpu=3)
    assert of(told, "g") == [(30, {0: (4, 16)})]
    assert of(told, "b") == [(1, {0: (0, 4)}), (30, "preempted"), (50, {0: (0, 4)})]
