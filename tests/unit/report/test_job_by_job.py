"""Figures and sentences on jobs that need CPUs and memory (see conftest): 4 of 8 CPUs, or all."""

import csv
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from artist.drawing.panels import NARROW_IN, WIDTH_IN
from artist.errors import InputError
from artist.report.figures.catalogue import drawings
from artist.report.figures.drawing import Drawing
from artist.results.compare import Comparison, compare
from artist.results.csv_tables import comparison_csv
from artist.results.digest import digest
from artist.results.job_by_job import against_best, speedups
from artist.results.run import Run
from artist.results.scenarios import contest

Make = Callable[..., Run]
GREY = "#777777"


def drawn(comparison: Comparison, baseline: str | None = None) -> dict[str, Drawing]:
    """Return the figures of a comparison by name."""
    digests = [digest(group) for group in comparison.groups]
    return {drawing.name: drawing for drawing in drawings(digests, comparison, contest(comparison, baseline))}


def lines(axes: object) -> list[tuple[list[float], list[float]]]:
    """Return the points of the lines of a panel, but for grey ones."""
    return [
        (np.ravel(line.get_xdata()).tolist(), np.ravel(line.get_ydata()).tolist())
        for line in axes.get_lines()  # type: ignore[attr-defined]
        if line.get_color() != GREY
    ]


def test_the_numbers_of_a_run(fed_run: Make) -> None:
    """4 of 8 CPUs: 20 and 40 s instead of 10 and 20, throughput 0.5.

    Of 20 CPUs 8 are held and used for 20 s, 4 for 20 s more: 0.3. Of 200 bytes 50 are held, 30 used by each:
    (100 + 50) / 2 / 200 and (60 + 30) / 2 / 200. No job of four hours: no long ones. No job moves.
    """
    (row,) = csv.DictReader(comparison_csv(compare([fed_run("half", 4)])).splitlines())
    numbers = {
        "relative_throughput": 0.5,
        "cpus_held": 0.3,
        "cpus_used": 0.3,
        "memory_held": 0.375,
        "memory_used": 0.225,
        "jct_short_mean_s": 30,
        "jct_short_p95_s": 39,
        "moves_per_job": 0,
    }
    assert {name: float(row[name]) for name in numbers} == pytest.approx(numbers)
    assert row["jct_long_mean_s"] == row["jct_long_p99_s"] == ""


def test_shares_are_recorded_on_request_only(fed_run: Make) -> None:
    """Without output.resources=true throughput and completion times are said, shares are not, nor drawn."""
    comparison = compare([fed_run("half", 4, recorded=False)])
    (row,) = csv.DictReader(comparison_csv(comparison).splitlines())
    assert (row["relative_throughput"], row["cpus_held"]) == ("0.5", "")
    figures = drawn(comparison)
    assert "against_best" in figures
    assert "shares" not in figures


def test_shares_over_time(fed_run: Make) -> None:
    """All CPUs needed, 8 for each: until 10 s 100 % of the GPUs, 80 % of the CPUs; then, until 20 s, half.

    Held above, used below: memory 50 and 30 % of 100 bytes, then 25 and 15 %.
    """
    figure = drawn(compare([fed_run("half", 4), fed_run("whole", 8)]))["shares"].draw(WIDTH_IN)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["GPUs held", "CPUs held", "memory held", "GPUs used", "CPUs used", "memory used"]
    whole = [lines(axes)[1] for axes in figure.axes]
    assert [x for x, _ in whole] == [[0, 10, 20]] * 6
    at_first = [100, 80, 50, 100, 80, 30]
    for (_, y), value in zip(whole, at_first, strict=True):
        assert y == pytest.approx([value, value / 2, 0])


def test_shares_of_the_best_case_are_drawn_by_row(fed_run: Make) -> None:
    """Throughput 0.5 and 1, CPUs 4 / 8 and 8 / 8: steps of two equal jobs. No panel for 50 / 40 of memory."""
    comparison = compare([fed_run("half", 4), fed_run("whole", 8)])
    half = against_best(comparison.groups[0])
    assert [column.tolist() for column in half] == [[0.5, 0.5], [0.5, 0.5], [1.25, 1.25]]
    drawing = drawn(comparison)["against_best"]
    figure = drawing.draw(WIDTH_IN)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["throughput", "CPUs held"]
    assert "Without a panel, as all jobs have as much: memory held (1.25)." in drawing.caption
    ends = [[x[-1] for x, _ in lines(axes)] for axes in figure.axes]
    assert ends == [[0.5, 1], [0.5, 1]]
    assert all(y[0] == 0 and y[-1] == 1 for axes in figure.axes for _, y in lines(axes))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["half", "whole"]


def test_equal_jobs_keep_all_panels(fed_run: Make) -> None:
    """Under whole alone throughput and CPUs are 1, too: a figure without panels would be none."""
    drawing = drawn(compare([fed_run("whole", 8)]))["against_best"]
    assert len(drawing.draw(WIDTH_IN).axes) == 3
    assert "Without a panel" not in drawing.caption


