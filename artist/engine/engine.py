"""The event loop: applies what happens, asks the policy once an instant, carries out its plan.

Order of one instant: finishes, capacity events, arrivals, timer, tick - all applied first; then one
call of the policy; then its plan, checked as a whole; then new iteration times. What this causes at
the same instant leads to another round.
"""

import heapq
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Literal

from artist.core.cluster import TIERS, Allocation, CapacityEvent, Cluster, tier_of
from artist.core.events import (
    Arrival,
    Change,
    Event,
    Finish,
    Gauges,
    MachineEvent,
    Observer,
    Reprice,
    Start,
    StartKind,
    Stop,
    Wake,
)
from artist.core.job import JobSpec
from artist.core.plan import Plan
from artist.core.result import RunResult
from artist.core.view import Policy, Signal
from artist.engine.admission import check_jobs
from artist.engine.belief import Belief
from artist.engine.check import PlanCheck
from artist.engine.columns import Known
from artist.engine.jobs import JobTable
from artist.engine.machines import MachineTable
from artist.engine.overheads import Overheads, classify, same_machines
from artist.engine.running import RunningJobs
from artist.engine.stop import Stop as StopRule
from artist.engine.story import stuck_error
from artist.engine.view import State, View
from artist.errors import PlanError
from artist.performance.api import Changed, Performance
from artist.performance.estimates import Estimates, Exact
from artist.units import seconds_to_ns

_FINISH, _CAPACITY, _ARRIVAL, _TIMER = range(4)  # order of events at one instant; a tick comes last
_NEVER = 2**62  # later than any time of a run
_STORY_EVENTS = 1000  # how many recent events are kept to tell a stuck job's story


