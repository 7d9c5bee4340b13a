"""Student's t intervals of the mean over replicates. Pure."""

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import mean, stdev

LEAST = 3  # values; the interval of two is 13 times as wide as their distance


def interval_95(values: Sequence[float], of: int = 1) -> tuple[float, float] | None:
    """Return the ends of the 95 % Student's t interval of the mean; None for fewer than 3 values.

    mean -+ t(1 - 0.025 / of, n - 1) s / sqrt(n), s with n - 1. Of `of` intervals, all hold with 95 %
    (Bonferroni), also the one that is picked for its mean. How often one holds the true mean, of 200,000
    samples (standard error 0.1 percentage points or less), by the distribution of the values and how many
    there are:

    ====================  ======  ======  ======
    values                     3       5      10
    ====================  ======  ======  ======
    normal                95.1 %  95.0 %  95.0 %
    lognormal, sigma 1/4  94.3 %  94.1 %  94.2 %
    lognormal, sigma 1/2  92.3 %  91.6 %  92.1 %
    lognormal, sigma 1    83.8 %  81.9 %  84.0 %
    ====================  ======  ======  ======

    Where a few long jobs make a metric, as a tail or a makespan, it is thus narrower than 95 %.
    """
    n = len(values)
    if n < LEAST:
        return None
    half = student_t_95(n - 1, of) * stdev(values) / math.sqrt(n)
    middle = mean(values)
    return middle - half, middle + half


@lru_cache(maxsize=32)
def student_t_95(freedom: int, of: int = 1) -> float:
    """Return t such that |T| < t with probability 0.95, or for each of several with 1 - 0.05 / of.

    Parameters
    ----------
    freedom
        Degrees of freedom, at least 1.
    of
        How many there are.
    """
    from scipy.special import stdtrit  # a quarter of a second, and single runs have no interval

    return float(stdtrit(freedom, 1 - 0.025 / of))
