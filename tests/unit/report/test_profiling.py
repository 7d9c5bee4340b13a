"""The table of profiling steps, and what else policies noted."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from artist.report.command import main
from artist.report.contents import report_files
from artist.report.figures.policy_series import policy_series, with_series
from artist.report.page.datatable import DataTable
from artist.report.page.grouped_tables import steps_table
from artist.results.compare import compare
from artist.results.digest import digest
from artist.results.fairness import fairness_by_run
from artist.results.folder import read_run
from artist.results.job_types import read_cpus_kept, read_profiling
from artist.results.run import Run
from artist.results.scenarios import contest

STEPS = [(10.0, "steps of BAT", 4.0), (20.0, "steps of AlexNet", 3.0), (30.0, "steps of BAT", 3.0)]


@pytest.fixture
def noted(run_folder: Callable[..., Path], tmp_path: Path) -> Callable[..., Run]:
    """Return a maker of runs whose policy noted something of itself."""

    def make(policy: str, series: Sequence[tuple[float, str, float]], seed: int = 1) -> Run:
        folder = run_folder(tmp_path / f"runs/{policy}{seed}", {"policy": {"name": policy}, "seed": seed})
        if series:
            columns = dict(
                zip(("time_s", "name", "value"), map(list, zip(*series, strict=True)), strict=True)
            )
            pq.write_table(pa.table(columns), folder / "policy.parquet")
        return read_run(folder)

    return make


def table_of(runs: Sequence[Run]) -> DataTable | None:
    """Return the table of runs."""
    groups = compare(runs).groups
    return steps_table({group.name: result for group in groups if (result := read_profiling(group))})


def test_steps_by_model_and_row(noted: Callable[..., Run]) -> None:
    """BAT took 4 and 3 steps under coda, pooled with the second seed's 5: mean 4, most 5. Fifo takes none."""
    runs = [noted("coda", STEPS), noted("coda", [(5.0, "steps of BAT", 5.0)], 2), noted("mine", STEPS[:1])]
    table = table_of([*runs, noted("fifo", [])])
    assert table is not None
    assert [column.title for column in table.columns] == ["model", "row", "jobs", "steps mean", "steps most"]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["AlexNet", "coda", "1", "3.00", "3"],
        ["BAT", "coda", "3", "4.00", "5"],
        ["BAT", "mine", "1", "4.00", "4"],
    ]
    assert table.breaks == {1}
    assert table_of([noted("las", [(1.0, "timer", 2.0)])]) is None


def test_steps_are_no_line_of_the_figure(noted: Callable[..., Run]) -> None:
    """Of a reserve and steps only the reserve is drawn; a policy that noted steps alone has no panel."""
    coda = noted("coda", [(0.0, "reserve", 20.0), *STEPS])
    groups = with_series(compare([coda, noted("mine", STEPS), noted("fifo", [])]).groups)
    assert [group.name for group in groups] == ["coda"]
    (axes,) = policy_series(groups).axes
    assert [line.get_label() for line in axes.get_lines()] == ["reserve"]


def test_the_page_has_the_table(noted: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """With its heading, and a sentence on what a step is."""
    monkeypatch.setattr("artist.report.contents.drawings", lambda *arguments: [])
    folder = noted("coda", STEPS).folder
    assert main([str(folder)]) == 0
    page = (folder / "report" / "report.html").read_text()
    assert "Profiling steps" in page
    assert "numbers of CPUs a policy tried" in page


def test_the_page_has_cpus_kept_and_time_lost(
    kinds_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A job of 2 GPUs keeps 6 CPUs, 3 a GPU; of the 10 s for which it ran other jobs took 2.5."""
    monkeypatch.setattr("artist.report.contents.drawings", lambda *arguments: [])
    run = kinds_run("coda", [("ann", 2, 4, 6, 0.0, "BAT")], kinds={"over_threshold": 0.2})
    path = run.folder / "jobs.parquet"
    table = pq.read_table(path)
    place = table.column_names.index("interference_s")
    pq.write_table(table.set_column(place, "interference_s", pa.array([2.5])), path)
    noted = {"time_s": [1.0], "name": ["steps of BAT"], "value": [4.0]}
    pq.write_table(pa.table(noted), run.folder / "policy.parquet")
    comparison = compare([run])
    fair = [fairness_by_run(group) for group in comparison.groups]
    rows = list(map(digest, comparison.groups))
    files = report_files(comparison, contest(comparison), None, (), tmp_path, (), fair, rows)
    page = files["report.html"].decode()
    assert "GPU kept" in page
    assert "takes 25&nbsp;% of the time of GPU jobs under coda" in page


def test_cpus_kept_by_model(kinds_run: Callable[..., Run]) -> None:
    """BAT keeps 6 and 6 of 2 GPUs and 5 of 1: 3, 3 and 5 a GPU, in the middle 3; 2, 4 and 1 were asked for.

    AlexNet has one job, which asks for no CPUs; WaveNet has none that finished. CPU jobs have no model.
    """
    jobs = [
        ("ann", 2, 4, 6, 0.0, "BAT"), ("ann", 2, 8, 6, 0.0, "BAT"), ("bob", 1, 1, 5, 0.0, "BAT"),
        ("bob", 4, 0, 14, 0.0, "AlexNet"), ("bob", 0, 4, 4, 0.0, ""),
    ]  # fmt: skip
    run = kinds_run("coda", jobs)
    steps = {"coda": {model: np.array([3.0]) for model in ("AlexNet", "BAT", "WaveNet")}}
    table = steps_table(steps, {"coda": read_cpus_kept([run, run])})
    assert table is not None
    assert [column.title for column in table.columns[5:]] == ["CPUs per GPU asked", "CPUs per GPU kept"]
    assert [[row[0].text, *(cell.text for cell in row[5:])] for row in table.rows] == [
        ["AlexNet", "-", "3.50"],
        ["BAT", "2.00", "3.00"],
        ["WaveNet", "-", "-"],
    ]


def test_runs_that_do_not_record_cpus_have_none_kept(paper_run: Run) -> None:
    """A run of GPU jobs alone has no such columns."""
    assert read_cpus_kept([paper_run]) == {}
