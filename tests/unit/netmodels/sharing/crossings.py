"""Jobs and their links, written by hand."""

from collections.abc import Mapping, Sequence

import numpy as np

from netmodels.contention.max_min import Incidence


def crossings(jobs: Sequence[Mapping[int, float]], n_links: int) -> Incidence:
    """Return the incidence of jobs, each given as flows by link."""
    indptr = np.cumsum([0, *(len(spec) for spec in jobs)])
    links = np.array([link for spec in jobs for link in spec], dtype=np.int64)
    flows = np.array([count for spec in jobs for count in spec.values()], dtype=np.float64)
    return Incidence.of(indptr, links, n_links, flows)
