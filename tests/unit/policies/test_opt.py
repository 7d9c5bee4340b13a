"""Opt: the integer programs of Synergy, 4.1, from believed speeds to allocations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synergy_program import ProgramOpt

from artist.core.cluster import Allocation, Cluster, Machine
from artist.core.job import Demand
from artist.performance.formulas.best_case import share_of
from artist.policies.synergy.best_case import BestCases, own_machine
from artist.policies.synergy.needs import Need
from artist.policies.synergy.opt import Opt
from artist.policies.synergy.points import Points
from artist.policies.synergy.tune import Tune
from artist.testing.tiny import on, tiny_cluster
from tests.unit.policies.beliefs import GIB, Believed, all_free, view_of

POINTS = [10.0, 20.0, 30.0, 60.0]


def servers(machines: int, gpus: int = 4) -> Cluster:
    """Return machines with 3 CPUs and 30 GiB a GPU."""
    return tiny_cluster(machines, gpus, cpus=3 * gpus, memory_bytes=30 * GIB * gpus)


def packed(
    cluster: Cluster,
    jobs: Sequence[Believed],
    held: Mapping[int, Allocation] | None = None,
    *,
    opt: Opt | None = None,
    **needs: Any,
) -> dict[int, Allocation]:
    """Return the jobs' holdings."""
    wanted = [Need(job, Demand(gpus, **needs), gpus, 0, 0) for job, (gpus, _) in enumerate(jobs)]
    return (opt or Opt(POINTS)).pack(wanted, all_free(cluster), view_of(cluster, jobs, held))


def still(cpus: float, gib: float) -> float:
    """Return a speed that nothing changes."""
    return 1.0


def keen(cpus: float, gib: float) -> float:
    """Return a speed that CPUs raise, up to 9."""
    return min(cpus, 9.0)


def hungry(cpus: float, gib: float) -> float:
    """Return a speed that memory raises, up to 60 GiB."""
    return min(gib, 60.0)


def test_cpus_and_memory_go_to_those_that_gain():
    """On 4 GPUs, 12 CPUs, 120 GiB: the keen job 9 CPUs, the hungry one 60 GiB, the others a point of each."""
    given = packed(servers(1), [Believed(1, s) for s in (keen, still, hungry, still)])
    assert given == {
        0: on((0, 1, 9, 10 * GIB)),
        1: on((0, 1, 1, 10 * GIB)),
        2: on((0, 1, 1, 60 * GIB)),
        3: on((0, 1, 1, 10 * GIB)),
    }


def test_machines_are_shared_by_jobs_that_let_each_other_have_it():
    """Two machines of 2 GPUs, 6 CPUs: each keen job with a still one has 5 CPUs; two keen ones had 3 each."""
    given = packed(servers(2, 2), [Believed(1, s) for s in (keen, keen, still, still)])
    assert sorted(a.slices[0].cpus for a in given.values()) == [1, 1, 5, 5]
    assert given[0].slices[0].machine != given[1].slices[0].machine


def test_no_job_is_slower_than_with_its_share():
    """Four keen jobs, one of which gains twice as much: still 3 CPUs for each of the others."""

    def keener(cpus: float, gib: float) -> float:
        return 2.0**cpus

    given = packed(servers(1), [Believed(1, s) for s in (keener, keen, keen, keen)])
    assert [given[job].slices[0].cpus for job in range(4)] == [3, 3, 3, 3]


@pytest.mark.parametrize(("kind", "cpus"), [(Opt, (8, 3)), (ProgramOpt, (6, 5))])
def test_a_job_counts_once_for_each_of_its_gpus(kind: type[Opt], cpus: tuple[int, int]):
    """2 of 12 CPUs are over: the pair gains a third with them, counted twice 2/3; the single job a half."""

    def pair(cpus: float, gib: float) -> float:
        return 1.0 if cpus < 6 else 3.0 if cpus < 8 else 4.0

    def single(cpus: float, gib: float) -> float:
        return 1.0 if cpus < 3 else 2.0 if cpus < 5 else 3.0

    jobs = [Believed(2, pair), Believed(1, single), Believed(1, still)]
    given = packed(servers(1), jobs, opt=kind(POINTS))
    assert (given[0].slices[0].cpus, given[1].slices[0].cpus) == cpus


