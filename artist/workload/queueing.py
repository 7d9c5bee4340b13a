"""Waiting times under strict FIFO, for generators that aim at a published waiting time.

Jobs start in order of arrival. Each worker of a job is on one machine of 8 GPUs: the best fit among machines
in use, else an empty one (as in `policy=lyra_fifo`).
"""

from collections.abc import Callable
from heapq import heappop, heappush

import numpy as np

MACHINE_GPUS = 8
_ROUNDS, _POINTS = 12, 40
_TOLERANCE, _MAX_ERROR = 0.01, 0.04  # relative error of the mean that ends the bisection; the search
_Held = list[tuple[int, int]]  # machines and GPUs on them


class _Machines:
    """Equal machines: free GPUs by machine; sets of machines, as bits, and their number, by free GPUs."""

    def __init__(self, machines: int) -> None:
        self.free = [MACHINE_GPUS] * machines
        self.sets = [0] * MACHINE_GPUS + [(1 << machines) - 1]
        self.count = [0] * MACHINE_GPUS + [machines]

    def hold(self, need: int, worker: int) -> bool:
        """Return whether there is room for `need` GPUs in workers of `worker`."""
        if need == worker:
            return any(self.count[need:])
        free, sizes = self.count[worker:], range(worker, MACHINE_GPUS + 1)
        room = sum(count * (size // worker) for count, size in zip(free, sizes, strict=True))
        return room * worker >= need

    def take(self, need: int, worker: int) -> _Held:
        """Take free GPUs, worker by worker."""
        taken = []
        while need:
            free = worker
            while not self.sets[free]:
                free += 1
            machines = self.sets[free]
            machine = (machines & -machines).bit_length() - 1
            gpus = min(free - free % worker, need)  # the next worker fits nowhere better
            self.change(machine, -gpus)
            taken.append((machine, gpus))
            need -= gpus
        return taken

    def change(self, machine: int, gpus: int) -> None:
        """Free `gpus` GPUs of a machine; negative to take them."""
        free, bit = self.free[machine], 1 << machine
        self.sets[free] ^= bit
        self.count[free] -= 1
        free += gpus
        self.sets[free] ^= bit
        self.count[free] += 1
        self.free[machine] = free


def fifo_waits_s(
    submit_s: np.ndarray, gpus: np.ndarray, worker_gpus: np.ndarray, run_time_s: np.ndarray, machines: int
) -> np.ndarray:
    """Return the waiting time of each job, (n_jobs,), in seconds.

    Parameters
    ----------
    submit_s, gpus, worker_gpus, run_time_s
        Of each job, (n_jobs,), in any order, which also breaks ties of arrivals. Workers of a job have equal
        numbers of GPUs, at most 8.
    machines
        Number of machines; no job needs more.
    """
    order = np.argsort(submit_s, kind="stable")
    cluster, now_s, waits_s = _Machines(machines), 0.0, []
    running: list[tuple[float, int, _Held]] = []
    rows = (column[order].tolist() for column in (submit_s, gpus, worker_gpus, run_time_s))
    for number, (arrival_s, need, worker, length_s) in enumerate(zip(*rows, strict=True)):
        now_s = max(now_s, arrival_s)
        while running and (running[0][0] <= now_s or not cluster.hold(need, worker)):
            end_s, _, held = heappop(running)
            now_s = max(now_s, end_s)
            for machine, released in held:
                cluster.change(machine, released)
        heappush(running, (now_s + length_s, number, cluster.take(need, worker)))
        waits_s.append(now_s - arrival_s)
    result = np.empty(len(waits_s))
    result[order] = waits_s
    return result


def steer(mean_of: Callable[[float], float], wanted: float, max_argument: float) -> tuple[float, float]:
    """Return a number in [0, max_argument] whose mean is near `wanted`, and that mean; else the best tried.

    Tries bisection first; then, because the mean of few jobs jumps, evenly spaced numbers.

    Parameters
    ----------
    mean_of
        Rises with its argument overall.
    """
    low, high, best = 0.0, max_argument, (np.inf, 0.0, 0.0)
    for number in range(-_ROUNDS, _POINTS):
        tried = (low + high) / 2 if number < 0 else max_argument * number / _POINTS
        mean = mean_of(tried)
        best = min(best, (abs(mean - wanted), tried, mean))
        if best[0] <= (_TOLERANCE if number < -1 else _MAX_ERROR) * wanted:
            break
        low, high = (tried, high) if mean < wanted else (low, tried)
    return best[1], best[2]
