"""Transitions of a job: start, change, stop, eviction, finish, with their time, resources and costs."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from artist.core.cluster import Allocation, Slice, tier_of
from artist.core.events import Change, Event, Finish, Start, StartType, Stop
from artist.core.job import Demand
from artist.core.plan import Plan
from artist.engine.jobs import JobTable
from artist.engine.machines import MachineTable
from artist.engine.overheads import Overheads, classify


class Transitions:
    """Moves jobs between waiting, running and finished.

    Parameters
    ----------
    jobs, machines, overheads, note
        The state to change, the costs of changes, and the callback for events.
    first_delays_ns
        Delay of the first start by job, beside the overhead.
    only_groups
        True if a job affects the iteration times of members of its group only.
    shrunk
        The policy's size of an elastic job of which GPUs fail (`artist.core.view.Policy`); None if such jobs
        wait.

    Attributes
    ----------
    changed
        Jobs whose allocation or shift changed since their iteration times were last computed, and their
        allocations then; without finished jobs that affect no other job.
    placements
        Starts, migrations and resizes by tier.
    """

    def __init__(
        self,
        jobs: JobTable,
        machines: MachineTable,
        overheads: Overheads,
        note: Callable[[Event], None],
        first_delays_ns: Sequence[int],
        only_groups: bool,
        shrunk: Callable[[Demand, int], int] | None = None,
    ) -> None:
        self._jobs = jobs
        self._machines = machines
        self._overheads = overheads
        self._note = note
        self._first_delays_ns = first_delays_ns
        self._stops: dict[int, tuple[Allocation, bool, bool]] = {}  # of stopped jobs: held; failed; saved
        self._only_groups, self._shrunk = only_groups, shrunk
        self.changed: dict[int, Allocation | None] = {}
        self.placements = [0, 0, 0]

    def carry_out(self, plan: Plan, now: int) -> bool:
        """Carry out the difference between a checked plan and now; return whether there was one.

        Changed allocations are released first, then jobs stop, machines change their pools, and jobs are
        placed and shifted.
        """
        held, pools = self._jobs.held, self._machines.pools
        todo = [(j, was, new) for j, new in plan.changes.items() if (was := held[j]) is None or was != new]
        changed = bool(todo)
        for job, before, _ in todo:
            if job in plan.cancels:
                self._note(self.finish(job, now, cancelled=True))
            elif before is not None:
                self._jobs.settle(job, now)
                self._give_back(job, before)
                self.changed.setdefault(job, before)
        for job, before, after in todo:
            if after is None and before is not None and job not in plan.cancels:
                lost_ns = self._stop(job, before, now, failed=False)
                self._jobs.preemptions[job] += 1
                self._note(Stop(now, job, "preempted", self._jobs.done[job], lost_ns))
        for machine, pool in plan.assigns.items():
            if pools[machine] != pool:
                self._note(self._machines.assign(machine, pool, now))
                changed = True
        for job, before, after in todo:
            if after is not None:
                self._hold(job, before, after, now)
        for job, shift_ns in plan.shifts.items():
            if self._jobs.shift(job, shift_ns):
                self.touch(job, now)
                changed = True
        return changed

    def touch(self, job: int, now: int) -> None:
        """Let the iteration time of a running job be computed again."""
        self._jobs.settle(job, now)
        self.changed.setdefault(job, self._jobs.held[job])

    def finish(self, job: int, now: int, *, timed_out: bool = False, cancelled: bool = False) -> Finish:
        """Close a job that is done, has reached its limit, or is cancelled; its GPUs are free now."""
        before = self._jobs.held[job]
        assert before is not None
        self._give_back(job, before)
        if not self._only_groups or before.group is not None or cancelled:
            self.changed.setdefault(job, before)
        self._jobs.preemptions[job] += cancelled
        self._jobs.end(job, now, self._overheads.unnoticed_ns(now), early=timed_out or cancelled)
        return Finish(now, job, timed_out, cancelled)

    def evict(self, job: int, now: int, cause: str = "") -> Stop:
        """Stop a job because its machine fails, by a cause, or leaves; a failed machine saves nothing."""
        before = self._jobs.held[job]
        assert before is not None
        self._jobs.settle(job, now)
        self._give_back(job, before)
        self.changed.setdefault(job, before)
        lost_ns = self._stop(job, before, now, failed=bool(cause))
        self._jobs.evictions[job] += 1
        return Stop(now, job, "evicted", self._jobs.done[job], lost_ns, cause)

    def fail(self, job: int, now: int, cause: str, machines: Collection[int]) -> Stop | Change:
        """Continue an elastic job on fewer GPUs if its policy shrinks it; else stop the job.

        Parameters
        ----------
        machines
            All that fail now, by the cause.
        """
        before, spec = self._jobs.held[job], self._jobs.template[job]
        assert before is not None
        after = self._rest(before, spec.demand, machines)
        if after is None:
            return self.evict(job, now, cause)
        self._jobs.settle(job, now)
        self._give_back(job, before)
        self.changed.setdefault(job, before)
        lost_ns = self._jobs.lost_ns[job]
        self._jobs.cut_to_checkpoint(job)
        self._jobs.resizes[job] += 1
        self._machines.take(job, after)
        self._jobs.held[job] = after
        tier = tier_of(after, self._machines.cluster)
        self.placements[tier] += 1
        delay_ns = self._overheads.delay_ns("resize", spec, failed=True)
        self._jobs.hold(job, after, tier, now, delay_ns)
        return Change(now, job, after, "resize", delay_ns, self._jobs.lost_ns[job] - lost_ns, cause)

    # --- steps

    def _rest(self, before: Allocation, demand: Demand, machines: Collection[int]) -> Allocation | None:
        """Return the part of an allocation that a job keeps where some machines fail; None if none."""
        if self._shrunk is None or not demand.elastic or demand.fungible or before.group is not None:
            return None
        left = [s for s in before.slices if s.machine not in machines]
        gpus = self._shrunk(demand, sum(s.gpus for s in left))
        after = replace(before, slices=_first_gpus(left, gpus))
        whole = demand.is_whole(after.gpu_map(), self._machines.cluster.rack_of)
        return after if gpus in demand.targets() and gpus == after.gpus and whole else None

    def _give_back(self, job: int, allocation: Allocation) -> None:
        """Take a running job's allocation away."""
        self._machines.give_back(job, allocation)
        self._jobs.held[job] = None

    def _stop(self, job: int, before: Allocation, now: int, *, failed: bool) -> int:
        """Set a job that has just lost its allocation waiting; return the running time that is lost, ns."""
        spec, lost_ns = self._jobs.template[job], self._jobs.lost_ns[job]
        saved = not failed and self._overheads.saves(spec)
        if saved:
            self._jobs.save(job)
        elif failed or not self._overheads.keeps_open_iteration(spec):
            self._jobs.cut_to_checkpoint(job)
        self._jobs.release(job, now)
        self._stops[job] = before, failed, saved
        return self._jobs.lost_ns[job] - lost_ns

    def _hold(self, job: int, before: Allocation | None, after: Allocation, now: int) -> None:
        """Start a job on an allocation, or change it to one."""
        self._machines.take(job, after)
        self._jobs.held[job] = after
        self.changed.setdefault(job, before)
        event = self._start(job, after, now) if before is None else self._change(job, before, after, now)
        tier = tier_of(after, self._machines.cluster)
        if event.type != "retune":
            self.placements[tier] += 1
        self._jobs.hold(job, after, tier, now, event.delay_ns)
        self._note(event)

    def _start(self, job: int, after: Allocation, now: int) -> Start:
        start_type: StartType = "start"
        spec = self._jobs.template[job]
        if not self._jobs.starts[job]:
            delay_ns = self._overheads.delay_ns(start_type, spec) + self._first_delays_ns[job]
        else:
            before, failed, saved = self._stops.pop(job)
            start_type = "resume" if before.machines == after.machines else "restart"
            delay_ns = self._overheads.delay_ns(start_type, spec, failed=failed, saved=saved)
        return Start(now, job, after, start_type, delay_ns)

    def _change(self, job: int, before: Allocation, after: Allocation, now: int) -> Change:
        jobs, spec = self._jobs, self._jobs.template[job]
        change_type, lost_ns = classify(before, after, elastic=spec.demand.elastic), jobs.lost_ns[job]
        if change_type == "migrate":
            jobs.migrations[job] += 1
            if not self._overheads.keeps_open_iteration(spec):
                jobs.cut_open_iteration(job)
        elif change_type == "resize":
            jobs.resizes[job] += 1
        delay_ns = self._overheads.delay_ns(change_type, spec)
        return Change(now, job, after, change_type, delay_ns, jobs.lost_ns[job] - lost_ns)


def _first_gpus(slices: Sequence[Slice], gpus: int) -> tuple[Slice, ...]:
    """Return a number of GPUs of some slices, of the largest ones first, with their CPUs and memory."""
    kept = []
    for s in sorted(slices, key=lambda s: (-s.gpus, s.machine)):
        if here := min(s.gpus, gpus):
            kept.append(Slice(s.machine, here, s.cpus * here // s.gpus, s.memory_bytes * here // s.gpus))
            gpus -= here
    return tuple(sorted(kept))
