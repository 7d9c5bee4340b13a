"""The CPUs that CODA's GPU jobs start with, try and keep, by hand; its queues, history and machines that go.

A step takes 10 s. A GPU needs 4 CPUs, and does 2 % less for each that it has beyond them; with fewer it is
busy for CPUs / 4 of the time. Nothing is known of the jobs: they start with 4 CPUs a GPU.
"""

from dataclasses import replace

import pytest

from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.events import Change, Start, Stop
from artist.core.job import Demand
from artist.engine.overheads import Overheads
from artist.errors import PlanError
from artist.policies.coda.core_allocator import CoreAllocator, CpuSearch, GpuJob
from artist.policies.coda.gpu_placement import GpuPlaces
from artist.policies.coda.policy import Coda
from artist.policies.parts.placement import chooser_of
from artist.testing.conformance import cpu_job
from artist.testing.tiny import PlainPerformance, job, run_checked, tiny_cluster
from artist.units import seconds_to_ns

FAST = {"step_s": 10, "eliminator": "off"}


def slow(need):
    """Return the slowdown of an iteration, given the CPUs that a GPU needs."""

    def factor(spec, allocation):
        if not allocation.gpus or not any(s.cpus for s in allocation.slices):
            return 1.0
        cpus = sum(s.cpus for s in allocation.slices) / allocation.gpus
        return max(1.0, need / cpus) + max(0.0, cpus - need) * 0.02

    return factor


def run(jobs, machines=1, *, gpus=4, cpus=16, need=4, events=(), **parameters):
    """Return the events of jobs: (time in s, name, CPUs by machine, type of change), or a stop's reason."""
    policy = Coda(**FAST | parameters)
    result, log = run_checked(
        jobs,
        tiny_cluster(machines, gpus, cpus=cpus),
        policy,
        PlainPerformance(slow(need)),
        overheads=Overheads(on_stop="lose_all"),
        capacity_events=events,
    )
    told = []
    for event in log:
        if isinstance(event, Start | Change):
            cpus_on = {s.machine: s.cpus for s in event.allocation.slices}
            told.append((event.time_ns / 1e9, result.jobs[event.job].job_id, cpus_on, event.type))
        elif isinstance(event, Stop):
            told.append((event.time_ns / 1e9, result.jobs[event.job].job_id, event.reason))
    return told, policy


def cpus_of(told, name):
    """Return the CPUs that a job has on its first machine: (from when in s, CPUs), or why it stops."""
    return [
        (event[0], next(iter(event[2].values())) if isinstance(event[2], dict) else event[2])
        for event in told
        if event[1] == name
    ]


class StartsWith(CoreAllocator):
    """Starts all jobs with so many CPUs a GPU, and lets them search from there."""

    def __init__(self, cpus):
        self.cpus = cpus

    def start(self, job):
        """Return the CPUs a GPU."""
        return self.cpus

    def search(self, job, cpus, machines):
        """Return a search like that of the tuned allocator, on one machine."""
        return CpuSearch(max(1, round(cpus)))


def cpu(name, cpus, seconds=100, at=0, **demand):
    """Return a job without GPUs."""
    return cpu_job(name, cpus, seconds, at, **demand)


class Keeps(CoreAllocator):
    """Starts all jobs with so many CPUs a GPU, which they keep."""

    def __init__(self, cpus):
        self.cpus = cpus

    def start(self, job):
        """Return the CPUs a GPU."""
        return self.cpus


def test_a_job_that_keeps_more_cpus_than_there_are_is_refused_at_once():
    """8 a GPU: 2 GPUs hold all 16 CPUs. 9 a GPU: one GPU of the only machine, so 2 never start."""
    job_of_two = job("g", 2, 200, cpus=2)
    assert cpus_of(run([job_of_two], allocator=Keeps(8))[0], "g")[0] == (0, 16)
    with pytest.raises(PlanError, match="9 CPUs per GPU for a job of 2 GPUs that keeps them; the empty"):
        run([job_of_two], allocator=Keeps(9))


