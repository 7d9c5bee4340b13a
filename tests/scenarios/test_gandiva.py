"""Gandiva: affinity, spreading, migration, time slices."""

import numpy as np

from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.events import Change, Start, Wake
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.gandiva.policy import Affinity, Gandiva
from artist.testing.tiny import job, run_checked, seconds, tiny_cluster
from artist.units import seconds_to_ns


def machines_of(events):
    """Return the machines of each job's first start."""
    results = {}
    for event in events:
        if isinstance(event, Start):
            results.setdefault(event.job, {s.machine for s in event.allocation.slices})
    return results


def test_jobs_of_one_demand_share_machines():
    """Singles on one machine, pairs on the other, whichever came first."""
    jobs = [job("a", 1, 10), job("b", 2, 10), job("c", 1, 10), job("d", 2, 10)]
    _, events = run_checked(jobs, tiny_cluster(2, 4), Gandiva())
    at = machines_of(events)
    assert at[0] == at[2] != at[1] == at[3]


def choose(affinity, gpus, free_gpus):
    """Return the machine chosen for a demand, of machines of 8 GPUs with so many free."""
    cluster = tiny_cluster(len(free_gpus), 8)
    zero = [0] * len(free_gpus)
    return affinity.choose(Free(cluster, free_gpus, zero, zero), Demand(gpus))


def test_same_label_then_no_label_then_most_free():
    """Machine 0 hosts pairs, 1 singles, 2 nobody yet."""
    affinity = Affinity(0)
    affinity.labels = {0: 2, 1: 1}
    assert choose(affinity, 2, [2, 8, 8]) == {0: 2}
    assert choose(affinity, 2, [1, 8, 4]) == {2: 2}
    affinity.labels = {0: 4, 1: 1, 2: 1}
    assert choose(affinity, 2, [3, 6, 5]) == {1: 2}


def test_a_label_lasts_until_the_machine_is_empty():
    """A machine of a single takes the label of a pair that comes later only once it is empty."""
    affinity = Affinity(0)
    assert choose(affinity, 1, [8]) == {0: 1}
    choose(affinity, 2, [7])
    assert affinity.labels == {0: 1}
    affinity.forget([0])
    choose(affinity, 2, [8])
    assert affinity.labels == {0: 2}


def test_a_job_that_fits_nowhere_is_spread():
    """Four GPUs where three, two and one are free: the machine of its label first, then the most free."""
    affinity = Affinity(0)
    affinity.labels = {0: 1, 1: 1, 2: 4}
    assert choose(affinity, 4, [3, 2, 1]) == {2: 1, 0: 3}
    assert choose(affinity, 7, [3, 2, 1]) is None


SPREAD = [job(f"s{n}", 1, 10 if n % 2 else 100) for n in range(4)] + [job("pair", 2, 200, at=1)]


def test_a_spread_job_moves_when_a_machine_comes_free():
    """Singles of 100 and 10 s on both machines: from 10 on the pair has two halves, from 100 a machine."""
    result, events = run_checked(SPREAD, tiny_cluster(2, 2), Gandiva())
    assert machines_of(events)[4] == {0, 1}
    assert seconds(result, "first_start_ns")[4] == 10
    (move,) = [event for event in events if isinstance(event, Change)]
    assert (move.job, move.time_ns, move.type) == (4, 100 * 10**9, "migrate")
    assert len(move.allocation.slices) == 1
    still, _ = run_checked(SPREAD, tiny_cluster(2, 2), Gandiva(migration=False))
    assert still.columns["migrations"].sum() == 0


def test_no_job_moves_to_an_equal_number_of_machines():
    """Machines of 3, 2 and 2: x holds the first until 10, so the job of 4 takes the others.

    At 10 it could have 3 + 1 on the first and another: two machines as before, and it stays.
    """
    cluster = Cluster([Machine(f"m{i}", 0, "box", gpus) for i, gpus in enumerate((3, 2, 2))])
    result, events = run_checked([job("x", 3, 10), job("four", 4, 20)], cluster, Gandiva())
    assert machines_of(events)[1] == {1, 2}
    assert result.columns["migrations"].sum() == 0


def machines(*racks):
    """Return a cluster of racks, given the GPUs of their machines."""
    return Cluster(
        [Machine(f"m{r}{i}", r, "box", gpus) for r, rack in enumerate(racks) for i, gpus in enumerate(rack)]
    )


def moves(jobs, cluster, capacity=(), **parameters):
    """Return (second, job, GPUs by machine) of each migration."""
    _, events = run_checked(jobs, cluster, Gandiva(**parameters), capacity_events=capacity)
    changes = [event for event in events if isinstance(event, Change)]
    assert {event.type for event in changes} <= {"migrate"}
    return [(event.time_ns / 1e9, event.job, event.allocation.gpu_map()) for event in changes]


