"""Input stall in two steps: the share's speed, the best case's, and nothing between."""

import numpy as np
import pytest
from synergy_program import SteppedStall

from artist.core.cluster import Cluster, Machine
from artist.core.job import Demand, JobSpec
from artist.engine.hypothetical import Hypothetical
from artist.performance.api import Changed
from artist.performance.effects.compute import Compute
from artist.performance.effects.input_stall import InputStall
from artist.performance.formulas.input_rate import Sensitivity
from artist.performance.placed import PlacedPerformance
from artist.testing.performance_conformance import PerformanceConformance
from artist.testing.tiny import on, tiny_cluster
from netmodels.models.zero import ZeroModel

GIB = 1 << 30
MODELS = {
    "images": Sensitivity((1, 3, 6), (0.5, 1, 2)),
    # 62.5 GiB hold 62.5 of 140: storage then brings 0.5 / (1 - 0.446) = 0.903 of the best; 125 bring 4.67
    "stored": Sensitivity((1, 3, 6), (0.5, 1, 2), dataset_bytes=140 * GIB, uncached=1.0),
    "text": Sensitivity((1,), (1,), gpu_bytes=10 * GIB),
    "large": Sensitivity((1,), (1,), dataset_bytes=1000 * GIB, uncached=0.3),
    # 2 CPUs are within 1 % of the best, and 100 GiB nearly enough: 0.28569 / (1 - 100 / 140) = 0.9999
    "nearly": Sensitivity((2, 3), (0.991, 1), dataset_bytes=140 * GIB, uncached=0.28569),
}
CLUSTER = tiny_cluster(4, 4, cpus=12, memory_bytes=400 * GIB)  # 3 CPUs and 100 GiB a GPU


class Profile:
    """A model that communicates nothing."""

    compute_ns, skew, program = 1, 0.0, None

    def scaled(self, factor):
        return self


def chain(stall):
    return PlacedPerformance(ZeroModel(), None, None, lambda model: Profile(), input_stall=stall)


