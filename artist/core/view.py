"""Policies and their view of the cluster: read-only, with beliefs instead of truth."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from artist.core.arrays import Bools, Floats, Ints
from artist.core.buckets import ALL
from artist.core.cluster import Allocation, Cluster
from artist.core.events import Event
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.link_use import LinkUse
from artist.core.plan import Plan, PlanBuilder


class Totals(NamedTuple):
    """GPUs, CPUs and memory of some machines together, in use or not."""

    gpus: int
    cpus: int
    memory_bytes: int


class JobColumns(Protocol):
    """Unfinished jobs that have arrived, one row each, in order of arrival: arrays of shape (n,).

    A column is computed when it is asked for, in one vector expression, and then kept for the call.
    A column that the policy did not declare to know raises `PlanError`.
    """

    def __len__(self) -> int:
        """Return the number of rows."""

    @property
    def now_ns(self) -> int:
        """The time."""

    @property
    def capacity(self) -> Totals:
        """Resources of the machines that take new work, at least 1 of each so that one can divide by them."""

    @property
    def job(self) -> Ints:
        """Job number; smaller means arrived earlier, so it also breaks ties."""

    @property
    def submit_ns(self) -> Ints:
        """Arrival."""

    @property
    def gpus(self) -> Ints:
        """GPUs asked for."""

    @property
    def min_feasible_gpus(self) -> Ints:
        """Fewest GPUs that could ever be enough, for elastic or fungible jobs; else those asked for."""

    @property
    def running(self) -> Bools:
        """True for jobs that hold an allocation."""

    @property
    def held_gpus(self) -> Ints:
        """GPUs held now."""

    @property
    def held_ns(self) -> Ints:
        """Time it has held an allocation, delays included."""

    @property
    def attained_gpu_ns(self) -> Ints:
        """Attained service: integral of the GPUs held, delays included."""

    @property
    def waiting_since_ns(self) -> Ints:
        """Start of the present wait (arrival or the last stop); -1 while running."""

    @property
    def mean_unfinished(self) -> Floats:
        """Number of unfinished jobs, itself included, on average over the time since its arrival."""

    @property
    def starts(self) -> Ints:
        """Number of starts."""

    @property
    def iterations_done(self) -> Ints:
        """Whole iterations done."""

    @property
    def observed_iteration_ns(self) -> Ints:
        """Measured iteration time of running jobs; 0 while waiting."""

    @property
    def observed_gpu_utilization(self) -> Floats:
        """Measured share of its time in which each running job keeps its GPUs busy; 0 while waiting.

        The use of the same GPUs by other jobs is not counted, so the shares of packed jobs sum to at most 1.
        """

    @property
    def user(self) -> npt.NDArray[np.object_]:
        """Owner."""

    @property
    def vc(self) -> npt.NDArray[np.object_]:
        """Virtual cluster."""

    @property
    def account(self) -> npt.NDArray[np.object_]:
        """Account of the trace."""

    @property
    def qos(self) -> npt.NDArray[np.object_]:
        """QOS of the trace."""

    @property
    def limit_ns(self) -> Ints:
        """Time limit, `artist.core.job.UNLIMITED_NS` for a job without one (`knows_limits`)."""

    @property
    def partition(self) -> npt.NDArray[np.object_]:
        """Partition of the trace."""

    @property
    def priority(self) -> npt.NDArray[np.object_]:
        """Priority of the trace, None where it has none."""

    @property
    def nice(self) -> npt.NDArray[np.object_]:
        """By which jobs lower their priority, as by Slurm's --nice."""

    @property
    def exclusive(self) -> npt.NDArray[np.object_]:
        """True for jobs that share their machines with no other, as by Slurm's --exclusive."""

    @property
    def guaranteed(self) -> Bools:
        """True for jobs whose GPUs are guaranteed; the others take idle GPU time."""

    @property
    def iterations(self) -> Ints:
        """Iterations asked for (`knows_iterations`)."""

    @property
    def iterations_left(self) -> Ints:
        """Iterations not yet done, the open one included (`knows_iterations`)."""

    @property
    def compute_ns(self) -> Ints:
        """Compute time of an iteration according to the trace, at the GPUs asked for (`knows_iterations`).

        With input stalls, these at the proportional share of CPUs and memory are included.
        """

    @property
    def ideal_ns(self) -> Ints:
        """Believed time of the whole job alone, without communication (`knows_durations`).

        With input stalls, at the proportional share of CPUs and memory, as for `remaining_ns`.
        """

    @property
    def remaining_ns(self) -> Ints:
        """Believed time of the rest of the job alone, without communication (`knows_durations`)."""

    @property
    def best_cpus(self) -> Ints:
        """Believed best case: the least CPUs that saturate the whole job (`knows_performance`).

        The rule is that of `artist.performance.formulas.best_case`, as for `best_memory_bytes`.
        """

    @property
    def best_memory_bytes(self) -> Ints:
        """Believed best case: the least memory that saturates the job with `best_cpus`."""

    @property
    def model(self) -> npt.NDArray[np.object_]:
        """Name of the model (`knows_models`)."""

    @property
    def skew(self) -> Floats:
        """Largest tensor / size of the model (`knows_models`)."""

    @property
    def stage_ns(self) -> Ints:
        """Profiled time of an iteration on storage, CPU, GPU and network, shape (n, 4) (`knows_stages`).

        On GPUs as close together as possible, like `alone_ns`.
        """

    @property
    def alone_ns(self) -> Ints:
        """Profiled iteration time alone (`knows_stages`)."""


