"""What is free, as a scratch copy that placements can be tried on."""

import numpy as np
import numpy.typing as npt

from artist.core.cluster import Allocation, Cluster

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Free:
    """Free GPUs, CPUs and memory per machine; machines that take no new work have none.

    Attributes
    ----------
    gpus, cpus, memory_bytes : ndarray of int64, shape (n_machines,)
    accepts
        Which machines take new work, shape (n_machines,); None if all do.
    total_gpus
        Sum of `gpus`.
    """

    def __init__(
        self,
        cluster: Cluster,
        gpus: Ints,
        cpus: Ints,
        memory_bytes: Ints,
        accepts: Bools | None = None,
        total_gpus: int | None = None,
    ) -> None:
        self.cluster = cluster
        self.accepts = accepts
        self.gpus = gpus
        self.cpus = cpus
        self.memory_bytes = memory_bytes
        self.total_gpus = int(gpus.sum()) if total_gpus is None else total_gpus

    @property
    def sizes(self) -> Ints:
        """GPUs of the machines that take new work, free or not, shape (n_machines,)."""
        return self.cluster.gpus if self.accepts is None else np.where(self.accepts, self.cluster.gpus, 0)

    def take(self, allocation: Allocation) -> None:
        """Use up what an allocation with GPUs of its own holds."""
        self._add(allocation, -1)

    def give(self, allocation: Allocation) -> None:
        """Return what an allocation with GPUs of its own holds; nothing on machines that are closed."""
        self._add(allocation, 1)

    def fits(self, allocation: Allocation) -> bool:
        """Tell whether an allocation with GPUs of its own could be taken now."""
        return all(
            self.gpus[m] >= gpus and self.cpus[m] >= cpus and self.memory_bytes[m] >= memory
            for m, gpus, cpus, memory in allocation.slices
        )

    def _add(self, allocation: Allocation, sign: int) -> None:
        for m, gpus, cpus, memory in allocation.slices:
            if self.accepts is not None and not self.accepts[m]:
                continue
            self.gpus[m] += sign * gpus
            self.cpus[m] += sign * cpus
            self.memory_bytes[m] += sign * memory
            self.total_gpus += sign * gpus