# machines 0 (3 GPUs) and 1 (2) in one rack, 2 (2) and 3 (4) in another; y and x find room on 0 and 3 only
OVER_RACKS = [job("x", 4, 20), job("y", 3, 10), job("z", 4, 100)]


def test_a_job_over_two_racks_moves_into_one_and_then_into_a_machine():
    """Z gets machines 1 and 2, in two racks. At 10 machine 0 is free, at 20 machine 3.

    At 10 it moves to two machines again, of one rack: 3 GPUs of machine 0 and one of 1; at 20 to machine 3.
    """
    assert moves(OVER_RACKS, machines((3, 2), (2, 4))) == [(10, 2, {0: 3, 1: 1}), (20, 2, {3: 4})]


def test_gpus_that_no_waiting_job_takes_are_moved_to():
    """All 11 GPUs are what w waits for from 5 on, until z ends at 100; z moves meanwhile."""
    jobs = [*OVER_RACKS, job("w", 11, 1, at=5)]
    cluster = machines((3, 2), (2, 4))
    assert moves(jobs, cluster) == [(10, 2, {0: 3, 1: 1}), (20, 2, {3: 4})]
    result, _ = run_checked(jobs, cluster, Gandiva())
    assert seconds(result, "first_start_ns")[3] == 100


def test_fewer_machines_of_the_same_rack_are_better():
    """X holds 3 of 7 GPUs until 10, z has the others, on machines of 2, 1 and 1: then it has 3 + 1."""
    assert moves([job("x", 3, 10), job("z", 4, 100)], machines((3, 2, 1, 1))) == [(10, 1, {0: 3, 2: 1})]


def test_fewer_machines_of_two_racks_are_no_better_than_one_rack():
    """Z has 2 + 1 + 1 GPUs of one rack; from 10 on it could have 3 + 1 on two machines of two racks."""
    assert moves([job("x", 3, 10), job("z", 4, 100)], machines((2, 1, 1), (3,))) == []


def test_one_rack_is_better_than_fewer_machines_of_two():
    """Z starts at 10, when x ends, on machines 0 and 1 (4 + 1 GPUs), in two racks; p and q end at 20.

    Then it moves to three machines of the second rack: 1 + 2 + 2 GPUs.
    """
    jobs = [job("x", 4, 10), job("p", 2, 20), job("q", 2, 20), job("z", 5, 100)]
    assert moves(jobs, machines((4,), (1, 2, 2))) == [(20, 3, {1: 1, 2: 2, 3: 2})]


def test_fewer_racks_are_better():
    """Z has 2 + 2 + 1 GPUs in three racks, a job of 5 the only rack of 5; at 10 a rack of 3 comes free."""
    jobs = [job("five", 5, 200), job("x", 3, 10), job("z", 5, 100)]
    assert moves(jobs, machines((2,), (2,), (2,), (3,), (5,))) == [(10, 2, {0: 2, 3: 3})]


def test_the_job_that_came_first_moves_first():
    """Two jobs of 3 GPUs share three machines of 2; at 10 one of 3 comes free, with room for one of them."""
    jobs = [job("x", 3, 10), job("first", 3, 100), job("second", 3, 100)]
    assert moves(jobs, machines((3, 2, 2, 2))) == [(10, 1, {0: 3})]


def test_gpus_that_a_move_leaves_are_moved_to():
    """Machines of 3, 1, 4, 2 GPUs, full with x, h, f, g. F ends at 5, s follows on its machine 2.

    H ends at 6: z1 (4 GPUs, from 7) gets 3 of machine 2 and 1 of 1; g ends at 8, s at 9: z2 (3 GPUs) gets 1
    of machine 2 and 2 of 3. At 20 x leaves machine 0, where z2 moves, and z1 to machine 2, which z2 leaves.
    """
    held = [job("f", 4, 5), job("x", 3, 20), job("g", 2, 8), job("h", 1, 6), job("s", 1, 4, at=1)]
    jobs = [*held, job("z1", 4, 100, at=7), job("z2", 3, 100, at=8.5)]
    assert moves(jobs, machines((3, 1, 4, 2))) == [(20, 6, {0: 3}), (20, 5, {2: 4})]


def test_gpus_that_join_are_moved_to():
    """The pair has two machines of one GPU until one of two comes back at 10."""
    cluster = machines((2, 1, 1))
    capacity = [CapacityEvent(0, "fail", 0), CapacityEvent(seconds_to_ns(10), "join", 0)]
    assert moves([job("pair", 2, 100)], cluster, capacity) == [(10, 0, {0: 2})]