def test_a_start_beyond_the_largest_machine_counts_as_all_of_its_cpus():
    """A million CPUs: g has all 16, and its search tries 15 next, not 999,999 first places."""
    wish = GpuPlaces(tiny_cluster(1, 4, cpus=16), chooser_of("consolidate", 0), StartsWith(1e6)).wish(
        GpuJob(0, "u", "", 1, 4), Demand(1, cpus=4)
    )
    assert wish.cpus == tuple(range(16, 0, -1))
    told, _ = run([job("g", 1, 200, cpus=4)], allocator=StartsWith(1e6))
    assert cpus_of(told, "g")[:2] == [(0, 16), (10, 15)]


# --- the search of a running job


def test_a_job_that_starts_with_its_best_keeps_it():
    """4 CPUs: busy all the time. 3: 75 %. 5: 98 %. Three steps of 10 s, and it is back at 4 x 2 GPUs."""
    told, policy = run([job("g", 2, 200)])
    assert cpus_of(told, "g") == [(0, 8), (10, 6), (20, 10), (30, 8)]
    steps = [entry for entry in policy.series if entry[1].startswith("steps")]
    assert steps == [(seconds_to_ns(30), "steps of ", 3)]


def test_a_job_that_starts_with_too_few_takes_free_cpus():
    """It needs 4 and starts with 2. 1 is worse, 3 and 4 better, 5 worse: back at 4."""
    told, _ = run([job("g", 1, 200)], allocator=StartsWith(2))
    assert cpus_of(told, "g") == [(0, 2), (10, 1), (20, 3), (30, 4), (40, 5), (50, 4)]


def test_a_job_that_starts_with_too_many_gives_cpus_back():
    """From 6 it searches down as long as that is better: 5, 4, and 3 is worse."""
    told, _ = run([job("g", 1, 200)], allocator=StartsWith(6))
    assert cpus_of(told, "g") == [(0, 6), (10, 5), (20, 4), (30, 3), (40, 4)]


def test_a_job_grows_by_cpus_of_borrowers():
    """10 of 16 CPUs are borrowed, 2 taken: 4 are free, for 3 and 4 a GPU. At 40 s 5 would be 5 of 6: b stays.

    With 13 borrowed 1 is free: at 20 s the job tries 3 and b is aborted.
    """
    kept, _ = run([job("g", 1, 200), cpu("b", 10, 300, 1)], allocator=StartsWith(2), reserve_per_gpu=4)
    assert cpus_of(kept, "g") == [(0, 2), (10, 1), (20, 3), (30, 4), (40, 5), (50, 4)]
    assert cpus_of(kept, "b") == [(1, 10)]
    told, _ = run([job("g", 1, 200), cpu("b", 14, 300, 1)], allocator=StartsWith(2), reserve_per_gpu=4)
    assert cpus_of(told, "g") == cpus_of(kept, "g")
    assert cpus_of(told, "b")[:2] == [(1, 14), (20, "preempted")]


def test_a_job_grows_by_cpus_lent_while_a_gpu_job_waits():
    """G has all 4 GPUs and 8 of 16 CPUs, h waits: b borrows 8. At 20 s g tries 12, and b is aborted."""
    jobs = [job("g", 4, 200), job("h", 4, 10, 0.5), cpu("b", 8, 300, 1)]
    told, _ = run(jobs, allocator=StartsWith(2), reserve_per_gpu=4)
    assert cpus_of(told, "g")[:3] == [(0, 8), (10, 4), (20, 12)]
    assert cpus_of(told, "b")[:2] == [(1, 8), (20, "preempted")]


