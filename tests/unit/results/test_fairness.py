"""Slowdown and fairness, on two jobs that a person can check."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from artist.report.page.grouped_tables import fairness_table
from artist.results.compare import compare
from artist.results.csv_tables import comparison_csv, seeds_csv
from artist.results.fairness import fairness, fairness_by_run, finish_time_ratios, jain_index
from artist.results.folder import read_run
from artist.results.tables import compare_table


def test_a_job_is_held_against_its_share_while_it_is_there() -> None:
    """4 GPUs; a and b ask for 4 and need 10 s each; a ends at 10 s, b at 20 s.

    8 GPUs are asked for up to 10 s, then 4. Contention of a: 8 / 4 = 2, so 10 / (10 x 2) = 0.5. Of b: (8 x 10
    + 4 x 10) / 20 / 4 = 1.5, so 20 / (10 x 1.5) = 1.33.
    """
    zero, ideal = np.zeros(2), np.full(2, 10.0)
    ratios = finish_time_ratios(zero, np.array([10.0, 20.0]), ideal, np.full(2, 4.0), 4.0)
    assert ratios == pytest.approx([0.5, 4 / 3])


def test_an_idle_cluster_owes_no_more_than_the_ideal_time() -> None:
    """2 of 8 GPUs for 15 s, ideally 10 s: the share is not larger than the job, 15 / (10 x 1) = 1.5."""
    one = [np.array([value]) for value in (5.0, 20.0, 10.0, 2.0)]
    assert finish_time_ratios(*one, 8.0) == pytest.approx([1.5])


@pytest.mark.parametrize(
    ("slowdowns", "index"),
    [((2.0, 2.0, 2.0), 1.0), ((1.0, 2.0), 0.9), ((0.0, 0.0, 5.0), 1 / 3), ((3.0,), None)],
)
def test_jains_index(slowdowns: tuple[float, ...], index: float | None) -> None:
    """Equal: 1. 1 and 2: 3^2 / (2 x 5) = 0.9. One of three has all: 25 / (3 x 25). One alone: undefined."""
    result = jain_index(np.array(slowdowns))
    assert result == (None if index is None else pytest.approx(index))


def test_a_row_has_the_means_of_its_jobs(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """From the columns of the run on paper, by its definition; 10 s bound what is short."""
    run = read_run(run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 0}))
    jct_s, ideal_s = run.numbers("jobs", ("jct_s", "ideal_s"))
    comparison = compare([run])
    fair = [fairness_by_run(group) for group in comparison.groups]
    row = fairness(fair[0])
    assert row.slowdown == pytest.approx((jct_s / ideal_s).mean())
    assert row.bounded_slowdown == pytest.approx(np.maximum(jct_s / np.maximum(ideal_s, 10), 1).mean())
    table = fairness_table(comparison.groups, fair)
    assert table is not None
    assert [column.name for column in table.columns][:3] == ["row", "slowdown", "bounded_slowdown"]


def test_tables_for_programs_have_them(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """Of one seed the mean is the number of the run, and there is no interval; the seed has it, too."""
    comparison = compare([read_run(run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 0}))])
    fair = [fairness_by_run(group) for group in comparison.groups]
    (row,) = csv.DictReader(comparison_csv(comparison, fair).splitlines())
    (seed,) = csv.DictReader(seeds_csv(comparison, fair).splitlines())
    assert float(row["slowdown"]) == float(seed["slowdown"]) == pytest.approx(fair[0][0].slowdown)
    assert row["slowdown_low95"] == ""


def test_the_terminal_has_slowdown_and_jains_index(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """Jobs take 10, 21.5 and 4 s, alone 10, 10 and 4 s: 1, 2.15 and, of at least 10 s, 1, so 1.38.

    Users p and q have means of (1 + 2.15) / 2 = 1.575 and 1: 2.575^2 / (2 x (1.575^2 + 1^2)) = 0.953.
    """
    folder = run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 0})
    table = pq.read_table(folder / "jobs.parquet")
    for name, values in (
        ("jct_s", [10.0, 21.5, 4.0]),
        ("ideal_s", [10.0, 10.0, 4.0]),
        ("user", ["p", "p", "q"]),
    ):
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    pq.write_table(table, folder / "jobs.parquet")
    lines = [line.split() for line in compare_table([read_run(folder)]).splitlines()[:4]]
    assert lines[0][-2:] == ["bounded", "Jain's"]
    assert lines[1][-2:] == ["slowdown", "index"]
    assert lines[3][-2:] == ["1.38", "0.953"]
