"""Pools: named sets of machines. Shared by the policies."""

from collections.abc import Collection

from artist.core.buckets import ALL
from artist.core.cluster import DEFAULT_POOL, Cluster
from artist.core.view import ClusterView


def machines_in(view: ClusterView, pool: str) -> int:
    """Return the machines that are in a pool now, as a set of `artist.core.buckets`.

    All machines if no pool is named or the cluster has none of that name.
    """
    return view.in_pool(pool) if pool and pool in view.cluster.pools else ALL


def notes_on_others(cluster: Cluster, training: str, known: Collection[str]) -> list[str]:
    """Return notes, for the user, on machines in pools that a policy does not know.

    Parameters
    ----------
    training
        The pool of the machines for training; if it is empty, unknown ones are for training too.
    known
        The pools that the policy knows.
    """
    there = training in cluster.pools
    others = cluster.pools - set(known) - (set() if there else {DEFAULT_POOL})
    becomes = "are not used" if there else "are for training"
    return [
        f"machines in pool {pool!r} {becomes}; it knows pools {', '.join(known)}" for pool in sorted(others)
    ]
