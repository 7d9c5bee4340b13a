"""Checks before the run of the series that a policy follows: existence, range, time of its calls."""

from collections.abc import Mapping, Sequence

from artist.core.cluster import Cluster
from artist.core.view import NEXT, Signal
from artist.errors import InputError
from artist.units import ns_to_seconds, seconds_to_ns

_EVER = 2**62
_GENERATED = "inference"  # conf/signals/inference.yaml draws it, and its next value


def check_signals(policy: object, cluster: Cluster, signals: Mapping[str, Signal]) -> None:
    """Refuse a run without a series that the policy `follows`, or with calls too late for one.

    A series `NAME.next` is one value ahead: a policy with an interval must be called at each value. Series
    in the policy's `shares` have values from 0 to 1.
    """
    follows = getattr(policy, "follows", None)
    names = list(follows(cluster)) if callable(follows) else []
    missing = [name for name in names if name not in signals]
    if missing:
        what = f"policy {type(policy).__name__} follows a series that is not there"
        allowed = f"{', '.join(missing)} as well: {_remedy(policy, missing)}"
        raise InputError(what, where="signals", found=", ".join(signals) or "none", allowed=allowed)
    for name in names:
        if name in getattr(policy, "shares", ()):
            _check_share(name, signals[name])
    interval_s = getattr(policy, "interval_s", None)
    for name in names:
        if interval_s is not None and name.endswith(NEXT):
            _check_interval(interval_s, name, signals[name])


def _check_share(name: str, signal: Signal) -> None:
    times_ns, values = signal.up_to(_EVER)
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        first = int(wrong.argmax())
        where = getattr(signal, "place", lambda number: "")(first) or f"signals, {name}"
        what = f"no share at {ns_to_seconds(int(times_ns[first])):g} s"
        allowed = "0 to 1, of the machines of the pool: divide by their number"
        raise InputError(what, where=where, found=float(values[first]), allowed=allowed)


def _check_interval(interval_s: float, name: str, signal: Signal) -> None:
    times_ns = signal.up_to(_EVER)[0]
    between = times_ns % seconds_to_ns(interval_s) != 0
    if between.any():
        at = ns_to_seconds(int(times_ns[between][0]))
        what = f"{name} tells one value ahead, and none of the policy's calls is at {at:g} s when one comes"
        allowed = "seconds of which the time of each value is a multiple, such as the time between values"
        raise InputError(what, where="policy.interval_s", found=interval_s, allowed=allowed)


def _remedy(policy: object, missing: Sequence[str]) -> str:
    """Return the settings that provide series, or with which the policy needs none."""
    ahead = [name.removesuffix(NEXT) for name in missing if name.endswith(NEXT)]
    alone = len(ahead) == len(missing)
    setting = f"signals.ahead=[{', '.join(ahead)}]" if ahead else ""
    ways = [setting if alone else " ".join(["signals=file signals.path=FILE", *filter(None, [setting])])]
    if _GENERATED in missing:
        ways.insert(0, f"signals={_GENERATED}")
    if alone and getattr(policy, "predictor", None) == "oracle":
        ways.append("policy.predictor=autoregressive")
    return ", or ".join(ways)
