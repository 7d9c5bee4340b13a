"""The workers of running jobs: base workers, which stay, and flexible ones, which come and go. For Lyra.

All workers of an inelastic job, and as many of an elastic one as it cannot do without, are base workers; what
an elastic job holds beyond them are flexible workers, in steps of its demand, on GPUs of one type.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from artist.core.cluster import Cluster
from artist.core.job import Demand

_TOLERANCE = 1e-9  # worths such as 1/3 are not exact in binary
_NONE: dict[int, int] = {}


@dataclass(slots=True)
class Held:
    """The workers of one running job.

    Attributes
    ----------
    base, flexible
        GPUs by machine.
    steps
        Flexible GPUs with 0, 1, 2, ... extra workers on the type that they are on; (0,) of a job that has
        the most that it may have.
    """

    demand: Demand
    base: dict[int, int]
    flexible: dict[int, int] = field(default_factory=dict)
    steps: Sequence[int] = (0,)


class Workers:
    """Where the base and the flexible workers of running jobs are.

    Attributes
    ----------
    jobs
        The workers by running job.
    changed
        Jobs whose flexible workers changed, as keys, since this was last emptied.
    stopped
        Jobs that were preempted, as keys, since this was last emptied.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.jobs: dict[int, Held] = {}
        self.changed: dict[int, None] = {}
        self.stopped: dict[int, None] = {}
        self._worths = [machine.worth for machine in cluster.machines]
        self._base_on: dict[int, dict[int, int]] = {}
        self._flexible_on: dict[int, dict[int, int]] = {}

    def base_on(self, machine: int) -> Mapping[int, int]:
        """Return the GPUs of base workers on a machine by job, those of inelastic jobs too; do not change it.

        A CPU-only job is listed with 0 GPUs.
        """
        return self._base_on.get(machine, _NONE)

    def flexible_on(self, machine: int) -> Mapping[int, int]:
        """Return the GPUs of flexible workers on a machine by job; do not change it."""
        return self._flexible_on.get(machine, _NONE)

    def start(self, job: int, demand: Demand, base: Mapping[int, int]) -> None:
        """Track a job that starts with its base workers only."""
        self.jobs[job] = Held(demand, dict(base))
        for machine, gpus in base.items():
            self._base_on.setdefault(machine, {})[job] = gpus

    def end(self, job: int) -> None:
        """Track a job that has finished or was evicted; all its workers go."""
        held = self.jobs.pop(job)
        self.changed.pop(job, None)
        for machine in held.base:
            _drop(self._base_on, machine, job)
        for machine in held.flexible:
            _drop(self._flexible_on, machine, job)

    def preempt(self, job: int) -> None:
        """Stop a job: all its workers go, wherever they are."""
        self.end(job)
        self.stopped[job] = None

    def vacate(self, machine: int) -> None:
        """Take all flexible workers off a machine: their jobs shrink."""
        for job, gpus in list(self.flexible_on(machine).items()):
            self.shrink(job, machine, gpus)

    def shrink(self, job: int, machine: int, gpus: int) -> None:
        """Take at least so many GPUs of flexible workers of a job on a machine.

        Where they are a part of a worker, the rest of it goes as well: first what is on the same machine,
        then on the machines where the job has fewest.
        """
        held = self.jobs[job]
        left = sum(held.flexible.values()) - gpus
        over = left - held.steps[bisect_right(held.steps, left) - 1]
        self._take(job, machine, gpus)
        others = sorted(held.flexible, key=lambda m: (m != machine, held.flexible[m], m))
        for other in others:
            taken = min(over, held.flexible[other])
            if taken:
                self._take(job, other, taken)
                over -= taken

    def _take(self, job: int, machine: int, gpus: int) -> None:
        """Take GPUs of flexible workers."""
        flexible = self.jobs[job].flexible
        flexible[machine] -= gpus
        self._flexible_on[machine][job] = flexible[machine]
        self.changed[job] = None
        if not flexible[machine]:
            del flexible[machine]
            _drop(self._flexible_on, machine, job)

    def grow(self, job: int, gpus: Mapping[int, int]) -> None:
        """Add flexible workers, given as GPUs by machine; whole steps in all."""
        flexible = self.jobs[job].flexible
        for machine, more in gpus.items():
            flexible[machine] = flexible.get(machine, 0) + more
            self._flexible_on.setdefault(machine, {})[job] = flexible[machine]
        self.changed[job] = None


def steps_on(demand: Demand, base_gpus: int, base_worth: float, worth: float) -> tuple[int, ...]:
    """Return the GPUs of a worth that 0, 1, 2, ... extra workers of an elastic job take.

    Parameters
    ----------
    base_gpus
        GPUs of the base demand, in those that the demand is given for.
    base_worth
        Worth of the GPUs that the base workers hold, together.
    """
    targets = range(base_gpus, demand.max_gpus + 1, demand.step)
    if not demand.fungible:
        return tuple(target - base_gpus for target in targets)
    needs = (target * demand.measured_worth - base_worth for target in targets)
    return tuple(max(0, ceil(need / worth - _TOLERANCE)) for need in needs)


def _drop(on: dict[int, dict[int, int]], machine: int, job: int) -> None:
    there = on[machine]
    del there[job]
    if not there:
        del on[machine]
