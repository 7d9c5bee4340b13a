"""AntMan: who gets GPUs for himself, who joins whom, who is slowed down. Iterations of 1 s."""

import pytest

from artist.core.events import Change, Stop
from artist.performance.couplings.packed import Packed
from artist.performance.placed import PlacedPerformance
from artist.policies.antman.policy import AntMan
from artist.testing.tiny import job, run_checked, seconds, tiny_cluster
from netmodels.models.zero import ZeroModel


def _no_profile(model):
    raise AssertionError(f"no model is asked for, and not {model!r}")


def run(jobs, gpus=1, machines=1, **parameters):
    """Run jobs on machines of some GPUs."""
    return run_checked(jobs, tiny_cluster(machines, gpus), AntMan(**parameters))


def guaranteed(name, gpus, seconds, busy, at=0):
    """Return a job that was promised its GPUs and keeps them busy for a share of the time."""
    return job(name, gpus, seconds, at=at, gpu_utilization=busy)


def other(name, gpus, seconds, busy, at=0):
    """Return a job that was promised nothing."""
    return job(name, gpus, seconds, at=at, gpu_utilization=busy, guaranteed=False)


def test_an_opportunistic_job_is_slowed_down_first():
    """One GPU: a is busy for 0.75 and runs its 10 s as if alone; b wants 0.5 and gets 0.25, 2 s an iteration.

    B has done 5 of 6 at 10, and the last one alone: 11.
    """
    result, _ = run([guaranteed("a", 1, 10, 0.75), other("b", 1, 6, 0.5)])
    assert seconds(result, "finish_ns") == [10, 11]


def test_sharing_costs_the_slowdown_of_muris_experiments():
    """A keeps its GPU busy for 0.5 of 10 s, b wants the rest: side by side both take 1.33 times as long.

    So both end at 13.3 instead of 10.
    """
    performance = PlacedPerformance(ZeroModel(), None, None, _no_profile, packed=Packed(0.33))
    jobs = [guaranteed("a", 1, 10, 0.5), other("b", 1, 10, 0.5)]
    result, _ = run_checked(jobs, tiny_cluster(1, 1), AntMan(), performance)
    assert seconds(result, "finish_ns") == pytest.approx([13.3, 13.3])


def test_on_a_grid_alone_jobs_start_at_its_next_point():
    """Every 10 s: a of 15 s arrives at 1 s and starts at 10 s; its GPU is free at 25 s, b starts at 30 s."""
    jobs = [guaranteed("a", 1, 15, 1, at=1), guaranteed("b", 1, 5, 1, at=2)]
    result, _ = run(jobs, on_events=False, interval_s=10)
    assert seconds(result, "finish_ns") == [25, 35]


def test_the_least_busy_gpu_is_joined():
    """A shows 0.6, b 0.3; c wants 0.5 and finds 0.7 idle with b, so nobody waits; with a it would."""
    jobs = [guaranteed("a", 1, 10, 0.6), guaranteed("b", 1, 10, 0.3), other("c", 1, 10, 0.5)]
    result, _ = run(jobs, machines=2)
    assert seconds(result, "finish_ns") == [10, 10, 10]


def test_busy_gpus_are_not_joined():
    """A shows 0.9, more than 0.8: b waits for its end. At most 0.9: b gets 0.1 for 0.2, 2 s an iteration."""
    jobs = [guaranteed("a", 1, 10, 0.9), other("b", 1, 5, 0.2)]
    assert seconds(run(jobs)[0], "first_start_ns") == [0, 10]
    result, _ = run(jobs, utilization=0.9)
    assert seconds(result, "finish_ns") == [10, 10]


def test_one_opportunistic_job_a_gpu():
    """A leaves room for b, c and d (5 s each); they come one after another all the same."""
    others = [other("b", 1, 5, 0.1), other("c", 1, 5, 0.1), other("d", 1, 5, 0.1, at=2)]
    result, _ = run([guaranteed("a", 1, 20, 0.1), *others])
    assert seconds(result, "first_start_ns") == [0, 0, 5, 10]


