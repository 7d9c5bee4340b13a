"""The series that a policy follows are there, or the run does not start."""

from collections.abc import Mapping

from artist.core.cluster import Cluster
from artist.core.view import Signal
from artist.errors import InputError


def check_signals(policy: object, cluster: Cluster, signals: Mapping[str, Signal]) -> None:
    """Refuse a run in which a series is missing that the policy says it `follows`.

    Raises
    ------
    InputError
        Naming the series that are missing.
    """
    follows = getattr(policy, "follows", None)
    missing = [name for name in follows(cluster) if name not in signals] if callable(follows) else []
    if missing:
        what = f"policy {type(policy).__name__} follows a series that is not there"
        allowed = (
            f"{', '.join(missing)} as well: another file of the group, or signals=file signals.path=FILE"
        )
        raise InputError(what, where="signals", found=", ".join(signals) or "none", allowed=allowed)
