"""Observer of pools of machines over time: sizes, GPUs held, needs, loans and reclaims, from events alone."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from artist.core.arrays import Floats, Ints
from artist.core.cluster import Allocation, Cluster, Group
from artist.core.compact_jobs import field_of
from artist.core.events import Change, Event, Finish, Gauges, MachineEvent, Start, Stop
from artist.core.job import JobSpec
from artist.core.result import RunResult
from artist.core.view import Signal
from artist.recording.names import ON_LOAN, POOLS_FILE, RECLAIMED
from artist.recording.topic import Table, Topic
from artist.units import NS_PER_S

_CLEARED = RECLAIMED[:3]


class Reclaims:
    """Counts of the instants at which machines returned to the pools that they began in.

    At such an instant a machine was idle before the policy acted (a job that finishes then has left before);
    else preempting, if a job that was on it was preempted; else flexible: its jobs shrank, or moved away.
    Only jobs that were on returned machines count as preempted by the reclaim, also if they start again at
    the same instant. Their collateral is the GPUs held on machines that do not return (the Lyra paper,
    section 7.3: "GPUs vacated in excess of the reclaiming demand").

    Attributes
    ----------
    counts
        Machines returned so far, by how they were cleared, and preempted jobs; the keys are RECLAIMED.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._home = [machine.pool for machine in cluster.machines]
        self._gpus = [machine.gpus for machine in cluster.machines]
        self._before: dict[int, Allocation | None] = {}  # by job that changed: held when the instant began
        self._left = 0  # jobs that ran then, and finished or were evicted
        self._preempted: dict[int, None] = {}
        self._pool_before: dict[int, str] = {}  # by machine that changed its pool
        self._collateral_gpus = self._returned_gpus = 0
        self.counts = dict.fromkeys(RECLAIMED, 0)
        self._of_running: list[float] = []  # a number for each instant at which a machine had to be cleared
        self._flexible_met: list[float] = []

    def change(self, job: int, held: Allocation | None) -> None:
        """Record that a job starts, or changes or loses its allocation."""
        self._before.setdefault(job, held)

    def preempt(self, job: int, held: Allocation) -> None:
        """Record that a job is preempted."""
        self._before.setdefault(job, held)
        self._preempted[job] = None

    def leave(self, job: int, held: Allocation) -> None:
        """Record that a job finishes, or is evicted: the policy did not cause it."""
        self._left += self._before.get(job, held) is not None
        self._before[job] = None

    def assign(self, machine: int, pool: str) -> None:
        """Record that a machine leaves a pool."""
        self._pool_before.setdefault(machine, pool)

    def close_instant(self, pools: Sequence[str], running: int) -> None:
        """Count the reclaims of an instant.

        Parameters
        ----------
        pools
            Pool of each machine after it.
        running
            Jobs that ran before it.
        """
        if self._pool_before:
            home = self._home
            returned = {m: "idle" for m, pool in self._pool_before.items() if pool != home[m] == pools[m]}
            if returned:
                self._count(returned, running - self._left)
        self._left = 0
        self._before.clear()
        self._preempted.clear()
        self._pool_before.clear()

    def summary(self) -> Mapping[str, Any]:
        """Return the counts; means are None if no machine returned, or none had to be cleared.

        `machines` that returned were `idle`, `flexible` or `preempting`; `preempted_jobs` were on these.
        `of_running` and `flexible_met` are means over the instants at which a machine had to be cleared: of
        the preempted jobs / jobs that ran before, and of the flexible / all machines that had to be cleared.
        A machine whose jobs would have shrunk counts as preempting if one of them was preempted for another
        machine, so `flexible_met` is at most the share met by the flexible group. `collateral` is the
        collateral GPUs / the GPUs of all machines that returned, the idle ones too.
        """
        return {
            "machines": sum(self.counts[how] for how in _CLEARED),
            **self.counts,
            "of_running": _mean(self._of_running),
            "flexible_met": _mean(self._flexible_met),
            "collateral_gpus": self._collateral_gpus,
            "collateral": self._collateral_gpus / self._returned_gpus if self._returned_gpus else None,
        }

    def _count(self, returned: dict[int, str], running: int) -> None:
        """Count the returned machines, by how they were cleared; idle ones are marked so far."""
        preempted = 0
        for job, before in self._before.items():
            left = [s.machine for s in before.slices if s.machine in returned] if before else []
            if left and job in self._preempted:
                preempted += 1
                assert before is not None
                self._collateral_gpus += sum(s.gpus for s in before.slices if s.machine not in returned)
            for machine in left:
                if job in self._preempted:
                    returned[machine] = "preempting"
                elif returned[machine] == "idle":
                    returned[machine] = "flexible"
        cleared = Counter(returned.values())
        for how in _CLEARED:
            self.counts[how] += cleared[how]
        self.counts["preempted_jobs"] += preempted
        self._returned_gpus += sum(self._gpus[machine] for machine in returned)
        had_to = cleared["flexible"] + cleared["preempting"]
        if had_to:
            self._of_running.append(preempted / running)
            self._flexible_met.append(cleared["flexible"] / had_to)


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


