"""The series that a policy follows are there, and those of pools are shares, or the run does not start."""

from collections.abc import Mapping, Sequence

from artist.core.cluster import Cluster
from artist.core.view import Signal
from artist.errors import InputError
from artist.units import ns_to_seconds
from artist.workload.signals import NEXT

_EVER = 2**62
_GENERATED = "inference"  # conf/signals/inference.yaml draws it, and what comes next


def check_signals(policy: object, cluster: Cluster, signals: Mapping[str, Signal]) -> None:
    """Refuse a run in which a series is missing that the policy says it `follows`, or a pool's is no share.

    Raises
    ------
    InputError
        Naming the series that are missing, or the first value that is no share.
    """
    follows = getattr(policy, "follows", None)
    missing = [name for name in follows(cluster) if name not in signals] if callable(follows) else []
    if missing:
        what = f"policy {type(policy).__name__} follows a series that is not there"
        allowed = f"{', '.join(missing)} as well: {_remedy(policy, missing)}"
        raise InputError(what, where="signals", found=", ".join(signals) or "none", allowed=allowed)
    for name, signal in signals.items():
        if name.removesuffix(NEXT) in cluster.pools:
            _check_shares(name, signal)


def _check_shares(name: str, signal: Signal) -> None:
    """Refuse what a pool cannot use: a series with the name of a pool is a share of its machines."""
    times_ns, values = signal.up_to(_EVER)
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        first = int(wrong.argmax())
        place = getattr(signal, "place", lambda number: "")(first)
        where = place or f"signals, {name} at {ns_to_seconds(int(times_ns[first])):g} s"
        allowed = "a share of the machines of the pool, from 0 to 1: divide by their number"
        raise InputError("not a share", where=where, found=f"{values[first]:g}", allowed=allowed)


def _remedy(policy: object, missing: Sequence[str]) -> str:
    """Return the settings that give series, or with which the policy does without them."""
    ahead = [name.removesuffix(NEXT) for name in missing if name.endswith(NEXT)]
    alone = len(ahead) == len(missing)
    setting = f"signals.ahead=[{', '.join(ahead)}]" if ahead else ""
    ways = [setting if alone else " ".join(["signals=file signals.path=FILE", *filter(None, [setting])])]
    if _GENERATED in missing:
        ways.insert(0, f"signals={_GENERATED}")
    if alone and getattr(policy, "predictor", None) == "oracle":
        ways.append("policy.predictor=autoregressive")
    return ", or ".join(ways)
