"""Input stall: what CPUs and memory do to iterations, by hand."""

from pathlib import Path

import numpy as np
import pytest

from artist.core.cluster import Cluster, Machine, Slice
from artist.core.job import Demand, JobSpec
from artist.errors import InputError
from artist.performance.effects.compute import Compute
from artist.performance.effects.input_stall import InputStall
from artist.performance.formulas.input_rate import Sensitivity
from artist.run.sensitivity import read_sensitivities
from artist.testing.tiny import on

GIB, MS = 2**30, 1_000_000
V100, H100 = 0.25, 1.0
MODELS = read_sensitivities(Path("synergy"))


def server(speed=V100, gpu_type="V100", cpus=24, memory_gib=500, gpus=8):
    return Machine("s", 0, gpu_type, gpus, gpu_type, speed, cpus, memory_gib * GIB)


CLUSTER = Cluster([server(), server(), server(H100, "H100")])


def iteration_ms(model, share_ms, *slices, gpus=1, compute=None, **demand):
    """Return the iteration time of a job that takes share_ms at the proportional share of a server.

    Slices are (machine, GPUs, CPUs, GiB); machine 2 has GPUs of four times the speed.
    """
    compute = compute or Compute()
    stall = InputStall(MODELS, compute)
    compute_ns = round(share_ms * MS / stall.as_measured(model, gpus, V100, CLUSTER.machines[0]))
    spec = JobSpec("j", 0, Demand(gpus, measured_speed=V100, **demand), 1, compute_ns, model=model)
    place = on(*((m, n, cpus, round(gib * GIB)) for m, n, cpus, gib in slices))
    here_ns = compute.ns(spec, place, CLUSTER)
    return (here_ns + stall.ns(spec, place, CLUSTER, here_ns)) / MS


def close(ms):
    """Equal but for the rounding of the times of the data and of the job."""
    return pytest.approx(ms, rel=1e-5)


@pytest.mark.parametrize(
    ("cpus", "throughput"),
    [(1, 0.37), (2, 0.72), (3, 1), (4, 1.3), (7, 1.75 + 0.65 / 3), (9, 2.4), (12, 2.4), (24, 2.4)],
)
def test_more_cpus_prepare_more_images_until_the_gpu_is_never_starved(cpus, throughput):
    """ResNet18 takes 0.64 s with 3 CPUs, 0.64 / 2.4 with 9 or more; 7 are a third of the way from 6 to 9."""
    assert iteration_ms("ResNet18", 640, (0, 1, cpus, 62.5)) == close(640 / throughput)


@pytest.mark.parametrize(("gib", "throughput"), [(62.5, 2), (125, 2.94), (250, 2.94)])
def test_images_that_memory_does_not_hold_come_from_storage(gib, throughput):
    """AlexNet, 12 CPUs: 62.5 GiB miss 1 - 42.5 / 140 of the images: 1.39286 / 0.69643 = 2; 125 are enough."""
    assert iteration_ms("AlexNet", 600, (0, 1, 12, gib)) == close(600 / throughput)


@pytest.mark.parametrize(("gib", "throughput"), [(20, 1.28205), (62.5, 1.5), (125, 2), (187.5, 2.5)])
def test_a_cache_brings_as_much_as_it_holds(gib, throughput):
    """M5, 292.5 GiB of sound: 1.28205 / (1 - 0, 42.5, 105, 167.5 of 292.5) = 1.28, 1.5, 2, 3; at most 2.5."""
    assert iteration_ms("M5", 600, (0, 1, 6, gib)) == close(600 / throughput)


def test_the_slower_of_cpus_and_storage_decides():
    """M5 with 187.5 GiB and 3 CPUs goes on at 1: 3 / 2.5 of the bytes come, 1 / 2.5 are prepared."""
    assert iteration_ms("M5", 600, (0, 1, 3, 187.5)) == close(600)


@pytest.mark.parametrize("cpus", [1, 3, 24])
def test_text_needs_a_cpu_and_its_processes_20_gib(cpus):
    """GNMT is not a nanosecond slower with 1 CPU and 20 GiB (the paper, section 2.1)."""
    assert iteration_ms("GNMT", 120, (0, 1, cpus, 20)) == 120


def test_a_job_without_memory_for_its_processes_pages():
    """GNMT with a byte less than 10 + 10 GiB goes on at a hundredth: 12 s instead of 0.12."""
    assert iteration_ms("GNMT", 120, (0, 1, 3, 20 - 1 / GIB)) == 12_000


def test_a_job_without_cpus_goes_on_at_a_hundredth():
    """Or it would divide by nothing: ResNet18's GPU part of 0.64 / 2.4 s takes 100 times as long."""
    assert iteration_ms("ResNet18", 640, (0, 1, 0, 62.5)) == close(64_000 / 2.4)