def test_a_move_labels_the_machine():
    """Machine 3 of 5 GPUs takes z (4) at 20, and its label: a single goes to another, whatever the draw."""
    jobs = [job("x", 5, 20), job("y", 3, 10), job("z", 4, 100), job("one", 1, 1, at=30)]
    cluster = machines((3, 2), (2, 5))
    for seed in range(8):
        assert moves(jobs, cluster, seed=seed)[-1] == (20, 2, {3: 4})
        _, events = run_checked(jobs, cluster, Gandiva(seed=seed))
        assert machines_of(events)[3] != {3}


def test_no_job_moves_while_others_wait_for_the_gpus():
    """A second pair takes the machine that comes free at 100."""
    result, _ = run_checked([*SPREAD, job("next", 2, 20, at=2)], tiny_cluster(2, 2), Gandiva())
    assert seconds(result, "first_start_ns")[5] == 100
    assert seconds(result, "finish_ns")[5] == 120
    assert result.columns["migrations"].tolist() == [0, 0, 0, 0, 1, 0]


def test_jobs_take_turns():
    """One GPU, two jobs of 100 s, turns of 60: a 0-60, b 60-120, a 120-160, b 160-200."""
    jobs = [job("a", 1, 100), job("b", 1, 100)]
    turns, _ = run_checked(jobs, tiny_cluster(1, 1), Gandiva(slicing=True, quantum_s=60))
    assert seconds(turns, "finish_ns") == [160, 200]
    whole, _ = run_checked(jobs, tiny_cluster(1, 1), Gandiva())
    assert seconds(whole, "finish_ns") == [100, 200]


def test_a_time_slice_ends_when_gpus_are_freed():
    """At 10 y ends, and so do the turns of x and z (4 GPUs each): w (4) takes GPUs of y and z; z waits."""
    jobs = [*OVER_RACKS, job("w", 4, 10)]
    result, _ = run_checked(jobs, machines((3, 2), (2, 4)), Gandiva(slicing=True, quantum_s=10))
    assert seconds(result, "first_start_ns") == [0, 0, 0, 10]
    assert result.columns["preemptions"][2] > 0


def test_free_gpus_and_those_of_a_job_past_its_time_slice_count_together():
    """Four GPUs: a holds 2, x from 30 one, c waits from 40 for 3. At 60 a's slice ends: 2 + 1 free suffice.

    C runs 60-70, a 0-60 and 70-110, x 30-230.
    """
    jobs = [job("a", 2, 100), job("x", 1, 200, at=30), job("c", 3, 10, at=40)]
    result, _ = run_checked(jobs, tiny_cluster(1, 4), Gandiva(slicing=True))
    assert seconds(result, "finish_ns") == [110, 230, 70]


class Thorough(Gandiva):
    """Gandiva that does its steps at every call, and counts those that it might skip."""

    skipped = 0

    def _may_change(self, view):
        Thorough.skipped += not super()._may_change(view)
        return True


def test_steps_are_skipped_only_where_they_would_change_nothing():
    """Clusters of one and two types, CPU-only, elastic and bounded jobs, a failure: the events are equal.

    More than a tenth of the calls are skipped.
    """
    Thorough.skipped = calls = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, mixed = int(rng.integers(1, 5)), bool(rng.integers(2))
        cluster = Cluster(
            [
                Machine(
                    f"m{m}", m // 2, f"box{m % 2 * mixed}", 4, f"gpu{m % 2 * mixed}", 1 + m % 2 * mixed, 8
                )
                for m in range(n)
            ]
        )
        jobs = [
            job(
                f"j{j}",
                gpus := int(rng.choice([0, 1, 2, 3, 4, 4 * n])),
                float(rng.integers(5, 90)),
                at=float(at),
                cpus=int(rng.integers(0, 4)) or int(not gpus),
                max_machines=int(gpus <= 4 and rng.integers(2)),
                mixed_types=True,
                **({"min_gpus": 1, "max_gpus": gpus} if gpus > 1 and not rng.integers(4) else {}),
            )
            for j, at in enumerate(np.sort(rng.integers(0, 60, 12)))
        ]
        capacity = [CapacityEvent(seconds_to_ns(t), kind, 0) for t, kind in ((20, "fail"), (33, "join"))]
        settings = {"slicing": True, "quantum_s": 7, "migration": bool(rng.integers(2)), "seed": seed}
        capacity = capacity * (n > 1)
        _, expected = run_checked(jobs, cluster, Thorough(**settings), capacity_events=capacity)
        _, events = run_checked(jobs, cluster, Gandiva(**settings), capacity_events=capacity)
        assert events == expected
        calls += sum(isinstance(event, Wake) for event in events)
    assert Thorough.skipped > calls / 10, (Thorough.skipped, calls)


def test_equals_are_drawn_with_the_seed():
    """The same seed draws the same machines; some other seed others: it knows nothing of racks."""
    drawn = [choose(Affinity(seed), 1, [8] * 6) for seed in (0, 0, 1, 2, 3)]
    assert drawn[0] == drawn[1]
    assert any(other != drawn[0] for other in drawn[2:])
