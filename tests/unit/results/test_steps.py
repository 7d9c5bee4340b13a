"""Thinned step functions keep area and extremes; thinned distributions keep their ends."""

import numpy as np
import pytest

from artist.results.steps import distribution_steps, span_edges, thin_steps, work_end_s


def test_bins_by_hand() -> None:
    """4 from 1 s, 0 from 3 s, 8 from 4 s; bins 0..2 and 2..6: means (0 + 4) / 2 and (4 + 0 + 2 x 8) / 4."""
    times, values = np.array([1.0, 3.0, 4.0]), np.array([4.0, 0.0, 8.0])
    mean, least, most = thin_steps(times, values, np.array([0.0, 2.0, 6.0]))
    assert (mean.tolist(), least.tolist(), most.tolist()) == ([2.0, 5.0], [0.0, 0.0], [4.0, 8.0])


def test_area_and_extremes_survive() -> None:
    """10,000 random steps in 100 bins: the same integral, least and greatest value."""
    generator = np.random.default_rng(1)
    times = np.sort(generator.uniform(0, 1000, 10_000))
    values = generator.integers(0, 100, 10_000).astype(float)
    mean, least, most = thin_steps(times, values, np.linspace(0, times[-1], 101))
    area = float((values[:-1] * np.diff(times)).sum())
    assert mean.sum() * times[-1] / 100 == pytest.approx(area)
    assert (least.min(), most.max()) == (0.0, values[:-1].max())


def test_the_end_of_the_work_by_hand() -> None:
    """99 GPUs for 10 s and one for 10 s: 990 of 1000 GPU-s after 10 s; 100 GPUs alone: after 9.9 of 10 s."""
    times, busy = np.array([0.0, 10.0, 20.0]), np.array([99.0, 1.0, 0.0])
    assert work_end_s(times, busy) == pytest.approx(10.0)
    assert work_end_s(times[:2], np.array([100.0, 0.0])) == pytest.approx(9.9)
    assert work_end_s(times, np.zeros(3)) == 0.0


def test_spans_are_as_fine_as_the_axis_that_shows_them() -> None:
    """Work done at 2 of 10 s: two spans up to there, two after; at 8 s the axis is not cut: two of 5 s."""
    assert span_edges(10.0, 2, 2.0).tolist() == [0.0, 1.0, 2.0, 6.0, 10.0]
    assert span_edges(10.0, 2, 8.0).tolist() == span_edges(10.0, 2).tolist() == [0.0, 5.0, 10.0]


def test_few_values_are_drawn_as_they_are() -> None:
    """2 of 4 jobs finished, at 3 s and 1 s: steps to 1/4 and 2/4, never to 1."""
    x, y = distribution_steps(np.array([3.0, 1.0]), 4, 100)
    assert (x.tolist(), y.tolist()) == ([1.0, 3.0], [0.25, 0.5])


def test_many_values_keep_ends_and_stay_true() -> None:
    """10,000 values in at most 101 points: each point is on the exact curve, the last at 1."""
    values = np.exp(np.random.default_rng(1).normal(5, 2, 10_000))
    x, y = distribution_steps(values, 10_000, 100)
    assert len(x) <= 101
    assert (x[-1], y[-1]) == (values.max(), 1.0)
    assert all((values <= at).mean() == pytest.approx(fraction) for at, fraction in zip(x, y, strict=True))


def test_equal_values_are_one_point() -> None:
    """500 equal times, more than there are bins, make one step from 0 to 1."""
    x, y = distribution_steps(np.full(500, 7.0), 500, 100)
    assert (x.tolist(), y.tolist()) == ([7.0], [1.0])
