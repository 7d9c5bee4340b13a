"""Iterations that fill scheduling rounds, as in programs that count them round by round."""

from collections.abc import Mapping, Sequence
from math import floor
from typing import Any

import numpy as np

from artist.core.arrays import Ints
from artist.core.cluster import Allocation, Cluster
from artist.core.iteration import IterationParts
from artist.core.job import JobSpec
from artist.performance.api import Changed, Running
from artist.performance.placed import PlacedPerformance

_TOLERANCE = 1e-6  # of a count: iteration times are whole nanoseconds


class WholeIterations(PlacedPerformance):
    """A chain whose jobs do whole iterations in a round, and nothing in the rest of it.

    Of iterations of t, floor(round / t) fit a round, and each takes round / that many; the difference counts
    as compute. An iteration longer than a round is unchanged: the program that this models
    (github.com/msr-fiddle/synergy, MIT) would never finish it.

    Parameters
    ----------
    round_ns
        Length of a round.
    chain, parts
        As for `PlacedPerformance`.
    """

    def __init__(self, round_ns: int, *chain: Any, **parts: Any) -> None:
        super().__init__(*chain, **parts)
        self._round_ns = round_ns

    def at_resources(
        self, spec: JobSpec, allocation: Allocation, cluster: Cluster, cpus: Ints, memory_bytes: Ints
    ) -> Ints:
        """Return iteration times alone by CPUs and memory; see `artist.performance.api.OnGrid`."""
        times = super().at_resources(spec, allocation, cluster, cpus, memory_bytes)
        counts = np.floor(self._round_ns / times * (1 + _TOLERANCE)).astype(np.int64)
        filling_ns = np.maximum(self._round_ns // np.maximum(counts, 1), 1)
        return np.where(counts > 0, filling_ns, times)

    def reprice(self, changed: Sequence[Changed], running: Running) -> Mapping[int, IterationParts]:
        """Return the parts of every changed job that runs, and of the jobs that couplings touch."""
        return {job: self._filling(parts) for job, parts in super().reprice(changed, running).items()}

    def _filling(self, parts: IterationParts) -> IterationParts:
        """Return the parts of an iteration of which a whole number fills a round."""
        total_ns = sum(parts)
        count = floor(self._round_ns / total_ns * (1 + _TOLERANCE))
        if not count:
            return parts
        filling_ns = max(self._round_ns // count, 1)
        return parts._replace(compute_ns=parts.compute_ns + filling_ns - total_ns)
