"""Free resources of all machines, as a scratch copy on which to try placements."""

from array import array
from collections.abc import Mapping, Sequence

import numpy as np

from artist.core.arrays import Bools, Ints
from artist.core.buckets import Buckets
from artist.core.cluster import Allocation, Cluster


class Free:
    """Free GPUs, CPUs and memory per machine; machines that take no new work have none.

    Attributes
    ----------
    accepts
        Mask of the machines that take new work, shape (n_machines,); None if all do.
    total_gpus
        Sum of `gpus`.
    buckets
        The machines that take new work, by their free GPUs.

    Parameters
    ----------
    sizes
        GPUs that count on each machine, free or not; None for all that it has.
    owned
        False if the columns are shared: they are copied on the first change, or by `keep`.
    """

    def __init__(
        self,
        cluster: Cluster,
        gpus: Sequence[int] | Ints,
        cpus: Sequence[int] | Ints,
        memory_bytes: Sequence[int] | Ints,
        accepts: Bools | None = None,
        *,
        buckets: Buckets | None = None,
        sizes: Ints | None = None,
        total_gpus: int | None = None,
        owned: bool = True,
    ) -> None:
        self._owned = owned
        self.cluster = cluster
        self.accepts = accepts
        columns = (gpus, cpus, memory_bytes)
        self._gpus, self._cpus, self._memory = [
            column if isinstance(column, array) else array("q", map(int, column)) for column in columns
        ]
        if buckets is None:
            open_ = [True] * len(cluster) if accepts is None else accepts.tolist()
            max_gpus = max([*cluster.gpus.tolist(), *self._gpus], default=0)
            buckets = Buckets.of(self._gpus, open_, cluster.rack_of, max_gpus)
        self.buckets = buckets
        self.total_gpus = buckets.total() if total_gpus is None else total_gpus
        self._sizes = sizes

    def keep(self) -> None:
        """Copy the arrays that are still shared."""
        if not self._owned:
            self._owned = True
            self._gpus, self._cpus, self._memory = self._gpus[:], self._cpus[:], self._memory[:]

    def __copy__(self) -> "Free":
        return self.with_fewer_gpus({})

    @property
    def gpus(self) -> Ints:
        """Free GPUs by machine, shape (n_machines,); to read only."""
        self.keep()
        return _readable(self._gpus)

    @property
    def cpus(self) -> Ints:
        """Free CPUs by machine, shape (n_machines,); to read only."""
        self.keep()
        return _readable(self._cpus)

    @property
    def memory_bytes(self) -> Ints:
        """Free memory by machine, shape (n_machines,); to read only."""
        self.keep()
        return _readable(self._memory)

    @property
    def whole(self) -> bool:
        """True if all GPUs of the cluster count, free or not."""
        return self.accepts is None and self._sizes is None

    @property
    def sizes(self) -> Ints:
        """GPUs that count on machines that take new work, free or not, shape (n_machines,)."""
        sizes = self.cluster.gpus if self._sizes is None else self._sizes
        return sizes if self.accepts is None else np.where(self.accepts, sizes, 0)

    def cpus_and_memory(self, machine: int) -> tuple[int, int]:
        """Return the free CPUs and memory of one machine."""
        return self._cpus[machine], self._memory[machine]

    def with_resources(self, cpus: Ints, memory_bytes: Ints) -> "Free":
        """Return the same GPUs with other CPUs and memory, shape (n_machines,); none on closed machines."""
        if self.accepts is not None:
            cpus, memory_bytes = cpus * self.accepts, memory_bytes * self.accepts
        columns = array("q", cpus.tobytes()), array("q", memory_bytes.tobytes())
        gpus, buckets = self._gpus[:], self.buckets.copy()
        return Free(self.cluster, gpus, *columns, self.accepts, buckets=buckets, sizes=self._sizes)

    def in_units(self, unit: int) -> "Free":
        """Return the free resources with the GPUs of each machine counted in units of `unit` GPUs."""
        if unit == 1:
            return self
        cluster, gpus = self.cluster.in_units(unit), _readable(self._gpus) // unit
        open_gpus = gpus if self.accepts is None else gpus * self.accepts
        in_rack = np.bincount(cluster.rack, weights=open_gpus, minlength=cluster.n_racks)
        buckets = self.buckets.in_units(unit, in_rack.astype(int).tolist())
        columns = array("q", gpus.tobytes()), self._cpus, self._memory
        sizes = None if self._sizes is None else self._sizes // unit
        return Free(cluster, *columns, self.accepts, buckets=buckets, sizes=sizes, owned=False)

    def with_fewer_gpus(self, gpus: Mapping[int, int], sizes: Ints | None = None) -> "Free":
        """Return a copy with fewer free GPUs on some machines that take new work.

        Parameters
        ----------
        gpus
            Free GPUs by machine.
        sizes
            GPUs that count on each machine, shape (n_machines,); None for those that count now.
        """
        columns = self._gpus[:], self._cpus[:], self._memory[:]
        buckets = self.buckets.copy()
        for machine, count in gpus.items():
            buckets.move(machine, self._gpus[machine], count)
            columns[0][machine] = count
        sizes = self._sizes if sizes is None else sizes
        return Free(self.cluster, *columns, self.accepts, buckets=buckets, sizes=sizes)

    def take(self, allocation: Allocation) -> None:
        """Subtract the resources of an allocation with GPUs of its own.

        Raises
        ------
        ValueError
            If more GPUs are taken than are free.
        """
        self._add(allocation, -1)

    def give(self, allocation: Allocation) -> None:
        """Add back the resources of an allocation with GPUs of its own; nothing on closed machines."""
        self._add(allocation, 1)

    def fits(self, allocation: Allocation) -> bool:
        """Return whether an allocation with GPUs of its own could be taken now."""
        return all(
            self._gpus[m] >= gpus and self._cpus[m] >= cpus and self._memory[m] >= memory
            for m, gpus, cpus, memory in allocation.slices
        )

    def _add(self, allocation: Allocation, sign: int) -> None:
        if not self._owned:
            self.keep()
        for m, gpus, cpus, memory in allocation.slices:
            if self.accepts is not None and not self.accepts[m]:
                continue
            if gpus:
                before = self._gpus[m]
                after = before + sign * gpus
                if not 0 <= after < len(self.buckets.sets):
                    raise ValueError(f"machine number {m} cannot have {after} free GPUs")
                self._gpus[m] = after
                self.buckets.move(m, before, after)
                self.total_gpus += sign * gpus
            self._cpus[m] += sign * cpus
            self._memory[m] += sign * memory


def _readable(column: "array[int]") -> Ints:
    return np.frombuffer(column, dtype=np.int64)
