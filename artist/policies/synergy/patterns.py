"""Assignment of jobs to machines: the second program of Synergy, 4.1.2, with the fewest fragmented jobs.

The paper places the choice of its first program by x_ij, the part of job j that is on machine i: sum over i
of x_ij = 1, and GPUs, CPUs and memory of each machine are not exceeded. It states that a solution fragments
at most 3 jobs per machine, and that the formulation is in an extended version. If machines are equal, that
program has a useless optimum, every job spread evenly over all of them. Only whole jobs count, so their
number is the variable here: with u_it whole jobs of class t on machine i,

    minimise    sum over t of (n_t - sum over i of u_it), the jobs that are not whole on any machine,
    subject to  sum over t of u_it x (GPUs, CPUs, memory)_t <= those of machine i, for each i.

Over all machines at once HiGHS takes from a tenth of a second to minutes (128 GPUs, jobs of 1 to 8 GPUs). So
each machine is solved separately, with one small program:

- Remaining jobs of s GPUs or more must fit the remaining machines, for each size s: missing GPUs are those of
  jobs to be fragmented, and cost more than anything else.
- The jobs take at most the machine's CPUs and memory, and at least its part of the total demand. Exceeding
  these bounds costs in proportion: there the first program's choice cannot be met.

A pattern, the jobs of one machine, is used for as many equal machines as possible. So the time grows with the
classes of jobs, and hardly with the machines. Jobs larger than a machine, and those left, are the caller's.

Any of several identical machines may take any pattern of their site, and any of several identical jobs may
be the one that a pattern counts. Patterns are matched with machines so that the jobs that need not move have
the most GPUs in total; then each machine keeps the first jobs of each class already there, and takes the
others in turn.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from artist.core.arrays import Floats, Ints

_FRAGMENT = 100.0  # cost of a GPU of a job to be fragmented; that of a whole machine's CPUs is 1
_MAX_REMEMBERED = 1024
_NODES = 20  # of the search for one pattern


class Wish(NamedTuple):
    """Identical jobs, and the GPUs, CPUs and memory of each at the chosen point."""

    gpus: int
    cpus: int
    memory_bytes: int
    jobs: int


class Site(NamedTuple):
    """Identical machines, the free resources of each, and the wishes that they may serve."""

    gpus: int
    cpus: int
    memory_bytes: int
    machines: int
    serves: tuple[bool, ...]


class Pattern(NamedTuple):
    """Numbers of jobs that a machine takes, by wish, and the number of such machines."""

    jobs: tuple[int, ...]
    machines: int


@lru_cache(_MAX_REMEMBERED)
def patterns(wishes: tuple[Wish, ...], sites: tuple[Site, ...]) -> list[list[Pattern]]:
    """Return the patterns of each site's machines; jobs in none of them are left."""
    packing = _Packing(wishes, sites)
    return [packing.fill(number) for number in range(len(sites))]


