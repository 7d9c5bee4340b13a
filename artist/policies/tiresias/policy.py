"""Tiresias: discretised two-dimensional least-attained-service with placement by skew.

In plain words: a job's attained service is the number of GPUs it held times how long. Thresholds cut it into
queues; the queue with the least service is served first. In a queue jobs run in order of their start: running
ones first, so none is preempted by others of its own queue, then waiting ones in the order in which they
entered it; one demoted while it runs follows those that wait. The first jobs that together fit the cluster
run, the others are preempted. A job that crosses a threshold is ranked again at that very instant; with
`on_events` false all wait for the next multiple of `interval_s`. Jobs of a model with high skew (largest
tensor / model size) are placed on as few machines as possible and wait for them without limit: no job is
stopped for one that could run as if its skew were low. The others go anywhere, with
`placement_low_skew: consolidate` as near to each other as they can.

With `gittins`, jobs of one queue are ordered by the Gittins index over the services of the jobs finished so
far, once there are `gittins_sample` of them; it is evaluated on events. `continuous` replaces the queues by
plain 2D-LAS, evaluated on events and every `interval_s`.

Paper: Gu et al., Tiresias: A GPU Cluster Manager for Distributed Deep Learning, NSDI 2019, sections 3.1
to 3.3; as a baseline: Dally, sections 3.2 and 5.1.3.

Differs from the paper:

- The thresholds are not printed there; 3250 GPU-seconds (`tiresias`, two queues) and 3250 and 7200
  (`tiresias_open`, three queues) are those of the authors' open program, whose simulator places without
  looking at skew and may demote late. Where a demoted job enters its queue is that program's rule, too.
- No job that starves returns to the first queue (PROMOTEKNOB).
- Consolidation is blind to racks among equals, but prefers the machines of one rack.
"""

from bisect import insort
from typing import Annotated

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from artist.core.arrays import Floats, Ints
from artist.core.events import Arrival, Finish
from artist.core.plan import Plan, PlanBuilder
from artist.core.view import ClusterView, JobColumns
from artist.policies.parts.fill import AnyFill
from artist.policies.parts.orders import ranking
from artist.policies.parts.parameters import STRICT
from artist.policies.parts.placement import AnyChooser, Split
from artist.policies.parts.placer import Placer, placer_of
from artist.policies.parts.preemption import run_first, waiting_after
from artist.policies.parts.units import Align
from artist.policies.tiresias.gittins import gittins_index
from artist.policies.tiresias.queue_ranks import QueueRanks
from artist.units import seconds_to_ns


@dataclass(config=STRICT)
class Tiresias:
    """Discretised 2D-LAS with skew-based placement."""

    knows_models = True

    thresholds_gpu_s: tuple[Annotated[float, Field(le=4e9)], ...] = (3250.0,)
    continuous: bool = False
    gittins: bool = False
    gittins_quantum_gpu_s: float = Field(default=3250.0, gt=0, le=4e9)
    gittins_sample: int = Field(default=100, ge=1)
    skew_threshold: float = Field(default=0.3, ge=0, le=1)
    placement_high_skew: AnyChooser = "consolidate_machine"
    placement_low_skew: AnyChooser = "best_fit"
    split: Split = "packed"
    align: Align = "none"
    backfill: bool = True
    on_events: bool = True
    interval_s: float | None = Field(default=None, ge=0.001, le=4e9)
    fill: AnyFill = "as_asked"
    seed: int = Field(default=0, ge=0)

    def __post_init__(self) -> None:
        self._check()
        self._thresholds = np.array([seconds_to_ns(t) for t in self.thresholds_gpu_s], dtype=np.int64)
        self._last = max(self._thresholds.tolist(), default=0)
        self._high = placer_of(self.placement_high_skew, self.fill, self.seed, self.split, self.align)
        self._low = placer_of(self.placement_low_skew, self.fill, self.seed, self.split, self.align)
        self._placers: dict[int, Placer] = {}
        self._finished: list[float] = []  # services of finished jobs, GPU-ns, sorted
        self._sample = np.array(self._finished)  # services of finished jobs when last looked at
        self._ranks = QueueRanks()

    def _check(self) -> None:
        """Raise ValueError for parameters that contradict each other."""
        rising = all(
            a < b for a, b in zip((0.0, *self.thresholds_gpu_s), self.thresholds_gpu_s, strict=False)
        )
        if not rising:
            raise ValueError("thresholds_gpu_s must be positive and rising")
        if self.continuous and self.interval_s is None:
            raise ValueError(
                "continuous=true needs interval_s, the interval at which running jobs are ranked"
            )

    def decide(self, view: ClusterView) -> Plan:
        """Run the jobs of the first queues."""
        plan = view.plan()
        self._follow(view)
        placer = self._placers.__getitem__
        run_first(view, plan, self._rank, placer, backfill=self.backfill, lenient=self._low)
        if self.on_events and not self.continuous and view.n_waiting:
            self._wake_at_next_threshold(view, plan)
        return plan.done()

    def _rank(self, jobs: JobColumns) -> Ints:
        service = jobs.attained_gpu_ns
        if self.continuous:
            return ranking(service)
        queue = self._thresholds.searchsorted(service, side="right")
        return self._ranks.ranking(jobs, queue, self._key_inside(service))

    def _follow(self, view: ClusterView) -> None:
        """Choose the placement of new jobs by skew; record the services of finished ones."""
        for event in view.news:
            if isinstance(event, Arrival):
                high = view.columns([event.job]).skew[0] >= self.skew_threshold
                self._placers[event.job] = self._high if high else self._low
            elif isinstance(event, Finish):
                del self._placers[event.job]
                if self.gittins:
                    insort(self._finished, float(view.columns([event.job]).attained_gpu_ns[0]))

    def _key_inside(self, service: Ints) -> Floats | None:
        """Return the key of jobs within a queue, shape (n,): the Gittins index; None: by start."""
        if not self.gittins or len(self._finished) < self.gittins_sample:
            return None
        if len(self._finished) > 1.01 * len(self._sample):  # one more in a hundred changes the index little
            self._sample = np.array(self._finished)
        return -gittins_index(
            service.astype(np.float64), self._sample, seconds_to_ns(self.gittins_quantum_gpu_s)
        )

    def _wake_at_next_threshold(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Ask to be woken when a job that will hold GPUs crosses a threshold."""
        if not waiting_after(view, plan):
            return  # no job would take their place
        jobs, changes, thresholds = view.jobs, plan.changes, self._thresholds
        gpus = jobs.held_gpus.copy()
        if changes:
            rows = jobs.job.searchsorted(list(changes))
            gpus[rows] = [0 if a is None else a.gpus for a in changes.values()]
        (rows,) = np.nonzero((gpus > 0) & (jobs.attained_gpu_ns < self._last))
        if len(rows):
            service = jobs.attained_gpu_ns[rows]
            above = thresholds[thresholds.searchsorted(service, side="right")]
            plan.wake_at(view.now_ns - int(((service - above) // gpus[rows]).max()))
