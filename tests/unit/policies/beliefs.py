"""Jobs of a believed speed, for mechanisms that ask for it. Shared by tests."""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from artist.core.cluster import Allocation, Cluster
from artist.core.free import Free
from artist.core.job import Demand

GIB = 1 << 30
Speed = Callable[[float, float], float]  # of CPUs and GiB of memory in all


class Believed(NamedTuple):
    """A job: its GPUs, and its speed."""

    gpus: int
    speed: Speed


def view_of(cluster: Cluster, jobs: Sequence[Believed], held: Mapping[int, Allocation] | None = None) -> Any:
    """Return a view of jobs 0, 1, ...; those that share a speed and GPUs are alike."""

    def at_resources(job: int, gpus: int, cpus: Sequence[int], memory_bytes: Sequence[int]) -> Any:
        speed = jobs[job].speed
        return np.array([[round(1e9 / speed(c, m / GIB)) for m in memory_bytes] for c in cpus])

    def alone(numbers: Sequence[int], allocations: Sequence[Allocation]) -> Any:
        total = [(sum(s.cpus for s in a.slices), sum(s.memory_bytes for s in a.slices)) for a in allocations]
        return np.array(
            [at_resources(j, 0, [c], [m])[0, 0] for j, (c, m) in zip(numbers, total, strict=True)]
        )

    def columns(numbers: Sequence[int]) -> Any:
        models = np.array([str(id(jobs[job].speed)) for job in numbers], dtype=object)
        return SimpleNamespace(model=models, compute_ns=np.full(len(numbers), 10**9))

    return SimpleNamespace(
        cluster=cluster,
        columns=columns,
        demand=lambda job: Demand(jobs[job].gpus),
        allocation=(held or {}).get,
        performance=SimpleNamespace(at_resources=at_resources, alone=alone),
    )


def all_free(cluster: Cluster) -> Free:
    """Return a cluster in which nothing runs."""
    return Free(cluster, cluster.gpus, cluster.cpus, cluster.memory_bytes)
