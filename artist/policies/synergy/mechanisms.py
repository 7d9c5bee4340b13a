"""Shipped mechanisms by name."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, NamedTuple

from pydantic import PlainValidator

from artist.policies.parts.parameters import check_part
from artist.policies.synergy.greedy import Greedy
from artist.policies.synergy.needs import Mechanism
from artist.policies.synergy.opt import Opt
from artist.policies.synergy.proportional import Proportional
from artist.policies.synergy.tune import Tune


class Shipped(NamedTuple):
    """A mechanism and the parameters that it reads; a policy has them under these names."""

    make: Callable[..., Mechanism]
    reads: Sequence[str]


MECHANISMS: Mapping[str, Shipped] = {
    "proportional": Shipped(Proportional, ()),
    "greedy": Shipped(Greedy, ()),
    "tune": Shipped(Tune, ("hand_out", "split")),
    "opt": Shipped(Opt, ("memory_points_gib", "server_gpus")),
}
AnyMechanism = Annotated[
    str | Mechanism, PlainValidator(lambda value: check_part(value, MECHANISMS, "pack", Mechanism))
]


def mechanism_of(mechanism: str | Mechanism, policy: object) -> Mechanism:
    """Return a shipped mechanism by name, with the policy's parameters; one of the user's own unchanged."""
    if not isinstance(mechanism, str):
        return mechanism
    make, reads = MECHANISMS[mechanism]
    return make(**{name: getattr(policy, name) for name in reads})


def unread(mechanism: str | Mechanism, names: Sequence[str]) -> list[str]:
    """Return the parameters that a mechanism does not read; `split` reaches one of the user's own."""
    reads = MECHANISMS[mechanism].reads if isinstance(mechanism, str) else ("split",)
    return [name for name in names if name not in reads]
