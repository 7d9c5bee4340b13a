"""Draws of elastic, fungible, heterogeneous and checkpointing jobs (the Lyra paper, section 7.1).

Each type is drawn from its own generator, so that scenarios share jobs, arrivals and run times, and a larger
share contains all jobs of a smaller one.
"""

import numpy as np

from artist.randomness import child_generator

TRAINING_GPU = "V100"
_TINY = 1e-9  # a product such as 10 x 0.7 may be off by its last digit


def first_share(order: np.ndarray, share: float, weights: np.ndarray | None = None) -> np.ndarray:
    """Return whether each job is among the first of an order that make up a share, (n_jobs,) bool.

    Parameters
    ----------
    order
        Numbers of the jobs, (n_jobs,).
    share
        Share of the jobs; with `weights`, (n_jobs,), of their sum, which the chosen jobs do not exceed.
    """
    chosen = np.zeros(len(order), dtype=bool)
    if weights is None:
        chosen[order[: round(share * len(order))]] = True
    else:
        chosen[order] = np.cumsum(weights[order]) <= share * weights.sum() * (1 + 1e-12)
    return chosen


def draw(name: str, seed: int, share: float, jobs: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Draw the jobs of one type, (n_jobs,) bool; parameters as of `first_share`."""
    return first_share(child_generator(seed, f"lyra.{name}").permutation(jobs), share, weights)


def draw_elastic(likely: np.ndarray, share: float | None, seed: int) -> np.ndarray:
    """Draw the elastic jobs, (n_jobs,) bool: `likely` ones, (n_jobs,) bool, before all others.

    Parameters
    ----------
    share
        Share of all jobs; None for exactly the likely ones.
    """
    if share is None:
        return likely
    shuffled = child_generator(seed, "lyra.elastic").permutation(len(likely))
    return first_share(shuffled[np.argsort(~likely[shuffled], kind="stable")], share)


def bounds_of(
    gpus: np.ndarray, worker_gpus: np.ndarray, least: float, most: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return min_gpus and max_gpus of elastic jobs, each (n_jobs,) int64.

    Parameters
    ----------
    gpus, worker_gpus
        GPUs that the jobs ask for, and GPUs of each worker, (n_jobs,).
    least, most
        Bounds as multiples of `gpus`, at most 1 and at least 1; rounded to whole workers towards `gpus`.
    """
    workers = gpus // worker_gpus
    fewest = np.ceil(workers * least - _TINY).astype(np.int64)
    greatest = np.floor(workers * most + _TINY).astype(np.int64)
    return fewest * worker_gpus, greatest * worker_gpus
