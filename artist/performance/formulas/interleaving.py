"""Jobs interleaved on the same GPUs, stage by stage, under one clock. Pure formulas.

An iteration has one stage on each of k resources (storage, CPU, GPU, network). Jobs that share GPUs run
their stages side by side, each job shifted by an offset of its own, so that no two jobs are on one resource
at a time; all wait for the slowest at the end of each step. So every iteration of every job takes

    T = sum over steps j of the max over jobs i of t[i][(offset_i + j) mod k]

The choice of the offsets, the ordering, decides how long that is. Only differences of offsets matter, so the
first job's is 0: for two jobs and four resources there are 3 orderings, for three or four jobs 6.

Reading samples (storage) and preparing them (CPU) are one run of a data loader. Read whole, as in the
authors' programs, the two may be of any length within their two steps: no barrier lies between them. With
durations d[j] of the steps, T is then the least sum of d for which each other stage fits its step, and each
job's reading and preparing together fit the two steps d[j] + d[j + 1]. By linear duality that is the longest
way around the four steps, where a stage covers one step and a loader two. Loaders of neighbours overlap, so
two jobs may read, or prepare, at a time, and T may be shorter than the time for which all of them use storage
or CPUs in turn. The factors of contention were measured relative to this T. On the 400 jobs of the testbed,
Muri-L's mean completion time is 1 to 2 % below the measured one (scripts/validation/testbed.py); with T at
least the time that a resource is used it would be 3 to 5 % above it, with split loading 62 %.

Source: Zhao et al., Multi-Resource Interleaving for Deep Learning Training (Muri), SIGCOMM 2022, section 4.1
and 4.2, equations 1 to 4. Equation 3 read literally has offset_i = i; its text enumerates all orderings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Literal

import numpy as np

from artist.core.arrays import Floats, Ints
from artist.core.cluster import Ordering

Loading = Literal["whole", "split"]

MEASURED_SLOWDOWN = (1.33, 1.5, 1.37)
"""How much longer than T a group of 2, 3, 4 jobs takes: constants of the authors' open program."""


@cache
def orderings(jobs: int, resources: int) -> Ints:
    """Return all offsets of some jobs, shape (n_orderings, jobs): all different, the first job's 0.

    >>> orderings(2, 4).tolist()
    [[0, 1], [0, 2], [0, 3]]
    """
    rest = permutations(range(1, resources), jobs - 1)
    return np.array([(0, *offsets) for offsets in rest], dtype=np.int64)


def periods(stages: Ints, ordering: Ordering = "best", loading: Loading = "split") -> Ints:
    """Return T of groups under their best or worst ordering, shape (...).

    Parameters
    ----------
    stages
        Durations of shape (..., jobs, resources); at most as many jobs as resources.
    ordering
        Whether to take the ordering with the shortest or with the longest T.
    loading
        Whether a barrier splits the first stage from the second. Whole ones take four resources.

    Examples
    --------
    Two jobs of CPU 2 and GPU 1 each: 2 and 2 follow each other.

    >>> int(periods(np.array([[2, 1], [2, 1]])))
    4

    Two jobs that read for 3, prepare for 1, and are on GPU and network for 2 each. Shifted by two steps,
    max(3, 2) + max(1, 2) twice; without the barrier 3 + 1 and 2 + 2 fit.

    >>> jobs = np.array([[3, 1, 2, 2], [3, 1, 2, 2]])
    >>> int(periods(jobs)), int(periods(jobs, loading="whole"))
    (10, 8)
    """
    jobs, resources = stages.shape[-2:]
    steps = np.arange(resources)
    at = (orderings(jobs, resources)[:, :, None] + steps) % resources  # (n_orderings, jobs, steps)
    during = stages[..., np.arange(jobs)[:, None], at]  # (..., n_orderings, jobs, steps)
    if loading == "split":
        by_order = during.max(axis=-2).sum(axis=-1)
    else:
        one_step = np.where(at >= 2, during, 0).max(axis=-2)
        loaders = np.where(at == 0, during + np.roll(during, -1, axis=-1), 0).max(axis=-2)
        by_order = _longest_way(one_step, loaders)
    taken: Ints = by_order.min(axis=-1) if ordering == "best" else by_order.max(axis=-1)
    return taken


def _longest_way(one: Ints, two: Ints) -> Ints:
    """Return the longest way around four steps, from the times of one or two from each, of shape (..., 4)."""
    behind = np.roll(one, -2, axis=-1) + np.roll(one, -3, axis=-1)
    ways = (one.sum(axis=-1)[..., None], two + np.roll(two, -2, axis=-1), two + behind)
    longest: Ints = np.concatenate(ways, axis=-1).max(axis=-1)
    return longest


def efficiencies(stages: Ints, period: Ints | Floats) -> Floats:
    """Return the share of time that the resources are in use, averaged over them (equations 2 and 4).

    Parameters
    ----------
    stages
        Durations of shape (..., jobs, resources).
    period
        Time of an iteration of each group, shape (...).

    Examples
    --------
    Of 4 units the CPU is used for 4 and the GPU for 2.

    >>> float(efficiencies(np.array([[2, 1], [2, 1]]), np.array(4)))
    0.75
    """
    used: Floats = stages.sum(axis=(-2, -1)) / (np.maximum(period, 1e-300) * stages.shape[-1])
    return used


@dataclass(frozen=True, slots=True)
class Clock:
    """Iteration times of groups.

    Attributes
    ----------
    slowdown
        Time of groups of 2, 3, ... jobs over T; larger groups have none.
    ordering
        In which a group runs.
    loading
        Whether reading and preparing are one stage of two steps or two of one.
    """

    slowdown: tuple[float, ...] = ()
    ordering: Ordering = "best"
    loading: Loading = "split"

    def times(self, stages: Ints) -> Floats:
        """Return the iteration times of groups of one size, at most one job per resource; shape (...)."""
        formula = periods(stages, self.ordering, self.loading)
        return formula.astype(np.float64) * self.factor(stages.shape[-2])

    def group_ns(self, stages: Sequence[Sequence[int]]) -> int:
        """Return the time of an iteration of a group, in ns.

        Jobs beyond the number of resources take turns with the first ones.

        Parameters
        ----------
        stages
            Durations in ns, one row per job; two jobs or more.
        """
        resources = len(stages[0])
        parts = (stages[first : first + resources] for first in range(0, len(stages), resources))
        return sum(round(float(self.times(np.array(part, dtype=np.int64)))) for part in parts)

    def factor(self, jobs: int) -> float:
        """Return the slowdown of a group of some jobs; alone it is 1.

        >>> [Clock((1.33, 1.5)).factor(jobs) for jobs in (1, 3, 4)]
        [1.0, 1.5, 1.0]
        """
        return self.slowdown[jobs - 2] if 2 <= jobs <= len(self.slowdown) + 1 else 1.0


FORMULA = Clock()
"""The paper's formula: four stages, and no contention."""
