"""Whatever legal plans a policy makes, and whatever machines do, the accounts of the engine are exact.

A chaotic policy starts, stops, moves, resizes and retunes jobs, forms and leaves groups, moves machines
between pools and asks to be woken, all at random but legally, by a check of its own that shares no code
with the engine's. After a number of calls it calms down and runs jobs first come, first served, so that
the run ends. What the engine then says is compared with a replay of its typed events.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from artist.core.cluster import Allocation, CapacityEvent, Cluster, Group, Machine
from artist.core.events import Arrival, Change, Event, Finish, Gauges, MachineEvent, Reprice, Start, Stop
from artist.core.job import Demand, JobSpec
from artist.core.plan import Plan
from artist.core.result import TIER_COLUMNS, RunResult
from artist.core.view import ClusterView
from artist.engine.engine import Engine
from artist.engine.overheads import Overheads
from artist.errors import PlanError
from artist.recording.names import BLOCKING, RESOURCE_COLUMNS
from artist.recording.resources import Resources
from artist.testing.tiny import PlainPerformance, Recount, audit, on, tiny_cluster
from artist.units import seconds_to_ns
from tests.properties.chaos import (
    CPUS,
    GPUS,
    MEMORY,
    Chaos,
    Held,
    chaos_cluster,
    is_legal,
)

# --- random runs


@dataclass(frozen=True)
class Case:
    """All that a random run is made of."""

    jobs: list[JobSpec]
    capacity: list[CapacityEvent]
    overheads: dict[str, object]
    seed: int
    wild_calls: int
    interval_s: float | None

    def engine(self, observers: Sequence[object] = (), performance: object = None) -> Engine:
        return Engine(
            self.jobs,
            chaos_cluster(),
            Chaos(self.seed, self.wild_calls, self.interval_s),
            performance or PlainPerformance(slow=capped),
            overheads=Overheads(**self.overheads),
            capacity_events=self.capacity,
            observers=observers,
        )


def capped(spec: JobSpec, allocation: Allocation) -> float:
    """Let a cap and each further machine cost time, so that speeds change with every plan."""
    return (1 + 0.3 * (len(allocation.slices) - 1)) / allocation.bandwidth_cap


@st.composite
def demands(draw: st.DrawFn) -> Demand:
    kind = draw(st.sampled_from(("fixed", "fixed", "elastic", "elastic", "one machine", "cpu")))
    if kind == "cpu":
        return Demand(0, cpus=draw(st.integers(1, CPUS)), max_machines=1)
    if kind == "one machine":
        return Demand(draw(st.integers(1, GPUS)), max_machines=1)
    gpus = draw(st.integers(1, 4))
    if kind == "elastic":
        return Demand(gpus, min_gpus=1, max_gpus=draw(st.integers(gpus, 6)), step=1)
    return Demand(gpus)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    short = st.integers(6, 40)  # at least 1 ns an iteration on six times the GPUs
    busy = st.sampled_from((1.0, 1.0, 0.5, 0.1))
    specs = st.tuples(st.integers(0, 120), demands(), st.integers(1, 30), short, busy)
    jobs = [
        JobSpec(f"j{i}", at, demand, iterations=n, compute_ns=iteration, gpu_utilization=share)
        for i, (at, demand, n, iteration, share) in enumerate(draw(st.lists(specs, min_size=1, max_size=7)))
    ]
    capacity = []
    for m in draw(st.lists(st.integers(0, 2), max_size=2, unique=True)):
        at, later = draw(st.integers(0, 300)), draw(st.integers(1, 300))
        kind = draw(st.sampled_from(("fail", "leave")))
        capacity.append(CapacityEvent(at, kind, m, at + draw(st.integers(0, 200))))
        capacity.append(CapacityEvent(at + later, "join", m))
    delay = st.sampled_from((0.0, 0.0, 3e-9, 17e-9))
    names = ("start_s", "resume_s", "restart_s", "migrate_s", "resize_s", "retune_s")
    overheads: dict[str, object] = {name: draw(delay) for name in names}
    overheads["on_stop"] = draw(
        st.sampled_from(("lose_iteration", "keep", "lose_since_checkpoint", "lose_all"))
    )
    overheads["notice_s"] = draw(st.sampled_from((0.0, 0.0, 50e-9)))
    overheads["checkpoint_every_s"] = draw(st.sampled_from((60e-9, 300e-9)))
    interval_s = draw(st.sampled_from((None, None, 13e-9)))
    return Case(jobs, capacity, overheads, draw(st.integers(0, 2**32)), draw(st.integers(0, 40)), interval_s)


class Watch(Recount):
    """Recounts all resources at every instant and keeps all events, those of repricing too."""

    rates = True


def run(case: Case) -> tuple[RunResult, list[Event], Engine]:
    watch = Watch()
    engine = case.engine((watch,))
    watch.engine = engine
    return engine.run(), watch.log, engine


def runs(case: Case) -> Iterator[tuple[Case, RunResult, list[Event], Engine]]:
    """Run a case under four chaotic policies."""
    for seed in range(case.seed, case.seed + 4):
        variant = replace(case, seed=seed)
        yield variant, *run(variant)


@given(cases())
def test_a_chaotic_run_ends_and_its_accounts_are_exact(case: Case) -> None:
    """Every legal sequence of plans must leave free + taken = capacity and all work done, exactly."""
    for _, result, log, _ in runs(case):
        audit(result)
        assert result.stopped_by == "finished"
        assert (result.columns["finish_ns"] >= 0).all()
        assert [e.time_ns for e in log] == sorted(e.time_ns for e in log)


@given(cases())
def test_integrals_equal_a_replay_of_the_events(case: Case) -> None:
    """GPU-time, waiting, delays, times by tier and counts follow from the typed events alone, exactly."""
    for variant, result, log, _ in runs(case):
        replay = Replay(result.jobs, result.cluster, Overheads(**variant.overheads))
        for event in log:
            replay.take(event)
        end = result.end_ns
        replay.advance(end)
        assert replay.busy_gpu_ns == result.busy_gpu_ns
        assert replay.group_gpu_ns == result.group_gpu_ns
        assert result.capacity_gpu_ns == 3 * GPUS * end - GPUS * absent_ns(variant.capacity, end)
        # a group's GPUs count once however many members hold them; unshared GPUs count per job
        assert replay.alone_gpu_ns + result.group_gpu_ns == result.busy_gpu_ns
        for name, values in replay.columns.items():
            assert values == result.columns[name].tolist(), name


@given(cases())
def test_progress_equals_a_replay_one_iteration_at_a_time(case: Case) -> None:
    """The closed form of progress must finish each job at the nanosecond at which its last iteration ends."""
    for variant, result, log, _ in runs(case):
        for number in range(len(result.jobs)):
            follow(number, log, result.jobs[number], Overheads(**variant.overheads))


@given(cases())
def test_recorded_resources_equal_a_recount(case: Case) -> None:
    """Sums that jobs join and leave are what they are counted anew; in the end they are 0, exactly."""
    specs = sorted(case.jobs, key=lambda spec: spec.submit_ns)
    performance = PlainPerformance(slow=capped)
    for seed in range(case.seed, case.seed + 2):
        resources = Resources(specs, chaos_cluster(), performance.stages, lambda *_: (0.3, 0.7))
        counted = CountedUse(specs)
        result = replace(case, seed=seed).engine((resources, counted), performance).run()
        resources.close(result.end_ns)
        rows = np.array(resources.row_values).reshape(-1, len(resources.columns))
        assert resources.row_ns[-1] == result.end_ns
        assert not rows[-1].any()
        blocked = [Fraction(0)] * len(rows)  # integral over each row
        for start, end, gpu, blocking, *cpus in counted.pieces:
            row = int(np.searchsorted(resources.row_ns, start, side="right")) - 1
            assert end <= resources.row_ns[row + 1]
            assert rows[row, RESOURCE_COLUMNS.index("gpu")] == pytest.approx(float(gpu), rel=1e-12)
            shares = [rows[row, resources.columns.index(name)] for name in ("cpus_held", "cpus_used")]
            assert shares == pytest.approx(list(map(float, cpus)), rel=1e-12)
            blocked[row] += blocking * (end - start)
        expected = [float(blocked[i] / span) for i, span in enumerate(np.diff(resources.row_ns).tolist())]
        assert rows[:-1, RESOURCE_COLUMNS.index(BLOCKING)] == pytest.approx(expected, rel=1e-12)


class CountedUse:
    """Observer that counts anew what is in use whenever something may have changed, in fractions.

    Pieces are (start, end, use of the GPUs, blocking index in the middle, CPUs held, CPUs used); the index in
    the middle is its mean, as it grows along a line. A job of no stages is on its GPUs while it computes, and
    uses 0.3 CPUs while it makes progress.
    """

    rates = True

    def __init__(self, specs: Sequence[JobSpec]) -> None:
        self.specs = specs
        self.pieces: list[tuple[int, int, *tuple[Fraction, ...]]] = []
        self.now, self.capacity = 0, 3 * GPUS
        self.held: dict[int, int] = {}  # GPUs
        self.cpus: dict[int, int] = {}
        self.since: dict[int, int] = {}
        self.iteration: dict[int, int] = {}
        self.waiting: dict[int, tuple[int, int]] = {}  # since when, iterations left
        self.waited = [0] * len(specs)

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        for end in sorted({s for s in self.since.values() if self.now < s < time_ns} | {time_ns}):
            if end > self.now:
                blocked = self.blocked(Fraction(self.now + end, 2))
                self.pieces.append((self.now, end, self.in_use(), blocked, *self.shares()))
            self.now = end
        for event in events:
            self.take(event)
        self.capacity = gauges.capacity_gpus

    def in_use(self) -> Fraction:
        progress = [j for j, since in self.since.items() if since <= self.now]
        uses = [
            min(Fraction(self.specs[j].compute_ns, self.iteration[j]), 1) * self.held[j] for j in progress
        ]
        return sum(uses, Fraction(0)) / self.capacity if self.capacity else Fraction(0)

    def shares(self) -> tuple[Fraction, Fraction]:
        progress = sum(since <= self.now for since in self.since.values())
        there = self.capacity // GPUS * CPUS
        held = sum(self.cpus[j] for j in self.since)
        return (Fraction(held, there), Fraction(0.3) * progress / there) if there else (Fraction(0),) * 2

    def blocked(self, at: Fraction) -> Fraction:
        ratios = [
            (self.waited[j] + at - since) / (left * self.specs[j].compute_ns)
            for j, (since, left) in self.waiting.items()
        ]
        return sum(ratios, Fraction(0)) / max(len(ratios), 1)

    def take(self, event: Event) -> None:
        match event:
            case Arrival(now, job):
                self.waiting[job] = now, self.specs[job].iterations
            case Start(now, job, allocation, _, delay):
                self.waited[job] += now - self.waiting.pop(job)[0]
                self.held[job], self.since[job] = allocation.gpus, now + delay
                self.cpus[job] = sum(s.cpus for s in allocation.slices)
            case Change(now, job, allocation, _, delay):
                self.held[job], self.since[job] = allocation.gpus, max(self.since[job], now + delay)
                self.cpus[job] = sum(s.cpus for s in allocation.slices)
            case Reprice(_, job, parts):
                self.iteration[job] = sum(parts)
            case Stop(now, job, _, done):
                del self.since[job]
                self.waiting[job] = now, self.specs[job].iterations - done
            case Finish(_, job):
                del self.since[job]


def absent_ns(events: Sequence[CapacityEvent], end_ns: int) -> int:
    """Return for how long machines are away, summed: from a failure or a deadline until they join.

    Events come in pairs, going and joining; who joins before the deadline was never away.
    """
    total = 0
    for gone, back in zip(events[::2], events[1::2], strict=True):
        since = gone.time_ns if gone.type == "fail" else gone.deadline_ns
        total += max(0, min(back.time_ns, end_ns) - since)
    return total


def name_of_change(before: Mapping[int, int], after: Mapping[int, int], demand: Demand) -> str:
    """Return the name of a change of GPUs by machine in the table of costs of docs/architecture.md."""
    if before == after:
        return "retune"
    kept = sum(min(before.get(m, 0), after.get(m, 0)) for m in before)
    return "resize" if kept and demand.max_gpus else "migrate"


class Replay:
    """Accounts from typed events: who holds what since when."""

    def __init__(self, specs: Sequence[JobSpec], cluster: Cluster, overheads: Overheads) -> None:
        self.specs = specs
        self.overheads = overheads
        self.last: dict[int, set[int]] = {}  # machines that a stopped job had
        self.cluster = cluster
        self.now = 0
        self.held: Held = {}
        self.since: dict[int, int] = {}  # end of a job's delay
        self.waiting: dict[int, None] = {}
        self.busy_gpu_ns = self.group_gpu_ns = self.alone_gpu_ns = 0
        names = (
            "queueing_ns",
            "overhead_ns",
            "running_ns",
            "gpu_held_ns",
            *TIER_COLUMNS,
        )
        counts = ("starts", "preemptions", "evictions", "migrations", "resizes")
        self.columns: dict[str, list[int]] = {name: [0] * len(specs) for name in (*names, *counts)}

    def advance(self, now: int) -> None:
        step, last, self.now = now - self.now, self.now, now
        groups = {a.group.name: a.group for a in self.held.values() if a.group}
        shared = sum(gpus for group in groups.values() for _, gpus in group.gpus)
        alone = sum(a.gpus for a in self.held.values() if not a.group)
        self.busy_gpu_ns += (alone + shared) * step
        self.group_gpu_ns += shared * step
        self.alone_gpu_ns += alone * step
        for job in self.waiting:
            self.columns["queueing_ns"][job] += step
        for job, a in self.held.items():
            delayed = min(max(self.since[job] - last, 0), step)
            self.columns[self.tier(a)][job] += step
            self.columns["gpu_held_ns"][job] += step * a.gpus
            self.columns["overhead_ns"][job] += delayed
            self.columns["running_ns"][job] += step - delayed

    def tier(self, a: Allocation) -> str:
        racks = {self.cluster.machines[s.machine].rack for s in a.slices}
        return TIER_COLUMNS[0 if len(a.slices) == 1 else 1 if len(racks) == 1 else 2]

    def take(self, event: Event) -> None:
        self.advance(event.time_ns)
        match event:
            case Arrival(_, job):
                self.waiting[job] = None
            case Start(now, job, allocation, how, delay):
                back = self.last.get(job) == allocation.gpu_map().keys()
                assert how == ("start" if job not in self.last else "resume" if back else "restart")
                assert delay == self.overheads.delay_ns(how, self.specs[job])
                del self.waiting[job]
                self.held[job], self.since[job] = allocation, now + delay
                self.columns["starts"][job] += 1
            case Change(now, job, allocation, how, delay):
                assert how == name_of_change(
                    self.held[job].gpu_map(), allocation.gpu_map(), self.specs[job].demand
                )
                assert delay == self.overheads.delay_ns(how, self.specs[job])
                self.held[job], self.since[job] = allocation, max(self.since[job], now + delay)
                self.columns["migrations"][job] += how == "migrate"
                self.columns["resizes"][job] += how == "resize"
            case Stop(_, job, reason):
                self.last[job] = set(self.held.pop(job).gpu_map())
                self.waiting[job] = None
                self.columns["preemptions" if reason == "preempted" else "evictions"][job] += 1
            case Finish(now, job):
                notice_ns = seconds_to_ns(self.overheads.parameters.notice_s)
                late = -now % notice_ns if notice_ns else 0
                self.columns["overhead_ns"][job] += late
                self.columns[self.tier(self.held.pop(job))][job] += late


def machines_of(allocation: Allocation) -> set[int]:
    """Return the machines whose failure stops a job: its own and its group's."""
    group = allocation.group.gpus if allocation.group else ()
    return {s.machine for s in allocation.slices} | {m for m, _ in group}


