"""The interface of a network model.

A network model returns the time of one training iteration: a profile (the model's layers) on a shape (a
placement without names) of a fabric, with the settings `system` of collectives.
"""

from typing import Protocol, runtime_checkable

from netmodels.collectives.iteration_time import IterationTime
from netmodels.fabric.fabric import Fabric
from netmodels.fabric.shape import Shape
from netmodels.fabric.system import SystemSettings
from netmodels.profiles.profile import Profile


@runtime_checkable
class NetworkModel(Protocol):
    """Answers for the network, one job at a time; several on one fabric: `netmodels.contention`."""

    @property
    def version(self) -> str:
        """Part of cache keys: changes whenever answers do, so it names parameters and program version."""
        ...

    def iteration(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> IterationTime:
        """Return the time of one iteration.

        Parameters
        ----------
        profile
            Layers, already scaled to the speed of the GPUs.
        shape
            The placement.
        fabric
            The network.
        system
            Settings of collectives; `fabric.system` has those of the fabric.

        Raises
        ------
        InputError
            If the question cannot be answered, with the reason.
        """
        ...
