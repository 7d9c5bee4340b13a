"""Compare our engine with other simulators, one difference in semantics after the other; needs ../shared.

    python scripts/validation/agreement.py ../shared [CASE ...]

prints a table per case: our shipped policy with its defaults, then the differences of the other program,
switched on one after the other until the semantics are equal, then its own answer. The exit code is 1 if the
last row of ours lies further than 1 % from it. Those differences are small policies and settings here;
none of them is in the product.

Sources, read but not copied: Rivendile/Muri @4e69a78 (simulator/run_sim.py, switch.py, jobs.py), which ran as
published, with an empty module for cvxpy, which only its Themis needs; SymbioticLab/Tiresias @959f9b0
(simulator/run_sim.py), which is Python 2 and ran through 2to3.

Muri's program, and its equivalent here:

- An iteration takes 1.015 times the profile: a factor on reading.
- At each arrival and completion the cluster is emptied and the jobs are placed again in order of rank, each
  on the first machine with room, or on whole machines and one part; one that finds no room is passed over.
  Moving is free: `FirstFit`.
- Its Tiresias does so at demotions too, but only counts free GPUs; a queue is left at a whole second:
  `RunningFirst`. With the queue left in time, that gives the answers of our `tiresias_open` to the digit.
- A job keeps fractions of an iteration: `on_stop: keep`.
- At each of these instants every running job, moved or not, loses an overhead by model and size of the time
  since the last one, though never more than that time. Here the delay lies at the head of the interval: each
  job is placed again with another number of CPUs, which mean nothing, and so is delayed as a `retune` or a
  `migrate`; the rest of an earlier delay is not added.
- The interval in which a job completes is free of it. Here a job has one overhead less to do, and an order
  that knows so: its last delay makes good for it.

Tiresias' program takes durations in whole seconds and knows no overhead. In its FIFO the first job blocks the
others and is placed as above; its queues are those of Muri's, which descends from it.

Performance is without a network in all rows: the times in these traces hold it already.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from artist.app.composing import composed
from artist.core.cluster import Allocation, Cluster, Machine, Slice
from artist.core.events import Arrival, Finish
from artist.core.job import Demand, JobSpec
from artist.core.plan import Plan, PlanBuilder
from artist.core.result import RunResult
from artist.core.view import ClusterView, JobColumns, Policy
from artist.data import data_path
from artist.engine.engine import Engine
from artist.engine.overheads import Overheads
from artist.performance.placed import PlacedPerformance
from artist.run.parts import part
from artist.units import NS_PER_S, ns_to_seconds, seconds_to_ns
from netmodels.api import load_topology
from netmodels.models.zero import ZeroModel
from netmodels.profiles.profile import get_profile

Ints = npt.NDArray[np.int64]
Key = Callable[[JobColumns], Ints]

TRACES = "traces/tiresias-muri"
LARGEST_DIFFERENCE = 0.01  # of the mean completion time
DELAYS = ("start", "resume", "restart", "migrate", "resize", "retune")
UNKNOWN_OVERHEAD_S = 10.0  # of models that Muri's table does not have
THRESHOLDS_GPU_S = (3250, 7200)
_FAR_NS = 2**61  # a wake-up that takes the place of an earlier one and never comes due


# --- policies of the other programs


class FirstFit(Policy):
    """Places jobs in order of a key, each on the first machine with room.

    Parameters
    ----------
    key
        Smaller comes first; equal keys go in order of arrival.
    stay
        Running jobs stay where they are, and no job overtakes one that finds no room. Without it all jobs
        are placed again at every instant, and one that finds no room is passed over, or stopped.
    whole
        Jobs larger than a machine get whole machines and one part, smaller ones one machine, or wait.
        Without it GPUs are only counted.
    touch
        Give every job another number of CPUs at every instant, so that none continues undelayed.
    """

    knows_durations = True

    def __init__(self, key: Key, *, stay: bool = False, whole: bool = True, touch: bool = False) -> None:
        self._key = key
        self._stay = stay
        self._whole = whole
        self._touch = touch
        self._calls = 0

    def decide(self, view: ClusterView) -> Plan:
        """Fill the cluster in order."""
        plan = view.plan()
        jobs = view.jobs
        self._fill(view, plan, jobs.job[np.argsort(self._key(jobs), kind="stable")].tolist())
        return plan.done()

    def _fill(self, view: ClusterView, plan: PlanBuilder, order: Sequence[int]) -> set[int]:
        """Plan to run the jobs in order that find room; return them."""
        self._calls += 1
        cpus = self._calls % 2 if self._touch else 0
        size = int(view.cluster.gpus[0])
        free = (view.free().gpus if self._stay else view.cluster.gpus).tolist()
        placed = set()
        for job in order:
            runs = view.allocation(job) is not None
            if runs and self._stay:
                continue
            gpus = view.demand(job).gpus
            taken = whole_first_fit(free, size, gpus) if self._whole else anywhere(free, gpus)
            if taken:
                for machine, count in taken.items():
                    free[machine] -= count
                first = min(taken)
                slices = [Slice(m, taken[m], cpus if m == first else 0) for m in sorted(taken)]
                plan.place(job, Allocation(tuple(slices)))
                placed.add(job)
            elif runs:
                plan.stop(job)
            elif self._stay:
                break
        return placed


class RunningFirst(FirstFit):
    """Queues by attained service; in each, running jobs come first, the others as they came to wait.

    Parameters
    ----------
    leaves_ns
        In how many ns a running job leaves a queue: from its threshold in GPU-seconds, the time that the
        job has held its GPUs in ns, and their number.
    touch
        As in `FirstFit`.
    """

    def __init__(self, leaves_ns: Callable[[int, int, int], int], *, touch: bool = False) -> None:
        super().__init__(lambda jobs: jobs.job, whole=False, touch=touch)
        self._leaves_ns = leaves_ns
        self._queues: list[list[int]] = [[] for _ in range(len(THRESHOLDS_GPU_S) + 1)]

    def decide(self, view: ClusterView) -> Plan:
        """Demote, fill the cluster queue by queue, and ask for the next demotion."""
        for event in view.news:
            if isinstance(event, Arrival):
                self._queues[0].append(event.job)
            elif isinstance(event, Finish):
                next(queue for queue in self._queues if event.job in queue).remove(event.job)
        plan = view.plan()
        jobs = view.jobs
        columns = zip(jobs.job.tolist(), jobs.held_ns.tolist(), jobs.gpus.tolist(), strict=True)
        held = {job: (held_ns, gpus) for job, held_ns, gpus in columns}
        self._demote(jobs.job[jobs.running].tolist(), held)
        runs = self._fill(view, plan, [job for queue in self._queues for job in queue])
        wake_ns = _FAR_NS
        for at, queue in enumerate(self._queues):
            queue.sort(key=lambda job: job not in runs)
            for job in runs.intersection(queue) if at < len(THRESHOLDS_GPU_S) else ():
                wake_ns = min(wake_ns, view.now_ns + self._leaves_ns(THRESHOLDS_GPU_S[at], *held[job]))
        plan.wake_at(wake_ns)
        return plan.done()

    def _demote(self, running: Sequence[int], held: Mapping[int, tuple[int, int]]) -> None:
        """Move running jobs that are past the threshold of their queue to the next, in order of arrival."""
        level = {job: at for at, queue in enumerate(self._queues) for job in queue}
        for job in running:
            at, (held_ns, gpus) = level[job], held[job]
            if at < len(THRESHOLDS_GPU_S) and held_ns * gpus >= seconds_to_ns(THRESHOLDS_GPU_S[at]):
                self._queues[at].remove(job)
                self._queues[at + 1].append(job)


def at_whole_second(threshold_gpu_s: int, held_ns: int, gpus: int) -> int:
    """Return the ns until the job has held its GPUs for the whole seconds of the threshold, as Muri's."""
    return max(1, seconds_to_ns(ceil(threshold_gpu_s / gpus)) - held_ns)


