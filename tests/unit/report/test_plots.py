"""Figures over time, read back from their axes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from artist.drawing.panels import NARROW_IN, WIDTH_IN
from artist.drawing.render import rendered
from artist.report.figures.catalogue import drawings
from artist.report.figures.distributions import jct_cdf, jct_histogram, queueing_cdf
from artist.report.figures.over_time import drawing, gauge_panels, over_time
from artist.results.compare import Comparison, compare
from artist.results.digest import Digest, Distribution, Gauge, digest
from artist.results.folder import read_run
from artist.results.scenarios import Contest, contest

Rows = tuple[Sequence[Digest], Contest]


def rows_of(comparison: Comparison) -> Rows:
    """Return the rows that figures are drawn from."""
    return [digest(group) for group in comparison.groups], contest(comparison)


def busy_gpus(digests: Sequence[Digest], competing: Contest, width_in: float = WIDTH_IN) -> Figure:
    """Draw busy GPUs, called like the other figures."""
    return over_time(digests, "busy_gpus", competing, width_in)


@pytest.fixture
def rows(run_folder: Callable[..., Path], tmp_path: Path) -> Callable[..., Rows]:
    """Write runs of some policies on clusters of some sizes, and digest them."""

    def make(policies: Sequence[str], racks: Sequence[int] = (1,)) -> Rows:
        configs = [
            {"policy": {"name": policy}, "seed": 0, "cluster": {"racks": number}}
            for policy in policies
            for number in racks
        ]
        return rows_of(
            compare([read_run(run_folder(tmp_path / str(i), config)) for i, config in enumerate(configs)])
        )

    return make


def _dash(line: Line2D) -> str:
    return repr(line._dash_pattern)  # type: ignore[attr-defined]  # what is drawn; the public name is "--"


def test_distribution_of_the_run_on_paper(rows: Callable[..., Rows]) -> None:
    """Completion times 4, 10, 21.5: steps to 1/3, 2/3 and 1 there, on an axis from 2 s to 30 s."""
    (axes,) = jct_cdf(*rows(["fifo"])).axes
    (line,) = axes.get_lines()
    x, y = map(np.ravel, line.get_data())
    assert list(x) == [4.0, 4.0, 10.0, 21.5]
    assert list(y) == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["2 s", "5 s", "10 s", "20 s", "30 s"]


def test_busy_gpus_of_the_run_on_paper(rows: Callable[..., Rows]) -> None:
    """The steps of the timeline where it changes, under a capacity of 4, with room above."""
    (axes,) = busy_gpus(*rows(["fifo"])).axes
    capacity, busy = axes.get_lines()
    assert np.ravel(busy.get_xdata()).tolist() == [0.0, 2.0, 6.0, 10.0, 22.5]
    assert np.ravel(busy.get_ydata()).tolist() == [2, 4, 2, 4, 0]
    assert np.ravel(capacity.get_xdata()).tolist() == [0.0, 22.5]
    assert np.ravel(capacity.get_ydata()).tolist() == [4, 4]
    assert axes.get_ylim()[1] > 4


@pytest.mark.parametrize("count", [2, 7, 20])
def test_lines_differ_without_colour(rows: Callable[..., Rows], count: int) -> None:
    """Up to 20 lines differ in dash or marker, so that print in grey can be read."""
    (axes,) = jct_cdf(*rows([f"p{i}" for i in range(count)])).axes
    looks = {(_dash(line), line.get_marker()) for line in axes.get_lines()}
    assert len(looks) == count


def test_colour_encodes_the_policy(rows: Callable[..., Rows]) -> None:
    """2 policies x 3 clusters: a panel a cluster, the same 2 looks in each, and 2 entries in the legend."""
    figure = jct_cdf(*rows(["fifo", "srtf"], [1, 2, 3]))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["1 rack", "2 racks", "3 racks"]
    drawn = [[(line.get_color(), _dash(line)) for line in axes.get_lines()] for axes in figure.axes]
    assert drawn == [drawn[0]] * 3
    assert [colour for colour, _ in drawn[0]] == ["#0072B2", "#D55E00"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["fifo", "srtf"]


def test_colour_encodes_the_policy_in_one_panel_too(rows: Callable[..., Rows]) -> None:
    """7 policies are too many lines for panels: all in one, colour, dash or marker tell 14 rows apart."""
    (axes,) = jct_cdf(*rows([f"policy{i}" for i in range(7)], [1, 2])).axes
    looks = {(line.get_color(), _dash(line), line.get_marker()) for line in axes.get_lines()}
    assert len(looks) == 14


def test_jobs_that_did_not_wait_are_the_start_of_the_line(rows: Callable[..., Rows]) -> None:
    """Jobs a and c do not wait, b waits 9 s: 2/3 at the left edge, 1 from 9 s on."""
    (axes,) = queueing_cdf(*rows(["fifo"])).axes
    (line,) = axes.get_lines()
    x, y = map(np.ravel, line.get_data())
    assert list(x) == [9.0, 9.0, 9.0]
    assert list(y) == pytest.approx([2 / 3, 1, 1])


def test_queues_of_a_scenario_share_a_panel(rows: Callable[..., Rows]) -> None:
    """2 policies x 2 clusters: two panels of two lines; b waits from 1 s to 10 s, a and c start at once."""
    digests, competing = rows(["fifo", "srtf"], [1, 2])
    figure = over_time(digests, "queue_length", competing)
    assert [len(axes.get_lines()) for axes in figure.axes] == [2, 2]
    line = figure.axes[0].get_lines()[0]
    assert np.ravel(line.get_xdata()).tolist() == [0.0, 1.0, 10.0, 22.5]
    assert np.ravel(line.get_ydata()).tolist() == [0, 1, 0, 0]


def test_a_histogram_counts_jobs_where_they_are(rows: Callable[..., Rows]) -> None:
    """Six jobs of 10 s, one of 100, one of 1000: 6/8 in the first bar, nothing between; p95 is the last."""
    digests, competing = rows(["fifo"])
    times, fractions = np.array([10.0, 100.0, 1000.0]), np.array([0.75, 0.875, 1.0])
    (axes,) = jct_histogram([replace(digests[0], jct=Distribution(times, fractions, 0.0))], competing).axes
    (bars,) = axes.patches
    assert bars.get_data().values[0] == 0.75  # type: ignore[attr-defined]
    assert sorted(bars.get_data().values, reverse=True)[:4] == [0.75, 0.125, 0.125, 0.0]  # type: ignore[attr-defined]


def test_panels_without_waiting_jobs_are_left_out(rows: Callable[..., Rows]) -> None:
    """Nobody waits on the second of two clusters: one panel, the other is named; if nobody does, all stay."""
    digests, competing = rows(["fifo", "srtf"], [1, 2])
    flat = Gauge(np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1), False)
    idle = [replace(one, gauges=one.gauges | {"queue_length": flat}) for one in digests]
    layout, left_out = gauge_panels([digests[0], idle[1], digests[2], idle[3]], "queue_length", competing)
    assert ([name for name, _ in layout.sets], left_out) == (["1 rack"], ("2 racks",))
    layout, left_out = gauge_panels(idle, "queue_length", competing)
    assert (len(layout.sets), left_out) == (2, ())
    assert len(over_time([digests[0], idle[1], digests[2], idle[3]], "queue_length", competing).axes) == 1


@pytest.mark.parametrize(("work_end_s", "cut"), [(16.0, True), (18.0, False)])
def test_an_axis_of_time_ends_with_the_work(rows: Callable[..., Rows], work_end_s: float, cut: bool) -> None:
    """22.5 s end at 16 s, with 99 % of the work; at 18 s not: less than a quarter (16.875 s) is cut."""
    digests, competing = rows(["fifo", "srtf"])
    early = [replace(digests[0], work_end_s=work_end_s), replace(digests[1], work_end_s=15.0)]
    (axes,) = over_time(early, "queue_length", competing).axes
    assert axes.get_xlim() == (0.0, 16.0 if cut else 22.5)
    assert axes.get_xlabel() == "time (seconds)" + ", until 99 % of the work is done" * cut
    assert [text.get_text() for text in axes.texts] == ["//"] * cut
    text = "cut where 99 % of the work (GPU time) is done; the longest run lasts 22.5 seconds."
    assert (text in drawing(early, "queue_length", competing).caption) is cut


def test_no_bar_is_on_a_logarithmic_axis(rows: Callable[..., Rows]) -> None:
    """The length of a bar means nothing there: all figures of four rows, with the histogram's stairs."""
    digests, competing = rows(["fifo", "srtf"], [1, 2])
    comparison = compare([digest.group.runs[0] for digest in digests])
    bars = 0
    for figure in (drawn.draw(WIDTH_IN) for drawn in drawings(digests, comparison, competing)):
        for axes in figure.axes:
            for container in axes.containers:
                if isinstance(container, BarContainer):
                    bars += 1
                    lengths = axes.xaxis if container.orientation == "horizontal" else axes.yaxis
                    assert lengths.get_scale() == "linear", axes.get_title()
    assert bars > 0


