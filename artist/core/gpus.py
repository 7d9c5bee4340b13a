"""GPU types by name: the cluster's default one, and others that a trace may have been measured on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Gpu(NamedTuple):
    """A type of GPU.

    Attributes
    ----------
    name
        Its type; empty if only the speed is known.
    speed, worth
        Relative to the reference GPU (`artist.core.cluster.Machine`).
    """

    name: str = ""
    speed: float = 1.0
    worth: float = 1.0


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs of a run.

    Attributes
    ----------
    default
        GPU for which times hold that were `measured on the cluster`.
    types
        GPU types of the cluster, those of machines that join later included.
    find
        Returns a GPU by its type, of the topology or of one that ships; raises InputError if none has it.
    """

    default: Gpu
    types: tuple[str, ...]
    find: Callable[[str], Gpu]

    def of_speed(self, speed: float, name: str = "") -> Gpu:
        """Return a GPU of which only the speed is known: its worth per speed is that of the default."""
        return Gpu(name, speed, speed * (self.default.worth / self.default.speed))
