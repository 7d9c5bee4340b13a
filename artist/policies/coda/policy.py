"""CODA: GPU jobs get the CPUs that they gain from, beside CPU-only jobs in an array of their own.

In plain words: GPU jobs and CPU-only jobs wait apart, each in the queue of its user. Next is the first job of
the user that holds the fewest GPUs, or CPUs; if it does not fit, other users go on.

1. Arrays: each machine reserves CPUs for GPU jobs, and machines are divided into a sub-array for jobs of
   `large_gpus` or more and one for the others, according to history (`artist.policies.coda.arrays`). A GPU
   job starts in its own sub-array, else in the other; a large one takes its own back by moving small jobs
   (`artist.policies.coda.gpu_array`). A CPU-only job takes unreserved CPUs on one machine. If there are too
   few, it borrows reserved ones while GPU jobs wait only on machines without a free GPU; when a GPU job needs
   them, the borrower is aborted and waits before later jobs of its user (`artist.policies.coda.cpu_loans`).
2. Cores: a GPU job starts with the CPUs of `allocator`, or those that there are, at least one per GPU. Every
   `step_s` it tries fewer, or more, and keeps the number at which its GPUs are busiest.
3. Contention: `eliminator` throttles CPU-only jobs of machines that are short of memory bandwidth.

Without `arrays` GPU jobs of all sizes share all machines, nothing is reserved and no job is aborted.

Paper: Zhao et al., CODA: Improving Resource Utilization by Slimming and Co-locating DNN and CPU Jobs, ICDCS
2020, section V.

Differs from the paper, or is not stated there:

- History is that of this run: the first day has no 4-GPU sub-array and reserves four CPUs per GPU.
- Starts and steps are per GPU, also for an elastic job with fewer GPUs than it asks for. CPUs that a job
  gives up for a try stay its own until the step is over; a search begins again only if the job is moved.
- GPU jobs take any free CPU, also in the CPU array, and these are not taken back.
- CPU-only jobs borrow even while GPU jobs wait, where these would find no GPU: otherwise a job that asks for
  more CPUs than a machine has beyond its reserve would wait for as long as the cluster is overloaded.
- As few jobs as possible are aborted or moved, those that started last first. Memory is not taken back.
  Aborted jobs of one user queue in order of arrival.
- A job spans more machines than it needs only if neither sub-array has a place on fewer.
- The loss of an aborted job: `overheads`.
"""

from collections.abc import Iterable, Sequence

from pydantic import Field
from pydantic.dataclasses import dataclass

from artist.core.cluster import Allocation, Cluster
from artist.core.events import Arrival, Finish, MachineEvent, Stop
from artist.core.job import Demand, JobSpec
from artist.core.plan import Plan, PlanBuilder
from artist.core.view import ClusterView
from artist.policies.coda.arrays import Arrays
from artist.policies.coda.core_allocator import AnyAllocator, GpuJob, Requested, allocator_of
from artist.policies.coda.cpu_loans import CpuArray, CpuHeld
from artist.policies.coda.cpu_searches import CpuSearches
from artist.policies.coda.eliminator import AnyEliminator, eliminator_of
from artist.policies.coda.gpu_array import GpuArray
from artist.policies.coda.gpu_placement import GpuPlaces
from artist.policies.parts.parameters import STRICT
from artist.policies.parts.placement import AnyChooser, Split, chooser_of
from artist.policies.parts.units import Align, aligned
from artist.policies.parts.user_queues import First, Holdings, UserQueues, notes_on_users
from artist.units import seconds_to_ns


