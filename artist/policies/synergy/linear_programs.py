"""Integer programs that divide CPUs and memory among jobs (Synergy, 4.1), solved by HiGHS.

Program (1)-(5) of the paper: each job runs at one of the points that it was tried at (4); together they hold
no more CPUs (2) and memory (3) than there are; none is slower than with its proportional share (5); the sum
of what the points are worth is as large as can be (1).

- Identical jobs are one kind. With n_k jobs of kind k the variable y_kp is a whole number, how many of them
  run at point p: sum over p of y_kp = n_k. So the size of the program depends on the kinds, not on the jobs.
- (5) needs no rows: points that are too slow are left out (`artist.policies.synergy.fronts`).
- On one super-machine there are two rows, CPUs and memory; if GPUs are already placed, two for each machine
  (`artist.policies.synergy.divider`).
- A row counts what jobs hold beyond their first option, their least, in the largest unit that measures all
  amounts exactly, or in a millionth of what is left, rounded against the jobs. So nothing is given twice, and
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
    """What a point is worth, and what it takes of each row."""

    worth: float
    takes: tuple[int, ...]


class Kind(NamedTuple):
    """Identical jobs: how many, and their options; the first option is their least."""

    options: tuple[Option, ...]
    jobs: int


def best_options(kinds: Sequence[Kind], limits: Sequence[int]) -> list[list[int]] | None:
    """Return how many jobs of each kind run at each of its options; None if the first ones do not fit."""
    rank = sorted(range(len(kinds)), key=lambda k: kinds[k])
    solved = _solved(tuple(kinds[k] for k in rank), tuple(limits))
    if solved is None:
        return None
    counts: list[list[int]] = [[] for _ in kinds]
    for k, chosen in zip(rank, solved, strict=True):
        counts[k] = list(chosen)
    return counts


@lru_cache(_MAX_REMEMBERED)
def _solved(kinds: tuple[Kind, ...], limits: tuple[int, ...]) -> tuple[tuple[int, ...], ...] | None:
    """Solve without HiGHS where all first options fail, or all best ones fit."""
    if not _fit(kinds, [0] * len(kinds), limits):
        return None
    best = [max(range(len(k.options)), key=lambda o: k.options[o].worth) for k in kinds]
    if _fit(kinds, best, limits):
        return tuple(
            tuple(k.jobs * (o == b) for o in range(len(k.options))) for k, b in zip(kinds, best, strict=True)
        )
    ends = np.cumsum([len(k.options) for k in kinds])
    return tuple(tuple(part.tolist()) for part in np.split(_milp(kinds, limits), ends[:-1]))


def _fit(kinds: Sequence[Kind], options: Sequence[int], limits: Sequence[int]) -> bool:
    """Return whether all jobs of each kind can have one of its options."""
    taken = [0] * len(limits)
    for kind, option in zip(kinds, options, strict=True):
        for row, amount in enumerate(kind.options[option].takes):
            taken[row] += kind.jobs * amount
    return all(amount <= limit for amount, limit in zip(taken, limits, strict=True))


def _milp(kinds: Sequence[Kind], limits: Sequence[int]) -> Ints:
    """Return how many jobs run at each option, kind by kind; the first options fit."""
    from scipy.optimize import LinearConstraint, milp  # half a second, and few policies need it
    from scipy.sparse import csr_array

    of_kind = np.repeat(np.arange(len(kinds)), [len(k.options) for k in kinds])
    counts = np.array([k.jobs for k in kinds])
    rows, most = _rows(kinds, limits)
    is_of = (of_kind == np.arange(len(kinds))[:, None]).astype(float)
    lower = np.concatenate([np.full(len(limits), -np.inf), counts])
    answer = milp(
        -np.array([option.worth for k in kinds for option in k.options]),
        constraints=LinearConstraint(
            csr_array(np.vstack([rows, is_of])), lower, np.concatenate([most, counts])
        ),
        integrality=np.ones(len(of_kind)),
        options={"mip_rel_gap": REL_GAP},
    )
    if answer.x is None:
        raise RuntimeError(f"HiGHS found no division of CPUs and memory: {answer.message}")
    chosen: Ints = np.rint(answer.x).astype(np.int64)
    return chosen


def _rows(kinds: Sequence[Kind], limits: Sequence[int]) -> tuple[Floats, Ints]:
    """Return what options take beyond the first ones, in whole units, and how much of it there is."""
    excess = np.array(
        [np.subtract(option.takes, k.options[0].takes) for k in kinds for option in k.options], dtype=np.int64
    ).T
    first = sum(k.jobs * np.array(k.options[0].takes, dtype=np.int64) for k in kinds)
    left = np.array(limits, dtype=np.int64) - first
    rows = np.zeros(excess.shape)
    for r, amounts in enumerate(excess):
        unit = gcd(*amounts.tolist()) or 1
        if left[r] > _FINEST * unit:
            unit = int(left[r]) // _FINEST
        rows[r] = -(-amounts // unit)
        left[r] //= unit
    return rows, left
