"""Which jobs share a machine: the second program of Synergy, 4.1.2, with the fewest fragmented jobs.

The paper places what its first program chose by x_ij, the part of job j that is on machine i: sum over i of
x_ij = 1, and GPUs, CPUs and memory of each machine are not exceeded. It says that a solution fragments at
most 3 jobs per machine, and that the formulation is in an extended version. If machines are equal, that
program has a useless optimum, every job spread evenly over all of them. What counts is which jobs are whole,
so that is the variable here: with u_it whole jobs of kind t on machine i,

    minimise    sum over t of (n_t - sum over i of u_it), the jobs that are not whole on any machine,
    subject to  sum over t of u_it x (GPUs, CPUs, memory)_t <= those of machine i, for each i.

Over all machines at once HiGHS takes from a tenth of a second to minutes (128 GPUs, jobs of 1 to 8 GPUs). So
each machine is solved separately, with one small program:

- Remaining jobs of s GPUs or more must fit the remaining machines, for each size s: missing GPUs are those of
  jobs to be fragmented, and cost more than anything else.
- The machine gives no more CPUs and memory than it has, and no less than its part of all that is asked for.
  Exceeding these bounds costs in proportion: there the first program's choice cannot be met.

A pattern, the jobs of one machine, is used for as many equal machines as possible. So the time grows with the
kinds of jobs, and hardly with the machines. Jobs larger than a machine, and those left, are the caller's.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from artist.core.arrays import Floats, Ints

_FRAGMENT = 100.0  # cost of a GPU of a job to be fragmented; that of a whole machine's CPUs is 1
_MAX_REMEMBERED = 1024
_NODES = 20  # of the search for one pattern


class Wish(NamedTuple):
    """Identical jobs, and what each of them would like to hold."""

    gpus: int
    cpus: int
    memory_bytes: int
    jobs: int


class Site(NamedTuple):
    """Identical machines, what is free on each of them, and which wishes they may serve."""

    gpus: int
    cpus: int
    memory_bytes: int
    machines: int
    serves: tuple[bool, ...]


class Pattern(NamedTuple):
    """How many jobs of each wish a machine takes, and how many machines do so."""

    jobs: tuple[int, ...]
    machines: int


@lru_cache(_MAX_REMEMBERED)
def patterns(wishes: tuple[Wish, ...], sites: tuple[Site, ...]) -> list[list[Pattern]]:
    """Return the patterns of each site's machines; jobs in none of them are left."""
    packing = _Packing(wishes, sites)
    return [packing.fill(number) for number in range(len(sites))]


class _Packing:
    """The jobs and machines that are left."""

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
        found = []
        while self._machines[number] and self._left.any():
            jobs = self._pattern(number)
            times = self._times(jobs, number) if jobs.any() else 1
            found.append(Pattern(tuple(jobs.tolist()), times))
            self._left -= times * jobs
            self._machines[number] -= times
        self._machines[number] = 0
        return found

    def _times(self, jobs: Ints, number: int) -> int:
        """Return for how many machines a pattern can be used; remaining large jobs must still have room."""
        taken = jobs > 0
        times = min(self._machines[number], int((self._left[taken] // jobs[taken]).min()))
        while times > 1 and any(
            self._asked(size, self._left - times * jobs) > self._room(size, number, times)
            for size in self._sizes
        ):
            times -= 1
        return times

    def _asked(self, size: int, jobs: Ints) -> int:
        """Return the GPUs that jobs of a size or more ask for."""
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
        most = np.minimum(self._left, site.gpus // self._gpus) * np.array(site.serves)
        sizes, extra = self._sizes, len(self._sizes) + 4
        rows: list[Floats] = [self._gpus.astype(float)]
        lower, upper = [0.0], [float(site.gpus)]
        for size in sizes:
            rows.append(np.where(self._gpus >= size, self._gpus, 0.0))
            lower.append(self._asked(size, self._left) - self._room(size, number, 1))
            upper.append(np.inf)
        for amounts, has in ((self._cpus, "cpus"), (self._memory, "memory_bytes")):
            here: int = getattr(site, has)
            there = sum(getattr(s, has) * m for s, m in zip(self._sites, self._machines, strict=True))
            rows.append(amounts / (here or 1))
            lower.append(min(1.0, float(amounts @ self._left) / (there or 1)))
            upper.append(1.0)
        slack = np.zeros((len(rows), extra))
        slack[1 : len(sizes) + 1, : len(sizes)] = np.eye(len(sizes))  # GPUs of jobs to be fragmented
        slack[-2:, -4:-2], slack[-2:, -2:] = np.eye(2), -np.eye(2)  # less than its part, more than there is
        answer = milp(
            np.concatenate([np.zeros(n), np.full(len(sizes), _FRAGMENT), np.ones(4)]),
            constraints=LinearConstraint(np.hstack([np.array(rows), slack]), lower, upper),
            bounds=Bounds(0, np.concatenate([most, np.full(extra, np.inf)])),
            integrality=np.concatenate([np.ones(n), np.zeros(extra)]),
            options={"node_limit": _NODES},
        )
        if answer.x is None:
            return np.zeros(n, dtype=np.int64)
        jobs: Ints = np.rint(answer.x[:n]).astype(np.int64)
        return jobs
