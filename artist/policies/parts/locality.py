"""Locality of an allocation's GPUs. Shared by policies."""

from bisect import bisect_left

from artist.core.cluster import Allocation, Cluster, racks_of


def span(allocation: Allocation, cluster: Cluster) -> tuple[int, int]:
    """Return the numbers of racks and of machines: the smaller, the better the locality."""
    return len(racks_of(allocation, cluster)), len(allocation.slices)


def apart(allocation: Allocation, gpus: int, cluster: Cluster) -> bool:
    """Return whether some GPUs would fit in fewer racks, or on fewer machines in the same number of racks."""
    racks = -(-gpus // cluster.largest_rack)
    machines = bisect_left(cluster.gpus_of_largest, gpus) + 1
    return span(allocation, cluster) > (racks, machines)
