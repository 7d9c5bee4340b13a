"""Tables of the run on paper (see conftest) and of replicates of it."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from artist.results.compare import compare
from artist.results.csv_tables import changes_csv, comparison_csv
from artist.results.folder import read_run
from artist.results.run import Run
from artist.results.tables import compare_table, comparison_grid, run_table


@pytest.fixture
def third(run_folder: Callable[..., Path], tmp_path: Path) -> Run:
    """Fifo once more, three times as slow, as seed 3."""
    return read_run(run_folder(tmp_path / "4", {"policy": {"name": "fifo"}, "seed": 3}, slower=3))


@pytest.fixture
def replicates(run_folder: Callable[..., Path], tmp_path: Path) -> list[Run]:
    """The run on paper and itself with completion times doubled, as seeds 1 and 2; tiresias once."""
    fifo, tiresias = {"name": "fifo"}, {"name": "tiresias"}
    return [
        read_run(run_folder(tmp_path / "1", {"policy": fifo, "seed": 1})),
        read_run(run_folder(tmp_path / "2", {"policy": fifo, "seed": 2}, slower=2)),
        read_run(run_folder(tmp_path / "3", {"policy": tiresias, "seed": 1})),
    ]


def test_table_of_the_run_on_paper(summary: dict[str, Any]) -> None:
    """The numbers of test_metrics: 68 / 90 = 75.6 %, 0.25 / 3 = 8.33 %, by GPU time 10 / 68 = 14.7 %."""
    assert run_table(summary).splitlines() == [
        "                      JCT     JCT    JCT    JCT  queue            GPUs     comm.  by GPU  preemp-",
        "policy  jobs  done   mean  median    p95    p99   mean  makespan  used  overhead    time    tions",
        "                        s       s      s      s      s         s     %         %       %",
        "fifo       3     3  11.83   10.00  20.35  21.27  3.000     22.50  75.6      8.33    14.7        0",
        "by GPU time: communication adds 14.7 % to computing time, and 100 % of that comes from 1 job of "
        "bert_large on 4 GPUs",
    ]


def lines_of(table: str) -> list[str]:
    """Return the lines of a table, but for the note on the overhead by GPU time of b."""
    return [line for line in table.splitlines() if not line.startswith("by GPU time: ")]


def test_carried_over_answers_have_a_column(summary: dict[str, Any]) -> None:
    """1 of 2 questions carried over: 50.0 % in a column, its meaning below; no column for no fallback."""
    plain = lines_of(run_table(summary))
    *lines, note = lines_of(run_table(summary | {"network_carried": 1}))
    assert [line.split()[-1] for line in lines] == ["network", "carried", "%", "50.0"]
    assert [line[: len(old)].rstrip() for line, old in zip(lines, plain, strict=True)] == plain
    assert note.startswith("network carried: the network model has no answer for the placement itself:")
    *lines, carried, fallback = lines_of(run_table(summary | {"network_carried": 1, "network_fallbacks": 2}))
    assert lines[-1].split()[-2:] == ["50.0", "100.0"]
    assert (carried, fallback.partition(":")[0]) == (note, "network fallback")


def test_answers_above_the_port_are_shown_with_the_worst(summary: dict[str, Any]) -> None:
    """1 of 2 questions: 50.0 %; 0.4 ms for at least 2 ms."""
    above = {"questions": 1, "worst": "VGG16 on 8 GPUs of 1 machine", "comm_s": 4e-4, "least_s": 2e-3}
    *lines, note = lines_of(run_table(summary | {"above_port": above}))
    assert lines[-1].split()[-1] == "50.0"
    assert note.startswith("above the port: messages do not share their port")
    assert note.endswith("VGG16 on 8 GPUs of 1 machine communicates for 0.4 ms, by the ports at least 2 ms")


def test_replicates_show_the_mean_share_of_carried_over_answers(replicates: list[Run]) -> None:
    """0 and 1 of 2 questions with the two seeds of fifo: 25.0 %; tiresias has none."""
    replicates[1].summary["network_carried"] = 1
    *_, fifo, tiresias, _, note = lines_of(compare_table(replicates))
    assert (fifo.split()[-1], tiresias.split()[-1]) == ("25.0", "0.0")
    assert note.startswith("network carried: ")


def test_long_times_are_in_hours(summary: dict[str, Any]) -> None:
    """From a mean completion time of 2 h = 7200 s on, times are in hours: 7200 s is 2.000."""
    summary["jct_s"]["mean"] = 7200.0
    head, row = lines_of(run_table(summary))[-2:]
    assert head.split()[0] == "h"
    assert row.split()[3] == "2.000"


def test_missing_numbers_are_dashes(summary: dict[str, Any]) -> None:
    """Without a finished job there is a dash, neither 0 nor None."""
    summary |= {"jct_s": dict.fromkeys(summary["jct_s"]), "makespan_s": None, "finished": 0}
    assert lines_of(run_table(summary))[-1].split()[2:8] == ["0", "-", "-", "-", "-", "3.000"]


def test_replicates_are_merged(replicates: list[Run], third: Run) -> None:
    """Means 11.83, 23.67, 35.50: mean 23.67, s 11.83, half the interval 4.303 x 11.83 / sqrt(3) = 29.40."""
    *_, fifo, tiresias, note = lines_of(compare_table([*replicates, third]))
    rows = [fifo.split(), tiresias.split()]
    assert rows[0][:7] == ["fifo", "3", "3", "3", "23.67", "+-", "29.40"]
    assert rows[1][:5] == ["tiresias", "1", "3", "3", "11.83"]
    assert note.startswith("+-: half width of the 95 % interval (Student's t)")


def test_two_replicates_have_a_mean_and_no_interval(replicates: list[Run]) -> None:
    """11.83 and 23.67: 17.75; an interval takes three."""
    *_, fifo, _, note = lines_of(compare_table(replicates))
    assert fifo.split()[:5] == ["fifo", "2", "3", "3", "17.75"]
    assert "+-" not in fifo
    assert note.endswith("fewer than 3 have none")


def test_one_run_a_row_needs_no_note(replicates: list[Run]) -> None:
    """Without replicates there is no +- to explain."""
    assert "+-" not in compare_table(replicates[1:])


@pytest.mark.parametrize(
    ("means", "cells"),
    [
        ((10.0, 4.0), ["10.00", "4.00"]),
        ((9.9996, 4.0), ["10.00", "4.00"]),  # rounds to four digits first
        ((12.5, 0.0574), ["12.5000", "0.0574"]),
        ((7000.0, 0.0574), ["7000.00", "0.06"]),  # at most two decimals more than the greatest needs
        ((0.0, 0.0), ["0", "0"]),
    ],
)
def test_a_column_has_one_number_of_decimals(
    replicates: list[Run], means: tuple[float, float], cells: list[str]
) -> None:
    """Four digits of the greatest value, about three of the least; the same decimals below each other."""
    runs = replicates[1:]
    for run, mean in zip(runs, means, strict=True):
        run.summary["makespan_s"] = mean
    rows = [line.split() for line in lines_of(compare_table(runs))[-2:]]
    assert [row[8] for row in rows] == cells


def test_counts_with_a_fraction_show_it_in_the_whole_column(replicates: list[Run], third: Run) -> None:
    """Preemptions 1, 2, 1 are 1.3 in the mean, so the run without any beside them says 0.0."""
    for run, count in zip([*replicates, third], (1, 2, 0, 1), strict=True):
        run.summary["preemptions"] = count
    *_, fifo, tiresias, _ = lines_of(compare_table([*replicates, third]))
    assert fifo.split()[-9:-6] == ["1.3", "+-", "1.4"]  # 4.303 x 0.577 / sqrt(3)
    assert tiresias.split()[-3] == "0.0"


def test_letters_lead_where_labels_are_long(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """Labels of more than 36 characters: a letter before the keys, the same as in the figures."""
    configs = [
        {"policy": {"name": "fifo"}, "seed": 1, "workload": {"path": f"/d/{'a' * 40}{i}"}} for i in range(2)
    ]
    runs = [read_run(run_folder(tmp_path / str(i), config)) for i, config in enumerate(configs)]
    grid = comparison_grid(compare(runs), letters=True)
    assert [head[1] for head in grid.heads[:4]] == ["", "policy", "workload.path", "jobs"]
    assert [row[:2] for row in grid.rows] == [("A", "fifo"), ("B", "fifo")]


def test_a_replicate_without_the_number_leaves_no_mean(replicates: list[Run]) -> None:
    """A mean over those replicates that got far enough would be a biased sample; there is none."""
    replicates[1].summary["makespan_s"] = None
    row = next(csv.DictReader(comparison_csv(compare(replicates)).splitlines()))
    assert (row["makespan_s"], row["makespan_s_low95"], row["jct_mean_s"]) == ("", "", "17.75")


def test_csv_is_in_seconds_and_fractions(replicates: list[Run]) -> None:
    """Programs get base units in full precision, and no interval from a single run."""
    row = list(csv.DictReader(comparison_csv(compare(replicates)).splitlines()))[1]
    assert (row["policy"], row["runs"], row["jobs"]) == ("tiresias", "1", "3")
    assert float(row["jct_mean_s"]) == 35.5 / 3
    assert float(row["gpu_utilization"]) == 68 / 90
    assert row["jct_mean_s_low95"] == row["jct_mean_s_high95"] == ""


def test_changes_are_taken_seed_by_seed(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """Srtf is 1, 2 and 3 times as slow as fifo on seeds 1 to 3: +0, +1, +2, mean 1, half 4.303 / sqrt(3)."""
    runs = [
        read_run(
            run_folder(tmp_path / f"{name}{seed}", {"policy": {"name": name}, "seed": seed}, slower=slower)
        )
        for seed in (1, 2, 3)
        for name, slower in (("fifo", 1), ("srtf", seed))
    ]
    comparison = compare(runs)
    (row,) = csv.DictReader(changes_csv(comparison, (0, 0)).splitlines())
    assert (row["policy"], row["baseline"]) == ("srtf", "fifo")
    ends = [float(row[f"jct_mean_s{end}"]) for end in ("", "_low95", "_high95")]
    assert ends == pytest.approx([1.0, 1.0 - 2.484, 1.0 + 2.484], abs=1e-3)


def test_times_of_runs_that_were_stopped_are_not_compared(replicates: list[Run]) -> None:
    """Tiresias lacks a job, so that its mean says nothing beside that of fifo; utilisation is compared."""
    comparison = compare(replicates)
    comparison.groups[1].runs[0].summary["measured"] = {"jobs": 4, "finished": 3}
    (row,) = csv.DictReader(changes_csv(comparison, (0, 0)).splitlines())
    assert (row["jct_mean_s"], row["gpu_utilization"]) == ("", "0")
