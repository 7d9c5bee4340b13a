"""Best cases where jobs really are: on machines of several kinds, on several machines, with few points.

Synergy and `cpu_tuned` may give a job less than its share, if it is as fast. That must be so on its own GPUs.
"""

from dataclasses import replace

import pytest

from artist.core.cluster import Cluster, Machine
from artist.core.events import Start
from artist.policies.basic.ordered import Ordered
from artist.policies.synergy.cpu_tuned import CpuTuned
from artist.policies.synergy.policy import Synergy
from artist.testing.tiny import PlainPerformance, job, run_checked, tiny_cluster

GIB = 1 << 30
HOW = {
    "tune": lambda points: Synergy(mechanism="tune", memory_points_gib=points),
    "tune, nothing handed out": lambda points: Synergy(memory_points_gib=points, hand_out=False),
    "opt": lambda points: Synergy(mechanism="opt", memory_points_gib=points),
    "fifo, tuned": lambda points: CpuTuned(Ordered(order="fifo"), "tune"),
    "fifo, opt": lambda points: CpuTuned(Ordered(order="fifo"), "opt"),
}


def started(jobs, cluster, policy, slower):
    """Return each job's first allocation, as (machine, GPUs, CPUs, GiB) by slice."""
    named = [replace(spec, model=spec.job_id) for spec in jobs]
    _, events = run_checked(named, cluster, policy, PlainPerformance(slower))
    return {
        jobs[e.job].job_id: [(s.machine, s.gpus, s.cpus, s.memory_bytes / GIB) for s in e.allocation.slices]
        for e in events
        if isinstance(e, Start)
    }


@pytest.mark.parametrize("how", HOW)
def test_on_machines_with_more_cpus_a_job_gets_cpus_until_it_gains_no_more(how):
    """2 GPUs want 12 CPUs. Of the 8 of m0 all help; on m1, 24 CPUs, 8 would be slower than the share."""

    def slower(spec, allocation):
        return max(1.0, *(6 * s.gpus / max(s.cpus, 0.1) for s in allocation.slices))

    cluster = Cluster([Machine(f"m{i}", 0, "ab"[i], 2, cpus=cpus) for i, cpus in enumerate((8, 24))])
    given = started([job("v", 2), job("w", 2)], cluster, HOW[how]([1]), slower)
    assert sorted(given.values()) == [[(0, 2, 8, 0)], [(1, 2, 12, 0)]]


@pytest.mark.parametrize("how", HOW)
def test_machines_as_large_may_be_of_two_kinds(how):
    """A GPU of m1 is worth 6 CPUs, one of m0 3, and both machines have 24 CPUs: 12 and 6 for 2 GPUs."""

    def slower(spec, allocation):
        return max(1.0, *((3 + 3 * s.machine) * s.gpus / max(s.cpus, 0.1) for s in allocation.slices))

    cluster = Cluster([Machine(f"m{i}", 0, "ab"[i], 2, cpus=24) for i in range(2)])
    given = started([job("v", 2), job("w", 2)], cluster, HOW[how]([1]), slower)
    assert sorted(given.values()) == [[(0, 2, 6, 0)], [(1, 2, 12, 0)]]


@pytest.mark.parametrize("how", HOW)
def test_a_job_on_two_machines_keeps_the_memory_that_it_needs_on_each(how):
    """W needs 30 GiB on each machine: 40 for 2 GPUs are enough on one, 20 + 20 on two are not: 50 + 50.

    W is on two, as x and y hold 2 of the 3 GPUs of each, and their least, 40 GiB, or the rest.
    """

    def slower(spec, allocation):
        return 1.0 if spec.model != "w" or all(s.memory_bytes >= 30 * GIB for s in allocation.slices) else 9.0

    cluster = tiny_cluster(2, 3, cpus=3, memory_bytes=150 * GIB)
    given = started([job("x", 2), job("y", 2), job("w", 2)], cluster, HOW[how]([20]), slower)
    assert given["w"] == [(0, 1, 1, 50), (1, 1, 1, 50)]


@pytest.mark.parametrize("how", ["tune", "opt"])
def test_the_share_is_tried_whatever_the_points(how):
    """W is fast with 8 of its share of 10 GiB; the points alone, 1 GiB a GPU, would leave it 1."""

    def slower(spec, allocation):
        return 1.0 if allocation.slices[0].memory_bytes >= 8 * GIB else 9.0

    given = started([job("w")], tiny_cluster(1, 2, cpus=2, memory_bytes=20 * GIB), HOW[how]([1]), slower)
    assert given == {"w": [(0, 1, 1, 10)]}


def test_a_job_on_two_machines_keeps_its_need_on_each():
    """W gains from 3 CPUs a GPU and needs 30 GiB a machine; on 2 GPUs of m0 and 1 of m1 it has 6 and 3 CPUs.

    Y has the 6 CPUs of its share. Z needs 2 of 10 on m1, where 1 is left: so w goes down to 2 a GPU, on both
    machines, and keeps its shares of memory; 20 GiB a GPU, which do on one machine, would be too few on m1.
    """
    wants = {"x": 1, "y": 6, "z": 8}

    def slower(spec, allocation):
        if spec.model != "w":
            return max(1.0, wants[spec.model] / max(allocation.slices[0].cpus, 0.1))
        pages = any(s.memory_bytes < 30 * GIB for s in allocation.slices)
        return 9.0 if pages else max(1.0, *(3 * s.gpus / max(s.cpus, 0.1) for s in allocation.slices))

    cluster = tiny_cluster(2, 5, cpus=10, memory_bytes=250 * GIB)
    jobs = [job("x", 3), job("y", 3), job("w", 3), job("z", 1)]
    given = started(jobs, cluster, HOW["tune"]([20]), slower)
    assert given["w"] == [(0, 2, 4, 100), (1, 1, 2, 50)]
    assert given["z"][0][:3] == (1, 1, 2)
