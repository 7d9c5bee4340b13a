"""Members of a group are fed from what all of them hold, in turns: by hand, on machines of 3 CPUs a GPU.

ResNet18 takes 640 ms with 3 CPUs and 62.5 GiB for its GPU, 640 / 2.4 with 9 CPUs, which is all compute. Text
(GNMT) takes 120 ms from 1 CPU on, so 3 CPUs feed it for a third of that.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from artist.core.cluster import Cluster, Group, Machine
from artist.core.job import Demand, JobSpec, Stages
from artist.engine.hypothetical import Hypothetical
from artist.performance.api import Changed
from artist.performance.effects.compute import Compute
from artist.performance.effects.input_stall import InputStall
from artist.performance.placed import PlacedPerformance
from artist.policies.antman.policy import AntMan
from artist.policies.gandiva.policy import Gandiva
from artist.run.sensitivity import read_sensitivities
from artist.testing.tiny import on, run_checked, seconds
from artist.units import NS_PER_S
from netmodels.models.zero import ZeroModel
from netmodels.profiles.profile import get_profile

GIB, MS, V100 = 2**30, 1_000_000, 0.25
SERVER = Machine("s", 0, "v100", 8, "V100", V100, 24, 500 * GIB)
STALL = InputStall(read_sensitivities(Path("synergy")), Compute())
SHARE = 3, 62.5
NOTHING = 0, 0


def stalling(**parts):
    return PlacedPerformance(ZeroModel(), None, None, get_profile, input_stall=STALL, **parts)


def member(model, share_ms, held, gpus=1, **spec):
    """Return a job that takes share_ms at the share, and what it holds: CPUs, GiB."""
    compute_ns = round(share_ms * MS / STALL.as_measured(model, gpus, V100, SERVER))
    demand = Demand(gpus, measured_speed=V100)
    cpus, gib = held
    return JobSpec("j", 0, demand, 1, compute_ns, model=model, **spec), on((0, gpus, cpus, round(gib * GIB)))


def times_ms(*members, gpus=1, mode="packed", guests=(), performance=None, servers=(SERVER,)):
    """Return the iteration times of jobs that share GPUs."""
    group = Group("g", ((0, gpus),), mode=mode)
    held = {
        job: replace(place, group=group, opportunistic=job in guests)
        for job, (_, place) in enumerate(members)
    }
    running = Hypothetical([spec for spec, _ in members], Cluster(servers), held)
    changed = [Changed(job, None, held[job]) for job in held]
    prices = (performance or stalling()).reprice(changed, running)
    return [sum(prices[job]) / MS for job in held]


def close(times):
    """Equal but for the rounding of the times of the data and of the job."""
    return pytest.approx(times, rel=1e-5)


def test_a_guest_without_cpus_of_its_own_does_not_starve():
    """Two jobs of text, each on the GPU for half of its time: the guest holds nothing, both take 120 ms."""
    jobs = [member("GNMT", 120, held, gpu_utilization=0.5) for held in (SHARE, NOTHING)]
    assert times_ms(*jobs, guests=(1,)) == close([120, 120])


@pytest.mark.parametrize("guests", [(), (1,)])
def test_two_cpu_bound_jobs_alternate_on_the_cpus(guests):
    """GPUs are idle for 1 - 1 / 2.4 of ResNet18's time, its CPUs never: two take 2 x 640, guest or not."""
    jobs = [member("ResNet18", 640, held) for held in (SHARE, NOTHING)]
    assert times_ms(*jobs, guests=guests) == close([1280, 1280])


def test_whichever_is_shorter_decides_and_they_do_not_add_up():
    """Of ResNet18 and text, 1 / 2.4 + 1 of the GPU is wanted, and 1 + 1 / 3 of the CPUs: 1.41667 times."""
    jobs = [member("ResNet18", 640, SHARE), member("GNMT", 120, NOTHING)]
    slower = 1 / 2.4 + 1
    assert times_ms(*jobs) == close([640 * slower, 120 * slower])


def test_division_of_cpus_among_members_makes_no_difference():
    """2 + 1 CPUs and halves of the memory are 3 + 0 and all of it."""
    halves = [member("ResNet18", 640, (cpus, 31.25)) for cpus in (2, 1)]
    assert times_ms(*halves) == close([1280, 1280])


def test_a_member_uses_the_cpus_and_memory_of_its_gpus():
    """A host of 4 GPUs holds 24 CPUs, 500 GiB; a guest on one of them is fed by 6 of these, 1.75 as fast.

    The CPUs are busy all the time, for 4 and for 1 of 4 GPUs: 640 / 1.75 x 5 / 4 ms.
    """
    jobs = [member("ResNet18", 640, (24, 500), gpus=4), member("ResNet18", 640, NOTHING)]
    assert times_ms(*jobs, gpus=4) == close([640 / 1.75 * 5 / 4] * 2)


def test_a_guest_takes_no_cpus_from_a_host_that_holds_more_than_its_share():
    """With 9 CPUs and 62.5 GiB ResNet18 computes without pause; text that wants half the GPU makes it 1.5."""
    jobs = [member("ResNet18", 640, (9, 62.5)), member("GNMT", 120, NOTHING, gpu_utilization=0.5)]
    assert times_ms(*jobs) == close([640 / 2.4 * 1.5, 120 * 1.5])


