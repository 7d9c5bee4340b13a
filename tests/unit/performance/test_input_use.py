"""CPUs and memory in use by jobs, and their best case, worked out by hand.

1, 3, 6 CPUs a GPU prepare 0.25, 0.75, 1 of what a GPU eats, whose speed is 1. The data set has 100 GiB, of
which storage alone delivers 0.5; processes need 10 GiB on each machine and 10 for each GPU.
"""

from dataclasses import replace

import pytest

from artist.core.cluster import Cluster, Machine
from artist.core.job import Demand, JobSpec
from artist.performance.effects.compute import Compute
from artist.performance.effects.input_stall import InputStall
from artist.performance.formulas.input_rate import Sensitivity
from artist.performance.input_use import InputUse
from artist.testing.tiny import on, tiny_cluster
from artist.units import seconds_to_ns

GIB = 1 << 30
MODEL = Sensitivity((1, 3, 6), (1, 3, 4), 1.0, 100 * GIB, 2.0, 10 * GIB, 10 * GIB)
CLUSTER = tiny_cluster(cpus=12, memory_bytes=200 * GIB)


def use(compute: Compute | None = None) -> InputUse:
    """Return the question's object."""
    return InputUse(InputStall({"net": MODEL}, compute or Compute()))


def spec(gpus: int = 1, model: str = "net", **demand: int) -> JobSpec:
    """Return a job that computes for 1 s an iteration."""
    return JobSpec("a", 0, Demand(gpus, **demand), iterations=1, compute_ns=seconds_to_ns(1), model=model)


@pytest.mark.parametrize(
    ("iteration_s", "held", "cpus"),
    [
        (1, 12, 6),  # eats all that a GPU can: 6 of 12 CPUs
        (4 / 3, 3, 3),  # 3 CPUs prepare 0.75, no faster
        (2, 6, 2),  # 0.5, as something else slows it: halfway between 1 and 3 CPUs
        (8, 6, 0.5),  # 0.125: in proportion below 1 CPU
        (0.5, 24, 12),  # 2, twice as fast as that GPU: 6 CPUs more
        (1, 4, 4),  # never more than it holds
    ],
)
def test_cpus_used_prepare_input_at_the_jobs_speed(iteration_s: float, held: int, cpus: float) -> None:
    """The samples of an iteration are eaten at 1 s / iteration time."""
    result, _ = use().in_use(spec(), on((0, 1, held, 0)), CLUSTER, seconds_to_ns(iteration_s))
    assert result == pytest.approx(cpus, rel=1e-8)


@pytest.mark.parametrize(("held", "used"), [(15, 15), (50, 50), (200, 120)])
def test_memory_of_processes_and_of_the_data_set(held: int, used: int) -> None:
    """20 GiB of processes on one machine with one GPU, and at most 100 GiB are cached."""
    _, result = use().in_use(spec(), on((0, 1, 6, held * GIB)), CLUSTER, seconds_to_ns(1))
    assert result == used * GIB


def test_on_two_machines_each_counts() -> None:
    """6 CPUs a GPU are needed: 4 of 4 and 6 of 9; 20 GiB of processes on each, 18 and 150 held.

    A machine with less than processes need caches nothing; the other all of the data set: 18 + 20 + 100.
    """
    places = on((0, 1, 4, 18 * GIB), (1, 1, 9, 150 * GIB))
    result = use().in_use(spec(2), places, CLUSTER, seconds_to_ns(1))
    assert result == (pytest.approx(10), 138 * GIB)


def test_gpus_that_share_work_by_speed_are_fed_by_speed() -> None:
    """Speeds 1 and 3, together 4, measured on 2 of speed 1: a GPU's part is 0.5 and 1.5 of the mean.

    At an iteration of 1 s each GPU eats 1 in the mean: 0.5, 2 CPUs, and 1.5, 6 + 3 CPUs.
    """
    machines = [
        Machine("m0", 0, "slow", 1, "slow", 1.0, 12, 200 * GIB),
        Machine("m1", 0, "fast", 1, "fast", 3.0, 12, 200 * GIB),
    ]
    result, _ = use(Compute(mixed_types="sum")).in_use(
        spec(2), on((0, 1, 12), (1, 1, 12)), Cluster(machines), seconds_to_ns(1)
    )
    assert result == pytest.approx(2 + 9)


def test_jobs_without_a_model_or_gpus() -> None:
    """Of the first nothing is known; the second is all CPUs and memory."""
    assert use().in_use(spec(model=""), on((0, 1, 6, GIB)), CLUSTER, 1) == (0, 0)
    assert use().in_use(spec(0, cpus=3, memory_bytes=GIB), on((0, 0, 3, GIB)), CLUSTER, 1) == (3, GIB)
    assert use().best_case(spec(0, cpus=3, memory_bytes=GIB), CLUSTER) == (3, GIB)


@pytest.mark.parametrize(
    ("gpus", "cpus", "memory_gib"),
    [
        (1, 6, 100),  # processes 20 and 50 of cache, for storage delivers the rest at 1: 62.5 are too few
        (2, 12, 125),  # processes 30 on one machine: of 40, 125 ... the second
        (4, 24, 250),  # on two machines, processes 60: 110, of 80, 250, 400 the second
    ],
)
def test_the_best_case(gpus: int, cpus: int, memory_gib: int) -> None:
    """The least with which it is at most 1 % slower: 5 CPUs a GPU prepare 0.917, 6 prepare 1."""
    assert use().best_case(spec(gpus), CLUSTER) == (cpus, memory_gib * GIB)


def test_the_best_case_does_not_depend_on_compute_time() -> None:
    """6 CPUs; with 5, which prepare 0.917, an iteration of 3 ns would take 3.27 ns, 3 as well if rounded."""
    assert use().best_case(replace(spec(), compute_ns=3), CLUSTER) == (6, 100 * GIB)


def test_the_best_case_of_a_machine_with_few_cpus() -> None:
    """4 CPUs are all: 0.833. With 42.5 GiB of cache storage delivers 0.870, with none 0.5."""
    small = tiny_cluster(cpus=4, memory_bytes=200 * GIB)
    assert use().best_case(spec(), small) == (4, 62.5 * GIB)


def test_the_best_case_is_that_of_the_clusters_own_gpus() -> None:
    """A job measured on GPUs of speed 1 on a cluster of speed 0.5: GPUs eat half, 2 CPUs and 20 GiB do."""
    slow = Cluster([Machine("m0", 0, "box", 2, speed=0.5, cpus=12, memory_bytes=200 * GIB)])
    assert use().best_case(spec(), slow) == (2, 20 * GIB)
