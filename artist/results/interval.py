"""Bootstrap intervals of the mean over replicates. Pure."""

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

_RESAMPLES = 10_000


def bootstrap_95(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the ends of the 95 % bootstrap interval of the mean; None for fewer than 2 values.

    Replicates are drawn with replacement, as many as there are, 10,000 times; the interval leaves out an
    equal part of the means at either end. 2.5 % would leave out too much where values are few, since their
    spread is that about their own mean: left out is P(Z < -sqrt(n / (n - 1)) t), Student's t(0.975, n - 1)
    and Z normal: 2.5 % for many values and next to nothing for two. This is the expanded percentile interval
    of Hesterberg, What Teachers Should Know about the Bootstrap, The American Statistician 69(4), 2015.
    The draws are always the same.
    """
    n = len(values)
    if n < 2:
        return None
    left_out = NormalDist().cdf(-math.sqrt(n / (n - 1)) * student_t_95(n - 1))
    array = np.asarray(values, dtype=np.float64)
    low, high = np.quantile(array[_draws(n)].mean(axis=1), (left_out, 1 - left_out))
    return max(float(low), min(values)), min(float(high), max(values))  # rounding of a mean of equals


@lru_cache(maxsize=32)
def _draws(n: int) -> npt.NDArray[np.int64]:
    """Return which values each resample takes, (_RESAMPLES, n)."""
    return np.random.default_rng(0).integers(0, n, (_RESAMPLES, n))


def student_t_95(freedom: int) -> float:
    """Return the t that |T| stays below with probability 0.95, by bisection.

    Parameters
    ----------
    freedom
        Degrees of freedom, at least 1.
    """
    low, high = 1.9, 13.0  # 1.96 for infinitely many degrees, 12.71 for one
    while (middle := (low + high) / 2) not in (low, high):
        if _probability_within(middle, freedom) < 0.95:
            low = middle
        else:
            high = middle
    return high


def _probability_within(t: float, freedom: int) -> float:
    """Return P(|T| < t): the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine = math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0
    for k in range(2 + odd, freedom + 1, 2):
        total += term
        term *= (k - 1) / k * cosine**2
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total