def stretch(model, gpus, cpus, memory_gib, cluster=CLUSTER):
    """Return iteration time / compute time of a job on as few machines as can be, in a run and on a grid."""
    demand, stall = (
        Demand(gpus, measured_speed=cluster.machines[0].speed),
        SteppedStall(InputStall(MODELS, Compute())),
    )
    spec, performance = JobSpec("a", 0, demand, 1, 10**9, model), chain(stall)
    place = on(*((m, min(4, gpus - 4 * m)) for m in range(-(-gpus // 4))))
    held = place.with_resources(cpus, memory_gib * GIB)
    (alone,) = performance.reprice(
        [Changed(0, None, held)], Hypothetical([spec], cluster, {0: held})
    ).values()
    grid = performance.at_resources(spec, place, cluster, np.array([[cpus]]), np.array([[memory_gib * GIB]]))
    assert grid.tolist() == [[sum(alone)]]
    return round(sum(alone) / 10**9, 3)


@pytest.mark.parametrize(
    ("cpus", "expected"),
    [
        (12, 1),
        (6, 1),  # the best case
        (5, 2),  # the curve says 1 / (5/6) = 1.2
        (3, 2),  # the share: half the rate
        (2, 2.667),  # less: the curve, 0.75 / 2
        (1, 4),
    ],
)
def test_it_is_as_fast_as_with_its_share_or_as_it_gets(cpus, expected):
    """On 6 CPUs a GPU it never waits, on 3 to 5 it takes twice as long, as with its share of 3."""
    assert stretch("images", 1, cpus, 100) == expected


@pytest.mark.parametrize(
    ("cpus", "memory_gib", "expected"),
    [
        (6, 125, 1),
        (6, 124, 2),  # 124 hold more than 62.5 and less than the point that is enough
        (6, 100, 2),
        (5, 400, 2),
        (3, 100, 2),
        (3, 99, 2),  # below the share: the curve's 1 / min(0.5, 0.5 / (1 - 99 / 140)), no slower
        (3, 20, 2),  # 0.5 / (1 - 20 / 140) = 0.583 would be faster: no faster than the share
    ],
)
def test_both_must_be_enough(cpus, memory_gib, expected):
    """Of memory the points are 20, 62.5, 125 ... GiB: 125 are the least with which storage keeps up."""
    assert stretch("stored", 1, cpus, memory_gib) == expected


@pytest.mark.parametrize(
    ("gpus", "cpus", "expected"),
    [
        (2, 12, 1),  # two GPUs would like 12 of 12
        (2, 11, 2),
        (3, 12, 1.5),  # three 18: on the line from 9 CPUs, 0.5, to 18, 1, 12 are a third: 0.667
        (3, 11, 2),
        (4, 12, 2),  # four 24: their share is all that there is
        (8, 24, 2),  # eight on two machines would like 48, more than a machine has: their share
        (8, 48, 2),
        (8, 12, 3.2),  # less than that: 1.5 CPUs a GPU, 0.3125 by the curve
    ],
)
def test_a_job_gets_no_more_than_a_machine_has(gpus, cpus, expected):
    """The speed of a job that is cut down lies on the line between share and best, by its CPUs."""
    assert stretch("images", gpus, cpus, 100 * gpus) == expected


@pytest.mark.parametrize(("gpus", "cpus", "memory_gib"), [(1, 1, 20), (4, 4, 80), (8, 8, 160)])
def test_a_frugal_job_needs_no_share(gpus, cpus, memory_gib):
    """A CPU and 20 GiB a GPU are all that it takes; without them it pages, a hundred times as slow."""
    assert stretch("text", gpus, cpus, memory_gib) == 1
    assert stretch("text", gpus, cpus, 10 * gpus - 1) == 100


def test_values_within_one_percent_count_as_the_share():
    """2 CPUs and 125 GiB are the best case, at 0.991; 3 and 100 the share, at 0.9999.

    So the best case counts as 0.9999, too, and so does the lesser of the two.
    """
    assert [stretch("nearly", 1, *held) for held in ((2, 125), (2, 100), (3, 100))] == [1.0] * 3
    assert stretch("nearly", 1, 1, 100) == 2.018  # the curve: 0.991 / 2


@pytest.mark.parametrize(("memory_gib", "expected"), [(400, 1), (399, 2.333), (300, 2.333)])
def test_memory_that_is_cut_down_costs_no_speed(memory_gib, expected):
    """Three GPUs want 750 of 1000 GiB, as 0.3 / (1 - 0.75) is enough: they get the machine's 400.

    Then they are as fast as with 750. Their share is 300 GiB: 0.3 / (1 - 0.3) = 0.4286.
    """
    assert stretch("large", 3, 12, memory_gib) == expected


@pytest.mark.parametrize(
    ("speed", "cpus", "expected"), [(0.75, 5, 1), (0.75, 4, 1.5), (2, 12, 1), (2, 11, 4)]
)
def test_faster_gpus_want_more_cpus(speed, cpus, expected):
    """A GPU 0.75 times as fast as those measured wants 5 of 6 CPUs, for 0.75 of 0.833; twice as fast, 12.

    With less it has what its share of 3 CPUs brings: 0.5 of 0.75, and 0.5 of 2.
    """
    machines = [Machine(f"m{i}", 0, "box", 4, speed=speed, cpus=12, memory_bytes=400 * GIB) for i in range(2)]
    assert stretch("images", 1, cpus, 100, Cluster(machines)) == expected


class TestSteppedStall(PerformanceConformance):
    """A grid's answers equal a run's, with 64 CPUs per machine and on several machines."""

    models = ("images", "text", "nearly", "")

    def make_performance(self):
        return chain(SteppedStall(InputStall(MODELS, Compute())))
