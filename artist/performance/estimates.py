"""What policies believe of durations and iteration times: one factor per job, times the truth.

A part may also replace the whole performance that policies see.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from artist.core.cluster import Cluster
from artist.core.job import JobSpec
from artist.performance.api import Floats, Ints, Performance
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


class NoiseParameters(BaseModel):
    """Factors are uniform in [1 - level, 1 + level]."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    level: float = Field(0.2, ge=0, le=1)
    seed: int = Field(0, ge=0)


class Noise(Estimates):
    """Every duration is misjudged a little (Muri, section 6.4: profiling noise)."""

    def __init__(self, **parameters: object) -> None:
        self.parameters = NoiseParameters.model_validate(parameters)

    def factors(self, jobs: Sequence[JobSpec]) -> Floats:
        """Return uniform factors, shape (n_jobs,)."""
        p = self.parameters
        rng = child_generator(p.seed, "estimates")
        return np.maximum(rng.uniform(1 - p.level, 1 + p.level, len(jobs)), 1e-6)


class WrongFractionParameters(BaseModel):
    """A share `fraction` of the jobs is misjudged by a factor uniform in [1 - error, 1 + error]."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fraction: float = Field(0.2, ge=0, le=1)
    error: float = Field(0.25, ge=0, le=1)
    seed: int = Field(0, ge=0)


class WrongFraction(Estimates):
    """Some durations are misjudged, the others exact (Lyra, section 7.5: prediction error)."""

    def __init__(self, **parameters: object) -> None:
        self.parameters = WrongFractionParameters.model_validate(parameters)

    def factors(self, jobs: Sequence[JobSpec]) -> Floats:
        """Return factors that are 1 for the jobs judged correctly, shape (n_jobs,)."""
        p = self.parameters
        rng = child_generator(p.seed, "estimates")
        wrong = rng.random(len(jobs)) < p.fraction
        factors = rng.uniform(1 - p.error, 1 + p.error, len(jobs))
        return np.where(wrong, np.maximum(factors, 1e-6), 1.0)
