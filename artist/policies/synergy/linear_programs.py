"""Integer programs that divide CPUs and memory among jobs (Synergy, 4.1), solved by HiGHS.

Program (1)-(5) of the paper: each job runs at one of its points (4); together they hold at most the CPUs (2)
and memory (3) there; none is slower than with its proportional share (5); the sum of the values of the points
is maximal (1).

- JobClass jobs share variables. With n_k identical jobs k the variable y_kp is a whole number, those of them
  that run at point p: sum over p of y_kp = n_k. So the size of the program does not depend on n_k.
- (5) needs no rows: slower points are left out (`artist.policies.synergy.points`).
- On one super-machine there are two rows, CPUs and memory; if GPUs are already placed, two per machine
  (`artist.policies.synergy.divider`).
- A row counts the excess over the first option, the least, in the largest unit that measures all amounts
  exactly, or in a millionth of the amount left, rounded against the jobs. So nothing is allocated twice, and
  a program whose first options fit has a solution.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import gcd
from typing import NamedTuple

import numpy as np

from artist.core.arrays import Floats, Ints

REL_GAP = 1e-6  # of the objective: a solution is optimal to this
_FINEST = 1 << 20  # units in a row, if no unit measures all amounts exactly
_MAX_REMEMBERED = 4096


class Option(NamedTuple):
    """The value of a point, and its amount in each row."""

    value: float
    amounts: tuple[int, ...]


class JobClass(NamedTuple):
    """JobClass jobs: their options, of which the first is the least, and their number."""

    options: tuple[Option, ...]
    jobs: int


def best_options(classes: Sequence[JobClass], limits: Sequence[int]) -> list[list[int]] | None:
    """Return the numbers of identical jobs at each option; None if the first options do not fit."""
    rank = sorted(range(len(classes)), key=lambda k: classes[k])
    solved = _solved(tuple(classes[k] for k in rank), tuple(limits))
    if solved is None:
        return None
    counts: list[list[int]] = [[] for _ in classes]
    for k, chosen in zip(rank, solved, strict=True):
        counts[k] = list(chosen)
    return counts


@lru_cache(_MAX_REMEMBERED)
def _solved(classes: tuple[JobClass, ...], limits: tuple[int, ...]) -> tuple[tuple[int, ...], ...] | None:
    """Solve without HiGHS where all first options fail, or all best ones fit."""
    if not _fit(classes, [0] * len(classes), limits):
        return None
    best = [max(range(len(k.options)), key=lambda o: k.options[o].value) for k in classes]
    if _fit(classes, best, limits):
        return tuple(
            tuple(k.jobs * (o == b) for o in range(len(k.options)))
            for k, b in zip(classes, best, strict=True)
        )
    ends = np.cumsum([len(k.options) for k in classes])
    return tuple(tuple(part.tolist()) for part in np.split(_milp(classes, limits), ends[:-1]))


def _fit(classes: Sequence[JobClass], options: Sequence[int], limits: Sequence[int]) -> bool:
    """Return whether all jobs fit if identical ones have a given option."""
    taken = [0] * len(limits)
    for job_class, option in zip(classes, options, strict=True):
        for row, amount in enumerate(job_class.options[option].amounts):
            taken[row] += job_class.jobs * amount
    return all(amount <= limit for amount, limit in zip(taken, limits, strict=True))


def _milp(classes: Sequence[JobClass], limits: Sequence[int]) -> Ints:
    """Return the numbers of jobs at all options, one after the other; the first options fit."""
    from scipy.optimize import LinearConstraint, milp  # half a second, and few policies need it
    from scipy.sparse import csr_array

    class_of = np.repeat(np.arange(len(classes)), [len(k.options) for k in classes])
    counts = np.array([k.jobs for k in classes])
    rows, upper = _rows(classes, limits)
    is_of = (class_of == np.arange(len(classes))[:, None]).astype(float)
    lower = np.concatenate([np.full(len(limits), -np.inf), counts])
    answer = milp(
        -np.array([option.value for k in classes for option in k.options]),
        constraints=LinearConstraint(
            csr_array(np.vstack([rows, is_of])), lower, np.concatenate([upper, counts])
        ),
        integrality=np.ones(len(class_of)),
        options={"mip_rel_gap": REL_GAP},
    )
    if answer.x is None:
        raise RuntimeError(f"HiGHS found no division of CPUs and memory: {answer.message}")
    chosen: Ints = np.rint(answer.x).astype(np.int64)
    return chosen


def _rows(classes: Sequence[JobClass], limits: Sequence[int]) -> tuple[Floats, Ints]:
    """Return the excess of options over the first ones, in whole units, and the amounts left for it."""
    excess = np.array(
        [np.subtract(option.amounts, k.options[0].amounts) for k in classes for option in k.options],
        dtype=np.int64,
    ).T
    first = sum(k.jobs * np.array(k.options[0].amounts, dtype=np.int64) for k in classes)
    left = np.array(limits, dtype=np.int64) - first
    rows = np.zeros(excess.shape)
    for r, amounts in enumerate(excess):
        unit = gcd(*amounts.tolist()) or 1
        if left[r] > _FINEST * unit:
            unit = int(left[r]) // _FINEST
        rows[r] = -(-amounts // unit)
        left[r] //= unit
    return rows, left
