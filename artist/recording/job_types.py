"""GPU jobs and CPU jobs side by side: waiting jobs and held CPUs over time, and their numbers in a summary.

CPU jobs are those that ask for no GPUs (CODA, ICDCS 2020).
"""

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from operator import mul
from typing import Any

import numpy as np
import numpy.typing as npt

from artist.core.arrays import Bools, Floats, Ints
from artist.core.cluster import Allocation, Cluster, Group, Slice
from artist.core.compact_jobs import field_of, templates_of
from artist.core.events import Arrival, Change, Event, Finish, Gauges, MachineEvent, Reprice, Start, Stop
from artist.core.job import JobSpec
from artist.core.result import RunResult
from artist.recording.metrics import distribution
from artist.recording.names import CORES_FILE, CPU_COLUMNS
from artist.recording.starved import Starved
from artist.recording.topic import Table, Topic
from artist.units import NS_PER_S

Drawn = Callable[[JobSpec, Allocation, Slice], float]

GPU, CPU = 0, 1  # types of jobs
BANDWIDTH_THRESHOLD = 0.75  # of a machine's memory bandwidth (CODA, section V-D)

Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]

_WITHIN = {"within_10s": 10, "within_3min": 180}  # seconds
_OVER = {"over_10min": 600, "over_1h": 3600}
_AT_A_TIME = 1000  # instants
_ONE = 1 << 40  # parts of a GPU: whole numbers, so that sums come back to 0 exactly
_ROUNDING = 1e-9  # of the threshold: jobs that are capped to draw just as much as that do not pass it
_ROW = (  # columns of a row, and those that are not written
    "gpu_jobs_waiting",
    "cpu_jobs_waiting",
    "cpus_of_gpu_jobs",
    "cpus_of_cpu_jobs",
    "capacity_cpus",
    "starved_gpus",
    "gpus_used",
    "bandwidth_bytes_per_s",
    "capacity_bytes_per_s",
    "busy_gpus",
    "capacity_gpus",
    "crowded",
    "training",
    "starved_asked",
)
_INNER = _ROW[-5:]
_WORKS = {"fail": False, "left": False, "leave": False, "join": True}
_THERE = {"fail": False, "left": False, "join": True}


def has_cpu_jobs(jobs: Sequence[JobSpec]) -> bool:
    """Return whether any job asks for no GPUs."""
    return any(not spec.demand.gpus for spec in templates_of(jobs))


