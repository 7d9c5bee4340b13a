"""All jobs of a run as columns of integers, and the only code that moves their clocks.

Each column is the memory of a numpy array: one job's entry is quicker to read and write here than in the
array, which `vector` returns, so that a whole column is one vector expression.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from artist.core.cluster import Allocation
from artist.core.compact_jobs import CompactJobs, LazySpecs, array_of, of_templates
from artist.core.iteration import IterationParts
from artist.core.job import JobSpec
from artist.core.result import JOB_COLUMNS, PART_COLUMNS, TIER_COLUMNS
from artist.engine import progress

Ints = npt.NDArray[np.int64]

PENDING, WAITING, RUNNING, FINISHED = range(4)  # pending: not yet submitted
LEGAL = ((WAITING,), (RUNNING,), (WAITING, FINISHED), ())  # states that may follow each
_NEVER = 2**62  # later than any time of a run


def vector(column: memoryview) -> Ints:
    """Return the numpy array of shape (n_jobs,) that shares its memory with a column."""
    array: Ints = column.obj  # type: ignore[assignment]
    return array


def gpu_times(column: memoryview | Ints) -> Ints:
    """Return a column of GPU times as an array, of objects in a table that is `wide`."""
    return column if isinstance(column, np.ndarray) else vector(column)


class JobTable:
    """State and accounts of all jobs; a job is its row number, in order of arrival.

    A running job is *settled* up to `settled_ns`; progress counts from `progress_from_ns`, which is later
    during a delay; for a job that does not run, both are `_NEVER`. `open_left_ns` is the remaining time of
    the open iteration, 0 for one not yet begun. `opened_ns` and `safe_ns` are the running time when the open
    iteration began and when the last checkpoint was reached: a cut loses the running time since then.
    Checkpoints are counted from `saved`, the iterations done when the job was last saved at a stop.

    Parameters
    ----------
    specs
        Jobs in order of arrival.
    checkpoint_iterations
        Iterations between checkpoints by job; 0 for none. By default every iteration is one.
    worth
        Worth of all GPUs, which determines the number that a fungible job asks for; None if they differ.
    """

    # fmt: off
    __slots__ = (  # without, an instance of more than 30 attributes is slow to look up
        "_asked",
        "_asked_at",
        "_began_ns",
        "added_ns",
        "at_arrival_ns",
        "attained_gpu_ns",
        "checkpoint",
        "compute_gpu_ns",
        "compute_ns",
        "done",
        "evictions",
        "finish_ns",
        "first_shorter_ns",
        "first_start_ns",
        "gpu_compute_ns",
        "gpu_exposed_comm_ns",
        "gpus",
        "grouped_gpu_ns",
        "held",
        "held_gpus",
        "held_since_ns",
        "in_group",
        "iteration_ns",
        "iterations",
        "lost_ns",
        "migrations",
        "min_feasible_gpus",
        "n",
        "n_arrived",
        "n_running",
        "n_unfinished",
        "open_left_ns",
        "opened_ns",
        "overhead_ns",
        "parts",
        "preemptions",
        "progress_from_ns",
        "queueing_ns",
        "resizes",
        "running_ns",
        "safe_ns",
        "saved",
        "settled_ns",
        "shift_ns",
        "specs",
        "starts",
        "status",
        "submit_ns",
        "template",
        "tier",
        "tier_ns",
        "waiting_gpus",
        "waiting_since_ns",
        "wide",
    )
    # fmt: on

    def __init__(
        self,
        specs: Sequence[JobSpec],
        checkpoint_iterations: Sequence[int] | None = None,
        worth: float | None = None,
    ) -> None:
        self.wide = False
        self.specs: Sequence[JobSpec] | LazySpecs = specs
        self.template = specs
        if isinstance(specs, CompactJobs):  # templates by job: to build a spec takes time
            self.specs, self.template = specs.specs, [specs.templates[at] for at in specs.template.data]
        n = len(specs)
        self.n = n

        def column(values: Sequence[int] | int = 0, dtype: type[np.integer[Any]] = np.int64) -> memoryview:
            array = np.zeros(n, dtype=dtype)  # pages never written take no memory
            if values != 0:
                array[:] = values
            return array.data

        def asked(spec: JobSpec) -> int:
            return spec.demand.gpus_at(worth) if worth else spec.demand.gpus

        gpus, least = (
            of_templates(specs, asked),
            of_templates(specs, lambda spec: spec.demand.min_feasible_gpus),
        )
        self.gpus, self.min_feasible_gpus = gpus.data, (least if (least != gpus).any() else gpus).data
        names = ("submit_ns", "iterations", "compute_ns", "first_shorter_ns")
        numbers = (array_of(specs, name).data for name in names)
        self.submit_ns, self.iterations, self.compute_ns, self.first_shorter_ns = numbers
        self.status, self.in_group, self.tier = (column(dtype=np.int8) for _ in range(3))
        self.done = column()
        self.open_left_ns = column()
        self.iteration_ns = column(1)  # until there is one
        self.progress_from_ns, self.settled_ns = column(_NEVER), column(_NEVER)
        self.held_gpus = column()
        self.held_since_ns = column()  # beginning of the present run
        self.attained_gpu_ns = column()
        self.waiting_since_ns = column()
        self.checkpoint = column(checkpoint_iterations or 1)
        self.opened_ns, self.safe_ns, self.saved = column(), column(), column()
        self.grouped_gpu_ns = column()  # GPUs x time held in groups
        self.gpu_compute_ns, self.gpu_exposed_comm_ns = column(), column()
        self.first_start_ns, self.finish_ns = column(-1), column(-1)
        self.queueing_ns, self.running_ns = column(), column()
        self.overhead_ns, self.lost_ns = column(), column()
        self.starts, self.preemptions, self.evictions = column(), column(), column()
        self.migrations, self.resizes = column(), column()
        self.tier_ns = (column(), column(), column())
        self.added_ns = tuple(column() for _ in PART_COLUMNS[1:])
        self.parts: list[IterationParts | None] = [None] * n
        self.held: list[Allocation | None] = [None] * n
        self.shift_ns: dict[int, int] = {}  # of the running jobs that have one
        self.compute_gpu_ns = 0
        self.n_arrived = 0
        self.n_unfinished = 0  # of those that have arrived
        self.at_arrival_ns = np.zeros(n).data  # `unfinished_job_ns` at each arrival
        self._began_ns = 0  # sum of the arrivals so far, less that of the finishes
        self.n_running = self.waiting_gpus = 0
        self._asked = np.zeros(0, dtype=np.int64)  # jobs unfinished when last asked, and arrivals until then
        self._asked_at = 0

    def widen(self) -> None:
        """Keep GPU times in arrays of objects, Python's integers, from now on: they may pass 64 bits."""
        if not self.wide:
            self.wide = True
            for name in ("attained_gpu_ns", "grouped_gpu_ns", "gpu_compute_ns", "gpu_exposed_comm_ns"):
                setattr(self, name, vector(getattr(self, name)).astype(np.object_))

    def unfinished(self) -> Ints:
        """Return the jobs that have arrived and not finished, in order of arrival, shape (n,)."""
        if self._asked_at != self.n_arrived or len(self._asked) != self.n_unfinished:
            rows = np.concatenate((self._asked, np.arange(self._asked_at, self.n_arrived)))
            self._asked, self._asked_at = rows[vector(self.status)[rows] != FINISHED], self.n_arrived
        return self._asked.copy()

    def waiting(self) -> Ints:
        """Return the jobs that wait, in order of arrival, shape (n,)."""
        jobs = self.unfinished()
        waiting: Ints = jobs[vector(self.status)[jobs] == WAITING]
        return waiting

    def unfinished_job_ns(self, now: int) -> int:
        """Return the integral of the number of unfinished jobs."""
        return self.n_unfinished * now - self._began_ns

    # --- the clock of one job

    def arrive(self, job: int, now: int) -> None:
        """Let the next job in order of arrival wait from now on."""
        self.n_arrived += 1
        self.waiting_gpus += self.gpus[job]
        self.at_arrival_ns[job] = self.unfinished_job_ns(now)
        self._began_ns += now
        self.n_unfinished += 1
        assert WAITING in LEGAL[self.status[job]], self.specs[job].job_id
        self.status[job] = WAITING
        self.waiting_since_ns[job] = now

    def hold(self, job: int, allocation: Allocation, tier: int, now: int, delay: int) -> None:
        """Let a job hold an allocation from now on; progress starts after the longest delay under way."""
        if self.status[job] == WAITING:
            self.queueing_ns[job] += now - self.waiting_since_ns[job]
            self.status[job] = RUNNING
            self.waiting_gpus -= self.gpus[job]
            self.settled_ns[job] = self.held_since_ns[job] = now
            self.progress_from_ns[job] = now + delay
            self.starts[job] += 1
            self.n_running += 1
            if self.first_start_ns[job] < 0:
                self.first_start_ns[job] = now
        else:
            assert self.status[job] == RUNNING, self.specs[job].job_id
            if now + delay > self.progress_from_ns[job]:
                self.progress_from_ns[job] = now + delay
        self.held_gpus[job] = allocation.gpus
        self.in_group[job] = allocation.group is not None
        self.tier[job] = tier

    def settle(self, job: int, now: int) -> None:
        """Book the progress of a running job since it was last settled."""
        elapsed = self._book(job, now)
        if not elapsed:
            return
        was, iteration = self.done[job], self.iteration_ns[job]
        done, remaining = progress.settle(was, self.open_left_ns[job], iteration, elapsed)
        self.open_left_ns[job] = remaining
        if done != was:
            self.done[job] = done
            opened = self.opened_ns[job] = self.running_ns[job] - (iteration - remaining)
            every = self.checkpoint[job]
            if every:
                since, saved = done - self.saved[job], self.saved[job]
                if since // every != (was - saved) // every:
                    self.safe_ns[job] = opened - since % every * iteration

    def _book(self, job: int, now: int) -> int:
        """Book the time since a running job was last settled; return the part that was progress."""
        held = now - self.settled_ns[job]
        if not held:
            return 0
        self.settled_ns[job] = now
        gpus = self.held_gpus[job]
        self.attained_gpu_ns[job] += gpus * held
        if self.in_group[job]:
            self.grouped_gpu_ns[job] += gpus * held
        self.tier_ns[self.tier[job]][job] += held
        elapsed = now - self.progress_from_ns[job]
        if elapsed <= 0:
            self.overhead_ns[job] += held
            return 0
        self.progress_from_ns[job] = now
        if held > elapsed:
            self.overhead_ns[job] += held - elapsed
        self.running_ns[job] += elapsed
        iteration, parts = self.iteration_ns[job], self.parts[job]
        assert parts is not None
        compute = elapsed  # takes the rounding, so that the parts sum to the time that passed
        if parts[0] != iteration:
            for column, part in zip(self.added_ns, parts[1:], strict=True):
                if part:
                    share = elapsed * part // iteration
                    column[job] += share
                    compute -= share
            if parts.exposed_ns:
                self.gpu_exposed_comm_ns[job] += elapsed * parts.exposed_ns // iteration * gpus
        self.gpu_compute_ns[job] += compute * gpus
        busy = self.template[job].gpu_utilization
        self.compute_gpu_ns += compute * gpus if busy == 1.0 else int(compute * gpus * busy)
        return elapsed

    def set_rate(self, job: int, parts: IterationParts, new: int) -> int:
        """Set the speed of a settled job, carry its open iteration, and return its finish time."""
        remaining = self.open_left_ns[job]
        if not remaining:
            remaining = new if self.done[job] else max(1, new - self.first_shorter_ns[job])
        elif new != (old := self.iteration_ns[job]):
            remaining = progress.carry(remaining, old, new)
        self.open_left_ns[job] = remaining
        self.iteration_ns[job] = new
        self.parts[job] = parts
        left = self.iterations[job] - self.done[job]
        return self.progress_from_ns[job] + progress.time_left(remaining, left, new)

    def progress_ns(self, now: int) -> Ints:
        """Return the running time of each job whose progress is not lost, shape (n,)."""
        since = np.maximum(now - vector(self.progress_from_ns), 0)
        return vector(self.running_ns) - vector(self.lost_ns) + since

    def shift(self, job: int, shift_ns: int) -> bool:
        """Set the shift of a running job's iterations; return whether it changed."""
        assert self.status[job] == RUNNING, self.specs[job].job_id
        if shift_ns == self.shift_ns.get(job, 0):
            return False
        self.shift_ns[job] = int(shift_ns)
        return True

    def cut_open_iteration(self, job: int) -> None:
        """Discard the progress of a settled job in its open iteration."""
        lost = self.running_ns[job] - self.opened_ns[job]
        self.lost_ns[job] += lost
        self.safe_ns[job] += lost  # a later cut does not lose it again
        self.opened_ns[job] = self.running_ns[job]
        self.open_left_ns[job] = 0

    def cut_to_checkpoint(self, job: int) -> None:
        """Discard the progress of a settled job since its last checkpoint."""
        every, since = self.checkpoint[job], self.done[job] - self.saved[job]
        self.done[job] -= since % every if every else since
        self.lost_ns[job] += self.running_ns[job] - self.safe_ns[job]
        self.safe_ns[job] = self.opened_ns[job] = self.running_ns[job]
        self.open_left_ns[job] = 0

    def save(self, job: int) -> None:
        """Write a checkpoint of a settled job, whose open iteration is lost."""
        self.cut_open_iteration(job)
        self.saved[job], self.safe_ns[job] = self.done[job], self.running_ns[job]

    def release(self, job: int, now: int) -> None:
        """Take the allocation of a settled job, which waits from now on."""
        self._clear_allocation(job)
        assert WAITING in LEGAL[self.status[job]], self.specs[job].job_id
        self.status[job] = WAITING
        self.waiting_gpus += self.gpus[job]
        self.waiting_since_ns[job] = now

    def end(self, job: int, now: int, unnoticed_ns: int = 0, *, early: bool = False) -> None:
        """Close the accounts of a job that ends now, early or done, with the delay until that is noticed."""
        if early:
            self.settle(job, now)
        else:
            self._book(job, now)
            self.done[job] = self.iterations[job]
        self._clear_allocation(job)
        if unnoticed_ns:
            self.overhead_ns[job] += unnoticed_ns
            self.tier_ns[self.tier[job]][job] += unnoticed_ns
        assert FINISHED in LEGAL[self.status[job]], self.specs[job].job_id
        self.status[job] = FINISHED
        self.finish_ns[job] = now + unnoticed_ns
        self.parts[job] = None
        self._began_ns -= now
        self.n_unfinished -= 1

    def _clear_allocation(self, job: int) -> None:
        self.held_gpus[job] = 0
        self.progress_from_ns[job] = self.settled_ns[job] = _NEVER
        self.n_running -= 1
        if self.shift_ns:
            self.shift_ns.pop(job, None)

    # --- the end of the run

    def result_columns(self, end: int) -> dict[str, Ints]:
        """Return the columns of JOB_COLUMNS, read-only, with waiting and running time up to `end`."""
        for job in np.flatnonzero(vector(self.status) == RUNNING).tolist():
            self.settle(job, end)
        waiting = vector(self.status) == WAITING
        queueing = vector(self.queueing_ns) + np.where(waiting, end - vector(self.waiting_since_ns), 0)
        named = dict(zip((*PART_COLUMNS[1:], *TIER_COLUMNS), (*self.added_ns, *self.tier_ns), strict=True))
        named |= {"gpu_held_ns": self.attained_gpu_ns, "iterations": self.done}
        alone_gpu_ns = gpu_times(self.attained_gpu_ns) - gpu_times(self.grouped_gpu_ns)
        compute_ns = vector(self.running_ns) - sum(map(vector, self.added_ns))
        computed = {"queueing_ns": queueing, "gpu_held_alone_ns": alone_gpu_ns, PART_COLUMNS[0]: compute_ns}
        named |= {n: getattr(self, n) for n in JOB_COLUMNS if n not in named and n not in computed}
        columns = {n: computed[n] if n in computed else gpu_times(named[n]) for n in JOB_COLUMNS}
        for column in columns.values():
            column.flags.writeable = False
        return columns
