"""The table of jobs on loaned machines, held against the same jobs under the baseline."""

from pathlib import Path

import on_loan_jobs
import pandas as pd
import pytest

from artist.results.run import Run

BASIC = {"elastic": None, "heterogeneous": 0, "fungible": 0.21}
CONFIG = {"workload": BASIC, "policy": {"scaling": "knapsack"}}


def run(
    at: Path, policy: str, seed: int, queueing_s: list[float], jct_s: list[float | None], **more: list[float]
) -> Run:
    """Return a run of the Basic scenario."""
    folder = at / f"{policy}-{seed}"
    folder.mkdir()
    jobs = pd.DataFrame({"queueing_s": queueing_s, "jct_s": pd.array(jct_s, dtype="Float64"), **more})
    jobs.to_parquet(folder / "jobs.parquet")
    return Run(folder, {"seed": seed, "policy": policy}, CONFIG)


def test_jobs_on_loan_are_held_against_themselves_under_the_baseline(tmp_path: Path) -> None:
    """Of three jobs two were on loan: they queued for 10 and 30 s, mean 20; under FIFO 60 and 100, mean 80.

    Of the seed without a baseline nothing is said.
    """
    runs = [
        run(tmp_path, "lyra_fifo", 1, [0, 60, 100], [10, 70, 150]),
        run(tmp_path, "lyra", 1, [0, 10, 30], [10, 20, 80], on_loan_s=[0, 5, 50]),
        run(tmp_path, "lyra", 2, [0, 10, 30], [10, 20, 80], on_loan_s=[0, 5, 50]),
    ]
    result = on_loan_jobs.comparisons(runs, "lyra_fifo")
    ((item,),) = result.values()
    assert item.share == pytest.approx(2 / 3)
    assert item.baseline[:, 0].tolist() == [80, 110]
    assert item.ours[:, 0].tolist() == [20, 50]
    assert "| lyra, scaling knapsack, basic: baseline | 66.7 | 80 |" in on_loan_jobs.table(result)
    assert "| ratio | | 4.00x |" in on_loan_jobs.table(result)


def test_unfinished_jobs_and_runs_without_loans_are_left_out(tmp_path: Path) -> None:
    """The second job was on loan and has not finished; the other policy had no pool to borrow from."""
    runs = [
        run(tmp_path, "lyra_fifo", 1, [0, 60], [10, 70]),
        run(tmp_path, "lyra", 1, [0, 10], [10, None], on_loan_s=[0, 5]),
        run(tmp_path, "lyra_no_loans", 1, [0, 10], [10, 20]),
    ]
    assert on_loan_jobs.comparisons(runs, "lyra_fifo") == {}


def test_a_workload_is_named_for_its_scenario():
    """Ideal: all jobs elastic; Basic: none mixes GPU types; Heterogeneous: no others are fungible."""
    advanced = BASIC | {"heterogeneous": 0.1}
    results = [
        on_loan_jobs.scenario(value)
        for value in (BASIC, advanced, advanced | {"fungible": 0}, BASIC | {"elastic": 1})
    ]
    assert results == ["basic", "advanced", "heterogeneous", "ideal"]