def test_a_job_stops_growing_where_others_hold_the_cpus():
    """Nothing is reserved, so b is of the array: 14 + 2 CPUs. 1 is worse, 3 are not there: 2 it is."""
    told, _ = run([job("g", 1, 200), cpu("b", 14, 300, 1)], allocator=StartsWith(2), reserve_per_gpu=0)
    assert cpus_of(told, "g") == [(0, 2), (10, 1), (20, 2)]
    assert cpus_of(told, "b") == [(1, 14)]


def test_cpus_given_up_for_a_try_stay_the_jobs_own():
    """It has 4, b 12. From 10 s on it tries 3, and c waits for the one that is not used; at 20 s it is back.

    5 are not there. It has done 10 + 7.5 s of its 60 then, and is done at 62.5 s, when c starts.
    """
    jobs = [job("g", 1, 60), cpu("b", 12, 300, 1), cpu("c", 1, 30, 12)]
    told, _ = run(jobs, reserve_per_gpu=0)
    assert cpus_of(told, "g") == [(0, 4), (10, 3), (20, 4)]
    assert cpus_of(told, "c") == [(pytest.approx(62.5), 1)]


def test_cpus_given_up_for_good_are_for_others():
    """A GPU needs 2: 4, 3 and 2 are tried, each better. When 2 turns out better, at 30 s, 4 - 2 are free."""
    jobs = [job("g", 1, 100), cpu("b", 12, 300, 1), cpu("c", 2, 30, 2)]
    told, _ = run(jobs, reserve_per_gpu=0, need=2)
    assert cpus_of(told, "g") == [(0, 4), (10, 3), (20, 2), (30, 1), (40, 2)]
    assert cpus_of(told, "c") == [(30, 2)]


def test_cpus_of_the_last_try_are_for_others():
    """5 CPUs a GPU turn out worse at 30 s: with 4 for each of 2 GPUs there are 8 left for c, which waits."""
    told, _ = run([job("g", 2, 200), cpu("c", 8, 10, 25)], reserve_per_gpu=0)
    assert cpus_of(told, "g") == [(0, 8), (10, 6), (20, 10), (30, 8)]
    assert cpus_of(told, "c") == [(30, 8)]


def test_a_job_on_several_machines_has_two_cpus_on_each():
    """2 + 1 GPUs need 1.3 CPUs each: 2 CPUs on each machine; 1 on each is worse, and 3 are not tried."""
    told, _ = run([job("a", 2, 900), job("b", 3, 900, 1), job("g", 3, 500, 2)], machines=2, need=1.3)
    g = [(event[0], *event[2:]) for event in told if event[1] == "g"]
    assert g[:3] == [(2, {0: 2, 1: 2}, "start"), (12, {0: 1, 1: 1}, "retune"), (22, {0: 2, 1: 2}, "retune")]
    assert g[3:] == []


def test_a_job_on_several_machines_needs_no_cpu_a_gpu():
    """2 of 16 CPUs are left on each of two machines: 8 GPUs start, with 2 CPUs on each.

    4 GPUs, which need 4 CPUs on one machine, are 3 + 1.
    """
    taken = [cpu("a", 14, 90), cpu("b", 14, 90)]
    options = {"machines": 2, "reserve_per_gpu": 0, "step_s": 1000}
    told, _ = run([*taken, job("g", 8, 20, 1)], **options)
    assert told[2] == (1, "g", {0: 2, 1: 2}, "start")
    told, _ = run([*taken, job("g", 4, 20, 1)], **options)
    assert told[2] == (1, "g", {0: 2, 1: 2}, "start")


def test_a_job_starts_with_the_best_cpus_of_its_owners_finished_jobs():
    """The first needs 6, and finds them. So the second starts with 6; one of another user with 4."""
    jobs = [job("a", 1, 100), job("b", 1, 5, 200), replace(job("c", 1, 5, 200), user="w")]
    told, _ = run(jobs, need=6)
    assert cpus_of(told, "a") == [(0, 4), (10, 3), (20, 5), (30, 6), (40, 7), (50, 6)]
    assert (cpus_of(told, "b"), cpus_of(told, "c")) == ([(200, 6)], [(200, 4)])


