"""Pools: the machines of an owner. Shared by the policies."""

from artist.core.buckets import ALL
from artist.core.view import ClusterView


def machines_in(view: ClusterView, pool: str) -> int:
    """Return the machines that are in a pool now, as a set of `artist.core.buckets`.

    All, where no pool is named or the cluster has none of that name.
    """
    return view.in_pool(pool) if pool and pool in view.cluster.pools else ALL
