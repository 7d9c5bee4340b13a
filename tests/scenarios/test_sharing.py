"""Groups, elastic jobs, CPUs and memory, CPU-only jobs, caps: general facts of allocation."""

import numpy as np
import pytest

from artist.core.cluster import Group
from artist.core.events import Change, Start
from artist.core.iteration import IterationParts
from artist.errors import InputError, PlanError
from artist.policies.basic.ordered import Ordered
from artist.testing.tiny import PlainPerformance, Scripted, job, on, run_checked, seconds, tiny_cluster
from artist.units import NS_PER_S, seconds_to_ns

PAIR = Group("g", ((0, 2),))


def test_members_of_a_group_slow_each_other_and_the_group_owns_its_gpus_once():
    """A and b (2 GPUs, 4 and 6 s) share m0: both at half speed until a ends at 8, then b alone.

    b: 4 of 6 done at 8, 2 left at full speed: 10. Busy GPU time: 2 GPUs for 10 s = 20, all the group's.
    Sharing: a 4 of its 8 s, b 4 of its 10 s.
    """

    def act(v, p):
        p.place(0, on((0, 2), group=PAIR))
        p.place(1, on((0, 2), group=PAIR))

    result, _ = run_checked([job("a", 2, 4), job("b", 2, 6)], tiny_cluster(1), Scripted({0: act}))
    assert seconds(result, "finish_ns") == [8, 10]
    assert seconds(result, "sharing_ns") == [4, 4]
    assert result.busy_gpu_ns == result.group_gpu_ns == seconds_to_ns(20)


def test_packed_jobs_fill_each_other_s_idle_time():
    """A and b keep the GPUs of m0 busy for 0.75 and 0.5 of an iteration of 1 s: together 1.25 times too much.

    Each takes 1.25 s an iteration: a (4) ends at 5 s; b has done 4 of 6 by then, and 2 more alone: 7 s.
    Measured alone a shows 0.75, packed 0.75 / 1.25 = 0.6 and b 0.4: all of the time.
    Busy: 4 s x 0.75 + 6 s x 0.5 = 6 s on 2 GPUs = 12 GPU-seconds, of the 14 that the group held.
    """
    seen = []

    def act(v, p):
        p.place(0, on((0, 2), group=PAIR))
        p.place(1, on((0, 2), group=PAIR))

    def look(v, p):
        seen.append(v.jobs.observed_gpu_utilization.tolist())

    jobs = [job("a", 2, 4, gpu_utilization=0.75), job("b", 2, 6, gpu_utilization=0.5)]
    result, _ = run_checked(jobs, tiny_cluster(1), Scripted({0: act, 1: look, 6: look}))
    assert seconds(result, "finish_ns") == [5, 7]
    assert seconds(result, "sharing_ns") == [1, 1]
    assert seen == [[0.6, 0.4], [0.5]]
    assert (result.group_gpu_ns, result.compute_gpu_ns) == (seconds_to_ns(14), seconds_to_ns(12))


def test_an_opportunistic_job_makes_do_with_idle_time():
    """A (0.75 busy) as if alone: 4 s. B (0.5) gets the quarter that a leaves idle: 2 s an iteration.

    B: 2 of 6 iterations done at 4, then alone: 4 more, ends at 8. Sharing: only b, 2 s.
    """

    def act(v, p):
        p.place(0, on((0, 2), group=PAIR))
        p.place(1, on((0, 2), group=PAIR, opportunistic=True))

    jobs = [job("a", 2, 4, gpu_utilization=0.75), job("b", 2, 6, gpu_utilization=0.5)]
    result, _ = run_checked(jobs, tiny_cluster(1), Scripted({0: act}))
    assert seconds(result, "finish_ns") == [4, 8]
    assert seconds(result, "sharing_ns") == [0, 2]


def test_an_opportunistic_job_may_become_guaranteed():
    """As above; at 2 b is promised the GPUs, too, at no cost: both 1.25 s an iteration.

    A: 2 done, 2 more take 2.5 s: 4.5. B: 1 done at 2, 2 more at 4.5, then 3 alone: 7.5.
    """

    def act(v, p):
        p.place(0, on((0, 2), group=PAIR))
        p.place(1, on((0, 2), group=PAIR, opportunistic=True))

    later = {2: lambda v, p: p.place(1, on((0, 2), group=PAIR))}
    jobs = [job("a", 2, 4, gpu_utilization=0.75), job("b", 2, 6, gpu_utilization=0.5)]
    result, log = run_checked(jobs, tiny_cluster(1), Scripted({0: act, **later}))
    assert seconds(result, "finish_ns") == [4.5, 7.5]
    assert [(e.job, e.type) for e in log if isinstance(e, Change)] == [(1, "retune")]


