"""Policies that must be the same where what tells them apart is taken out: equal finish times, exactly."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from artist.core.cluster import Cluster
from artist.core.job import JobSpec
from artist.core.view import Policy
from artist.engine.overheads import Overheads
from artist.policies.basic.ordered import Ordered
from artist.policies.coda.policy import Coda
from artist.policies.dally.policy import Dally
from artist.policies.muri.policy import Muri
from artist.policies.synergy.cpu_tuned import CpuTuned
from artist.policies.synergy.policy import MECHANISMS, Synergy
from artist.policies.tiresias.policy import Tiresias
from artist.testing.conformance import generated_jobs
from artist.testing.tiny import run_checked, tiny_cluster

SEEDS = pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]
)
COSTS = Overheads(start_s=0.1, resume_s=0.4, restart_s=0.9)
TUNED = {
    "srtf": lambda: Ordered(order="srtf", preemptive=True, backfill=True),
    "tiresias": lambda: Tiresias(thresholds_gpu_s=(8, 40)),
    "dally": lambda: Dally(machine_timer_h=1 / 3600, rack_timer_h=2 / 3600, lease_s=6),
}


def finish_ns(policy: Policy, jobs: Sequence[JobSpec], cluster: Cluster | None = None) -> list[int]:
    result, _ = run_checked(jobs, cluster or tiny_cluster(3, 4, per_rack=2), policy, overheads=COSTS)
    return result.columns["finish_ns"].tolist()


def one_gpu_each(jobs: Sequence[JobSpec]) -> list[JobSpec]:
    return [replace(spec, demand=replace(spec.demand, gpus=1)) for spec in jobs]


def one_queue(**parameters: object) -> Tiresias:
    return Tiresias(
        thresholds_gpu_s=(),
        placement_high_skew="best_fit",
        placement_low_skew="best_fit",
        **parameters,
    )


@SEEDS
def test_tiresias_with_one_queue_is_strict_fifo(seed: int) -> None:
    """Inside a queue jobs go by start; one queue and no overtaking is FIFO, which stops no job."""
    jobs = generated_jobs(seed, 40)
    fifo = Ordered(order="fifo", placement="best_fit")
    assert finish_ns(one_queue(backfill=False), jobs) == finish_ns(fifo, jobs)


@SEEDS
def test_tiresias_with_one_queue_is_fifo_with_overtaking(seed: int) -> None:
    """The same where jobs may overtake one that does not fit: they are not stopped for it, either."""
    jobs = generated_jobs(seed, 40)
    fifo = Ordered(order="fifo", backfill=True, placement="best_fit")
    assert finish_ns(one_queue(backfill=True), jobs) == finish_ns(fifo, jobs)


@SEEDS
def test_tiresias_that_never_reaches_a_threshold_is_one_queue(seed: int) -> None:
    """A threshold beyond all service changes nothing: 10^6 GPU-seconds, the jobs have some thousands."""
    jobs = generated_jobs(seed, 40)
    far = Tiresias(
        thresholds_gpu_s=(1e6,), placement_high_skew="best_fit", placement_low_skew="best_fit", backfill=True
    )
    assert finish_ns(far, jobs) == finish_ns(one_queue(backfill=True), jobs)


@SEEDS
def test_continuous_tiresias_is_2d_las(seed: int) -> None:
    """Without queues Tiresias is plain 2D-LAS, at equal interval and placement."""
    jobs = generated_jobs(seed, 40)
    las2d = Ordered(order="las2d", preemptive=True, backfill=True, placement="best_fit", interval_s=3)
    assert finish_ns(one_queue(continuous=True, interval_s=3), jobs) == finish_ns(las2d, jobs)


@SEEDS
@pytest.mark.parametrize("order", ["srsf", "las2d", "fifo"])
def test_muri_with_groups_of_one_is_its_base_order(order: str, seed: int) -> None:
    """Nobody shares, the first that fit run: at equal interval and placement, on one machine, the order."""
    jobs, machine = generated_jobs(seed, 40), tiny_cluster(1, 12)
    how = {"order": order, "placement": "best_fit", "interval_s": 3}
    base = Ordered(**how, preemptive=True, backfill=True)
    assert finish_ns(Muri(**how, max_jobs=1, on_events=True), jobs, machine) == finish_ns(base, jobs, machine)


@SEEDS
@pytest.mark.parametrize(("one", "other"), [("srtf", "srsf"), ("las", "las2d")])
def test_service_is_time_where_all_jobs_ask_for_one_gpu(one: str, other: str, seed: int) -> None:
    """Service is time x GPUs, so with one GPU each the orders by service are the orders by time."""
    jobs = one_gpu_each(generated_jobs(seed, 40))
    small = tiny_cluster(1, 2)
    finishes = [
        finish_ns(Ordered(order=order, preemptive=True, backfill=True, interval_s=2), jobs, small)
        for order in (one, other)
    ]
    assert finishes[0] == finishes[1]


@SEEDS
@pytest.mark.parametrize(("one", "other"), [("srtf", "srsf"), ("las", "las2d")])
def test_service_is_not_time_where_demands_differ(one: str, other: str, seed: int) -> None:
    """The reduction above is only worth something where the two orders differ in general."""
    jobs = generated_jobs(seed, 40)
    finishes = [
        finish_ns(Ordered(order=order, preemptive=True, backfill=True, interval_s=2), jobs)
        for order in (one, other)
    ]
    assert finishes[0] != finishes[1]


@SEEDS
@pytest.mark.parametrize("backfill", [False, True])
def test_shortest_first_is_fifo_where_all_jobs_are_equally_long(seed: int, backfill: bool) -> None:
    """Equal keys keep the order of arrival: 12 iterations of 0.5 s each, whatever the GPUs."""
    jobs = [replace(spec, iterations=12, compute_ns=500_000_000) for spec in generated_jobs(seed, 40)]
    sjf, fifo = (Ordered(order=order, backfill=backfill) for order in ("sjf", "fifo"))
    assert finish_ns(sjf, jobs) == finish_ns(fifo, jobs)


@SEEDS
@pytest.mark.parametrize("order", ["sjf", "srtf", "srsf", "las", "las2d"])
def test_every_order_equals_fifo_where_no_job_waits(seed: int, order: str) -> None:
    """With room for all no order matters: each starts on arrival, has 0.1 s of delay, runs through."""
    jobs = one_gpu_each(generated_jobs(seed, 20))
    roomy = tiny_cluster(5, 4)
    expected = [s.submit_ns + 100_000_000 + s.ideal_ns for s in jobs]
    assert (
        finish_ns(Ordered(order=order, preemptive=True, backfill=True, interval_s=2), jobs, roomy) == expected
    )


@SEEDS
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("order", ["fifo", "srtf", "las"])
def test_synergy_with_insensitive_jobs_is_its_base_order(order: str, mechanism: str, seed: int) -> None:
    """All that is told of each job is equal, at equal interval, placement, packing order and skipping rule.

    On one machine there is one placement. Who runs is the order's to say, whatever the mechanism: jobs that
    need no CPUs run as fast with any.
    """
    machine = tiny_cluster(1, 12, cpus=24, memory_bytes=240 << 30)
    how = {"order": order, "on_events": False, "interval_s": 3}
    base = Ordered(**how, preemptive=True, backfill=True)
    expected, result = (
        run_checked(generated_jobs(seed, 40), machine, policy, overheads=COSTS)[0].columns
        for policy in (base, Synergy(**how, mechanism=mechanism))
    )
    assert expected.keys() == result.keys()
    for name, column in expected.items():
        assert column.tolist() == result[name].tolist(), name


@SEEDS
@pytest.mark.parametrize("mechanism", ["tune", "opt"])
@pytest.mark.parametrize("name", TUNED)
def test_cpu_tuned_changes_nothing_for_insensitive_jobs(name: str, mechanism: str, seed: int) -> None:
    """The policy sees shares in proportion to GPUs, so it does on any machines what it does with these."""
    cluster = tiny_cluster(3, 4, per_rack=2, cpus=16, memory_bytes=240 << 30)
    expected, result = (
        run_checked(generated_jobs(seed, 40), cluster, policy, overheads=COSTS)[0].columns
        for policy in (TUNED[name](), CpuTuned(TUNED[name](), mechanism))
    )
    for column in expected:
        assert expected[column].tolist() == result[column].tolist(), column


@SEEDS
def test_coda_without_its_own_parts_equals_fifo(seed: int) -> None:
    """GPU jobs of one user in one array, with the CPUs that they ask for: every column is that of FIFO."""
    cluster = tiny_cluster(3, 4, per_rack=2, cpus=8, memory_bytes=1 << 30)
    jobs = [replace(spec, user="u") for spec in generated_jobs(seed, 40, cpu_jobs=True) if spec.demand.gpus]
    coda = Coda(arrays=False, allocator="requested", eliminator="off")
    fifo = Ordered(order="fifo", queues="kinds", fill="as_asked")
    ours, base = (run_checked(jobs, cluster, policy, overheads=COSTS)[0].columns for policy in (coda, fifo))
    assert {name: column.tolist() for name, column in ours.items()} == {
        name: column.tolist() for name, column in base.items()
    }
    assert base["queueing_ns"].sum() > 0
