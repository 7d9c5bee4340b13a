"""Policies' beliefs on durations and iteration times: one factor per job, times the truth.

A part may also replace the whole performance that policies see.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from artist.core.arrays import Floats, Ints
from artist.core.cluster import Cluster
from artist.core.job import JobSpec
from artist.performance.api import Performance
from artist.randomness import child_generator


class Estimates(Protocol):
    """A source of beliefs. A part of the user's own inherits it and defines `factors`."""

    def factors(self, jobs: Sequence[JobSpec]) -> Floats:
        """Return believed / true duration per job, shape (n_jobs,), all > 0."""

    def performance(self, truth: Performance) -> Performance:
        """Return the iteration times that policies see, before `factors`; by default the true ones."""
        return truth

    def first_delays_ns(self, jobs: Sequence[JobSpec], believed: Performance, cluster: Cluster) -> Ints:
        """Return the delay of each job's first run by measuring, in ns, shape (n_jobs,); by default 0."""
        return np.zeros(len(jobs), dtype=np.int64)


class Exact(Estimates):
    """Policies believe the truth."""

    def factors(self, jobs: Sequence[JobSpec]) -> Floats:
        """Return ones, shape (n_jobs,)."""
        return np.ones(len(jobs))

    def describe(self) -> str:
        """Return the beliefs in a clause, for a report."""
        return "policies that use run times know the true ones"


@dataclass(config={"extra": "forbid"})
class Noise(Estimates):
    """Every duration is misjudged by a factor uniform in [1 - level, 1 + level] (Muri, section 6.4)."""

    level: float = Field(default=0.2, ge=0, le=1)
    seed: int = Field(default=0, ge=0)

    def factors(self, jobs: Sequence[JobSpec]) -> Floats:
        """Return uniform factors, shape (n_jobs,)."""
        rng = child_generator(self.seed, "estimates")
        return np.maximum(rng.uniform(1 - self.level, 1 + self.level, len(jobs)), 1e-6)

    def describe(self) -> str:
        """Return the beliefs in a clause, for a report."""
        return f"policies that use run times believe ones that are wrong by up to {self.level:.0%}"


@dataclass(config={"extra": "forbid"})
class WrongFraction(Estimates):
    """A share `fraction` of the jobs is misjudged, the others not (Lyra, section 7.5: prediction error).

    The factors of those misjudged are uniform in [1 - error, 1 + error].
    """

    fraction: float = Field(default=0.2, ge=0, le=1)
    error: float = Field(default=0.25, ge=0, le=1)
    seed: int = Field(default=0, ge=0)

    def factors(self, jobs: Sequence[JobSpec]) -> Floats:
        """Return factors that are 1 for the jobs judged correctly, shape (n_jobs,)."""
        rng = child_generator(self.seed, "estimates")
        wrong = rng.random(len(jobs)) < self.fraction
        factors = rng.uniform(1 - self.error, 1 + self.error, len(jobs))
        return np.where(wrong, np.maximum(factors, 1e-6), 1.0)

    def describe(self) -> str:
        """Return the beliefs in a clause, for a report."""
        return f"policies that use run times believe wrong ones for {self.fraction:.0%} of the jobs"