class BeliefPerformance(Protocol):
    """Believed iteration times (`knows_performance`)."""

    def alone(self, jobs: Sequence[int], allocations: Sequence[Allocation]) -> Ints:
        """Return iteration times (n,) of jobs, each alone on its allocation."""

    def together(
        self, jobs: Sequence[int], allocations: Sequence[Allocation], shift_ns: Sequence[int] = ()
    ) -> Ints:
        """Return iteration times (n,) of jobs that run at the same time, alone in the cluster.

        A proposed group, or "them and me" on one machine; with shifts, by default 0 (`Plan.shifts`).
        """

    def added(
        self, jobs: Sequence[int], allocations: Sequence[Allocation | None], shift_ns: Sequence[int] = ()
    ) -> tuple[Ints, Mapping[int, int]]:
        """Return iteration times of jobs beside all running ones, and of the jobs that they would change.

        Does not check whether there is room. For a job that runs now only its new allocation counts.

        Parameters
        ----------
        allocations
            None for a running job that would stop.
        shift_ns
            Shifts of the jobs (`Plan.shifts`); by default their present ones.

        Returns
        -------
        times
            Of `jobs`, shape (n,); 0 for one that would stop.
        others
            New iteration time by running job, if it would change.
        """

    def sending(self, jobs: Sequence[int], allocations: Sequence[Allocation]) -> Sequence[LinkUse | None]:
        """Return the sending periods of jobs, each alone on its allocation, on links that others may use.

        None for a job that sends on no such link, and for all with `performance.contention=none`.
        """

    def at_gpus(self, job: int, counts: Sequence[int], among: int = ALL) -> Ints:
        """Return iteration times (n,) of a job alone at several GPU counts, consolidated.

        On machines of the first rack that is large enough, else of the cluster: the first machine that holds
        the whole job, else the largest ones, free or not.

        Parameters
        ----------
        among
            The machines that count, as a set of `artist.core.buckets`.
        """

    def as_asked(self, jobs: Sequence[int], among: int = ALL) -> Ints:
        """Return iteration times (n,) of jobs, each alone on the GPUs that it asks for, consolidated.

        An elastic job has the most, up to those that it asks for, that the cluster has of a type that it
        allows; a fungible job the number that it needs of the first such type. `among` as for `at_gpus`.
        """

    def at_resources(
        self, job: int, gpus: int, cpus: Sequence[int], memory_bytes: Sequence[int], among: int = ALL
    ) -> Ints:
        """Return iteration times of a job alone on a grid of CPUs and memory.

        Parameters
        ----------
        gpus
            Held, consolidated as for `at_gpus`; 0 for a CPU-only job, which is on one machine.
        cpus, memory_bytes
            Held in all, spread in proportion to GPUs.

        Returns
        -------
        ndarray of int64, shape (len(cpus), len(memory_bytes))
        """


NEXT = ".next"
"""Ending of the name of a signal that is another, one step ahead."""


class Signal(Protocol):
    """A named series that policies may follow, such as the demand of an inference service."""

    def up_to(self, time_ns: int) -> tuple[Ints, Floats]:
        """Return times (n,) and values (n,) known at a time, never ahead."""

    def ended(self, time_ns: int) -> bool:
        """Return whether no value comes after a time; future values and their times stay hidden."""


