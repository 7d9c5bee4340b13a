"""Contention of a machine's jobs for memory bandwidth and PCIe, worked out by hand.

A machine has four GPUs and 100 GB/s, of which GPU jobs notice what is drawn beyond 75. A GPU of `half` draws
10 GB/s, and loses half of its speed where all is used; `greedy` and `quiet` draw nothing. Iterations compute
for 1000 ns, and never wait for input.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from artist.core.cluster import Group
from artist.core.iteration import IterationParts
from artist.core.job import Demand, JobSpec, Stages
from artist.engine.hypothetical import Hypothetical
from artist.performance.api import Changed
from artist.performance.effects.compute import Compute
from artist.performance.effects.input_stall import InputStall
from artist.performance.formulas.input_rate import Sensitivity
from artist.performance.placed import PlacedPerformance
from artist.run.sensitivity import read_sensitivities
from artist.testing.tiny import on, tiny_cluster
from netmodels.models.zero import ZeroModel
from netmodels.profiles.profile import get_profile

GB = 10**9
CLUSTER = tiny_cluster(3, 4, cpus=64, memory_bandwidth_bytes_per_s=100 * GB)
FED = Sensitivity((1e-6,), (1.0,))
MODELS = {
    "half": replace(FED, memory_bandwidth_bytes_per_s=10 * GB, bandwidth_loss=0.5),
    "greedy": replace(FED, pcie_greedy=True),
    "quiet": FED,
}


def performance(models=MODELS):
    stall = InputStall(models, Compute())
    return PlacedPerformance(ZeroModel(), None, None, lambda model: get_profile("AlexNet"), input_stall=stall)


def gpu_job(model, gpus=1, **demand):
    return JobSpec("gpu", 0, Demand(gpus, **demand), 10, 1000, model)


def cpu_job(gb_s, cpus=2):
    return JobSpec("cpu", 0, Demand(0, cpus=cpus, memory_bandwidth_bytes_per_s=round(gb_s * GB)), 10, 1000)


def running(*held, cluster=CLUSTER):
    return Hypothetical([spec for spec, _ in held], cluster, {i: a for i, (_, a) in enumerate(held)})


def parts(*held, cluster=CLUSTER, models=MODELS):
    """Return the parts of jobs that run together, in order."""
    started = [Changed(job, None, allocation) for job, (_, allocation) in enumerate(held)]
    prices = performance(models).reprice(started, running(*held, cluster=cluster))
    return [prices[job] for job in range(len(held))]


@pytest.mark.parametrize(("models", "only"), [({"quiet": FED}, True), (MODELS, False)])
def test_jobs_of_a_machine_count_where_any_draws_bandwidth(models, only):
    """The end of a job outside groups is no question where no model draws, and one where any does."""
    assert performance(models).only_groups is only


def times(*held, **where):
    """Return their iteration times in ns."""
    return [sum(part) for part in parts(*held, **where)]


ONE_GPU, TWO_CPUS = on((0, 1, 1)), on((0, 0, 2))


@pytest.mark.parametrize(
    ("gb_s", "takes"),
    [
        (65, 1000),  # 10 + 65 = 75 %: not yet
        (77.5, 1333),  # 87.5 %: p = (0.875 - 0.75) / 0.25 = 1 / 2, 1000 / (1 - 0.5 / 2)
        (90, 2000),  # all: 1000 / (1 - 0.5)
        (190, 2000),  # twice what there is: no more than that
    ],
)
def test_a_gpu_job_is_slower_the_more_bandwidth_of_its_machine_is_drawn(gb_s, takes):
    """A GPU draws 10 of 100 GB/s beside a CPU job: from 75 % on in proportion, booked as interference."""
    gpu, _ = parts((gpu_job("half"), ONE_GPU), (cpu_job(gb_s), TWO_CPUS))
    assert gpu == IterationParts(1000, interference_ns=takes - 1000)


def test_a_cpu_job_is_slower_where_more_is_drawn_than_there_is():
    """10 + 90 + 50 of 100 GB/s: 1.5 times as long; not so one that draws nothing, nor one elsewhere."""
    drawing, idle, away = cpu_job(90, 4), cpu_job(0), cpu_job(10)
    held = (gpu_job("half"), ONE_GPU), (drawing, on((0, 0, 4))), (idle, TWO_CPUS), (away, on((1, 0, 2)))
    assert times(*held, (cpu_job(50), TWO_CPUS))[1:] == [1500, 1000, 1000, 1500]


def test_a_jobs_own_bandwidth_demand_is_in_its_measured_time():
    """200 of 100 GB/s alone: as measured. With 50 more, 2.5 / 2 times as long; the other 2.5 times.

    Four GPUs of half a machine's bandwidth alone, of 40 GB/s: as measured, 1000 ns, at any p.
    """
    assert times((cpu_job(200), TWO_CPUS)) == [1000]
    assert times((cpu_job(200), TWO_CPUS), (cpu_job(50), TWO_CPUS)) == [1250, 2500]
    small = tiny_cluster(1, 4, cpus=64, memory_bandwidth_bytes_per_s=40 * GB)
    assert times((gpu_job("half", 4), on((0, 4, 4))), cluster=small) == [1000]


def test_half_of_the_cpus_draw_half_and_a_cap_its_value():
    """160 GB/s asked beside 10. On half of its CPUs 80: 90 %, p = 0.6, 1000 / 0.7; the CPU job takes 2000.

    Capped at 1 / 2 likewise. Both: 40, so 50 %, and 4000. Beside 50 more, capped: 10 + 80 + 50 = 140 %, which
    makes 1.4 x 2000.
    """
    gpu, cpu = (gpu_job("half"), ONE_GPU), cpu_job(160)
    assert times(gpu, (cpu, on((0, 0, 1)))) == [1429, 2000]
    assert times(gpu, (cpu, on((0, 0, 2), cap=0.5))) == [1429, 2000]
    assert times(gpu, (cpu, on((0, 0, 1), cap=0.5))) == [1000, 4000]
    assert times(gpu, (cpu, on((0, 0, 2), cap=0.5)), (cpu_job(50), TWO_CPUS))[1] == 2800


def test_a_job_s_own_demand_goes_before_that_of_its_model():
    """`half` would draw 10 on each of 2 GPUs, this job says 67.5 in all: beside 20, 87.5 % instead of 40."""
    half = gpu_job("half", 2, memory_bandwidth_bytes_per_s=67_500_000_000)
    models = (half, on((0, 2, 2))), (gpu_job("half", 2), on((0, 2, 2)))
    assert times(*models) == [1333, 1333]
    drawn = performance().bandwidth(0, running(*models))
    assert drawn == {0: 67.5 * GB, 1: 20 * GB}


def test_models_draw_for_the_gpus_that_are_there_up_to_a_cap():
    """Two GPUs on m0 and one on m1, capped at 1 / 2: 10 and 5 GB/s; models that draw nothing are left out."""
    held = (gpu_job("half", 3), on((0, 2, 1), (1, 1, 1), cap=0.5)), (gpu_job("quiet"), ONE_GPU)
    assert performance().bandwidth(0, running(*held)) == {0: 10 * GB}
    assert performance().bandwidth(1, running(*held)) == {0: 5 * GB}


@pytest.mark.parametrize("more", [{"min_gpus": 1, "max_gpus": 3}, {"fungible": True, "measured_worth": 3.0}])
def test_gpus_beyond_those_asked_for_draw_as_well(more):
    """One GPU asked for, three held: 30 of 40 GB/s, which no job minds; 10 more are all of it, so 2000 ns.

    They crowd PCIe as well, where they are greedy: 1075 ns.
    """
    small = tiny_cluster(1, 4, cpus=64, memory_bandwidth_bytes_per_s=40 * GB)
    held = (gpu_job("half", **more), on((0, 3, 3))), (gpu_job("half"), ONE_GPU)
    assert times(*held, cluster=small)[1] == 2000
    greedy = (gpu_job("greedy", **more), on((0, 3, 3))), (gpu_job("quiet"), ONE_GPU)
    assert times(*greedy)[1] == 1075


def test_the_worst_machine_of_a_job_decides():
    """Beside 65 and 90 GB/s, and 10 of its own on each machine: 1000 and 2000, in either order.

    A CPU job with a CPU on each of two machines draws 20 on each; beside 20 and 130 it takes 1500 ns.
    """
    spread = (gpu_job("half", 2), on((0, 1, 1), (1, 1, 1)))
    for first, second in ((65, 90), (90, 65)):
        beside = (cpu_job(first), TWO_CPUS), (cpu_job(second), on((1, 0, 2)))
        assert times(spread, *beside)[0] == 2000
        cpus = (cpu_job(40), on((0, 0, 1), (1, 0, 1)))
        beside = (
            (cpu_job(20 if first < 90 else 130), TWO_CPUS),
            (cpu_job(130 if first < 90 else 20), on((1, 0, 2))),
        )
        assert times(cpus, *beside)[0] == 1500


def test_a_machine_of_unknown_bandwidth_slows_no_job():
    """1000 GB/s drawn of an unknown bandwidth: no job is slower."""
    silent = tiny_cluster(1, 4, cpus=64)
    assert times((gpu_job("half"), ONE_GPU), (cpu_job(1000), TWO_CPUS), cluster=silent) == [1000, 1000]


@pytest.mark.parametrize(
    ("one", "other", "slower"),
    [
        (("greedy", 2), ("quiet", 1), True),  # one greedy job is enough
        (("greedy", 1), ("quiet", 2), True),  # and so is one with two GPUs, whichever
        (("greedy", 2), ("greedy", 2), True),
        (("greedy", 1), ("greedy", 1), False),  # two of one GPU never
        (("greedy", 1), ("quiet", 1), False),
        (("quiet", 2), ("quiet", 2), False),
        (("greedy", 2), ("", 1), True),  # of the other nothing need be known
    ],
)
def test_two_gpu_jobs_contend_on_pcie(one, other, slower):
    """7.5 % of 1000 ns for both if one is greedy and one holds two GPUs; never on two machines."""
    first, second = ((gpu_job(model, gpus), on((0, gpus, 1))) for model, gpus in (one, other))
    assert times(first, second) == times(second, first) == [1075 if slower else 1000] * 2
    apart = (second[0], on((1, other[1], 1)))
    assert times(first, apart) == [1000, 1000]


def test_pcie_counts_gpus_of_the_machine_and_once():
    """A greedy job with one GPU on each of two machines is 1N1G on both; with two on each it is not.

    One neighbour, on one of its machines, is enough; beside two others it still takes 7.5 % longer.

    `quiet` beside a greedy job of one GPU, and a third of two that is not greedy: only the greedy one and the
    third crowd PCIe; the two that are not greedy do not, nor those of one GPU.
    """
    spread = (gpu_job("greedy", 2), on((0, 1, 1), (1, 1, 1)))
    assert times(spread, (gpu_job("quiet"), ONE_GPU)) == [1000, 1000]
    more = (gpu_job("greedy", 4), on((0, 2, 1), (1, 2, 1)))
    assert times(more, (gpu_job("quiet"), ONE_GPU)) == [1075, 1075]
    three = (gpu_job("greedy", 2), on((0, 2, 1))), (gpu_job("quiet"), ONE_GPU), (gpu_job("greedy"), ONE_GPU)
    assert times(*three) == [1075, 1075, 1075]
    some = (gpu_job("quiet"), ONE_GPU), (gpu_job("greedy"), ONE_GPU), (gpu_job("quiet", 2), on((0, 2, 1)))
    assert times(*some) == [1000, 1075, 1075]


def test_cpu_jobs_do_not_contend_on_pcie():
    """A job without GPUs is none of the other GPU jobs, however many CPUs it has."""
    assert times((gpu_job("greedy", 2), on((0, 2, 1))), (cpu_job(1), TWO_CPUS)) == [1000, 1000]


def test_only_compute_is_slower_and_not_the_wait_for_input():
    """With half of the CPUs it needs a job waits for 1000 ns; all bandwidth drawn, it computes for 2000."""
    models = {"half": replace(MODELS["half"], cpus=(2.0,))}
    gpu, _ = parts((gpu_job("half"), ONE_GPU), (cpu_job(90), TWO_CPUS), models=models)
    assert gpu == IterationParts(1000, input_stall_ns=1000, interference_ns=1000)


def test_bandwidth_and_pcie_add_up():
    """2000 ns for want of bandwidth, 7.5 % of that for PCIe: 2150, of which 1150 are interference."""
    models = MODELS | {"both": replace(MODELS["half"], pcie_greedy=True)}
    job = (gpu_job("both", 2), on((0, 2, 1)))
    alone = parts(job, (gpu_job("quiet"), ONE_GPU), (cpu_job(80), TWO_CPUS), models=models)[0]
    assert alone == IterationParts(1000, interference_ns=1150)


def test_a_job_in_its_delay_draws():
    """Else the end of a delay would have to be an event: 100 % from the start, though both begin at 50 ns."""

    class Delayed(Hypothetical):
        def ready_ns(self, job):
            return 50

    held = {0: ONE_GPU, 1: TWO_CPUS}
    delayed = Delayed([gpu_job("half"), cpu_job(90)], CLUSTER, held)
    prices = performance().reprice([Changed(0, None, ONE_GPU), Changed(1, None, TWO_CPUS)], delayed)
    assert sum(prices[0]) == 2000


def test_members_of_a_group_share_the_remaining_bandwidth_of_their_machine():
    """Two members interleave in 1000 ns. Beside 90 GB/s one takes 2000 ns: both do, and the other waits."""
    stages = Stages(0, 500, 500, 0)
    group = Group("g", ((0, 1),), mode="interleaved")
    members = [
        (replace(gpu_job(model), stages=stages), on((0, 1, 1), group=group)) for model in ("half", "quiet")
    ]
    half, quiet, _ = parts(*members, (cpu_job(90), TWO_CPUS))
    assert (half.interference_ns, quiet.interference_ns, quiet.sharing_ns) == (1000, 0, 1000)


def test_only_machines_that_are_short_are_looked_at_again():
    """A start beside 60 GB/s asks for no price but its own; at 90 for all that draw or hold GPUs there.

    The job at 90 ends: its neighbour is as fast as alone again. A CPU job that draws nothing never matters.
    """
    gpu, idle, plenty, much = (gpu_job("half"), ONE_GPU), (cpu_job(0), TWO_CPUS), cpu_job(60), cpu_job(90)
    for spec, touched in ((plenty, {2}), (much, {0, 2})):
        after = running(gpu, idle, (spec, TWO_CPUS))
        assert performance().reprice([Changed(2, None, TWO_CPUS)], after).keys() == touched
    after = Hypothetical([gpu[0], idle[0], much], CLUSTER, {0: ONE_GPU, 1: TWO_CPUS})
    assert performance().reprice([Changed(2, TWO_CPUS, None)], after) == {0: IterationParts(1000)}
    crowded = running(gpu, idle, (much, TWO_CPUS))
    assert performance().reprice([Changed(1, None, TWO_CPUS)], crowded).keys() == {1}


def test_tables_without_these_fields_couple_no_jobs():
    """Synergy's table says nothing of bandwidth or PCIe: beside 190 of 100 GB/s its jobs are as they were."""
    synergy = read_sensitivities(Path("synergy"))
    held = (
        (gpu_job("AlexNet"), on((0, 1, 64, 500 * 2**30))),
        (cpu_job(190), TWO_CPUS),
        (cpu_job(90), TWO_CPUS),
    )
    assert [part.interference_ns for part in parts(*held, models=synergy)] == [0, 0, 0]
    assert performance(synergy).bandwidth(0, running(*held)) == {1: 190 * GB, 2: 90 * GB}
