"""Leases of equal length, found by their end. For Dally."""

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass, field


@dataclass
class Leases:
    """The leases of running jobs, each renewed at its end.

    Leases that end together are kept together, so that those ending now, and the next to end, are found
    without looking at the others.

    Attributes
    ----------
    length_ns
        Of every lease.
    """

    length_ns: int
    _jobs: dict[int, dict[int, None]] = field(default_factory=dict)  # by end, modulo the length
    _phases: list[int] = field(default_factory=list)  # the keys of `_jobs`, sorted
    _phase: dict[int, int] = field(default_factory=dict)  # by job

    def __contains__(self, job: int) -> bool:
        """Return whether a job has a lease."""
        return job in self._phase

    def begin(self, job: int, now: int) -> None:
        """Begin a lease of a job, replacing the one that it has."""
        self.drop(job)
        phase = now % self.length_ns
        if phase not in self._jobs:
            insort(self._phases, phase)
        self._jobs.setdefault(phase, {})[job] = None
        self._phase[job] = phase

    def drop(self, job: int) -> None:
        """Remove the lease of a job, if it has one."""
        phase = self._phase.pop(job, None)
        if phase is None:
            return
        del self._jobs[phase][job]
        if not self._jobs[phase]:
            del self._jobs[phase]
            del self._phases[bisect_left(self._phases, phase)]

    def ending(self, now: int) -> tuple[int, ...]:
        """Return the jobs whose lease ends, or begins, now."""
        return tuple(self._jobs.get(now % self.length_ns, ()))

    def next_end(self, now: int) -> int | None:
        """Return the next end of a lease after now, None without leases."""
        if not self._phases:
            return None
        begun = now % self.length_ns
        place = bisect_right(self._phases, begun)
        later = self._phases[place] if place < len(self._phases) else self._phases[0] + self.length_ns
        return now - begun + later
