"""AntMan: jobs that were promised GPUs get them first come, first served; others use what those leave idle.

In plain words: a GPU has room for one guaranteed and one opportunistic job. Nobody is ever stopped or moved.

- Guaranteed jobs start in order of arrival, on GPUs that no guaranteed job has: empty ones, else those on
  which opportunistic jobs run. The first that does not fit blocks those behind it, unless `backfill`.
- Opportunistic jobs start in order of arrival, overtaking what does not fit, on GPUs that no opportunistic
  job has and whose guaranteed job is measured to keep them busy for at most `utilization` of the time: the
  least busy ones, in steps of a tenth, empty ones first of all.
- With `waiting_join`, guaranteed jobs that must wait start as opportunistic ones. They keep their place in
  the order: when it is their turn and no guaranteed job is on their GPUs, those are guaranteed to them.

A guaranteed job runs as if it were alone; opportunistic ones get the time in which it leaves its GPUs idle
(`artist.performance.formulas.opportunistic`), so they are slowed down first, and only they. What they cost
each other on CPUs and storage is a matter of performance (`performance.packing_interference`), not known to
the policy.

Paper: Xiao et al., AntMan: Dynamic Scaling on GPU Clusters for Deep Learning, OSDI 2020, sections 3
(opportunistic computation) and 4 (scheduling). Baseline of Muri, section 6.1.

Differs from the paper:

- No quotas of tenants: a job is guaranteed or not by the trace (column `guaranteed`; all are by default).
- GPU memory is taken to suffice; there it is scaled, and swapped out to the host.
- At most one opportunistic job on a GPU, as in the Muri authors' program.
- All GPUs of a job are found at once; there a guaranteed job may hold some while it waits for others.
- Where opportunistic jobs share GPUs with several others, all of them fail with a machine of any.
"""

from bisect import bisect_left
from collections.abc import Collection

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from artist.core.cluster import Allocation
from artist.core.events import Arrival, Finish, Stop
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.plan import Plan, PlanBuilder
from artist.core.view import ClusterView
from artist.policies.parts.placement import Chooser, PlacementName, chooser
from artist.policies.parts.sharers import Sharers

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
_STEPS = 10  # of load
_FULL = _STEPS + 1  # the load of a GPU that nobody may join


