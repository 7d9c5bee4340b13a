"""The read-only face of the engine's state; `artist.core.view` defines each member."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from weakref import ref

import numpy as np

from artist.core.arrays import Bools, Floats, Ints
from artist.core.buckets import ALL
from artist.core.cluster import Allocation, Cluster
from artist.core.events import Event
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.plan import PlanBuilder
from artist.core.view import BeliefPerformance, Signal
from artist.engine.bandwidth import BandwidthMeter
from artist.engine.columns import Columns, Known
from artist.engine.jobs import JobTable
from artist.engine.lazy import lazy
from artist.engine.machines import MachineTable
from artist.errors import PlanError


@dataclass(frozen=True, slots=True)
class State:
    """State that all views of a run share."""

    jobs: JobTable
    machines: MachineTable
    known: Known
    belief: BeliefPerformance
    bandwidth: BandwidthMeter
    signals: Mapping[str, Signal]


class View:
    """One call's view; see `artist.core.view.ClusterView`."""

    def __init__(self, now: int, news: Sequence[Event], state: State) -> None:
        self.now_ns = now
        self.news = news
        self._state = state
        self._table = state.jobs
        self._machines = state.machines
        self._copies: list[ref[Free]] = []

    @lazy
    def jobs(self) -> Columns:
        return self._columns(self._table.unfinished())

    @lazy
    def waiting(self) -> Columns:
        return self._columns(self._table.waiting())

    @property
    def n_waiting(self) -> int:
        return self._table.n_unfinished - self._table.n_running

    @property
    def waiting_gpus(self) -> int:
        return self._table.waiting_gpus

    @property
    def cluster(self) -> Cluster:
        return self._machines.cluster

    @property
    def free_gpus(self) -> int:
        return self._machines.open_gpus

    @property
    def pools(self) -> Sequence[str]:
        return tuple(self._machines.pools)

    def in_pool(self, name: str) -> int:
        return self._machines.pool_sets.get(name, 0)

    @property
    def accepts(self) -> Bools:
        return np.frombuffer(self._machines.accepts, dtype=np.int8).astype(np.bool_)

    @property
    def all_open(self) -> bool:
        return not self._machines.closed

    @property
    def observed_bandwidth_bytes_per_s(self) -> Floats:
        return self._state.bandwidth.total()

    def observed_bandwidth_on(self, machine: int) -> Mapping[int, float]:
        return self._state.bandwidth.on(machine)

    @property
    def signals(self) -> Mapping[str, Signal]:
        past = {name: _Past(signal, self.now_ns) for name, signal in self._state.signals.items()}
        return _Signals(self._state.known.policy, past)

    @property
    def performance(self) -> BeliefPerformance:
        self._state.known.require("performance")
        return self._state.belief

    def free(self, among: int = ALL) -> Free:
        m = self._machines
        if among != ALL:
            return m.free_part(among)
        columns, open_gpus = (m.free_gpus, m.free_cpus, m.free_memory), m.open_gpus
        free = Free(m.cluster, *columns, buckets=m.buckets.copy(), total_gpus=open_gpus, owned=False)
        if m.closed:
            free.accepts = self.accepts
            for column in (free.gpus, free.cpus, free.memory_bytes):
                column *= free.accepts
        self._copies.append(ref(free))
        return free

    def close(self) -> None:
        """Make each `free` still in use an independent copy: the machines are about to change."""
        for copy in self._copies:
            free = copy()
            if free is not None:
                free.keep()

    def columns(self, jobs: Sequence[int], among: int = ALL) -> Columns:
        if len(jobs) and not 0 <= min(jobs) <= max(jobs) < self._table.n_arrived:
            raise self._unknown(next(job for job in jobs if not 0 <= job < self._table.n_arrived))
        return self._columns(np.array(jobs, dtype=np.int64), among)

    def _columns(self, rows: Ints, among: int = ALL) -> Columns:
        return Columns(self._table, self._machines, self._state.known, rows, self.now_ns, among)

    def _unknown(self, job: int) -> PlanError:
        """Return the error for a job that has not arrived."""
        name = self._state.known.policy
        return PlanError(f"policy {name} asks for job number {job}, which has not arrived")

    def demand(self, job: int) -> Demand:
        if not 0 <= job < self._table.n_arrived:
            raise self._unknown(job)
        return self._table.template[job].demand

    def allocation(self, job: int) -> Allocation | None:
        return self._table.held[job]

    def shift_ns(self, job: int) -> int:
        return self._table.shift_ns.get(job, 0)

    def jobs_on(self, machine: int) -> Sequence[int]:
        return tuple(self._machines.jobs_on[machine])

    def plan(self) -> PlanBuilder:
        return PlanBuilder()


class _Signals(dict[str, Signal]):
    """Signals by name; an unknown name is the policy's mistake."""

    def __init__(self, policy: str, signals: Mapping[str, Signal]) -> None:
        super().__init__(signals)
        self._policy = policy

    def __missing__(self, name: str) -> Signal:
        known = f"only {', '.join(self)}" if self else "none"
        raise PlanError(
            f"policy {self._policy} asks for signal {name!r}; there is {known} "
            "(signals=file signals.path=FILE)"
        )


class _Past:
    """A signal that does not look ahead."""

    def __init__(self, signal: Signal, now: int) -> None:
        self._signal = signal
        self._now = now

    def up_to(self, time_ns: int) -> tuple[Ints, Floats]:
        return self._signal.up_to(min(time_ns, self._now))

    def ended(self, time_ns: int) -> bool:
        return self._signal.ended(min(time_ns, self._now))
