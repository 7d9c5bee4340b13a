"""Plans: the changes that a policy asks for. A job or machine that is not mentioned stays as it is."""

from collections.abc import Mapping
from dataclasses import field
from numbers import Integral
from types import MappingProxyType
from typing import Any

from artist.core.cluster import Allocation
from artist.core.record import record
from artist.errors import PlanError

_NOTHING: Mapping[int, Any] = MappingProxyType({})


@record
class Plan:
    """All that a policy returns.

    Attributes
    ----------
    changes
        New allocation by job; None stops the job.
    assigns
        New pool by machine. All jobs on the machine stop or move away in the same plan; new ones may start
        there.
    wake_ns
        Time of a call of the policy, whatever calls it earlier; replaces an earlier one, None keeps it.
    shifts
        Delay in ns of a job's iterations relative to others that share links with it. A job that is not
        named keeps its shift until it stops; the default is 0.
    awaited_gpus
        Arrivals and finishes need no call while fewer GPUs are free, on machines that take new work; they
        are news of the next one, after anything else that calls it.
    reasons
        New reason for which a job waits, for events.parquet, by job; empty for none.
    cancels
        Jobs of `changes` that end as they stop, done or not; their ends are news of the next call.
    """

    changes: Mapping[int, Allocation | None]
    assigns: Mapping[int, str]
    wake_ns: int | None = None
    shifts: Mapping[int, int] = field(default_factory=lambda: _NOTHING)
    awaited_gpus: int = 0
    reasons: Mapping[int, str] = field(default_factory=lambda: _NOTHING)
    cancels: tuple[int, ...] = ()


class PlanBuilder:
    """Collects a plan on top of the running jobs; the last entry for a job counts."""

    __slots__ = ("_assigns", "_awaited_gpus", "_cancels", "_changes", "_reasons", "_shifts", "_wake_ns")

    def __init__(self) -> None:
        self._changes: dict[int, Allocation | None] = {}
        self._assigns: dict[int, str] = {}
        self._shifts: dict[int, int] = {}
        self._reasons: dict[int, str] = {}
        self._cancels: dict[int, None] = {}
        self._wake_ns: int | None = None
        self._awaited_gpus = 0

    @property
    def changes(self) -> Mapping[int, Allocation | None]:
        """The changes so far: new allocation by job, None for a stop."""
        return MappingProxyType(self._changes)

    @property
    def assigns(self) -> Mapping[int, str]:
        """The assignments so far: new pool by machine."""
        return MappingProxyType(self._assigns)

    def place(self, job: int, allocation: Allocation) -> None:
        """Run a job on an allocation: start, resume, migrate, resize or retune it."""
        self._changes[job] = allocation

    def stop(self, job: int) -> None:
        """Take a running job's allocation away; it waits again."""
        self._changes[job] = None
        self._cancels.pop(job, None)

    def cancel(self, job: int) -> None:
        """End a running job, done or not."""
        self._changes[job] = None
        self._cancels[job] = None

    def keep(self, job: int) -> None:
        """Remove a job from this plan."""
        self._changes.pop(job, None)

    def assign(self, machine: int, pool: str) -> None:
        """Give a machine to another pool: after this plan's stops and before its starts it must be empty."""
        self._assigns[machine] = pool

    def shift(self, job: int, shift_ns: int) -> None:
        """Shift the iterations of a job that runs after this plan, by 0 ns or more; see `Plan.shifts`."""
        self._shifts[job] = shift_ns

    def note_reason(self, job: int, reason: str) -> None:
        """Write the reason for which a job waits to events.parquet, empty for none; note it as it changes."""
        self._reasons[job] = reason

    def wake_at(self, time_ns: int) -> None:
        """Call the policy at a time in ns, also if something else calls it earlier.

        The earliest time of one plan counts. A later plan with a time replaces it, one without keeps it.
        """
        if not isinstance(time_ns, Integral):
            raise PlanError(f"wake_at takes a whole number of nanoseconds, not {time_ns!r}")
        time_ns = int(time_ns)
        if self._wake_ns is None or time_ns < self._wake_ns:
            self._wake_ns = time_ns

    def wait_for_gpus(self, gpus: int) -> None:
        """Need no call for arrivals and finishes while fewer GPUs are free: no job could start."""
        self._awaited_gpus = gpus

    def done(self) -> Plan:
        """Freeze the plan."""
        return Plan(
            MappingProxyType(self._changes.copy()) if self._changes else _NOTHING,
            MappingProxyType(self._assigns.copy()) if self._assigns else _NOTHING,
            self._wake_ns,
            MappingProxyType(self._shifts.copy()) if self._shifts else _NOTHING,
            self._awaited_gpus,
            MappingProxyType(self._reasons.copy()) if self._reasons else _NOTHING,
            tuple(job for job in self._cancels if self._changes.get(job, job) is None),
        )
