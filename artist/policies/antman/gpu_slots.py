"""Jobs by GPU, where a GPU has a slot for a guaranteed and one for an opportunistic job. For AntMan.

Jobs that share GPUs, directly or through others, are one group of the engine. To the engine the GPUs of a
machine are interchangeable, and so they are here within a group: the time that its members leave idle on a
machine is shared by all of its opportunistic members there.
"""

from collections.abc import Iterable

import numpy as np

from artist.core.arrays import Bools, Ints
from artist.core.cluster import Allocation, Cluster, Group

_NOBODY, _NO_GPU = -1, -2


class GpuSlots:
    """The two slots of every GPU.

    Attributes
    ----------
    owner, guest : ndarray of int64, shape (n_machines, GPUs of the largest)
        Guaranteed and opportunistic job on each GPU; -1 for none, -2 where a machine has no such GPU.
    """

    def __init__(self, cluster: Cluster) -> None:
        shape = len(cluster), cluster.largest_machine
        self.owner = np.full(shape, _NO_GPU, dtype=np.int64)
        for machine, gpus in enumerate(cluster.gpus.tolist()):
            self.owner[machine, :gpus] = _NOBODY
        self.guest = self.owner.copy()
        self._held: dict[int, Allocation] = {}  # as chosen, without a group
        self._on: dict[int, dict[int, Ints]] = {}  # GPUs by machine, by job
        self._owners: dict[int, None] = {}
        self._ownerless: set[int] = set()  # guests on GPUs without owner
        self._touched: dict[int, None] = {}  # jobs whose neighbours changed

    @property
    def owned(self) -> Bools:
        """GPUs that have a guaranteed job, or do not exist; shape of `owner`."""
        owned: Bools = self.owner != _NOBODY
        return owned

    @property
    def visited(self) -> Bools:
        """GPUs that have an opportunistic job, or do not exist; shape of `owner`."""
        visited: Bools = self.guest != _NOBODY
        return visited

    def __contains__(self, job: int) -> bool:
        """Return whether a job runs here."""
        return job in self._on

    def owns(self, job: int) -> bool:
        """Return whether a running job is guaranteed its GPUs now."""
        return job in self._owners

    def owners(self) -> list[int]:
        """Return the jobs that are guaranteed their GPUs now."""
        return list(self._owners)

    def put(self, job: int, allocation: Allocation, rank: Ints, *, guaranteed: bool) -> None:
        """Start a job on the machines of an allocation, on the GPUs of each with the lowest rank.

        Parameters
        ----------
        rank
            Shape of `owner`; larger where the job has no slot than where it has one.
        """
        places = self.owner if guaranteed else self.guest
        on: dict[int, Ints] = {}
        for machine, gpus in allocation.gpu_map().items():
            on[machine] = np.argsort(rank[machine], kind="stable")[:gpus]
            places[machine, on[machine]] = job
        self._held[job], self._on[job] = allocation, on
        if guaranteed:
            self._owners[job] = None
        self._touch(job)

    def promote(self, job: int) -> bool:
        """Guarantee a guest its GPUs if they have no owner; return whether they had none."""
        if job not in self._ownerless:
            return False
        for m, gpus in self._on[job].items():
            self.owner[m, gpus], self.guest[m, gpus] = job, _NOBODY
        self._owners[job] = None
        self._touch(job)
        return True

    def holds(self, job: int, allocation: Allocation) -> Allocation:
        """Record the new allocation of a running job, on the same GPUs; return it."""
        self._held[job] = allocation
        return allocation

    def remove(self, job: int) -> None:
        """Free the slots of a job."""
        neighbours = list(self._neighbours(job))
        places = self.owner if self.owns(job) else self.guest
        for m, gpus in self._on.pop(job).items():
            places[m, gpus] = _NOBODY
        del self._held[job]
        self._owners.pop(job, None)
        self._touched.pop(job, None)
        self._ownerless.discard(job)
        for other in neighbours:
            self._look_at(other)

    def changes(self) -> dict[int, Allocation]:
        """Return the allocations of all jobs whose group may have changed since the last call."""
        result: dict[int, Allocation] = {}
        for job in self._touched:
            if job not in result:
                result.update(self._group(job))
        self._touched.clear()
        return result

    # --- groups

    def _touch(self, job: int) -> None:
        for other in (job, *self._neighbours(job)):
            self._look_at(other)

    def _look_at(self, job: int) -> None:
        """Mark a job whose neighbours have changed."""
        self._touched[job] = None
        on = self._on[job].items()
        if self.owns(job) or any((self.owner[m, gpus] != _NOBODY).any() for m, gpus in on):
            self._ownerless.discard(job)
        else:
            self._ownerless.add(job)

    def _neighbours(self, job: int) -> Iterable[int]:
        """Return the jobs on the GPUs of a job that are of the other type."""
        places = self.guest if self.owns(job) else self.owner
        neighbours = dict.fromkeys(
            other for m, gpus in self._on[job].items() for other in places[m, gpus].tolist()
        )
        neighbours.pop(_NOBODY, None)
        return neighbours

    def _group(self, first: int) -> dict[int, Allocation]:
        """Return the allocations of all jobs that share GPUs with a job, directly or through others."""
        members = {first: None}
        queue = [first]
        while queue:
            for other in self._neighbours(queue.pop()):
                if other not in members:
                    members[other] = None
                    queue.append(other)
        if len(members) == 1:
            return {first: self._held[first]}
        gpus: dict[int, set[int]] = {}
        for job in members:
            for m, on in self._on[job].items():
                gpus.setdefault(m, set()).update(on.tolist())
        group = Group(f"with-{min(members)}", tuple((m, len(gpus[m])) for m in sorted(gpus)), depth=2)
        return {
            job: Allocation(self._held[job].slices, group=group, opportunistic=not self.owns(job))
            for job in sorted(members)
        }
