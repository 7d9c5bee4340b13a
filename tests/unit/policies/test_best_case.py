"""Best-case demands: the least CPUs, then the least memory, that saturate a job."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from artist.core.job import Demand
from artist.policies.synergy.best_case import BestCase, BestCases
from artist.testing.tiny import tiny_cluster

GIB = 1 << 30
Speed = Callable[[float, float], float]  # of CPUs and GiB of memory in all


def a_view(speed: Speed, *, gpus: int = 8, cpus: int = 24, memory_gib: int = 500, model: str = "m") -> Any:
    """Return a view of two machines, for jobs of a believed speed; it counts the questions."""
    asked: list[int] = []

    def at_resources(job: int, gpus: int, cpus: Sequence[int], memory_bytes: Sequence[int]) -> Any:
        asked.append(job)
        return np.array([[round(1e9 / speed(c, m / GIB)) for m in memory_bytes] for c in cpus])

    return SimpleNamespace(
        asked=asked,
        cluster=tiny_cluster(2, gpus, cpus=cpus, memory_bytes=memory_gib * GIB),
        columns=lambda jobs: SimpleNamespace(model=[model], compute_ns=np.array([10**9])),
        demand=lambda job: Demand(gpus=1),
        performance=SimpleNamespace(at_resources=at_resources),
    )


POINTS = [20, 62.5, 125, 187.5, 250]


def test_the_least_cpus_then_the_least_memory_within_one_percent():
    """Saturated by 9 of 24 CPUs and 100 GiB: the next point is 125 GiB; 9 * 0.99 = 8.91 > 8 CPUs."""
    view = a_view(lambda cpus, gib: min(cpus, 9, 9 * gib / 100))
    assert BestCases(POINTS).of(view, 0, 1) == BestCase(1, 9, 125 * GIB)


def test_one_percent_counts_as_saturated():
    """From 5 CPUs on, one more gains 0.005: 24 reach 5.095, and 5.095 / 1.01 = 5.0446 takes 5 + 9 CPUs."""
    view = a_view(lambda cpus, gib: min(cpus, 5 + (cpus - 5) * 0.005))
    assert BestCases(POINTS).of(view, 0, 1) == BestCase(1, 14, 20 * GIB)


def test_a_job_that_needs_neither_is_happy_with_the_first_points():
    """Insensitive: one CPU for its 4 GPUs, 4 x 20 GiB."""
    assert BestCases(POINTS).of(a_view(lambda cpus, gib: 1.0), 0, 4) == BestCase(4, 1, 80 * GIB)


@pytest.mark.parametrize(
    ("gpus", "cpus", "memory_gib"), [(1, 24, 250), (8, 24, 500), (9, 48, 1000), (16, 48, 1000)]
)
def test_no_more_than_the_servers_that_a_job_needs(gpus: int, cpus: int, memory_gib: int):
    """Never saturated: 24 CPUs and 500 GiB of one server, of two beyond 8 GPUs; at most 250 GiB a GPU."""
    best = BestCases(POINTS).of(a_view(lambda cpus, gib: cpus * gib), 0, gpus)
    assert best == BestCase(gpus, cpus, memory_gib * GIB)


def test_machines_without_cpus_or_memory():
    """Facts that a topology leaves out are 0, and so are the demands."""
    view = a_view(lambda cpus, gib: 1.0, cpus=0, memory_gib=0)
    assert BestCases(POINTS).of(view, 0, 1) == BestCase(1, 0, 0)


def test_jobs_alike_are_worked_out_once():
    """Two questions (CPUs, memory) for ten equal jobs, two more for another number of GPUs."""
    view, cases = a_view(lambda cpus, gib: 1.0), BestCases(POINTS)
    for job in range(10):
        cases.of(view, job, 1)
    assert len(view.asked) == 2
    assert cases.of(view, 3, 2).gpus == 2
    assert len(view.asked) == 4