@dataclass(config=STRICT)
class Coda:
    """Multi-array scheduling, adaptive CPUs, less contention."""

    on_events = True
    knows_models = True
    remembers_places = decides_cpus = True

    allocator: AnyAllocator = "tuned"
    arrays: bool = True
    eliminator: AnyEliminator = "mba"
    large_gpus: int = Field(default=4, ge=1)
    large_machines: int | None = Field(default=None, ge=0)
    reserve_per_gpu: float | None = Field(default=None, ge=0)
    review_s: float = Field(default=86400, ge=0.001, le=4e9)
    step_s: float = Field(default=90, ge=0.001, le=4e9)
    placement: AnyChooser = "consolidate"
    split: Split = "packed"
    align: Align = "none"
    seed: int = Field(default=0, ge=0)

    def __post_init__(self) -> None:
        self._allocator = allocator_of(self.allocator)
        self.min_cpus_per_gpu = None if isinstance(self._allocator, Requested) else 1
        self._eliminator = eliminator_of(self.eliminator)
        self._holds_gpus = Holdings(lambda gpus, cpus: (gpus,))
        self._holds_cpus = Holdings(lambda gpus, cpus: (cpus,))
        self._gpu_queue, self._cpu_queue = UserQueues(self._holds_gpus), UserQueues(self._holds_cpus)
        self._infos: dict[int, GpuJob] = {}  # of unfinished GPU jobs
        self._refused: set[tuple[Demand, tuple[float, ...]]] = set()
        self.series: list[tuple[int, str, float]] = []

    def notes(self, cluster: Cluster, jobs: Sequence[JobSpec]) -> Sequence[str]:
        """Return notes on its parts that change nothing for these jobs on this cluster."""
        notes = notes_on_users(jobs)
        if (self.arrays or self.eliminator != "off") and all(spec.demand.gpus for spec in jobs):
            notes.append("no job is CPU-only, so reserved CPUs and the eliminator change nothing")
        machines = sum(machine.gpus > 0 for machine in cluster.machines)
        if self.arrays and self.large_machines is not None and self.large_machines >= machines:
            effect = f"all {machines} machines with GPUs are in the 4-GPU sub-array"
            notes.append(f"large_machines is {self.large_machines}, so {effect}, which is as with none")
        return notes

    def decide(self, view: ClusterView) -> Plan:
        """Do the steps of searches that are due, start jobs that have room, and throttle."""
        if not hasattr(self, "_gpus"):
            self._begin(view)
        self._arrays.history.advance(view.now_ns)
        self._look(view)
        plan = view.plan()
        self._tune(view, plan)
        self._start_gpu_jobs(view, plan)
        self._start_cpu_jobs(view, plan)
        self._throttle(view, plan)
        next_step = self._searches.next_time()
        if next_step is not None:
            plan.wake_at(next_step)
        return plan.done()

    def _begin(self, view: ClusterView) -> None:
        """Set up the parts that need the cluster."""
        cluster = view.cluster
        review_ns = seconds_to_ns(self.review_s)
        self._arrays = Arrays(cluster, self.large_machines, self.reserve_per_gpu, review_ns, self.arrays)
        self._cpus = CpuArray(cluster, view.free(), self._arrays.reserve)
        chooser = aligned(chooser_of(self.placement, self.seed, self.split), self.align)
        self._places = GpuPlaces(cluster, chooser, self._allocator)
        self._gpus = GpuArray(cluster, self._places, self._arrays, self._cpus)
        self._searches = CpuSearches(self._gpus, seconds_to_ns(self.step_s))
        self._arrays.series = self._searches.series = self.series
        self._aborted: dict[int, CpuHeld] = {}  # in this call

    # --- events

    def _look(self, view: ClusterView) -> None:
        """Track arrivals, finishes, evictions and machines."""
        arrived: list[int] = []
        machines = False
        for event in view.news:
            if isinstance(event, Arrival):
                arrived.append(event.job)
            elif isinstance(event, Finish):
                self._end(event.job, finished=True)
            elif isinstance(event, Stop):
                self._end(event.job, finished=False)
            elif isinstance(event, MachineEvent):
                machines = True
        if machines:
            self._cpus.recount(view.free())
            self._gpus.recount()
        if self._arrays.review(view.now_ns):
            self._cpus.reserved(self._arrays.reserve)
            machines = True
        if machines:
            self._make_room(None)
        if arrived:
            self._wait(view, arrived)

    def _wait(self, view: ClusterView, jobs: list[int]) -> None:
        """Queue jobs that arrived."""
        columns = view.columns(jobs)
        users = columns.user.tolist()
        models: list[str] | None = None
        for place, (job, user) in enumerate(zip(jobs, users, strict=True)):
            demand = view.demand(job)
            if not demand.gpus:
                self._cpu_queue.push(job, user, demand)
                continue
            models = models or columns.model.tolist()
            self._infos[job] = GpuJob(job, user, models[place], demand.gpus, demand.cpus)
            self._gpu_queue.push(job, user, demand)

    def _end(self, job: int, *, finished: bool) -> None:
        """Track a job that finished, or was evicted and waits again before later ones of its user."""
        held = self._cpus.jobs.get(job)
        if held is not None:
            gives = not held.borrows or held.demand.memory_bytes > 0  # GPU jobs have a borrower's CPUs anyway
            self._cpus.end(job)
            self._holds_cpus.give(held.user, 0, held.cpus)
            self._make_room(held.allocation.machines if gives else ())
            if not finished:
                self._cpu_queue.push(job, held.user, held.demand)
            return
        gone = self._gpus.end(job)
        info, allocation = gone.wish.info, gone.allocation
        self._holds_gpus.give(info.user, allocation.gpus, 0)
        self._make_room(allocation.machines)
        if finished:
            best = gone.cpus if gone.search is None else gone.search.best
            self._allocator.finished(info, best, len(allocation.slices))
            del self._infos[job]
        else:
            self._gpu_queue.push(job, info.user, gone.wish.demand)

    def _make_room(self, machines: Iterable[int] | None) -> None:
        """Consider refused jobs again because machines have more room; None: anything may have changed.

        Includes GPU jobs only if the room on these machines may be of use to one.
        """
        self._cpu_queue.look_again()
        if machines is None or any(map(self._gpus.may_use, machines)):
            self._gpu_queue.look_again()
            self._refused.clear()

    # --- decisions

    def _tune(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Do the steps of searches that are due."""
        for job, held in self._searches.step(view):
            plan.place(job, held.allocation)
            self._abort(plan, held.allocation)
        if self._gpus.released:
            self._make_room(self._gpus.released)
            self._gpus.released = []

    def _start_gpu_jobs(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Start GPU jobs, those of the user that holds least first, as far as there is room."""
        while (first := self._gpu_queue.next()) is not None:
            if self._start_gpu_job(view, plan, first):
                self._gpu_queue.take(first.user)
                self._holds_gpus.hold(first.user, self._gpus.jobs[first.job].allocation.gpus, 0)
            else:
                self._gpu_queue.pass_over(first.user)

    def _start_gpu_job(self, view: ClusterView, plan: PlanBuilder, first: First) -> bool:
        """Start a job if there is a place, move others for it, and abort borrowers that are in the way."""
        wish = self._places.wish(self._infos[first.job], first.demand)
        if (wish.demand, wish.cpus) in self._refused:
            return False
        changed = self._gpus.start(first.job, wish, large=wish.demand.gpus >= self.large_gpus)
        if not changed:
            self._refused.add((wish.demand, wish.cpus))
        elif len(changed) > 1:
            self._make_room(None)  # jobs that moved may leave more than the job needs
        for job in changed:
            plan.place(job, self._gpus.jobs[job].allocation)
            self._abort(plan, self._gpus.jobs[job].allocation)
            self._searches.begin(job, view.now_ns)
        if changed:
            self._cpu_queue.look_again()  # where no GPU is left, CPUs are lent
        return bool(changed)

    def _abort(self, plan: PlanBuilder, allocation: Allocation) -> None:
        """Stop the borrowers whose CPUs a GPU job needs."""
        for job, held in self._cpus.abort(allocation.machines):
            plan.stop(job)
            self._aborted[job] = held
            self._holds_cpus.give(held.user, 0, held.cpus)
            if held.demand.memory_bytes:
                self._make_room(held.allocation.machines)

    def _start_cpu_jobs(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Start CPU-only jobs, those of the user that holds least first, in their array or as borrowers."""
        self._cpus.stop_borrowing()
        if self._aborted:
            for job, held in self._aborted.items():
                self._cpu_queue.push(job, held.user, held.demand)
            self._aborted.clear()
            self._cpu_queue.look_again()
            plan.wake_at(view.now_ns)  # in this plan, a start on another machine would be a migration
            return
        if self._cpu_queue.next() is None:
            return
        room = self._cpus.room(gpu_jobs_wait=len(self._gpu_queue) > 0)
        while (first := self._cpu_queue.next()) is not None:
            allocation, borrows = room.find(first.demand, borrow=False), False
            if allocation is None:
                allocation, borrows = room.find(first.demand, borrow=True), True
            if allocation is None:
                self._cpu_queue.pass_over_alike(first.demand)
                continue
            self._cpu_queue.take(first.user)
            room.take(allocation, borrows=borrows)
            self._cpus.start(first.job, first.user, first.demand, allocation, borrows=borrows)
            self._holds_cpus.hold(first.user, 0, first.demand.cpus)
            plan.place(first.job, allocation)

    def _throttle(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Throttle CPU-only jobs; track those whose CPUs or cap this changes."""
        self._eliminator.throttle(view, plan)
        for job, after in plan.changes.items():
            held = self._cpus.jobs.get(job)
            if held is not None and after is not None and after is not held.allocation:
                fewer = self._cpus.change(job, after)
                if fewer:
                    self._holds_cpus.give(held.user, 0, fewer)
                    self._make_room(after.machines)
