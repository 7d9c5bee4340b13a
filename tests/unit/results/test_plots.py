"""What the figures show, read back from their axes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.lines import Line2D

from artist.results.compare import Replicates, compare
from artist.results.folder import read_run
from artist.results.plots import busy_gpus, jct_cdf, rendered


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


@pytest.fixture
def long_groups(run_folder: Callable[..., Path], tmp_path: Path) -> Callable[[int], Sequence[Replicates]]:
    """Write runs whose labels are about 100 characters long, and group them."""

    def config(i: int) -> dict[str, Any]:
        path = f"/data/{i}/a_trace_with_a_long_name_{i:02}_of_a_week.csv.gz"
        policy = {"name": f"_policy$_{i % 3}", "placement": ("consolidate", "random")[i % 2]}
        return {"policy": policy, "seed": 0, "workload": {"path": path}, "cluster": {"racks_of_it": i // 4}}

    def make(count: int) -> Sequence[Replicates]:
        folders = [run_folder(tmp_path / f"long{i}", config(i)) for i in range(count)]
        return compare([read_run(folder) for folder in folders]).groups

    return make


@pytest.mark.parametrize("count", [2, 5, 13, 20])
@pytest.mark.parametrize("draw", [jct_cdf, busy_gpus])
def test_long_labels_leave_room_for_the_axes(
    long_groups: Callable[[int], Sequence[Replicates]], draw: Callable[..., Any], count: int
) -> None:
    """All labels stand whole inside the figure, no axes shrink below an inch, and the layout holds."""
    groups = long_groups(count)
    figure = draw(groups)
    figure.draw_without_rendering()  # warnings are errors here: no "constrained_layout not applied"
    (legend,) = figure.legends
    box, frame = legend.get_window_extent(), figure.bbox
    assert frame.x0 <= box.x0
    assert box.x1 <= frame.x1
    assert box.y0 >= frame.y0
    for group, text in zip(groups, legend.get_texts(), strict=True):
        assert text.get_text().replace("\n   ", "").strip() == f"{group.letter}: {group.label}"
    drawn = [axes.get_window_extent() for axes in figure.axes if axes.axison]
    assert min(extent.height for extent in drawn) > figure.dpi
    assert all(extent.y0 > box.y1 for extent in drawn)


def test_panels_of_long_labels_bear_their_letter(
    long_groups: Callable[[int], Sequence[Replicates]],
) -> None:
    """The letter and the policy fit above a panel; no title runs into the next panel."""
    figure = busy_gpus(long_groups(5))
    titles = [axes.get_title(loc="left") for axes in figure.axes[:5]]
    assert [text[:3] for text in titles] == ["A: ", "B: ", "C: ", "D: ", "E: "]
    assert max(map(len, titles)) <= 44


@pytest.mark.parametrize(("longer", "axes_of_its_own"), [(3, False), (4, True)])
def test_runs_of_very_different_spans_have_their_own_axis(
    groups: Callable[..., Sequence[Replicates]], longer: int, axes_of_its_own: bool
) -> None:
    """22.5 s beside 67.5 s share an axis; beside 90 s the short one were a sliver: a panel each."""
    import pyarrow.parquet as pq

    two = groups(["fifo", "srtf"])
    path = two[1].runs[0].folder / "timeline.parquet"
    table = pq.read_table(path)
    times = [longer * time for time in table["time_s"].to_pylist()]
    pq.write_table(table.set_column(0, "time_s", [times]), path)
    limits = [axes.get_xlim()[1] for axes in busy_gpus(two).axes]
    assert limits == ([22.5, 90.0] if axes_of_its_own else [67.5])


def test_the_panel_above_an_empty_place_shows_its_times(
    groups: Callable[..., Sequence[Replicates]],
) -> None:
    """5 panels in 2 columns: the fourth is the last of its column and bears times, the second does not."""
    axes = busy_gpus(groups([f"p{i}" for i in range(5)])).axes
    shown = [bool(each.xaxis.get_tick_params()["labelbottom"]) for each in axes[:5]]
    assert shown == [False, False, False, True, True]


@pytest.mark.parametrize("draw", [jct_cdf, busy_gpus])
def test_any_name_can_be_drawn(groups: Callable[..., Sequence[Replicates]], draw: Callable[..., Any]) -> None:
    """Letters that the font lacks, TeX that is none, what matplotlib hides: drawn without a word."""
    figure = draw(groups(["_\u8c03$^$", "b"]))
    assert rendered(figure, "png").startswith(b"\x89PNG")
    assert [text.get_text().strip() for text in figure.legends[0].get_texts()] == ["_\u8c03$^$", "b"]