@pytest.mark.parametrize("count", [2, 4])
def test_interleaved_jobs_are_fed_one_after_another(count):
    """ResNet18, 640 ms of CPUs an iteration: so many times that, though its stages say 240 ms of GPU."""
    stages = Stages(0, 0, 240 * MS, 0)
    jobs = [member("ResNet18", 640, NOTHING, stages=stages) for _ in range(count)]
    assert times_ms(*jobs, mode="interleaved") == close([640 * count] * count)


def test_a_measured_cpu_stage_is_not_waited_for_twice():
    """Stages of 400 ms of CPU and 240 of GPU say 400 + 400 + 240 for two; feeding takes two jobs 2 x 640.

    It is the longer, not the sum; with 6 CPUs feeding takes 2 x 640 / 1.75 = 731 ms, and the stages decide.
    """
    stages = Stages(0, 400 * MS, 240 * MS, 0)
    first = member("ResNet18", 640, SHARE, stages=stages)
    for held, period_ms in ((NOTHING, 1280), (SHARE, 1040)):
        second = member("ResNet18", 640, held, stages=stages)
        assert times_ms(first, second, mode="interleaved") == close([period_ms] * 2)


@pytest.mark.parametrize("mode", ["packed", "interleaved"])
def test_a_member_alone_takes_the_time_of_its_trace(mode):
    """A group of one is the job: 640 ms, even if what it holds is nothing."""
    assert times_ms(member("ResNet18", 640, NOTHING), mode=mode) == close([640])


def test_beliefs_of_groups_are_those_of_the_believed_stall():
    """Believed to need no CPUs, two of ResNet18 want 2 x 1 of the GPU, 640 / 2.4 ms each."""
    jobs = [member("ResNet18", 640, SHARE), member("ResNet18", 640, NOTHING)]
    believed = stalling().believing(None)
    assert times_ms(*jobs, performance=believed) == close([640 / 2.4 * 2] * 2)


class TenMs:
    """An effect of the user's own."""

    part = "input_stall_ns"

    def ns(self, spec, allocation, cluster, compute_ns):
        return 10 * MS


def test_waiting_for_something_else_comes_on_top():
    """Text that waits for 10 ms besides, alone in its group: 130 ms."""
    performance = stalling(effects=[TenMs()])
    assert times_ms(member("GNMT", 120, SHARE), performance=performance) == close([130])


def test_a_guest_of_antman_has_cpus_when_its_host_is_gone():
    """Text at 2 GPUs each, on the GPUs for half of the time: the hosts end at 12 s and leave their CPUs.

    The guests, which had none, do 200 iterations of 0.12 s: 24 s, and a moment.
    """
    machine = replace(SERVER, gpus=2, cpus=6, memory_bytes=125 * GIB)
    spec, _ = member("GNMT", 120, SHARE, gpu_utilization=0.5)
    jobs = [replace(spec, job_id=f"{n}", iterations=100 + 100 * (n // 2)) for n in range(4)]
    result, _ = run_checked(jobs, Cluster([machine]), AntMan(), stalling())
    assert seconds(result, "finish_ns") == pytest.approx([12, 12, 24, 24], abs=0.2)


def test_a_guest_of_gandiva_has_cpus_when_its_host_is_gone():
    """Text on one GPU, on it for half of the time: b joins at 10 s and has nothing, a ends at 12 s.

    b has done 2 s then, and goes on with the CPUs that a left: 10 + 12 s.
    """
    machine = replace(SERVER, gpus=1, cpus=3, memory_bytes=round(62.5 * GIB))
    spec, _ = member("GNMT", 120, SHARE, gpu_utilization=0.5)
    jobs = [replace(spec, job_id=f"{n}", iterations=100) for n in range(2)]
    policy = Gandiva(packing=True, profile_s=10)
    result, _ = run_checked(jobs, Cluster([machine]), policy, stalling())
    assert seconds(result, "finish_ns") == close([12, 22])


def test_guests_that_are_left_alone_do_not_get_the_same_cpus():
    """Of the 6 CPUs that two hosts leave at 12 s a waiting job without GPUs takes 4, the first guest 2."""
    machine = replace(SERVER, gpus=2, cpus=6, memory_bytes=125 * GIB)
    spec, _ = member("GNMT", 120, SHARE, gpu_utilization=0.5)
    jobs = [replace(spec, job_id=f"{n}", iterations=100 + 100 * (n // 2)) for n in range(4)]
    jobs.append(replace(spec, job_id="cores", submit_ns=NS_PER_S, model="", demand=Demand(0, cpus=4)))
    result, _ = run_checked(jobs, Cluster([machine]), AntMan(), stalling())
    assert seconds(result, "finish_ns")[2] == pytest.approx(24, abs=0.2)


def test_opportunistic_jobs_of_antman_end_in_time():
    """Host and guest of text on one GPU, each on it half of its time: 100 x 0.12 s for the host.

    The guest starts when the host is measured, a moment later, and takes as long.
    """
    machine = replace(SERVER, gpus=1, cpus=3, memory_bytes=round(62.5 * GIB))
    spec, _ = member("GNMT", 120, SHARE, gpu_utilization=0.5)
    jobs = [replace(spec, job_id=f"{n}", iterations=100) for n in range(2)]
    result, _ = run_checked(jobs, Cluster([machine]), AntMan(), stalling())
    assert seconds(result, "finish_ns") == pytest.approx([12, 12], abs=0.2)