def test_cpus_tried_at_the_finish_are_not_recorded_as_best():
    """It is done at 15 s, when it tries 3 CPUs: 4 were the best."""
    told, _ = run([job("a", 1, 13), job("b", 1, 5, 50)])
    assert (cpus_of(told, "a"), cpus_of(told, "b")) == ([(0, 4), (10, 3)], [(50, 4)])


def test_a_moved_job_searches_its_cpus_again():
    """C searches on machine 0 from 1 s to 31 s: 4, 3, 5, 4. At 61 s it is moved, and searches from 4."""
    jobs = [job("a", 3, 900), job("b", 1, 30), job("c", 1, 900, 1), job("l", 4, 900, 61)]
    told, _ = run(jobs, machines=2, cpus=64, large_machines=1)
    search = [(1, 4), (11, 3), (21, 5), (31, 4)]
    assert cpus_of(told, "c") == [*search, (61, 4), *((at + 60, cpus) for at, cpus in search[1:])]


# --- CPUs that are not there


def test_a_job_starts_with_the_cpus_that_there_are():
    """10 of 16 CPUs are taken: of the 4 a GPU that it is to have 3 are there, 6 for its 2 GPUs."""
    told, _ = run([cpu("b", 10, 300), job("g", 2, 200, 1)], reserve_per_gpu=0, step_s=1000)
    assert cpus_of(told, "g") == [(1, 6)]


def test_a_job_prefers_a_machine_that_has_all_its_cpus():
    """On machine 0 10 of 16 CPUs are taken, on machine 1 none: the job of 2 GPUs goes to 1."""
    jobs = [cpu("b", 10, 300), job("g", 2, 200, 1)]
    told, _ = run(jobs, machines=2, reserve_per_gpu=0, step_s=1000)
    assert told[1] == (1, "g", {1: 8}, "start")


def test_a_job_waits_for_a_cpu_a_gpu():
    """15 of 16 CPUs are taken to 50 s: one is too few for 2 GPUs, and enough for 1."""
    told, _ = run([cpu("b", 15, 50), job("g", 2, 200, 1)], reserve_per_gpu=0, step_s=1000)
    assert cpus_of(told, "g") == [(50, 8)]
    told, _ = run([cpu("b", 15, 50), job("g", 1, 200, 1)], reserve_per_gpu=0, step_s=1000)
    assert cpus_of(told, "g") == [(1, 1)]


def test_a_job_that_is_not_tuned_waits_for_the_cpus_that_it_asks_for():
    """It asks for 7, 6 are there: it starts when b is done."""
    jobs = [cpu("b", 10, 50), job("g", 2, 200, 1, cpus=7)]
    told, _ = run(jobs, reserve_per_gpu=0, allocator="requested")
    assert cpus_of(told, "g") == [(50, 7)]


def test_machines_with_less_than_a_cpu_a_gpu_give_their_share():
    """3 CPUs for 4 GPUs: a job of 4 has all of them; one of 2 needs 1.5 and has 2, so the next one waits."""
    told, _ = run([job("g", 4, 20)], cpus=3, step_s=1000)
    assert cpus_of(told, "g") == [(0, 3)]
    told, _ = run([job("a", 2, 20), job("b", 2, 20)], cpus=3, step_s=1000, need=1)
    assert (cpus_of(told, "a"), cpus_of(told, "b")) == ([(0, 2)], [(20, 2)])


# --- history


def test_the_reserve_follows_the_cpus_per_gpu_of_gpu_jobs():
    """Before any: 4 x 4 = all 16 CPUs. A holds 2 for 1 GPU: from 20 s on, when c comes, 4 x 2 are reserved.

    The CPU job of 8 borrows from 5 s, and is of the array then: g, which asks for 10 at 30 s, waits.
    """
    jobs = [job("a", 1, 300, cpus=2), cpu("b", 8, 100, 5), cpu("c", 1, 1, 20), job("g", 1, 20, 30, cpus=10)]
    told, _ = run(jobs, allocator="requested", review_s=20, need=0)
    assert cpus_of(told, "g") == [(105, 10)]
    told, _ = run(jobs, allocator="requested", review_s=2000, need=0)
    assert cpus_of(told, "g") == [(30, 10)]


