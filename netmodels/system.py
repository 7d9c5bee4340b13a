"""How a job runs its collectives: the settings beside the fabric."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, get_args

from netmodels.digest import digest_of, hash_of
from netmodels.errors import InputError
from netmodels.naming import allowed_names

CollectiveOptimization = Literal["bandwidth_aware", "baseline"]
CollectiveQueue = Literal["one", "per_dimension"]
QueueOrder = Literal["issue", "lowest_layer_first"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "collective_optimization": get_args(CollectiveOptimization),
    "collective_queue": get_args(CollectiveQueue),
    "queue_order": get_args(QueueOrder),
}


@dataclass(frozen=True, slots=True)
class SystemSettings:
    """How a job runs its collectives.

    Parameters
    ----------
    endpoint_delay_ns
        Delay of a GPU per send or receive step.
    local_memory_gb_s
        GPU memory bandwidth (10^9 byte/s) that local reductions are charged at; 0 makes them free.
    collective_optimization
        `bandwidth_aware`: reduce-scatter outwards over the dimensions, all-reduce in the last, all-gather
        back. `baseline`: a full-size all-reduce in every dimension, one after another.
    collective_queue
        `one`: one server for whole collectives (ASTRA-sim 2.x). `per_dimension`: every dimension serves one
        phase at a time (ASTRA-sim 1.0).
    queue_order
        Which pending phase a dimension takes next; means something only with `per_dimension`.

    Raises
    ------
    InputError
        If a value has the wrong type or is out of range.
    """

    endpoint_delay_ns: int = 10
    local_memory_gb_s: float = 0.0
    collective_optimization: CollectiveOptimization = "bandwidth_aware"
    collective_queue: CollectiveQueue = "one"
    queue_order: QueueOrder = "issue"
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        delay = self.endpoint_delay_ns
        if isinstance(delay, bool) or not isinstance(delay, int) or delay < 0:
            raise InputError(
                "wrong delay", where="system.endpoint_delay_ns", found=delay, allowed="a whole number >= 0"
            )
        memory = self.local_memory_gb_s
        if isinstance(memory, bool) or not isinstance(memory, int | float) or not 0 <= memory < math.inf:
            raise InputError(
                "wrong memory bandwidth",
                where="system.local_memory_gb_s",
                found=memory,
                allowed="a number >= 0",
            )
        object.__setattr__(self, "local_memory_gb_s", float(memory))
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                found = getattr(self, name)
                raise InputError(
                    "unknown choice",
                    where=f"system.{name}",
                    found=found,
                    allowed=allowed_names(found, allowed),
                )
        object.__setattr__(self, "_hash", hash_of(digest_of(system_record(self))))

    def __hash__(self) -> int:
        return self._hash


def setting_names() -> tuple[str, ...]:
    """Return the names of all settings, in the order of the dataclass."""
    return tuple(each.name for each in fields(SystemSettings) if each.init)


def merge_system(base: SystemSettings, overrides: Mapping[str, object]) -> SystemSettings:
    """Return settings with some values replaced.

    Parameters
    ----------
    base
        The settings of the topology.
    overrides
        Setting name to value; None keeps the value of `base`.

    Raises
    ------
    InputError
        If a name is unknown or a value is not allowed.
    """
    names = setting_names()
    for name in overrides:
        if name not in names:
            raise InputError(
                "unknown setting", where="system", found=name, allowed=allowed_names(name, names)
            )
    values = {name: getattr(base, name) for name in names}
    values.update({name: value for name, value in overrides.items() if value is not None})
    return SystemSettings(**values)


def system_record(system: SystemSettings) -> dict[str, object]:
    """Return the settings as plain values, for cache keys and run folders."""
    return {name: getattr(system, name) for name in setting_names()}
