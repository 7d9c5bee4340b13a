"""Figures and sentences on resources.parquet of the run on paper (see conftest)."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from artist.drawing.panels import NARROW_IN, WIDTH_IN
from artist.recording.names import BLOCKING
from artist.recording.resources import Resources
from artist.report.claims.evaluate import evaluate
from artist.report.claims.evidence import Evidence
from artist.report.claims.schema import Claim
from artist.report.figures.catalogue import drawings
from artist.report.figures.drawing import Drawing
from artist.report.page.comparison_table import comparison_table
from artist.results.compare import Comparison, compare
from artist.results.csv_tables import comparison_csv
from artist.results.digest import digest
from artist.results.folder import read_run
from artist.results.scenarios import contest

FIFO = {"policy": {"name": "fifo"}, "seed": 1}
Write = Callable[..., Path]


def drawn(comparison: Comparison) -> dict[str, Drawing]:
    """Return the figures of a comparison by name."""
    digests = [digest(group) for group in comparison.groups]
    return {drawing.name: drawing for drawing in drawings(digests, comparison, contest(comparison))}


def test_without_resources_nothing_is_reported(run_folder: Write, tmp_path: Path) -> None:
    """No column on the page, an empty cell in table.csv, and no figure."""
    comparison = compare([read_run(run_folder(tmp_path / "run", FIFO))])
    (row,) = csv.DictReader(comparison_csv(comparison).splitlines())
    assert row["gpu_in_use"] == row["blocking_index"] == ""
    names = [column.name for column in comparison_table(comparison, contest(comparison)).columns]
    assert not {"gpu_in_use", "blocking_index"} & set(names)
    assert not {"resources", "blocking_index"} & set(drawn(comparison))


def test_a_claim_may_name_them(run_folder: Write, tmp_path: Path, resources: Resources) -> None:
    """Fifo and srtf are equally blocked here; where one of them did not record it, nothing is judged."""
    claim = Claim.model_validate(
        {"says": "fifo blocks more", "source": "8", "policy": "fifo", "against": "srtf", "metric": BLOCKING,
         "paper": "higher"}
    )  # fmt: skip
    for name, recorded, verdict in (("with", resources, "few seeds"), ("without", None, "not run")):
        runs = [
            read_run(
                run_folder(tmp_path / name / policy, {"policy": {"name": policy}, "seed": 1}, resources=kept)
            )
            for policy, kept in (("fifo", resources), ("srtf", recorded))
        ]
        assert evaluate(claim, [Evidence(run) for run in runs]).verdict == verdict


@pytest.fixture
def figures(run_folder: Write, tmp_path: Path, resources: Resources) -> Callable[..., dict[str, Drawing]]:
    """Return a function from policies, and those of them that recorded what was in use, to the figures."""

    def make(
        policies: Sequence[str], recorded: Sequence[str], racks: Sequence[int] = (1,)
    ) -> dict[str, Drawing]:
        runs = []
        for policy in policies:
            for number in racks:
                config = {"policy": {"name": policy}, "seed": 1, "cluster": {"racks": number}}
                kept = resources if policy in recorded else None
                place = tmp_path / f"{policy}{number}"
                runs.append(read_run(run_folder(place, config, resources=kept)))
        return drawn(compare(runs))

    return make


def test_a_panel_a_resource_and_a_line_a_row(figures: Callable[..., dict[str, Drawing]]) -> None:
    """Steps of the GPUs in per cent, 25, 50, 25, 40, 0, on shared axes. No job uses CPUs or network."""
    drawing = figures(["fifo", "srtf"], ["fifo", "srtf"])["resources"]
    figure = drawing.draw(WIDTH_IN)
    assert "Without a panel, as none of it is used: CPU, network." in drawing.caption
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["storage", "GPU"]
    assert [len(axes.get_lines()) for axes in figure.axes] == [2] * 2
    line = figure.axes[1].get_lines()[0]
    assert np.ravel(line.get_xdata()).tolist() == [0, 2, 6, 10, 22.5]
    assert np.ravel(line.get_ydata()).tolist() == pytest.approx([25, 50, 25, 40, 0])
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    assert figure.axes[1].get_ylim()[1] > 50
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["fifo", "srtf"]


def test_the_blocking_index_is_a_step_function(figures: Callable[..., dict[str, Drawing]]) -> None:
    """The means of the spans between events: 0.05, 0.3, 0.7, on a plain scale as none is far above 1."""
    drawing = figures(["fifo"], ["fifo"])["blocking_index"]
    (axes,) = drawing.draw(WIDTH_IN).axes
    assert np.ravel(axes.get_lines()[0].get_ydata()).tolist() == pytest.approx([0, 0.05, 0.3, 0.7, 0, 0])
    assert axes.get_yscale() == "linear"
    assert "logarithmic" not in drawing.caption


def test_rows_without_a_recording_are_left_out_with_a_note(
    figures: Callable[..., dict[str, Drawing]],
) -> None:
    """Of fifo, las and srtf only las recorded: one line each, las's own, and the captions say why."""
    built = figures(["fifo", "las", "srtf"], ["las"])
    for name in ("resources", "blocking_index"):
        assert "output.resources=true" in built[name].caption
        assert [len(axes.get_lines()) for axes in built[name].draw(WIDTH_IN).axes] == [1] * (
            2 if name == "resources" else 1
        )
    las = built["resources"].draw(WIDTH_IN).axes[0].get_lines()[0].get_color()
    assert las == built["queue_length"].draw(WIDTH_IN).axes[0].get_lines()[1].get_color()


