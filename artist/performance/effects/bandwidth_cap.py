"""A cap on the memory bandwidth of a job."""

from artist.core.cluster import Allocation, Cluster
from artist.core.job import JobSpec


class BandwidthCap:
    """A cap c stretches compute by 1 / c, as if memory bandwidth bound the job."""

    part = "interference_ns"

    def ns(self, spec: JobSpec, allocation: Allocation, cluster: Cluster, compute_ns: int) -> int:
        """Return the time that the cap adds to an iteration in ns."""
        cap = allocation.bandwidth_cap
        return 0 if cap == 1.0 else round(compute_ns * (1 / cap - 1))
