"""Smallest set of jobs that together give up enough CPUs and memory. For tune.

Sets of few jobs are tried one by one. For many jobs there are too many sets: the largest memory that k of the
jobs from the i-th on can give up, with at least c CPUs, is computed from k = 1 on. The work is proportional
to jobs x CPUs lacking x size of the set, and the answer is the same.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from artist.core.arrays import Ints

Gives = Sequence[tuple[int, int]]  # CPUs and bytes of memory, 0 or more, by job
_FEW = 8
_NEVER = -(1 << 60)


def smallest_set(gives: Gives, cpus: int, memory: int) -> Sequence[int]:
    """Return the smallest set of jobs that together give up enough, by index; all if none does.

    Of equally small sets it is the first in lexicographic order.
    """
    if sum(give[0] for give in gives) < cpus or sum(give[1] for give in gives) < memory:
        return range(len(gives))
    return (_set_by_set if len(gives) <= _FEW else _by_size)(gives, max(cpus, 0), max(memory, 0))


def _set_by_set(gives: Gives, cpus: int, memory: int) -> Sequence[int]:
    for count in range(1, len(gives)):
        for some in combinations(range(len(gives)), count):
            if sum(gives[i][0] for i in some) >= cpus and sum(gives[i][1] for i in some) >= memory:
                return some
    return range(len(gives))


def _by_size(gives: Gives, cpus: int, memory: int) -> Sequence[int]:
    """Return the set from layers: `layers[k][i, c]` is the largest memory of k jobs from i on with c CPUs."""
    gives_cpus, gives_memory = np.array(gives, dtype=np.int64).T
    lacking = np.maximum(np.arange(cpus + 1) - gives_cpus[:, None], 0)  # after a job has given, (job, CPUs)
    none = np.full((len(gives) + 1, cpus + 1), _NEVER)
    none[:, 0] = 0
    layers = [none]
    while layers[-1][0, cpus] < memory:
        layer = np.full_like(none, _NEVER)
        with_job = gives_memory[:, None] + np.take_along_axis(layers[-1][1:], lacking, axis=1)
        layer[:-1] = np.maximum.accumulate(with_job[::-1])[::-1]
        layers.append(layer)
    return _traced(layers, gives, cpus, memory)


def _traced(layers: Sequence[Ints], gives: Gives, cpus: int, memory: int) -> list[int]:
    """Return the first set that the last layer counts."""
    chosen: list[int] = []
    missing = len(layers) - 1
    for i, (gives_cpus, gives_memory) in enumerate(gives):
        lacking = max(cpus - gives_cpus, 0)
        if missing and gives_memory + layers[missing - 1][i + 1, lacking] >= memory:
            chosen.append(i)
            missing, cpus, memory = missing - 1, lacking, memory - gives_memory
    return chosen