def test_only_one_of_many_scenarios_shows_the_resources(figures: Callable[..., dict[str, Drawing]]) -> None:
    """Two clusters: a panel each for the blocking index; the resources of one, which the caption names."""
    built = figures(["fifo", "srtf"], ["fifo", "srtf"], (1, 2))
    assert [len(axes.get_lines()) for axes in built["blocking_index"].draw(WIDTH_IN).axes] == [2, 2]
    assert [len(axes.get_lines()) for axes in built["resources"].draw(WIDTH_IN).axes] == [2] * 2
    assert "Shown: 1 rack" in built["resources"].caption


def test_more_than_six_lines_are_not_drawn(figures: Callable[..., dict[str, Drawing]]) -> None:
    """Of 8 policies the first 6, and the caption says so."""
    names = [f"p{i}" for i in range(8)]
    drawing = figures(names, names)["resources"]
    assert [len(axes.get_lines()) for axes in drawing.draw(WIDTH_IN).axes] == [6] * 2
    assert "The first 6 rows." in drawing.caption


def test_on_a_phone_panels_are_below_each_other(figures: Callable[..., dict[str, Drawing]]) -> None:
    """One column, and the layout holds (warnings are errors here)."""
    figure = figures(["fifo", "srtf"], ["fifo", "srtf"])["resources"].draw(NARROW_IN)
    figure.draw_without_rendering()
    assert len({axes.get_position().x0 for axes in figure.axes}) == 1


def test_far_indices_have_a_logarithmic_scale(
    figures: Callable[..., dict[str, Drawing]], tmp_path: Path
) -> None:
    """From 1 on if some index is above 20: here they are 1000 times as large."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    figures(["fifo"], ["fifo"])
    path = tmp_path / "fifo1" / "resources.parquet"
    table = pq.read_table(path)
    far = pa.array([1000 * value for value in table["blocking_index"].to_pylist()])
    pq.write_table(table.set_column(5, "blocking_index", far), path)
    drawing = drawn(compare([read_run(path.parent)]))["blocking_index"]
    (axes,) = drawing.draw(WIDTH_IN).axes
    assert axes.get_yscale() == "symlog"
    assert axes.get_ylim()[1] > 700
    assert "logarithmic above 1" in drawing.caption
