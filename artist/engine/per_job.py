"""Numbers of every job before it starts, on some machines: computed on first access, once for equal jobs."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence

import numpy as np

from artist.core.arrays import Ints
from artist.core.buckets import ALL
from artist.core.job import JobSpec


class PerJob(ABC):
    """A row of numbers per job.

    Parameters
    ----------
    specs
        All jobs of the run.
    width
        Numbers of a row.
    """

    def __init__(self, specs: Sequence[JobSpec], width: int) -> None:
        self._specs = specs
        self._rows = np.zeros((len(specs), width), dtype=np.int64)
        self._set_of = np.full(len(specs), -1, dtype=np.int64)  # machines for which a row holds, by number
        self._sets: dict[int, int] = {}
        self._known: dict[Hashable, tuple[int, ...]] = {}

    def of(self, jobs: Ints, among: int = ALL) -> Ints:
        """Return the rows of some jobs, shape (n, width).

        Parameters
        ----------
        among
            The machines on which they run, as a set of `artist.core.buckets`.
        """
        number = self._sets.setdefault(among, len(self._sets))
        for job in jobs[self._set_of[jobs] != number].tolist():
            spec = self._specs[job]
            key = (spec.model, spec.demand, spec.compute_ns, spec.stages, among)
            if key not in self._known:
                self._known[key] = self._row(job, spec, among)
            self._rows[job] = self._known[key]
            self._set_of[job] = number
        rows: Ints = self._rows[jobs]
        return rows

    @abstractmethod
    def _row(self, job: int, spec: JobSpec, among: int) -> tuple[int, ...]:
        """Compute the row of a job."""