@pytest.mark.parametrize(("server_gpus", "cpus"), [(None, 21), (4, 12)])
def test_no_more_than_a_servers_cpus_for_a_job_that_fits_one(server_gpus: int | None, cpus: int):
    """Section 6: one machine with 8 GPUs and 24 CPUs for two servers; three still jobs have 1 each."""

    def greedy(cpus: float, gib: float) -> float:
        return cpus

    jobs = [Believed(1, greedy), *[Believed(1, still)] * 3]
    given = packed(servers(1, 8), jobs, opt=Opt(POINTS, server_gpus=server_gpus))
    assert given[0].slices[0].cpus == cpus


def test_a_job_larger_than_a_machine_takes_whole_ones_first():
    """6, 3, 3 GPUs of three machines of 4: 4 + 2 for the first; with both others whole it had 4 + 1 + 1."""
    given = packed(servers(3), [Believed(6, still), Believed(3, keen), Believed(3, still)])
    assert sorted(s.gpus for s in given[0].slices) == [2, 4]


def test_a_job_that_no_machine_has_room_for_is_torn_apart():
    """3 + 3 + 2 GPUs on two machines of 4: all 8 GPUs are busy, and one job only is on two machines."""
    given = packed(servers(2), [Believed(3, still), Believed(3, still), Believed(2, still)])
    assert sorted(len(a.slices) for a in given.values()) == [1, 1, 2]


def test_a_job_that_may_not_be_torn_apart_waits():
    """The same with one machine at most for each job."""
    given = packed(servers(2), [Believed(g, still) for g in (3, 3, 2)], max_machines=1)
    assert len(given) == 2


def test_the_same_jobs_stay_where_they_are():
    """Packed again, also in another order: nothing moves, and jobs alike do not change places."""
    cluster, jobs = servers(3), [Believed(1, s) for s in (keen, still, hungry) * 3]
    opt = Opt(POINTS)
    first = packed(cluster, jobs, opt=opt)
    again = packed(cluster, jobs, first, opt=opt)
    assert {job: a.gpu_map() for job, a in again.items()} == {job: a.gpu_map() for job, a in first.items()}


def test_one_that_leaves_and_one_that_comes_move_as_few_as_can_be():
    """A still job takes the place of a still one: it sits where that was, all others stay."""
    cluster, jobs = servers(3), [Believed(1, s) for s in (keen, still, hungry) * 4]
    opt = Opt(POINTS)
    first = packed(cluster, jobs, opt=opt)
    place = first.pop(4)
    again = packed(cluster, jobs, first, opt=opt)
    assert again[4].gpu_map() == place.gpu_map()
    assert all(again[job].gpu_map() == held.gpu_map() for job, held in first.items())


# --- what must always hold

Shape = tuple[int, float, float, float, float]  # GPUs; CPUs and GiB a GPU that saturate it, speeds without
Shapes = st.lists(
    st.tuples(
        st.sampled_from([1, 1, 1, 2, 4, 8]),
        st.integers(1, 12),
        st.sampled_from([5, 15, 30, 45]),
        st.floats(0.05, 1),
        st.floats(0.05, 1),
    ),
    min_size=1,
    max_size=10,
)


def believed(shapes: Sequence[Shape], max_gpus: int) -> list[Believed]:
    """Return the first jobs that fit; input rates rise with CPUs and with memory, the slower one counts."""
    jobs: list[Believed] = []
    for shape in shapes:
        if sum(job.gpus for job in jobs) + shape[0] <= max_gpus:
            jobs.append(Believed(shape[0], partial(_speed, shape)))
    return jobs


def _speed(shape: Shape, cpus: float, gib: float) -> float:
    gpus, max_cpus, max_gib, without_cpus, without_gib = shape
    by_cpus = without_cpus + (1 - without_cpus) * min(cpus / gpus / max_cpus, 1.0)
    return min(by_cpus, without_gib + (1 - without_gib) * min(gib / gpus / max_gib, 1.0))


def relative(job: Believed, cluster: Cluster, allocation: Allocation) -> float:
    """Return the speed relative to that with the proportional share, at the pace of the slowest GPU."""
    share = share_of(own_machine(cluster), job.gpus)
    cpus = min(s.cpus / s.gpus for s in allocation.slices) * job.gpus
    gib = min(s.memory_bytes / s.gpus for s in allocation.slices) * job.gpus / GIB
    return job.speed(cpus, gib) / job.speed(share[0], share[1] / GIB)