def test_a_gpu_utilization_beyond_0_to_1_is_refused():
    """Nobody keeps a GPU busy for more than all of the time, or for less than none; 0 is a measurement."""
    for share in (-0.1, 1.5, float("nan")):
        with pytest.raises(InputError, match="not a sound job"):
            run_checked([job("a", gpu_utilization=share)], tiny_cluster(), Scripted({}))


def test_a_member_joins_a_running_group_in_the_middle_of_an_iteration():
    """A alone in its group until 1.5, then shared: the half iteration left takes 1 s instead of 0.5.

    a: 4 s of work, 2.5 left at 1.5, shared: 5 s, ends at 6.5. b: 3 s: 2.5 done at 6.5, ends at 7.
    """
    script = {
        0: lambda v, p: p.place(0, on((0, 2), group=PAIR)),
        1.5: lambda v, p: p.place(1, on((0, 2), group=PAIR)),
    }
    result, _ = run_checked([job("a", 2, 4), job("b", 2, 3)], tiny_cluster(1), Scripted(script))
    assert seconds(result, "finish_ns") == [6.5, 7]
    assert seconds(result, "lost_ns") == [0, 0]


def test_a_running_job_may_become_a_group_on_its_own_gpus():
    """Unshared -> group on the same GPUs is a retune: no cost, no cut, GPUs not counted twice."""

    def share(v, p):
        p.place(0, on((0, 2), group=PAIR))
        p.place(1, on((0, 2), group=PAIR))

    script = {0: lambda v, p: p.place(0, on((0, 2))), 2: share}
    result, _ = run_checked([job("a", 2, 4), job("b", 2, 2, at=2)], tiny_cluster(1), Scripted(script))
    # a: 2 done at 2, 2 left at half speed: 6; b: the same
    assert seconds(result, "finish_ns") == [6, 6]
    # 2 GPUs x 2 s alone, then 2 GPUs x 4 s as a group
    assert (result.busy_gpu_ns, result.group_gpu_ns) == (seconds_to_ns(12), seconds_to_ns(8))


def test_smaller_members_run_side_by_side():
    """The group owns 2 GPUs; b and c hold 1 each, a holds 2: depth 4 allows it, b's end frees nothing."""

    def act(v, p):
        p.place(0, on((0, 2), group=PAIR))
        p.place(1, on((0, 1), group=PAIR))
        p.place(2, on((0, 1), group=PAIR))

    jobs = [job("a", 2, 2), job("b", 1, 2), job("c", 1, 2), job("d", 2, 1)]
    later = {7: lambda v, p: p.place(3, on((0, 2)))}
    result, _ = run_checked(jobs, tiny_cluster(1), Scripted({0: act, **later}))
    # three members take turns: 2 x 3 = 6 s each; the group's GPUs come free at 6
    assert seconds(result, "finish_ns") == [6, 6, 6, 8]


def test_a_regrouping_must_name_every_member():
    """The group grows to m1 for a only: b still names the old record."""

    def act(v, p):
        p.place(0, on((0, 1), group=Group("g", ((0, 2),))))
        p.place(1, on((0, 1), group=Group("g", ((0, 2),))))

    def grow(v, p):
        p.place(0, on((1, 1), group=Group("g", ((0, 2), (1, 2)))))

    with pytest.raises(PlanError, match="another record of group 'g'"):
        run_checked([job("a", 1), job("b", 1)], tiny_cluster(), Scripted({0: act, 1: grow}))


def test_an_elastic_job_shrinks_to_make_room():
    """A on 4 GPUs (1 s an iteration) gives 2 to b at t = 2 and gets them back at 5.

    a: 10 iterations; 2 done at 2; at 2 s each until 5: 1.5 done; 6.5 left at 1 s: 11.5.
    """
    elastic = job("a", 4, 10, min_gpus=2, max_gpus=4, step=2)

    def shrink(v, p):
        p.place(0, on((0, 2)))
        p.place(1, on((1, 2)))

    script = {
        0: lambda v, p: p.place(0, on((0, 2), (1, 2))),
        2: shrink,
        5: lambda v, p: p.place(0, on((0, 2), (1, 2))),
    }
    result, _ = run_checked([elastic, job("b", 2, 3, at=2)], tiny_cluster(), Scripted(script))
    assert seconds(result, "finish_ns") == [11.5, 5]
    assert result.columns["resizes"].tolist() == [2, 0]


