"""Running jobs, as performance sees them."""

from collections.abc import Iterable, Iterator, Sequence

from artist.core.cluster import Allocation, Cluster
from artist.core.iteration import IterationParts
from artist.core.job import JobSpec
from artist.engine.jobs import JobTable
from artist.engine.machines import MachineTable


class RunningJobs:
    """The engine's state; see `artist.performance.api.Running`."""

    def __init__(self, jobs: JobTable, machines: MachineTable) -> None:
        self._jobs = jobs
        self._machines = machines
        self.cluster: Cluster = machines.cluster

    def spec(self, job: int) -> JobSpec:
        return self._jobs.specs[job]

    def allocation(self, job: int) -> Allocation:
        allocation = self._jobs.held[job]
        assert allocation is not None, f"job number {job} does not run"
        return allocation

    def ready_ns(self, job: int) -> int:
        return max(self._jobs.progress_from_ns[job], self._jobs.settled_ns[job])

    def shift_ns(self, job: int) -> int:
        return self._jobs.shift_ns.get(job, 0)

    def jobs_on(self, machine: int) -> Iterable[int]:
        return tuple(self._machines.jobs_on[machine])

    def crossing_machine(self, machine: int) -> Sequence[int]:
        held = self._jobs.held
        return tuple(j for j in self._machines.jobs_on[machine] if (a := held[j]) and len(a.slices) > 1)

    def crossing_rack(self, rack: int) -> Sequence[int]:
        return tuple(self._machines.watch_racks(self._held())[rack])

    def in_force(self, job: int) -> IterationParts | None:
        return self._jobs.parts[job]

    def crossed(self, since: int) -> Sequence[tuple[int, Allocation | None]]:
        held, log = self._jobs.held, self._machines.watch_crossed(self._held())
        return [(job, held[job]) for job in log[since:]]

    def _held(self) -> Iterator[tuple[int, Allocation]]:
        return ((job, held) for job, held in enumerate(self._jobs.held) if held is not None)

    def members(self, group: str) -> Iterable[int]:
        return tuple(self._machines.groups[group][1]) if group in self._machines.groups else ()
