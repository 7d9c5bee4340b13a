"""Operating points of jobs that opt has placed on several machines."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from artist.policies.synergy.best_case import BestCases
from artist.policies.synergy.points import Point, Points
from artist.testing.tiny import on, tiny_cluster


def test_points_that_are_slower_there_than_the_share_are_left_out():
    """2 GPUs, a share of 2 CPUs and 20 bytes, on a machine each; less than 8 bytes on one make it slow.

    4 CPUs with 10 bytes, of value 3 on one machine, are 5 bytes on each: out. 4 CPUs with 20 bytes take half
    the time of the share: value 2 x 2. The least, 2 CPUs with 12 bytes, 6 on each, is the share.
    """

    def alone(jobs: Any, allocations: Any) -> Any:
        slow = [9 if min(s.memory_bytes for s in a.slices) < 8 else 1 for a in allocations]
        cpus = [min(s.cpus for s in a.slices) for a in allocations]
        return np.array([1000 * n // c for n, c in zip(slow, cpus, strict=True)])

    points = (Point(2, 12, 2.0), Point(4, 10, 3.0), Point(4, 20, 3.0))
    on_one: Any = Points(BestCases())
    on_one.of = lambda *_: [points]
    cluster = tiny_cluster(2, 2, cpus=2, memory_bytes=20)
    view: Any = SimpleNamespace(cluster=cluster, performance=SimpleNamespace(alone=alone))
    placed = on_one.placed(view, 0, {0: 1, 1: 1})
    assert placed.points == (Point(2, 20, 2.0), Point(4, 20, 4.0))
    assert placed.least == on((0, 1, 1, 10), (1, 1, 1, 10))
