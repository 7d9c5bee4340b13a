"""Series noted by a policy are kept, and drawn."""

from pathlib import Path

import pandas as pd
import pytest

from artist.app.cli import main
from artist.recording.series import write_series
from artist.report import contents
from artist.report.command import main as report


def test_nothing_noted_is_no_file(tmp_path: Path) -> None:
    """Most policies note nothing."""
    write_series(tmp_path, ())
    assert not list(tmp_path.iterdir())


def test_times_become_seconds(tmp_path: Path) -> None:
    """2.5e9 ns are 2.5 s."""
    write_series(tmp_path, [(0, "timer", 3.0), (2_500_000_000, "timer", 4.5)])
    frame = pd.read_parquet(tmp_path / "policy.parquet")
    assert frame.to_dict("list") == {"time_s": [0.0, 2.5], "name": ["timer"] * 2, "value": [3.0, 4.5]}


def test_the_timers_of_dally_are_in_the_run_folder_and_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fig. 5 of the paper; a run without a series has no file, a report without one no figure."""
    monkeypatch.chdir(tmp_path)
    every = contents.drawings  # the others take seconds and are not looked at
    monkeypatch.setattr(
        contents, "drawings", lambda *rows: [item for item in every(*rows) if item.name == "policy_series"]
    )
    small = ("workload.jobs=60", "workload.load=1.3", "cluster.racks=1", "workload.max_gpus=16")
    for policy in ("dally", "fifo"):
        assert main([*small, f"policy={policy}", "network=zero", f"output.dir={policy}"]) == 0
    (file,) = tmp_path.glob("*/*/*/policy.parquet")
    assert "dally" in file.parts
    assert set(pd.read_parquet(file)["name"].str.partition(",")[0]) <= {"machine timer", "rack timer"}
    assert report(["dally", "--out", "with"]) == 0
    assert (tmp_path / "with" / "policy_series.png").exists()
    assert report(["fifo", "--out", "without"]) == 0
    assert not (tmp_path / "without" / "policy_series.png").exists()
