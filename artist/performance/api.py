"""The one question that the engine asks of performance, and its answer."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from artist.core.arrays import Floats, Ints
from artist.core.cluster import Allocation, Cluster
from artist.core.iteration import IterationParts
from artist.core.job import JobSpec, Stages

if TYPE_CHECKING:  # importing them imports the links that jobs share, which most runs do without
    from netmodels.api import JobTraffic, Link


class Changed(NamedTuple):
    """A job whose allocation or shift changed: None before a start, None after a stop or the finish."""

    job: int
    before: Allocation | None
    after: Allocation | None


class Running(Protocol):
    """The jobs that run now."""

    @property
    def cluster(self) -> Cluster:
        """Machines and their facts."""

    def spec(self, job: int) -> JobSpec:
        """Return the specification of a job."""

    def allocation(self, job: int) -> Allocation:
        """Return the allocation of a running job."""

    def ready_ns(self, job: int) -> int:
        """Return the end of a running job's delay: until then it computes and sends nothing."""

    def shift_ns(self, job: int) -> int:
        """Return the delay of a running job's iterations relative to others on its links."""

    def jobs_on(self, machine: int) -> Iterable[int]:
        """Return the running jobs on a machine."""

    def crossing_machine(self, machine: int) -> Sequence[int]:
        """Return the running jobs on a machine that are on others, too: they use the links between."""

    def crossing_rack(self, rack: int) -> Sequence[int]:
        """Return the running jobs in a rack that are in others, too."""

    def members(self, group: str) -> Iterable[int]:
        """Return the running jobs of a group."""


@runtime_checkable
class Logged(Protocol):
    """The jobs that run at their prices, with a log of those on several machines for an index to follow."""

    def in_force(self, job: int) -> IterationParts | None:
        """Return the parts in force for a running job; None if it has not been priced yet."""

    def crossed(self, since: int) -> Sequence[tuple[int, Allocation | None]]:
        """Return the jobs that started or stopped to span machines, with the allocations of those that run.

        Parameters
        ----------
        since
            Number of such changes to leave out, the first of all. From 0 on, all running jobs that are on
            several machines are among the answers.
        """


class Performance(Protocol):
    """Iteration times; coupling between jobs lives only here.

    It keeps no state except remembered answers: policies also ask it about jobs that do not run. It may have
    `only_groups`, whether a job affects the iteration times of members of its group only: then it is not
    asked when a job without a group finishes.
    """

    def reprice(self, changed: Sequence[Changed], running: Running) -> Mapping[int, IterationParts]:
        """Return the parts of every changed job that runs and of all jobs whose time changed with it."""

    def skew(self, spec: JobSpec) -> float:
        """Return largest tensor / size of a job's model, 0 without a model."""

    def stages(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> Stages:
        """Return the time for which an iteration of a job uses each resource where it is placed."""

    def bandwidth(self, machine: int, running: Running) -> Mapping[int, float]:
        """Return the memory bandwidth in bytes/s that each job on a machine draws there.

        It may depend only on the jobs on that machine and their allocations.
        """


@runtime_checkable
class OnGrid(Protocol):
    """A performance that may answer for many CPUs and bytes of memory at once."""

    def at_resources(
        self, spec: JobSpec, allocation: Allocation, cluster: Cluster, cpus: Ints, memory_bytes: Ints
    ) -> Ints:
        """Return iteration times of a job alone on the GPUs of an allocation with other CPUs and memory.

        Parameters
        ----------
        cpus, memory_bytes
            In all, spread over the machines in proportion to GPUs; their shapes broadcast to that of the
            answer.
        """


@runtime_checkable
class OnLinks(Protocol):
    """A performance that knows the links that jobs share."""

    @property
    def capacity(self) -> Mapping["Link", float]:
        """Capacity of every link, byte/ns; inf where no link is shared."""

    def sending(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> "JobTraffic | None":
        """Return the traffic on shared links of a job alone in an iteration where it is placed.

        None if it sends nothing there, or if jobs are priced as if each had all links to itself.
        """


@runtime_checkable
class AsMeasured(Protocol):
    """A performance whose jobs may need CPUs and memory, so that run times hold for certain amounts."""

    def as_measured(self, specs: Sequence[JobSpec], cluster: Cluster) -> Floats | None:
        """Return time / compute time of jobs with the resources of their run times, without communication.

        Run times hold for the share that the machines of the cluster's own kind give in proportion to GPUs,
        or for the jobs' demands (`performance.measured_with`). Shape (n_jobs,); None if no job needs any.
        """
