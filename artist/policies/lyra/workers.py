"""The workers of running jobs: base workers, which stay, and flexible ones, which do not. For Lyra.

All workers of an inelastic job, and the indispensable ones of an elastic job, are base workers; all others
of an elastic job are flexible workers, in steps of its demand, on GPUs of one type.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from artist.core.cluster import Allocation, Cluster, Slice
from artist.core.free import Free
from artist.core.job import Demand

_NOTHING: dict[int, int] = {}


@dataclass(slots=True)
class Held:
    """The workers of one running job.

    Attributes
    ----------
    base, flexible
        GPUs by machine.
    slices
        Its slices by machine, with CPUs and memory.
    steps
        Flexible GPUs with 0, 1, 2, ... extra workers on the type that they are on; (0,) for a job at its
        maximum.
    extra
        Extra workers, so that there are `steps[extra]` flexible GPUs.
    """

    demand: Demand
    base: Mapping[int, int]
    slices: dict[int, Slice]
    steps: Sequence[int] = (0,)
    flexible: dict[int, int] = field(default_factory=dict)
    extra: int = 0

    @property
    def allocation(self) -> Allocation:
        """The allocation of all workers."""
        return Allocation(tuple(self.slices[machine] for machine in sorted(self.slices)))


class Workers:
    """Base and flexible workers of running jobs, by machine.

    Attributes
    ----------
    jobs
        The workers by running job.
    with_base, with_flexible
        Machines with base workers, and with flexible ones, as sets of `artist.core.buckets`.
    loose
        The machines that take new work, by GPUs that are idle or held by flexible workers.
    loose_gpus
        These GPUs by machine.
    changed
        Jobs whose flexible workers changed, as keys, since this was last emptied.
    stopped
        Former workers of the jobs that were preempted since this was last emptied.
    version
        Changes whenever an elastic job grows or shrinks, starts, or is to grow on another GPU type (the
        callers that track these report the last two).
    """

    def __init__(self, cluster: Cluster, free: Free) -> None:
        self.jobs: dict[int, Held] = {}
        self.with_base = self.with_flexible = 0
        self.changed: dict[int, None] = {}
        self.stopped: dict[int, Held] = {}
        self.version = 0
        self._machines = cluster.machines
        self._base_on: dict[int, dict[int, int]] = {}
        self._flexible_on: dict[int, dict[int, int]] = {}
        self.recount(free)

    def recount(self, free: Free) -> None:
        """Count loose GPUs from the idle ones: machines joined, left, opened or closed."""
        self.loose, self.loose_gpus = free.buckets.copy(), free.gpus.tolist()
        self._open = sum(free.buckets.sets)  # no machine is in two of them
        for machine, there in self._flexible_on.items():
            self._loosen(machine, sum(there.values()))

    def _loosen(self, machine: int, gpus: int) -> None:
        if self._open >> machine & 1:
            before = self.loose_gpus[machine]
            self.loose_gpus[machine] = before + gpus
            self.loose.move(machine, before, before + gpus)

    # --- workers by machine

    def base_on(self, machine: int) -> Mapping[int, int]:
        """Return the GPUs of base workers on a machine by job, also of inelastic jobs; do not change it.

        A CPU-only job is listed with 0 GPUs.
        """
        return self._base_on.get(machine, _NOTHING)

    def flexible_on(self, machine: int) -> Mapping[int, int]:
        """Return the GPUs of flexible workers on a machine by job; do not change it."""
        return self._flexible_on.get(machine, _NOTHING)

    # --- starts and ends

    def start(self, job: int, demand: Demand, allocation: Allocation) -> None:
        """Track a job that starts with its base workers only."""
        slices = {s.machine: s for s in allocation.slices}
        self.jobs[job] = Held(demand, allocation.gpu_map(), slices)
        for machine, gpus, _, _ in allocation.slices:
            self._base_on.setdefault(machine, {})[job] = gpus
            self.with_base |= 1 << machine
            self._loosen(machine, -gpus)

    def end(self, job: int) -> Held:
        """Track a job that has finished or was evicted; all its workers leave. Return its workers."""
        held = self.jobs.pop(job)
        self.changed.pop(job, None)
        for machine, gpus in held.base.items():
            self._loosen(machine, gpus)
            if _drop(self._base_on, machine, job):
                self.with_base ^= 1 << machine
        for machine in held.flexible:
            self._drop_flexible(machine, job)
        return held

    def preempt(self, job: int) -> None:
        """Stop a job: all its workers leave, wherever they are."""
        self.stopped[job] = self.end(job)

    # --- flexible workers

    def grow(self, job: int, gpus: Mapping[int, int], free: Free) -> None:
        """Add flexible workers, given as GPUs by machine, whole steps in all; take them from `free`."""
        held = self.jobs[job]
        for machine, more in gpus.items():
            _, before, cpus, memory = held.slices.get(machine) or Slice(machine, 0)
            cpu_share, memory_share = self._machines[machine].share(before + more)
            cpus_left, memory_left = free.cpus_and_memory(machine)
            more_cpus = max(0, min(cpu_share - cpus, cpus_left))
            more_memory = max(0, min(memory_share - memory, memory_left))
            free.take(Allocation((Slice(machine, more, more_cpus, more_memory),)))
            held.slices[machine] = Slice(machine, before + more, cpus + more_cpus, memory + more_memory)
            now = held.flexible.get(machine, 0) + more
            held.flexible[machine] = now
            self._flexible_on.setdefault(machine, {})[job] = now
            self.with_flexible |= 1 << machine
        self._count(job)

    def vacate(self, machine: int) -> None:
        """Remove all flexible workers from a machine: their jobs shrink."""
        for job, gpus in list(self.flexible_on(machine).items()):
            self.shrink(job, {machine: gpus})

    def shrink(self, job: int, gpus: Mapping[int, int], free: Free | None = None) -> None:
        """Take at least `gpus` by machine from a job's flexible workers; return them to `free`.

        If they are a part of a worker, the rest of it is taken as well: first from the same machines, then
        from the machines where the job has fewest.
        """
        held = self.jobs[job]
        left = sum(held.flexible.values()) - sum(gpus.values())
        over = left - held.steps[bisect_right(held.steps, left) - 1]
        for machine, count in gpus.items():
            self._take(job, machine, count, free)
        if over:
            for machine in sorted(held.flexible, key=lambda m: (m not in gpus, held.flexible[m], m)):
                if taken := min(over, held.flexible[machine]):
                    self._take(job, machine, taken, free)
                    over -= taken
        self._count(job)

    def shrink_to(self, job: int, extra: int, free: Free) -> None:
        """Remove flexible workers until `extra` ones are left: first where the job has fewest."""
        held = self.jobs[job]
        over, gpus = held.steps[held.extra] - held.steps[extra], {}
        for machine in sorted(held.flexible, key=lambda m: (held.flexible[m], m)):
            gpus[machine] = min(over, held.flexible[machine])
            over -= gpus[machine]
            if not over:
                break
        self.shrink(job, gpus, free)

    def _take(self, job: int, machine: int, gpus: int, free: Free | None) -> None:
        """Take GPUs of flexible workers on one machine."""
        held = self.jobs[job]
        _, before, cpus, memory = held.slices.pop(machine)
        cpu_share, memory_share = self._machines[machine].share(before - gpus)
        kept = Slice(machine, before - gpus, min(cpus, cpu_share), min(memory, memory_share))
        if kept.gpus:
            held.slices[machine] = kept
        if free is not None:
            taken = Slice(machine, gpus, cpus - kept.cpus, memory - kept.memory_bytes)
            free.give(Allocation((taken,)))
        held.flexible[machine] -= gpus
        self._flexible_on[machine][job] = held.flexible[machine]
        if not held.flexible[machine]:
            del held.flexible[machine]
            self._drop_flexible(machine, job)

    def _drop_flexible(self, machine: int, job: int) -> None:
        if _drop(self._flexible_on, machine, job):
            self.with_flexible ^= 1 << machine

    def _count(self, job: int) -> None:
        held = self.jobs[job]
        held.extra = bisect_right(held.steps, sum(held.flexible.values())) - 1
        self.changed[job] = None
        self.version += 1


def _drop(on: dict[int, dict[int, int]], machine: int, job: int) -> bool:
    """Forget a job on a machine; return whether it was the last one there."""
    there = on[machine]
    del there[job]
    if not there:
        del on[machine]
    return not there