@pytest.mark.parametrize(("times", "alike"), [(3, True), (4, False)])
def test_panels_of_one_size_share_their_vertical_axis(
    rows: Callable[..., Rows], times: int, alike: bool
) -> None:
    """3 unfinished jobs here; beside 9 there they can be seen, beside 12 they need another axis."""
    digests, competing = rows(["fifo", "srtf"], [1, 2])
    more = [
        replace(
            one, gauges={name: replace(gauge, most=times * gauge.most) for name, gauge in one.gauges.items()}
        )
        for one in digests
    ]
    mixed = [digests[0], more[1], digests[2], more[3]]
    tops = [axes.get_ylim()[1] for axes in over_time(mixed, "unfinished_jobs", competing).axes]
    assert bool(tops[0] == tops[1]) is alike


def test_panels_form_one_column_on_a_phone(rows: Callable[..., Rows]) -> None:
    """2 panels beside each other at a desk; in a narrow figure one column."""
    digests, competing = rows(["fifo", "srtf"], [1, 2])
    columns = [
        len({round(axes.get_subplotspec().colspan.start) for axes in jct_cdf(digests, competing, width).axes})  # type: ignore[union-attr]
        for width in (WIDTH_IN, NARROW_IN)
    ]
    assert columns == [2, 1]


