"""The running jobs, as performance sees them."""

from collections.abc import Iterable

from artist.core.cluster import Allocation, Cluster
from artist.core.job import JobSpec
from artist.engine import progress
from artist.engine.jobs import RUNNING, JobTable, vector
from artist.engine.machines import MachineTable


class RunningJobs:
    """The engine's state at `now`; see `artist.performance.api.Running`."""

    def __init__(self, jobs: JobTable, machines: MachineTable) -> None:
        self._jobs = jobs
        self._machines = machines
        self.cluster: Cluster = machines.cluster
        self.now = 0

    def spec(self, job: int) -> JobSpec:
        """Return what is known of a job."""
        return self._jobs.specs[job]

    def allocation(self, job: int) -> Allocation:
        """Return what a running job holds."""
        allocation = self._jobs.held[job]
        assert allocation is not None, f"job number {job} does not run"
        return allocation

    def jobs(self) -> Iterable[int]:
        """Return all running jobs, in order of arrival."""
        rows = self._jobs.unfinished()
        return tuple(rows[vector(self._jobs.status)[rows] == RUNNING].tolist())

    def jobs_on(self, machine: int) -> Iterable[int]:
        """Return the running jobs on a machine."""
        return tuple(self._machines.jobs_on[machine])

    def members(self, group: str) -> Iterable[int]:
        """Return the running jobs of a group."""
        return tuple(self._machines.groups[group][1]) if group in self._machines.groups else ()

    def open_share(self, job: int) -> float:
        """Return how far a running job is into its open iteration, in [0, 1)."""
        jobs = self._jobs
        iteration, remaining = jobs.iteration[job], jobs.remaining[job]
        if not iteration or not remaining:
            return 0.0
        elapsed = max(0, self.now - jobs.since[job])
        return 1 - progress.settle(0, remaining, iteration, elapsed)[1] / iteration