_PRESENT = {"fail": False, "left": False, "join": True}
_COUNTED = ("machines", "gpus", "held")
_EVER = 2**62
_ROUNDING = 1e-9  # of machines: 0.07 of 100 is 7, though 100 * 0.07 is more


def has_pools(cluster: Cluster) -> bool:
    """Return whether the machines begin in several pools."""
    return len({machine.pool for machine in cluster.machines}) > 1


class Pools(Topic):
    """Observer of machines and GPUs by pool; close it when the run has ended.

    A pool of whose name there is a signal serves something else: the signal is the share of its machines that
    this uses. With N machines that begin in the pool it needs ceil(N x max(v, next v)) from one sample to the
    next, because use moves from v to the next v meanwhile; none before the first sample. It is short by the
    machines that it needs beyond those that are in the pool then and on which no job holds GPUs.

    Parameters
    ----------
    jobs
        The engine's jobs in its order; an event's job is an index into them.
    signals
        Series by name, known to the end of the run.

    Attributes
    ----------
    on_loan_ns : array
        By job: time for which it held something on a machine that was not in the pool that it began in.
    reclaims
        Machines that returned to the pools that they began in.
    times_ns, columns
        Of a closed run: step functions, shape (n,), the last row at its end. By pool x `x_machines` and
        `x_gpus` that are there, and `x_held`, GPUs held by jobs; by signal x `x_needed`, machines,
        and `x_taken`, those of the pool with jobs, if there ever are any; and `reclaimed_x`, the counts of
        `reclaims` up to then.
    """

    def __init__(self, jobs: Sequence[JobSpec], cluster: Cluster, signals: Mapping[str, Signal]) -> None:
        self._submit_ns = list(field_of(jobs, "submit_ns"))
        self._machines = cluster.machines
        self._home = [machine.pool for machine in cluster.machines]
        self._signals = {name: signal for name, signal in signals.items() if name in self._home}
        self._pool = list(self._home)  # and all that follows: now
        self._present = [machine.present for machine in cluster.machines]
        self._on = [0] * len(cluster)  # GPUs held, by machine
        self._held: dict[int, Allocation] = {}
        self._groups: dict[Group, int] = {}  # members
        self._away: dict[int, int] = {}  # jobs on loan -> since when
        self._counts: dict[str, list[int]] = {}  # by pool: machines, GPUs, GPUs held
        self._row_ns = array("q")
        self._rows: dict[str, tuple[array[int], array[int], array[int]]] = {}  # of these counts
        self._taken = dict.fromkeys(self._signals, 0)  # machines that are there with GPUs held, by pool
        self._taken_rows = {name: array("q") for name in self._signals}
        self._reclaimed = {what: array("q") for what in RECLAIMED}  # totals by row
        self._open_ns = self._running_before = 0
        self._changed = True
        self.on_loan_ns = array("q", bytes(8 * len(jobs)))
        self.reclaims = Reclaims(cluster)
        self.times_ns = np.zeros(0, dtype=np.int64)
        self.columns: dict[str, Ints] = {}
        self._own_use: dict[str, Floats] = {}  # GPUs that the pool's own service uses, as these columns
        for machine in range(len(cluster)):
            self._add(machine, 1)

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        """Follow the events of one instant, in order."""
        if time_ns != self._open_ns:
            self._close_instant()
            self._open_ns = time_ns
        for event in events:
            if isinstance(event, (Start, Change)):
                self.reclaims.change(event.job, self._let_go(event.job))
                self._hold(event.job, event.allocation)
            elif isinstance(event, (Finish, Stop)):
                held = self._let_go(event.job)
                assert held is not None
                by_policy = isinstance(event, Stop) and event.reason == "preempted"
                (self.reclaims.preempt if by_policy else self.reclaims.leave)(event.job, held)
            elif isinstance(event, MachineEvent):
                self._move(event)

    def close(self, end_ns: int) -> None:
        """End the run: count loans that last, and make the columns."""
        self._close_instant()
        for job, since in self._away.items():
            self.on_loan_ns[job] += end_ns - since
        self._away.clear()
        samples = [signal.up_to(end_ns)[0] for signal in self._signals.values()]
        self.times_ns = np.unique(np.concatenate([np.array(self._row_ns), [end_ns], *samples]))
        row = np.searchsorted(np.array(self._row_ns), self.times_ns, side="right") - 1
        for pool, rows in self._rows.items():
            for what, column in zip(_COUNTED, rows, strict=True):
                self.columns[f"{pool}_{what}"] = np.array(column)[row]
        for what, totals in self._reclaimed.items():
            self.columns[f"reclaimed_{what}"] = np.array(totals)[row]
        for name, counts in self._taken_rows.items():
            if any(counts):
                self.columns[f"{name}_taken"] = np.array(counts)[row]
        for name, signal in self._signals.items():
            self._follow(name, *signal.up_to(_EVER))

    def tables(self) -> Mapping[str, Table]:
        """Return the pools over time, of a closed run."""
        return {POOLS_FILE: Table(self.times_ns, self.columns)}

    def job_columns(self, result: RunResult) -> Mapping[str, Floats]:
        """Return for each job the time that it held machines on loan, in s."""
        return {ON_LOAN: np.array(self.on_loan_ns) / NS_PER_S}

    def summary_entries(self, result: RunResult) -> Mapping[str, Any]:
        """Return `summary`."""
        return self.summary()

    def summary(self) -> dict[str, Any]:
        """Return the summary of a closed run.

        `x_short` by signal x: `server_s`, the integral over time of the machines by which its pool is short,
        in machine-seconds, and `worst_servers`, the most machines at a time.
        `reclaims`: see `Reclaims`. `pools`: shares of GPUs, counted as they are, not by replacement ratio,
        over the time from the first to the last arrival (the time in which a run drains does not measure its
        use); None without such time or GPUs:

        training_held
            Held, of the GPUs in pools without a signal: those on loan count while they are there.
        on_loan_held
            Held, of the GPUs in pools in which no machine begins.
        on_loan_machines
            Mean number of the machines in these pools.
        combined
            Held by jobs or used by the services of the signals, of all GPUs.
        """
        entries: dict[str, Any] = {f"{name}_short": self._short(name) for name in self._signals}
        training = [pool for pool in self._rows if pool not in self._signals]
        on_loan = [pool for pool in training if pool not in self._home]
        used = sum(self._own_use.values(), start=self._sum(self._rows, "held").astype(float))
        return entries | {
            "pools": {
                "training_held": self._share(self._sum(training, "held"), self._sum(training, "gpus")),
                "on_loan_held": self._share(self._sum(on_loan, "held"), self._sum(on_loan, "gpus")),
                "on_loan_machines": self._share(self._sum(on_loan, "machines"), np.ones_like(self.times_ns)),
                "combined": self._share(used, self._sum(self._rows, "gpus")),
            },
            "reclaims": self.reclaims.summary(),
        }

    # --- changes of a job, or a machine

    def _hold(self, job: int, allocation: Allocation) -> None:
        self._held[job] = allocation
        group = allocation.group
        if group is None:
            for s in allocation.slices:
                self._take(s.machine, s.gpus)
        else:
            self._groups[group] = members = self._groups.get(group, 0) + 1
            if members == 1:
                for machine, gpus in group.gpus:
                    self._take(machine, gpus)
        pool, home = self._pool, self._home
        if any(pool[s.machine] != home[s.machine] for s in allocation.slices):
            self._away[job] = self._open_ns

    def _let_go(self, job: int) -> Allocation | None:
        """Remove and return the allocation of a job, if it has one."""
        allocation = self._held.pop(job, None)
        if allocation is None:
            return None
        group = allocation.group
        if group is None:
            for s in allocation.slices:
                self._take(s.machine, -s.gpus)
        else:
            self._groups[group] -= 1
            if not self._groups[group]:
                del self._groups[group]
                for machine, gpus in group.gpus:
                    self._take(machine, -gpus)
        since = self._away.pop(job, None)
        if since is not None:
            self.on_loan_ns[job] += self._open_ns - since
        return allocation

    def _take(self, machine: int, gpus: int) -> None:
        before = self._on[machine]
        self._on[machine] = before + gpus
        self._counts[self._pool[machine]][2] += gpus
        if not before or not before + gpus:
            self._count_taken(machine, 1 if before + gpus else -1)
        self._changed = True

    def _move(self, event: MachineEvent) -> None:
        """Record that a machine changes its pool, joins or leaves."""
        machine, present = event.machine, _PRESENT.get(event.type)
        if event.type == "assign":
            self.reclaims.assign(machine, self._pool[machine])
            self._add(machine, -1)
            self._pool[machine] = event.pool
            self._add(machine, 1)
        elif present is not None and present != self._present[machine]:
            self._add(machine, -1)
            self._present[machine] = present
            self._add(machine, 1)

    def _add(self, machine: int, sign: int) -> None:
        """Add a machine, if present, and the GPUs held on it to its pool, or remove them."""
        pool, gpus = self._pool[machine], self._machines[machine].gpus
        if pool not in self._counts:
            self._counts[pool] = [0, 0, 0]
            before = bytes(8 * len(self._row_ns))
            self._rows[pool] = (array("q", before), array("q", before), array("q", before))
        present = sign * self._present[machine]
        for i, amount in enumerate((present, present * gpus, sign * self._on[machine])):
            self._counts[pool][i] += amount
        if self._on[machine]:
            self._count_taken(machine, sign)
        self._changed = True

    def _count_taken(self, machine: int, sign: int) -> None:
        """Add a machine with jobs, if it is there, to its pool, or remove it."""
        if self._pool[machine] in self._taken:
            self._taken[self._pool[machine]] += sign * self._present[machine]

    def _close_instant(self) -> None:
        self.reclaims.close_instant(self._pool, self._running_before)
        self._running_before = len(self._held)
        if self._changed:
            self._row_ns.append(self._open_ns)
            for pool, rows in self._rows.items():
                for column, count in zip(rows, self._counts[pool], strict=True):
                    column.append(count)
            for name, rows_taken in self._taken_rows.items():
                rows_taken.append(self._taken[name])
            for what, total in self.reclaims.counts.items():
                self._reclaimed[what].append(total)
            self._changed = False

    # --- numbers of a closed run

    def _follow(self, name: str, times_ns: Ints, values: Floats) -> None:
        """Make the columns of a signal."""
        following = np.append(values[1:], values[-1:])
        needed = np.ceil(self._home.count(name) * np.maximum(values, following) - _ROUNDING)
        at = np.searchsorted(times_ns, self.times_ns, side="right")  # 0 before the first sample
        self.columns[f"{name}_needed"] = np.append([0], needed.astype(np.int64))[at]
        gpus = sum(m.gpus for m in self._machines if m.pool == name)
        idle = self.columns[f"{name}_gpus"] - self.columns[f"{name}_held"]
        self._own_use[name] = np.minimum(gpus * np.append([0.0], values)[at], idle)

    def _short(self, name: str) -> dict[str, Any]:
        available = self.columns[f"{name}_machines"] - self.columns.get(f"{name}_taken", 0)
        short = (self.columns[f"{name}_needed"] - available)[:-1].clip(0)
        spans_ns = np.diff(self.times_ns)
        product = zip(short[short > 0].tolist(), spans_ns[short > 0].tolist(), strict=True)  # may pass 2^63
        server_ns = sum(machines * span_ns for machines, span_ns in product)
        return {"server_s": server_ns / NS_PER_S, "worst_servers": int(short.max(initial=0))}

    def _sum(self, pools: Iterable[str], what: str) -> Ints:
        none = np.zeros(len(self.times_ns), dtype=np.int64)
        return sum((self.columns[f"{pool}_{what}"] for pool in pools), start=none)

    def _share(self, part: Ints | Floats, whole: Ints) -> float | None:
        """Return the integral of a column over that of another, from the first to the last arrival."""
        first, last = self._submit_ns[0], self._submit_ns[-1]
        spans = np.diff(self.times_ns.clip(first, last)).astype(float)
        of_whole = math.fsum(whole[:-1] * spans)  # rounds once, so it is the same on every processor
        return math.fsum(part[:-1] * spans) / of_whole if of_whole else None
