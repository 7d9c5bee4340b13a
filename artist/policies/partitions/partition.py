"""One partition: its machines and jobs, numbered from 0 as in a cluster of its own, and its policy."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from artist.core.arrays import Floats, Ints
from artist.core.buckets import ALL, members_of, set_of
from artist.core.cluster import DEFAULT_POOL, Allocation, Cluster, Group, Slice
from artist.core.events import Arrival, Change, Event, Finish, MachineEvent, Stop
from artist.core.plan import Plan
from artist.core.view import JobColumns, Policy
from artist.errors import PlanError


class Partition:
    """The machines, jobs and policy of a partition.

    Parameters
    ----------
    name
        The pool of its machines.
    among
        Its machines, as a set of `artist.core.buckets`.
    whole
        The cluster of all partitions.
    policy
        Decides here alone.

    Attributes
    ----------
    machines, jobs
        Numbers in the whole cluster, by number here.
    here
        Numbers of jobs here, by number in the whole cluster.
    unfinished, waiting
        Jobs, by number here.
    news
        Events since the policy's last call, by numbers here.
    wake_ns
        Time of the wake-up that the policy asked for.
    awaited_gpus
        GPUs that must be free here before arrivals and finishes call the policy.
    """

    def __init__(self, name: str, among: int, whole: Cluster, policy: Policy) -> None:
        self.name = name
        self.machines = members_of(among)
        self.cluster = whole.part(among)
        self.policy = policy
        self.jobs: list[int] = []
        self.here: dict[int, int] = {}
        self.unfinished: dict[int, None] = {}
        self.waiting: dict[int, None] = {}
        self.news: list[Event] = []
        self.wake_ns: int | None = None
        self.awaited_gpus = 0
        self._among = among
        self._machine_here = {number: here for here, number in enumerate(self.machines)}
        self._whole_machine = dict(enumerate(self.machines))
        self._placed: dict[int, Allocation] = {}  # by number here, of jobs that run
        self._began_ns = 0  # sum of the arrivals so far, less that of the finishes
        self._at_arrival_ns: list[int] = []  # `_unfinished_job_ns` at each arrival

    # --- events and plans

    def hear(self, event: Event) -> None:
        """Add an event to the news."""
        if isinstance(event, Arrival):
            job = self.here[event.job] = len(self.jobs)
            self.jobs.append(event.job)
            self._at_arrival_ns.append(self._unfinished_job_ns(event.time_ns))
            self._began_ns += event.time_ns
            self.unfinished[job] = self.waiting[job] = None
            self.news.append(Arrival(event.time_ns, job))
        elif isinstance(event, Finish):
            job = self.here[event.job]
            self._began_ns -= event.time_ns
            del self.unfinished[job]
            self.waiting.pop(job, None)
            self._placed.pop(job, None)
            self.news.append(replace(event, job=job))
        elif isinstance(event, Stop):
            job = self.here[event.job]
            self.waiting[job] = None
            self.news.append(replace(event, job=job))
        elif isinstance(event, Change):
            slices = tuple(s._replace(machine=self._machine_here[s.machine]) for s in event.allocation.slices)
            job = self.here[event.job]
            self._placed[job] = held = replace(event.allocation, slices=slices)
            self.news.append(replace(event, job=job, allocation=held))
        elif isinstance(event, MachineEvent):
            self.awaited_gpus = 0  # as of all that is neither arrival nor finish
            here = self._machine_here[event.machine]
            self.news.append(replace(event, machine=here, pool=DEFAULT_POOL))
        else:
            self.awaited_gpus = 0
            self.news.append(event)

    def carry(
        self,
        plan: Plan,
        changes: dict[int, Allocation | None],
        shifts: dict[int, int],
        reasons: dict[int, str],
        cancels: list[int],
    ) -> None:
        """Add a plan of the policy to changes, shifts, reasons and cancels by number in the whole cluster."""
        self.news.clear()
        if not isinstance(plan, Plan):
            raise self._error(f"returned {plan!r}; allowed: view.plan()...done()")
        if plan.assigns:
            raise self._error("assigns machines to pools, which are partitions here")
        self.awaited_gpus = plan.awaited_gpus
        if plan.wake_ns is not None:
            self.wake_ns = plan.wake_ns
        for job, after in plan.changes.items():
            changes[self.whole_job(job)] = self.whole_allocation(after)
            if after is None:
                self.waiting[job] = None
            else:
                self.waiting.pop(job, None)
                self._placed[job] = after
        cancels += map(self.whole_job, plan.cancels)
        for job, shift_ns in plan.shifts.items():
            shifts[self.whole_job(job)] = shift_ns
        reasons |= {self.whole_job(job): reason for job, reason in plan.reasons.items()}

    def mean_unfinished(self, jobs: Ints, columns: JobColumns) -> Floats:
        """Return the column of `artist.core.view.JobColumns`, as in a cluster of its own."""
        stay_ns = columns.now_ns - columns.submit_ns
        at_arrival_ns = np.array([self._at_arrival_ns[job] for job in jobs.tolist()], dtype=np.float64)
        now = np.full(len(jobs), float(len(self.unfinished)))
        beside_ns = self._unfinished_job_ns(columns.now_ns) - at_arrival_ns
        mean: Floats = np.divide(beside_ns, stay_ns, out=now, where=stay_ns > 0)
        return mean

    def _unfinished_job_ns(self, now: int) -> int:
        """Return the integral of the number of unfinished jobs."""
        return len(self.unfinished) * now - self._began_ns

    # --- numbers here, and in the whole cluster

    def whole_set(self, among: int) -> int:
        """Return a set of machines by number in the whole cluster."""
        return self._among if among == ALL else set_of(self.machines[m] for m in members_of(among))

    def whole_job(self, job: int) -> int:
        """Return the number of a job in the whole cluster."""
        return self.whole_jobs([job])[0]

    def whole_jobs(self, jobs: Sequence[int]) -> list[int]:
        """Return the numbers of jobs in the whole cluster."""
        known = self.jobs
        try:
            if not len(jobs) or min(jobs) >= 0:
                return [known[job] for job in jobs]
        except (IndexError, TypeError):
            pass
        numbers = range(len(known))
        unknown = next(job for job in jobs if job not in numbers)
        raise self._error(f"names job number {unknown!r}, which is not there")

    def whole_allocation(self, allocation: Allocation | None) -> Allocation | None:
        """Return an allocation by number in the whole cluster, where groups are named for their partition."""
        if not isinstance(allocation, Allocation):
            return allocation  # None, or refused by the engine
        machine, group = self._whole_machine, allocation.group
        try:
            slices = tuple([Slice(machine[m], *rest) for m, *rest in allocation.slices])
            if isinstance(group, Group):
                owned = tuple((machine[m], gpus) for m, gpus in group.gpus)
                group = replace(group, name=f"{self.name}: {group.name}", gpus=owned)
        except (KeyError, TypeError) as error:
            raise self._error(f"names machine number {error.args[0]!r}, which is not there") from error
        return Allocation(slices, allocation.bandwidth_cap, group, allocation.opportunistic)

    def allocation_here(self, job: int) -> Allocation:
        """Return the allocation of a running job by number here: that of its last plan."""
        return self._placed[job]

    def _error(self, text: str) -> PlanError:
        return PlanError(f"policy {type(self.policy).__name__}, partition {self.name!r}: it {text}")