def test_cpus_and_memory_are_held_and_come_back():
    """A takes 3 of 4 CPUs and 60 of 100 bytes of m0; they are free again when it ends at 2."""
    seen = []

    def look(v, p):
        free = v.free()
        seen.append((free.cpus.tolist(), free.memory_bytes.tolist()))

    def start(v, p):
        look(v, p)
        p.place(0, on((0, 1, 3, 60)))

    cluster = tiny_cluster(cpus=4, memory_bytes=100)
    script = {0: start, 1: look, 3: lambda v, p: (look(v, p), p.place(1, on((0, 1))))}
    run_checked([job("a", 1, 2), job("b", 1, 1, at=3)], cluster, Scripted(script))
    assert seen == [([4, 4], [100, 100]), ([1, 4], [40, 100]), ([4, 4], [100, 100])]


def test_cpu_only_jobs_run_beside_gpu_jobs():
    """Two CPU jobs of 3 CPUs on 4-CPU machines go to different machines; a GPU job is not in their way."""
    jobs = [job("c1", 0, 5, cpus=3), job("c2", 0, 5, cpus=3), job("c3", 0, 5, cpus=3), job("g", 2, 5)]
    result, _ = run_checked(jobs, tiny_cluster(cpus=4), Ordered(order="fifo", backfill=True))
    # c1 on m0, c2 on m1, g takes GPUs with what CPUs are left, c3 waits for c1
    assert seconds(result, "first_start_ns") == [0, 0, 5, 0]
    assert result.busy_gpu_ns == seconds_to_ns(2 * 5)


def test_cpu_only_jobs_move_between_machines():
    """The same CPUs elsewhere is a move, more of them a retune."""
    script = {
        0: lambda v, p: p.place(0, on((0, 0, 1))),
        1: lambda v, p: p.place(0, on((0, 0, 2))),
        2: lambda v, p: p.place(0, on((1, 0, 2))),
    }
    result, log = run_checked([job("c", 0, 5, cpus=2)], tiny_cluster(cpus=4), Scripted(script))
    assert [e.type for e in log if isinstance(e, Start | Change)] == ["start", "retune", "migrate"]
    assert result.columns["migrations"].tolist() == [1]


def test_coupling_between_jobs_lives_in_performance():
    """Jobs on one machine slow each other down: a neighbour's start and end reprice those beside it.

    A machine shared by two halves their speed. a: 4 s alone until b comes at 2; 2 left at half speed: 6.
    b: 3 s: 2 done at 6, 1 left at full speed: 7.
    """

    class Crowded(PlainPerformance):
        def reprice(self, changed, running):
            machines = {s.machine for c in changed for a in (c.before, c.after) if a for s in a.slices}
            jobs = sorted({j for m in machines for j in running.jobs_on(m)})
            return {j: self.parts(j, running) for j in jobs}

        def parts(self, j, running):
            crowd = len(list(running.jobs_on(running.allocation(j).slices[0].machine)))
            return IterationParts(NS_PER_S, interference_ns=(crowd - 1) * NS_PER_S)

    script = {0: lambda v, p: p.place(0, on((0, 1))), 2: lambda v, p: p.place(1, on((0, 1)))}
    result, _ = run_checked([job("a", 1, 4), job("b", 1, 3)], tiny_cluster(1), Scripted(script), Crowded())
    assert seconds(result, "finish_ns") == [6, 7]
    assert seconds(result, "interference_ns") == [2, 2]


def test_parts_are_reported_separately_and_sum_to_the_running_time():
    """3 s of compute and 1 s exposed an iteration, five iterations: 15 and 5 s."""

    class Parts(PlainPerformance):
        def reprice(self, changed, running):
            return {c.job: IterationParts(3 * NS_PER_S, exposed_ns=NS_PER_S) for c in changed if c.after}

    result, _ = run_checked(
        [job("a", 1, 5)], tiny_cluster(), Scripted({0: lambda v, p: p.place(0, on((0, 1)))}), Parts()
    )
    assert (seconds(result, "compute_ns"), seconds(result, "exposed_comm_ns")) == ([15], [5])
    assert result.compute_gpu_ns == seconds_to_ns(15)


def test_measured_bandwidth_is_the_draw_times_the_cap():
    """A job that draws 10 bytes/s, capped at 0.4, over two machines: 2 bytes/s on each."""
    seen = {}
    script = {
        0: lambda v, p: p.place(0, on((0, 1), (1, 1), cap=0.4)),
        1: lambda v, p: seen.update(used=v.observed_bandwidth_bytes_per_s),
    }
    run_checked([job("a", 2, 3, memory_bandwidth_bytes_per_s=10)], tiny_cluster(), Scripted(script))
    np.testing.assert_allclose(seen["used"], [2, 2])
