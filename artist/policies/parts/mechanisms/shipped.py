"""The shipped mechanisms by name, and how a policy takes one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import PlainValidator

from artist.performance.formulas.best_case import MEMORY_POINTS_GIB
from artist.policies.parts.mechanisms.api import Mechanism
from artist.policies.parts.mechanisms.greedy import Greedy
from artist.policies.parts.mechanisms.opt import Opt
from artist.policies.parts.mechanisms.proportional import Proportional
from artist.policies.parts.mechanisms.room import LeastFree
from artist.policies.parts.mechanisms.tune import Lowered, Split, Tune
from artist.policies.parts.parameters import check_part


@dataclass(frozen=True, slots=True)
class Rules:
    """What the shipped mechanisms leave open; see `Tune` and `Opt` in their files."""

    least_free: LeastFree = "all"
    lowered: Lowered = "fewest"
    hand_out: bool = True
    split: Split = "never"
    memory_points_gib: Sequence[float] = MEMORY_POINTS_GIB
    server_gpus: int | None = None
    weighted: bool = True


MECHANISMS: Mapping[str, Callable[[Rules], Mechanism]] = {
    "proportional": lambda rules: Proportional(rules.least_free),
    "greedy": lambda rules: Greedy(rules.least_free),
    "tune": lambda rules: Tune(rules.least_free, rules.lowered, rules.hand_out, rules.split),
    "opt": lambda rules: Opt(rules.memory_points_gib, server_gpus=rules.server_gpus, weighted=rules.weighted),
}
AnyMechanism = Annotated[
    str | Mechanism, PlainValidator(lambda value: check_part(value, MECHANISMS, "pack", Mechanism))
]


def mechanism_of(mechanism: str | Mechanism, rules: Rules) -> Mechanism:
    """Return a shipped mechanism by name, new for each policy; one of the user's own as it is."""
    return MECHANISMS[mechanism](rules) if isinstance(mechanism, str) else mechanism
