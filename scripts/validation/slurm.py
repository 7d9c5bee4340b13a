"""Compare `policy=slurm` with the decisions of a real Slurm in ../shared, one step ahead and whole runs.

    python scripts/validation/slurm.py ../shared/reference/slurm

One step ahead: the state is that of the controller's log before each batch of starts; the loop that made it
runs once on that state. Per file: decisions with the same set of jobs, starts on the same nodes, the same
victims, and intervals of 4.5 s or more without a start in which the loops start none. Then, over all files,
the same with one rule switched off at a time (`--rules`). Whole runs: mean waits in s of the real one and of
ours from the submissions, the ratio, the rank correlation, the largest difference of a start, and beside them
`fifo` and `fifo_backfill`. With `--redraws N` also N runs whose submissions are moved by up to a second: the
least, median and largest rank correlation among these, and of each with the real one.

The log does not have the phase of the controller's clock in the 30 s to which windows are aligned: that with
the most equal decisions counts, for the whole runs too.
"""

import argparse
import csv
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from operator import or_
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from artist.core.buckets import members_of, set_of
from artist.core.cluster import Cluster, Machine
from artist.core.job import Demand, JobSpec
from artist.engine.engine import Engine
from artist.engine.overheads import Overheads
from artist.entry import script
from artist.policies.basic.ordered import Ordered
from artist.policies.parts.limits import Association, Limits, Qos
from artist.policies.slurm import nodes as nodes_module
from artist.policies.slurm import scheduler as scheduler_module
from artist.policies.slurm.fair_share import FairShare
from artist.policies.slurm.job import Job, Need
from artist.policies.slurm.nodes import Nodes
from artist.policies.slurm.policy import Slurm
from artist.policies.slurm.preemption import Preemption
from artist.policies.slurm.scheduler import Decision, Scheduler
from artist.policies.slurm.starts import NodeSpace
from artist.site.slurm import SlurmConf
from artist.testing.tiny import PlainPerformance
from artist.units import NS_PER_S

