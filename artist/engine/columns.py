"""The job table's columns as a policy sees them; defined in `artist.core.view.JobColumns`."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from artist.core.arrays import Bools, Floats, Ints
from artist.core.buckets import ALL
from artist.core.compact_jobs import field_of, of_templates
from artist.core.job import UNLIMITED_NS, JobSpec
from artist.core.view import Totals
from artist.engine import progress
from artist.engine.best_cases import BestCases
from artist.engine.jobs import RUNNING, JobTable, gpu_times, vector
from artist.engine.lazy import lazy
from artist.engine.machines import MachineTable
from artist.engine.profiled import Profiled
from artist.errors import PlanError
from artist.performance.api import Performance


class Known:
    """Constant inputs of one policy: names, beliefs, and its declared knowledge."""

    def __init__(
        self,
        policy: object,
        specs: Sequence[JobSpec],
        performance: Performance,
        factors: Floats,
        profiled: Profiled,
        best_cases: BestCases,
        share: Floats | None,
    ) -> None:
        topics = ("durations", "iterations", "limits", "models", "performance", "stages")
        self.declared = frozenset(topic for topic in topics if getattr(policy, f"knows_{topic}", False))
        self.policy = type(policy).__name__
        self.factors = factors if share is None else factors * share
        self.share = share
        self.profiled = profiled
        self.best_cases = best_cases
        self.exact = bool((self.factors == 1.0).all())
        self._specs = specs
        self._fields: dict[str, npt.NDArray[Any]] = {}
        self._performance = performance

    def require(self, topic: str) -> None:
        """Raise `PlanError` unless the policy declared knowledge of a topic."""
        if topic not in self.declared:
            raise PlanError(
                f"policy {self.policy} looks at {topic}; it, or its order, must declare knows_{topic} = True"
            )

    def of_all(self, name: str) -> npt.NDArray[Any]:
        """Return a field of every job, as objects."""
        if name not in self._fields:
            self._fields[name] = np.array(list(field_of(self._specs, name)), dtype=np.object_)
        return self._fields[name]

    @cached_property
    def limit_ns(self) -> Ints:
        """Time limit of every job."""
        return of_templates(self._specs, lambda spec: spec.limit_ns or UNLIMITED_NS)

    @cached_property
    def skew(self) -> Floats:
        """Skew of every job's model."""
        return np.array([self._performance.skew(s) for s in self._specs], dtype=np.float64)


def _at_least_0(values: Ints) -> Ints:
    """Return values with those below 0 set to it, in place: a third quicker than `np.maximum`."""
    values[values < 0] = 0
    return values


def _rows(column: str) -> lazy[Ints]:
    """Return a property: a column of the job table, at the rows."""
    return lazy(lambda columns: getattr(columns._table, column).obj[columns.job])


