"""Jobs and what mechanisms make of them on machines of 4 GPUs, 12 CPUs and 120 bytes."""

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from artist.core.cluster import Allocation, Cluster
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.synergy.needs import Mechanism, Need
from artist.policies.synergy.tune import Tune
from artist.testing.tiny import tiny_cluster

Amounts = tuple[int, int, int]  # GPUs, CPUs, bytes


def need(job: int, amounts: Amounts, **more: Any) -> Need:
    """Return a job with its best case."""
    gpus, cpus, memory = amounts
    return Need(job, Demand(gpus), gpus, cpus, memory, **more)


def view(held: Mapping[int, Allocation] | None = None, **more: Any) -> Any:
    """Return a view of what jobs hold."""
    return SimpleNamespace(allocation=(held or {}).get, **more)


def believed(needs: Sequence[Need], cluster: Cluster, held: Mapping[int, Allocation] | None = None) -> Any:
    """Return a view of what jobs hold, and of iterations of 1 ms with the best case; of jobs, all differ.

    A slice with part of it is slowed accordingly, by the scarcer of CPUs and memory; the slowest counts.
    """
    by_job = {need.job: need for need in needs}

    def alone(jobs: Sequence[int], allocations: Sequence[Allocation]) -> Any:
        return [round(1e6 / speed(by_job[j], a.slices)) for j, a in zip(jobs, allocations, strict=True)]

    columns = SimpleNamespace(model=["m"], compute_ns=[1])
    return view(
        held,
        cluster=cluster,
        demand=by_job.get,
        columns=lambda jobs: columns,
        performance=SimpleNamespace(alone=alone),
    )


def speed(need: Need, slices: Iterable[tuple[int, int, int, int]]) -> float:
    """Return a job's relative speed on slices of (machine, GPUs, CPUs, bytes); 1 in its best case."""
    by_slice = [
        min(
            1.0,
            cpus * need.gpus / (need.cpus * gpus) if need.cpus else 1.0,
            memory * need.gpus / (need.memory_bytes * gpus) if need.memory_bytes else 1.0,
        )
        for _, gpus, cpus, memory in slices
    ]
    return max(min(by_slice), 1e-3)


def whole(cluster: Cluster) -> Free:
    """Return an empty cluster."""
    return Free(cluster, cluster.gpus, cluster.cpus, cluster.memory_bytes)


def packed(
    jobs: Sequence[Amounts | Need],
    machines: int = 1,
    mechanism: Mechanism | None = None,
    held: Mapping[int, Allocation] | None = None,
) -> list[tuple[tuple[int, ...], ...] | None]:
    """Return the slices (machine, GPUs, CPUs, bytes) of each job; nothing is handed out unless asked for."""
    needs = [job if isinstance(job, Need) else need(i, job) for i, job in enumerate(jobs)]
    cluster = tiny_cluster(machines, 4, cpus=12, memory_bytes=120)
    result = (mechanism or Tune(hand_out=False)).pack(needs, whole(cluster), believed(needs, cluster, held))
    return [tuple(map(tuple, result[n.job].slices)) if n.job in result else None for n in needs]
