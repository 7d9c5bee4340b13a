"""The pools that a policy names are there, or the run does not start."""

from artist.core.cluster import DEFAULT_POOL, Cluster
from artist.errors import InputError


def check_pools(policy: object, cluster: Cluster) -> None:
    """Refuse a `pool` of the policy that no machine is in.

    Where no machine has a named pool any is accepted, because all machines serve then.

    Raises
    ------
    InputError
        With the pools that there are.
    """
    pool, pools = getattr(policy, "pool", ""), cluster.pools
    if isinstance(pool, str) and pool and pool not in pools and pools != {DEFAULT_POOL}:
        allowed = ", ".join(sorted(pools))
        raise InputError("no machine is in this pool", where="policy.pool", found=pool, allowed=allowed)