class _Packing:
    """Jobs and machines that are left."""

    def __init__(self, wishes: Sequence[Wish], sites: Sequence[Site]) -> None:
        self._sites = sites
        self._gpus = np.array([wish.gpus for wish in wishes], dtype=np.int64)
        self._cpus = np.array([wish.cpus for wish in wishes], dtype=np.float64)
        self._memory = np.array([wish.memory_bytes for wish in wishes], dtype=np.float64)
        self._left = np.array([wish.jobs for wish in wishes], dtype=np.int64)
        self._machines = [site.machines for site in sites]
        self._sizes = sorted({wish.gpus for wish in wishes})

    def fill(self, number: int) -> list[Pattern]:
        """Remove the jobs that the machines of a site take."""
        site_patterns = []
        while self._machines[number] and self._left.any():
            jobs = self._pattern(number)
            times = self._times(jobs, number) if jobs.any() else 1
            site_patterns.append(Pattern(tuple(jobs.tolist()), times))
            self._left -= times * jobs
            self._machines[number] -= times
        self._machines[number] = 0
        return site_patterns

    def _times(self, jobs: Ints, number: int) -> int:
        """Return the number of machines for a pattern; remaining large jobs must still have room."""
        taken = jobs > 0
        times = min(self._machines[number], int((self._left[taken] // jobs[taken]).min()))
        while times > 1 and any(
            self._asked(size, self._left - times * jobs) > self._room(size, number, times)
            for size in self._sizes
        ):
            times -= 1
        return times

    def _asked(self, size: int, jobs: Ints) -> int:
        """Return the GPUs of the jobs of a size or more."""
        large = self._gpus >= size
        return int(self._gpus[large] @ jobs[large])

    def _room(self, size: int, number: int, fewer: int) -> int:
        """Return the GPUs of machines that are large enough for a size, less some of one site."""
        return sum(
            site.gpus * (machines - fewer * (n == number))
            for n, (site, machines) in enumerate(zip(self._sites, self._machines, strict=True))
            if site.gpus >= size
        )

    def _pattern(self, number: int) -> Ints:
        """Return the jobs that one machine of a site takes."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # half a second, and few policies need it

        site, n = self._sites[number], len(self._gpus)
        upper_jobs = np.minimum(self._left, site.gpus // self._gpus) * np.array(site.serves)
        sizes, extra = self._sizes, len(self._sizes) + 4
        rows: list[Floats] = [self._gpus.astype(float)]
        lower, upper = [0.0], [float(site.gpus)]
        for size in sizes:
            rows.append(np.where(self._gpus >= size, self._gpus, 0.0))
            lower.append(self._asked(size, self._left) - self._room(size, number, 1))
            upper.append(np.inf)
        for amounts, resource in ((self._cpus, "cpus"), (self._memory, "memory_bytes")):
            here: int = getattr(site, resource)
            there = sum(getattr(s, resource) * m for s, m in zip(self._sites, self._machines, strict=True))
            rows.append(amounts / (here or 1))
            lower.append(min(1.0, float(amounts @ self._left) / (there or 1)))
            upper.append(1.0)
        slack = np.zeros((len(rows), extra))
        slack[1 : len(sizes) + 1, : len(sizes)] = np.eye(len(sizes))  # GPUs of jobs to be fragmented
        slack[-2:, -4:-2], slack[-2:, -2:] = np.eye(2), -np.eye(2)  # less than its part, more than there is
        answer = milp(
            np.concatenate([np.zeros(n), np.full(len(sizes), _FRAGMENT), np.ones(4)]),
            constraints=LinearConstraint(np.hstack([np.array(rows), slack]), lower, upper),
            bounds=Bounds(0, np.concatenate([upper_jobs, np.full(extra, np.inf)])),
            integrality=np.concatenate([np.ones(n), np.zeros(extra)]),
            options={"node_limit": _NODES},
        )
        if answer.x is None:
            return np.zeros(n, dtype=np.int64)
        jobs: Ints = np.rint(answer.x[:n]).astype(np.int64)
        return jobs


class Jobs(NamedTuple):
    """Identical jobs, in order, and the GPUs of each."""

    gpus: int
    numbers: Sequence[int]


def assigned(
    classes: Sequence[Jobs],
    sites: Iterable[tuple[Sequence[int], Sequence[Pattern]]],
    machine_of: Mapping[int, int],
) -> dict[int, int]:
    """Return the machine of each job that a pattern takes.

    Parameters
    ----------
    sites
        Identical machines, and the patterns of some of them, by class of job.
    machine_of
        The machine of each job that is on a single machine now.
    """
    there = _there(classes, machine_of)
    takes = dict(chain.from_iterable(_matched(m, p, classes, there) for m, p in sites))
    machine: dict[int, int] = {}
    for number, job_class in enumerate(classes):
        room = {m: jobs[number] for m, jobs in takes.items() if jobs[number]}
        for job in job_class.numbers:
            m = machine_of.get(job, -1)
            if room.get(m):
                machine[job] = m
                room[m] -= 1
        free = (m for m in sorted(room) for _ in range(room[m]))
        machine.update(zip((job for job in job_class.numbers if job not in machine), free, strict=False))
    return machine


def _there(classes: Sequence[Jobs], machine_of: Mapping[int, int]) -> dict[int, Ints]:
    """Return the number of jobs of each class on each machine now."""
    there: dict[int, Ints] = {}
    for number, job_class in enumerate(classes):
        for job in job_class.numbers:
            if job in machine_of:
                there.setdefault(machine_of[job], np.zeros(len(classes), dtype=np.int64))[number] += 1
    return there


def _matched(
    machines: Sequence[int], patterns: Sequence[Pattern], classes: Sequence[Jobs], there: Mapping[int, Ints]
) -> list[tuple[int, tuple[int, ...]]]:
    """Return the numbers of jobs of each class that machines of one site take."""
    from scipy.optimize import linear_sum_assignment  # half a second, and few policies need it

    taken = [pattern.jobs for pattern in patterns for _ in range(pattern.machines)]
    if not taken:
        return []
    none, gpus = np.zeros(len(classes), dtype=np.int64), np.array([job_class.gpus for job_class in classes])
    now = np.array([there.get(m, none) for m in machines])
    stay = np.array([np.minimum(now, pattern.jobs) @ gpus for pattern in patterns])
    rows = np.repeat(stay, [pattern.machines for pattern in patterns], axis=0)
    chosen, on = linear_sum_assignment(rows, maximize=True)
    return [(machines[m], taken[p]) for p, m in zip(chosen.tolist(), on.tolist(), strict=True)]