def test_a_faster_gpu_needs_more_cpus():
    """On an H100 ResNet18 computes for 0.64 / 2.4 / 4 s. 9 CPUs feed a V100, 36 feed it, 18 half of it."""
    computes = 640 / 2.4 / 4
    by_cpus = [iteration_ms("ResNet18", 640, (2, 1, cpus, 250)) for cpus in (3, 9, 18, 36)]
    assert by_cpus == [close(ms) for ms in (640, 4 * computes, 2 * computes, computes)]


def test_gpus_of_a_job_share_cpus_and_cache():
    """4 GPUs with 24 CPUs and 250 GiB: 6 CPUs each; cache of 250 - 50 of 292.5 GiB: 1.28 / 0.316 = 4."""
    assert iteration_ms("M5", 600, (0, 4, 24, 250), gpus=4) == close(240)


def test_the_slowest_fed_slice_decides():
    """3 GPUs with 27 CPUs and 1 with 3: the fourth prepares for 0.64 s, all wait for it; with 9 none does."""
    first = iteration_ms("ResNet18", 640, (0, 1, 3, 62.5), (1, 3, 27, 200), gpus=4)
    last = iteration_ms("ResNet18", 640, (0, 3, 27, 200), (1, 1, 3, 62.5), gpus=4)
    assert [first, last] == close([640, 640])
    even = iteration_ms("ResNet18", 640, (0, 3, 27, 200), (1, 1, 9, 62.5), gpus=4)
    assert even == close(640 / 2.4)


def test_a_cache_is_on_all_machines_together():
    """M5 on 1 + 1 GPUs, 40 + 20 GiB spare of 292.5: 1.28205 / (1 - 60 / 292.5) = 1.61, whichever has more."""
    slices = (0, 1, 24, 60), (1, 1, 24, 40)
    assert iteration_ms("M5", 600, *slices, gpus=2) == close(600 / 1.28205 * (1 - 60 / 292.5))


def test_processes_need_memory_on_each_machine():
    """2 GPUs on one machine run with 30 GiB; on two they need 20 each, so 15 + 15 page."""
    assert iteration_ms("GNMT", 120, (0, 2, 2, 30), gpus=2) == 120
    assert iteration_ms("GNMT", 120, (0, 1, 1, 15), (1, 1, 1, 15), gpus=2) == 12_000


@pytest.mark.parametrize(("gib", "ms"), [(50, 120), (49, 12_000)])
def test_processes_need_memory_for_each_gpu(gib, ms):
    """10 GiB, and 10 for each of 4 GPUs: what GNMT has in the paper's Table 3."""
    assert iteration_ms("GNMT", 120, (0, 4, 12, gib), gpus=4) == ms


def test_equal_parts_on_mixed_gpus():
    """A V100 and an H100 compute as two V100: 9 CPUs feed each, though the H100 alone would need 36."""
    slices = (0, 1, 9, 125), (2, 1, 9, 125)
    assert iteration_ms("ResNet18", 640, *slices, gpus=2, mixed_types=True) == close(640 / 2.4)


def test_parts_by_speed_on_mixed_gpus():
    """As fast as each can, 1 + 4 V100: the H100 takes 1.6 of two equal parts, and needs 9 x 1.6 x 2.5 CPUs.

    The two take 2 / 5 of the time of two V100; with 18 CPUs it is fed at half of that.
    """
    as_each_can = Compute(mixed_types="sum")
    times = [
        iteration_ms("ResNet18", 640, (0, 1, 9, 125), (2, 1, cpus, 125), gpus=2, compute=as_each_can)
        for cpus in (18, 36)
    ]
    assert times == [close(640 / 2.4 * 2 / 5 * 2), close(640 / 2.4 * 2 / 5)]


def test_equal_parts_where_mixing_brings_nothing():
    """At 0.3 of (0.25 + 1) / 2 GPUs do no more than two V100, with equal parts: 9 CPUs feed the H100."""
    compute = Compute(mixed_types="sum", mixed_efficiency=0.3)
    slices = (0, 1, 9, 125), (2, 1, 9, 125)
    assert iteration_ms("ResNet18", 640, *slices, gpus=2, compute=compute) == close(640 / 2.4)


def test_an_elastic_job_keeps_the_work_of_its_iterations():
    """Measured with 4 GPUs, on 2: 3 CPUs a GPU prepare half as many images in all; 6 a GPU 1.75 / 2."""
    elastic = {"gpus": 4, "min_gpus": 2, "max_gpus": 4}
    assert iteration_ms("ResNet18", 640, (0, 2, 6, 125), **elastic) == close(1280)
    assert iteration_ms("ResNet18", 640, (0, 2, 12, 125), **elastic) == close(1280 / 1.75)


def test_a_cpu_only_job_waits_for_nothing():
    """It has no model, and its CPUs are its compute."""
    assert iteration_ms("", 1000, (0, 0, 1, 0), gpus=0, cpus=1) == 1000


