"""Which machine takes which pattern, and which job: as many GPUs as possible stay where they are.

Any of several identical machines may take any pattern of their site, and any of several identical jobs may be
the one that a pattern counts. Patterns are matched with machines so that the jobs that need not move have
most GPUs in all; then each machine keeps the first jobs of each kind already there, and takes the others in
turn.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from artist.core.arrays import Ints
from artist.policies.synergy.patterns import Pattern


class Jobs(NamedTuple):
    """Identical jobs, in order, and the GPUs of each."""

    gpus: int
    numbers: Sequence[int]


def seats(
    kinds: Sequence[Jobs],
    sites: Iterable[tuple[Sequence[int], Sequence[Pattern]]],
    machine_of: Mapping[int, int],
) -> dict[int, int]:
    """Return the machine of each job that a pattern takes.

    Parameters
    ----------
    sites
        Identical machines, and the patterns of some of them, by kind of job.
    machine_of
        The machine of each job that is on a single machine now.
    """
    there = _there(kinds, machine_of)
    takes = dict(chain.from_iterable(_matched(m, p, kinds, there) for m, p in sites))
    seat: dict[int, int] = {}
    for number, kind in enumerate(kinds):
        room = {m: jobs[number] for m, jobs in takes.items() if jobs[number]}
        for job in kind.numbers:
            m = machine_of.get(job, -1)
            if room.get(m):
                seat[job] = m
                room[m] -= 1
        free = (m for m in sorted(room) for _ in range(room[m]))
        seat.update(zip((job for job in kind.numbers if job not in seat), free, strict=False))
    return seat


def _there(kinds: Sequence[Jobs], machine_of: Mapping[int, int]) -> dict[int, Ints]:
    """Return how many jobs of each kind are on each machine now."""
    there: dict[int, Ints] = {}
    for number, kind in enumerate(kinds):
        for job in kind.numbers:
            if job in machine_of:
                there.setdefault(machine_of[job], np.zeros(len(kinds), dtype=np.int64))[number] += 1
    return there


def _matched(
    machines: Sequence[int], patterns: Sequence[Pattern], kinds: Sequence[Jobs], there: Mapping[int, Ints]
) -> list[tuple[int, tuple[int, ...]]]:
    """Return the jobs of each kind that machines of one site take."""
    from scipy.optimize import linear_sum_assignment  # half a second, and few policies need it

    each = [pattern.jobs for pattern in patterns for _ in range(pattern.machines)]
    if not each:
        return []
    none, gpus = np.zeros(len(kinds), dtype=np.int64), np.array([kind.gpus for kind in kinds])
    now = np.array([there.get(m, none) for m in machines])
    stay = np.array([np.minimum(now, pattern.jobs) @ gpus for pattern in patterns])
    rows = np.repeat(stay, [pattern.machines for pattern in patterns], axis=0)
    chosen, on = linear_sum_assignment(rows, maximize=True)
    return [(machines[m], each[p]) for p, m in zip(chosen.tolist(), on.tolist(), strict=True)]
