"""Jobs and their links, written by hand."""

from collections.abc import Mapping, Sequence

import numpy as np

from netmodels.contention.max_min import Incidence


def crossings(jobs: Sequence[Mapping[int, float]], n_links: int) -> Incidence:
    """Return the incidence of jobs, each given as flows by link."""
    indptr = np.cumsum([0, *(len(each) for each in jobs)])
    links = np.array([link for each in jobs for link in each], dtype=np.int64)
    flows = np.array([count for each in jobs for count in each.values()], dtype=np.float64)
    return Incidence.of(indptr, links, n_links, flows)
