"""The tables of what sharing links costs each policy, and of who wins."""

import json
from pathlib import Path

import pytest
import ranking
import yaml
from ranking import Point

from artist.results.run import Run

ALONE, SHARED = Point("f", "fifo", None), Point("f", "fifo", 8.0)
# With contention twice, four and eight times as long, by seed: 4 times in the geometric mean. The standard
# deviation of the logarithms is log 2, t(0.975, 2) is 4.303: 4 x 2^+-(4.303 / sqrt 3) = 0.715 to 22.4.
HOURS = {
    ALONE: {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0},
    SHARED: {0: 2.0, 1: 4.0, 2: 8.0},
    Point("f", "dally", None): {0: 2.0, 1: 2.0, 2: 2.0},
    Point("f", "dally", 8.0): {0: 2.0, 1: 2.0, 2: 2.0},
    Point("f", "network_aware(fifo)", 8.0): {0: 1.5, 1: 1.0},
}


def test_factors_are_taken_seed_by_seed():
    """Seeds without a partner count nowhere; a policy around FIFO is held against FIFO without contention."""
    assert ranking.factors(HOURS, SHARED) == [2, 4, 8]
    assert ranking.factors(HOURS, Point("f", "network_aware(fifo)", 8.0)) == [1.5, 1.0]
    assert ranking.geometric([2, 4, 8]) == pytest.approx((4, 0.715, 22.4), rel=2e-3)
    assert ranking.geometric([2, 4]) is None


def test_the_tables():
    """FIFO alone is 1 h and best; with contention Dally is, and FIFO takes 1, 2, 4 times its 2 h."""
    cost = "+300 (-29 to +2138)"
    assert list(ranking.lines(HOURS))[2:] == [
        f"| `f` | fifo | 1.00 ± 0.00 | {cost} |",
        "| `f` | dally | 2.00 ± 0.00 | 0 (0 to 0) |",
        "| `f` | network_aware(fifo) |  | +50, 0 |",
    ]
    assert list(ranking.ranks(HOURS))[2:] == [
        "| `f` | no contention, seeds 0, 1, 2 | fifo | dally +100 (+100 to +100) |",
        "| `f` | 8:1 | dally | fifo +100 (-64 to +1019) |",
    ]


def test_only_seeds_that_all_have_are_ranked():
    """FIFO's seed 1 is a slow one: with it Dally, 2 h with seed 0, would seem better than FIFO's 3 h."""
    hours = {ALONE: {0: 1.0, 1: 9.0}, Point("f", "dally", None): {0: 2.0, 2: 2.0}}
    assert list(ranking.ranks(hours))[2:] == ["| `f` | no contention, seeds 0 | fifo | dally +100 |"]
    hours = {ALONE: {1: 9.0}, Point("f", "dally", None): {0: 2.0}}
    assert list(ranking.ranks(hours))[2:] == ["| `f` | no contention, seeds in common: none | | |"]


def write(folder: Path, way: str, seed: int, hours: float, preset: str = "papers") -> None:
    """Write the two files of a run of FIFO on fabric f that `read` reads."""
    folder.mkdir()
    config = {
        "performance": {"contention": way},
        "topology": {"name": "f", "oversubscription": {"rack": 8}},
        "network": {"system": {"preset": preset}},
        "seed": seed,
    }
    (folder / "summary.json").write_text(json.dumps({"policy": "fifo", "jct_s": {"mean": 3600 * hours}}))
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    (folder / "jobs.parquet").touch()


def test_runs_are_read_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs in time are a policy of their own; what is without contention counts for both."""
    monkeypatch.setattr(ranking, "read_run", read)
    for seed in range(3):
        write(tmp_path / f"none{seed}", "none", seed, 1)
        write(tmp_path / f"packets{seed}", "packets", seed, 3)
    result = ranking.read([tmp_path])
    assert result[Point("f", "fifo in time", 8.0)] == {0: 3, 1: 3, 2: 3}
    assert result[Point("f", "fifo in time", None)] == result[ALONE] == {0: 1, 1: 1, 2: 1}
    assert ranking.main([str(tmp_path), "--plot", str(tmp_path / "ranking.svg")]) == 0
    assert "8:1" in (tmp_path / "ranking.svg").read_text()


def test_presets_are_rows_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1 h with `papers` and 2 with `machines` are two fabrics, not one whose last run counts."""
    monkeypatch.setattr(ranking, "read_run", read)
    write(tmp_path / "a", "none", 0, 1)
    write(tmp_path / "b", "none", 0, 2, "machines")
    result = ranking.read([tmp_path])
    assert result[Point("f, papers", "fifo", None)] == {0: 1}
    assert result[Point("f, machines", "fifo", None)] == {0: 2}


def test_runs_that_differ_in_one_cell_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another setting, such as a transport, made 2 h of 1; equal runs, at other ratios, count once."""
    monkeypatch.setattr(ranking, "read_run", read)
    write(tmp_path / "a", "none", 0, 1)
    write(tmp_path / "b", "none", 0, 1)
    assert ranking.main([str(tmp_path)]) == 0
    write(tmp_path / "c", "none", 0, 2)
    assert ranking.main([str(tmp_path)]) == 2
    assert "a second run of f, fifo, contention none, seed 0" in capsys.readouterr().err


def read(folder: Path) -> Run:
    """Return a run of two small files."""
    return Run(
        folder,
        json.loads((folder / "summary.json").read_text()),
        yaml.safe_load((folder / "config.yaml").read_text()),
    )
