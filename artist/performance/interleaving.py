"""Jobs interleaved on the same GPUs, stage by stage, under one clock. Pure formulas.

An iteration has one stage on each of k resources (storage, CPU, GPU, network). Jobs that share GPUs run
their stages side by side, each job shifted by an offset of its own, so that no two jobs are on one resource
at a time; all wait for the slowest at the end of each step. So every iteration of every job takes

    T = sum over steps j of the max over jobs i of t[i][(offset_i + j) mod k]

and the choice of the offsets, the ordering, decides how long that is. Only differences of offsets matter,
so the first job's is 0: of two jobs and four resources there are 3 orderings, of three or four jobs 6.

Source: Zhao et al., Multi-Resource Interleaving for Deep Learning Training (Muri), SIGCOMM 2022, section 4.1
and 4.2, equations 1 to 4. Equation 3 read literally has offset_i = i; its text enumerates all orderings.
"""

from collections.abc import Sequence
from functools import cache
from itertools import permutations
from typing import Literal

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Ordering = Literal["best", "worst"]

MEASURED_CONTENTION = (1.33, 1.5, 1.37)
"""How much longer than T a group of 2, 3, 4 jobs takes, by the constants of the authors' open program."""


@cache
def orderings(jobs: int, resources: int) -> Ints:
    """Return all offsets of some jobs, shape (n_orderings, jobs): all different, the first job's 0.

    >>> orderings(2, 4).tolist()
    [[0, 1], [0, 2], [0, 3]]
    """
    rest = permutations(range(1, resources), jobs - 1)
    return np.array([(0, *offsets) for offsets in rest], dtype=np.int64)


def periods(stages: Ints, ordering: Ordering = "best") -> Ints:
    """Return T of groups under their best or worst ordering, shape (...).

    Parameters
    ----------
    stages
        Durations of shape (..., jobs, resources); at most as many jobs as resources.
    ordering
        Whether the ordering with the shortest or with the longest T is taken.

    Examples
    --------
    Two jobs of CPU 2 and GPU 1 each: 2 and 2 follow each other.

    >>> int(periods(np.array([[2, 1], [2, 1]])))
    4
    """
    jobs, resources = stages.shape[-2:]
    steps = np.arange(resources)
    at = (orderings(jobs, resources)[:, :, None] + steps) % resources  # (n_orderings, jobs, steps)
    during = stages[..., np.arange(jobs)[:, None], at]  # (..., n_orderings, jobs, steps)
    each = during.max(axis=-2).sum(axis=-1)
    taken: Ints = each.min(axis=-1) if ordering == "best" else each.max(axis=-1)
    return taken


def efficiencies(stages: Ints, period: Ints | Floats) -> Floats:
    """Return the share of time that the resources are in use, averaged over them (equations 2 and 4).

    Parameters
    ----------
    stages
        Durations of shape (..., jobs, resources).
    period
        How long an iteration of each group takes, shape (...).

    Examples
    --------
    Of 4 units the CPU is used for 4 and the GPU for 2.

    >>> float(efficiencies(np.array([[2, 1], [2, 1]]), np.array(4)))
    0.75
    """
    used: Floats = stages.sum(axis=(-2, -1)) / (np.maximum(period, 1e-300) * stages.shape[-1])
    return used


def group_ns(
    stages: Sequence[Sequence[int]], contention: Sequence[float] = (), ordering: Ordering = "best"
) -> int:
    """Return how long an iteration of a group takes, in ns.

    Jobs beyond the number of resources take turns with the first ones.

    Parameters
    ----------
    stages
        Durations in ns, one row a job; two jobs or more.
    contention
        By how much groups of 2, 3, ... jobs take longer than T; sizes beyond have no contention.
    """
    resources = len(stages[0])
    total = 0
    for first in range(0, len(stages), resources):
        part = np.array(stages[first : first + resources], dtype=np.int64)
        total += round(int(periods(part, ordering)) * contention_of(len(part), contention))
    return total


def contention_of(jobs: int, contention: Sequence[float]) -> float:
    """Return the factor of a group of some jobs, of factors for 2, 3, ... jobs; alone it is 1.

    >>> contention_of(1, (1.33, 1.5)), contention_of(3, (1.33, 1.5)), contention_of(4, (1.33, 1.5))
    (1.0, 1.5, 1.0)
    """
    return contention[jobs - 2] if 2 <= jobs <= len(contention) + 1 else 1.0
