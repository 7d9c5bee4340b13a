"""Stratified draws, similar for all seeds. Shared by the generators.

Waiting times depend on the busiest hours. With independent draws, a few days get much more work than the
others, and not every seed reproduces the published figures of a paper's one trace.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

_BLOCK = 200  # draws in a row that are even among themselves
HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
Value = TypeVar("Value", int, str)


def even(count: int, random: np.random.Generator, shuffled: bool = True) -> np.ndarray:
    """Draw numbers from 0 to 1, (count,), one from each equal part of that range.

    Shuffled, they are even among any `_BLOCK` in a row; otherwise they rise.
    """
    if not shuffled:
        drawn: np.ndarray = (np.arange(count) + random.random(count)) / count
        return drawn
    parts = [min(_BLOCK, count - begin) for begin in range(0, count, _BLOCK)]
    rows = [(random.permutation(size) + random.random(size)) / size for size in parts]
    return np.concatenate(rows) if rows else np.empty(0)


def picked(shares: Mapping[Value, float], draws: np.ndarray) -> np.ndarray:
    """Return the value at each quantile of `draws`, (n_jobs,); shares need not sum to 1."""
    edges = np.cumsum(list(shares.values()))
    at = np.searchsorted(edges[:-1] / edges[-1], draws, side="right")
    values: np.ndarray = np.array(list(shares))[at]
    return values


def dealt(work: np.ndarray, hands: int, random: np.random.Generator) -> np.ndarray:
    """Return the index of each job in an order that spreads the work evenly, (n_jobs,).

    The order is divided into `hands` sections; of each `hands` jobs with similar work, every section gets
    one, at random.

    Parameters
    ----------
    work
        Work of each job, (n_jobs,), in any unit.
    """
    hand_of, rank = np.empty(len(work), dtype=np.int64), np.empty(len(work), dtype=np.int64)
    by_work = np.argsort(-work, kind="stable")
    for begin in range(0, len(work), hands):
        similar = by_work[begin : begin + hands]
        hand_of[similar] = random.permutation(hands)[: len(similar)]
    rank[np.lexsort((random.random(len(work)), hand_of))] = np.arange(len(work))
    return rank


def at_rates(
    hour_rate: Sequence[float] | np.ndarray, day_rate: Sequence[float], days: float, at: np.ndarray
) -> np.ndarray:
    """Return arrivals at quantiles `at` of their number, (n_jobs,), in seconds.

    Parameters
    ----------
    hour_rate
        Relative rate in each hour of a day, (24,).
    day_rate
        Relative rate on each day, (ceil(days),).
    days
        Length of the arrivals; the last day may be cut.
    """
    expected = np.concatenate([[0.0], np.cumsum(np.outer(day_rate, hour_rate))])
    edges_s = np.arange(len(expected)) * HOUR_S
    last = np.interp(days * DAY_S, edges_s, expected)
    arrivals_s: np.ndarray = np.round(np.interp(at * last, expected, edges_s), 3)
    return arrivals_s