def test_the_4_gpu_sub_array_is_as_large_as_large_jobs_once_held():
    """A and b hold 8 GPUs at 1 s, two machines: from 20 s on small jobs leave those alone, not before."""
    jobs = [job("a", 4, 5), job("b", 4, 5, 1), job("c", 1, 5, 10), job("d", 1, 5, 22), job("e", 4, 5, 23)]
    told, _ = run(jobs, machines=3, allocator="requested", review_s=20)
    where = {event[1]: next(iter(event[2])) for event in told}
    assert where == {"a": 0, "b": 1, "c": 0, "d": 2, "e": 0}


# --- users


def of_user(user, spec):
    """Return the job as one of a user."""
    return replace(spec, user=user)


def test_the_user_with_fewest_gpus_is_next():
    """Of 4 GPUs u and w hold 2 each; w's come free at 10 s: v's job goes first, though u's came earlier."""
    jobs = [
        of_user("u", job("u0", 2, 50)),
        of_user("w", job("w0", 2, 10)),
        of_user("u", job("u1", 2, 10, 1)),
        of_user("v", job("v0", 2, 10, 2)),
    ]
    told, _ = run(jobs, allocator="requested")
    assert [event[:2] for event in told] == [(0, "u0"), (0, "w0"), (10, "v0"), (20, "u1")]


def test_gpus_held_in_the_past_do_not_count():
    """Both wait for 3 GPUs, which come free at 30 s: v holds one, u held 3 to 10 s, and holds none."""
    jobs = [
        of_user("u", job("u0", 3, 10)),
        of_user("v", job("v0", 1, 100)),
        of_user("w", job("w0", 3, 20, 1)),
        of_user("v", job("v1", 3, 10, 11)),
        of_user("u", job("u1", 3, 10, 12)),
    ]
    told, _ = run(jobs, allocator="requested")
    assert [event[:2] for event in told[2:]] == [(10, "w0"), (30, "u1"), (40, "v1")]


def test_cpus_that_a_user_held_do_not_count():
    """The same with CPUs: both wait for 12, which come free at 30 s; v holds 4, u held 12 to 10 s."""
    jobs = [
        of_user("u", cpu("u0", 12, 10)),
        of_user("v", cpu("v0", 4, 100)),
        of_user("w", cpu("w0", 12, 20, 1)),
        of_user("v", cpu("v1", 12, 10, 11)),
        of_user("u", cpu("u1", 12, 10, 12)),
    ]
    told, _ = run(jobs, allocator="requested")
    assert [event[:2] for event in told[2:]] == [(10, "w0"), (30, "u1"), (40, "v1")]


def test_cpus_of_aborted_jobs_do_not_count():
    """U's borrows 12 CPUs to 5 s, g has them to 30 s. V holds 4, so u's starts again before v's."""
    jobs = [
        of_user("v", cpu("v0", 4, 100)),
        of_user("v", cpu("v1", 12, 10, 3)),
        of_user("u", cpu("u0", 12, 50, 2)),
        of_user("u", job("g", 1, 25, 5, cpus=12)),
    ]
    told, _ = run(jobs, allocator="requested", need=12)
    assert [event[:2] for event in told] == [
        (0, "v0"),
        (2, "u0"),
        (5, "u0"),
        (5, "g"),
        (30, "u0"),
        (80, "v1"),
    ]


