"""Measured CPU counts: the paper's eight points, and the turns of the search."""

import pytest

from artist.performance.formulas.bisection import bisected

RESNET18 = {1: 0.37, 2: 0.72, 3: 1, 4: 1.3, 5: 1.53, 6: 1.75, 7: 1.9667, 8: 2.1833}


@pytest.mark.parametrize(
    ("throughput", "measured"),
    [
        (lambda cpus: RESNET18.get(cpus, 2.4), [24, 12, 6, 9, 7, 8, 1, 3]),  # Fig. 5b: 8 of 24
        (lambda cpus: 1, [24, 12, 6, 3, 2, 1]),  # never gains: always the lower half; 1 and 3 once
        (lambda cpus: 2**cpus, [24, 12, 18, 21, 22, 23, 1, 3]),  # always gains: always the upper half
    ],
)
def test_the_search_ends_at_the_knee(throughput, measured):
    """From 24 CPUs: down where more bring nothing, up where they do; then 1 and the share."""
    assert list(bisected(throughput, 24, 0.1, also=(1, 3))) == measured


@pytest.mark.parametrize(("threshold", "measured"), [(0.5, [4, 2, 3]), (0.51, [4, 2])])
def test_a_gain_equal_to_the_threshold_is_searched(threshold, measured):
    """2 to 4 CPUs bring 50 %: with a threshold of that the search goes up to 3, above it down to 1 .. 2."""
    assert list(bisected(lambda cpus: 1 + 0.25 * (cpus - 2), 4, threshold)) == measured


def test_nothing_is_measured_twice():
    """One CPU in all: the most, one and the share are the same measurement."""
    asked = []
    assert bisected(lambda cpus: asked.append(cpus) or 5.0, 1, 0.1, also=(1, 1)) == {1: 5.0}
    assert asked == [1]
