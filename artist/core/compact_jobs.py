"""Jobs as columns: a million jobs share few templates, so their specs are built on demand."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import islice, takewhile
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from artist.core.job import JobSpec

_KEPT = 1 << 14  # latest specs, about 5 MB
_AT_ONCE = 1 << 14
_FIELDS = tuple(field.name for field in fields(JobSpec))[:-2]  # without the last two, which differ by job
UNKNOWN = np.iinfo(np.int64).min  # of starts

Ints = npt.NDArray[np.int64]


class Site(NamedTuple):
    """Real times of jobs, from the start of the simulation, shape (n_jobs,).

    Attributes
    ----------
    started_ns, ended_ns
        Start and end; UNKNOWN where not known.
    """

    started_ns: Ints
    ended_ns: Ints


class LazySpecs(dict[int, JobSpec]):
    """Specs by number, built on first access; as quick to read as a list, and iterated as one."""

    def __init__(self, jobs: "CompactJobs") -> None:
        self._jobs = jobs

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[JobSpec]:  # type: ignore[override]
        return iter(self._jobs)

    def __missing__(self, job: int) -> JobSpec:
        if dict.__len__(self) >= _KEPT:
            self.clear()
        spec = self[job] = self._jobs.make(job)
        return spec


class CompactJobs(Sequence[JobSpec]):
    """Jobs in order of arrival, about 50 bytes per job; a spec is built on access.

    Parameters
    ----------
    job_ids
        Unique.
    submit_ns, iterations, compute_ns
        Shape (n_jobs,).
    templates
        The first job of each template; jobs with the same template differ in the above alone.
    template
        Index into `templates`, shape (n_jobs,).
    site
        Real starts and ends; None if none is known.
    first_shorter_ns
        Shape (n_jobs,); None for zeros.

    Attributes
    ----------
    specs
        The specs by number.
    arrays
        `submit_ns`, `iterations`, `compute_ns` and `first_shorter_ns` by name.
    """

    def __init__(
        self,
        job_ids: Iterable[str],
        submit_ns: Ints,
        iterations: Ints,
        compute_ns: Ints,
        templates: Sequence[JobSpec],
        template: npt.NDArray[np.integer[Any]],
        site: Site | None = None,
        first_shorter_ns: Ints | None = None,
    ) -> None:
        self.templates, self.template = templates, template.astype(np.int32)
        if first_shorter_ns is None:
            first_shorter_ns = np.zeros(len(submit_ns), dtype=np.int64)  # pages never written take no memory
        self.arrays = {"submit_ns": submit_ns, "iterations": iterations, "compute_ns": compute_ns}
        self.arrays["first_shorter_ns"] = first_shorter_ns
        self._ids, self._starts = _joined(job_ids)
        self._shared = [[getattr(spec, name) for name in _FIELDS[5:]] for spec in templates]
        self._template, self._submit_ns = self.template.data, submit_ns.data
        self._iterations, self._compute_ns = iterations.data, compute_ns.data
        self._first_shorter_ns = first_shorter_ns.data
        self.site = site
        self.specs = LazySpecs(self)

    def __reduce__(self) -> tuple[type["CompactJobs"], tuple[Any, ...]]:
        *numbers, first_shorter_ns = self.arrays.values()
        known = *numbers, self.templates, self.template, self.site, first_shorter_ns
        return type(self), (list(self.column("job_id")), *known)

    def __len__(self) -> int:
        return len(self.template)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __add__(self, other: Iterable[JobSpec]) -> list[JobSpec]:
        return [*self, *other]

    def __getitem__(self, index: Any) -> Any:
        jobs = range(len(self))[index]
        return self.specs[jobs] if isinstance(jobs, int) else [self.specs[job] for job in jobs]

    def __iter__(self) -> Iterator[JobSpec]:
        return map(self.make, range(len(self)))

    def make(self, job: int) -> JobSpec:
        """Return a new spec of a job."""
        template = self._template[job]
        at, demand = self._submit_ns[job], self.templates[template].demand
        work = self._iterations[job], self._compute_ns[job]
        rest = *self._shared[template], self._started(job), self._first_shorter_ns[job]
        return JobSpec(self._id(job), at, demand, *work, *rest)

    def column(self, name: str, part: slice = slice(None)) -> Iterable[Any]:
        """Return a field of all jobs, or of a slice of them."""
        if name in self.arrays:
            numbers: list[int] = self.arrays[name][part].tolist()
            return numbers
        if name == "job_id":
            return map(self._id, range(len(self))[part])
        if name == "started_ns":
            return map(self._started, range(len(self))[part])
        values = [getattr(spec, name) for spec in self.templates]
        return map(values.__getitem__, self.template[part].tolist())

    def longest(self, gpu_ns: float) -> Iterator[JobSpec]:
        """Yield the first job of each template, and jobs of more GPU time, in order."""
        gpus = of_templates(self, lambda spec: max(spec.demand.gpus, 1))
        chosen = self.arrays["iterations"] * self.arrays["compute_ns"].astype(float) * gpus > gpu_ns
        chosen[np.unique(self.template, return_index=True)[1]] = True
        return map(self.specs.__getitem__, np.flatnonzero(chosen).tolist())

    def _started(self, job: int) -> int | None:
        started_ns = UNKNOWN if self.site is None else self.site.started_ns[job]
        return None if started_ns == UNKNOWN else int(started_ns)

    def _id(self, job: int) -> str:
        return self._ids[self._starts[job] : self._starts[job + 1]].decode()


def field_of(jobs: Sequence[JobSpec], name: str, part: slice = slice(None)) -> Iterable[Any]:
    """Return a field of all jobs, or of a slice of them."""
    if isinstance(jobs, CompactJobs):
        return jobs.column(name, part)
    return [getattr(spec, name) for spec in jobs[part]]


def array_of(jobs: Sequence[JobSpec], name: str) -> Ints:
    """Return one of `CompactJobs.arrays` of all jobs, shape (n_jobs,)."""
    if isinstance(jobs, CompactJobs):
        return jobs.arrays[name]
    return np.array([getattr(spec, name) for spec in jobs], dtype=np.int64)


def ran_at_first(jobs: Sequence[JobSpec]) -> int:
    """Return the number of leading jobs that had started on their site when the first job arrives."""
    starts_ns = takewhile(lambda start_ns: start_ns is not None, field_of(jobs, "started_ns"))
    return sum(1 for _ in takewhile(lambda start_ns: start_ns <= jobs[0].submit_ns, starts_ns))


def of_templates(jobs: Sequence[JobSpec], value: Callable[[JobSpec], int]) -> Ints:
    """Return a number that jobs of one template have in common, shape (n_jobs,)."""
    values = np.array([value(spec) for spec in templates_of(jobs)], dtype=np.int64)
    return values[jobs.template] if isinstance(jobs, CompactJobs) else values


def templates_of(jobs: Sequence[JobSpec]) -> Sequence[JobSpec]:
    """Return one job per template: jobs of a template differ only in name, arrival and length."""
    return jobs.templates if isinstance(jobs, CompactJobs) else jobs


def _joined(texts: Iterable[str]) -> tuple[bytes, "array[int]"]:
    """Return texts joined as bytes, and the start of each."""
    rest, parts, starts = iter(texts), list[bytes](), array("q", [0])
    while batch := [text.encode() for text in islice(rest, _AT_ONCE)]:
        parts.append(b"".join(batch))
        starts.extend((starts[-1] + np.cumsum([len(text) for text in batch])).tolist())
    return b"".join(parts), starts
