"""The series that a policy follows are there, or the run does not start."""

from collections.abc import Mapping, Sequence

from artist.core.cluster import Cluster
from artist.core.view import Signal
from artist.errors import InputError
from artist.workload.signals import NEXT

_GENERATED = "inference"  # conf/signals/inference.yaml draws it, and what comes next


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
        allowed = f"{', '.join(missing)} as well: {_remedy(policy, missing)}"
        raise InputError(what, where="signals", found=", ".join(signals) or "none", allowed=allowed)


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
