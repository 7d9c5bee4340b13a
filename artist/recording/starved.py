"""GPUs that are idle for lack of CPUs while jobs wait, updated with each change of jobs and machines."""

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
    A job that asks for no CPUs, for GPUs of another type, or for fewer machines than it takes of this machine
    type, starves none.

    Parameters
    ----------
    min_cpus_per_gpu
        CPUs per GPU that any GPU job can start with, which count instead of those asked for, where the policy
        decides the CPUs of jobs itself; None where jobs get the CPUs that they ask for.
    """

    def __init__(self, cluster: Cluster, min_cpus_per_gpu: float | None = None) -> None:
        self._least = min_cpus_per_gpu
        self._free_gpus: list[int] = cluster.gpus.tolist()
        self._free_cpus: list[int] = cluster.cpus.tolist()
        self._open = [machine.present for machine in cluster.machines]
        types: dict[tuple[int, str, float], _MachineType] = {}
        self._type_of: list[_MachineType] = []
        for number, machine in enumerate(cluster.machines):
            key = machine.gpus, machine.gpu_type, machine.worth
            machine_type = types.setdefault(key, _MachineType(machine))
            machine_type.machines.append(number)
            self._type_of.append(machine_type)
        self._types = [machine_type for machine_type in types.values() if machine_type.gpus]
        self._known: dict[Demand, tuple[tuple[_MachineType, int, int], ...]] = {}
        self._starved = [0] * len(cluster)  # GPUs by machine, when last counted
        self._total = 0  # of them
        self._touched: dict[int, None] = {}  # machines that changed since

    def take(self, machine: int, gpus: int, cpus: int) -> None:
        """Take GPUs and CPUs of a machine, or give them back: less than 0."""
        self._free_gpus[machine] -= gpus
        self._free_cpus[machine] -= cpus
        self._touched[machine] = None

    def open(self, machine: int, takes_work: bool) -> None:
        """Record whether a machine takes new work."""
        self._open[machine] = takes_work
        self._touched[machine] = None

    def wait(self, demand: Demand) -> None:
        """Note that a GPU job waits from now on."""
        for machine_type, gpus, cpus in self._needs(demand):
            machine_type.changed |= machine_type.cells[gpus].add(cpus)

    def go(self, demand: Demand) -> None:
        """Note that a GPU job no longer waits."""
        for machine_type, gpus, cpus in self._needs(demand):
            machine_type.changed |= machine_type.cells[gpus].remove(cpus)

    def count(self) -> int:
        """Return the number of starved GPUs now."""
        for machine_type in self._types:
            if machine_type.changed and machine_type.look_again():
                self._touched.update(dict.fromkeys(machine_type.machines))
        for machine in self._touched:
            idle = self._free_gpus[machine]
            lacks = self._free_cpus[machine] < self._type_of[machine].needed[idle]
            starved = idle if lacks and self._open[machine] else 0
            self._total += starved - self._starved[machine]
            self._starved[machine] = starved
        self._touched.clear()
        return self._total

    def _needs(self, demand: Demand) -> tuple[tuple["_MachineType", int, int], ...]:
        """Return the GPUs and CPUs that a job needs on the machine types that may starve for it."""
        known = self._known.get(demand)
        if known is None:
            needs = ((machine_type, *machine_type.need(demand, self._least)) for machine_type in self._types)
            known = self._known[demand] = tuple(need for need in needs if need[2])
        return known


class _MachineType:
    """Machines with the same GPUs.

    Attributes
    ----------
    cells
        Jobs that wait, by the GPUs that they need: 0, 1, ...
    needed
        By idle GPUs 0, 1, ...: the most CPUs needed by a waiting job for which these GPUs are enough.
    changed
        Whether `needed` may not be up to date.
    """

    def __init__(self, machine: Machine) -> None:
        self.gpus, self._type, self._worth = machine.gpus, machine.gpu_type, machine.worth
        self.machines: list[int] = []
        self.cells = [_Cell() for _ in range(machine.gpus + 1)]
        self.needed = [_NONE] * (machine.gpus + 1)
        self.changed = False

    def need(self, demand: Demand, min_cpus_per_gpu: float | None) -> tuple[int, int]:
        """Return the GPUs that a job needs on such a machine, and their CPUs; irrelevant without CPUs."""
        least = demand.gpus_at(self._worth, demand.targets()[0])
        gpus = min(least, self.gpus)
        too_many = demand.max_machines and least > demand.max_machines * self.gpus
        if too_many or (demand.gpu_types and self._type not in demand.gpu_types):
            return 0, _NONE
        if min_cpus_per_gpu is not None:
            return gpus, ceil(min_cpus_per_gpu * gpus)
        return gpus, -(-demand.cpus * gpus // demand.gpus_at(self._worth))

    def look_again(self) -> bool:
        """Bring `needed` up to date; return whether it changed."""
        self.changed = False
        before, most = self.needed, _NONE
        self.needed = [most := max(most, cell.most()) for cell in self.cells]
        return self.needed != before


class _Cell:
    """Waiting jobs that need the same number of GPUs, by the CPUs that they need.

    A need stays in the heap after its last job, until it is at the top.
    """

    __slots__ = ("_heap", "_jobs")

    def __init__(self) -> None:
        self._jobs: dict[int, int] = {}  # by need; each of them is in the heap once
        self._heap: list[int] = []  # less than 0, the greatest need first

    def add(self, need: int) -> bool:
        """Add a job that waits; return whether no other needs the same."""
        jobs = self._jobs.get(need)
        if jobs is None:
            heappush(self._heap, -need)
        self._jobs[need] = (jobs or 0) + 1
        return not jobs

    def remove(self, need: int) -> bool:
        """Remove a job that no longer waits; return whether no other needs the same."""
        self._jobs[need] -= 1
        return not self._jobs[need]

    def most(self) -> int:
        """Return the greatest need of a waiting job, 0 if none waits."""
        heap = self._heap
        while heap and not self._jobs[-heap[0]]:
            del self._jobs[-heappop(heap)]
        return -heap[0] if heap else _NONE
