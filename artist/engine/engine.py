"""The event loop: applies events, calls the policy once per instant, carries out its plan.

Order of one instant: finishes, deadlines, capacity events, arrivals, timer, tick - all applied first; then
one call of the policy; then its plan, checked as a whole; then new iteration times. Entries that this adds
at the same instant lead to another round. Jobs that ran on the site of a trace when its first job arrived
have the first round to themselves, so that they are placed before all others.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from heapq import merge
from itertools import chain
from operator import index

from artist.core.cluster import TIERS, CapacityEvent, Cluster
from artist.core.compact_jobs import CompactJobs, of_templates, ran_at_first
from artist.core.events import Arrival, Event, Finish, Gauges, Observer, Pending, Reprice, Wake
from artist.core.iteration import IterationParts
from artist.core.job import JobSpec
from artist.core.plan import Plan
from artist.core.result import RunResult, StoppedBy
from artist.core.view import Policy, Signal
from artist.engine.admission import MAX_NS, check_jobs
from artist.engine.agenda import ARRIVAL, DEADLINE, FINISH, TIMER, Agenda
from artist.engine.bandwidth import BandwidthMeter
from artist.engine.belief import Belief
from artist.engine.best_cases import BestCases
from artist.engine.capacity import Capacity
from artist.engine.check import PlanCheck
from artist.engine.columns import Known
from artist.engine.consolidated import Consolidated
from artist.engine.jobs import RUNNING, JobTable
from artist.engine.machines import MachineTable
from artist.engine.overheads import Overheads
from artist.engine.profiled import Profiled
from artist.engine.running import RunningJobs
from artist.engine.stopping import StopRule
from artist.engine.story import stuck_story
from artist.engine.transitions import Transitions
from artist.engine.view import State, View
from artist.engine.wakes import Futile, Wakes
from artist.errors import InputError, PlanError, StuckError
from artist.performance.api import AsMeasured, Changed, Performance
from artist.performance.estimates import Estimates, Exact
from artist.units import NS_PER_S, ns_to_seconds, seconds_to_ns

_STORY_INSTANTS = 1000  # the last ones, whose events are kept for the story of a stuck job
_WIDE_NS = MAX_NS // 4  # GPU time of a job from which its account may pass 64 bits
_YEAR_NS = 31_557_600 * NS_PER_S  # for which a job may keep a rate at which it would never end
_MAX_ROUNDS = 10_000  # of one instant; beyond that a policy wakes itself forever


class Engine:
    """One simulation run.

    Parameters
    ----------
    jobs
        In any order; they are numbered by submit time, then by position.
    cluster
        All machines that exist during the run.
    policy, performance
        The scheduler, and the performance of its placements.
    overheads, estimates, stop
        Costs of changes, the policy's beliefs, and when to end.
    capacity_events
        Machines that fail, join and leave.
    failures
        Further capacity events, in order of time, possibly without end.
    signals
        Named series that the policy may follow.
    enforce_limits
        Whether a job ends at its time limit, done or not: at its last start, delays included, + `limit_ns`.
    observers
        See every instant; change nothing.

    Raises
    ------
    InputError
        If a job can never fit the cluster, or the policy would never be called.
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
        failures: Iterable[CapacityEvent] = (),
        signals: Mapping[str, Signal] | None = None,
        enforce_limits: bool = False,
        observers: Sequence[Observer] = (),
    ) -> None:
        overheads = overheads or Overheads()
        check_jobs(jobs, cluster, capacity_events)
        specs = jobs if isinstance(jobs, CompactJobs) else sorted(jobs, key=lambda spec: spec.submit_ns)
        self._specs = specs
        worth = cluster.default_machine.worth if cluster.uniform and cluster.default_machine else None
        every = overheads.checkpoints(specs)
        self.jobs = JobTable(specs, every, worth)
        self.machines = MachineTable(cluster)
        self.running = RunningJobs(self.jobs, self.machines)
        self._agenda = Agenda(self.jobs.submit_ns, ran_at_first(specs))
        self._events: list[Event] = []  # of this instant
        estimates = estimates or Exact()
        factors, believed = estimates.factors(specs), estimates.performance(performance)
        delays_ns = estimates.first_delays_ns(specs, believed, cluster).tolist()
        only_groups = bool(getattr(performance, "only_groups", False))
        note = self._events.append
        shrunk = getattr(policy, "shrunk", None)
        moves = (overheads, note, delays_ns, only_groups, shrunk)
        self._transitions = Transitions(self.jobs, self.machines, *moves)
        events = merge(_in_order(capacity_events, cluster), failures, key=lambda event: event.time_ns)
        self._capacity = Capacity(events, self.machines, self._transitions, self._agenda)
        self._policy = policy
        self._performance = performance
        self._on_events, self._interval = _when_called(policy)
        self._only_waiting = bool(getattr(policy, "only_while_jobs_wait", False))
        self._concerns = getattr(policy, "concerns", None)
        self._check = PlanCheck(self.jobs, self.machines)
        consolidated = Consolidated(cluster)
        profiled = Profiled(specs, cluster, believed, consolidated)
        belief = Belief(specs, self.jobs.held, self.running, believed, factors, consolidated)
        best_cases = BestCases(specs, cluster, belief, consolidated)
        share = believed.as_measured(specs, cluster) if isinstance(believed, AsMeasured) else None
        known = Known(policy, specs, believed, factors, profiled, best_cases, share)
        meter = BandwidthMeter(self.machines, performance, self.running)
        self._state = State(self.jobs, self.machines, known, belief, meter, signals or {})
        self._time_limit, self._window = _limits(stop or StopRule(), len(specs))
        self._window_left = len(self._window) if self._window else -1
        self._observers = observers
        self._rates = any(getattr(observer, "rates", False) for observer in observers)
        self._news: list[Event] = []  # events not caused by the policy, since its last call
        self._heard = False  # some of them call it
        self._story: deque[Sequence[Event]] = deque(maxlen=_STORY_INSTANTS)
        self._endless: dict[int, IterationParts] = {}  # of jobs too slow for the accounts, at their rate now
        limits = of_templates(specs, lambda spec: spec.limit_ns or 0) if enforce_limits else None
        self._limits_ns = limits.tolist() if limits is not None and limits.any() else None
        self._timeouts: dict[int, None] = {}  # jobs that reach their limit before they are done
        self._cancelled: list[int] = []
        self._n_events = 0
        self._last_tick = -1
        self._awaited_gpus = 0  # for which arrivals and finishes wait, by the last plan
        self._fruitless = 0  # consecutive calls that changed nothing, since the last news
        self._idle = False  # jobs wait, nothing runs, nothing is due
        self._write_ns = overheads.writes_ns(specs, every)
        self._wakes, self._futile = Wakes(known.policy), Futile(known.policy)
        self.now = 0

    # --- the loop

    def run(self) -> RunResult:
        """Run to the end and return the accounts.

        Raises
        ------
        PlanError
            If the plan cannot be carried out.
        StuckError
            If jobs wait forever, or are stopped and moved forever without progress.
        """
        stopped_by: StoppedBy = "finished"
        due = self._agenda.next_time()  # whatever the policy's interval
        while self.jobs.n_arrived < self.jobs.n or self.jobs.n_unfinished:
            if not self._window_left:
                stopped_by = "window"
                break
            now = self._next_time(due)
            if self._time_limit is not None and now > self._time_limit:
                stopped_by = "time"
                now = self._time_limit
            self.now = now
            self.machines.integrate(now)
            if stopped_by == "time":
                break
            due = self._instant(now)
        return self._result(stopped_by)

    def _next_time(self, due: int | None) -> int:
        """Return the time of the next instant."""
        self._idle = due is None and not self.jobs.n_running
        if self._idle and self._fruitless >= 2:
            story = stuck_story(self.jobs, self.jobs.unfinished().tolist(), chain(*self._story), self.now)
            raise StuckError(story, self._result("stuck"))
        if self._interval is not None and self.jobs.n_unfinished:
            tick = -(-self.now // self._interval) * self._interval
            tick = tick if tick > self._last_tick else tick + self._interval
            return tick if due is None else min(due, tick)
        return self.now if due is None else due  # nothing is due: ask the policy once more

    def _instant(self, now: int) -> int | None:
        """Process the present instant, and return the time of the next entry."""
        for _ in range(_MAX_ROUNDS):
            woken = self._apply_due(now)
            tick = self._interval is not None and now % self._interval == 0 and now != self._last_tick
            if tick:
                self._last_tick = now
            heard = self._heard and self.machines.open_gpus >= self._awaited_gpus
            asked = self._on_events and (heard or self._idle)
            if self._only_waiting and self.jobs.n_unfinished == self.jobs.n_running:
                asked = False  # the news wait, too
            wanted = woken and self.jobs.n_arrived < self.jobs.n  # also while no job is there
            if wanted or (self.jobs.n_unfinished and (tick or woken or asked)):
                self._decide(now)
                self._idle = False
            if self._transitions.changed:
                self._reprice(now)
            if self._capacity.draining:
                self._capacity.watch(now)
            due = self._agenda.next_time()
            if due != now:
                self._notify(now)
                return due
        name = self._state.known.policy
        raise PlanError(
            f"policy {name} wakes itself forever at {ns_to_seconds(now)} s; wake_at must lie ahead"
        )

    def _apply_due(self, now: int) -> bool:
        """Apply all that is due now; return whether the policy's timer is."""
        woken, restarted, events, before = False, False, self._events, len(self._events)
        for entry, subject in self._agenda.due(now):
            restarted |= entry in (ARRIVAL, FINISH)
            if entry == ARRIVAL:
                self.jobs.arrive(subject, now)
                events.append(Arrival(now, subject))
                continue
            if entry == FINISH:
                events.append(self._finish(subject, now))
                continue
            self._awaited_gpus = 0
            if entry == TIMER:
                woken = True
                if self._wakes.many(now, self._n_events) and not self._news and len(events) == before:
                    self._wakes.check(now, self._agenda.next_time())
                events.append(Wake(now))
            else:
                capacity = self._capacity
                events += (capacity.deadline if entry == DEADLINE else capacity.apply)(subject, now)
                if self.jobs.n_unfinished and self._futile.many(machine=True):
                    self._check_futile(now)
        if len(events) > before:
            news = events[before:]
            self._news += news  # the policy did not cause them, so it hears of them
            self._heard = self._heard or self._concerns is None or self._concerns(news)
            self._fruitless = 0
        if restarted:
            self._futile.restart()
        return woken

    def _check_futile(self, now: int) -> None:
        if story := self._futile.story(now, self.jobs.progress_ns(now)):
            raise StuckError(story, self._result("stuck"))

    def _finish(self, job: int, now: int) -> Finish:
        """Finish a job, unless it would never end at its rate."""
        timed_out = job in self._timeouts
        if job in self._endless and not timed_out:
            raise _endless(self.jobs.specs[job], self._endless[job])
        self._window_left -= job in self._window
        return self._transitions.finish(job, now, timed_out=timed_out)

    # --- the policy and the prices

    def _decide(self, now: int) -> None:
        """Ask the policy, check its plan and carry it out."""
        news, self._news, self._heard = self._news, [], False
        view = View(now, news, self._state)
        plan = self._policy.decide(view)
        view.close()
        if not isinstance(plan, Plan):
            name = self._state.known.policy
            raise PlanError(f"policy {name} returned {plan!r}; allowed: view.plan()...done()")
        self._check.check(plan, now)
        changed = bool(plan.changes or plan.assigns or plan.shifts) and self._transitions.carry_out(plan, now)
        self._events += [Pending(now, job, reason) for job, reason in plan.reasons.items()]
        if plan.cancels:
            self._cancelled += plan.cancels
            self._news += [Finish(now, job, cancelled=True) for job in plan.cancels]
            self._window_left -= sum(job in self._window for job in plan.cancels)
        self._fruitless = 0 if changed else self._fruitless + 1
        if changed and self._futile.many():
            self._check_futile(now)
        self._awaited_gpus = plan.awaited_gpus
        if plan.wake_ns is not None:
            self._agenda.schedule(plan.wake_ns, TIMER)

    def _reprice(self, now: int) -> None:
        """Ask for the iteration times that changed, and reschedule the finishes."""
        jobs = self.jobs
        held, before = jobs.held, self._transitions.changed
        self._transitions.changed = {}
        changed = [Changed(job, was, held[job]) for job, was in before.items()]
        prices = self._performance.reprice(changed, self.running)
        for job, _, after in changed:
            if after is None:
                self._agenda.cancel(FINISH, job)
            elif job not in prices:
                raise RuntimeError(f"performance gave no price for job {jobs.specs[job].job_id!r}")
        slow, write_ns = self.machines.slow, self._write_ns
        if slow or write_ns:
            prices = {job: self._burdened(job, parts) for job, parts in prices.items()}
        for job, parts in prices.items():
            if job not in before and jobs.parts[job] == parts:
                continue
            total_ns = sum(parts)
            if jobs.status[job] != RUNNING or min(parts) < 0 or total_ns < 1:
                raise RuntimeError(
                    f"performance gave a wrong price for job {jobs.specs[job].job_id!r}: {parts}"
                )
            if type(total_ns) is not int:  # numpy's would overflow in the accounts
                parts = IterationParts(*map(index, parts))
                total_ns = sum(parts)
            if total_ns > MAX_NS:
                raise _endless(jobs.specs[job], parts)
            if job not in before:  # else it was settled when it changed
                jobs.settle(job, now)
            finish = self._bounded(jobs.set_rate(job, parts, total_ns), job, parts, now)
            self._agenda.schedule(finish, FINISH, job)
            if self._rates:
                self._events.append(Reprice(now, job, parts))
                self._n_events -= 1  # only for observers that ask: not counted

    def _burdened(self, job: int, parts: IterationParts) -> IterationParts:
        """Return the parts of an iteration with those of the slowest machine held and of checkpoints."""
        held, slow = self.jobs.held[job], self.machines.slow
        factor = max((slow.get(m, 1.0) for m in held.machines), default=1.0) if held else 1.0
        slowed_ns, write_ns = round(sum(parts) * (factor - 1)), self._write_ns
        return parts._replace(slowed_ns=slowed_ns, checkpoint_ns=write_ns[job] if write_ns else 0)

    def _bounded(self, finish: int, job: int, parts: IterationParts, now: int) -> int:
        """Return a job's finish, at its limit at the latest.

        If time cannot be counted up to it, it is the time up to which the job may go on.
        """
        self._endless.pop(job, None)
        if self._limits_ns is not None and (limit_ns := self._limits_ns[job]):
            self._timeouts.pop(job, None)
            if (end := self.jobs.held_since_ns[job] + limit_ns) < finish:
                self._timeouts[job] = None
                finish = end
        if finish * self.jobs.held_gpus[job] > _WIDE_NS:
            self.jobs.widen()
        if finish <= MAX_NS:
            return finish
        self._endless[job] = parts
        return min(MAX_NS, now + _YEAR_NS)

    # --- observers

    def _notify(self, now: int) -> None:
        if not self._events:
            return
        events = self._events.copy()  # for observers to keep
        self._events.clear()
        self._story.append(events)
        self._n_events += len(events)
        jobs, machines = self.jobs, self.machines
        waiting = jobs.n_unfinished - jobs.n_running
        gauges = Gauges(machines.busy_gpus, machines.capacity_gpus, waiting, jobs.n_running)
        for observer in self._observers:
            observer.observe(now, events, gauges)

    def _result(self, stopped_by: StoppedBy) -> RunResult:
        columns = self.jobs.result_columns(self.now)
        machines = self.machines
        return RunResult(
            jobs=self._specs,
            cluster=machines.cluster,
            columns=columns,
            stopped_by=stopped_by,
            end_ns=self.now,
            busy_gpu_ns=machines.busy_gpu_ns,
            capacity_gpu_ns=machines.capacity_gpu_ns,
            group_gpu_ns=machines.group_gpu_ns,
            compute_gpu_ns=self.jobs.compute_gpu_ns,
            placements=dict(zip(TIERS, self._transitions.placements, strict=True)),
            events=self._n_events,
            window=(self._window.start, self._window.stop) if self._window else None,
            cancelled=tuple(self._cancelled),
        )


def _in_order(events: Sequence[CapacityEvent], cluster: Cluster) -> list[CapacityEvent]:
    """Return capacity events by time, all of machines that exist."""
    for event in events:
        if not 0 <= event.machine < len(cluster) or event.time_ns < 0:
            allowed = f"a machine number 0..{len(cluster) - 1}, a time >= 0"
            raise InputError("a capacity event has no such machine", found=event, allowed=allowed)
    return sorted(events, key=lambda event: event.time_ns)


def _when_called(policy: Policy) -> tuple[bool, int | None]:
    """Return whether a policy is called on events, and its interval in ns."""
    on_events = bool(getattr(policy, "on_events", True))
    interval_s: object = getattr(policy, "interval_s", None)
    where = f"policy {type(policy).__name__}"
    if interval_s is None:
        if not on_events:
            raise InputError("it is never called", where=where, allowed="on_events = True, or an interval_s")
        return on_events, None
    if not isinstance(interval_s, int | float) or not 1e-8 <= interval_s < float("inf"):
        raise InputError(
            "no interval", where=f"{where}.interval_s", found=interval_s, allowed="seconds >= 0.001"
        )
    return on_events, seconds_to_ns(interval_s)


def _limits(stop: StopRule, n_jobs: int) -> tuple[int | None, range]:
    """Return the time limit and the window of jobs."""
    if stop.jobs is None:
        return stop.time_ns, range(0)
    first, last = stop.jobs
    if not 0 <= first < last <= n_jobs:
        raise InputError(
            "no such window of jobs",
            where="stop.jobs",
            found=stop.jobs,
            allowed=f"0 <= first < last <= {n_jobs}",
        )
    return stop.time_ns, range(first, last)


def _endless(spec: JobSpec, parts: IterationParts) -> InputError:
    """Return the error for a job whose iterations take longer than time can be counted."""
    part, longest = max(zip(parts._fields, parts, strict=True), key=lambda item: item[1])
    size = f"{part} of {longest / 1e9:.3g} s in each of {spec.iterations} iterations"
    allowed = f"{MAX_NS / 3.15576e16:.0f} years for all iterations together"
    return InputError("the job would never end", where=f"job {spec.job_id!r}", found=size, allowed=allowed)
