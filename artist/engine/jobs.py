"""All jobs of a run as columns of integers, and the only code that moves their clocks.

Each column is an `array` of int64, so that one job's entry is quick to read and write, and numpy
sees the same memory, so that a whole column is one vector expression (`vector`).
"""

from array import array
from bisect import bisect_left, insort
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from artist.core.cluster import Allocation
from artist.core.iteration import IterationParts
from artist.core.job import JobSpec
from artist.core.result import JOB_COLUMNS
from artist.engine import progress

Ints = npt.NDArray[np.int64]

PENDING, WAITING, RUNNING, FINISHED = range(4)  # pending: not yet submitted
_NEVER = 2**62  # later than any time of a run


def vector(column: "array[int]") -> Ints:
    """Return a column as a numpy array of shape (n_jobs,) on the same memory."""
    return np.frombuffer(column, dtype=np.int64)


class Vectors:
    """The columns of a job table that policies see, as numpy arrays of shape (n_jobs,) on the same memory."""

    def __init__(self, table: "JobTable") -> None:
        self.submit = vector(table.submit)
        self.gpus, self.least_gpus = vector(table.gpus), vector(table.least_gpus)
        self.iterations, self.compute_time = vector(table.iterations), vector(table.compute_time)
        self.status, self.starts = vector(table.status), vector(table.starts)
        self.done, self.remaining = vector(table.done), vector(table.remaining)
        self.iteration = vector(table.iteration)
        self.since, self.marked = vector(table.since), vector(table.marked)
        self.held_gpus, self.held_time = vector(table.held_gpus), vector(table.held_time)
        self.attained, self.waiting_since = vector(table.attained), vector(table.waiting_since)


