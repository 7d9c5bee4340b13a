"""Jobs that would run beside all that runs now."""

from collections.abc import Mapping

from artist.core.cluster import Allocation, racks_of
from artist.core.job import JobSpec
from artist.performance.api import Running


class Added:
    """All that runs now, and jobs placed beside it; see `artist.performance.api.Running`.

    A job that runs now counts on its new allocation only.
    """

    def __init__(self, running: Running, held: Mapping[int, Allocation]) -> None:
        self.cluster = running.cluster
        self._running = running
        self._held = held

    def spec(self, job: int) -> JobSpec:
        """Return what is known of a job."""
        return self._running.spec(job)

    def allocation(self, job: int) -> Allocation:
        """Return what a job would hold."""
        return self._held[job] if job in self._held else self._running.allocation(job)

    def ready_ns(self, job: int) -> int:
        """Return when the delay of a job ends; a placed one has none."""
        return 0 if job in self._held else self._running.ready_ns(job)

    def jobs_on(self, machine: int) -> list[int]:
        """Return the jobs that would be on a machine."""
        stay = [j for j in self._running.jobs_on(machine) if j not in self._held]
        return stay + [j for j, a in self._held.items() if _is_on(a, machine)]

    def crossing_machine(self, machine: int) -> list[int]:
        """Return the jobs that would be on a machine and on others, too."""
        stay = [j for j in self._running.crossing_machine(machine) if j not in self._held]
        return stay + [j for j, a in self._held.items() if len(a.slices) > 1 and _is_on(a, machine)]

    def crossing_rack(self, rack: int) -> list[int]:
        """Return the jobs that would be in a rack and in others, too."""
        stay = [j for j in self._running.crossing_rack(rack) if j not in self._held]
        return stay + [j for j, a in self._held.items() if self._crosses(a, rack)]

    def members(self, group: str) -> list[int]:
        """Return the jobs that would be in a group."""
        stay = [j for j in self._running.members(group) if j not in self._held]
        return stay + [j for j, a in self._held.items() if _is_in(a, group)]

    def _crosses(self, allocation: Allocation, rack: int) -> bool:
        racks = racks_of(allocation, self.cluster)
        return len(racks) > 1 and rack in racks


def _is_on(allocation: Allocation, machine: int) -> bool:
    return any(s.machine == machine for s in allocation.slices)


def _is_in(allocation: Allocation, group: str) -> bool:
    return allocation.group is not None and allocation.group.name == group
