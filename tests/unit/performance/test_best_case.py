"""The best-case rule: which amounts are tried, and what saturates."""

import numpy as np
import pytest

from artist.core.cluster import Machine
from artist.performance.formulas.best_case import best_case, points

GIB = 1 << 30
BOX = Machine("m", 0, "box", gpus=8, cpus=24, memory_bytes=500 * GIB)


@pytest.mark.parametrize(
    ("gpus", "cpus", "gib"),
    [
        (1, 24, [20, 62.5, 125, 187.5, 250]),
        (4, 24, [80, 250, 500]),  # 500 of 500, 750 and 1000 are one point
        (8, 24, [160, 500]),
        (9, 48, [180, 562.5, 1000]),  # two machines: 1000 GiB, 48 CPUs
    ],
)
def test_points_end_with_the_machines_that_a_job_needs(gpus, cpus, gib):
    """A machine's worth for GPUs that fit one, two machines' for nine GPUs; every CPU count from 1."""
    tried, memory = points(BOX, gpus)
    assert tried == list(range(1, cpus + 1))
    assert [m / GIB for m in memory] == gib


def test_a_machine_without_cpus_or_memory_has_one_point():
    """Nothing to choose: 0 CPUs and 0 bytes."""
    assert points(Machine("m", 0, "box", gpus=2), 1) == ([0], [0])


def grid(cpus, memory):
    """Return the longer of what CPUs and memory allow: 1000 ns from 3 CPUs and 3 bytes on."""
    by_cpus = {1: 1300, 2: 1009, 3: 1000, 4: 1000}
    by_memory = {1: 1298, 2: 1017, 3: 1000}
    return np.array([[max(by_cpus[c], by_memory[m]) for m in memory] for c in cpus])


def test_one_percent_from_the_best_is_saturated():
    """With all memory 2 CPUs are 0.9 % slower than 4; there 2 bytes are 1017 / 1009 = 0.8 % slower than 3.

    With 1 byte 1 CPU would be as good as 4; and with 4 CPUs 2 bytes are 1.7 % slower than 3.
    """
    assert best_case(grid, [1, 2, 3, 4], [1, 2, 3], share=(1, 1)) == (2, 2)


@pytest.mark.parametrize(("share", "expected"), [((3, 1), (3, 3)), ((1, 3), (2, 3))])
def test_never_slower_than_a_share_that_is_saturated(share, expected):
    """A share of 3 CPUs takes 1000 ns with all memory, the best: 2 CPUs, 1009 ns, will not do.

    A share of 1 CPU takes 1300: 2 CPUs do. With them a share of 3 bytes takes 1009, and 2 bytes, 1017, will
    not do.
    """
    assert best_case(grid, [1, 2, 3, 4], [1, 2, 3], share) == expected


def test_the_share_of_memory_is_tried():
    """Besides the share only 1 byte is tried, 1298 ns. The share of 2 bytes takes 1017, which is better."""
    assert best_case(grid, [1, 2, 3, 4], [1], share=(1, 2)) == (2, 2)


def test_a_best_case_is_at_least_the_share_where_cpus_make_up_for_memory():
    """1200 / (CPUs + bytes) ns, at least 200: so 4 CPUs and 2 bytes do. The share has 5 and 1.

    The lesser of both, 4 CPUs and 1 byte, takes 240, the share 200. So the best case has 5 CPUs and 2 bytes.
    """

    def times(cpus, memory):
        return np.array([[max(1200 // (c + m), 200) for m in memory] for c in cpus])

    assert best_case(times, [1, 2, 3, 4, 5], [1, 2], share=(5, 1)) == (5, 2)
