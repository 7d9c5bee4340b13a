"""Jobs and what mechanisms make of them on machines of 4 GPUs, 12 CPUs and 120 bytes."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from artist.core.cluster import Allocation, Cluster
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.parts.mechanisms.api import Mechanism, Need
from artist.policies.parts.mechanisms.tune import Tune
from artist.testing.tiny import tiny_cluster

Amounts = tuple[int, int, int]  # GPUs, CPUs, bytes


def need(job: int, amounts: Amounts, **more: Any) -> Need:
    """Return a job with its best case."""
    gpus, cpus, memory = amounts
    return Need(job, Demand(gpus), gpus, cpus, memory, **more)


def view(held: Mapping[int, Allocation] | None = None, **more: Any) -> Any:
    """Return a view of what jobs hold."""
    return SimpleNamespace(allocation=(held or {}).get, **more)


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
    free = whole(tiny_cluster(machines, 4, cpus=12, memory_bytes=120))
    found = (mechanism or Tune(hand_out=False)).pack(needs, free, view(held))
    return [tuple(map(tuple, found[n.job].slices)) if n.job in found else None for n in needs]
