"""One run: what it prints, what it writes, and what its results do not depend on."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from artist.cli import main

Artist = Callable[..., Any]
FILES = ["artist.log", "config.yaml", "events.parquet", "jobs.parquet", "summary.json", "timeline.parquet"]


def only_run() -> Path:
    """Return the folder of the one run that was made."""
    (summary,) = Path("runs").rglob("summary.json")
    return summary.parent


def test_stdout_is_the_table_and_stderr_the_rest(artist: Artist) -> None:
    """So that `artist > table.txt` holds the result alone: three lines of heading and one row."""
    result = artist("policy=fifo")
    assert result.code == 0
    *_, row = result.out.splitlines()
    assert row.split()[:3] == ["fifo", "8", "8"]
    assert result.err == f"written to {only_run()}\n"


def test_the_run_folder_holds_what_the_design_says(artist: Artist) -> None:
    """runs/<date>/<time>-<run key>/ with six files, the resolved config among them."""
    artist("policy=srtf", "seed=3")
    folder = only_run()
    assert sorted(path.name for path in folder.iterdir()) == FILES
    date, name = folder.relative_to("runs").parts
    assert len(date.split("-")) == 3
    assert len(name.rsplit("-", 1)[1]) == 12
    config = yaml.safe_load((folder / "config.yaml").read_text())
    assert (config["seed"], config["policy"]["seed"]) == (3, 3)
    assert "hydra" not in config
    assert "8 jobs on 128 GPUs under srtf" in (folder / "artist.log").read_text()
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["policy"], summary["seed"], summary["finished"]) == ("srtf", 3, 8)
    assert set(summary["run"]) == {"wall_s", "network_calls", "cache_hits", "version", "host"}


def test_options_may_stand_anywhere(artist: Artist) -> None:
    """`artist a=1 -m b=2` is what people type; argparse alone refuses it."""
    assert artist("policy=fifo", "-m", "seed=0,1").code == 0


def test_help_and_config_go_to_stdout(artist: Artist) -> None:
    """They are what was asked for, so they are the result."""
    assert "tiresias" in artist("--help").out
    assert "machines_per_rack" in artist("--cfg", "job").out
    assert artist("--version").out.startswith("artist-sim ")


def test_a_policy_that_plans_nonsense_is_told_without_a_traceback(artist: Artist, mine: Path) -> None:
    """Job a asks for 1 GPU; an empty allocation is refused by the engine: the policy's fault, exit code 1."""
    (mine / "empty.py").write_text(
        "from artist.core.cluster import Allocation\n"
        "class Empty:\n"
        "    def decide(self, view):\n"
        "        plan = view.plan()\n"
        "        plan.place(0, Allocation(()))\n"
        "        return plan.done()\n"
    )
    (mine / "policy" / "empty.yaml").write_text("_target_: empty.Empty\n")
    result = artist(f"--config-dir={mine}", "policy=empty")
    assert result.code == 1
    assert result.err.startswith("PlanError")
    assert "Traceback" not in result.err
    assert not list(Path("runs").glob("2*"))


def test_the_window_and_the_clock_stop_a_run(artist: Artist) -> None:
    """Unfinished jobs are rows all the same, and the summary says why it ended."""
    artist("policy=fifo", "stop.time_s=30", "output.dir=a")
    artist("policy=fifo", "stop.jobs=[0,2]", "output.dir=b")
    stopped = {}
    for name in ("a", "b"):
        (path,) = Path(name).rglob("summary.json")
        stopped[name] = json.loads(path.read_text())["stopped_by"]
    assert stopped == {"a": "time", "b": "window"}


def test_results_do_not_depend_on_the_process(tmp_path: Path) -> None:
    """Same config and seed: identical bytes under two PYTHONHASHSEEDs, with and without a progress bar."""
    runs = []
    for hash_seed, progress in (("1", "true"), ("2", "false")):
        out = tmp_path / hash_seed
        arguments = ["policy=srtf", "workload.jobs=60", f"output.dir={out}", f"output.progress={progress}"]
        command = [sys.executable, "-m", "artist.cli", *arguments, "network.cache=null"]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
        (folder,) = (path.parent for path in out.rglob("summary.json"))
        summary = json.loads((folder / "summary.json").read_text())
        del summary["run"]
        tables = [(folder / name).read_bytes() for name in FILES if name.endswith("parquet")]
        runs.append((folder.name.rsplit("-")[-1], summary, tables))
    assert runs[0] == runs[1]


def test_ctrl_c_leaves_nothing_half_written(artist: Artist, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scratch folder goes, Hydra's empty folder goes, and the exit code is the shell's 130."""
    from artist.build import Simulation

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Simulation, "run", interrupted)
    result = artist("policy=fifo")
    assert result.code == 130
    assert result.err.startswith("interrupted")
    assert [path.name for path in Path("runs").iterdir()] == [".locks"]


def test_a_bug_names_its_place_instead_of_a_traceback(artist: Artist, mine: Path) -> None:
    """A user's own policy may fail in any way; the message says in which line of which file."""
    (mine / "buggy.py").write_text("class Buggy:\n    def decide(self, view):\n        return 1 / 0\n")
    (mine / "policy" / "buggy.yaml").write_text("_target_: buggy.Buggy\n")
    result = artist(f"--config-dir={mine}", "policy=buggy")
    assert result.code == 1
    assert "buggy.py:3: division by zero" in result.err


def test_main_reads_the_arguments_of_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The installed command calls main() without arguments."""
    monkeypatch.setattr(sys, "argv", ["artist", "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("artist-sim ")