def follow(number: int, log: Sequence[Event], spec: JobSpec, overheads: Overheads) -> None:
    """Replay one job, one iteration at a time, and compare its finish.

    `remaining` of the open iteration lasts `iteration` ns in all. A new speed carries the open share,
    rounded up; a stop throws away what `on_stop` says; a failed machine at least the open iteration.
    """
    mode = overheads.parameters.on_stop
    done, remaining, iteration = 0, 0, 0
    at = since = 0
    machines: set[int] = set()  # that the job or its group is on
    failed_ns = -1  # when one of them failed

    def progress(now: int) -> None:
        nonlocal done, remaining, at
        elapsed = max(now - max(since, at), 0)
        at = now
        while remaining and elapsed >= remaining:
            elapsed -= remaining
            done += 1
            remaining = iteration
        remaining -= elapsed

    for event in log:
        if getattr(event, "job", number) != number:
            continue
        match event:
            case MachineEvent(now, machine, "fail") if machine in machines:
                failed_ns = now
            case Start(now, _, allocation, _, delay):
                machines, failed_ns = machines_of(allocation), -1
                at, since = now, now + delay
            case Change(now, _, allocation, how, delay):
                machines = machines_of(allocation)
                progress(now)
                since = max(since, now + delay)
                if how == "migrate" and mode != "keep":
                    remaining = 0
            case Reprice(now, _, parts):
                new = sum(parts)
                if iteration and remaining:
                    progress(now)
                    remaining = -(-remaining * new // iteration)
                remaining, iteration = remaining or new, new
            case Stop(now, _, _, kept):
                progress(now)
                if mode == "lose_all":
                    done, remaining = 0, 0
                elif mode == "lose_since_checkpoint":
                    done, remaining = done - done % (overheads.checkpoints([spec])[0] or 1), 0
                elif mode == "lose_iteration" or failed_ns == now:
                    remaining = 0
                assert kept == done
                machines = set()
            case Finish(now, _):
                progress(now - 1) if now - 1 >= at else None
                assert done < spec.iterations, "it had finished earlier"
                progress(now)
                assert done == spec.iterations


# --- the engine's check against the oracle


def pair_of_states(seed: int) -> tuple[Held, Held, list[JobSpec]]:
    """Return a legal state of four jobs, another that may or may not be, and the jobs."""
    rng = random.Random(seed)
    kinds = (
        Demand(1),
        Demand(2),
        Demand(3),
        Demand(2, min_gpus=1, max_gpus=4),
        Demand(0, cpus=2, max_machines=1),
    )
    specs = [JobSpec(f"j{i}", 0, rng.choice(kinds), 10, 1000) for i in range(4)]
    chaos = Chaos(seed, 0)

    def proposal(held: Held) -> Held:
        trial = dict(held)
        for j in rng.sample(range(4), rng.randint(1, 4)):
            trial[j] = chaos._allocation(j, specs[j].demand, held if rng.random() < 0.5 else trial, 3)
        return trial

    wanted = {j: spec.demand for j, spec in enumerate(specs)}
    capacity = [(GPUS, CPUS, MEMORY)] * 3
    before: Held = {}
    for _ in range(12):
        trial = proposal(before)
        if is_legal(before, trial, wanted, capacity, [True] * 3):
            before = trial
    return before, proposal(before), specs


class TwoStates:
    """Sets up a first state at 0, asks for a second at 100 ns, then goes on calmly."""

    interval_s: float | None = None
    on_events = True

    def __init__(self, before: Held, after: Held) -> None:
        self._states = {0: before, 100: after}
        self._calm = Chaos(0, 0)

    def decide(self, view: ClusterView) -> Plan:
        plan, now = view.plan(), view.now_ns
        if now < 100:
            plan.wake_at(100)
        state = self._states.pop(now, {})
        if now > 100:
            held = {j: a for j in view.jobs.job.tolist() if (a := view.allocation(j)) is not None}
            after = self._calm._calm(view, held)
            state = {j: a for j, a in after.items() if j not in held}
        for j, a in state.items():
            plan.place(j, a)
        return plan.done()


@given(st.integers(0, 2**32), st.lists(st.booleans(), min_size=3, max_size=3))
def test_the_check_of_plans_agrees_with_a_count_from_nothing(seed: int, leaves: list[bool]) -> None:
    """The check looks at what a plan mentions only; it must refuse what a full count refuses, no more."""
    for k in range(5):
        check_agrees(seed + k, leaves)


def check_agrees(seed: int, leaves: list[bool]) -> None:
    before, after, specs = pair_of_states(seed)
    wanted = {j: spec.demand for j, spec in enumerate(specs)}
    legal = is_legal(before, after, wanted, [(GPUS, CPUS, MEMORY)] * 3, [not x for x in leaves])
    capacity = [CapacityEvent(50, "leave", m, 10**6) for m in range(3) if leaves[m]]
    capacity += [CapacityEvent(2 * 10**6, "join", m) for m in range(3) if leaves[m]]
    watch = Watch()
    engine = Engine(
        specs,
        chaos_cluster(),
        TwoStates(before, after),
        PlainPerformance(),
        capacity_events=capacity,
        observers=(watch,),
    )
    watch.engine = engine
    if legal:
        audit(engine.run())
    else:
        with pytest.raises(PlanError):
            engine.run()


# --- cases that chaos found or cannot reach


def test_a_failing_machine_takes_its_share_of_a_group() -> None:
    """A machine that is gone holds nothing: not even GPUs of a group whose members sit elsewhere.

    Group of 2 GPUs on m0 and 2 on m1; job a on m0, job b on m1. m0 fails at 5 s: 2 GPUs are there, so
    at most 2 can be busy.
    """
    group = Group("g", ((0, 2), (1, 2)))
    jobs = [JobSpec(name, 0, Demand(2), 10, 10**9) for name in ("a", "b")]

    class Pair:
        interval_s: float | None = None
        on_events = True

        def decide(self, view: ClusterView) -> Plan:
            plan = view.plan()
            if view.now_ns == 0:
                plan.place(0, on((0, 2), group=group))
                plan.place(1, on((1, 2), group=group))
            else:
                free = [m for m in (0, 1) if view.free().gpus[m] == 2]
                waiting = view.jobs.job[~view.jobs.running].tolist()
                for j, m in zip(waiting, free, strict=False):
                    plan.place(j, on((m, 2)))
            return plan.done()

    capacity = [CapacityEvent(5 * 10**9, "fail", 0), CapacityEvent(30 * 10**9, "join", 0)]
    watch = Watch()
    engine = Engine(
        jobs, tiny_cluster(2, 2), Pair(), PlainPerformance(), capacity_events=capacity, observers=(watch,)
    )
    watch.engine = engine
    audit(engine.run())


@pytest.mark.parametrize("gpus", [((-1, 1), (0, 1)), ((0, 1), (7, 1))], ids=["negative", "unknown"])
def test_a_group_on_a_machine_that_does_not_exist_is_refused(gpus: tuple[tuple[int, int], ...]) -> None:
    """A group's own GPUs are checked like slices; -1 would silently mean the last machine."""

    class Wrong:
        interval_s: float | None = None
        on_events = True

        def decide(self, view: ClusterView) -> Plan:
            plan = view.plan()
            plan.place(0, on((0, 1), group=Group("g", gpus)))
            return plan.done()

    engine = Engine([JobSpec("a", 0, Demand(1), 1, 1000)], tiny_cluster(2, 2), Wrong(), PlainPerformance())
    with pytest.raises(PlanError, match="group 'g'"):
        engine.run()


def test_a_group_takes_no_more_of_a_machine_that_leaves() -> None:
    """A leaving machine takes no new work, and a group that grows there is new work.

    The job holds 1 of 2 GPUs when the machine begins to leave, and would found a group that owns both.
    """

    class Wrong:
        interval_s: float | None = None
        on_events = True

        def decide(self, view: ClusterView) -> Plan:
            plan = view.plan()
            both = Group("g", ((0, 2),))
            plan.place(0, on((0, 1)) if view.now_ns == 0 else on((0, 1), group=both))
            return plan.done()

    leave = [CapacityEvent(5, "leave", 0, 1000)]
    specs = [JobSpec("a", 0, Demand(1), 1, 1000)]
    engine = Engine(specs, tiny_cluster(1, 2), Wrong(), PlainPerformance(), capacity_events=leave)
    with pytest.raises(PlanError, match="m0"):
        engine.run()


def test_a_machine_with_a_group_s_gpus_is_not_empty() -> None:
    """A machine may change its pool only when all leave that hold anything there, a group included.

    The group owns a GPU on m0 and one on m1; its only member sits on m0, and stays.
    """
    group = Group("g", ((0, 1), (1, 1)))

    class Wrong:
        interval_s: float | None = None
        on_events = True

        def decide(self, view: ClusterView) -> Plan:
            plan = view.plan()
            if view.now_ns:
                plan.assign(1, "inference")
            else:
                plan.place(0, on((0, 1), group=group))
                plan.wake_at(5)
            return plan.done()

    engine = Engine([JobSpec("a", 0, Demand(1), 1, 1000)], tiny_cluster(2, 2), Wrong(), PlainPerformance())
    with pytest.raises(PlanError, match="m1"):
        engine.run()


def test_lost_time_is_part_of_the_running_time() -> None:
    """Lost work is valued in the time that it took, so it cannot exceed the running time.

    1 GPU, 10 ns an iteration, 9 ns in; then the cap falls to 0.1: 100 ns an iteration, 1 / 10 of it left,
    10 ns. Stopped 4 ns later: 13 ns ran, and all of them are lost - not the 94 ns that this share of the
    iteration would take at the lower speed.
    """
    spec = JobSpec("a", 0, Demand(1), 3, 10)

    class Slowed:
        interval_s: float | None = None
        on_events = True

        def decide(self, view: ClusterView) -> Plan:
            plan = view.plan()
            if view.now_ns == 0:
                plan.place(0, on((0, 1)))
                plan.wake_at(9)
            elif view.now_ns == 9:
                plan.place(0, on((0, 1), cap=0.1))
                plan.wake_at(13)
            elif view.now_ns == 13:
                plan.stop(0)
                plan.wake_at(20)
            elif not view.jobs.running[0]:
                plan.place(0, on((0, 1)))
            return plan.done()

    engine = Engine([spec], tiny_cluster(1, 1), Slowed(), PlainPerformance(slow=capped))
    result = engine.run()
    # waits 13..20, then 3 iterations of 10: finish 50; ran 13 + 30 = 43, of which 13 were lost
    assert result.columns["finish_ns"].tolist() == [50]
    assert result.columns["running_ns"].tolist() == [43]
    assert result.columns["lost_ns"].tolist() == [13]
    audit(result)


def test_the_oracle_itself() -> None:
    """The count from nothing is only worth something if it refuses each kind of illegal state.

    Two GPUs a machine: two jobs of one fit, of two do not; in a group of depth 2 they do, of depth 1 not.
    """
    two, capacity, demand = [True] * 3, [(GPUS, CPUS, MEMORY)] * 3, {0: Demand(2), 1: Demand(2)}
    deep, flat = (Group("g", ((0, 2),), depth) for depth in (2, 1))
    one = on((0, 2))
    assert is_legal({}, {0: one}, demand, capacity, two)
    assert not is_legal({}, {0: one, 1: one}, demand, capacity, two)
    assert is_legal({}, {j: replace(one, group=deep) for j in (0, 1)}, demand, capacity, two)
    assert not is_legal({}, {j: replace(one, group=flat) for j in (0, 1)}, demand, capacity, two)
    assert not is_legal({}, {0: replace(one, group=deep), 1: replace(one, group=flat)}, demand, capacity, two)
    assert not is_legal({}, {0: on((0, 1))}, demand, capacity, two)
    assert not is_legal({}, {0: on((0, 2, CPUS + 1))}, demand, capacity, two)
    assert not is_legal({}, {0: one}, demand, capacity, [False, True, True])
    assert is_legal({0: one}, {0: replace(one, bandwidth_cap=0.5)}, demand, capacity, [False, True, True])
    assert isinstance(chaos_cluster().machines[0], Machine)