@settings(deadline=None, max_examples=40)
@given(Shapes, st.sampled_from([1, 2, 3]))
def test_all_run_none_slower_than_with_its_share_and_nothing_is_given_twice(
    shapes: list[Shape], machines: int
):
    """Random jobs on machines of 8 GPUs: GPUs, CPUs, memory within each machine; (5) for every job."""
    cluster = servers(machines, 8)
    jobs = believed(shapes, 8 * machines)
    given = packed(cluster, jobs)
    assert [given[number].gpus for number in range(len(jobs))] == [job.gpus for job in jobs]
    free = all_free(cluster)
    for allocation in given.values():
        assert free.fits(allocation)
        free.take(allocation)
    assert all(relative(job, cluster, given[number]) >= 1 - 1e-6 for number, job in enumerate(jobs))


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(Shapes, st.sampled_from([2, 3]), st.booleans())
def test_opt_is_never_below_tune_on_one_merged_machine(shapes: list[Shape], machines: int, hand_out: bool):
    """The upper bound: speeds relative to the share, weighted by GPUs, of the same jobs, server by server.

    What tune leaves of memory are multiples of 10 GiB: 1.25 GiB a GPU for 8 of them are tried.
    """
    every = [1.25 * (n + 1) for n in range(48)]
    cluster = servers(1, 8 * machines)
    jobs = believed(shapes, 8 * machines)
    view = view_of(cluster, jobs)
    cases = BestCases(POINTS, server_gpus=8)
    needs = [Need(n, Demand(job.gpus), *cases.of(view, n, job.gpus)) for n, job in enumerate(jobs)]
    tuned = Tune(hand_out=hand_out).pack(needs, all_free(cluster), view)
    assert all(relative(job, cluster, tuned[n]) >= 1 - 1e-9 for n, job in enumerate(jobs))
    given = Opt(every, server_gpus=8).pack(needs, all_free(cluster), view)
    of_tune, of_opt = (
        sum(job.gpus * relative(job, cluster, held[n]) for n, job in enumerate(jobs))
        for held in (tuned, given)
    )
    assert of_opt >= of_tune - 1e-4


def test_points_are_worked_out_once_for_jobs_alike():
    """Three jobs of one model and the same GPUs: one question; with other GPUs another."""
    cluster = servers(2)
    jobs = [Believed(1, keen), Believed(1, keen), Believed(2, keen)]
    view, asked = view_of(cluster, jobs), []
    ask = view.performance.at_resources
    view.performance.at_resources = lambda job, *rest: asked.append(job) or ask(job, *rest)
    points = Points(BestCases(POINTS))
    for _ in range(2):
        points.of(view, [0, 1, 2], [1, 1, 2], [own_machine(view.cluster)] * 3)
    assert asked == [0, 2]


def test_the_share_is_tried_whatever_the_points():
    """Memory is tried at 60 GiB only; the share of 30 GiB is what the job gets, as it needs no more."""
    cluster = servers(1)
    view = view_of(cluster, [Believed(1, keen)])
    (points,) = Points(BestCases([60.0])).of(view, [0], [1], [own_machine(cluster)])
    assert [(p.cpus, p.memory_bytes // GIB, p.value) for p in points[:2]] == [(3, 30, 1.0), (4, 30, 1.333333)]
    assert points[-1].cpus == 9


def test_a_share_is_that_of_the_clusters_own_machine():
    """Two boxes and, before them, a smaller one: the share of 5 GPUs is 4 + 1 of the frequent kind."""
    small = Machine("s", 0, "small", 2, gpu_type="old", cpus=2, memory_bytes=GIB)
    assert share_of(own_machine(Cluster([small, *servers(2).machines])), 5) == (15, 150 * GIB)


def test_the_share_is_that_of_the_first_machine_if_all_join_later():
    """`Cluster.default_machine` is one of them then: a job that waits has points nevertheless."""
    cluster = Cluster([replace(machine, present=False) for machine in servers(2).machines])
    assert share_of(own_machine(cluster), 5) == (15, 150 * GIB)
