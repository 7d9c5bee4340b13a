"""Sweeps: resumed by the same command, one table, failures listed, any launcher."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Artist = Callable[..., Any]
SWEEP = ("-m", "policy=fifo,srtf", "cluster.racks=1,2")


def test_the_same_sweep_again_does_nothing_twice(artist: Artist) -> None:
    """2 policies x 2 sizes = 4 points; the second time all are kept, unchanged, with the same table."""
    first = artist(*SWEEP)
    assert first.code == 0
    assert "4 run now, 0 kept, 0 failed" in first.err
    before = {path: path.stat().st_mtime_ns for path in Path("runs/sweeps/sweep").rglob("*.parquet")}
    second = artist(*SWEEP)
    assert "0 run now, 4 kept, 0 failed" in second.err
    assert second.out == first.out
    assert len(second.out.splitlines()) == 3 + 4
    assert before == {path: path.stat().st_mtime_ns for path in Path("runs/sweeps/sweep").rglob("*.parquet")}


def test_a_sweep_goes_on_where_it_stopped(artist: Artist) -> None:
    """Of two points one is done; the wider sweep runs the other alone."""
    artist("-m", "policy=fifo")
    assert "1 run now, 1 kept" in artist("-m", "policy=fifo,srtf").err


def test_another_trace_of_the_same_name_is_another_run(artist: Artist) -> None:
    """The key holds the contents of input files, not their names alone."""
    trace = Path("trace.csv")
    trace.write_text("job_id,submit_s,gpus,duration_s,model\na,0,1,100,ResNet50\n")
    arguments = ("-m", "policy=fifo", "workload.path=trace.csv")
    assert "1 run now" in artist(*arguments).err
    assert "1 kept" in artist(*arguments).err
    trace.write_text("job_id,submit_s,gpus,duration_s,model\na,0,1,200,ResNet50\n")
    assert "1 run now" in artist(*arguments).err


def test_failed_points_are_listed_and_tried_again(artist: Artist) -> None:
    """One of two points is bad: its error.json says why, the other counts, exit code 1."""
    for _ in range(2):
        result = artist("-m", "cluster.racks=1,-1")
        assert result.code == 1
        assert "1 failed" in result.err
        assert "cluster.racks=-1\ncluster.racks: wrong value\n  found -1" in result.err
        assert len(result.out.splitlines()) == 3 + 1
    (error,) = Path("runs").rglob("error.json")
    assert json.loads(error.read_text())["status"] == "bad_input"
    assert not (error.parent / "summary.json").exists()


def test_a_reason_that_all_points_share_is_told_once(artist: Artist) -> None:
    """Input that is bad for every point is bad input: exit code 2."""
    result = artist("-m", "policy=fifo,srtf", "workload.path=nowhere.csv")
    assert result.code == 2
    assert result.err.count("failed: ") == 2
    assert result.err.count("nowhere.csv: no such file") == 1


def test_an_experiment_is_a_sweep_of_its_own_name(artist: Artist, mine: Path) -> None:
    """`artist experiment=x` needs no -m, and its points lie in runs/sweeps/x."""
    (mine / "experiment").mkdir()
    (mine / "experiment" / "two.yaml").write_text(
        "# @package _global_\nseed: 7\nhydra: {mode: MULTIRUN, sweeper: {params: {policy: 'fifo,srtf'}}}\n"
    )
    result = artist(f"--config-dir={mine}", "experiment=two")
    assert "2 run now" in result.err
    summaries = [json.loads(path.read_text()) for path in Path("runs/sweeps/two").rglob("summary.json")]
    assert sorted((each["policy"], each["seed"]) for each in summaries) == [("fifo", 7), ("srtf", 7)]


def test_a_sweep_may_have_a_name(artist: Artist) -> None:
    """runs/sweeps/<name>/."""
    artist("-m", "seed=0,1", "output.name=seeds")
    assert len(list(Path("runs/sweeps/seeds").glob("*/summary.json"))) == 2


def test_the_joblib_launcher_gives_the_same(artist: Artist, mine: Path) -> None:
    """Processes of their own: the user's folder is on their path, and a second launcher keeps all points."""
    arguments = (f"--config-dir={mine}", "-m", "policy=least,fifo")
    parallel = artist(*arguments, "hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
    assert parallel.code == 0, parallel.err
    assert "2 run now, 0 kept, 0 failed" in parallel.err
    serial = artist(*arguments)
    assert "0 run now, 2 kept, 0 failed" in serial.err
    assert serial.out == parallel.out
