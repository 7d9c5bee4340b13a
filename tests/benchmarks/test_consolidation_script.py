"""The plot of when splitting pays: changes of mean JCT of jobs of several GPUs."""

from pathlib import Path

import consolidation
import pandas as pd
import pytest

from artist.results.run import Run


def run(at: Path, split: str, seed: int, jct_s: list[float | None], fabric: str = "v100_100g") -> Run:
    """Return a run of five jobs of 1, 2, 4, 8 and 8 GPUs, of which the first four are measured."""
    folder = at / f"{split}-{seed}-{fabric}"
    folder.mkdir()
    jobs = pd.DataFrame({"gpus": [1, 2, 4, 8, 8], "jct_s": pd.array(jct_s, dtype="Float64")})
    jobs.to_parquet(folder / "jobs.parquet")
    config = {
        "cluster": {"machine_type": "v100_24cpu"},
        "topology": {"name": fabric},
        "workload": {"jobs_per_hour": 2},
        "policy": {"split": split},
        "stop": {"jobs": [0, 4]},
    }
    return Run(folder, {"seed": seed}, config)


def test_changes_are_taken_seed_by_seed_of_measured_jobs_of_several_gpus(tmp_path: Path) -> None:
    """Seed 1: (10 + 20 + 15) / (10 + 20 + 30) - 1 = -25 %; seed 2: 50 / 40 - 1 = 25 %; their mean is 0.

    Neither the job of one GPU counts nor the fifth, and seed 3 has no pair.
    """
    runs = [
        run(tmp_path, "never", 1, [99, 10, 20, 30, 99]),
        run(tmp_path, "when_faster", 1, [1, 10, 20, 15, 1]),
        run(tmp_path, "never", 2, [9, 40, 40, 40, 9]),
        run(tmp_path, "when_faster", 2, [9, 50, 50, 50, 9]),
        run(tmp_path, "never", 3, [9, 1, 1, 1, 9]),
    ]
    ((case, change),) = consolidation.changes(runs).items()
    assert case == ("v100_24cpu", "v100_100g", 2.0)
    assert change.mean == pytest.approx(0)
    assert consolidation.changes(runs[:2])[case].mean == pytest.approx(-0.25)


def test_a_run_whose_jobs_have_not_all_finished_says_nothing(tmp_path: Path) -> None:
    """A mean over those that have would favour what starves the others."""
    runs = [run(tmp_path, split, 1, [1, 2, None, 4, 5]) for split in ("never", "when_faster")]
    (change,) = consolidation.changes(runs).values()
    assert change.mean is None


def test_fabrics_are_drawn_from_fast_to_slow(tmp_path: Path) -> None:
    """Whatever the order of the folders; a fabric of the user's own comes last."""
    fabrics = ("cloud_ethernet", "mine", "dgx_h100_3tier")
    runs = [
        run(tmp_path, split, 1, [1, 2, 3, 4, 5], fabric)
        for fabric in fabrics
        for split in ("never", "when_faster")
    ]
    found = consolidation.changes(runs)
    assert [fabric for _, fabric, _ in found] == ["dgx_h100_3tier", "cloud_ethernet", "mine"]
    consolidation.draw(found, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 0
