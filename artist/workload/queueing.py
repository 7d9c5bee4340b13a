"""How long jobs wait in a strict FIFO queue, for generators that aim at a published waiting time.

GPUs alone count: where they are and which machine they are on does not matter.
"""

from collections.abc import Callable
from heapq import heappop, heappush

import numpy as np

_ROUNDS = 20
_NEAR = 0.005  # a mean this close to the one wanted is taken


def fifo_waits_s(submit_s: np.ndarray, gpus: np.ndarray, run_time_s: np.ndarray, capacity: int) -> np.ndarray:
    """Return how long each job waits where jobs start in order of arrival, (n_jobs,), in seconds.

    Parameters
    ----------
    submit_s, gpus, run_time_s
        Of each job, (n_jobs,), in any order; jobs that arrive together keep theirs.
    capacity
        GPUs of the cluster; no job needs more.
    """
    order = np.argsort(submit_s, kind="stable")
    free, now_s, running = capacity, 0.0, list[tuple[float, int]]()
    waits_s = []
    rows = (submit_s[order].tolist(), gpus[order].tolist(), run_time_s[order].tolist())
    for arrival_s, need, length_s in zip(*rows, strict=True):
        now_s = max(now_s, arrival_s)
        while running and (running[0][0] <= now_s or free < need):
            end_s, released = heappop(running)
            now_s, free = max(now_s, end_s), free + released
        free -= need
        heappush(running, (now_s + length_s, need))
        waits_s.append(now_s - arrival_s)
    result = np.empty(len(waits_s))
    result[order] = waits_s
    return result


def steer(mean_of: Callable[[float], float], wanted: float, most: float) -> tuple[float, float]:
    """Return the number in [0, most] whose mean is nearest to `wanted`, and that mean, by bisection.

    Parameters
    ----------
    mean_of
        Rises with its argument, on the whole.
    """
    low, high, best = 0.0, most, (np.inf, 0.0, 0.0)
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        mean = mean_of(middle)
        best = min(best, (abs(mean - wanted), middle, mean))
        if best[0] <= _NEAR * wanted:
            break
        low, high = (middle, high) if mean < wanted else (low, middle)
    return best[1], best[2]
