"""Free resources and jobs of all machines, and the integrals over time."""

from array import array
from collections.abc import Iterable
from operator import mul

import numpy as np

from artist.core.buckets import ALL, Buckets, members_of, sets_by
from artist.core.cluster import Allocation, Cluster, Group, crosses_racks, racks_of
from artist.core.events import MachineEvent
from artist.core.free import Free


class MachineTable:
    """State of all machines; the only code that gives and takes their resources.

    Attributes
    ----------
    free_gpus, free_cpus, free_memory
        Capacity minus allocations, for every machine, present or not.
    present, accepts
        Flags by machine: it is present; it takes new work.
    pools, pool_sets
        Pool by machine, and machines by pool as sets of `artist.core.buckets`.
    jobs_on
        Running jobs by machine, in order of arrival there.
    crossing_rack
        Running jobs in several racks, by rack: they use the links between. None until first requested.
    crossed
        Jobs on several machines, in the order of their starts and stops there; None until first requested.
    touched
        Machines whose jobs changed since this was last emptied; None until first requested.
    slow
        Factor of the iteration times of jobs on a machine, above 1, by slow machine.
    groups
        Record and members of each group in force. A group may own GPUs that no member holds.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        machines = cluster.machines
        self.free_gpus = array("q", cluster.gpus.tolist())
        self.free_cpus = array("q", cluster.cpus.tolist())
        self.free_memory = array("q", cluster.memory_bytes.tolist())
        self._free = self.free_gpus, self.free_cpus, self.free_memory
        self.present = [m.present for m in machines]
        self.accepts = array("b", [m.present for m in machines])
        self.pools = [m.pool for m in machines]
        self.pool_sets = sets_by(self.pools)
        self.jobs_on: list[dict[int, None]] = [{} for _ in machines]
        self.touched: dict[int, None] | None = None
        self.crossing_rack: list[dict[int, None]] | None = None
        self.crossed: list[int] | None = None
        self.slow: dict[int, float] = {}
        self.groups: dict[str, tuple[Group, dict[int, None]]] = {}
        self.buckets = Buckets.of(
            self.free_gpus, self.accepts, cluster.rack_of, max(self.free_gpus, default=0)
        )
        self.capacity_gpus = cluster.total_gpus
        self.open_gpus = cluster.total_gpus  # free on machines that accept work
        self.closed = self.present.count(False)  # machines that accept none
        self.busy_gpus = 0
        self.group_gpus = 0
        self.busy_gpu_ns = self.capacity_gpu_ns = self.group_gpu_ns = 0
        self._integrated_to = 0

    def integrate(self, now: int) -> None:
        """Book the integrals up to now; call before anything changes at an instant."""
        step = now - self._integrated_to
        self._integrated_to = now
        self.busy_gpu_ns += self.busy_gpus * step
        self.capacity_gpu_ns += self.capacity_gpus * step
        self.group_gpu_ns += self.group_gpus * step

    def totals(self, among: int = ALL) -> tuple[int, int, int]:
        """Return the GPUs, CPUs and bytes of memory of machines that accept work, at least 1 of each.

        Parameters
        ----------
        among
            The machines that count, as a set of `artist.core.buckets`.
        """
        c, accepts = self.cluster, np.frombuffer(self.accepts, dtype=np.int8)
        if among != ALL:
            counted = np.zeros_like(accepts)
            counted[members_of(among)] = 1
            accepts = accepts * counted
        gpus, cpus, memory = (max(1, int(column @ accepts)) for column in (c.gpus, c.cpus, c.memory_bytes))
        return gpus, cpus, memory

    def free_part(self, among: int) -> Free:
        """Return the free resources of a part of the cluster (`artist.core.cluster.Cluster.part`)."""
        part, numbers = self.cluster.part(among), self.cluster.numbers(among)
        if numbers and numbers[-1] - numbers[0] == len(numbers) - 1:  # of one piece, as pools are
            piece = slice(numbers[0], numbers[-1] + 1)
            if not self.closed or 0 not in self.accepts[piece]:
                gpus, cpus, memory = (column[piece] for column in self._free)
                buckets = self.buckets.part(among, gpus, part.rack_of, part.largest_machine)
                return Free(part, gpus, cpus, memory, buckets=buckets, total_gpus=sum(gpus))
        gpus, cpus, memory = (array("q", [column[m] for m in numbers]) for column in self._free)
        accepts, mask = [1] * len(numbers), None
        if self.closed:
            accepts = [self.accepts[m] for m in numbers]
            mask = None if all(accepts) else np.array(accepts, dtype=np.bool_)
            gpus, cpus, memory = (array("q", map(mul, column, accepts)) for column in (gpus, cpus, memory))
        buckets = Buckets.of(gpus, accepts, part.rack_of, part.largest_machine)
        return Free(part, gpus, cpus, memory, mask, buckets=buckets)

    def take(self, job: int, allocation: Allocation) -> None:
        """Add a job with its allocation."""
        group = allocation.group
        if self.crossed is not None and len(allocation.slices) > 1:
            self.crossed.append(job)
        if self.crossing_rack is not None:
            self._cross(job, allocation)
        if self.touched is not None:
            self.touched.update((s.machine, None) for s in allocation.slices)
        for m, gpus, cpus, memory in allocation.slices:
            self.jobs_on[m][job] = None
            self.free_cpus[m] -= cpus
            self.free_memory[m] -= memory
            if group is None and gpus:
                self._take_gpus(m, gpus)
        if group is not None:
            if group.name not in self.groups:
                self.groups[group.name] = (group, {})
                for m, gpus in group.gpus:
                    self._take_group_gpus(m, gpus)
            self.groups[group.name][1][job] = None

    def give_back(self, job: int, allocation: Allocation) -> None:
        """Remove a job with its allocation; the last member frees its group's GPUs."""
        group = allocation.group
        if self.crossed is not None and len(allocation.slices) > 1:
            self.crossed.append(job)
        if self.crossing_rack is not None:
            for rack in racks_of(allocation, self.cluster) if len(allocation.slices) > 1 else ():
                self.crossing_rack[rack].pop(job, None)
        if self.touched is not None:
            self.touched.update((s.machine, None) for s in allocation.slices)
        for m, gpus, cpus, memory in allocation.slices:
            del self.jobs_on[m][job]
            self.free_cpus[m] += cpus
            self.free_memory[m] += memory
            if group is None and gpus:
                self._take_gpus(m, -gpus)
        if group is not None:
            record, members = self.groups[group.name]
            del members[job]
            if not members:
                del self.groups[group.name]
                for m, gpus in record.gpus:
                    self._take_group_gpus(m, -gpus)

    def watch_crossed(self, held: Iterable[tuple[int, Allocation]]) -> list[int]:
        """Maintain `crossed` from now on, and return it; `held` lists all running jobs' allocations."""
        if self.crossed is None:
            self.crossed = [job for job, allocation in held if len(allocation.slices) > 1]
        return self.crossed

    def watch_racks(self, held: Iterable[tuple[int, Allocation]]) -> list[dict[int, None]]:
        """Maintain `crossing_rack` from now on, and return it; `held` lists all running jobs' allocations."""
        if self.crossing_rack is None:
            self.crossing_rack = [{} for _ in range(self.cluster.n_racks)]
            for job, allocation in held:
                self._cross(job, allocation)
        return self.crossing_rack

    def _cross(self, job: int, allocation: Allocation) -> None:
        assert self.crossing_rack is not None
        if crosses_racks(allocation, self.cluster):
            for rack in racks_of(allocation, self.cluster):
                self.crossing_rack[rack][job] = None

    def _take_gpus(self, machine: int, gpus: int) -> None:
        gpus = int(gpus)  # numpy's would overflow in the integrals
        before = self.free_gpus[machine]
        self.free_gpus[machine] = before - gpus
        self.busy_gpus += gpus
        if self.accepts[machine]:
            self.open_gpus -= gpus
            self.buckets.move(machine, before, before - gpus)

    def _take_group_gpus(self, machine: int, gpus: int) -> None:
        self._take_gpus(machine, gpus)
        self.group_gpus += int(gpus)

    def tenants(self, machine: int) -> list[int]:
        """Return the jobs with an allocation on a machine, and the members of groups that own GPUs there."""
        jobs = dict(self.jobs_on[machine])
        for record, members in self.groups.values():
            if any(m == machine for m, _ in record.gpus):
                jobs.update(members)
        return list(jobs)

    def assign(self, machine: int, pool: str, now: int) -> MachineEvent:
        """Move an empty machine to another pool."""
        machine = int(machine)  # numpy's has 64 bits
        self.pool_sets[self.pools[machine]] ^= 1 << machine
        self.pool_sets[pool] = self.pool_sets.get(pool, 0) | 1 << machine
        self.pools[machine] = pool
        return MachineEvent(now, machine, "assign", pool)

    def set_accepts(self, machine: int, accepts: bool) -> None:
        """Set whether a machine takes new work."""
        if bool(self.accepts[machine]) != accepts:
            self.accepts[machine] = accepts
            self.closed += -1 if accepts else 1
            free = self.free_gpus[machine]
            self.open_gpus += free if accepts else -free
            (self.buckets.add if accepts else self.buckets.remove)(machine, free)

    def set_present(self, machine: int, present: bool) -> None:
        """Set whether a machine is present; an absent one holds no jobs and accepts none."""
        if self.present[machine] != present:
            self.present[machine] = present
            gpus = self.cluster.machines[machine].gpus
            self.capacity_gpus += gpus if present else -gpus
        self.set_accepts(machine, present)
