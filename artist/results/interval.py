"""Confidence intervals of the mean over replicates. Pure."""

import math
from collections.abc import Sequence


def half_width_95(values: Sequence[float]) -> float | None:
    """Return half the width of the 95 % confidence interval of the mean; None for fewer than 2 values.

    Student's t: t(0.975, n - 1) x s / sqrt(n), s with n - 1 in its denominator.
    """
    n = len(values)
    if n < 2:
        return None
    mean = math.fsum(values) / n
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return student_t_95(n - 1) * math.sqrt(variance / n)


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