def test_an_opportunistic_job_makes_room_but_stays():
    """B has the GPU alone until a comes at 2 and takes it at once: 10 s as if alone, to 12.

    B (0.5 beside 0.75, 2 s an iteration) has done 2 at 2, 7 at 12, and 3 more alone: 15. Nobody is stopped.
    """
    result, events = run([other("b", 1, 10, 0.5), guaranteed("a", 1, 10, 0.75, at=2)])
    assert seconds(result, "finish_ns") == [15, 12]
    assert not [e for e in events if isinstance(e, Stop)]


def test_a_waiting_guaranteed_job_joins_a_running_one():
    """Two jobs of 10 s, both promised the one GPU, busy for half of the time: b starts beside a, 10 s each.

    Without `waiting_join` it waits for a's end.
    """
    jobs = [guaranteed("a", 1, 10, 0.5), guaranteed("b", 1, 10, 0.5)]
    assert seconds(run(jobs)[0], "finish_ns") == [10, 10]
    assert seconds(run(jobs, waiting_join=False)[0], "finish_ns") == [10, 20]


def test_a_joined_job_keeps_its_gpus_once_the_other_ends():
    """B joins a (0.75) at 0, 2 s an iteration; from a's end at 4 the GPU is its own, with 4 s to go.

    C comes at 5, promised the GPU as well, and joins b: 0.5 idle for 0.75, 1.5 s an iteration, 5 to 8. If b
    had stayed opportunistic, c would have run as if alone, 5 to 7.
    """
    jobs = [guaranteed("a", 1, 4, 0.75), guaranteed("b", 1, 6, 0.5), guaranteed("c", 1, 2, 0.75, at=5)]
    result, _ = run(jobs)
    assert seconds(result, "finish_ns") == [4, 8, 8]


def test_the_first_in_order_takes_idle_gpus_from_those_behind():
    """Two GPUs; a (0.9) has one until 10. H waits for both; g, behind it, may use the other meanwhile.

    At 10 h takes both and keeps them busy for 0.9; g stays and gets 0.1 of the time for the 0.25 that it
    wants, 2.5 s an iteration: 8 done at 10, 12 at 20, when h ends, 20 at 28. With backfill g has a GPU for
    itself, and h waits for it until 22.
    """
    jobs = [
        guaranteed("a", 1, 10, 0.9),
        guaranteed("h", 2, 10, 0.9, at=1),
        guaranteed("g", 1, 20, 0.25, at=2),
    ]
    result, _ = run(jobs, gpus=2)
    assert seconds(result, "first_start_ns") == [0, 10, 2]
    assert seconds(result, "finish_ns") == [10, 20, 28]
    late, _ = run(jobs, gpus=2, backfill=True, waiting_join=False)
    assert seconds(late, "first_start_ns") == [0, 22, 2]


def test_one_job_beside_several():
    """C (2 GPUs, 5 s) joins a and b, one GPU each, on two machines; all are one group, until c ends.

    Each machine has 0.2 busy and 0.5 wanted: nobody waits. A and b are on their own again at 5, at no cost.
    """
    jobs = [guaranteed("a", 1, 10, 0.2), guaranteed("b", 1, 10, 0.2), other("c", 2, 5, 0.5)]
    result, events = run(jobs, gpus=1, machines=2)
    assert seconds(result, "finish_ns") == [10, 10, 5]
    changes = [e for e in events if isinstance(e, Change)]
    assert [(e.time_ns / 1e9, e.job, e.type) for e in changes] == [
        (0, 0, "retune"),
        (0, 1, "retune"),
        (5, 0, "retune"),
        (5, 1, "retune"),
    ]
    assert [e.allocation.group is not None for e in changes] == [True, True, False, False]


def test_gpus_that_a_group_no_longer_needs_come_free():
    """A (2 GPUs) and its guest b (1 GPU) end at 4 and 8; from 4 on one GPU is free, and c takes it.

    A and b are busy for 0.25, so b does not wait, nor does c, who is busy all the time, 5 to 8.
    """
    jobs = [guaranteed("a", 2, 4, 0.25), other("b", 1, 8, 0.25), guaranteed("c", 1, 3, 1, at=5)]
    result, _ = run(jobs, gpus=2)
    assert seconds(result, "finish_ns") == [4, 8, 8]
