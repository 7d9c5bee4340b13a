"""Effects and couplings of the user's own, whose answers are checked at once."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import NoReturn

from artist.core.cluster import Allocation, Cluster
from artist.core.iteration import IterationParts
from artist.core.job import JobSpec
from artist.errors import InputError
from artist.performance.api import Changed, Running
from artist.performance.couplings.api import Alone, Coupling
from artist.performance.effects.api import ByResources, Effect

_WHOLE = "a whole number of ns, 0 or more"


class CheckedEffect:
    """An effect that must answer with a whole number; otherwise the run ends with an error message.

    It answers on a grid if the user's effect does.

    Parameters
    ----------
    effect
        The user's.
    where
        Its place in the configuration.
    """

    def __init__(self, effect: Effect, where: str) -> None:
        self._effect = effect
        self._where = f"{where} ({type(effect).__name__}.ns)"
        self.part = effect.part
        if isinstance(effect, ByResources):
            self.on_grid = effect.on_grid

    def ns(self, spec: JobSpec, allocation: Allocation, cluster: Cluster, compute_ns: int) -> int:
        """Return what the effect adds, in ns."""
        added = self._effect.ns(spec, allocation, cluster, compute_ns)
        if not isinstance(added, Integral) or added < 0:
            what = f"a wrong answer for job {spec.job_id!r}"
            raise InputError(what, where=self._where, found=added, allowed=_WHOLE)
        return int(added)


class CheckedCoupling:
    """A coupling that must name running jobs, in whole numbers; otherwise the run ends with an error.

    Parameters
    ----------
    coupling
        The user's.
    where
        Its place in the configuration.
    """

    def __init__(self, coupling: Coupling, where: str) -> None:
        self._coupling = coupling
        self._where = f"{where} ({type(coupling).__name__}"

    def touched(self, changed: Sequence[Changed], running: Running) -> Iterable[int]:
        """Return the running jobs whose times may change; jobs that have just stopped are left out."""
        found = self._coupling.touched(changed, running)
        allowed = "the numbers of running jobs"
        if not isinstance(found, Iterable):
            self._refuse("touched", found, allowed)
        stopped = {job for job, _, after in changed if after is None}
        jobs = [job for job in found if job not in stopped]
        for job in jobs:
            try:
                running.allocation(job)
            except (AssertionError, LookupError, TypeError):
                self._refuse("touched", job, allowed)
        return jobs

    def coupled(
        self, prices: Mapping[int, IterationParts], running: Running, alone: Alone
    ) -> Mapping[int, IterationParts]:
        """Return the new parts of some of the jobs."""
        longer = self._coupling.coupled(prices, running, alone)
        if not isinstance(longer, Mapping):
            self._refuse("coupled", longer, "IterationParts by job")
        for job, parts in longer.items():
            if job not in prices:
                self._refuse("coupled", f"job {job!r}", "the jobs that it was given")
            whole = isinstance(parts, IterationParts) and all(isinstance(p, Integral) for p in parts)
            if not whole or min(parts) < 0:
                self._refuse("coupled", parts, f"IterationParts, each {_WHOLE}")
        return longer

    def _refuse(self, method: str, found: object, allowed: str) -> NoReturn:
        raise InputError("a wrong answer", where=f"{self._where}.{method})", found=found, allowed=allowed)
