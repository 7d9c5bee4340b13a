"""Priorities: priority/basic and priority/multifactor.

Source: Slurm's pages on the multifactor priority plugin and on the fair tree algorithm.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from artist.core.cluster import Cluster
from artist.policies.parts.limits import Qos
from artist.policies.slurm.configuration import Partition
from artist.policies.slurm.fair_share import FairShare
from artist.policies.slurm.job import Job

PriorityPlugin = Literal["priority/basic", "priority/multifactor"]


class Weights(NamedTuple):
    """PriorityWeight* of slurm.conf."""

    age: int
    fair_share: int
    job_size: int
    partition: int
    qos: int


class Multifactor:
    """priority/multifactor: the sum of weights x factors of 0 to 1, less the nice value; at least 1.

    - age: time since the job became eligible / PriorityMaxAge;
    - fair share: `artist.policies.slurm.fair_share`;
    - job size: mean of its shares of the nodes and of the CPUs; with PriorityFavorSmall 1 - that;
    - partition: PriorityJobFactor / the largest of all partitions;
    - QOS: Priority / the largest of all QOS.

    Parameters
    ----------
    max_age_ns
        PriorityMaxAge.
    partitions, qos
        Those of the configuration.
    fair_share
        None without associations: the factor is 0.
    """

    def __init__(
        self,
        weights: Weights,
        max_age_ns: int,
        favor_small: bool,
        partitions: Iterable[Partition],
        qos: Iterable[Qos],
        fair_share: FairShare | None,
        cluster: Cluster,
    ) -> None:
        self._weights, self._max_age_ns, self._favor_small = weights, max(max_age_ns, 1), favor_small
        self._max_partition = max([1, *(one.PriorityJobFactor for one in partitions)])
        self._max_qos = max([1, *(one.Priority for one in qos)])
        self._fair_share = fair_share
        self._nodes, self._cpus = len(cluster), int(cluster.cpus.sum())

    def priority(self, job: Job, now_ns: int) -> int:
        """Return a job's priority."""
        weights = self._weights
        age = min(1.0, max(0, now_ns - job.eligible_ns) / self._max_age_ns)
        size = job.nodes / max(self._nodes, 1)
        if self._cpus:
            size = (size + (job.cpus or job.nodes) / self._cpus) / 2
        size = 1 - size if self._favor_small else size
        parts = weights.age * age + weights.job_size * min(max(size, 0.0), 1.0)
        parts += weights.partition * job.partition.PriorityJobFactor / self._max_partition
        if job.qos is not None:
            parts += weights.qos * job.qos.Priority / self._max_qos
        if weights.fair_share and self._fair_share is not None:
            parts += weights.fair_share * self._fair_share.factor(job.account, job.user)
        return max(1, int(parts - job.nice))

    def end(self, job: Job, now_ns: int) -> None:
        """Add the usage of a job that ends, or stops."""
        if self._fair_share is not None:
            self._fair_share.add(job, now_ns)

    def recalculate(self, now_ns: int, jobs: Sequence[Job]) -> None:
        """Decay the usage, add that of running jobs, and set the priorities of waiting ones.

        Parameters
        ----------
        jobs
            All that wait or run, by number. In classic fair share a user's factor has the usage of the jobs
            before its first one that waits; in the fair tree that of all.
        """
        shares = self._fair_share
        if shares is not None:
            shares.decay(now_ns)
        for job in sorted(jobs, key=lambda job: job.start_ns < 0) if shares and shares.tree else jobs:
            if job.start_ns < 0:
                job.priority = self.priority(job, now_ns)
            elif shares is not None:
                shares.add(job, now_ns)
        if shares is not None:
            shares.calculated_ns = now_ns