def test_many_runs_get_a_panel_each(rows: Callable[..., Rows]) -> None:
    """5 overlaid step functions cannot be told apart: 5 titled panels, the sixth place is empty."""
    axes = busy_gpus(*rows([f"p{i}" for i in range(5)])).axes
    assert [axis.get_title(loc="left") for axis in axes] == ["p0", "p1", "p2", "p3", "p4", ""]


@pytest.fixture
def long_rows(run_folder: Callable[..., Path], tmp_path: Path) -> Callable[[int], Rows]:
    """Write runs whose labels are about 100 characters long, and group them."""

    def config(i: int) -> dict[str, Any]:
        path = f"/data/{i}/a_trace_with_a_long_name_{i:02}_of_a_week.csv.gz"
        policy = {"name": f"_policy$_{i % 3}", "placement": ("consolidate", "random")[i % 2]}
        return {"policy": policy, "seed": 0, "topology": {"path": path}, "cluster": {"racks_of_it": i // 4}}

    def make(count: int) -> Rows:
        folders = [run_folder(tmp_path / f"long{i}", config(i)) for i in range(count)]
        return rows_of(compare([read_run(folder) for folder in folders]))

    return make


@pytest.mark.parametrize("count", [2, 5, 13, 20])
@pytest.mark.parametrize("draw", [jct_cdf, busy_gpus])
def test_long_labels_leave_room_for_the_axes(
    long_rows: Callable[[int], Rows], draw: Callable[..., Any], count: int
) -> None:
    """All labels stand whole inside the figure, no axes shrink below an inch, and the layout holds."""
    digests, competing = long_rows(count)
    figure = draw(digests, competing)
    figure.draw_without_rendering()  # warnings are errors here: no "constrained_layout not applied"
    (legend,) = figure.legends
    box, frame = legend.get_window_extent(), figure.bbox
    assert frame.x0 <= box.x0
    assert box.x1 <= frame.x1
    assert box.y0 >= frame.y0
    for row, text in zip(digests, legend.get_texts(), strict=True):
        assert text.get_text().replace("\n   ", "").strip() == f"{row.group.letter}: {row.group.label}"
    drawn = [axes.get_window_extent() for axes in figure.axes if axes.axison]
    assert min(extent.height for extent in drawn) > figure.dpi
    assert all(extent.y0 > box.y1 for extent in drawn)


def test_panels_of_long_labels_bear_their_letter(
    long_rows: Callable[[int], Rows],
) -> None:
    """The letter and the policy fit above a panel; no title runs into the next panel."""
    figure = busy_gpus(*long_rows(5))
    titles = [axes.get_title(loc="left") for axes in figure.axes[:5]]
    assert [text[:3] for text in titles] == ["A: ", "B: ", "C: ", "D: ", "E: "]
    assert max(map(len, titles)) <= 30


@pytest.mark.parametrize(("longer", "axes_of_its_own"), [(3, False), (4, True)])
def test_runs_of_very_different_spans_have_their_own_axis(
    rows: Callable[..., Rows], longer: int, axes_of_its_own: bool
) -> None:
    """22.5 s beside 67.5 s share an axis; beside 90 s the short one were a sliver: a panel each."""
    import pyarrow.parquet as pq

    digests, competing = rows(["fifo", "srtf"])
    path = digests[1].group.runs[0].folder / "timeline.parquet"
    table = pq.read_table(path)
    times = [longer * time for time in table["time_s"].to_pylist()]
    pq.write_table(table.set_column(0, "time_s", [times]), path)
    limits = [
        axes.get_xlim()[1] for axes in busy_gpus([digests[0], digest(digests[1].group)], competing).axes
    ]
    assert limits == ([22.5, 90.0] if axes_of_its_own else [67.5])


def test_the_panel_above_an_empty_place_shows_its_times(
    rows: Callable[..., Rows],
) -> None:
    """5 panels in 3 columns: the third is the last of its column and bears times, the second does not."""
    axes = busy_gpus(*rows([f"p{i}" for i in range(5)])).axes
    shown = [bool(axis.xaxis.get_tick_params()["labelbottom"]) for axis in axes[:5]]
    assert shown == [False, False, True, True, True]


@pytest.mark.parametrize("draw", [jct_cdf, busy_gpus])
def test_any_name_can_be_drawn(rows: Callable[..., Rows], draw: Callable[..., Any]) -> None:
    """Letters that the font lacks, TeX that is none, what matplotlib hides: drawn without a word."""
    figure = draw(*rows(["_\u8c03$^$", "b"]))
    assert rendered(figure, "png").startswith(b"\x89PNG")
    assert [text.get_text().strip() for text in figure.legends[0].get_texts()] == ["_\u8c03$^$", "b"]
