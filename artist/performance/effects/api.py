"""What an effect of one job is."""

from typing import Protocol

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
        """Return what it adds to an iteration in ns, 0 or more.

        Parameters
        ----------
        compute_ns
            Compute time of the iteration on the GPUs (or CPUs) of the allocation.
        """