@pytest.mark.parametrize("gpus", [1, 2, 4, 8, 12, 16])
def test_the_share_does_not_depend_on_the_number_of_gpus(gpus):
    """3 CPUs a GPU on every machine: 2.4 of ResNet18; 12 GPUs are a full server and half of one."""
    stall = InputStall(MODELS, Compute())
    assert stall.as_measured("ResNet18", gpus, V100, server()) == pytest.approx(2.4)
    assert stall.as_measured("GNMT", gpus, V100, server()) == 1


def test_the_proportional_share_is_in_whole_cpus_per_machine():
    """5 GPUs, 28 CPUs: 5 with a GPU, 11 with two: 1.53 and 1.64. Of 7 GPUs the last two have 11, too."""
    stall, machine = InputStall(MODELS, Compute()), server(cpus=28, gpus=5)
    shares = [stall.as_measured("ResNet18", gpus, V100, machine) for gpus in (1, 2, 7)]
    assert shares == [pytest.approx(2.4 / 1.53), pytest.approx(2.4 / 1.64), pytest.approx(2.4 / 1.64)]


def test_the_share_of_faster_gpus():
    """14 CPUs prepare for 14 / 9 of a V100, and the H100 eats for 4."""
    share = InputStall(MODELS, Compute()).as_measured("ResNet18", 1, H100, server(H100, "H100", 112, 2048))
    assert share == pytest.approx(4 / (14 / 9))


@pytest.mark.parametrize(("cpus", "memory_gib"), [(7, 500), (24, 100)])
def test_machines_whose_share_starves_jobs_are_refused(cpus, memory_gib):
    """No CPU for one GPU of 8, or 12.5 GiB for processes of 20: times measured there mean nothing."""
    with pytest.raises(InputError) as error:
        InputStall(MODELS, Compute()).as_measured("GNMT", 1, V100, server(cpus=cpus, memory_gib=memory_gib))
    assert error.value.found == f"{cpus // 8} CPUs and {memory_gib / 8:g} GiB go with 1 GPUs of a job of GNMT"
    assert error.value.allowed == (
        "at least a CPU for each GPU, and 20 GiB for these; or null, so that jobs need none"
    )


def test_a_grid_equals_its_points():
    """CPUs and memory spread over machines in whole numbers, some too few, some plenty; to the nanosecond."""
    compute = Compute(mixed_types="sum")
    stall = InputStall(MODELS, compute)
    spec = JobSpec("j", 0, Demand(7, mixed_types=True, measured_speed=V100), 1, 123_456_789, model="M5")
    place = on((0, 4), (1, 1), (2, 2))
    here_ns = compute.ns(spec, place, CLUSTER)
    cpus = np.arange(0, 80, 5)
    memory = np.array([0, 90, 150, 200, 250, 300, 1000]) * GIB
    memory = memory.astype(np.int64)
    grid = stall.on_grid(spec, place, CLUSTER, here_ns, cpus[:, None], memory[None, :])
    points = [
        [stall.ns(spec, place.with_resources(c, m), CLUSTER, here_ns) for m in memory.tolist()]
        for c in cpus.tolist()
    ]
    assert grid.tolist() == points
    assert len(set(grid.ravel().tolist())) > 15  # the points differ


def test_below_the_first_point_rates_go_by_cpus():
    """One CPU for two GPUs is half of a CPU: 0.5 x 0.37 / 2.4; text is whole with a quarter (Table 3)."""
    assert MODELS["ResNet18"].prepared(0.5) == pytest.approx(0.5 * 0.37 / 2.4)
    assert MODELS["Transformer-XL"].prepared(0.25) == 1


def test_saturation_begins_at_the_first_point_with_the_last_value():
    """CPUs beyond 2 of {1: 1, 2: 3, 8: 3} prepare in proportion: 8 feed four GPUs of that speed."""
    model = Sensitivity((1, 2, 8), (1, 3, 3))
    assert [model.prepared(c) for c in (1, 1.5, 2, 8)] == [pytest.approx(r) for r in (1 / 3, 2 / 3, 1, 4)]


def test_all_that_memory_holds_is_never_fetched():
    """With hits of 1, and without a rate of storage, fetching never limits."""
    assert Sensitivity((1,), (1,), dataset_bytes=10, uncached=0.5).fetched(10) == float("inf")
    assert Sensitivity((1,), (1,)).fetched(0) == float("inf")


def test_slices_without_gpus_feed_nothing():
    """CPUs on a machine where a job has no GPU prepare nothing for it, and none is missing there."""
    stall = InputStall(MODELS, Compute())
    spec = JobSpec("j", 0, Demand(1, measured_speed=V100), 1, 100, model="GNMT")
    place = on((0, 1, 3, 60 * GIB), (1, 0, 0, 0))
    assert place.slices[1] == Slice(1, 0)
    assert stall.ns(spec, place, CLUSTER, 100) == 0
