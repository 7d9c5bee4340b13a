"""How near the GPUs of an allocation are to each other. Shared by policies."""

from bisect import bisect_left

from artist.core.cluster import Allocation, Cluster, racks_of


def span(allocation: Allocation, cluster: Cluster) -> tuple[int, int]:
    """Return the numbers of racks and of machines: the smaller, the nearer are the GPUs to each other."""
    return len(racks_of(allocation, cluster)), len(allocation.slices)


def apart(allocation: Allocation, gpus: int, cluster: Cluster) -> bool:
    """Return whether fewer racks, or fewer machines of as many racks, of the cluster could hold some GPUs."""
    racks = -(-gpus // cluster.largest_rack)
    machines = bisect_left(cluster.gpus_of_largest, gpus) + 1
    return span(allocation, cluster) > (racks, machines)
