"""Room for a job by stopping others, beside all sets of victims; and whom each policy stops for a machine."""

from itertools import combinations

import numpy as np
import pytest

from artist.app.composing import composed
from artist.core.cluster import Allocation, Cluster, Machine, Slice
from artist.core.events import Stop
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.parts.placer import placer_of
from artist.policies.parts.room import find_room
from artist.run.parts import part
from artist.testing.tiny import PlainPerformance, job, run_checked, seconds, tiny_cluster


def small_case(rng, jobs=5):
    """Return free resources, running jobs, and a demand with some constraint: two machines of 8 GPUs."""
    types = ("new", "old") if rng.random() < 0.3 else ("new", "new")
    machines = [Machine(f"m{i}", i, "box", 8, types[i], 1.0, 16) for i in range(2)]
    free = Free(Cluster(machines), [8, 8], [16, 16], [0, 0])
    running = {}
    for number in rng.permutation(jobs).tolist():
        on = [0, 1] if rng.random() < 0.3 else [int(rng.integers(2))]
        slices = [Slice(m, int(rng.integers(1, 5)), int(rng.integers(0, 6))) for m in on]
        if free.fits(allocation := Allocation(tuple(slices))):
            free.take(allocation)
            running[number] = allocation
    asked = {"max_machines": int(rng.integers(0, 3)), "cpus": int(rng.choice([0, 6, 14]))}
    if types[0] != types[1]:
        asked["gpu_types"] = (str(rng.choice(types)),)
    return free, running, Demand(int(rng.integers(1, 9)), **asked)


PLACEMENTS = ["best_fit", "first_fit", "spread", "consolidate", "consolidate_rack", "consolidate_machine"]


@pytest.mark.parametrize(
    ("placement", "split"), [*((name, "packed") for name in PLACEMENTS), ("consolidate", "even")]
)
def test_no_smaller_set_of_victims_makes_room(placement, split):
    """Of the 32 sets of five jobs none smaller than the one found makes room; if none is found, none at all.

    Resources are as before the search, and the allocation fits what is free without the victims.
    """
    rng = np.random.default_rng([36, len(placement)])
    placer, found = placer_of(placement, "as_asked", split=split), 0
    for _ in range(300):
        free, running, demand = small_case(rng)
        if placer.place(free, demand) is not None:
            continue
        before = free.gpus.tolist(), free.cpus.tolist()
        room = find_room(free, demand, placer, running)
        assert (free.gpus.tolist(), free.cpus.tolist()) == before
        if room is None:
            sizes = range(len(running) + 1)
        else:
            found += 1
            sizes = range(len(room.victims))
        for victims in (jobs for size in sizes for jobs in combinations(running, size)):
            without = free.with_fewer_gpus({})
            for victim in victims:
                without.give(running[victim])
            assert placer.place(without, demand) is None, victims
        if room is not None:
            for victim in room.victims:
                free.give(running[victim])
            assert free.fits(room.allocation)
    assert found > 50


def test_jobs_of_a_machine_that_may_keep_their_gpus_are_not_stopped():
    """3 GPUs and 11 CPUs, all held: a has 2 and 1, b has 1 and 10. A job of 1 GPU and 10 CPUs needs b's.

    The larger job of the machine is tried first, and with it both are enough; then a finds its GPUs free
    again. Beside 300 others not all sets of victims are tried, so no other rule finds b.
    """
    others = [Machine(f"m{i}", 1, "small", 1, cpus=1) for i in range(1, 301)]
    cluster = Cluster([Machine("m0", 0, "box", 3, cpus=11), *others])
    free = Free(cluster, [0] * 301, [0] * 301, [0] * 301)
    b, a = Allocation((Slice(0, 1, 10),)), Allocation((Slice(0, 2, 1),))
    running = {1: a, 2: b, **{i + 2: Allocation((Slice(i, 1, 1),)) for i in range(1, 301)}}
    demand = Demand(1, max_machines=1, cpus=10)
    assert find_room(free, demand, placer_of("best_fit", "as_asked"), running).victims == [2]


def test_of_equal_sets_the_jobs_to_stop_first_are_stopped():
    """Two machines with three free GPUs and one job each: the first of `running` stops, whichever it is."""
    free = Free(tiny_cluster(2, 4), [3, 3], [0, 0], [0, 0])
    held = {7: Allocation((Slice(0, 1),)), 8: Allocation((Slice(1, 1),))}
    placer, demand = placer_of("best_fit", "proportional"), Demand(4, max_machines=1)
    for order in ((7, 8), (8, 7)):
        room = find_room(free, demand, placer, {number: held[number] for number in order})
        assert room.victims == [order[0]]