def test_cpus_of_an_aborted_job_are_usable_by_others():
    """U's borrows 12 of 16 CPUs, w's waits for 8. G takes 6 at 5 s: 10 are left, enough for w's."""
    jobs = [
        of_user("u", cpu("u0", 12, 50)),
        of_user("w", cpu("w0", 8, 20, 1)),
        of_user("u", job("g", 1, 90, 5, cpus=6)),
    ]
    told, _ = run(jobs, allocator="requested", need=6)
    assert [event[:2] for event in told] == [(0, "u0"), (5, "u0"), (5, "g"), (5, "w0"), (95, "u0")]


def test_a_user_whose_first_job_does_not_fit_lets_others_go_on():
    """V's wants 4 GPUs, one is taken, and its second job waits behind it; u's go on."""
    jobs = [
        of_user("u", job("u0", 1, 50)),
        of_user("v", job("v0", 4, 10, 1)),
        of_user("v", job("v1", 1, 10, 2)),
        of_user("u", job("u1", 1, 10, 3)),
    ]
    told, _ = run(jobs, allocator="requested")
    assert [event[:2] for event in told] == [(0, "u0"), (3, "u1"), (50, "v0"), (60, "v1")]


def test_the_user_with_fewest_cpus_is_next():
    """Both wait for CPUs that come free at 10 s; u holds 8, v none: v's job starts, though it came last."""
    jobs = [
        of_user("u", cpu("u0", 8, 50)),
        of_user("w", cpu("w0", 8, 10)),
        of_user("u", cpu("u1", 8, 10, 1)),
        of_user("v", cpu("v0", 8, 10, 2)),
    ]
    told, _ = run(jobs, allocator="requested")
    assert [event[:2] for event in told] == [(0, "u0"), (0, "w0"), (10, "v0"), (20, "u1")]


# --- machines that go


def test_evicted_jobs_are_first_in_the_queue_of_their_user():
    """Machine 0 fails at 5 s. G, evicted, and not h, which came at 1 s, starts when it is back at 20 s."""
    jobs = [job("g", 4, 10), job("h", 4, 10, 1), cpu("b", 16, 10, 2)]
    events = [CapacityEvent(seconds_to_ns(5), "fail", 0), CapacityEvent(seconds_to_ns(20), "join", 0)]
    told, _ = run(jobs, allocator="requested", events=events)
    assert [event[:2] for event in told] == [(0, "g"), (5, "g"), (20, "g"), (30, "h"), (40, "b")]


def test_a_job_on_a_leaving_machine_keeps_its_current_cpus():
    """It tries 3 CPUs from 10 s on; its machine leaves at 15 s and takes nothing new, not even the fourth."""
    events = [CapacityEvent(seconds_to_ns(15), "leave", 0, seconds_to_ns(900))]
    told, _ = run([job("g", 1, 60)], events=events)
    assert cpus_of(told, "g") == [(0, 4), (10, 3)]


# --- contention


def test_cores_that_halving_frees_are_for_jobs_that_wait():
    """U's b draws all bandwidth with 10 of 16 CPUs; d waits for 7. From 1 s on g has 4: b has 5, d the 7.

    When g is done at 51 s 4 are free. U holds 5 and v 7, so e is next, though f came earlier.
    """
    drawing = cpu("b", 10, 900)
    jobs = [
        of_user("u", replace(drawing, demand=replace(drawing.demand, memory_bandwidth_bytes_per_s=100))),
        of_user("v", cpu("d", 7, 900, 0.5)),
        of_user("w", job("g", 1, 50, 1, cpus=4)),
        of_user("v", cpu("f", 4, 10, 20)),
        of_user("u", cpu("e", 4, 10, 30)),
    ]
    cluster = Cluster([Machine("m", 0, "box", 4, cpus=16, memory_bandwidth_bytes_per_s=100)])
    policy = Coda(allocator="requested", eliminator="halve", reserve_per_gpu=0)
    _, log = run_checked(jobs, cluster, policy)
    starts = [(event.time_ns / 1e9, event.job) for event in log if isinstance(event, Start)]
    assert starts == [(0, 0), (1, 2), (1, 1), (51, 4), (61, 3)]