class Engine:
    """One simulation run.

    Parameters
    ----------
    jobs
        In any order; they are numbered by submit time, then by position.
    cluster
        All machines that exist during the run.
    policy, performance
        The scheduler, and what its placements are worth.
    overheads, estimates, stop
        Costs of changes, the policy's beliefs, and when to end.
    capacity_events
        Machines that fail, join and leave.
    signals
        Named series that the policy may follow.
    observers
        See every instant; change nothing.

    Raises
    ------
    InputError
        If a job can never fit the cluster.
    """

    def __init__(
        self,
        jobs: Sequence[JobSpec],
        cluster: Cluster,
        policy: Policy,
        performance: Performance,
        *,
        overheads: Overheads | None = None,
        estimates: Estimates | None = None,
        stop: StopRule | None = None,
        capacity_events: Sequence[CapacityEvent] = (),
        signals: Mapping[str, Signal] | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        check_jobs(jobs, cluster)
        specs = sorted(jobs, key=lambda spec: spec.submit_ns)
        self.jobs = JobTable(specs)
        self.machines = MachineTable(cluster)
        self.held: list[Allocation | None] = [None] * len(specs)
        self.running = RunningJobs(self.jobs, self.machines, self.held)
        self._last_held: dict[int, Allocation] = {}  # of stopped jobs, to tell a resume from a restart
        self._policy = policy
        self._performance = performance
        self._overheads = overheads or Overheads()
        self._stop = stop or StopRule()
        self._observers = observers
        self._rates = any(getattr(observer, "rates", False) for observer in observers)
        self._check = PlanCheck(self.jobs, self.machines, self.held)
        factors = (estimates or Exact()).factors(specs)
        self._state = State(
            self.jobs,
            self.machines,
            self.held,
            Known(policy, self.jobs, performance, factors),
            Belief(specs, cluster, performance, factors),
            signals or {},
        )
        self._on_events: bool = getattr(policy, "on_events", True)
        interval_s: float | None = getattr(policy, "interval_s", None)
        self._interval = None if interval_s is None else seconds_to_ns(interval_s)

        self.now = 0
        self._last_tick = -1
        self._heap: list[tuple[int, int, int, int, int]] = []  # time, kind, sequence, subject, epoch
        self._sequence = 0
        self._wake_epoch = 0
        self._capacity = sorted(capacity_events, key=lambda event: event.time_ns)
        self._leave_epoch = [0] * len(cluster)
        for index, event in enumerate(self._capacity):
            self._push(event.time_ns, _CAPACITY, index, 0)
        self._arrived = 0
        window = self._stop.jobs
        self._window = range(window[0], min(window[1], len(specs))) if window else range(0)
        self._window_left = len(self._window) if window else -1

        self._events: list[Event] = []  # of this instant
        self._news: list[Event] = []  # what did not come from the policy, since its last call
        self._story: deque[Event] = deque(maxlen=_STORY_EVENTS)
        self._n_events = 0
        self._changed: dict[int, Changed] = {}  # since the last repricing
        self._placements = [0, 0, 0]
        self._fruitless = 0  # calls in a row that changed nothing
        self._idle = False  # jobs wait, nothing runs, nothing is due

    # --- the loop

    def run(self) -> RunResult:
        """Run to the end and return the accounts.

        Raises
        ------
        PlanError
            If the policy plans what cannot be carried out.
        StuckError
            If jobs wait for ever.
        """
        limit = self._stop.time_ns
        stopped_by: Literal["finished", "window", "time"] = "finished"
        while self._arrived < self.jobs.n or self.jobs.n_unfinished:
            if not self._window_left:
                stopped_by = "window"
                break
            now = self._next_time()
            if limit is not None and now > limit:
                stopped_by = "time"
                now = limit
            self.now = self.running.now = now
            self.machines.integrate(now)
            if stopped_by == "time":
                break
            self._instant(now)
        return self._result(stopped_by)

    def _next_time(self) -> int:
        """Return when something happens next."""
        self._drop_stale()
        jobs = self.jobs
        due = self._heap[0][0] if self._heap else _NEVER
        if self._arrived < jobs.n and jobs.submit[self._arrived] < due:
            due = jobs.submit[self._arrived]
        self._idle = due == _NEVER and not jobs.n_running
        if self._idle and self._fruitless >= 2:
            raise stuck_error(jobs, jobs.unfinished().tolist(), self._story, self.now)
        if self._interval is not None and jobs.n_unfinished:
            tick = -(-self.now // self._interval) * self._interval
            due = min(due, tick if tick > self._last_tick else tick + self._interval)
        return self.now if due == _NEVER else due  # idle: ask the policy once more

    def _drop_stale(self) -> None:
        """Drop events from the head of the heap that no longer hold."""
        heap = self._heap
        while heap:
            _, kind, _, subject, epoch = heap[0]
            if (kind == _FINISH and self.jobs.epoch[subject] != epoch) or (
                kind == _TIMER and self._wake_epoch != epoch
            ):
                heapq.heappop(heap)
            else:
                return

    def _instant(self, now: int) -> None:
        again = self._idle  # perhaps stuck: ask even without news
        while True:
            self._apply_due(now)
            tick = self._interval is not None and now % self._interval == 0 and now != self._last_tick
            if tick:
                self._last_tick = now
            if self.jobs.n_unfinished and (tick or (self._on_events and (self._news or again))):
                self._decide(now)
                again = False
            if self._changed:
                self._reprice(now)
            if not self._is_due(now):
                break
        self._tell(now)

    def _is_due(self, now: int) -> bool:
        self._drop_stale()
        if self._heap and self._heap[0][0] <= now:
            return True
        return self._arrived < self.jobs.n and self.jobs.submit[self._arrived] <= now

    def _push(self, time: int, kind: int, subject: int, epoch: int) -> None:
        self._sequence += 1
        heapq.heappush(self._heap, (time, kind, self._sequence, subject, epoch))

    def _note(self, event: Event) -> None:
        self._events.append(event)
        self._story.append(event)

    def _announce(self, event: Event) -> None:
        """Note an event that the policy did not cause, so that it hears of it."""
        self._note(event)
        self._news.append(event)
        self._fruitless = 0

    def _tell(self, now: int) -> None:
        if not self._events:
            return
        self._n_events += len(self._events)
        jobs, machines = self.jobs, self.machines
        waiting = jobs.n_unfinished - jobs.n_running
        gauges = Gauges(machines.busy_gpus, machines.capacity_gpus, waiting, jobs.n_running)
        for observer in self._observers:
            observer.observe(now, self._events, gauges)
        self._events = []

    # --- what happens

    def _apply_due(self, now: int) -> None:
        heap, jobs = self._heap, self.jobs
        arrivals_due = True
        while heap and heap[0][0] <= now:
            if arrivals_due and heap[0][1] > _ARRIVAL:
                self._arrive(now)
                arrivals_due = False
            _, kind, _, subject, epoch = heapq.heappop(heap)
            if kind == _FINISH:
                if jobs.epoch[subject] == epoch:
                    self._finish(subject, now)
            elif kind == _CAPACITY:
                self._change_capacity(subject, epoch, now)
            elif epoch == self._wake_epoch:
                self._wake_epoch += 1
                self._announce(Wake(now))
        if arrivals_due:
            self._arrive(now)

    def _arrive(self, now: int) -> None:
        jobs = self.jobs
        while self._arrived < jobs.n and jobs.submit[self._arrived] <= now:
            job = self._arrived
            self._arrived += 1
            jobs.arrive(job, now)
            self._announce(Arrival(now, job))

    def _finish(self, job: int, now: int) -> None:
        jobs = self.jobs
        jobs.settle(job, now)
        assert jobs.done[job] == jobs.iterations[job], f"job number {job} finished too early"
        self._give_back(job)
        jobs.end(job, now)
        self._last_held.pop(job, None)
        if job in self._window:
            self._window_left -= 1
        self._announce(Finish(now, job))

    def _change_capacity(self, subject: int, epoch: int, now: int) -> None:
        """Apply a capacity event, or (subject < 0) the deadline of a leaving machine."""
        machines = self.machines
        if subject < 0:
            machine = ~subject
            if epoch == self._leave_epoch[machine]:
                self._evict(machine, now, failed=False)
                machines.set_present(machine, False)
                self._announce(MachineEvent(now, machine, "left"))
            return
        event = self._capacity[subject]
        machine = event.machine
        self._leave_epoch[machine] += 1  # a deadline under way no longer holds
        self._announce(MachineEvent(now, machine, event.kind, machines.pools[machine]))
        if event.kind == "join":
            machines.set_present(machine, True)
        elif event.kind == "fail":
            self._evict(machine, now, failed=True)
            machines.set_present(machine, False)
        elif machines.present[machine]:
            machines.set_accepts(machine, False)
            self._push(max(event.deadline_ns, now), _CAPACITY, ~machine, self._leave_epoch[machine])

    def _evict(self, machine: int, now: int, *, failed: bool) -> None:
        for job in tuple(self.machines.jobs_on[machine]):
            self.jobs.settle(job, now)
            allocation = self._give_back(job)
            self._stop_job(job, allocation, now, keep=self._overheads.keeps_open_iteration and not failed)
            self.jobs.evictions[job] += 1
            self._announce(Stop(now, job, "evicted"))

    # --- the policy and its plan

    def _decide(self, now: int) -> None:
        news, self._news = self._news, []
        plan = self._policy.decide(View(now, news, self._state))
        if not isinstance(plan, Plan):
            raise PlanError(
                f"policy {self._state.known.policy} returned {plan!r}; allowed: view.plan()...done()"
            )
        self._check.check(plan, now)
        changed = bool(plan.changes or plan.assigns) and self._carry_out(plan, now)
        self._fruitless = 0 if changed else self._fruitless + 1
        if plan.wake_ns is not None:
            self._wake_epoch += 1
            self._push(plan.wake_ns, _TIMER, 0, self._wake_epoch)

    def _carry_out(self, plan: Plan, now: int) -> bool:
        """Carry out the difference between a checked plan and now; tell whether there was one."""
        held = self.held
        todo = [(job, held[job], after) for job, after in plan.changes.items() if held[job] != after]
        for job, before, _ in todo:
            if before is not None:
                self.jobs.settle(job, now)
                self._give_back(job)
        for job, before, after in todo:
            if after is None and before is not None:
                self._stop_job(job, before, now, keep=self._overheads.keeps_open_iteration)
                self.jobs.preemptions[job] += 1
                self._note(Stop(now, job, "preempted"))
        for machine, pool in plan.assigns.items():
            self.machines.pools[machine] = pool
            self._note(MachineEvent(now, machine, "assign", pool))
        for job, before, after in todo:
            if after is not None:
                self._hold(job, before, after, now)
        return bool(todo or plan.assigns)

    def _hold(self, job: int, before: Allocation | None, after: Allocation, now: int) -> None:
        """Let a job start on an allocation, or change to it."""
        jobs = self.jobs
        self.machines.take(job, after)
        self.held[job] = after
        self._mark_changed(job, before, after)
        event = self._start(job, after, now) if before is None else self._change(job, before, after, now)
        tier = tier_of(after, self.machines.cluster)
        if event.how != "retune":
            self._placements[tier] += 1
        jobs.hold(job, after.gpus, tier, now, event.delay_ns)
        self._note(event)

    def _start(self, job: int, after: Allocation, now: int) -> Start:
        back = same_machines(self._last_held.pop(job, None), after)
        how: StartKind = "start" if not self.jobs.starts[job] else "resume" if back else "restart"
        return Start(now, job, after, how, self._overheads.delay_ns(how, self.jobs.specs[job]))

    def _change(self, job: int, before: Allocation, after: Allocation, now: int) -> Change:
        jobs = self.jobs
        how = classify(before, after)
        if how == "move":
            jobs.migrations[job] += 1
            if not self._overheads.keeps_open_iteration:
                jobs.cut(job, 1)
        elif how == "resize":
            jobs.resizes[job] += 1
        return Change(now, job, after, how, self._overheads.delay_ns(how, jobs.specs[job]))

    def _give_back(self, job: int) -> Allocation:
        """Take a settled job's allocation away."""
        allocation = self.held[job]
        assert allocation is not None
        self.machines.give_back(job, allocation)
        self.held[job] = None
        self._mark_changed(job, allocation, None)
        return allocation

    def _stop_job(self, job: int, before: Allocation, now: int, *, keep: bool) -> None:
        """Let a job that has just lost its allocation wait, and lose what a stop loses."""
        if not keep:
            spec = self.jobs.specs[job]
            self.jobs.cut(job, self._overheads.checkpoint_iterations(spec))
        self.jobs.release(job, now)
        self._last_held[job] = before

    def _mark_changed(self, job: int, before: Allocation | None, after: Allocation | None) -> None:
        earlier = self._changed.get(job)
        self._changed[job] = Changed(job, before if earlier is None else earlier.before, after)

    def _reprice(self, now: int) -> None:
        """Ask for the iteration times that changed, and arm the finishes anew."""
        jobs = self.jobs
        changed, self._changed = self._changed, {}
        parts = self._performance.reprice(tuple(changed.values()), self.running)
        for job, new in parts.items():
            if job not in changed and jobs.parts[job] == new:
                continue
            jobs.settle(job, now)
            self._push(jobs.set_rate(job, new), _FINISH, job, jobs.epoch[job])
            if self._rates:
                self._note(Reprice(now, job, jobs.iteration[job]))
        for job, change in changed.items():
            if change.after is not None and job not in parts:
                raise RuntimeError(f"performance gave no price for job number {job}")

    # --- the end

    def _result(self, stopped_by: Literal["finished", "window", "time"]) -> RunResult:
        columns = self.jobs.result_columns(self.now)
        machines = self.machines
        return RunResult(
            jobs=self.jobs.specs,
            cluster=machines.cluster,
            columns=columns,
            stopped_by=stopped_by,
            end_ns=self.now,
            busy_gpu_ns=machines.busy_gpu_ns,
            capacity_gpu_ns=machines.capacity_gpu_ns,
            group_gpu_ns=machines.group_gpu_ns,
            compute_gpu_ns=self.jobs.compute_gpu_ns,
            placements=dict(zip(TIERS, self._placements, strict=True)),
            events=self._n_events,
        )