class ClusterView(Protocol):
    """The state of the cluster at one instant."""

    @property
    def now_ns(self) -> int:
        """The time."""

    @property
    def news(self) -> Sequence[Event]:
        """Events since the policy's last call, in order."""

    @property
    def jobs(self) -> JobColumns:
        """Unfinished jobs as columns."""

    @property
    def waiting(self) -> JobColumns:
        """Waiting jobs as columns."""

    @property
    def n_waiting(self) -> int:
        """Number of waiting jobs."""

    @property
    def waiting_gpus(self) -> int:
        """GPUs that waiting jobs ask for."""

    @property
    def cluster(self) -> Cluster:
        """Machines and their facts."""

    @property
    def free_gpus(self) -> int:
        """GPUs that new work may take, over all machines."""

    @property
    def pools(self) -> Sequence[str]:
        """Present owner of each machine."""

    def in_pool(self, name: str) -> int:
        """Return the machines that are in a pool now, as a set of `artist.core.buckets`; 0 for none.

        Absent and closed machines are in a pool as well.
        """

    @property
    def accepts(self) -> Bools:
        """Mask of the machines that are present and take new work, shape (n_machines,)."""

    @property
    def all_open(self) -> bool:
        """True if all machines take new work."""

    @property
    def observed_bandwidth_bytes_per_s(self) -> Floats:
        """Measured memory bandwidth in use per machine, shape (n_machines,)."""

    def observed_bandwidth_on(self, machine: int) -> Mapping[int, float]:
        """Return the measured memory bandwidth in bytes/s of each job on a machine that draws any."""

    @property
    def signals(self) -> Mapping[str, Signal]:
        """Named series up to now; any other name raises `PlanError`."""

    @property
    def performance(self) -> BeliefPerformance:
        """Believed iteration times."""

    def free(self, among: int = ALL) -> Free:
        """Return a scratch copy of the free resources, on which to try placements.

        Parameters
        ----------
        among
            A set of machines, of `artist.core.buckets`: their part of the cluster (`Cluster.part`).
        """

    def columns(self, jobs: Sequence[int], among: int = ALL) -> JobColumns:
        """Return the columns of the given jobs only, in the given order.

        Parameters
        ----------
        among
            The machines that count for `capacity`, stages, times alone and best cases, as a set of
            `artist.core.buckets`.
        """

    def demand(self, job: int) -> Demand:
        """Return the demand of a job."""

    def allocation(self, job: int) -> Allocation | None:
        """Return the allocation of a job, None while it waits."""

    def shift_ns(self, job: int) -> int:
        """Return the shift of a running job in ns (`Plan.shifts`)."""

    def jobs_on(self, machine: int) -> Sequence[int]:
        """Return the jobs with an allocation on a machine, in order of arrival there."""

    def plan(self) -> PlanBuilder:
        """Return an empty plan."""


class Policy(Protocol):
    """A scheduler: called on events, on a grid of time, or both.

    Attributes
    ----------
    on_events
        Call it on arrivals, finishes and capacity events; a wake-up that it asked for always calls it.
    interval_s
        Also (or only) call it at the multiples of this many seconds while jobs are unfinished. Ticks do not
        keep a run alive: a policy that waits for something else while nothing runs asks to be woken.
    knows_durations, knows_iterations, knows_limits, knows_models, knows_performance, knows_stages
        Knowledge of the policy; columns that need more raise `PlanError`.

    Notes
    -----
    Optional attributes:

    - `only_while_jobs_wait`: no call on events while no job waits; they are news of the next call.
    - `concerns(news)`: whether events of an instant call it; if not, they are news of the next call.
    - `series`: a list of (time in ns, name, value) that it appends to, such as values of its timers; the run
      folder keeps it as policy.parquet, and the report draws it.
    - `follows(cluster)`: names of the signals that it needs there; a run without them does not start.
    - `shares`: names of the signals whose values must be from 0 to 1.
    - `min_cpus_per_gpu`: CPUs per GPU with which any job can start, if the policy decides the CPUs of jobs;
      GPUs count as starved (`artist.recording.starved`) only where there are fewer.
    - `keeps_segments`: False if it cannot place by rack; then no job may have a segment (`Demand.segment`).
    - `shrunk(demand, gpus)`: the GPUs, at most `gpus`, with which a running elastic job goes on at once when
      others of it fail; 0 if it is to wait. Without, it waits. The job's `Change` is among the news.
    - `remembers_places`: True if it keeps its own record of placements instead of reading them from the view;
      then no other policy may place its jobs (`artist.policies.network_aware.policy`).
    - `decides_cpus`: True if it decides CPUs and memory itself instead of a fill; then no other policy may
      divide them (`artist.policies.synergy.cpu_tuned`).
    """

    on_events: bool = True
    interval_s: float | None = None
    knows_durations: bool = False
    knows_iterations: bool = False
    knows_limits: bool = False
    knows_models: bool = False
    knows_performance: bool = False
    knows_stages: bool = False

    def decide(self, view: ClusterView) -> Plan:
        """Return the changes to make now."""
