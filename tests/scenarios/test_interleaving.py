"""Interleaved groups in the engine: one clock for all members, which changes as they come and go."""

from dataclasses import replace

from artist.core.cluster import Group
from artist.core.job import Stages
from artist.performance.couplings.interleaved import Interleaved
from artist.performance.placed import PlacedPerformance
from artist.testing.tiny import Scripted, job, on, run_checked, seconds, tiny_cluster
from artist.units import seconds_to_ns
from netmodels.models.zero import ZeroModel

PAIR = Group("g", ((0, 2),), mode="interleaved")


def staged(name, stages, iterations, at=0, gpus=2):
    """Return a job whose iteration takes the sum of its stages (storage, CPU, GPU, network; in s)."""
    spec = job(name, gpus, iterations * sum(stages), at, iteration_s=sum(stages))
    return replace(spec, stages=Stages(*map(seconds_to_ns, stages)))


def interleaved(slowdown=(1, 1, 1)):
    how = Interleaved(slowdown)
    return PlacedPerformance(ZeroModel(), None, None, None, interleaved=how, network_stage="table")


def together(*jobs):
    return lambda v, p: [p.place(j, on((0, 2), group=PAIR)) for j in jobs]


def test_members_of_an_interleaved_group_have_one_clock():
    """A (CPU 2, GPU 1) and b (CPU 1, GPU 1), shifted by one: T = max(0, 1) + max(2, 1) + max(1, 0) = 4 s.

    Two iterations of b end at 8, with 2 x 2 s of waiting. Then a, alone, has two left: 3 s each, as measured.
    Packed they would take turns: each at its own rate.
    """
    jobs = [staged("a", (0, 2, 1, 0), 4), staged("b", (0, 1, 1, 0), 2)]
    result, _ = run_checked(jobs, tiny_cluster(1), Scripted({0: together(0, 1)}), interleaved())
    assert seconds(result, "finish_ns") == [14, 8]
    assert seconds(result, "sharing_ns") == [2, 4]
    assert result.group_gpu_ns == seconds_to_ns(2 * 14)


def test_jobs_that_fit_each_other_share_for_nothing():
    """Figure 6: (1, 2, 1, 1) and (1, 1, 2, 1) take 5 s alone and T = 5 s together."""
    jobs = [staged("a", (1, 2, 1, 1), 4), staged("b", (1, 1, 2, 1), 2)]
    result, _ = run_checked(jobs, tiny_cluster(1), Scripted({0: together(0, 1)}), interleaved())
    assert seconds(result, "finish_ns") == [20, 10]
    assert seconds(result, "sharing_ns") == [0, 0]


def test_the_open_iteration_is_carried_when_a_member_joins():
    """A (GPU 2 s, measured) runs alone to 1, then with b (GPU 2): T = 4, its open half takes 2 s: until 3.

    B does two iterations of 4 s from 1 to 9. A has done 1 + 6 / 4 = 2.5 by then, and does 1.5 alone: 12.
    """
    jobs = [staged("a", (0, 0, 2, 0), 4), staged("b", (0, 0, 2, 0), 2, at=1)]
    script = {0: together(0), 1: together(1)}
    result, _ = run_checked(jobs, tiny_cluster(1), Scripted(script), interleaved())
    assert seconds(result, "finish_ns") == [12, 9]


def test_the_slowdown_of_a_group_is_waiting():
    """T = 2 of two jobs on resources of their own, 2 s each, x 1.5 = 3: a third of the time is waiting."""
    jobs = [staged("a", (0, 2, 0, 0), 2), staged("b", (0, 0, 2, 0), 2)]
    result, _ = run_checked(jobs, tiny_cluster(1), Scripted({0: together(0, 1)}), interleaved((1.5, 1, 1)))
    assert seconds(result, "finish_ns") == [6, 6]
    assert seconds(result, "sharing_ns") == [2, 2]