def test_two_machines_are_emptied_where_the_fewest_jobs_are():
    """40 machines of 2 GPUs, all full: 2 jobs on each but m11 and m30, which have one. 4 GPUs on 2 machines.

    The two jobs of m11 and m30 are enough; all sets of two of 78 jobs would be 3,003.
    """
    held = [(m, 2) if m in (11, 30) else (m, 1) for m in range(40) for _ in range(1 if m in (11, 30) else 2)]
    running = {i: Allocation((Slice(m, gpus),)) for i, (m, gpus) in enumerate(held)}
    free = Free(tiny_cluster(40, 2), [0] * 40, [0] * 40, [0] * 40)
    room = find_room(free, Demand(4, max_machines=2), placer_of("consolidate", "proportional"), running)
    assert sorted(held[i][0] for i in room.victims) == [11, 30]


SLICE = [
    job("A", 6, 3600, max_machines=1),
    job("B", 6, 3600, max_machines=1),
    job("C", 4, 600, at=10, max_machines=1),
]


@pytest.mark.parametrize(
    ("policy", "start"),
    [
        ("srtf", 10),  # 600 s to 3,590
        ("srsf", 10),
        ("las", 10),  # 0 s attained to 10
        ("las2d", 10),
        ("tiresias", 541.666666667),  # 3250 GPU-s of 6 GPUs: A and B fall to the second queue
        ("tiresias_gittins", 541.666666667),
        ("tiresias_open", 541.666666667),
        ("tiresias_dally", 10),  # continuous
        ("themis", 10),  # as badly off as A and B, which would also end as if alone: it breaks a lease
        ("themis_gavel", 360),  # its next round
        ("themis_muri", 360),
        ("gandiva_slicing", 60),  # A's and B's time slices end
        ("gandiva_full", 60),
        ("muri_s_events", 10),
        ("muri_l_events", 10),
        ("network_aware", 541.666666667),  # of tiresias
        ("cpu_tuned", 541.666666667),
        ("dally", 3600),  # leases of an hour
        ("fifo", 3600),
    ],
)
def test_a_job_of_one_machine_starts_when_its_policy_may_stop_one_for_it(policy, start):
    """Two jobs of 6 GPUs on two machines of 8, then 4 GPUs on one machine: 2 are free on each.

    Only one of A and B is stopped for C, the later one, B.
    """
    made = part(composed([f"policy={policy}"])["policy"], "policy", ("decide",))
    result, log = run_checked(SLICE, tiny_cluster(2, 8), made, PlainPerformance())
    assert seconds(result, "first_start_ns")[-1] == pytest.approx(start)
    stops = [event.job for event in log if isinstance(event, Stop) and event.time_ns <= start * 1e9 + 1]
    assert stops == ([1] if start < 3600 else [])


def test_cpus_make_room_as_gpus_do():
    """A and B hold 90 of 96 CPUs and 2 of 8 GPUs of a machine each; C asks for 2 GPUs and 20 CPUs for 600 s.

    GPUs are free, CPUs are not: SRTF stops B, the later one of equals, at 10 s, and A is left alone.
    """
    jobs = [job(name, 2, 3600, max_machines=1, cpus=90) for name in "AB"]
    jobs.append(job("C", 2, 600, at=10, max_machines=1, cpus=20))
    made = part(composed(["policy=srtf", "policy.fill=as_asked"])["policy"], "policy", ("decide",))
    result, _ = run_checked(jobs, tiny_cluster(2, 8, cpus=96), made)
    assert seconds(result, "first_start_ns")[-1] == 10
    assert result.columns["preemptions"].tolist() == [0, 1, 0]


def test_gpus_that_a_chosen_job_cannot_use_go_to_the_next():
    """Synergy, by remaining time, at 300 s: C (4 GPUs), A and B (6 each) are 16 of 16, all of one machine.

    C and A take a machine each, and B finds no six on one; D (3 GPUs, anywhere) has two of the GPUs that C
    leaves and more, rather than to wait for B.
    """
    jobs = [*SLICE, job("D", 3, 3600, at=10)]
    for mechanism in ("tune", "opt", "proportional"):
        settings = ["policy=synergy", "policy.order=srtf", f"policy.mechanism={mechanism}"]
        made = part(composed(settings)["policy"], "policy", ("decide",))
        result, _ = run_checked(jobs, tiny_cluster(2, 8), made, PlainPerformance())
        assert seconds(result, "first_start_ns")[2:] == [300, 300], mechanism
