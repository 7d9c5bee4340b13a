"""GPUs that are idle for lack of CPUs while jobs wait, kept up to date as jobs and machines come and go."""

from heapq import heappop, heappush
from math import ceil

from artist.core.cluster import Cluster, Machine
from artist.core.job import Demand

_NONE = 0  # CPUs that waiting jobs need: less than any machine has free


class Starved:
    """Counts starved GPUs.

    A machine starves while it takes new work and some waiting GPU job has the idle GPUs there, but not the
    CPUs. The job needs as many GPUs there as it may start with, at most all that the machine has, and of the
    CPUs that it asks for the part that goes with them, rounded up. The machine's idle GPUs are starved, then.
    A job that asks for no CPUs, for GPUs of another type, or for fewer machines than it takes of this kind,
    starves none.

    Parameters
    ----------
    least_cpus_per_gpu
        CPUs a GPU that any GPU job can start with, which count instead of those asked for, where the policy
        decides itself how many a job gets; None where jobs get what they ask for.
    """

    def __init__(self, cluster: Cluster, least_cpus_per_gpu: float | None = None) -> None:
        self._least = least_cpus_per_gpu
        self._free_gpus: list[int] = cluster.gpus.tolist()
        self._free_cpus: list[int] = cluster.cpus.tolist()
        self._open = [machine.present for machine in cluster.machines]
        kinds: dict[tuple[int, str, float], _Kind] = {}
        self._kind_of: list[_Kind] = []
        for number, machine in enumerate(cluster.machines):
            key = machine.gpus, machine.gpu_type, machine.worth
            kind = kinds.setdefault(key, _Kind(machine))
            kind.machines.append(number)
            self._kind_of.append(kind)
        self._kinds = [kind for kind in kinds.values() if kind.gpus]
        self._cells: dict[Demand, tuple[tuple[_Cell, int], ...]] = {}
        self._waiting = 0
        self._starved = [0] * len(cluster)  # GPUs by machine, when last counted
        self._total = 0  # of them
        self._touched: dict[int, None] = {}  # machines that changed since

    def take(self, machine: int, gpus: int, cpus: int) -> None:
        """Take GPUs and CPUs of a machine, or give them back: less than 0."""
        self._free_gpus[machine] -= gpus
        self._free_cpus[machine] -= cpus
        self._touched[machine] = None

    def open(self, machine: int, takes_work: bool) -> None:
        """Note whether a machine takes new work."""
        self._open[machine] = takes_work
        self._touched[machine] = None

    def wait(self, demand: Demand) -> None:
        """Note that a GPU job waits from now on."""
        self._waiting += 1
        for cell, need in self._needs(demand):
            cell.add(need)

    def go(self, demand: Demand) -> None:
        """Note that a GPU job no longer waits."""
        self._waiting -= 1
        for cell, need in self._needs(demand):
            cell.remove(need)

    def count(self) -> int:
        """Return the starved GPUs as it is now."""
        if not self._waiting:
            return 0
        for kind in self._kinds:
            if kind.look_again():
                self._touched.update(dict.fromkeys(kind.machines))
        if self._touched:
            for machine in self._touched:
                self._total += self._at(machine) - self._starved[machine]
                self._starved[machine] = self._at(machine)
            self._touched = {}
        return self._total

    def _at(self, machine: int) -> int:
        idle = self._free_gpus[machine]
        lacks = self._free_cpus[machine] < self._kind_of[machine].needed[idle]
        return idle if lacks and self._open[machine] else 0

    def _needs(self, demand: Demand) -> tuple[tuple["_Cell", int], ...]:
        """Return what a job needs on each kind of machines: the cell of so many GPUs, and CPUs."""
        known = self._cells.get(demand)
        if known is None:
            found = ((kind, kind.need(demand, self._least)) for kind in self._kinds)
            known = tuple((kind.cells[gpus], cpus) for kind, (gpus, cpus) in found if cpus)
            self._cells[demand] = known
        return known


class _Kind:
    """Machines with the same GPUs.

    Attributes
    ----------
    needed
        By idle GPUs 0, 1, ...: the most CPUs that a waiting job needs which has the GPUs with so many.
    """

    def __init__(self, machine: Machine) -> None:
        self.gpus, self._type, self._worth = machine.gpus, machine.gpu_type, machine.worth
        self.machines: list[int] = []
        self.cells = [_Cell() for _ in range(machine.gpus + 1)]
        self.needed = [_NONE] * (machine.gpus + 1)

    def need(self, demand: Demand, least_cpus_per_gpu: float | None) -> tuple[int, int]:
        """Return the GPUs that a job needs on such a machine, and the CPUs with them; no CPUs, no matter."""
        least = demand.gpus_at(self._worth, demand.targets()[0])
        gpus = min(least, self.gpus)
        too_many = demand.max_machines and least > demand.max_machines * self.gpus
        if too_many or (demand.gpu_types and self._type not in demand.gpu_types):
            return 0, _NONE
        if least_cpus_per_gpu is not None:
            return gpus, ceil(least_cpus_per_gpu * gpus)
        return gpus, -(-demand.cpus * gpus // demand.gpus_at(self._worth))

    def look_again(self) -> bool:
        """Bring `needed` up to date; return whether it changed."""
        if not any(cell.changed for cell in self.cells):
            return False
        before, most = self.needed, _NONE
        self.needed = [most := max(most, cell.most()) for cell in self.cells]
        return self.needed != before


class _Cell:
    """CPUs that waiting jobs need which need the same number of GPUs: a heap of what some job needs.

    A need stays in the heap after its last job, until it comes to the top.
    """

    __slots__ = ("_heap", "_jobs", "changed")

    def __init__(self) -> None:
        self._jobs: dict[int, int] = {}  # by need; each of them is in the heap once
        self._heap: list[int] = []  # less than 0, the greatest need first
        self.changed = False

    def add(self, need: int) -> None:
        """Note a job that waits."""
        jobs = self._jobs.get(need)
        if jobs is None:
            heappush(self._heap, -need)
        self._jobs[need] = (jobs or 0) + 1
        self.changed |= not jobs

    def remove(self, need: int) -> None:
        """Note that a job no longer waits."""
        self._jobs[need] -= 1
        self.changed |= not self._jobs[need]

    def most(self) -> int:
        """Return the greatest need of a job that waits, 0 if none does."""
        self.changed = False
        heap = self._heap
        while heap and not self._jobs[-heap[0]]:
            del self._jobs[-heappop(heap)]
        return -heap[0] if heap else _NONE
