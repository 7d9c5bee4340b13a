"""The interface of an effect on one job."""

from typing import Protocol, runtime_checkable

from artist.core.arrays import Ints
from artist.core.cluster import Allocation, Cluster
from artist.core.job import JobSpec


class Effect(Protocol):
    """One thing that makes iterations of a job longer where it is placed, whatever runs beside it.

    Attributes
    ----------
    part
        The field of `IterationParts` that it adds to, such as "input_stall_ns".
    """

    @property
    def part(self) -> str:
        """Name of the part."""

    def ns(self, spec: JobSpec, allocation: Allocation, cluster: Cluster, compute_ns: int) -> int:
        """Return the time added to an iteration in ns, 0 or more.

        Parameters
        ----------
        compute_ns
            Compute time of the iteration on the GPUs (or CPUs) of the allocation.
        """


@runtime_checkable
class ByResources(Effect, Protocol):
    """An effect that depends on CPUs or memory, so it also answers for many of them at once."""

    def on_grid(
        self,
        spec: JobSpec,
        allocation: Allocation,
        cluster: Cluster,
        compute_ns: int,
        cpus: Ints,
        memory_bytes: Ints,
    ) -> Ints:
        """Return the time added with other CPUs and memory in all, in ns.

        Parameters
        ----------
        allocation
            Gives the GPUs; `Allocation.with_resources` spreads CPUs and memory over them.
        cpus, memory_bytes
            Their shapes broadcast to that of the answer.
        """