class Columns:
    """Unfinished jobs as columns; see `artist.core.view.JobColumns`."""

    def __init__(
        self, table: JobTable, machines: MachineTable, known: Known, rows: Ints, now: int, among: int = ALL
    ) -> None:
        self._table = table
        self._machines = machines
        self._known = known
        self._among = among
        self.now_ns = now
        self.job = rows

    submit_ns, gpus, min_feasible_gpus = _rows("submit_ns"), _rows("gpus"), _rows("min_feasible_gpus")
    held_gpus, starts = _rows("held_gpus"), _rows("starts")
    _open, _iteration = _rows("open_left_ns"), _rows("iteration_ns")

    def __len__(self) -> int:
        return len(self.job)

    @lazy
    def capacity(self) -> Totals:
        return Totals(*self._machines.totals(self._among))

    @lazy
    def mean_unfinished(self) -> Floats:
        stay_ns = self.now_ns - self.submit_ns
        beside_ns = self._table.unfinished_job_ns(self.now_ns) - vector(self._table.at_arrival_ns)[self.job]
        now = np.full(len(self), float(self._table.n_unfinished))
        mean: Floats = np.divide(beside_ns, stay_ns, out=now, where=stay_ns > 0)
        return mean

    @lazy
    def running(self) -> Bools:
        running: Bools = vector(self._table.status)[self.job] == RUNNING
        return running

    @lazy
    def _elapsed(self) -> Ints:
        """Progress time since each job was settled, 0 for jobs that do not run."""
        return _at_least_0(self.now_ns - vector(self._table.progress_from_ns)[self.job])

    @lazy
    def _held_more(self) -> Ints:
        """Holding time since each job was settled, 0 for jobs that do not run."""
        return _at_least_0(self.now_ns - vector(self._table.settled_ns)[self.job])

    @lazy
    def held_ns(self) -> Ints:
        table, jobs = self._table, self.job
        return vector(table.running_ns)[jobs] + vector(table.overhead_ns)[jobs] + self._held_more

    @lazy
    def attained_gpu_ns(self) -> Ints:
        attained, more = gpu_times(self._table.attained_gpu_ns)[self.job], self._held_more
        if self._table.wide:  # beyond 64 bits
            attained, more = attained.astype(np.float64), more.astype(np.float64)
        return attained + self.held_gpus * more

    @lazy
    def waiting_since_ns(self) -> Ints:
        return np.where(self.running, -1, vector(self._table.waiting_since_ns)[self.job])

    @lazy
    def _progress(self) -> tuple[Ints, Ints]:
        return progress.since_settled(self._open, self._iteration, self._elapsed)

    @lazy
    def iterations_done(self) -> Ints:
        return vector(self._table.done)[self.job] + self._progress[0]

    @lazy
    def observed_iteration_ns(self) -> Ints:
        return np.where(self.running, self._iteration, 0)

    @lazy
    def observed_gpu_utilization(self) -> Floats:
        parts, specs = self._table.parts, self._table.specs
        rows = self.job.tolist()
        busy = np.array([p[0] * specs[j].gpu_utilization if (p := parts[j]) else 0 for j in rows], np.float64)
        return np.divide(busy, self._iteration, out=np.zeros(len(busy)), where=self.running)

    @property
    def user(self) -> npt.NDArray[np.object_]:
        return self._known.of_all("user")[self.job]

    @property
    def vc(self) -> npt.NDArray[np.object_]:
        return self._known.of_all("vc")[self.job]

    @property
    def account(self) -> npt.NDArray[np.object_]:
        return self._known.of_all("account")[self.job]

    @property
    def qos(self) -> npt.NDArray[np.object_]:
        return self._known.of_all("qos")[self.job]

    @property
    def limit_ns(self) -> Ints:
        self._known.require("limits")
        return self._known.limit_ns[self.job]

    @property
    def partition(self) -> npt.NDArray[np.object_]:
        return self._known.of_all("partition")[self.job]

    @property
    def priority(self) -> npt.NDArray[np.object_]:
        return self._known.of_all("priority")[self.job]

    @property
    def nice(self) -> npt.NDArray[np.object_]:
        return self._known.of_all("nice")[self.job]

    @property
    def exclusive(self) -> npt.NDArray[np.object_]:
        return self._known.of_all("exclusive")[self.job]

    @property
    def guaranteed(self) -> Bools:
        return self._known.of_all("guaranteed")[self.job].astype(np.bool_)

    @lazy
    def iterations(self) -> Ints:
        self._known.require("iterations")
        return vector(self._table.iterations)[self.job]

    @lazy
    def iterations_left(self) -> Ints:
        return self.iterations - self.iterations_done

    @lazy
    def compute_ns(self) -> Ints:
        self._known.require("iterations")
        compute, share = vector(self._table.compute_ns)[self.job], self._known.share
        return compute if share is None else np.rint(compute * share[self.job]).astype(np.int64)

    @lazy
    def ideal_ns(self) -> Ints:
        self._known.require("durations")
        ideal = vector(self._table.iterations)[self.job] * vector(self._table.compute_ns)[self.job]
        return self._believed(ideal)

    @lazy
    def remaining_ns(self) -> Ints:
        self._known.require("durations")
        compute = vector(self._table.compute_ns)[self.job]
        left = vector(self._table.iterations)[self.job] - self.iterations_done
        done_of_open = np.rint(compute * (self._progress[1] / self._iteration)).astype(np.int64)
        return self._believed(left * compute - done_of_open)

    def _believed(self, true_ns: Ints) -> Ints:
        if self._known.exact:
            return true_ns
        factors = self._known.factors[self.job]
        return np.maximum(np.rint(true_ns * factors), 1).astype(np.int64)

    @lazy
    def _best(self) -> Ints:
        self._known.require("performance")
        return self._known.best_cases.of(self.job, self._among)

    @property
    def best_cpus(self) -> Ints:
        return self._best[:, 0]

    @property
    def best_memory_bytes(self) -> Ints:
        return self._best[:, 1]

    @property
    def model(self) -> npt.NDArray[np.object_]:
        self._known.require("models")
        return self._known.of_all("model")[self.job]

    @property
    def skew(self) -> Floats:
        self._known.require("models")
        return self._known.skew[self.job]

    @lazy
    def _profile(self) -> Ints:
        self._known.require("stages")
        return self._known.profiled.of(self.job, self._among)

    @property
    def stage_ns(self) -> Ints:
        return self._profile[:, :4]

    @property
    def alone_ns(self) -> Ints:
        return self._profile[:, 4]
