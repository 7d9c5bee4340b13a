"""Figures of elastic jobs (those on paper: `elastic_run`)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.colors import to_hex

from artist.drawing.panels import NARROW_IN, WIDTH_IN
from artist.report.figures.bars import SHADES
from artist.report.figures.catalogue import drawings
from artist.report.figures.drawing import Drawing
from artist.results.compare import compare
from artist.results.digest import digest
from artist.results.run import Run
from artist.results.scenarios import contest

NAMES = {"elastic_jobs", "elastic_job_gpus"}
LEAST, BETWEEN, MOST = SHADES[:3]


def drawn(runs: Sequence[Run]) -> dict[str, Drawing]:
    """Return the figures of runs by name."""
    comparison = compare(runs)
    digests = [digest(group) for group in comparison.groups]
    return {drawing.name: drawing for drawing in drawings(digests, comparison, contest(comparison))}


def heights(axes: Any, colour: str, x: float) -> list[float]:
    """Return the heights of a colour's areas at a time."""
    results = []
    for area in axes.collections:
        if to_hex(area.get_facecolor()[0]) == colour:
            (path,) = area.get_paths()
            outline = zip(path.vertices, np.roll(path.vertices, -1, axis=0), strict=True)
            ys = [y0 for (x0, y0), (x1, _) in outline if min(x0, x1) <= x < max(x0, x1)]
            results.append(round(float(max(ys) - min(ys)), 9) if ys else 0.0)
    return results


def test_runs_without_elastic_jobs_have_no_such_figure(paper_run: Run) -> None:
    """The run on paper has neither."""
    assert not NAMES & set(drawn([paper_run]))


def test_levels_are_stacked(elastic_run: Callable[..., Run]) -> None:
    """Until 1 s one job at the least, until 2 s one more at the most; then one in between, one at the most.

    Above the panel: of 10 s of running time 4, 2 and 4.
    """
    (axes,) = drawn([elastic_run()])["elastic_jobs"].draw(WIDTH_IN).axes
    at = {x: [heights(axes, colour, x) for colour in (LEAST, BETWEEN, MOST)] for x in (0.5, 1.5, 2.5, 7.0)}
    assert at == {
        0.5: [[1], [1], [1]],
        1.5: [[1], [1], [2]],  # each level lies behind those before it, from 0 up
        2.5: [[0], [1], [2]],
        7.0: [[0], [0], [0]],
    }
    assert axes.get_title(loc="left") == "fifo\n40 / 20 / 40 %"
    assert axes.get_xlim() == (0, 10)  # a's end, not that of the run


def test_each_job_has_a_band(elastic_run: Callable[..., Run]) -> None:
    """Of bands of 0.8 a fills 2 / 4 at first, 2.5 / 4 from 2 s, all from 4 s; c, of 1 to 4, all from 1 s.

    Dark is the least, 2 of 4 and 1 of 4. The lines last from submission to finish.
    """
    (axes,) = drawn([elastic_run()])["elastic_job_gpus"].draw(WIDTH_IN).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "c"]
    for x, light, dark in (
        (0.5, [0.4, 0], [0.4, 0]),
        (2.5, [0.5, 0.8], [0.4, 0.2]),
        (5.0, [0.8, 0], [0.4, 0]),
        (7.0, [0, 0], [0, 0]),
    ):
        assert heights(axes, MOST, x) == pytest.approx(light)
        assert heights(axes, LEAST, x) == pytest.approx(dark)
    spans = [np.ravel(line.get_xdata()).tolist() for line in axes.get_lines()]
    assert spans == [[0, 10], [2, 6]]


def test_many_jobs_have_no_band_each(elastic_run: Callable[..., Run]) -> None:
    """With 41 elastic jobs only their numbers are drawn; with 40 each is."""
    run = elastic_run()
    path = run.folder / "jobs.parquet"
    table = pq.read_table(path)
    for count in (40, 41):
        many = table.take(pa.array([0] * count))
        names = pa.array([f"a{i}" for i in range(count)])
        pq.write_table(many.set_column(many.column_names.index("job_id"), "job_id", names), path)
        assert NAMES & set(drawn([run])) == (NAMES if count == 40 else {"elastic_jobs"})


def test_long_runs_are_averaged(elastic_run: Callable[..., Run]) -> None:
    """Job a changes every 10 ms: the caption says that spans are averaged."""
    changes = [(0.01 * i, "resize", "a", f"m0:{2 + i % 3}") for i in range(1, 1000)]
    run = elastic_run([(0.0, "start", "a", "m0:2"), *changes, (10.0, "finish", "a", None)])
    assert "Each point is a mean over a short span" in drawn([run])["elastic_jobs"].caption


@pytest.mark.parametrize("width_in", [pytest.param(WIDTH_IN, marks=pytest.mark.slow), NARROW_IN])
def test_all_of_it_fits(elastic_run: Callable[..., Run], width_in: float) -> None:
    """Of seven rows six have a panel: the layouts hold (warnings are errors here)."""
    run = elastic_run()
    runs = [
        replace(
            run, summary=run.summary | {"policy": f"p{i}"}, config=run.config | {"policy": {"name": f"p{i}"}}
        )
        for i in range(7)
    ]
    figures = drawn(runs)
    for name in NAMES:
        figure = figures[name].draw(width_in)
        figure.draw_without_rendering()
        assert len(figure.axes) == 6
        assert figure.get_figwidth() == width_in


def test_no_elastic_job_ran(elastic_run: Callable[..., Run]) -> None:
    """Bands without areas, and an empty stack."""
    figures = drawn([elastic_run([(0.0, "start", "b", "m0:4"), (1.0, "finish", "b", None)])])
    for name in NAMES:
        figures[name].draw(WIDTH_IN).draw_without_rendering()
    (axes,) = figures["elastic_job_gpus"].draw(WIDTH_IN).axes
    assert len(axes.collections) == 0
