"""Reclaiming: the choice of loaned machines to return if jobs must be stopped for it. For Lyra.

A machine that is returned loses all its jobs, and a job that loses one machine stops everywhere. So the cost
of a machine depends on the others that are returned. A policy takes the name of a shipped way to choose, or
one of the user's own. Flexible workers do not count: their jobs shrink.

Source: Li et al., Lyra, EuroSys 2023, section 4; the alternatives: 7.1 and 7.3.
scripts/evaluation/reclaiming.py measures how far the greedy way is from the optimum.
"""

from collections.abc import Callable, Mapping, Sequence
from math import lcm
from typing import Annotated, Any, NamedTuple, Protocol

import numpy as np
from pydantic import PlainValidator

from artist.core.checked import AnswerError
from artist.policies.parts.parameters import check_part, checked_part
from artist.randomness import child_generator


class Loaned(NamedTuple):
    """The machines that may go back, and the jobs that would stop.

    Attributes
    ----------
    machines
        Numbers of the loaned machines, in order.
    gpus
        GPUs of each job's indispensable workers on these machines, by job and machine, jobs in order of
        number; all machines of the job count, also those that are not on loan.
    """

    machines: Sequence[int]
    gpus: Mapping[int, Mapping[int, int]]


class Reclaim(Protocol):
    """Chooses the machines that go back."""

    def pick(self, n: int, loaned: Loaned) -> list[int]:
        """Return `n` of the loaned machines by number, in the order in which they were chosen."""


def jobs_by_machine(loaned: Loaned) -> dict[int, list[int]]:
    """Return the jobs on each loaned machine, machines and jobs in order of number."""
    jobs: dict[int, list[int]] = {machine: [] for machine in loaned.machines}
    for job, held in loaned.gpus.items():
        for machine in held:
            if machine in jobs:
                jobs[machine].append(job)
    return jobs


def stopped(loaned: Loaned, picked: Sequence[int]) -> list[int]:
    """Return the jobs that stop when some machines go back, in order of number."""
    back = frozenset(picked)
    return [job for job, held in loaned.gpus.items() if not back.isdisjoint(held)]


class ServerFraction:
    """One machine after another, each time the one with the least cost; costs follow each choice.

    The cost of a machine is the sum, over its jobs, of 1 / machines of the job. Of equal machines the one
    that vacates the fewest GPUs on machines that do not go back; other machines that it empties count as
    going back, as far as more are wanted. Then the lowest number.
    """

    def pick(self, n: int, loaned: Loaned) -> list[int]:
        """Return `n` of the loaned machines, in the order in which they were chosen."""
        costs = _Costs(loaned)
        return [costs.take_cheapest(n - i) for i in range(n)]


class _Costs:
    """The costs of the machines not chosen yet, in units of 1 / `_whole`: sums of these are exact."""

    def __init__(self, loaned: Loaned) -> None:
        self._gpus = loaned.gpus
        self._jobs = jobs_by_machine(loaned)  # those not stopped
        self._whole = lcm(*(len(held) for held in loaned.gpus.values()))
        self._cost = {machine: sum(map(self._share, jobs)) for machine, jobs in self._jobs.items()}

    def _share(self, job: int) -> int:
        return self._whole // len(self._gpus[job])

    def take_cheapest(self, wanted: int) -> int:
        """Return the machine with the least cost, the first of `wanted`, and stop its jobs everywhere."""
        machine = self._cheapest(wanted)
        del self._cost[machine]
        for job in self._jobs.pop(machine):
            for other in self._gpus[job]:
                if other in self._cost:
                    self._jobs[other].remove(job)
                    self._cost[other] -= self._share(job)
        return machine

    def _cheapest(self, wanted: int) -> int:
        least = min(self._cost.values())
        cheapest, fewest = -1, -1
        for machine, cost in self._cost.items():
            if cost == least:
                vacated = self._vacated_beside(machine, wanted)
                if cheapest < 0 or vacated < fewest:
                    cheapest, fewest = machine, vacated
                if not vacated:
                    break
        return cheapest

    def _vacated_beside(self, machine: int, wanted: int) -> int:
        """Return the GPUs that a machine vacates on machines that do not go back."""
        vacated: dict[int, int] = {}
        jobs = self._jobs[machine]
        for job in jobs:
            for other, gpus in self._gpus[job].items():
                if other != machine:
                    vacated[other] = vacated.get(other, 0) + gpus
        emptied = sorted(m for m in vacated if m in self._cost and set(self._jobs[m]) <= set(jobs))
        return sum(vacated.values()) - sum(vacated[m] for m in emptied[: wanted - 1])


