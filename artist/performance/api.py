"""The one question that the engine asks of performance, and its answer."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from artist.core.cluster import Allocation, Cluster
from artist.core.job import JobSpec, Stages


class IterationParts(NamedTuple):
    """Where the time of one iteration goes, in ns; the sum is the iteration time.

    `compute_ns` is scaled to the speed and the number of the GPUs; the others come on top: CPUs and
    memory given against needed, memory bandwidth and packing, communication that does not overlap
    with compute, other jobs on the same links, and waiting for the members of an interleaved group.
    """

    compute_ns: int
    input_stall_ns: int = 0
    interference_ns: int = 0
    exposed_ns: int = 0
    contention_ns: int = 0
    sharing_ns: int = 0


class Changed(NamedTuple):
    """A job whose allocation changed: None before a start, None after a stop or the finish."""

    job: int
    before: Allocation | None
    after: Allocation | None


class Running(Protocol):
    """The jobs that run now."""

    @property
    def cluster(self) -> Cluster:
        """Machines and their facts."""

    def spec(self, job: int) -> JobSpec:
        """Return what is known of a job."""

    def allocation(self, job: int) -> Allocation:
        """Return what a running job holds."""

    def jobs(self) -> Iterable[int]:
        """Return all running jobs."""

    def jobs_on(self, machine: int) -> Iterable[int]:
        """Return the running jobs on a machine."""

    def members(self, group: str) -> Iterable[int]:
        """Return the running jobs of a group."""

    def open_share(self, job: int) -> float:
        """Return how far a running job is into its open iteration, in [0, 1)."""


class Performance(Protocol):
    """Iteration times; coupling between jobs lives only here.

    It keeps no state but what it remembers of answers: policies ask it about jobs that do not run, too.
    """

    def reprice(self, changed: Sequence[Changed], running: Running) -> Mapping[int, IterationParts]:
        """Return the parts of every changed job that runs and of all whose time changed with it."""

    def skew(self, spec: JobSpec) -> float:
        """Return largest tensor / size of a job's model, 0 where it has none."""

    def stages(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> Stages:
        """Return how long an iteration of a job uses each resource where it is placed."""


def with_group_members(changed: Sequence[Changed], running: Running) -> list[int]:
    """Return the changed jobs that run, and the members of every group that they are or were in."""
    jobs: dict[int, None] = {}
    for job, before, after in changed:
        if after is not None:
            jobs[job] = None
        for allocation in (before, after):
            if allocation is not None and allocation.group is not None:
                jobs.update(dict.fromkeys(running.members(allocation.group.name)))
    return list(jobs)