def too_late(threshold_gpu_s: int, held_ns: int, gpus: int) -> int:
    """Return (threshold - time held) / GPUs, as Tiresias' program, which takes seconds for GPU-seconds."""
    return max(1, (threshold_gpu_s - held_ns // NS_PER_S) // gpus) * NS_PER_S


def whole_first_fit(free: Sequence[int], size: int, gpus: int) -> dict[int, int]:
    """Return GPUs by machine of `size`: the first idle ones, and the first with room for the rest."""
    idle = [m for m, count in enumerate(free) if count == size][: gpus // size] if gpus > size else []
    rest = gpus - size * len(idle)
    if gpus > size and rest >= size:
        return {}
    taken = dict.fromkeys(idle, size)
    if rest:
        last = next((m for m, count in enumerate(free) if count >= rest and m not in taken), None)
        if last is None:
            return {}
        taken[last] = rest
    return taken


def anywhere(free: Sequence[int], gpus: int) -> dict[int, int]:
    """Return GPUs by machine wherever they are free."""
    taken: dict[int, int] = {}
    for machine, count in enumerate(free):
        if count and gpus:
            taken[machine] = min(count, gpus)
            gpus -= taken[machine]
    return {} if gpus else taken


# --- workloads of the other programs


@dataclass(frozen=True, slots=True)
class Work:
    """Jobs of a trace, one entry each in order of arrival; times in seconds."""

    submit_s: Sequence[float]
    gpus: Sequence[int]
    iterations: Sequence[int]
    iteration_s: Sequence[float]
    model: Sequence[str]
    overhead_s: Sequence[float]


def muri_work(shared: Path, trace: str, *, at_zero: bool = False) -> Work:
    """Read a trace of Muri's, or all its jobs at time 0, with the overhead of each job's model and size."""
    table = pd.read_csv(shared / TRACES / f"muri_{trace}.csv")
    known = pd.read_csv(shared / "reference" / "muri" / "restart_overhead_s.csv")
    overhead_s = known.set_index(["model", "num_gpu"])["restart_overhead_s"].to_dict()
    jobs = zip(table["model_name"].tolist(), table["num_gpu"].tolist(), strict=True)
    return Work(
        submit_s=(table["submit_time"] * (0 if at_zero else 1 / 1000)).tolist(),
        gpus=table["num_gpu"].tolist(),
        iterations=table["iterations"].tolist(),
        iteration_s=(table["iteration_time"] / 1000).tolist(),
        model=table["model_name"].tolist(),
        overhead_s=[float(overhead_s.get(job, UNKNOWN_OVERHEAD_S)) for job in jobs],
    )


def tiresias_work(shared: Path) -> Work:
    """Read the 60 jobs of Tiresias; its program takes their durations, in whole seconds."""
    table = pd.read_csv(shared / TRACES / "tiresias_60_job.csv")
    return Work(
        submit_s=table["submit_time"].tolist(),
        gpus=table["num_gpu"].tolist(),
        iterations=table["duration"].tolist(),
        iteration_s=[1.0] * len(table),
        model=[""] * len(table),
        overhead_s=[0.0] * len(table),
    )


def job_specs(work: Work, *, stretch: float = 1.0, overhead: bool, last_free: bool) -> list[JobSpec]:
    """Return the jobs under the `Semantics` of these names; with `last_free` each is one long iteration."""
    specs = []
    columns = (work.submit_s, work.gpus, work.iterations, work.iteration_s, work.model, work.overhead_s)
    for number, row in enumerate(zip(*columns, strict=True)):
        submit_s, gpus, iterations, iteration_s, model, overhead_s = row
        compute_ns, delay_ns = seconds_to_ns(iteration_s * stretch), seconds_to_ns(overhead_s)
        if last_free:
            whole_ns = seconds_to_ns(iterations * iteration_s * stretch)
            delay_ns = min(delay_ns, whole_ns - 1)
            iterations, compute_ns = 1, whole_ns - delay_ns
        delays_ns = dict.fromkeys(DELAYS, delay_ns) if overhead else None
        demand = Demand(gpus)
        specs.append(
            JobSpec(
                str(number),
                seconds_to_ns(submit_s),
                demand,
                iterations,
                compute_ns,
                model,
                delays_ns=delays_ns,
            )
        )
    return specs


# --- semantics, and runs under them


@dataclass(frozen=True, slots=True)
class Semantics:
    """Differences between two simulators that run the same jobs under the same policy.

    Attributes
    ----------
    policy
        A shipped policy by the name of its YAML file.
    changed
        Parameters of it that differ from the file.
    stretch
        Iteration time relative to that of the trace.
    first_fit
        Jobs are placed by `FirstFit`: those of fifo once, those of srtf and srsf again at every instant.
    leaves_ns
        Tiresias' queues are those of `RunningFirst`; when a job leaves one.
    keep
        A stopped or moved job continues inside its iteration.
    overhead
        Every running job loses its overhead at every instant.
    last_free
        The interval in which a job completes costs no overhead.
    """

    policy: str
    changed: Mapping[str, Any] | None = None
    stretch: float = 1.0
    first_fit: bool = False
    leaves_ns: Callable[[int, int, int], int] | None = None
    keep: bool = False
    overhead: bool = False
    last_free: bool = False

    def make_policy(self, jobs: Sequence[JobSpec]) -> Policy:
        """Return a new policy for these jobs."""
        if self.leaves_ns is not None:
            return RunningFirst(self.leaves_ns, touch=self.overhead)
        if self.first_fit:
            return FirstFit(self._key(jobs), stay=self.policy == "fifo", touch=self.overhead)
        node = composed([f"policy={self.policy}"])["policy"] | dict(self.changed or {})
        policy: Policy = part(node, "policy", ("decide",))
        return policy

    def _key(self, jobs: Sequence[JobSpec]) -> Key:
        """Return arrival, remaining time, or time x GPUs; less the shortening of `last_free`."""
        if self.policy == "fifo":
            return lambda columns: columns.job
        off = [(job.delays_ns or {}).get("start", 0) if self.last_free else 0 for job in jobs]
        taken_off = np.array(off, dtype=np.int64)

        def remaining(columns: JobColumns) -> Ints:
            left: Ints = columns.remaining_ns + taken_off[columns.job]
            return left * columns.gpus if self.policy == "srsf" else left

        return remaining


@dataclass(frozen=True, slots=True)
class Answer:
    """Completion times in seconds: mean, sorted[int(0.99 n)]; and the last completion."""

    mean_s: float
    p99_s: float
    makespan_s: float


@dataclass(frozen=True, slots=True)
class Case:
    """A run of another program, and the way from our semantics to its own.

    Attributes
    ----------
    work
        The jobs, from the folder of reference material.
    machines, gpus
        Equal machines, and GPUs of each.
    steps
        Differences switched on one after the other, and the semantics from there on.
    theirs
        The other program's answer.
    """

    work: Callable[[Path], Work]
    machines: int
    gpus: int
    steps: Sequence[tuple[str, Semantics]]
    theirs: Answer
    remark: str = ""


def run(case: Case, semantics: Semantics, shared: Path) -> Answer:
    """Run the jobs of a case under some semantics."""
    jobs = job_specs(
        case.work(shared),
        stretch=semantics.stretch,
        overhead=semantics.overhead,
        last_free=semantics.last_free,
    )
    machines = [Machine(f"m{i}", 0, "machine", case.gpus, cpus=case.gpus) for i in range(case.machines)]
    fabric = load_topology(data_path("topologies", "dgx_h100_3tier.yaml")).fabric
    performance = PlacedPerformance(ZeroModel(), fabric, fabric.system, get_profile)
    overheads = Overheads(on_stop="keep" if semantics.keep else "lose_iteration")
    policy = semantics.make_policy(jobs)
    return answer(Engine(jobs, Cluster(machines), policy, performance, overheads=overheads).run())


def answer(result: RunResult) -> Answer:
    """Return the figures of a run that the tables show."""
    finish_ns = result.columns["finish_ns"]
    times_ns = np.sort(finish_ns - result.columns["submit_ns"])
    return Answer(
        ns_to_seconds(sum(times_ns.tolist())) / len(times_ns),  # Python's integers: the sum may pass 2^63
        ns_to_seconds(int(times_ns[int(0.99 * len(times_ns))])),
        ns_to_seconds(int(finish_ns.max())),
    )


# --- the cases

_Change = tuple[str, Mapping[str, Any]]
_STRETCH: _Change = ("iterations take 1.015 times as long", {"stretch": 1.015})
_KEEP: _Change = ("a stop or a move loses no open iteration", {"keep": True})
_CONSOLIDATE: _Change = ("jobs must consolidate", {"changed": {"placement": "consolidate_machine"}})
_IGNORE: _Change = ("placement ignored", {"changed": {"placement_high_skew": "best_fit"}})
_ANEW: _Change = ("all placed again at every instant, first fit", {"first_fit": True})
_FIRST_FIT: _Change = ("the first machine with room, not the fullest", {"first_fit": True})
_WHOLE_SECONDS: _Change = ("a queue is left at whole seconds", {"leaves_ns": at_whole_second})
_TOO_LATE: _Change = ("a queue is left late: s taken for GPU-s", {"leaves_ns": too_late})
_OVERHEAD: _Change = ("overhead for all that run, at every instant", {"overhead": True})
_LAST_FREE: _Change = ("none in the interval of the completion", {"last_free": True})

_ROOM_FOR_ALL = "There is room for all: every policy must give the mean duration."
_RAN = "Not in reference/peers: their program was run for it."


def _steps(policy: str, *changes: _Change) -> list[tuple[str, Semantics]]:
    """Return the shipped semantics of a policy, then each change on top of those before it."""
    steps = [(f"ours: policy={policy}, defaults", Semantics(policy))]
    for label, fields in changes:
        steps.append((label, replace(steps[-1][1], **fields)))
    return steps


def _muri(policy: str, trace: str, theirs: Answer, remark: str = "", *, at_zero: bool = False) -> Case:
    """Return a run of Muri's program, on 8 machines of 8 GPUs."""
    queues = (_IGNORE, _WHOLE_SECONDS)
    changes: Sequence[_Change] = queues if policy == "tiresias_open" else (_CONSOLIDATE, _ANEW)
    steps = _steps(policy, _STRETCH, _KEEP, *changes, _OVERHEAD, _LAST_FREE)
    return Case(lambda shared: muri_work(shared, trace, at_zero=at_zero), 8, 8, steps, theirs, remark)


def _tiresias(policy: str, machines: int, theirs: Answer, remark: str, *changes: _Change) -> Case:
    """Return a run of Tiresias' program, on machines of 4 GPUs."""
    return Case(tiresias_work, machines, 4, _steps(policy, *changes), theirs, remark)


CASES: Mapping[str, Case] = {
    "muri-srtf": _muri("srtf", "trace3", Answer(193_081.796, 4_538_890.607, 8_174_135.280)),
    "muri-srsf": _muri("srsf", "trace3", Answer(185_021.880, 4_189_699.177, 8_174_135.280)),
    "muri-tiresias": _muri("tiresias_open", "trace3", Answer(347_213.248, 4_983_397.254, 8_174_226.280)),
    "muri-srtf-trace1": _muri("srtf", "trace1", Answer(1_370_603.198, 16_647_148.090, 26_045_465.533), _RAN),
    "muri-srsf-trace1": _muri("srsf", "trace1", Answer(980_140.570, 15_529_913.228, 26_065_759.045), _RAN),
    "muri-tiresias-trace1": _muri(
        "tiresias_open", "trace1", Answer(3_330_371.307, 14_739_851.505, 23_556_410.217), _RAN
    ),
    "muri-srtf-trace1-at-zero": _muri(
        "srtf", "trace1", Answer(2_303_543.816, 19_871_388.291, 24_513_543.938), _RAN, at_zero=True
    ),
    "muri-srsf-trace1-at-zero": _muri(
        "srsf", "trace1", Answer(1_801_859.995, 18_267_307.811, 24_272_529.593), _RAN, at_zero=True
    ),
    "muri-tiresias-trace1-at-zero": _muri(
        "tiresias_open", "trace1", Answer(6_921_682.793, 21_765_400.784, 21_990_477.824), _RAN, at_zero=True
    ),
    "tiresias-fifo": _tiresias("fifo", 15, Answer(178.41667, 1800, 3271), _ROOM_FOR_ALL),
    "tiresias-dlas": _tiresias("tiresias_open", 15, Answer(178.41667, 1800, 3271), _ROOM_FOR_ALL),
    "tiresias-fifo-16": _tiresias("fifo", 4, Answer(219.18333, 1870, 3341), _RAN, _CONSOLIDATE, _FIRST_FIT),
    "tiresias-dlas-16": _tiresias("tiresias_open", 4, Answer(190.68333, 1800, 3271), _RAN, _TOO_LATE),
}


# --- the tables


def off(ours: Answer, theirs: Answer) -> float:
    """Return the difference of the means relative to theirs."""
    return ours.mean_s / theirs.mean_s - 1


def table(name: str, case: Case, ours: Sequence[Answer]) -> str:
    """Return the table of a case, an answer a step: diff in % of theirs, step in % of the row above."""
    lines = [f"{name}: {case.machines} x {case.gpus} GPUs. {case.remark}".rstrip()]
    lines += [f"{'':50}{'mean JCT s':>13}{'diff %':>9}{'step %':>9}{'p99 s':>13}{'makespan s':>13}"]
    for i, (label, _) in enumerate(case.steps):
        step = f"{100 * off(ours[i], ours[i - 1]):z.3f}" if i else ""
        difference = f"{100 * off(ours[i], case.theirs):z.3f}"
        lines.append(_line(f"{'+ ' if i else ''}{label}", ours[i], difference, step))
    return "\n".join([*lines, _line("theirs", case.theirs)])


def _line(label: str, a: Answer, difference: str = "", step: str = "") -> str:
    return f"{label:50}{a.mean_s:13,.1f}{difference:>9}{step:>9}{a.p99_s:13,.0f}{a.makespan_s:13,.0f}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables; return 1 if a case is further off than it may be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("shared", type=Path, help="folder of reference material and traces")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; default: all")
    arguments = parser.parse_args(argv)
    unknown = [name for name in arguments.cases if name not in CASES]
    if unknown:
        parser.error(f"no such case: {unknown[0]}; allowed: {', '.join(CASES)}")
    if not (arguments.shared / TRACES).is_dir():
        parser.error(f"no folder {arguments.shared / TRACES}; give the folder that holds {TRACES}")
    far: list[str] = []
    for name in arguments.cases or CASES:
        case = CASES[name]
        ours = [run(case, semantics, arguments.shared) for _, semantics in case.steps]
        print(table(name, case, ours), end="\n\n", flush=True)
        if abs(off(ours[-1], case.theirs)) > LARGEST_DIFFERENCE:
            far.append(name)
    if far:
        print(f"further off than {LARGEST_DIFFERENCE:.0%}: {', '.join(far)}", file=sys.stderr)
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main())
