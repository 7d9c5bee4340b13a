"""Metrics along a swept number: which rows make a line, where whiskers end, which scale."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from artist.report.figures.metrics_along import METRICS, along, metrics_along, relative
from artist.results.compare import Comparison, compare
from artist.results.folder import read_run
from artist.results.scenarios import contest

Point = tuple[str, object, int, str, float]  # policy, racks, seed, preset, mean JCT


@pytest.fixture
def compared(run_folder: Callable[..., Path], tmp_path: Path) -> Callable[[Sequence[Point]], Comparison]:
    """Return a maker of comparisons from points."""

    def make(points: Sequence[Point]) -> Comparison:
        runs = []
        for number, (policy, racks, seed, preset, mean) in enumerate(points):
            config = {
                "policy": {"name": policy}, "cluster": {"racks": racks}, "seed": seed,
                "workload": {"preset": preset},
            }  # fmt: skip
            run = read_run(run_folder(tmp_path / str(number), config))
            run.summary["jct_s"]["mean"] = mean
            runs.append(run)
        return compare(runs)

    return make


def test_rows_are_sorted_by_the_swept_number_and_the_other_differences(
    compared: Callable[..., Comparison],
) -> None:
    """Racks 2, 8, 16 in that order (as texts 16 comes first); batch and week are sets; one row is missing."""
    points: list[Point] = [
        (policy, racks, 0, preset, 1.0)
        for policy in ("fifo", "srtf")
        for racks in (2, 8, 16)
        for preset in ("batch", "week")
    ]
    comparison = compared(points[:-1])
    result = along(comparison, contest(comparison))
    assert result is not None
    assert (result.key, result.at, result.lines) == ("cluster.racks", ("2", "8", "16"), ("fifo", "srtf"))
    assert [name for name, _ in result.sets] == ["batch", "week"]
    (_, batch), (_, week) = result.sets
    labels = [[comparison.groups[row].label if row >= 0 else "" for row in line] for line in batch]
    assert labels[0] == ["fifo, 2 racks, batch", "fifo, 8 racks, batch", "fifo, 16 racks, batch"]
    assert week[1][2] == -1


def test_whiskers_end_at_the_interval(compared: Callable[..., Comparison]) -> None:
    """Seeds of 10, 12 and 14 s: the mean is 12, s is 2, half the interval 4.303 x 2 / sqrt(3) = 4.968."""
    points: list[Point] = [
        ("fifo", racks, seed, "batch", 10.0 + 2.0 * seed) for racks in (2, 4) for seed in range(3)
    ]
    comparison = compared(points)
    result = along(comparison, contest(comparison))
    assert result is not None
    axes = metrics_along(comparison.groups, result).axes[METRICS.index("jct_mean_s")]
    line, _, (bars,) = axes.containers[0]  # type: ignore[misc]
    assert np.ravel(line.get_ydata()).tolist() == [12.0, 12.0]
    assert bars.get_segments()[0][:, 1].tolist() == pytest.approx([7.032, 16.968], abs=1e-3)
    assert axes.get_yscale() == "linear"


def test_numbers_far_apart_have_a_logarithmic_scale(compared: Callable[..., Comparison]) -> None:
    """1 and 100 s are a factor of 100 apart."""
    points: list[Point] = [("fifo", 2, 0, "batch", 100.0), ("fifo", 4, 0, "batch", 1.0)]
    comparison = compared(points)
    result = along(comparison, contest(comparison))
    assert result is not None
    axes = metrics_along(comparison.groups, result).axes[METRICS.index("jct_mean_s")]
    assert axes.get_yscale() == "log"


@pytest.mark.parametrize("values", [("a", "b"), (2, 2), (None, 2)])
def test_no_figure_without_a_swept_number(
    compared: Callable[..., Comparison], values: tuple[object, ...]
) -> None:
    """Words, one number, a number and none."""
    comparison = compared([(f"p{i}", value, 0, "batch", 1.0) for i, value in enumerate(values)])
    assert along(comparison, contest(comparison)) is None


def test_a_metric_that_is_0_everywhere_has_no_panel(compared: Callable[..., Comparison]) -> None:
    """Nobody communicates: one panel less."""
    comparison = compared([("fifo", racks, 0, "batch", 1.0) for racks in (2, 4)])
    for group in comparison.groups:
        for run in group.runs:
            run.summary["exposed_s"]["mean"] = 0.0
    result = along(comparison, contest(comparison))
    assert result is not None
    figure = metrics_along(comparison.groups, result)
    assert len([axes for axes in figure.axes if axes.get_title(loc="left")]) == len(METRICS) - 1


def test_relative_to_a_baseline_seed_by_seed(compared: Callable[..., Comparison]) -> None:
    """Srtf takes 5 of 10 s and 15 of 20 s on 2 racks: -50 and -25 %, mean -37.5 %; fifo is no line of it."""
    fifo, srtf = {2: (10.0, 20.0), 4: (8.0, 8.0)}, {2: (5.0, 15.0), 4: (8.0, 8.0)}
    points: list[Point] = [
        (policy, racks, seed, "batch", mean)
        for policy, times in (("fifo", fifo), ("srtf", srtf))
        for racks, means in times.items()
        for seed, mean in enumerate(means)
    ]
    comparison = compared(points)
    competing = contest(comparison, "policy=fifo")
    result = along(comparison, competing)
    assert result is not None
    apart = relative(result, competing.baseline)
    assert apart is not None
    assert apart.lines == ("srtf",)
    figure = metrics_along(comparison.groups, apart, baseline=competing.baseline)
    axes = figure.axes[METRICS.index("jct_mean_s")]
    assert axes.lines[0].get_ydata() == pytest.approx([-37.5, 0.0])
    assert relative(result, range(len(comparison.groups))) is None  # who is its own baseline has no line