def test_shares_that_are_not_used_have_no_panel(fed_run: Make) -> None:
    """Jobs use no memory: five panels and an empty place, and the caption says why."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    run = fed_run("whole", 8)
    path = run.folder / "resources.parquet"
    table = pq.read_table(path)
    place = table.column_names.index("memory_used")
    pq.write_table(table.set_column(place, "memory_used", pa.array([0.0] * len(table))), path)
    drawing = drawn(compare([run]))["shares"]
    titles = [axes.get_title(loc="left") for axes in drawing.draw(WIDTH_IN).axes]
    assert titles == ["GPUs held", "CPUs held", "memory held", "GPUs used", "CPUs used", ""]
    assert "Without a panel, as none of it is used: memory used." in drawing.caption


def test_jobs_without_gpus_are_not_among_them(fed_run: Make) -> None:
    """Job a made CPU-only, with no memory: 0 / 0 bytes of its best case. Of b: 8 / 8 CPUs, 50 / 40 bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    run = fed_run("whole", 8)
    path = run.folder / "jobs.parquet"
    table = pq.read_table(path)
    for name in ("gpus", "memory_bytes_held", "memory_bytes_best"):
        place, values = table.column_names.index(name), table[name].to_pylist()
        table = table.set_column(place, name, pa.array([0, values[1]], table.schema.field(name).type))
    pq.write_table(table, path)
    assert [column.tolist() for column in against_best(compare([run]).groups[0])] == [[1], [1], [1.25]]


def test_runs_whose_jobs_need_nothing_have_none_of_it(paper_run: Run) -> None:
    """Neither figures nor cells in table.csv; all runs have moves per job: 6 of 3 jobs are 2."""
    paper_run.summary["migrations"] = 6
    comparison = compare([paper_run])
    (row,) = csv.DictReader(comparison_csv(comparison).splitlines())
    assert row["relative_throughput"] == row["cpus_used"] == row["jct_short_mean_s"] == ""
    assert row["moves_per_job"] == "2"
    assert not {"shares", "against_best", "jct_speedup"} & set(drawn(comparison))


def test_speed_ups_are_drawn_against_a_baseline_that_was_asked_for(fed_run: Make) -> None:
    """JCT 20 / 10 and 40 / 20: both jobs are twice as fast; the baseline itself has no line."""
    comparison = compare([fed_run("half", 4), fed_run("whole", 8)])
    assert "jct_speedup" not in drawn(comparison)
    drawing = drawn(comparison, "policy=half")["jct_speedup"]
    figure = drawing.draw(WIDTH_IN)
    ((x, y),) = lines(figure.axes[0])
    assert x == pytest.approx([2, 2, 2])
    assert y == [0, 0.5, 1]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["whole"]
    assert "under half" in drawing.caption
    assert "2" in [text.get_text() for text in figure.axes[0].get_xticklabels()]


def test_speed_ups_are_of_equal_seeds_and_jobs(fed_run: Make, paper_run: Run) -> None:
    """Of seeds 1 and 2 against 2 and 3 only 2 counts, 2 jobs; against other jobs, none does."""
    own_part = compare([fed_run("whole", 8, seed=seed) for seed in (1, 2)]).groups[0]
    other = compare([fed_run("half", 4, seed=seed) for seed in (2, 3)]).groups[0]
    assert speedups(own_part, other).tolist() == [2, 2]
    assert speedups(own_part, compare([paper_run]).groups[0]).tolist() == []


def test_a_panel_a_scenario(fed_run: Make) -> None:
    """Two clusters: speed-ups have a panel each, what jobs got is that of one, which the caption names."""
    runs: Sequence[Run] = [
        fed_run(name, c, racks=r) for name, c in (("half", 4), ("whole", 8)) for r in (1, 2)
    ]
    figures = drawn(compare(runs), "policy=half")
    assert [len(lines(axes)) for axes in figures["jct_speedup"].draw(WIDTH_IN).axes] == [1, 1]
    assert [len(lines(axes)) for axes in figures["against_best"].draw(WIDTH_IN).axes] == [2] * 2
    for name in ("against_best", "shares"):
        assert "Shown: 1 rack" in figures[name].caption


def test_on_a_phone_all_of_it_fits(fed_run: Make) -> None:
    """The layouts hold (warnings are errors here), panels below each other."""
    figures = drawn(compare([fed_run("half", 4), fed_run("whole", 8)]), "policy=half")
    for name in ("shares", "against_best", "jct_speedup"):
        figure = figures[name].draw(NARROW_IN)
        figure.draw_without_rendering()
        assert len({axes.get_position().x0 for axes in figure.axes}) == 1


def test_jobs_that_are_damaged_are_refused(fed_run: Make) -> None:
    """A table without the columns is named, and what to do."""
    import pyarrow.parquet as pq

    run = fed_run("half", 4)
    path = run.folder / "jobs.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["cpus_best"]), path)
    with pytest.raises(InputError, match=r"columns are missing(.|\n)*cpus_best"):
        against_best(compare([run]).groups[0])
