"""The network model without a network: communication costs nothing."""

from netmodels.collectives.iteration_time import IterationTime
from netmodels.fabric.fabric import Fabric
from netmodels.fabric.shape import Shape, gpus
from netmodels.fabric.system import SystemSettings
from netmodels.profiles.layers import Profile


class ZeroModel:
    """Answer every question with the compute time alone."""

    version = "1"
    heeded: tuple[str, ...] = ()  # settings of a system that mean something to it

    def iteration(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> IterationTime:
        """Return the compute time; see `netmodels.api.NetworkModel`."""
        if profile.program is not None:
            return IterationTime(round(profile.program.free_ns(gpus(shape), profile.factor)), 0, 0)
        return IterationTime(profile.compute_ns, 0, 0)
