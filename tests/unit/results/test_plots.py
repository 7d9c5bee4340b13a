"""What the figures show, read back from their axes."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from matplotlib.lines import Line2D

from artist.results.compare import Replicates, compare
from artist.results.folder import read_run
from artist.results.plots import busy_gpus, jct_cdf


@pytest.fixture
def groups(run_folder: Callable[..., Path], tmp_path: Path) -> Callable[..., Sequence[Replicates]]:
    """Write runs of some policies on clusters of some sizes, and group them."""

    def make(policies: Sequence[str], racks: Sequence[int] = (1,)) -> Sequence[Replicates]:
        configs = [
            {"policy": {"name": policy}, "seed": 0, "cluster": {"racks": number}}
            for policy in policies
            for number in racks
        ]
        return compare(
            [read_run(run_folder(tmp_path / str(i), config)) for i, config in enumerate(configs)]
        ).groups

    return make


def _dash(line: Line2D) -> str:
    return repr(line._dash_pattern)  # type: ignore[attr-defined]  # what is drawn; the public name is "--"


def test_distribution_of_the_run_on_paper(groups: Callable[..., Sequence[Replicates]]) -> None:
    """Completion times 4, 10, 21.5: steps to 1/3, 2/3 and 1 there, on an axis from 2 s to 30 s."""
    (axes,) = jct_cdf(groups(["fifo"])).axes
    (line,) = axes.get_lines()
    x, y = map(np.ravel, line.get_data())
    assert list(x) == [4.0, 4.0, 10.0, 21.5]
    assert list(y) == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["2 s", "5 s", "10 s", "20 s", "30 s"]


def test_busy_gpus_of_the_run_on_paper(groups: Callable[..., Sequence[Replicates]]) -> None:
    """The steps of the timeline as they are, under a capacity of 4, with room above."""
    (axes,) = busy_gpus(groups(["fifo"])).axes
    capacity, busy = axes.get_lines()
    assert np.ravel(busy.get_xdata()).tolist() == [0.0, 1.0, 2.0, 6.0, 10.0, 22.5]
    assert np.ravel(busy.get_ydata()).tolist() == [2, 2, 4, 2, 4, 0]
    assert np.ravel(capacity.get_xdata()).tolist() == [0.0, 22.5]
    assert np.ravel(capacity.get_ydata()).tolist() == [4, 4]
    assert axes.get_ylim()[1] > 4


@pytest.mark.parametrize("count", [2, 7, 20])
def test_lines_differ_without_colour(groups: Callable[..., Sequence[Replicates]], count: int) -> None:
    """Up to 20 lines differ in dash or marker, so that print in grey can be read."""
    (axes,) = jct_cdf(groups([f"p{i}" for i in range(count)])).axes
    looks = {(_dash(line), line.get_marker()) for line in axes.get_lines()}
    assert len(looks) == count


def test_colour_stands_for_the_policy(groups: Callable[..., Sequence[Replicates]]) -> None:
    """2 policies x 3 clusters: 2 colours, and dashes that mean the same cluster in both."""
    (axes,) = jct_cdf(groups(["fifo", "srtf"], [1, 2, 3])).axes
    lines = axes.get_lines()
    assert [line.get_color() for line in lines] == ["#0072B2"] * 3 + ["#D55E00"] * 3
    dashes = [_dash(line) for line in lines]
    assert dashes[:3] == dashes[3:]
    assert len({(dash, line.get_marker()) for dash, line in zip(dashes, lines, strict=True)}) == 6


def test_many_runs_get_a_panel_each(groups: Callable[..., Sequence[Replicates]]) -> None:
    """5 overlaid step functions cannot be told apart: 5 titled panels, the sixth place is empty."""
    axes = busy_gpus(groups([f"p{i}" for i in range(5)])).axes
    assert [each.get_title(loc="left") for each in axes] == ["p0", "p1", "p2", "p3", "p4", ""]
