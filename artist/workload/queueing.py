"""How long jobs wait under strict FIFO, for generators that aim at a published waiting time.

Jobs start in order of arrival, none before one that came earlier. Each worker of a job is on one machine of 8
GPUs: of those in use on the one that fits best, else on an empty one (as in `policy=lyra_fifo`).
"""

from collections.abc import Callable
from heapq import heappop, heappush

import numpy as np

MACHINE_GPUS = 8
_ROUNDS, _POINTS = 12, 40
_NEAR, _NEAR_ENOUGH = 0.01, 0.04  # a mean this close to the one wanted ends a bisection; ends the search
_Held = list[tuple[int, int]]  # machines and GPUs on them


class _Machines:
    """Equal machines: GPUs free on each; the machines, as bits, and their number by free GPUs."""

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
            there = self.sets[free]
            machine = (there & -there).bit_length() - 1
            gpus = min(free - free % worker, need)  # the next worker fits nowhere better
            self.change(machine, -gpus)
            taken.append((machine, gpus))
            need -= gpus
        return taken

    def change(self, machine: int, gpus: int) -> None:
        """Free so many GPUs of a machine; less than 0 to take them."""
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
    """Return how long each job waits, (n_jobs,), in seconds.

    Parameters
    ----------
    submit_s, gpus, worker_gpus, run_time_s
        Of each job, (n_jobs,), in any order; jobs that arrive together keep theirs. A worker has at most 8
        GPUs, and all workers of a job as many.
    machines
        Number of machines; no job needs more.
    """
    order = np.argsort(submit_s, kind="stable")
    cluster, now_s, waits_s = _Machines(machines), 0.0, []
    running: list[tuple[float, int, _Held]] = []
    rows = (each[order].tolist() for each in (submit_s, gpus, worker_gpus, run_time_s))
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


def steer(mean_of: Callable[[float], float], wanted: float, most: float) -> tuple[float, float]:
    """Return a number in [0, most] whose mean is near `wanted`, and that mean; else the nearest tried.

    Tries bisection first; then, because the mean of few jobs jumps, evenly spaced numbers.

    Parameters
    ----------
    mean_of
        Rises with its argument overall.
    """
    low, high, best = 0.0, most, (np.inf, 0.0, 0.0)
    for number in range(-_ROUNDS, _POINTS):
        tried = (low + high) / 2 if number < 0 else most * number / _POINTS
        mean = mean_of(tried)
        best = min(best, (abs(mean - wanted), tried, mean))
        if best[0] <= (_NEAR if number < -1 else _NEAR_ENOUGH) * wanted:
            break
        low, high = (tried, high) if mean < wanted else (low, tried)
    return best[1], best[2]
