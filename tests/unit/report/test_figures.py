"""The other figures: shares, sizes, tiers, pictures."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from artist.drawing.looks import points
from artist.drawing.panels import NARROW_IN, WIDTH_IN
from artist.drawing.render import rendered
from artist.report.figures.bars import SHADES
from artist.report.figures.catalogue import drawings
from artist.report.figures.comm_overhead import overhead_by_model
from artist.report.figures.facets import chosen
from artist.report.figures.jct_by_demand import jct_by_demand
from artist.report.figures.jct_parts import jct_parts
from artist.report.figures.placements import placements_by_tier
from artist.results.compare import Comparison, compare
from artist.results.digest import Digest, digest
from artist.results.folder import read_run
from artist.results.scenarios import Contest, contest

Rows = tuple[list[Digest], Contest]


@pytest.fixture
def compared(run_folder: Callable[..., Path], tmp_path: Path) -> Comparison:
    """The run on paper under 2 policies on 2 clusters."""
    configs = [
        {"policy": {"name": policy}, "seed": 0, "cluster": {"racks": racks}}
        for policy in ("fifo", "srtf")
        for racks in (1, 2)
    ]
    return compare([read_run(run_folder(tmp_path / str(i), config)) for i, config in enumerate(configs)])


@pytest.fixture
def rows(compared: Comparison) -> Rows:
    """Rows from which its figures are drawn."""
    return [digest(group) for group in compared.groups], contest(compared)


def test_parts_add_up_to_the_mean(rows: Rows) -> None:
    """Each bar ends at 35.5 / 3 = 11.83 s: 3 s queueing, 8 s computing, 0.83 s communication."""
    (axes,) = jct_parts(*rows).axes
    queueing, computing, communication = (list(container) for container in axes.containers)  # type: ignore[call-overload]
    first = [bars[0].get_width() for bars in (queueing, computing, communication)]
    assert first == pytest.approx([3.0, 8.0, 2.5 / 3])
    assert communication[0].get_x() + communication[0].get_width() == pytest.approx(35.5 / 3)


def test_bars_of_a_scenario_are_together(rows: Rows) -> None:
    """Rows are fifo 1, fifo 2, srtf 1, srtf 2; from above fifo 1, srtf 1, a gap, fifo 2, srtf 2."""
    (axes,) = jct_parts(*rows).axes
    places = [bar.get_y() for bar in axes.containers[0]]  # type: ignore[attr-defined]
    assert list(np.argsort(places)) == [0, 2, 1, 3]
    gaps = np.diff(sorted(places))
    assert gaps[1] > gaps[0]


def test_parts_are_distinguishable_in_grey() -> None:
    """Neighbours differ in lightness by a fifth of the range, or one has a hatch."""
    from artist.report.figures.bars import HATCHES

    def lightness(colour: str) -> float:
        red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        return (0.299 * red + 0.587 * green + 0.114 * blue) / 255

    for i in range(len(SHADES) - 1):
        apart = abs(lightness(SHADES[i]) - lightness(SHADES[i + 1]))
        assert apart > 0.2 or HATCHES[i] != HATCHES[i + 1]


def test_twenty_points_differ_without_colour() -> None:
    """Shape, or hollow or not."""
    assert len({(points(i)["marker"], points(i)["fillstyle"]) for i in range(20)}) == 20


def test_a_policy_is_drawn_alike_in_all_figures(rows: Rows) -> None:
    """Colour and marker of the points on communication are those of the lines, and of the legend."""
    points_of, lines_of = (
        [(line.get_color(), line.get_marker()) for line in draw(*rows).axes[0].get_lines()[:2]]
        for draw in (overhead_by_model, jct_by_demand)
    )
    assert points_of == lines_of
    assert len(set(points_of)) == 2


def test_captions_explain_only_parts_that_are_drawn(rows: Rows, compared: Comparison) -> None:
    """One seed, nothing thinned, no restarts: no word of them; nor of left and right, unknown to phones."""
    text = " ".join(drawing.caption for drawing in drawings(rows[0], compared, rows[1]))
    for word in ("eplicates", "band shows", "restarts", "lost work", "Averaged", "Left", "right", "differ"):
        assert word not in text
    assert "Shown: 1 rack, where jobs wait longest." in text


def test_captions_speak_of_replicates_where_there_are_some(
    run_folder: Callable[..., Path], tmp_path: Path
) -> None:
    """Two seeds: distributions are pooled, lines over time are of the first."""
    config = {"policy": {"name": "fifo"}}
    folders = [run_folder(tmp_path / str(seed), config | {"seed": seed}) for seed in (0, 1)]
    comparison = compare([read_run(folder) for folder in folders])
    rows = [digest(group) for group in comparison.groups]
    captions = {drawing.name: drawing.caption for drawing in drawings(rows, comparison, contest(comparison))}
    assert "Runs of all seeds are pooled." in captions["jct_cdf"]
    assert "the lowest is shown" in captions["queue_length"]


def test_sizes_without_a_job_are_left_out(rows: Rows) -> None:
    """All three jobs ask for 2 to 4 GPUs: one place on the axis, in two panels for each of two clusters."""
    figure = jct_by_demand(*rows)
    assert len(figure.axes) == 4
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["2-4"]
    assert np.ravel(figure.axes[0].get_lines()[0].get_ydata()).tolist() == [10.0]  # the median


def test_tiers_and_models(rows: Rows) -> None:
    """2 placements in a machine and 1 in a rack; for each tier of jobs of 2 GPUs the two clusters."""
    placements = placements_by_tier(*rows).axes[0]
    assert [bars[0].get_width() for bars in placements.containers] == [2.0, 1.0, 0.0]  # type: ignore[index]
    overheads = overhead_by_model(*rows)
    assert [axes.get_title(loc="left") for axes in overheads.axes] == [
        f"{racks}\nin a {tier}" for tier in ("machine", "rack") for racks in ("1 rack", "2 racks")
    ]
    rack = np.ravel(overheads.axes[2].get_lines()[0].get_xdata())
    assert rack[0] == pytest.approx(25.0)  # bert_large, 2.5 s / 10 s in %


def test_communication_that_takes_no_time_is_not_drawn(rows: Rows, compared: Comparison) -> None:
    """Some of the jobs on paper communicate; the figure goes if none does, but stays if none has two GPUs."""
    digests, competing = rows
    names = {drawing.name for drawing in drawings(digests, compared, competing)}
    silent = [replace(digest, overheads=((("vgg16", "rack"), 0.0),)) for digest in digests]
    assert names - {drawing.name for drawing in drawings(silent, compared, competing)} == {"comm_overhead"}
    alone = [replace(digest, overheads=()) for digest in digests]
    assert names == {drawing.name for drawing in drawings(alone, compared, competing)}


def test_pictures_are_of_the_longest_queue(rows: Rows) -> None:
    """Both clusters wait equally long: the first is shown, one picture a policy."""
    assert chosen(*rows) == [0, 2]


@pytest.mark.parametrize("width_in", [pytest.param(WIDTH_IN, marks=pytest.mark.slow), NARROW_IN])
def test_every_figure_can_be_drawn_at_both_widths(rows: Rows, compared: Comparison, width_in: float) -> None:
    """A desk and a phone: the layout holds (warnings are errors here) and nothing is wider than asked for."""
    for drawing in drawings(rows[0], compared, rows[1]):
        figure = drawing.draw(width_in)
        assert isinstance(figure, Figure)
        assert figure.get_figwidth() == width_in
        figure.draw_without_rendering()
        assert rendered(figure, "svg").startswith(b"<?xml")


@pytest.mark.parametrize("width_in", [pytest.param(WIDTH_IN, marks=pytest.mark.slow), NARROW_IN])
def test_long_names_leave_room(run_folder: Callable[..., Path], tmp_path: Path, width_in: float) -> None:
    """20 rows whose names are 100 characters long: the layout holds, nothing shrinks to nothing."""
    folders = [
        run_folder(
            tmp_path / str(i),
            {
                "policy": {"name": f"_policy$_{i % 4}", "placement": ("consolidate", "random")[i % 2]},
                "seed": 0,
                "workload": {
                    "path": f"/data/a_trace_with_a_long_name_{i // 4:02}_of_a_week_in_summer.csv.gz"
                },
            },
        )
        for i in range(20)
    ]
    comparison = compare([read_run(folder) for folder in folders])
    rows = [digest(group) for group in comparison.groups]
    for drawing in drawings(rows, comparison, contest(comparison)):
        figure = drawing.draw(width_in)
        figure.draw_without_rendering()
        sizes = [axes.get_window_extent() for axes in figure.axes if axes.axison]
        assert min(min(size.width, size.height) for size in sizes) > 0.5 * figure.dpi, drawing.name