class JobTable:
    """State and accounts of all jobs; a job is its row number, in order of arrival.

    A running job is *settled* up to `marked`; progress counts from `since`, which lies after `marked`
    while a delay lasts; both are never for a job that does not run. `remaining` is what is left of the
    open iteration, 0 for one not yet begun. `opened` and `safe` are the running time when the open
    iteration began and when the last checkpoint was reached: what was run since is what a cut loses.

    Parameters
    ----------
    specs
        Jobs in order of arrival.
    checkpoint_iterations
        Iterations between checkpoints by job; 0 for none. By default every iteration is one.
    worth
        Of all GPUs, which says how many a fungible job asks for; None where they differ.
    """

    def __init__(
        self,
        specs: Sequence[JobSpec],
        checkpoint_iterations: Sequence[int] | None = None,
        worth: float | None = None,
    ) -> None:
        self.specs = specs
        n = len(specs)
        self.n = n

        def column(values: Sequence[int] | None = None) -> "array[int]":
            return array("q", values) if values is not None else array("q", bytes(8 * n))

        self.submit = column([s.submit_ns for s in specs])
        self.gpus = column([s.demand.gpus_at(worth) if worth else s.demand.gpus for s in specs])
        self.least_gpus = column([s.demand.least_gpus for s in specs])
        self.iterations = column([s.iterations for s in specs])
        self.compute_time = column([s.compute_ns for s in specs])
        self.status = column()
        self.done = column()
        self.remaining = column()
        self.iteration = column()
        self.since = array("q", [_NEVER]) * n
        self.marked = array("q", [_NEVER]) * n
        self.held_gpus = column()
        self.held_time = column()
        self.attained = column()
        self.waiting_since = column()
        self.checkpoint = column(checkpoint_iterations) if checkpoint_iterations else array("q", [1]) * n
        self.opened, self.safe = column(), column()
        self.in_group = column()
        self.held_alone = column()  # GPUs x time held outside of groups
        self.first_start = array("q", [-1]) * n
        self.finish = array("q", [-1]) * n
        self.queueing, self.running, self.overhead, self.lost = column(), column(), column(), column()
        self.starts, self.preemptions, self.evictions = column(), column(), column()
        self.migrations, self.resizes = column(), column()
        self.tier = column()
        self.tier_time = (column(), column(), column())
        self.part_time = (column(), column(), column(), column(), column(), column())
        self.parts: list[IterationParts | None] = [None] * n
        self.held: list[Allocation | None] = [None] * n
        self.compute_gpu_ns = 0
        self.n_arrived = 0
        self.n_unfinished = 0  # of those that have arrived
        self.n_running = 0
        self._unfinished = array("q")  # sorted
        self._waiting = array("q")  # those of them that wait, sorted
        self.vectors = Vectors(self)

    def unfinished(self) -> Ints:
        """Return the jobs that have arrived and not finished, in order of arrival, shape (n,)."""
        return vector(self._unfinished).copy()  # a view of it would forbid to change it

    def waiting(self) -> Ints:
        """Return the jobs that wait, in order of arrival, shape (n,)."""
        return vector(self._waiting).copy()

    # --- the clock of one job

    def arrive(self, job: int, now: int) -> None:
        """Let the next job in order of arrival wait from now on."""
        self.n_arrived += 1
        self._unfinished.append(job)
        self._waiting.append(job)
        self.n_unfinished += 1
        self.status[job] = WAITING
        self.waiting_since[job] = now

    def hold(self, job: int, allocation: Allocation, tier: int, now: int, delay: int) -> None:
        """Let a job hold an allocation from now on; progress starts after the longest delay under way."""
        if self.status[job] == WAITING:
            self.queueing[job] += now - self.waiting_since[job]
            self.status[job] = RUNNING
            del self._waiting[bisect_left(self._waiting, job)]
            self.marked[job] = now
            self.since[job] = now + delay
            self.starts[job] += 1
            self.n_running += 1
            if self.first_start[job] < 0:
                self.first_start[job] = now
        elif now + delay > self.since[job]:
            self.since[job] = now + delay
        self.held_gpus[job] = allocation.gpus
        self.in_group[job] = allocation.group is not None
        self.tier[job] = tier

    def settle(self, job: int, now: int) -> None:
        """Book what a running job did since it was last settled."""
        held = now - self.marked[job]
        if not held:
            return
        self.marked[job] = now
        gpus = self.held_gpus[job]
        self.held_time[job] += held
        self.attained[job] += gpus * held
        if not self.in_group[job]:
            self.held_alone[job] += gpus * held
        self.tier_time[self.tier[job]][job] += held
        elapsed = now - self.since[job]
        if elapsed <= 0:
            self.overhead[job] += held
            return
        self.since[job] = now
        self.overhead[job] += held - elapsed
        self.running[job] += elapsed
        iteration = self.iteration[job]
        self._book_parts(job, elapsed, iteration, gpus)
        was = self.done[job]
        done, remaining = progress.settle(was, self.remaining[job], iteration, elapsed)
        self.remaining[job] = remaining
        if done != was:
            self.done[job] = done
            opened = self.opened[job] = self.running[job] - (iteration - remaining)
            every = self.checkpoint[job]
            if every and done // every != was // every:
                self.safe[job] = opened - done % every * iteration

    def _book_parts(self, job: int, elapsed: int, iteration: int, gpus: int) -> None:
        parts = self.parts[job]
        assert parts is not None
        compute = elapsed  # takes the rounding, so that the parts sum to the time that passed
        if parts[0] != iteration:
            for column, part in zip(self.part_time[1:], parts[1:], strict=True):
                if part:
                    share = elapsed * part // iteration
                    column[job] += share
                    compute -= share
        self.part_time[0][job] += compute
        busy = self.specs[job].gpu_utilization
        self.compute_gpu_ns += compute * gpus if busy == 1.0 else int(compute * gpus * busy)

    def set_rate(self, job: int, parts: IterationParts) -> int:
        """Set the speed of a settled job, carry its open iteration, and return its finish time."""
        new, old = sum(parts), self.iteration[job]
        remaining = self.remaining[job]
        if not remaining:
            remaining = new
        elif new != old:
            remaining = progress.carry(remaining, old, new)
        self.remaining[job] = remaining
        self.iteration[job] = new
        self.parts[job] = parts
        left = self.iterations[job] - self.done[job]
        return self.since[job] + progress.time_left(remaining, left, new)

    def cut_open_iteration(self, job: int) -> None:
        """Throw away what a settled job has run of its open iteration."""
        lost = self.running[job] - self.opened[job]
        self.lost[job] += lost
        self.safe[job] += lost  # a later cut does not lose it again
        self.opened[job] = self.running[job]
        self.remaining[job] = 0

    def cut_to_checkpoint(self, job: int) -> None:
        """Throw away what a settled job has run since its last checkpoint."""
        every = self.checkpoint[job]
        self.done[job] -= self.done[job] % every if every else self.done[job]
        self.lost[job] += self.running[job] - self.safe[job]
        self.safe[job] = self.opened[job] = self.running[job]
        self.remaining[job] = 0

    def release(self, job: int, now: int) -> None:
        """Let a settled job hold nothing and wait."""
        self._let_go(job)
        self.status[job] = WAITING
        insort(self._waiting, job)
        self.waiting_since[job] = now

    def end(self, job: int, now: int) -> None:
        """Close the books of a settled job that has finished."""
        self._let_go(job)
        self.status[job] = FINISHED
        self.finish[job] = now
        self.parts[job] = None
        del self._unfinished[bisect_left(self._unfinished, job)]
        self.n_unfinished -= 1

    def _let_go(self, job: int) -> None:
        self.held_gpus[job] = 0
        self.since[job] = self.marked[job] = _NEVER
        self.n_running -= 1

    # --- the end of the run

    def result_columns(self, end: int) -> dict[str, Ints]:
        """Return the columns of JOB_COLUMNS, to read only; books what still waits or runs at `end`."""
        for job in np.flatnonzero(vector(self.status) == RUNNING).tolist():
            self.settle(job, end)
        waiting = vector(self.status) == WAITING
        queueing = vector(self.queueing) + np.where(waiting, end - vector(self.waiting_since), 0)
        named = {
            "submit_ns": self.submit,
            "first_start_ns": self.first_start,
            "finish_ns": self.finish,
            "running_ns": self.running,
            "overhead_ns": self.overhead,
            "held_gpu_ns": self.attained,
            "held_alone_gpu_ns": self.held_alone,
            "lost_ns": self.lost,
            "iterations_done": self.done,
            "starts": self.starts,
            "preemptions": self.preemptions,
            "evictions": self.evictions,
            "migrations": self.migrations,
            "resizes": self.resizes,
        }
        named.update(zip(IterationParts._fields, self.part_time, strict=True))
        named.update(zip(("machine_ns", "rack_ns", "network_ns"), self.tier_time, strict=True))
        columns = {name: vector(column) for name, column in named.items()}  # not copied: a run may be long
        columns["queueing_ns"] = queueing
        for column in columns.values():
            column.flags.writeable = False
        return {name: columns[name] for name in JOB_COLUMNS}
