"""Jobs that would run: alone in the cluster, or beside all running ones."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from artist.core.cluster import Allocation, Cluster, racks_of
from artist.core.job import JobSpec
from artist.performance.api import Running

NO_SHIFTS: Mapping[int, int] = MappingProxyType({})


class Hypothetical:
    """Jobs that would run, in an otherwise empty cluster; see `artist.performance.api.Running`."""

    def __init__(
        self,
        specs: Sequence[JobSpec],
        cluster: Cluster,
        held: Mapping[int, Allocation],
        shifts: Mapping[int, int] = NO_SHIFTS,
    ) -> None:
        self.cluster = cluster
        self._specs = specs
        self._held = held
        self._shifts = shifts

    def __contains__(self, job: int) -> bool:
        """Return whether a job is one of them."""
        return job in self._held

    def spec(self, job: int) -> JobSpec:
        return self._specs[job]

    def allocation(self, job: int) -> Allocation:
        return self._held[job]

    def ready_ns(self, job: int) -> int:
        return 0  # a placed job has no delay

    def shift_ns(self, job: int) -> int:
        return self._shifts.get(job, 0)

    def jobs_on(self, machine: int) -> list[int]:
        return [j for j, a in self._held.items() if any(s.machine == machine for s in a.slices)]

    def crossing_machine(self, machine: int) -> list[int]:
        return [j for j in self.jobs_on(machine) if len(self._held[j].slices) > 1]

    def crossing_rack(self, rack: int) -> list[int]:
        racks_by_job = {j: racks_of(a, self.cluster) for j, a in self._held.items()}
        return [j for j, racks in racks_by_job.items() if len(racks) > 1 and rack in racks]

    def members(self, group: str) -> list[int]:
        return [j for j, a in self._held.items() if a.group is not None and a.group.name == group]


class Added:
    """All running jobs except stopped ones, and jobs placed beside them.

    See `artist.performance.api.Running`. A job that runs now counts on its new allocation only.
    """

    def __init__(self, running: Running, placed: Hypothetical, stopped: Collection[int] = ()) -> None:
        self.cluster = running.cluster
        self._running = running
        self._placed = placed
        self._stopped = stopped

    def spec(self, job: int) -> JobSpec:
        return self._running.spec(job)

    def allocation(self, job: int) -> Allocation:
        return self._state_of(job).allocation(job)

    def ready_ns(self, job: int) -> int:
        return self._state_of(job).ready_ns(job)

    def shift_ns(self, job: int) -> int:
        return self._state_of(job).shift_ns(job)

    def jobs_on(self, machine: int) -> list[int]:
        return [*self._unchanged(self._running.jobs_on(machine)), *self._placed.jobs_on(machine)]

    def crossing_machine(self, machine: int) -> list[int]:
        return [
            *self._unchanged(self._running.crossing_machine(machine)),
            *self._placed.crossing_machine(machine),
        ]

    def crossing_rack(self, rack: int) -> list[int]:
        return [*self._unchanged(self._running.crossing_rack(rack)), *self._placed.crossing_rack(rack)]

    def members(self, group: str) -> list[int]:
        return [*self._unchanged(self._running.members(group)), *self._placed.members(group)]

    def _state_of(self, job: int) -> Running:
        return self._placed if job in self._placed else self._running

    def _unchanged(self, jobs: Iterable[int]) -> list[int]:
        return [job for job in jobs if job not in self._placed and job not in self._stopped]
