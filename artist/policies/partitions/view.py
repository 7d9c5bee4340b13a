"""A partition as its policy sees it: a cluster of its own, with machines and jobs numbered from 0."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from artist.core.arrays import Bools, Floats, Ints
from artist.core.buckets import ALL
from artist.core.cluster import DEFAULT_POOL, Allocation, Cluster
from artist.core.events import Event
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.link_use import LinkUse
from artist.core.plan import PlanBuilder
from artist.core.view import BeliefPerformance, ClusterView, JobColumns, Signal
from artist.policies.partitions.partition import Partition


class PartitionView:
    """One call's view of a partition; see `artist.core.view.ClusterView`.

    Parameters
    ----------
    whole
        The view of the cluster with all partitions.
    """

    def __init__(self, whole: ClusterView, partition: Partition) -> None:
        self.now_ns = whole.now_ns
        self._whole = whole
        self._partition = partition
        self._free: Free | None = None
        self._free_gpus: int | None = None

    @property
    def news(self) -> Sequence[Event]:
        return tuple(self._partition.news)

    @property
    def jobs(self) -> JobColumns:
        return self.columns(list(self._partition.unfinished))

    @property
    def waiting(self) -> JobColumns:
        return self.columns(sorted(self._partition.waiting))

    @property
    def n_waiting(self) -> int:
        return len(self._partition.waiting)

    @property
    def waiting_gpus(self) -> int:
        return int(self.waiting.gpus.sum())

    @property
    def cluster(self) -> Cluster:
        return self._partition.cluster

    @property
    def free_gpus(self) -> int:
        if self._free_gpus is None:
            self._free = self.free()  # the next one that is asked for
            self._free_gpus = self._free.total_gpus
        return self._free_gpus

    @property
    def pools(self) -> Sequence[str]:
        return (DEFAULT_POOL,) * len(self.cluster)

    def in_pool(self, name: str) -> int:
        return (1 << len(self.cluster)) - 1 if name == DEFAULT_POOL else 0

    @property
    def accepts(self) -> Bools:
        return self._whole.accepts[self._partition.machines]

    @property
    def all_open(self) -> bool:
        return self._whole.all_open or bool(self.accepts.all())

    @property
    def observed_bandwidth_bytes_per_s(self) -> Floats:
        return self._whole.observed_bandwidth_bytes_per_s[self._partition.machines]

    def observed_bandwidth_on(self, machine: int) -> Mapping[int, float]:
        drawn = self._whole.observed_bandwidth_on(self._partition.machines[machine])
        return {self._partition.here[job]: value for job, value in drawn.items()}

    @property
    def signals(self) -> Mapping[str, Signal]:
        return self._whole.signals

    @property
    def performance(self) -> BeliefPerformance:
        return _Performance(self._whole.performance, self._partition)

    def free(self, among: int = ALL) -> Free:
        free, self._free = (self._free, None) if among == ALL else (None, self._free)
        return free or self._whole.free(self._partition.whole_set(among))

    def columns(self, jobs: Sequence[int], among: int = ALL) -> JobColumns:
        partition, here = self._partition, np.array(jobs, dtype=np.int64)
        columns = self._whole.columns(partition.whole_jobs(jobs), partition.whole_set(among))
        return cast(JobColumns, _Columns(columns, partition, here))

    def demand(self, job: int) -> Demand:
        return self._whole.demand(self._partition.whole_job(job))

    def allocation(self, job: int) -> Allocation | None:
        allocation = self._whole.allocation(self._partition.whole_job(job))
        return None if allocation is None else self._partition.allocation_here(job)

    def shift_ns(self, job: int) -> int:
        return self._whole.shift_ns(self._partition.whole_job(job))

    def jobs_on(self, machine: int) -> Sequence[int]:
        here = self._partition.here
        return tuple([here[job] for job in self._whole.jobs_on(self._partition.machines[machine])])

    def plan(self) -> PlanBuilder:
        return PlanBuilder()


class _Columns:
    """Jobs of a partition as columns; see `artist.core.view.JobColumns`."""

    def __init__(self, columns: JobColumns, partition: Partition, here: Ints) -> None:
        self.job = here
        self._columns = columns
        self._partition = partition

    def __len__(self) -> int:
        return len(self.job)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_columns":
            raise AttributeError(name)
        return getattr(self._columns, name)

    @property
    def mean_unfinished(self) -> Floats:
        return self._partition.mean_unfinished(self.job, self._columns)


class _Performance:
    """Believed iteration times of jobs of a partition; see `artist.core.view.BeliefPerformance`."""

    def __init__(self, whole: BeliefPerformance, partition: Partition) -> None:
        self._whole = whole
        self._partition = partition

    def alone(self, jobs: Sequence[int], allocations: Sequence[Allocation]) -> Ints:
        return self._whole.alone(self._jobs(jobs), self._places(allocations))

    def together(
        self, jobs: Sequence[int], allocations: Sequence[Allocation], shift_ns: Sequence[int] = ()
    ) -> Ints:
        return self._whole.together(self._jobs(jobs), self._places(allocations), shift_ns)

    def added(
        self, jobs: Sequence[int], allocations: Sequence[Allocation | None], shift_ns: Sequence[int] = ()
    ) -> tuple[Ints, Mapping[int, int]]:
        times, others = self._whole.added(self._jobs(jobs), self._places(allocations), shift_ns)
        here = self._partition.here
        return times, {here[job]: time for job, time in others.items() if job in here}

    def sending(self, jobs: Sequence[int], allocations: Sequence[Allocation]) -> Sequence[LinkUse | None]:
        return self._whole.sending(self._jobs(jobs), self._places(allocations))

    def at_gpus(self, job: int, counts: Sequence[int], among: int = ALL) -> Ints:
        return self._whole.at_gpus(self._jobs([job])[0], counts, self._partition.whole_set(among))

    def as_asked(self, jobs: Sequence[int], among: int = ALL) -> Ints:
        return self._whole.as_asked(self._jobs(jobs), self._partition.whole_set(among))

    def at_resources(
        self, job: int, gpus: int, cpus: Sequence[int], memory_bytes: Sequence[int], among: int = ALL
    ) -> Ints:
        there = self._partition.whole_set(among)
        return self._whole.at_resources(self._jobs([job])[0], gpus, cpus, memory_bytes, there)

    def _jobs(self, jobs: Sequence[int]) -> list[int]:
        return self._partition.whole_jobs(jobs)

    def _places(self, allocations: Sequence[Allocation | None]) -> Any:
        return [self._partition.whole_allocation(allocation) for allocation in allocations]
