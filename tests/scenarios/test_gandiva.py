"""Gandiva: affinity, spreading, migration, time slices."""

from artist.core.cluster import Cluster, Machine
from artist.core.events import Change, Start
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.gandiva import Affinity, Gandiva
from artist.testing.tiny import job, run_checked, seconds, tiny_cluster


def machines_of(events):
    """Return the machines of each job's first start."""
    found = {}
    for event in events:
        if isinstance(event, Start):
            found.setdefault(event.job, {s.machine for s in event.allocation.slices})
    return found


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
    assert (move.job, move.time_ns, move.how) == (4, 100 * 10**9, "migrate")
    assert len(move.allocation.slices) == 1
    still, _ = run_checked(SPREAD, tiny_cluster(2, 2), Gandiva(migration=False))
    assert still.columns["migrations"].sum() == 0


def test_nobody_moves_to_as_many_machines_as_it_has():
    """Machines of 3, 2 and 2: x holds the first until 10, so the job of 4 takes the others.

    At 10 it could have 3 + 1 on the first and another: two machines as before, and it stays.
    """
    cluster = Cluster([Machine(f"m{i}", 0, "box", gpus) for i, gpus in enumerate((3, 2, 2))])
    result, events = run_checked([job("x", 3, 10), job("four", 4, 20)], cluster, Gandiva())
    assert machines_of(events)[1] == {1, 2}
    assert result.columns["migrations"].sum() == 0


def test_nobody_moves_while_others_wait_for_the_gpus():
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


def test_equals_are_drawn_with_the_seed():
    """The same seed draws the same machines; some other seed others: it knows nothing of racks."""
    drawn = [choose(Affinity(seed), 1, [8] * 6) for seed in (0, 0, 1, 2, 3)]
    assert drawn[0] == drawn[1]
    assert any(other != drawn[0] for other in drawn[2:])
