"""AntMan: guaranteed jobs first come, first served; opportunistic jobs on the GPU time that those leave idle.

In plain words: a GPU has room for one guaranteed and one opportunistic job. No job is ever stopped or moved.

- Guaranteed jobs start in order of arrival, on GPUs without a guaranteed job: empty ones, else those that run
  opportunistic jobs. The first that does not fit blocks those behind it, unless `backfill`.
- Opportunistic jobs start in order of arrival, overtaking jobs that do not fit, on GPUs that have no
  opportunistic job and whose guaranteed job keeps them busy, as measured, for at most `utilization` of the
  time: the least busy GPUs first, in steps of a tenth, empty ones before all others.
- With `waiting_join`, guaranteed jobs that must wait start as opportunistic ones. They keep their place in
  the order: when their turn comes and their GPUs run no guaranteed job, these GPUs are guaranteed to them.

A guaranteed job runs as if it were alone; opportunistic jobs get the time in which it leaves its GPUs idle
(`artist.performance.formulas.opportunistic`), so they alone are slowed down. Interference on
CPUs and storage is part of performance (`performance.packing_interference`) and is unknown to the policy; it
is 0.33, the measured slowdown of groups of two, in the Muri experiments that run AntMan.

Paper: Xiao et al., AntMan: Dynamic Scaling on GPU Clusters for Deep Learning, OSDI 2020, sections 3
(opportunistic computation) and 4 (scheduling). Baseline of Muri, section 6.1.

Differs from the paper:

- No tenant quotas: the trace marks guaranteed jobs (column `guaranteed`; by default all are).
- GPU memory is assumed to suffice; the paper scales it and swaps it out to the host.
- At most one opportunistic job on a GPU, as in the Muri authors' program.
- Gang scheduling: all GPUs of a job start together; in the paper a guaranteed job may hold some while it
  waits for more.
- This is not the AntMan of Muri's authors (Rivendile/Muri @4e69a78, simulator/run_sim.py), which its header
  calls not finished. There a guest's stage takes whole iterations of its host (inaccurate, says a comment
  there), and a guest beside a guest takes twice its time wherever it is the busier one; a guaranteed job
  never starts as a guest, and holds idle GPUs while it waits for the rest of its demand; each event charges a
  restart to all running jobs. The rule here is the paper's, so the figures differ from theirs.
- Opportunistic jobs that share GPUs with several others all fail when a machine of any of them fails.
"""

from bisect import bisect_left
from collections.abc import Collection

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from artist.core.arrays import Bools, Ints
from artist.core.cluster import Allocation
from artist.core.events import Arrival, Finish, Stop
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.plan import Plan
from artist.core.view import ClusterView
from artist.policies.antman.gpu_slots import GpuSlots
from artist.policies.parts.cpu_jobs import start_cpu_jobs
from artist.policies.parts.fill import AnyFill
from artist.policies.parts.parameters import STRICT
from artist.policies.parts.placement import AnyChooser, Split
from artist.policies.parts.placer import Placer, placer_of
from artist.policies.parts.units import Align

_STEPS = 10  # of load
_FULL = _STEPS + 1  # the load of a GPU that no job may join