class AntManParameters(BaseModel):
    """Parameters of `AntMan`."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    utilization: float = Field(0.8, gt=0, le=1)
    waiting_join: bool = True
    backfill: bool = False
    placement: PlacementName = "consolidate"
    seed: int = Field(0, ge=0)


class AntMan:
    """Guaranteed jobs first come, first served; opportunistic ones beside them."""

    on_events = True

    def __init__(self, **parameters: object) -> None:
        self.parameters = p = AntManParameters.model_validate(parameters)
        self._chooser = chooser(p.placement, p.seed)
        self._sharers: Sharers | None = None
        self._promised: list[int] = []  # guaranteed jobs whose GPUs are not guaranteed yet, by arrival

    def decide(self, view: ClusterView) -> Plan:
        """Start guaranteed jobs, then opportunistic ones."""
        sharers = self._sharers = self._sharers or Sharers(view.cluster)
        self._follow(view, sharers)
        plan = view.plan()
        if view.n_waiting or self._promised:
            room = _Room(view, self._chooser)
            self._start_cpu_jobs(view, plan, room)
            unmeasured = self._start_promised(view, sharers, room)
            self._start_others(view, sharers, room, unmeasured)
            if unmeasured and view.n_waiting:
                plan.wake_at(view.now_ns)  # to see how busy they keep their GPUs
        for job, allocation in sharers.changes().items():
            if allocation != view.allocation(job):
                plan.place(job, allocation)
        return plan.done()

    def _follow(self, view: ClusterView, sharers: Sharers) -> None:
        """Take note of who came and who is gone."""
        for event in view.news:
            if not isinstance(event, Arrival | Finish | Stop):
                continue
            job = event.job
            if not isinstance(event, Arrival) and job in sharers:
                sharers.remove(job)
            at = bisect_left(self._promised, job)
            known = at < len(self._promised) and self._promised[at] == job
            if isinstance(event, Finish):
                del self._promised[at : at + known]
            elif not known and view.demand(job).gpus and view.columns([job]).guaranteed[0]:
                self._promised.insert(at, job)

    def _start_cpu_jobs(self, view: ClusterView, plan: PlanBuilder, room: "_Room") -> None:
        """Start jobs without GPUs in order of arrival, where CPUs are free."""
        waiting = view.waiting
        for job in waiting.job[waiting.gpus == 0].tolist():
            allocation = room.find(view.demand(job), None)
            if allocation is not None:
                plan.place(job, allocation)

    def _start_promised(self, view: ClusterView, sharers: Sharers, room: "_Room") -> set[int]:
        """Guarantee jobs their GPUs, in order of arrival; return those that got them."""
        new: set[int] = set()
        for job in self._promised:
            if job in sharers:
                if sharers.promote(job):
                    new.add(job)
                continue
            demand, ownerless = view.demand(job), ~sharers.owned
            allocation = room.find(demand, ownerless & ~sharers.visited) or room.find(demand, ownerless)
            if allocation is not None:
                sharers.put(job, allocation, 2 * sharers.owned + sharers.visited, guaranteed=True)
                new.add(job)
            elif not self.parameters.backfill:
                break
        if new:
            self._promised = [job for job in self._promised if job not in new]
        return new

    def _start_others(
        self, view: ClusterView, sharers: Sharers, room: "_Room", unmeasured: Collection[int]
    ) -> None:
        """Start opportunistic jobs in order of arrival, each where load is least."""
        waiting = view.waiting
        may = waiting.gpus > 0
        if not self.parameters.waiting_join:
            may &= ~waiting.guaranteed
        jobs = [job for job in waiting.job[may].tolist() if job not in sharers]
        if not jobs:
            return
        loads = self._loads(view, sharers, unmeasured)
        refused: set[Demand] = set()
        for job in jobs:
            demand = view.demand(job)
            if demand in refused:
                continue
            levels = np.unique(loads[loads < _FULL]).tolist()
            if not levels:
                return
            found = (room.find(demand, loads <= level) for level in levels)
            allocation = next((each for each in found if each is not None), None)
            if allocation is None:
                refused.add(demand)
            else:
                sharers.put(job, allocation, loads, guaranteed=False)
                loads[sharers.visited] = _FULL

    def _loads(self, view: ClusterView, sharers: Sharers, unmeasured: Collection[int]) -> Ints:
        """Return the load of each GPU in steps, 0 if empty, `_FULL` if closed; shape of `Sharers.owner`."""
        owners = sorted(sharers.owners())
        busy = view.columns(owners).observed_gpu_utilization
        may = (busy <= self.parameters.utilization) & ~np.isin(owners, list(unmeasured))
        steps = np.where(may, np.ceil(busy * _STEPS - 1e-9), _FULL).astype(np.int64)
        loads = np.where(sharers.owned, _FULL, 0)
        taken = sharers.owner >= 0
        loads[taken] = steps[np.searchsorted(owners, sharers.owner[taken])]
        loads[sharers.visited] = _FULL
        return loads


class _Room:
    """What a plan may still take: CPUs and memory as they are free, GPUs as each kind of job counts them."""

    def __init__(self, view: ClusterView, choose: Chooser) -> None:
        free = view.free()
        self._cluster, self._accepts, self._choose = view.cluster, view.accepts, choose
        self._cpus, self._memory = free.cpus.copy(), free.memory_bytes.copy()

    def find(self, demand: Demand, places: Bools | None) -> Allocation | None:
        """Take CPUs and memory, and as many GPUs of each machine as it has places; None if they do not do."""
        if places is None:
            gpus = np.zeros(len(self._cluster), dtype=np.int64)
        else:
            gpus = places.sum(axis=1) * self._accepts
            if gpus.sum() < demand.least_gpus:
                return None
        free = Free(self._cluster, gpus, self._cpus, self._memory, self._accepts)
        allocation = self._choose.choose(free, demand)
        for s in allocation.slices if allocation is not None else ():
            self._cpus[s.machine] -= s.cpus
            self._memory[s.machine] -= s.memory_bytes
        return allocation
