"""GPU jobs and CPU jobs side by side over time: waiting jobs, and held CPUs, from events alone.

CPU jobs are those that ask for no GPUs (CODA, ICDCS 2020).
"""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from artist.core.cluster import Allocation, Cluster, Group, crosses_racks
from artist.core.compact_jobs import field_of, templates_of
from artist.core.events import Arrival, Change, Event, Finish, Gauges, MachineEvent, Reprice, Start, Stop
from artist.core.job import JobSpec
from artist.recording.starved import Starved

GPU, CPU = 0, 1  # kinds of jobs
BANDWIDTH_THRESHOLD = 0.75  # of a machine's memory bandwidth (CODA, section V-D)

Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]

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


class Kinds:
    """Observer of jobs by kind, CPUs and memory bandwidth; close it when the run has ended.

    Parameters
    ----------
    jobs, cluster
        The engine's; an event's job is an index into them.
    bandwidth
        What performance says that each job on a machine draws there (`Performance.bandwidth`). It is asked
        about one job at a time.
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
        Likewise, what is not written: `busy_gpus` that jobs hold; `capacity_gpus` that are there; machines
        `training`, of known memory bandwidth and with GPU jobs; those of them `crowded`, whose jobs draw more
        than BANDWIDTH_THRESHOLD of it; and `starved_asked`, GPUs starved by the CPUs that jobs ask for.
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
        bandwidth: Callable[[int, "Alone"], Mapping[int, float]],
        min_cpus_per_gpu: float | None = None,
    ) -> None:
        self.times_ns = np.zeros(0, dtype=np.int64)
        self.columns: dict[str, Numbers] = {}
        self.inner: dict[str, Numbers] = {}
        self.cpus_last = array("q", [-1]) * len(jobs)
        self.retunes = 0
        self.without_cpus: set[int] = set()
        self._jobs = jobs
        self._kind = bytes(GPU if demand.gpus else CPU for demand in field_of(jobs, "demand"))
        self._asked_bandwidth = bandwidth
        self._machines = cluster.machines
        self._alone = Alone(cluster, jobs)
        decides = min_cpus_per_gpu is not None
        self._starved = [Starved(cluster, min_cpus_per_gpu), *[Starved(cluster)] * decides]
        self._held: dict[int, Allocation] = {}  # and all that follows: now
        self._groups: dict[Group, int] = {}  # members
        self._waiting, self._cpus = [0, 0], [0, 0]  # by kind
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
                kind = type(event)
                if kind in note_of:
                    note_of[kind](event)  # type: ignore[operator]
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

    # --- what happens to a job

    def _arrive(self, event: Arrival) -> None:
        self._wait(event.job)

    def _start(self, event: Start) -> None:
        self._waiting[self._kind[event.job]] -= 1
        if self._kind[event.job] == GPU:
            for starved in self._starved:
                starved.go(self._jobs[event.job].demand)
        self._hold(event)

    def _change(self, event: Change) -> None:
        job = event.job
        self._let_go(job)
        if event.type == "retune" and self._kind[job] == GPU:
            self.retunes += 1
        self._hold(event)

    def _stop(self, event: Stop) -> None:
        self._finish(event)
        self._wait(event.job)

    def _finish(self, event: Finish | Stop) -> None:
        job = event.job
        self._let_go(job)
        if self._kind[job] == GPU:
            self._use(job, 0)
            self._delayed.pop(job, None)

    def _wait(self, job: int) -> None:
        self._waiting[self._kind[job]] += 1
        if self._kind[job] == GPU:
            for starved in self._starved:
                starved.wait(self._jobs[job].demand)

    def _hold(self, event: Start | Change) -> None:
        """Record what a job holds; its iteration time, which determines its use, follows."""
        job, allocation = event.job, event.allocation
        self._held[job] = allocation
        self.cpus_last[job] = self._take(job, allocation, 1)
        if not self.cpus_last[job] and any(self._machines[s.machine].cpus for s in allocation.slices):
            self.without_cpus.add(job)
        if event.delay_ns and self._kind[job] == GPU:
            self._delay(job, event.time_ns + int(event.delay_ns))
        self._draw(job, allocation)

    def _let_go(self, job: int) -> None:
        self._take(job, self._held.pop(job), -1)
        if job in self._draws:
            for machine, amount in self._draws.pop(job):
                self._add_drawn(machine, -amount)

    def _take(self, job: int, allocation: Allocation, sign: int) -> int:
        """Give a job what an allocation says, or take it back; return the CPUs of it."""
        group, kind, total = allocation.group, self._kind[job], 0
        for machine, gpus, cpus, _ in allocation.slices:
            for starved in self._starved:
                starved.take(machine, 0 if group else sign * gpus, sign * cpus)
            total += int(cpus)
            if kind == GPU:
                self._train(machine, sign)
        self._cpus[kind] += sign * total
        if group is not None:
            members = self._groups.pop(group, 0)
            if members + sign:
                self._groups[group] = members + sign
            if not members or not members + sign:
                for starved in self._starved:
                    for machine, gpus in group.gpus:
                        starved.take(machine, sign * gpus, 0)
        return total

    # --- what jobs use and draw

    def _price(self, event: Reprice) -> None:
        job = event.job
        if self._kind[job] == GPU:
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
        alone = self._alone
        alone.job, alone.held = job, allocation
        for each in allocation.slices:
            drawn = self._asked_bandwidth(each.machine, alone)
            if drawn:
                amount = round(drawn[job])
                self._draws.setdefault(job, []).append((each.machine, amount))
                self._add_drawn(each.machine, amount)

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
        works, there = _WORKS.get(event.type), _THERE.get(event.type)
        if works is not None:
            for starved in self._starved:
                starved.open(event.machine, works)
        if there is not None:
            self._come_or_go(event.machine, there)

    def _come_or_go(self, machine: int, there: bool) -> None:
        if there != self._there[machine]:
            self._there[machine] = there
            facts, sign = self._machines[machine], 1 if there else -1
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
        starved = [each.count() for each in self._starved] if self._waiting[GPU] else [0]
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


class Alone:
    """A job as if it ran alone, each in its turn; see `artist.performance.api.Running`."""

    def __init__(self, cluster: Cluster, jobs: Sequence[JobSpec]) -> None:
        self.cluster = cluster
        self.job = 0
        self.held = Allocation(())
        self._jobs = jobs

    def spec(self, job: int) -> JobSpec:
        """Return what is known of a job."""
        return self._jobs[job]

    def allocation(self, job: int) -> Allocation:
        """Return what the job holds."""
        return self.held

    def ready_ns(self, job: int) -> int:
        """Return when its delay ends: it has none."""
        return 0

    def shift_ns(self, job: int) -> int:
        """Return its shift: it has none."""
        return 0

    def jobs_on(self, machine: int) -> Iterable[int]:
        """Return the job."""
        return (self.job,)

    def crossing_machine(self, machine: int) -> Sequence[int]:
        """Return the job, if it is on several machines."""
        return (self.job,) if len(self.held.slices) > 1 else ()

    def crossing_rack(self, rack: int) -> Sequence[int]:
        """Return the job, if it is in several racks."""
        return (self.job,) if crosses_racks(self.held, self.cluster) else ()

    def members(self, group: str) -> Iterable[int]:
        """Return the job."""
        return (self.job,)