class SmallestCount:
    """The machines with the fewest jobs, counted once at the start; of equal ones the lowest numbers."""

    def pick(self, n: int, loaned: Loaned) -> list[int]:
        """Return `n` of the loaned machines, in the order in which they were chosen."""
        jobs = jobs_by_machine(loaned)
        return sorted(jobs, key=lambda machine: (len(jobs[machine]), machine))[:n]


class Random:
    """Any machines."""

    def __init__(self, seed: int) -> None:
        self._rng = child_generator(seed, "reclaiming")

    def pick(self, n: int, loaned: Loaned) -> list[int]:
        """Return `n` of the loaned machines, in the order in which they were chosen."""
        picked: list[int] = self._rng.choice(np.array(loaned.machines), n, replace=False).tolist()
        return picked


class Optimum:
    """The machines that stop the fewest jobs, then those that vacate the fewest GPUs elsewhere.

    An integer program, solved exactly by HiGHS: x_m says whether machine m goes back, y_j whether job j,
    which is on several of these machines, stops. Minimize the stopped jobs, at a price above all GPUs, plus
    the GPUs vacated elsewhere, such that as many machines go back as are wanted and y_j >= x_m for each m of
    job j. Of solutions that stop the same jobs y, the lowest numbers; the choice among equal y is up to
    HiGHS.
    """

    def pick(self, n: int, loaned: Loaned) -> list[int]:
        """Return `n` of the loaned machines, in order of number."""
        if not n:
            return []
        here = frozenset(loaned.machines)
        price = 1 + sum(sum(held.values()) for held in loaned.gpus.values())
        spread: list[int] = []  # jobs on several of the machines
        cost = dict.fromkeys(loaned.machines, 0)  # of each machine, without the stops of these jobs
        for job, held in loaned.gpus.items():
            on = [machine for machine in held if machine in here]
            if len(on) > 1:
                spread.append(job)
            elif on:
                cost[on[0]] += price + sum(held.values())
            for machine in on:
                cost[machine] -= held[machine]
        stay = _kept_jobs(n, loaned, spread, cost, price) if spread else []
        kept = frozenset(machine for job in stay for machine in loaned.gpus[job])
        cheapest = sorted((m for m in loaned.machines if m not in kept), key=lambda m: (cost[m], m))
        return sorted(cheapest[:n])


def _kept_jobs(
    n: int, loaned: Loaned, spread: Sequence[int], cost: Mapping[int, int], price: int
) -> list[int]:
    """Return the jobs on several machines that continue in the optimum."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # half a second, and few runs need it
    from scipy.sparse import csr_array

    column = {machine: i for i, machine in enumerate(loaned.machines)}
    pairs = [
        (len(column) + i, column[machine])
        for i, job in enumerate(spread)
        for machine in loaned.gpus[job]
        if machine in column
    ]
    rows = np.arange(len(pairs))
    ones = np.ones(len(pairs))
    size = len(column) + len(spread)
    above = csr_array(
        (np.append(ones, -ones), (np.append(rows, rows), np.array(pairs).T.ravel())), (len(pairs), size)
    )
    stops = [price + sum(loaned.gpus[job].values()) for job in spread]
    wanted = np.append(np.ones(len(column)), np.zeros(len(spread)))[None, :]
    answer = milp(
        np.array([*cost.values(), *stops], dtype=np.float64),
        constraints=[LinearConstraint(above, 0, np.inf), LinearConstraint(wanted, n, n)],
        integrality=np.ones(size),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0},
    )
    if answer.x is None:
        raise RuntimeError(f"HiGHS found no machines to reclaim: {answer.message}")
    stops_now = answer.x[len(column) :] > 0.5
    return [job for job, stop in zip(spread, stops_now.tolist(), strict=True) if not stop]


RECLAIMS: Mapping[str, Callable[[int], Reclaim]] = {
    "server_fraction": lambda seed: ServerFraction(),
    "random": Random,
    "smallest_count": lambda seed: SmallestCount(),
    "optimum": lambda seed: Optimum(),
}
AnyReclaim = Annotated[str | Reclaim, PlainValidator(lambda value: check_part(value, RECLAIMS, "pick"))]


def _checked_pick(picked: Any, n: int, loaned: Loaned) -> list[int]:
    """Return an answer of a way to reclaim as `n` of the loaned machines."""
    good = isinstance(picked, list | tuple) and len(picked) == len(set(picked)) == n
    if not good or not set(picked) <= set(loaned.machines):
        raise AnswerError(repr(picked), f"must be {n} different ones of {list(loaned.machines)}")
    return [int(machine) for machine in picked]


def reclaim_of(reclaim: str | Reclaim, seed: int = 0) -> Reclaim:
    """Return a shipped way by name, one of the user's own checked; `seed` is the random one's."""
    return (
        RECLAIMS[reclaim](seed)
        if isinstance(reclaim, str)
        else checked_part(reclaim, "reclaim", pick=_checked_pick)
    )