@dataclass(config=STRICT)
class AntMan:
    """Guaranteed jobs first come, first served; opportunistic ones beside them."""

    remembers_places = True

    utilization: float = Field(default=0.8, gt=0, le=1)
    waiting_join: bool = True
    backfill: bool = False
    placement: AnyChooser = "consolidate"
    split: Split = "packed"
    align: Align = "none"
    on_events: bool = True
    interval_s: float | None = Field(default=None, ge=0.001, le=4e9)
    fill: AnyFill = "as_asked"
    seed: int = Field(default=0, ge=0)

    def __post_init__(self) -> None:
        self._placer = placer_of(self.placement, self.fill, self.seed, self.split, self.align)
        self._slots: GpuSlots | None = None
        self._promised: list[int] = []  # guaranteed jobs whose GPUs are not guaranteed yet, by arrival

    def decide(self, view: ClusterView) -> Plan:
        """Start guaranteed jobs, then opportunistic ones."""
        slots = self._slots = self._slots or GpuSlots(view.cluster)
        self._follow(view, slots)
        plan, free = view.plan(), view.free()
        room = _Room(free, self._placer)
        if view.n_waiting or self._promised:
            waiting = view.waiting
            start_cpu_jobs(view, plan, free, waiting.job[waiting.gpus == 0].tolist())
            room = _Room(free, self._placer)
            unmeasured = self._start_promised(view, slots, room)
            self._start_others(view, slots, room, unmeasured)
            if unmeasured and view.n_waiting:
                plan.wake_at(view.now_ns)  # to see how busy they keep their GPUs
        for job, allocation in slots.changes().items():
            before = view.allocation(job)
            if allocation.group is None and before is not None and before.group is not None:
                allocation = slots.holds(job, room.refilled(view.demand(job), allocation))
            if allocation != before:
                plan.place(job, allocation)
        return plan.done()

    def _follow(self, view: ClusterView, slots: GpuSlots) -> None:
        """Track arrivals and finishes."""
        for event in view.news:
            if not isinstance(event, Arrival | Finish | Stop):
                continue
            job = event.job
            if not isinstance(event, Arrival) and job in slots:
                slots.remove(job)
            at = bisect_left(self._promised, job)
            known = at < len(self._promised) and self._promised[at] == job
            if isinstance(event, Finish):
                del self._promised[at : at + known]
            elif not known and view.demand(job).gpus and view.columns([job]).guaranteed[0]:
                self._promised.insert(at, job)

    def _start_promised(self, view: ClusterView, slots: GpuSlots, room: "_Room") -> set[int]:
        """Guarantee jobs their GPUs, in order of arrival; return the jobs that got them."""
        new: set[int] = set()
        for job in self._promised:
            if job in slots:
                if slots.promote(job):
                    new.add(job)
                continue
            demand, ownerless = view.demand(job), ~slots.owned
            allocation = room.find(demand, ownerless & ~slots.visited) or room.find(demand, ownerless)
            if allocation is not None:
                slots.put(job, allocation, 2 * slots.owned + slots.visited, guaranteed=True)
                new.add(job)
            elif not self.backfill:
                break
        if new:
            self._promised = [job for job in self._promised if job not in new]
        return new

    def _start_others(
        self, view: ClusterView, slots: GpuSlots, room: "_Room", unmeasured: Collection[int]
    ) -> None:
        """Start opportunistic jobs in order of arrival, each where load is least."""
        waiting = view.waiting
        may = waiting.gpus > 0
        if not self.waiting_join:
            may &= ~waiting.guaranteed
        jobs = [job for job in waiting.job[may].tolist() if job not in slots]
        if not jobs:
            return
        loads = self._loads(view, slots, unmeasured)
        refused: set[Demand] = set()
        for job in jobs:
            demand = view.demand(job)
            if demand in refused:
                continue
            levels = np.unique(loads[loads < _FULL]).tolist()
            if not levels:
                return
            tried = (room.find(demand, loads <= level) for level in levels)
            allocation = next((allocation for allocation in tried if allocation is not None), None)
            if allocation is None:
                refused.add(demand)
            else:
                slots.put(job, allocation, loads, guaranteed=False)
                loads[slots.visited] = _FULL

    def _loads(self, view: ClusterView, slots: GpuSlots, unmeasured: Collection[int]) -> Ints:
        """Return the load of each GPU in steps: 0 if empty, `_FULL` if closed; shape of `GpuSlots.owner`."""
        owners = sorted(slots.owners())
        busy = view.columns(owners).observed_gpu_utilization
        may = (busy <= self.utilization) & ~np.isin(owners, list(unmeasured))
        steps = np.where(may, np.ceil(busy * _STEPS - 1e-9), _FULL).astype(np.int64)
        loads = np.where(slots.owned, _FULL, 0)
        taken = slots.owner >= 0
        loads[taken] = steps[np.searchsorted(owners, slots.owner[taken])]
        loads[slots.visited] = _FULL
        return loads


class _Room:
    """Resources left to a plan: CPUs and memory, and GPUs as each type of job counts them."""

    def __init__(self, free: Free, placer: Placer) -> None:
        self._free, self._placer = free, placer
        self._cpus, self._memory = free.cpus.copy(), free.memory_bytes.copy()

    def find(self, demand: Demand, places: Bools) -> Allocation | None:
        """Take CPUs and memory, and at most the GPUs with a free slot; None if these are too few."""
        gpus, accepts = places.sum(axis=1), self._free.accepts
        if accepts is not None:
            gpus *= accepts
        if gpus.sum() < demand.min_feasible_gpus:
            return None
        free = Free(self._free.cluster, gpus, self._cpus, self._memory, accepts)
        allocation = self._placer.place(free, demand)
        for s in allocation.slices if allocation is not None else ():
            self._cpus[s.machine] -= s.cpus
            self._memory[s.machine] -= s.memory_bytes
        return allocation

    def refilled(self, demand: Demand, held: Allocation) -> Allocation:
        """Return a job's allocation without its group, with the CPUs and memory that it may have now."""
        none = np.zeros(len(self._cpus), dtype=np.int64)
        free = Free(self._free.cluster, none, self._cpus, self._memory, self._free.accepts)
        refilled = self._placer.fill.refilled(free, demand, held)
        self._cpus, self._memory = free.cpus, free.memory_bytes
        return refilled