class JobTypes(Topic):
    """Observer of jobs by type, CPUs and memory bandwidth; close it when the run has ended.

    Parameters
    ----------
    jobs, cluster
        The engine's; an event's job is an index into them.
    drawn
        Memory bandwidth in bytes/s that a job draws on one of its slices (`Performance.drawn`).
    min_cpus_per_gpu
        See `Starved`.

    Attributes
    ----------
    times_ns, columns
        Of a closed run: step functions, shape (n,), the last row at its end.

        gpu_jobs_waiting, cpu_jobs_waiting
            Jobs that were submitted, are not finished and hold nothing.
        cpus_of_gpu_jobs, cpus_of_cpu_jobs, capacity_cpus
            CPUs held, and those of the machines that are there.
        starved_gpus
            Idle GPUs for lack of CPUs while a GPU job waits (`Starved`).
        gpus_used
            Sum over jobs of GPUs held x compute / iteration time x the share of its compute time in which
            a job keeps GPUs busy; nothing while a delay lasts. Its integral is the run's GPU utilisation.
        bandwidth_bytes_per_s, capacity_bytes_per_s
            Memory bandwidth that jobs draw, in delays too, and that of the machines that are there. Jobs
            may want more than there is.
    inner
        Likewise, columns that are not written: `busy_gpus` that jobs hold; `capacity_gpus` that are there;
        machines `training`, of known memory bandwidth and with GPU jobs; those of them `crowded`, whose jobs
        draw more than BANDWIDTH_THRESHOLD of it; and `starved_asked`, GPUs starved by the CPUs that jobs ask
        for.
    cpus_last : array
        By job, of a closed run: CPUs that it held last, or holds; -1 if it never held anything.
    retunes
        Of a closed run: how often GPU jobs got other CPUs on the same GPUs.
    without_cpus
        Of a closed run: GPU jobs that held GPUs, and no CPUs, on machines that have some.
    """

    rates = True  # asks the engine for changes of iteration time

    def __init__(
        self,
        jobs: Sequence[JobSpec],
        cluster: Cluster,
        drawn: Drawn,
        min_cpus_per_gpu: float | None = None,
    ) -> None:
        self.times_ns = np.zeros(0, dtype=np.int64)
        self.columns: dict[str, Numbers] = {}
        self.inner: dict[str, Numbers] = {}
        self.cpus_last = array("q", [-1]) * len(jobs)
        self.retunes = 0
        self.without_cpus: set[int] = set()
        self._jobs = jobs
        self._type = bytes(GPU if demand.gpus else CPU for demand in field_of(jobs, "demand"))
        self._drawn_by = drawn
        self._machines = cluster.machines
        decides = min_cpus_per_gpu is not None
        self._starved = [Starved(cluster, min_cpus_per_gpu), *[Starved(cluster)] * decides]
        self._held: dict[int, Allocation] = {}  # and all that follows: now
        self._groups: dict[Group, int] = {}  # members
        self._waiting, self._cpus = [0, 0], [0, 0]  # by job type
        self._uses: dict[int, int] = {}  # by GPU job: parts of GPUs that it keeps busy when no delay lasts
        self._delayed: dict[int, int] = {}  # jobs in delays -> until when
        self._delays: list[tuple[int, int]] = []  # a heap of (end, job); some no longer hold
        self._used = 0  # parts of GPUs
        self._draws: dict[int, list[tuple[int, int]]] = {}  # by job that draws: machine, bytes/s
        self._drawn = [0] * len(cluster)
        self._gpu_jobs = [0] * len(cluster)
        self._all_drawn = self._crowded = self._training = 0
        self._there = [False] * len(cluster)
        self._capacity = [0, 0]  # CPUs, bytes/s
        limit = BANDWIDTH_THRESHOLD * (1 + _ROUNDING)
        self._limits = [int(limit * m.memory_bandwidth_bytes_per_s) for m in cluster.machines]
        for machine, facts in enumerate(cluster.machines):
            self._come_or_go(machine, facts.present)
        self._told: list[tuple[int, Sequence[Event], Gauges]] = []
        self._gauges = Gauges(0, cluster.total_gpus, 0, 0)
        self._open_ns = 0
        self._row_ns, self._rows = array("q"), array("q")
        self._note = {
            Arrival: self._arrive,
            Start: self._start,
            Change: self._change,
            Reprice: self._price,
            Stop: self._stop,
            Finish: self._finish,
            MachineEvent: self._machine,
        }

    def tables(self) -> Mapping[str, Table]:
        """Return the columns over time, of a closed run."""
        return {CORES_FILE: Table(self.times_ns, self.columns)}

    def job_columns(self, result: RunResult) -> Mapping[str, Floats]:
        """Return `job_type_columns`."""
        return job_type_columns(result, self)

    def summary_entries(self, result: RunResult) -> Mapping[str, Any]:
        """Return `summarise_job_types`."""
        return summarise_job_types(result, self)

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        """Keep the events of one instant; many instants at a time are followed in half the time."""
        self._told.append((time_ns, events, gauges))
        if len(self._told) >= _AT_A_TIME:
            self._follow()

    def _follow(self) -> None:
        """Follow the events kept, in order."""
        note_of = self._note
        for time_ns, events, gauges in self._told:
            if time_ns != self._open_ns:
                self._advance(time_ns)
            for event in events:
                if (event_type := type(event)) in note_of:
                    note_of[event_type](event)  # type: ignore[operator]
            self._gauges = gauges
        self._told.clear()

    def close(self, end_ns: int) -> None:
        """End the run, and make the columns."""
        self._follow()
        self._advance(end_ns)
        self._close_instant()
        times_ns, rows = np.array(self._row_ns), np.array(self._rows).reshape(len(self._row_ns), -1)
        keep = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))
        keep[-1] = True  # the end of the run
        self.times_ns = times_ns[keep]
        named: dict[str, Numbers] = dict(zip(_ROW, np.ascontiguousarray(rows[keep].T), strict=True))
        named["gpus_used"] = named["gpus_used"] / _ONE
        self.inner = {name: named.pop(name) for name in _INNER}
        self.columns = named

    # --- changes of a job

    def _arrive(self, event: Arrival) -> None:
        self._wait(event.job)

    def _start(self, event: Start) -> None:
        self._waiting[self._type[event.job]] -= 1
        if self._type[event.job] == GPU:
            for starved in self._starved:
                starved.go(self._jobs[event.job].demand)
        self._hold(event)

    def _change(self, event: Change) -> None:
        job = event.job
        self._let_go(job)
        if event.type == "retune" and self._type[job] == GPU:
            self.retunes += 1
        self._hold(event)

    def _stop(self, event: Stop) -> None:
        self._finish(event)
        self._wait(event.job)

    def _finish(self, event: Finish | Stop) -> None:
        job = event.job
        self._let_go(job)
        if self._type[job] == GPU:
            self._use(job, 0)
            self._delayed.pop(job, None)

    def _wait(self, job: int) -> None:
        self._waiting[self._type[job]] += 1
        if self._type[job] == GPU:
            for starved in self._starved:
                starved.wait(self._jobs[job].demand)

    def _hold(self, event: Start | Change) -> None:
        """Record a job's allocation; its iteration time, which determines its use, follows."""
        job, allocation = event.job, event.allocation
        self._held[job] = allocation
        self.cpus_last[job] = self._take(job, allocation, 1)
        if not self.cpus_last[job] and any(self._machines[s.machine].cpus for s in allocation.slices):
            self.without_cpus.add(job)
        if event.delay_ns and self._type[job] == GPU:
            self._delay(job, event.time_ns + int(event.delay_ns))
        self._draw(job, allocation)

    def _let_go(self, job: int) -> None:
        self._take(job, self._held.pop(job), -1)
        if job in self._draws:
            for machine, amount in self._draws.pop(job):
                self._add_drawn(machine, -amount)

    def _take(self, job: int, allocation: Allocation, sign: int) -> int:
        """Take the resources of an allocation for a job, or return them; return its CPUs."""
        group, job_type, total = allocation.group, self._type[job], 0
        for machine, gpus, cpus, _ in allocation.slices:
            for starved in self._starved:
                starved.take(machine, 0 if group else sign * gpus, sign * cpus)
            total += int(cpus)
            if job_type == GPU:
                self._train(machine, sign)
        self._cpus[job_type] += sign * total
        if group is not None:
            members = self._groups.pop(group, 0)
            if members + sign:
                self._groups[group] = members + sign
            if not members or not members + sign:
                for starved in self._starved:
                    for machine, gpus in group.gpus:
                        starved.take(machine, sign * gpus, 0)
        return total

    # --- use and draw of jobs

    def _price(self, event: Reprice) -> None:
        job = event.job
        if self._type[job] == GPU:
            parts, spec = event.parts, self._jobs[job]
            gpus = int(int(self._held[job].gpus) * spec.gpu_utilization * _ONE)
            self._use(job, gpus * int(parts.compute_ns) // sum(parts))

    def _use(self, job: int, parts: int) -> None:
        """Record that a job uses parts of GPUs from now on, or when its delay ends."""
        before = self._uses.pop(job, 0)
        if parts:
            self._uses[job] = parts
        if job not in self._delayed:
            self._used += parts - before

    def _delay(self, job: int, until_ns: int) -> None:
        """Record that a job uses nothing until a delay ends."""
        known_ns = self._delayed.get(job)
        if known_ns is None:
            self._used -= self._uses.get(job, 0)
        if known_ns is None or until_ns > known_ns:
            self._delayed[job] = until_ns
            heappush(self._delays, (until_ns, job))

    def _draw(self, job: int, allocation: Allocation) -> None:
        """Record the draw, on its machines, of a job that draws nothing yet."""
        spec = self._jobs[job]
        for part in allocation.slices:
            amount = round(self._drawn_by(spec, allocation, part))
            if amount:
                self._draws.setdefault(job, []).append((part.machine, amount))
                self._add_drawn(part.machine, amount)

    def _add_drawn(self, machine: int, amount: int) -> None:
        was = self._is_crowded(machine)
        self._drawn[machine] += amount
        self._all_drawn += amount
        self._crowded += self._is_crowded(machine) - was

    def _train(self, machine: int, sign: int) -> None:
        """Count a GPU job on a machine, or no longer."""
        if self._limits[machine]:
            was = self._is_crowded(machine)
            before = self._gpu_jobs[machine]
            after = self._gpu_jobs[machine] = before + sign
            self._training += (after > 0) - (before > 0)
            self._crowded += self._is_crowded(machine) - was

    def _is_crowded(self, machine: int) -> bool:
        return self._gpu_jobs[machine] > 0 and self._drawn[machine] > self._limits[machine]

    # --- machines

    def _machine(self, event: MachineEvent) -> None:
        works, present = _WORKS.get(event.type), _THERE.get(event.type)
        if works is not None:
            for starved in self._starved:
                starved.open(event.machine, works)
        if present is not None:
            self._come_or_go(event.machine, present)

    def _come_or_go(self, machine: int, present: bool) -> None:
        if present != self._there[machine]:
            self._there[machine] = present
            facts, sign = self._machines[machine], 1 if present else -1
            self._capacity[0] += sign * int(facts.cpus)
            self._capacity[1] += sign * int(facts.memory_bandwidth_bytes_per_s)

    # --- rows

    def _advance(self, now: int) -> None:
        """Write the row of the instant that is open, and of those before `now` at which delays end."""
        while self._open_ns != now:
            self._close_instant()
            if not self._delays:
                self._open_ns = now
                break
            self._open_ns = min(now, self._delays[0][0])
            while self._delays and self._delays[0][0] == self._open_ns:
                _, job = heappop(self._delays)
                if self._delayed.get(job) == self._open_ns:
                    del self._delayed[job]
                    self._used += self._uses.get(job, 0)

    def _close_instant(self) -> None:
        cpus_there, speed_there = self._capacity
        starved = [counter.count() for counter in self._starved] if self._waiting[GPU] else [0]
        row = (
            *self._waiting,
            *self._cpus,
            cpus_there,
            starved[0],
            self._used,
            self._all_drawn,
            speed_there,
            self._gauges.busy_gpus,
            self._gauges.capacity_gpus,
            self._crowded,
            self._training,
            starved[-1],
        )
        self._row_ns.append(self._open_ns)
        self._rows.extend(row)


def job_type_columns(result: RunResult, job_types: JobTypes) -> dict[str, Floats]:
    """Return CPU_COLUMNS, shape (n_jobs,): CPUs asked for, and held last or still, NaN if never any."""
    last = np.array(job_types.cpus_last, dtype=np.float64)
    columns = _asked(result).astype(np.float64), np.where(last < 0, np.nan, last)
    return dict(zip(CPU_COLUMNS, columns, strict=True))


def summarise_job_types(result: RunResult, job_types: JobTypes) -> dict[str, Any]:
    """Return the entry `kinds` of the summary of a closed run; a share of nothing is None.

    Of finished jobs, of the window if there is one:

    gpu, cpu
        By job type the number of all `jobs` and of those `finished`; shares of the latter that waited not at
        all (`at_once`), at most 10 s, at most 3 min, more than 10 min, more than 1 h, stops included;
        `queueing_s`, the distribution of it; and `jct_s`, that of completion times.
    more_cpus, fewer_cpus
        Shares of the GPU jobs that asked for CPUs which held more, or fewer, when they finished.
    more_cpus_1_to_5, fewer_cpus_1_to_20
        Those which held at most 5 more, and at most 20 fewer (the CODA paper, Fig. 14).
    user_p99_gpu_s, user_p99_cpu_only_s
        The 99th percentile of the waiting of all jobs of a user, averaged over users with GPU jobs, and over
        those without.

    Of all jobs, over the whole run:

    aborted
        How often the policy stopped CPU jobs.
    cpu_lost
        Share of the time that CPU jobs ran whose work was lost, by a stop or a failure; each job counts with
        the CPUs that it asks for.
    without_cpus
        GPU jobs that held no CPUs at times (`JobTypes`).
    retunes_per_gpu_job
        How often GPU jobs got other CPUs on the same GPUs, over GPU jobs that ever started.

    Over the time from the first to the last arrival (how long a run drains does not reflect its use):

    `waiting` of gpu, cpu
        Mean number of jobs.
    gpu_active_queued, starved
        While GPU jobs wait: GPUs held, and starved (`Starved`), of the GPUs there. Where none ever waits,
        None is the share of GPUs held, and 0 of those starved.
    starved_asked
        As `starved`, but for every policy by the CPUs that jobs ask for. `starved` counts fewer where a
        policy decides itself how many a job gets.
    starved_all_time
        As `starved`, but over all of the time; where no GPU job waits no GPU is starved.
    gpu_utilization_active, gpu_utilization_queued
        GPUs used (`JobTypes`) of the GPUs held; the latter while GPU jobs wait.
    cpus_of_gpu_jobs, cpus_of_cpu_jobs, bandwidth
        CPUs held and memory bandwidth drawn, of those of the cluster.
    over_threshold
        Share of the time of machines with GPU jobs in which all jobs there draw more than BANDWIDTH_THRESHOLD
        of the machine's.
    """
    jobs = result.jobs[slice(*result.window)] if result.window else result.jobs
    window = slice(*result.window) if result.window else slice(None)
    names = ("queueing_ns", "submit_ns", "finish_ns")
    queueing, submit, finish = (result.columns[name][window] for name in names)
    jct = finish - submit
    with_gpus = np.array([spec.demand.gpus > 0 for spec in result.jobs], dtype=np.bool_)
    finished, of_gpu = finish >= 0, with_gpus[window]
    over = _Over(result, job_types)
    waits = over.columns["gpu_jobs_waiting"] > 0
    ever = bool(waits[:-1].any())
    users = _user_p99_s(list(field_of(jobs, "user")), queueing, finished, of_gpu)
    asked = _asked(result)[window]
    more = np.array(job_types.cpus_last)[window] - asked
    known = finished & of_gpu & (asked > 0)
    started = int((with_gpus & (result.columns["starts"] > 0)).sum())
    return {
        "kinds": {
            "gpu": _of_type(queueing, jct, finished, of_gpu) | {"waiting": over.mean("gpu_jobs_waiting")},
            "cpu": _of_type(queueing, jct, finished, ~of_gpu) | {"waiting": over.mean("cpu_jobs_waiting")},
            "gpu_active_queued": over.share("busy_gpus", "capacity_gpus", waits),
            "gpu_utilization_active": over.share("gpus_used", "busy_gpus"),
            "gpu_utilization_queued": over.share("gpus_used", "busy_gpus", waits),
            "starved": over.share("starved_gpus", "capacity_gpus", waits if ever else None),
            "starved_asked": over.share("starved_asked", "capacity_gpus", waits if ever else None),
            "starved_all_time": over.share("starved_gpus", "capacity_gpus"),
            "cpus_of_gpu_jobs": over.share("cpus_of_gpu_jobs", "capacity_cpus"),
            "cpus_of_cpu_jobs": over.share("cpus_of_cpu_jobs", "capacity_cpus"),
            "bandwidth": over.share("bandwidth_bytes_per_s", "capacity_bytes_per_s"),
            "over_threshold": over.share("crowded", "training"),
            "more_cpus": _part(known & (more > 0), known),
            "fewer_cpus": _part(known & (more < 0), known),
            "more_cpus_1_to_5": _part(known & (more > 0) & (more <= 5), known),
            "fewer_cpus_1_to_20": _part(known & (more < 0) & (more >= -20), known),
            "aborted": int(result.columns["preemptions"][~with_gpus].sum()),
            "cpu_lost": _lost(result, ~with_gpus),
            "without_cpus": len(job_types.without_cpus),
            "user_p99_gpu_s": users[0],
            "user_p99_cpu_only_s": users[1],
            "retunes_per_gpu_job": job_types.retunes / started if started else None,
        }
    }


class _Over:
    """Integrals of a closed run's columns, from the first to the last arrival."""

    def __init__(self, result: RunResult, job_types: JobTypes) -> None:
        first_ns, last_ns = result.jobs[0].submit_ns, result.jobs[-1].submit_ns
        self.columns = job_types.columns | job_types.inner
        self._spans_ns = np.diff(job_types.times_ns.clip(first_ns, last_ns)).astype(np.float64)

    def mean(self, name: str) -> float | None:
        """Return the mean of a column over time."""
        return self._ratio(self.columns[name][:-1], np.ones(len(self._spans_ns)))

    def share(self, part: str, whole: str, when: Bools | None = None) -> float | None:
        """Return the integral of a column over that of another, at some times or all."""
        counts = np.ones(len(self._spans_ns)) if when is None else when[:-1].astype(np.float64)
        return self._ratio(self.columns[part][:-1] * counts, self.columns[whole][:-1] * counts)

    def _ratio(self, part: Any, whole: Any) -> float | None:
        of_whole = math.fsum(whole * self._spans_ns)  # rounds once, so it is the same on every processor
        return math.fsum(part * self._spans_ns) / of_whole if of_whole else None


def _asked(result: RunResult) -> Ints:
    return np.array([spec.demand.cpus for spec in result.jobs], dtype=np.int64)


def _lost(result: RunResult, of: Bools) -> float | None:
    """Return the share of the CPU time of some jobs whose work was lost."""
    cpus = _asked(result)[of].tolist()
    lost, ran = (
        sum(map(mul, cpus, result.columns[name][of].tolist())) for name in ("lost_ns", "running_ns")
    )  # of Python's integers: sums may pass 2^63
    return lost / ran if ran else None


def _of_type(queueing_ns: Ints, jct_ns: Ints, finished: Bools, of_type: Bools) -> dict[str, Any]:
    """Return counts, the waiting and the completion times of the jobs of a type."""
    done = finished & of_type
    waits = {name: queueing_ns <= limit_s * NS_PER_S for name, limit_s in ({"at_once": 0} | _WITHIN).items()}
    waits |= {name: queueing_ns > limit_s * NS_PER_S for name, limit_s in _OVER.items()}
    return {
        "jobs": int(of_type.sum()),
        "finished": int(done.sum()),
        **{name: _part(done & waited, done) for name, waited in waits.items()},
        "queueing_s": distribution(queueing_ns[done]),
        "jct_s": distribution(jct_ns[done]),
    }


def _part(part: Bools, of: Bools) -> float | None:
    return int(part.sum()) / int(of.sum()) if of.any() else None


def _user_p99_s(
    users: Sequence[str], queueing_ns: Ints, finished: Bools, of_gpu: Bools
) -> tuple[float | None, float | None]:
    """Return the mean of users' 99th percentiles, of users with GPU jobs and of the others."""
    number = {user: i for i, user in enumerate(dict.fromkeys(users))}
    of_user = np.array([number[user] for user in users], dtype=np.int64)
    has_gpu_jobs = np.bincount(of_user, of_gpu, len(number)) > 0
    order = np.argsort(of_user, kind="stable")
    order = order[finished[order]]
    parts = np.split(queueing_ns[order], np.searchsorted(of_user[order], np.arange(1, len(number))))
    tails = [(float(np.percentile(part, 99)) / NS_PER_S if len(part) else None) for part in parts]
    both = ([t for t, gpu in zip(tails, has_gpu_jobs, strict=True) if gpu == g] for g in (True, False))
    known = ([t for t in of_type if t is not None] for of_type in both)
    gpu, cpu = (math.fsum(tails) / len(tails) if tails else None for tails in known)
    return gpu, cpu
