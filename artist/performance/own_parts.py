"""Effects and couplings of the user's own: a wrong answer ends the run with an InputError."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any

from artist.core.checked import AnswerError, checked
from artist.core.cluster import Allocation, Cluster
from artist.core.iteration import IterationParts
from artist.core.job import JobSpec
from artist.errors import InputError
from artist.performance.api import Changed, Running
from artist.performance.couplings.api import Coupling
from artist.performance.effects.api import ByResources, Effect

_WHOLE = "a whole number of ns, 0 or more"


def checked_effect(effect: Effect, where: str) -> Effect:
    """Return an effect that must answer with a whole number; `where` is its field of the configuration."""
    checks: dict[str, Callable[..., Any]] = {"ns": _ns}
    if isinstance(effect, ByResources):  # a protocol, which looks for the method itself
        checks["on_grid"] = lambda added, *_: added
    return checked(effect, partial(_error, f"{where} ({type(effect).__name__}"), **checks)


def checked_coupling(coupling: Coupling, where: str) -> Coupling:
    """Return a coupling that must name running jobs; `where` is its field of the configuration.

    Jobs that have just stopped are left out of what `touched` returns.
    """
    error = partial(_error, f"{where} ({type(coupling).__name__}")
    return checked(coupling, error, touched=_touched, coupled=_coupled)


def _error(part: str, method: str, wrong: AnswerError) -> InputError:
    of = f" for job {wrong.job_id!r}" if wrong.job_id else ""
    where = f"{part}.{method})"
    return InputError(f"a wrong answer{of}", where=where, found=wrong.found, allowed=wrong.allowed)


def _ns(added: object, spec: JobSpec, allocation: Allocation, cluster: Cluster, compute_ns: int) -> int:
    if not isinstance(added, Integral) or int(added) < 0:
        raise AnswerError(added, _WHOLE, spec.job_id)
    return int(added)


def _touched(jobs: object, changed: Sequence[Changed], running: Running) -> list[int]:
    allowed = "the numbers of running jobs"
    if not isinstance(jobs, Iterable):
        raise AnswerError(jobs, allowed)
    stopped = {job for job, _, after in changed if after is None}
    touched = [job for job in jobs if job not in stopped]
    for job in touched:
        try:
            running.allocation(job)
        except (AssertionError, LookupError, TypeError):
            raise AnswerError(job, allowed) from None
    return touched


def _coupled(
    longer: object, prices: Mapping[int, IterationParts], *_: object
) -> Mapping[int, IterationParts]:
    if not isinstance(longer, Mapping):
        raise AnswerError(longer, "IterationParts by job")
    for job, parts in longer.items():
        if job not in prices:
            raise AnswerError(f"job {job!r}", "the jobs that it was given")
        whole = isinstance(parts, IterationParts) and all(isinstance(part, Integral) for part in parts)
        if not whole or min(parts) < 0:
            raise AnswerError(parts, f"IterationParts, each {_WHOLE}")
    return longer
