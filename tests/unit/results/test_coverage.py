"""Jobs covered by the means of a run; a run stopped early is marked wherever it is shown."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from artist.core.result import RunResult
from artist.recording.metrics import summarise
from artist.results.compare import compare
from artist.results.coverage import Covered, coverage_notes, covered
from artist.results.csv_tables import comparison_csv
from artist.results.folder import read_run
from artist.results.measures import BY_NAME, comparable
from artist.results.run import Run
from artist.results.tables import compare_table, run_table


@pytest.fixture
def stopped(result: RunResult) -> dict[str, Any]:
    """The summary of the run on paper, stopped at 15 s: a and c have finished, b, 21.5 s long, has not."""
    columns = dict(result.columns)
    columns["finish_ns"] = columns["finish_ns"].copy()
    columns["finish_ns"][1] = -1
    ended = replace(result, columns=columns, stopped_by="time")
    return summarise(ended, policy="fifo", seed=1, network_distinct=2, run={"version": "0.1.0"})


@pytest.fixture
def runs(run_folder: Callable[..., Path], tmp_path: Path, stopped: dict[str, Any]) -> list[Run]:
    """A stopped run of fifo, and a whole one of srtf."""
    fifo, srtf = (
        read_run(run_folder(tmp_path / name, {"policy": {"name": name}, "seed": 1}))
        for name in ("fifo", "srtf")
    )
    return [replace(fifo, summary=stopped), srtf]


def test_a_stopped_run_covers_its_finished_jobs(stopped: dict[str, Any]) -> None:
    """2 of 3 jobs, so its means are not whole; the mean JCT of these, 7 s, is below that of all, 11.83 s."""
    assert covered(stopped) == Covered(finished=2, jobs=3)
    assert not covered(stopped).whole
    assert stopped["jct_s"]["mean"] == 7.0


@pytest.mark.parametrize(
    ("stopped_by", "finished", "expected"),
    [("finished", 3, Covered(3, 3)), ("time", 2, Covered(2, 3)), ("window", 2, Covered(2, 2))],
)
def test_summaries_without_the_number_are_read(stopped_by: str, finished: int, expected: Covered) -> None:
    """Runs made before `measured` was written: of all 3 jobs, unless a window ended the run."""
    assert covered({"jobs": 3, "finished": finished, "stopped_by": stopped_by}) == expected


def test_a_window_is_whole_when_its_jobs_have_finished(result: RunResult) -> None:
    """Jobs 0 and 2 of three finish first; a window of job 2 alone covers 1 of 1, and the note says so."""
    summary = summarise(
        replace(result, window=(2, 3), stopped_by="window"), policy="f", seed=0, network_distinct=0, run={}
    )
    assert covered(summary) == Covered(1, 1)
    assert coverage_notes([summary]) == ["window: JCT, queue and makespan are those of 1 jobs"]


def test_a_window_that_time_ended_is_not_whole(stopped: dict[str, Any]) -> None:
    """Of a window of 40 of 60 jobs, 31 had finished at the time limit."""
    stopped |= {"jobs": 60, "finished": 50, "measured": {"jobs": 40, "finished": 31}}
    assert not covered(stopped).whole
    assert "31 of 40" in coverage_notes([stopped])[1]
    assert run_table(stopped).splitlines()[3].split()[1:6] == ["60", "50", "(31", "of", "40*)"]


def test_the_printed_table_marks_partial_coverage(stopped: dict[str, Any]) -> None:
    """After the numbers of one run: a star at the finished jobs, and how many the means cover."""
    *_, row, note, by_gpu_time = run_table(stopped).splitlines()
    assert by_gpu_time.startswith("by GPU time: ")
    assert row.split()[:3] == ["fifo", "3", "2*"]
    assert note.startswith("*: means over the measured jobs that had finished, 2 of 3: longer and later ones")


def test_whole_runs_have_no_mark(summary: dict[str, Any]) -> None:
    """The run on paper finished all three jobs."""
    assert "*" not in run_table(summary)
    assert coverage_notes([summary]) == []


def test_only_the_stopped_row_is_marked(runs: list[Run]) -> None:
    """The run of fifo was stopped and srtf not: one star in the table, one in the names that figures use."""
    groups = compare(runs).groups
    assert [group.label for group in groups] == ["fifo *", "srtf"]
    assert [group.partial for group in groups] == [True, False]
    fifo, srtf, *_notes = compare_table(runs).splitlines()[-4:]
    assert (fifo.split()[2], srtf.split()[2]) == ("2*", "3")


def test_one_stopped_replicate_makes_its_row_partial(runs: list[Run]) -> None:
    """Of seeds 1 and 2 only the first was stopped: the mean over both leaves a job out."""
    first, second = runs[0], replace(runs[1], summary=runs[1].summary | {"policy": "fifo", "seed": 2})
    second = replace(second, config={"policy": {"name": "fifo"}, "seed": 2})
    (group,) = compare([first, second]).groups
    assert group.partial


def test_times_that_leave_jobs_out_are_not_compared(runs: list[Run]) -> None:
    """No mean for a comparison, though there is one to show; what is over all jobs, preemptions, stays."""
    stopped, whole = compare(runs).groups
    assert comparable(BY_NAME["jct_mean_s"], stopped).mean is None
    assert comparable(BY_NAME["makespan_s"], stopped).mean is None
    assert comparable(BY_NAME["preemptions"], stopped).mean == 0.0
    assert comparable(BY_NAME["jct_mean_s"], whole).mean == pytest.approx(35.5 / 3)


def test_the_csv_has_both_numbers(runs: list[Run]) -> None:
    """Columns measured_jobs and measured_finished: 3 and 2 for fifo, 3 and 3 for srtf."""
    head, *rows = (line.split(",") for line in comparison_csv(compare(runs)).splitlines())
    at = [head.index("measured_jobs"), head.index("measured_finished")]
    assert [[row[i] for i in at] for row in rows] == [["3", "2"], ["3", "3"]]
