"""Division of CPUs and memory among jobs on given GPUs. For `cpu_tuned`.

The policy plans as if jobs held their shares in proportion to GPUs: its view says so, and it decides as if
nothing were divided. When its plan is done, the CPUs and memory of the machines whose jobs changed (planned,
finished or evicted) are divided again among the jobs there. Each has at least the lesser of its best case and
its share; a rule divides the rest. The division depends only on
the GPUs that jobs hold, so it changes only with them. A job that gets only other CPUs or memory is retuned;
under a policy that is called at intervals this happens at its next call.

Jobs on several machines tie these together: all machines that are linked to one that changed are divided with
it. CPU-only jobs and colocated jobs keep their planned allocations. On closed machines jobs keep the present
ones; those that are also on other machines have the least from then on.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import cast

from artist.core.arrays import Ints
from artist.core.buckets import set_of
from artist.core.cluster import Allocation, Slice
from artist.core.events import Finish, MachineEvent, Stop
from artist.core.free import Free
from artist.core.view import ClusterView
from artist.policies.parts.around import AdaptedView
from artist.policies.synergy.best_case import BestCases
from artist.policies.synergy.division_rules import DivisionRule, Left, Tenant
from artist.policies.synergy.needs import Need


class Division:
    """Allocations of the jobs of one run, as the policy sees them and in fact.

    Parameters
    ----------
    rule
        Divides the rest of machines.
    cases
        Best cases of jobs.
    """

    def __init__(self, rule: DivisionRule, cases: BestCases) -> None:
        self._rule = rule
        self._cases = cases
        self._planned: dict[int, Allocation] = {}  # allocations of running jobs, as the policy sees them
        self._tenants: dict[int, Tenant] = {}  # of the divided jobs
        self._on: dict[int, dict[int, None]] = {}  # jobs by machine
        self._apart: dict[int, dict[int, None]] = {}  # those of them that are not divided, by machine
        self._changed: dict[int, None] = {}  # machines whose jobs changed since they were last divided
        self._free: tuple[Ints, Ints] | None = None  # CPUs and memory, as the policy sees it

    def adapted(self, view: ClusterView) -> ClusterView:
        """Return the view on which the policy plans."""
        if self._free is None:
            self._free = view.cluster.cpus.copy(), view.cluster.memory_bytes.copy()
        for event in view.news:
            if isinstance(event, Finish | Stop):
                self._put(event.job, None)
                if isinstance(event, Finish):
                    self._cases.forget(event.job)
            elif isinstance(event, MachineEvent):
                self._changed[event.machine] = None
        allocation, free = self._planned.get, partial(self._free_of, view)
        return cast(ClusterView, AdaptedView(view, allocation=allocation, free=free))

    def _free_of(self, view: ClusterView) -> Free:
        """Return the free resources, as the policy sees them."""
        assert self._free is not None
        return view.free().with_resources(*self._free)

    def settle(
        self, view: ClusterView, changes: Mapping[int, Allocation | None]
    ) -> dict[int, Allocation | None]:
        """Apply the changes of a plan; return the real ones, with those of other jobs."""
        planned = self._planned
        new = {job: after for job, after in changes.items() if after is None or after != planned.get(job)}
        for job, after in new.items():
            self._put(job, after)
        if self._changed:
            for job, after in self._divided(view).items():
                if after != view.allocation(job):
                    new[job] = after
                else:
                    new.pop(job, None)
        return new

    def _put(self, job: int, after: Allocation | None) -> None:
        """Change the allocation of a job, as the policy sees it."""
        self._tenants.pop(job, None)
        before = self._planned.pop(job, None)
        if after is not None:
            self._planned[job] = after
        assert self._free is not None
        cpus, memory = self._free
        for allocation, sign in ((before, 1), (after, -1)):
            for s in allocation.slices if allocation is not None else ():
                self._changed[s.machine] = None
                cpus[s.machine] += sign * s.cpus
                memory[s.machine] += sign * s.memory_bytes
                self._enlist(self._on, s.machine, job, sign)
                if _is_apart(allocation):
                    self._enlist(self._apart, s.machine, job, sign)
                    for other in self._on[s.machine]:
                        self._tenants.pop(other, None)

    def _enlist(self, jobs_on: dict[int, dict[int, None]], machine: int, job: int, sign: int) -> None:
        """Add a job to the list of a machine, or remove it."""
        jobs = jobs_on.setdefault(machine, {})
        if sign < 0:
            jobs[job] = None
        else:
            del jobs[job]

    # --- the division

    def _divided(self, view: ClusterView) -> dict[int, Allocation]:
        """Return the allocations of the jobs that the changes affect."""
        jobs, machines = self._linked(self._changed)
        self._changed.clear()
        open_ = {
            m for m, accepts in zip(machines, view.accepts[list(machines)].tolist(), strict=True) if accepts
        }
        least: dict[int, Allocation] = {}
        tenants: list[Tenant] = []
        divided: dict[int, Allocation] = {}
        for job in sorted(jobs):
            tenant = self._tenants.get(job) or self._tenant(view, job)
            on_open = sum(s.machine in open_ for s in tenant.least.slices)
            if on_open == len(tenant.least.slices):
                tenants.append(tenant)
                least[job] = tenant.least
            elif on_open:
                least[job] = divided[job] = _within(tenant.least, view.allocation(job), open_)
        left = {m: self._left(view, m, least) for m in sorted(open_)}
        divided.update(self._rule.divide(tenants, left, view))
        return divided

    def _linked(self, machines: Iterable[int]) -> tuple[dict[int, None], dict[int, None]]:
        """Return all jobs that the division of some machines affects, and all their machines."""
        linked = dict.fromkeys(machines)
        jobs: dict[int, None] = {}
        queue = list(linked)
        while queue:
            machine = queue.pop()
            apart = self._apart.get(machine, ())
            for job in self._on.get(machine, ()):
                if job not in jobs and job not in apart:
                    jobs[job] = None
                    more = [s.machine for s in self._planned[job].slices if s.machine not in linked]
                    linked.update(dict.fromkeys(more))
                    queue += more
        return jobs, linked

    def _tenant(self, view: ClusterView, job: int) -> Tenant:
        """Return a job with its least on its machines, and remember it."""
        planned = self._planned[job]
        share = replace(planned, slices=tuple(self._share(view, s) for s in planned.slices))
        where, machines = share.gpu_map(), view.cluster.machines
        best, cases = self._cases.among(view, job, share.gpus, set_of(where))
        need = Need(job, view.demand(job), *best, cases=cases)
        wanted = (Slice(m, gpus, *need.best(gpus, machines[m])) for m, gpus in where.items())
        least = replace(share, slices=tuple(map(_lesser, share.slices, wanted)))
        if least != share and not self._as_fast(view, job, least, share):
            least = share
        tenant = self._tenants[job] = Tenant(need, least)
        return tenant

    def _share(self, view: ClusterView, planned: Slice) -> Slice:
        """Return a job's share of a machine; beside undivided jobs, its slice as the policy sees it."""
        m, gpus, _, _ = planned
        return planned if self._apart.get(m) else view.cluster.share(m, gpus)

    def _as_fast(self, view: ClusterView, job: int, least: Allocation, share: Allocation) -> bool:
        """Return whether a job is as fast with the least as with its share.

        Best cases hold for as few machines as possible: on one machine it is as fast.
        """
        if len(share.slices) == 1:
            return True
        min_ns, share_ns = view.performance.alone([job, job], [least, share]).tolist()
        return bool(min_ns <= share_ns)

    def _left(self, view: ClusterView, machine: int, least: Mapping[int, Allocation]) -> Left:
        """Return the rest of a machine when each job there has its least or, undivided, its planned slice."""
        facts = view.cluster.machines[machine]
        cpus, memory = facts.cpus, facts.memory_bytes
        for job in self._on.get(machine, ()):
            for s in least.get(job, self._planned[job]).slices:
                if s.machine == machine:
                    cpus -= s.cpus
                    memory -= s.memory_bytes
        return Left(cpus, memory)


def _is_apart(allocation: Allocation | None) -> bool:
    """Return whether a job is not divided: it is colocated or CPU-only."""
    return allocation is not None and (allocation.group is not None or not allocation.gpus)


def _lesser(one: Slice, other: Slice) -> Slice:
    """Return the lesser of two amounts of CPUs and memory on one machine."""
    cpus, memory = min(one.cpus, other.cpus), min(one.memory_bytes, other.memory_bytes)
    return Slice(one.machine, one.gpus, cpus, memory)


def _within(least: Allocation, held: Allocation | None, open_: Container[int]) -> Allocation:
    """Return the least of a job, no more than it holds on closed machines."""
    has = {s.machine: s for s in held.slices} if held is not None else {}
    slices = (s if s.machine in open_ else _lesser(s, has.get(s.machine, s)) for s in least.slices)
    return replace(least, slices=tuple(slices))