ACCOUNTS = {"u1": "red", "u2": "red", "u3": "blue", "u4": "blue"}
STARTS = ("start_main", "start_backfill")
GAP_S, QUIET_S, PASS_S = 0.9, 4.5, 2.2  # PASS_S: passes of the backfill loop are no further apart
PHASES = 30
LEAD_S = 9  # of the controller's start before the first submission, where its periods of recalculation begin
_USERS = tuple(Association(account, user) for user, account in ACCOUNTS.items())
_ACCOUNTING: dict[str, dict[str, Any]] = {  # set by sacctmgr
    "qos": {"qos": (Qos("normal"), Qos("high", Priority=10, Preempt=("normal",)))},
    "quota": {
        "associations": (
            Association("red", GrpTRES={"gres/gpu": 16}),
            Association("blue", GrpTRES={"gres/gpu": 40}),
            Association("blue", "u4", MaxJobs=3),
        )
    },
    "fairshare": {
        "associations": (Association("red", Fairshare=1), Association("blue", Fairshare=3), *_USERS)
    },
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """A file: its jobs and attempts, the events of the controller, and the parameters of its conf."""

    name: str
    jobs: Mapping[int, Mapping[str, str]]
    attempts: Sequence[Mapping[str, str]]
    events: Sequence[Mapping[str, str]]
    settings: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The kind of its configuration."""
        return self.name.partition("_")[0]

    def policy(self) -> Slurm:
        """Return the policy."""
        return Slurm(**{**self.settings, **_ACCOUNTING.get(self.kind, {})})


def read(folder: Path, name: str) -> Recorded:
    """Return a file of the folder, with its events."""
    attempts = list(csv.DictReader((folder / f"{name}.csv").open()))
    events = list(csv.DictReader((folder / "events" / f"{name}.csv").open()))
    settings = SlurmConf([folder / f"{name}.conf"]).policy
    return Recorded(name, {int(row["job"]): row for row in attempts}, attempts, events, settings)


def nodes_in(text: str) -> int:
    """Return a list such as n[2,6-8] as a set of nodes, n1 being 0."""
    nodes = 0
    for part in re.sub(r"[n\[\]]", "", text).split(","):
        first, _, last = part.partition("-")
        nodes |= set_of(range(int(first) - 1, int(last or first)))
    return nodes


def cluster() -> Cluster:
    """Return the eight nodes, two per leaf switch."""
    return Cluster([Machine(f"n{i + 1}", i // 2, "node", 8, cpus=64) for i in range(8)])


class Replay:
    """The state of the controller, event by event, and the decisions of our loops on it."""

    def __init__(self, recorded: Recorded, phase_s: int) -> None:
        self._recorded, self._phase_s = recorded, phase_s
        policy = recorded.policy()
        self._cluster = cluster()
        self.scheduler = policy._built(self._cluster)
        self._priorities = policy._multifactor
        self._partitions = {one.PartitionName: one for one in policy._partitions}
        self._qos = {one.Name: one for one in policy.qos}
        self._known: dict[int, Job] = {}
        self._victims_of: dict[int, list[tuple[int, float]]] = {}
        self._period_ns = policy._period_ns
        starts: dict[int, list[float]] = {}
        for event in recorded.events:
            if event["event"] in STARTS:
                starts.setdefault(int(event["job"]), []).append(float(event["t_s"]))
        began = [row for row in recorded.attempts if int(row["job"]) in starts]
        pairs = [
            (starts[int(row["job"])][int(row["attempt"])], float(row["start_s"]))
            for row in began
            if int(row["attempt"]) < len(starts[int(row["job"])])
        ]
        self._second_s = min(logged - start for logged, start in pairs) + pairs[0][1] % 1
        self._calculated_ns = self.now_ns(float(recorded.events[0]["t_s"])) - LEAD_S * NS_PER_S

    def now_ns(self, logged_s: float) -> int:
        """Return the controller's time, in whole seconds, with the phase of its clock."""
        return (math.floor(logged_s - self._second_s + 1e-6) + PHASES * 10 - self._phase_s) * NS_PER_S

    def apply(self, event: Mapping[str, str]) -> None:
        """Take an event over."""
        scheduler, number, now_ns = self.scheduler, int(event["job"]), self.now_ns(float(event["t_s"]))
        self._recalculate(now_ns)
        if event["event"] == "submit":
            job = self._known[number] = self._job(number, now_ns)
            job.priority = self._priorities.priority(job, now_ns) if self._priorities else -number
            scheduler.submit(job)
        elif event["event"] == "end":
            if number in scheduler.running:
                self._bill(scheduler.end(number), now_ns)
            elif number in scheduler.waiting:
                scheduler.drop(number)
        elif event["event"] == "preempted_for":
            if number in scheduler.running:
                self._bill(scheduler.running[number], now_ns)
                scheduler.requeue(number, now_ns)
                self._victims_of.setdefault(int(event["on_or_for"]), []).append((number, float(event["t_s"])))
        else:
            scheduler.start(self._known[number], nodes_in(event["on_or_for"]), now_ns)
            for victim, stopped_s in self._victims_of.pop(number, ()):
                if victim in scheduler.held_ns:  # it left between the two lines of the log: half-way
                    left_ns = self.now_ns((stopped_s + float(event["t_s"])) / 2)
                    eligible_ns = left_ns + scheduler_module.REQUEUE_NS
                    scheduler.held_ns[victim] = scheduler.waiting[victim].eligible_ns = eligible_ns

    def decide(self, loop: str, logged_s: float) -> tuple[dict[int, int], set[int]]:
        """Return the starts, with their nodes, and the victims of a loop on a copy of the state."""
        now_ns = self.now_ns(logged_s)
        self._recalculate(now_ns)
        trial = self._copied()
        decision = (trial.main if loop == "start_main" else trial.backfill)(now_ns)
        starts = {job.number: chosen for job, chosen in decision.starts}
        return starts, {victim.number for victim, _ in decision.victims}

    def _bill(self, job: Job, now_ns: int) -> None:
        if self._priorities is not None:
            self._priorities.end(job, now_ns)

    def _recalculate(self, now_ns: int) -> None:
        while self._priorities is not None and now_ns >= self._calculated_ns + self._period_ns:
            self._calculated_ns += self._period_ns
            jobs = [*self.scheduler.waiting.values(), *self.scheduler.running.values()]
            self._priorities.recalculate(self._calculated_ns, sorted(jobs, key=lambda job: job.number))
            self.scheduler.rank_again()

    def _copied(self) -> Scheduler:
        nodes = Nodes(self._cluster, self._cluster.rack_sets if self._recorded.kind == "tree" else None)
        trial = replace_nodes(self.scheduler, nodes)
        for job in self.scheduler.waiting.values():
            trial.submit(copy(job))
        held = [
            (job, self.scheduler.nodes.use_of(job.number).nodes) for job in self.scheduler.running.values()
        ]
        for job, chosen in held:
            start_ns, again = job.start_ns, copy(job)
            trial.submit(again)
            trial.start(again, chosen, start_ns)
        return trial

    def _job(self, number: int, now_ns: int) -> Job:
        row = self._recorded.jobs[number]
        nodes, gpus = int(row["nodes"]), int(row["gpus"])
        partition = self._partitions.get(row["partition"], next(iter(self._partitions.values())))
        qos = self._qos.get(row.get("qos") or "normal")
        limit_ns = 60 * int(row["limit_min"]) * NS_PER_S
        account = ACCOUNTS[row["user"]]
        need, all_nodes = Need(gpus // nodes, 1, 0), (1 << len(self._cluster)) - 1
        return Job(
            number, nodes, need, gpus, nodes, 0, limit_ns, (all_nodes,), partition, now_ns, now_ns, qos,
            account, row["user"],
        )  # fmt: skip


def replace_nodes(scheduler: Scheduler, nodes: Nodes) -> Scheduler:
    """Return an empty scheduler with the settings of another."""
    return Scheduler(nodes.cluster, nodes, scheduler._depths, scheduler._limits, scheduler._preemption)


@dataclass(slots=True)
class Counts:
    """Equal and all: sets of jobs, nodes of starts, victims, quiet intervals."""

    sets: tuple[int, int] = (0, 0)
    nodes: tuple[int, int] = (0, 0)
    victims: tuple[int, int] = (0, 0)
    quiet: tuple[int, int] = (0, 0)

    def add(self, name: str, equal: bool) -> None:
        """Count one."""
        good, total = getattr(self, name)
        setattr(self, name, (good + equal, total + 1))

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            *(
                (
                    getattr(self, name)[0] + getattr(other, name)[0],
                    getattr(self, name)[1] + getattr(other, name)[1],
                )
                for name in ("sets", "nodes", "victims", "quiet")
            )
        )

    def row(self) -> str:
        """Return the counts and shares as text."""
        pairs = (self.sets, self.nodes, self.victims, self.quiet)
        return "  ".join(f"{good:5}/{all_:<5}{good / max(all_, 1):6.1%}" for good, all_ in pairs)


def batches(events: Sequence[Mapping[str, str]]) -> Iterator[list[Mapping[str, str]]]:
    """Yield the starts of one pass with their preemptions together, any other event alone."""
    batch: list[Mapping[str, str]] = []
    loop = ""
    for event in events:
        kind = event["event"]
        if kind in (*STARTS, "preempted_for"):
            late = bool(batch) and float(event["t_s"]) - float(batch[-1]["t_s"]) >= GAP_S
            if late or (loop and kind in STARTS and kind != loop):
                yield batch
                batch, loop = [], ""
            batch.append(event)
            loop = kind if kind in STARTS else loop
            continue
        if batch:
            yield batch
            batch, loop = [], ""
        yield [event]
    if batch:
        yield batch


def one_step(recorded: Recorded, phase_s: int) -> Counts:
    """Return the counts of a file."""
    replay, counts, last_s = Replay(recorded, phase_s), Counts(), math.inf
    for batch in batches(recorded.events):
        at_s = float(batch[0]["t_s"])
        if at_s - last_s >= QUIET_S and replay.scheduler.waiting:
            loops = STARTS[: 1 + (recorded.kind != "builtin")]
            counts.add("quiet", not any(replay.decide(loop, at_s - PASS_S)[0] for loop in loops))
        last_s = float(batch[-1]["t_s"])
        if batch[0]["event"] not in (*STARTS, "preempted_for"):
            replay.apply(batch[0])
            continue
        begun = [event for event in batch if event["event"] in STARTS]
        first = (begun or batch)[0]
        loop = begun[0]["event"] if begun else "start_main"
        ours, victims = replay.decide(loop, float(first["t_s"]))
        real = {int(event["job"]): nodes_in(event["on_or_for"]) for event in begun}
        counts.add("sets", ours.keys() == real.keys())
        for number in ours.keys() & real.keys():
            counts.add("nodes", ours[number] == real[number])
        stopped = {int(event["job"]) for event in batch if event["event"] == "preempted_for"}
        if stopped:
            counts.add("victims", stopped == victims)
        for event in batch:
            replay.apply(event)
    return counts


def best_phase(recorded: Recorded) -> tuple[int, Counts]:
    """Return the phase with the most equal decisions, and its counts."""
    phases = range(0, PHASES, 2) if recorded.kind != "builtin" else (0,)
    return max(((phase, one_step(recorded, phase)) for phase in phases), key=lambda one: one[1].sets[0])


# --- rules switched off (without the share of root's own user all factors are of the same order)


def _job_sized(self: NodeSpace, begin_ns: int, end_ns: int, nodes: int) -> None:
    """Reserve nothing."""


def _exact(nodes: Nodes, job: Job, among: int, *_: object) -> int | None:
    """Return the first end of a job after which one fits, without windows."""
    for end_ns in (0, *(use.end_ns for use in nodes.uses if use.nodes & among)):
        able = nodes.able_by(job.need, end_ns) & among
        if able.bit_count() >= job.nodes:
            return end_ns
    return None


def _first_nodes(self: Nodes, able: int, count: int, *_: object, **__: object) -> int:
    return set_of(members_of(able)[:count])


def _passing(self: Scheduler, now_ns: int) -> Decision:
    """Run the main loop as if every job had started, so that none holds up those behind it."""
    start = Scheduler._start_now
    with mock.patch.object(Scheduler, "_start_now", lambda *args: start(*args) or True):
        return _main(self, now_ns)


def _of_whole_nodes(self: Scheduler, job: Job, *args: Any) -> None:
    """Reserve nodes only for jobs that ask for all of their GPUs."""
    parts = job.need.gpus < self.nodes.cluster.machines[0].gpus
    with mock.patch.object(NodeSpace, "reserve", _job_sized) if parts else nullcontext():
        _plan(self, job, *args)


def _up_to_date(self: FairShare, account: str, user: str) -> float:
    """Return the factor by all usage so far, of accounts too."""
    self._effective.clear()
    self._factors.clear()
    return _factor(self, account, user)


def _with(**settings: Any) -> Any:
    """Return a patch with other settings of the policy."""
    return mock.patch.object(Recorded, "policy", lambda self: replace(_policy(self), **settings))


_main, _plan, _factor = Scheduler.main, Scheduler._plan, FairShare.factor
_policy = Recorded.policy
RULES: dict[str, Callable[[], Any]] = {
    "no reservations": lambda: mock.patch.object(NodeSpace, "reserve", _job_sized),
    "reservations for whole nodes only": lambda: mock.patch.object(Scheduler, "_plan", _of_whole_nodes),
    "main loop passes jobs that wait": lambda: mock.patch.object(Scheduler, "main", _passing),
    "no topology/tree": lambda: mock.patch.object(
        nodes_module, "_in_leaves", lambda leaves, count: set_of(members_of(reduce(or_, leaves))[:count])
    ),
    "age counts": lambda: _with(PriorityWeightAge=6000),
    "usage in GPU-seconds": lambda: mock.patch.object(Job, "billing", property(lambda job: job.gpus)),
    "no decay of usage": lambda: _with(PriorityDecayHalfLife=0),
    "usage of accounts up to now": lambda: mock.patch.object(FairShare, "factor", _up_to_date),
    "priorities every second": lambda: _with(PriorityCalcPeriod="0:01"),
    "no windows": lambda: mock.patch.object(scheduler_module, "earliest", _exact),
    "starts beyond bf_window reserved": lambda: mock.patch.object(
        Scheduler, "last_start_ns", return_value=2**61
    ),
    "first nodes by index": lambda: mock.patch.object(Nodes, "choose", _first_nodes),
    "oldest victims first": lambda: mock.patch.object(
        Preemption, "_standing", lambda self, job: job.start_ns
    ),
    "no limits": lambda: mock.patch.object(Limits, "reason", return_value=""),
    "no 121 s after a requeue": lambda: mock.patch.object(scheduler_module, "REQUEUE_NS", 0),
}


# --- whole runs


def whole(recorded: Recorded, policy: Any, phase_s: int = 0) -> dict[int, float]:
    """Return the wait of each job until its last start, in s, of a run from the submissions."""
    since_s = 10 * PHASES - phase_s
    policy._calculated_ns = (since_s - LEAD_S) * NS_PER_S
    specs = [
        JobSpec(
            str(number),
            (since_s + round(float(row["submit_s"]) + float(row["late_s"]))) * NS_PER_S,
            Demand(int(row["gpus"]), cpus=int(row["nodes"]), max_machines=int(row["nodes"])),
            iterations=int(row["run_s"]),
            compute_ns=NS_PER_S,
            user=row["user"],
            account=ACCOUNTS[row["user"]],
            partition=row["partition"],
            qos=row.get("qos") or "normal",
            limit_ns=60 * int(row["limit_min"]) * NS_PER_S,
        )
        for number, row in sorted(recorded.jobs.items())
        if row["state"] not in ("MISSING", "CANCELLED")
    ]
    overheads = Overheads(on_stop="lose_all")
    result = Engine(specs, cluster(), policy, PlainPerformance(), overheads=overheads).run()
    ended = (result.columns["finish_ns"] - result.columns["submit_ns"]) / NS_PER_S
    return {
        int(spec.job_id): float(end) - int(recorded.jobs[int(spec.job_id)]["run_s"])
        for spec, end in zip(result.jobs, ended, strict=True)
    }


def seen(recorded: Recorded) -> dict[int, float]:
    """Return the real wait of each job until its last start, in s."""
    rows = [row for row in recorded.attempts if row["state"] == "COMPLETED"]
    return {int(row["job"]): float(row["start_s"]) - float(row["submit_s"]) for row in rows}


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's correlation, ties by their mean rank."""

    def ranks(values: Sequence[float]) -> np.ndarray:
        _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
        return (np.cumsum(counts) - (counts - 1) / 2)[inverse]

    return float(np.corrcoef(ranks(one), ranks(other))[0, 1])


def redrawn(recorded: Recorded, phase_s: int, count: int) -> str:
    """Return rank correlations of runs whose submissions are moved by up to a second, uniformly."""
    rng, real, waits = np.random.default_rng(0), seen(recorded), list[list[float]]()
    for _ in range(count):
        moves = rng.uniform(-1, 1, len(recorded.jobs)).tolist()
        jobs = {
            number: {**row, "late_s": str(float(row["late_s"]) + move)}
            for (number, row), move in zip(recorded.jobs.items(), moves, strict=True)
        }
        run = whole(replace(recorded, jobs=jobs), recorded.policy(), phase_s)
        numbers = sorted(real.keys() & run.keys())
        waits.append([run[number] for number in numbers])
    among = [rank_correlation(*pair) for pair in combinations(waits, 2)]
    with_real = [rank_correlation([real[number] for number in numbers], one) for one in waits]
    return ", ".join(f"{min(v):.2f} {np.median(v):.2f} {max(v):.2f}" for v in (among, with_real))


@script
def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", nargs="*", help="names of files, such as backfill_0_3; by default all")
    parser.add_argument("--rules", action="store_true", help="also with one rule switched off at a time")
    parser.add_argument(
        "--redraws", type=int, default=0, help="whole runs with moved submissions, such as 12"
    )
    chosen = parser.parse_args(argv)
    names = chosen.files or sorted(path.stem for path in chosen.folder.glob("*.csv"))
    files = [read(chosen.folder, name) for name in names]
    print(f"{'one step ahead':28}  phase  same set           same nodes         same victims       quiet")
    phases, total = {}, Counts()
    for recorded in files:
        phases[recorded.name], counts = best_phase(recorded)
        total += counts
        print(f"{recorded.name:28}  {phases[recorded.name]:5}  {counts.row()}", flush=True)
    print(f"{'all':35}  {total.row()}")
    for rule, off in RULES.items() if chosen.rules else ():
        with off():
            counts = sum((one_step(recorded, phases[recorded.name]) for recorded in files), Counts())
        print(f"{rule:35}  {counts.row()}", flush=True)
    print(f"\n{'whole runs: mean wait, s':28}    real    ours  ratio  ranks  max diff    fifo  fifo_backfill")
    sums = np.zeros(2)
    for recorded in files:
        real = seen(recorded)
        ours = whole(recorded, recorded.policy(), phases[recorded.name])
        common = sorted(real.keys() & ours.keys())
        a, b = [real[number] for number in common], [ours[number] for number in common]
        others = [
            np.mean(list(whole(recorded, Ordered(order="fifo", backfill=one)).values()))
            for one in ("none", "first_fit")
        ]
        difference = max(abs(x - y) for x, y in zip(a, b, strict=True))
        sums += (np.mean(a), np.mean(b))
        figures = f"{np.mean(a):8.1f}{np.mean(b):8.1f}{np.mean(b) / np.mean(a):7.2f}"
        figures += f"{rank_correlation(a, b):7.2f}{difference:10.0f}{others[0]:8.1f}{others[1]:10.1f}"
        print(f"{recorded.name:28}{figures}", flush=True)
    print(f"{'pooled':28}{sums[0] / len(files):8.1f}{sums[1] / len(files):8.1f}{sums[1] / sums[0]:7.2f}")
    for recorded in files if chosen.redraws > 1 else ():
        text = redrawn(recorded, phases[recorded.name], chosen.redraws)
        print(f"{recorded.name:28}  ranks among redraws, and with the real one: {text}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
