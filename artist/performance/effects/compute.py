"""Compute: the trace's time, scaled from the GPUs that it was measured on to those that are held."""

from collections.abc import Callable
from typing import Literal

from artist.core.cluster import Allocation, Cluster
from artist.core.job import Demand, JobSpec

MixedTypes = Literal["slowest", "sum"]


class Compute:
    """Compute time of an iteration: the trace's, times GPUs asked x speed measured / (GPUs held x speed).

    For CPU-only jobs times CPUs asked / CPUs held.

    Parameters
    ----------
    mixed_types
        How GPUs of several types work together: each at the speed of the slowest, or of its own (sum).
    mixed_efficiency
        Share of `sum` that they really reach, in (0, 1] (Lyra, section 7.1: 0.7).
    scaling_loss
        Share that an elastic job loses of each GPU beyond `min_gpus`, in [0, 1) (Lyra, section 7.5: 0.2).
    between_sizes
        Compute time x GPUs on the GPUs held, relative to those asked for, of an elastic job: by model, GPUs
        asked for and held; None for 1.
    """

    def __init__(
        self,
        mixed_types: MixedTypes = "slowest",
        mixed_efficiency: float = 1.0,
        scaling_loss: float = 0.0,
        between_sizes: Callable[[str, int, int], float] | None = None,
    ) -> None:
        self._sum = mixed_types == "sum"
        self._mixed_efficiency = mixed_efficiency
        self._scaling_loss = scaling_loss
        self._between_sizes = between_sizes

    def ns(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> int:
        """Return the compute time of an iteration in ns."""
        factor = self.factor(spec.demand, allocation, cluster)
        if self._between_sizes is not None and spec.demand.elastic and allocation.gpus != spec.demand.gpus:
            factor *= self._between_sizes(spec.model, spec.demand.gpus, allocation.gpus)
        return scaled(spec.compute_ns, factor)

    def factor(
        self, demand: Demand, allocation: Allocation, cluster: Cluster, measured_speed: float | None = None
    ) -> float:
        """Return compute time over that on `demand.gpus` GPUs of another speed.

        Parameters
        ----------
        measured_speed
            That speed; by default that of the GPUs for which the job's own times hold.
        """
        asked = demand.gpus
        if not asked:
            return max(demand.cpus, 1) / allocation.cpus
        machines, slices = cluster.machines, allocation.slices
        measured = demand.measured_speed if measured_speed is None else measured_speed
        held, speed = allocation.gpus, machines[slices[0].machine].speed
        if len(slices) > 1 and not cluster.uniform:
            speed = self._speed(allocation, cluster)
        factor = asked * measured / (held * speed)
        if self._scaling_loss and demand.elastic:
            counted = self._counted(demand, allocation, cluster)
            factor *= self._efficiency(asked, demand) / self._efficiency(counted, demand)
        return factor

    def _speed(self, allocation: Allocation, cluster: Cluster) -> float:
        """Return the speed of GPUs on several machines, for each of them."""
        machines, slices = cluster.machines, allocation.slices
        slowest = min(machines[s.machine].speed for s in slices)
        if self._sum and len({machines[s.machine].gpu_type for s in slices}) > 1:
            together = sum(s.gpus * machines[s.machine].speed for s in slices)
            return max(slowest, self._mixed_efficiency * together / allocation.gpus)
        return slowest

    def parts(self, allocation: Allocation, cluster: Cluster) -> list[float] | None:
        """Return the work of GPUs of each slice relative to an equal part; None for equal parts."""
        slices, machines = allocation.slices, cluster.machines
        if not self._sum or len(slices) < 2 or len({machines[s.machine].gpu_type for s in slices}) < 2:
            return None
        speeds = [machines[s.machine].speed for s in slices]
        together = sum(s.gpus * speed for s, speed in zip(slices, speeds, strict=True))
        mean = together / allocation.gpus
        return None if self._mixed_efficiency * mean <= min(speeds) else [speed / mean for speed in speeds]

    def _efficiency(self, gpus: float, demand: Demand) -> float:
        """Return the yield per GPU: each GPU beyond the least yields a little less."""
        least = min(demand.min_gpus, gpus)
        return (least + (gpus - least) * (1 - self._scaling_loss)) / gpus

    @staticmethod
    def _counted(demand: Demand, allocation: Allocation, cluster: Cluster) -> float:
        """Return the GPUs held; for a fungible job, converted to those that it was measured on."""
        if not demand.fungible:
            return allocation.gpus
        worth = sum(s.gpus * cluster.machines[s.machine].worth for s in allocation.slices)
        return worth / demand.measured_worth


def scaled(time_ns: int, factor: float) -> int:
    """Return a time times a factor, rounded, at least 1 ns.

    >>> scaled(1000, 1 / 3)
    333
    """
    return time_ns if factor == 1.0 else max(1, round(time_ns * factor))
