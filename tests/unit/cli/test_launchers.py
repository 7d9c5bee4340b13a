"""Sweeps on other launchers: lost workers are failed points, extras are named, lines come from anywhere."""

import importlib.util
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import active_children
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hydra.core.config_store import ConfigStore

from artist.app import launchers
from artist.app.composing import prefer_our_defaults
from artist.data import data_path
from artist.errors import InputError

Artist = Callable[..., Any]
JOBLIB = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2")


@pytest.fixture
def mortal(mine: Path) -> Path:
    """Return a user's folder with a policy whose process is killed, as the system does, if `dies` says so.

    always: every time; once: the first time.
    """
    (mine / "mortal.py").write_text(
        "import os, pathlib, signal\n"
        "from least import Least\n"
        "class Mortal(Least):\n"
        "    def __init__(self, dies):\n"
        "        super().__init__(64)\n"
        "        first = not pathlib.Path('died').exists()\n"
        "        self.dies = dies == 'always' or dies == 'once' and first\n"
        "    def decide(self, view):\n"
        "        if self.dies:\n"
        "            pathlib.Path('died').touch()\n"
        "            os.kill(os.getpid(), signal.SIGKILL)\n"
        "        return super().decide(view)\n"
    )
    (mine / "policy" / "mortal.yaml").write_text("_target_: mortal.Mortal\ndies: never\n")
    return mine


@pytest.mark.slow
def test_a_killed_worker_of_joblib_takes_no_other_point_down(artist: Artist, mortal: Path) -> None:
    """Three points: one dies always and is listed; one dies once and is finished when tried alone."""
    sweep = (f"--config-dir={mortal}", "-m", "policy=mortal", "policy.dies=never,once,always", *JOBLIB)
    result = artist(*sweep)
    assert result.code == 1, result.err
    assert "2 run now, 0 kept, 1 failed" in result.err
    assert "3/3 policy.dies=always: lost\n" in result.err
    assert result.err.splitlines()[-2].startswith("lost: its process was killed")
    assert result.err.splitlines()[-1].startswith("  the same command")
    assert "Traceback" not in result.err
    assert len(list(Path("runs").rglob("summary.json"))) == 2
    assert "mortal" in result.out


def test_points_that_die_at_the_same_moment_are_both_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points 0 and 1 run beside each other and die at once; alone, 0 finishes and 1 dies again."""
    started: list[int] = []

    class Dying:
        limit = 2

        def __init__(self, work: object, at_once: int) -> None:
            self.busy: dict[int, object] = {}

        def start(self, number: int, request: object) -> None:
            started.append(number)
            self.busy[number] = request

        def ended(self) -> Iterator[tuple[int, object, object]]:
            ends = [
                (n, self.busy.pop(n), "done" if (n, len(started)) == (0, 3) else None) for n in [*self.busy]
            ]
            yield from ends

        def stop(self) -> None:
            pass

    monkeypatch.setattr(launchers, "Workers", Dying)
    points: Any = iter([(0, "zero"), (1, "one")])
    result: dict[int, Any] = dict(launchers.run_in_processes({"n_jobs": 2}, points))
    assert started == [0, 1, 0, 1]
    assert result[0] == "done"
    assert "while it ran alone" in result[1][0].why


def test_a_worker_that_is_killed_while_idle_costs_no_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """One worker ends point 0 and is killed, as others of its cgroup are; point 1 runs in a fresh one."""
    monkeypatch.setattr(launchers, "ending_at_once", lambda request: (request, 0.0))
    points: Any = iter([(0, "zero"), (1, "one")])
    results: Any = launchers.run_in_processes({"n_jobs": 1}, points)
    others = active_children()  # of other tests
    assert next(results) == (0, ("zero", 0.0))
    (worker,) = (process for process in active_children() if process not in others)
    worker.kill()
    worker.join()
    assert list(results) == [(1, ("one", 0.0))]


@pytest.mark.parametrize(
    ("choice", "extra"), [("ray", "ray"), ("submitit_local", "slurm"), ("submitit_slurm", "slurm")]
)
def test_a_missing_launcher_is_refused_with_its_extra(
    choice: str, extra: str, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The choice is there without its extra; the refusal names the extra."""
    monkeypatch.setattr(launchers, "find_spec", lambda name: None)
    message = refused("-m", "seed=0,1", f"hydra/launcher={choice}")
    assert f"found '{choice}'; allowed: pip install 'artist-sim[{extra}]'" in message


def test_errors_of_a_point_are_not_attributed_to_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points are composed as they are asked for; their errors stay what they are."""
    monkeypatch.setattr(launchers, "find_spec", lambda name: name)
    points: Any = (int(text) for text in ["no number"])
    with pytest.raises(ValueError, match=r"^invalid literal"):
        list(launchers.run_on_ray({"ray": {"init": {}, "remote": {}}}, points))


def test_ctrl_c_works_after_submitit_refused_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGINT is ignored while jobs start, and not for ever."""
    submitit = Mock()
    submitit.AutoExecutor.return_value.map_array.side_effect = RuntimeError("no such partition")
    monkeypatch.setitem(sys.modules, "submitit", submitit)
    monkeypatch.setattr(launchers, "find_spec", lambda name: name)
    before, points = signal.getsignal(signal.SIGINT), iter([(0, "zero")])
    with pytest.raises(InputError, match="submitit refused the sweep: no such partition"):
        list(launchers.run_on_slurm({"submitit_folder": "."}, points))  # type: ignore[arg-type]
    assert signal.getsignal(signal.SIGINT) is before


def test_the_pickles_of_submitit_are_kept_beside_the_sweeps() -> None:
    """A sweep folder holds run folders and nothing else; artist-report and a second look rely on it."""
    for name in ("submitit_local", "submitit_slurm"):
        text = data_path("conf", f"hydra/launcher/{name}.yaml").read_text(encoding="utf-8")
        assert "submitit_folder: ${artist.folder:}/.submitit/" in text


def test_plug_ins_that_are_installed_change_nothing() -> None:
    """Hydra would take the configuration of one for the schema of ours: its store is a dict of groups."""
    ConfigStore.instance().store(group="hydra/launcher", name="joblib", node={"backend": None})
    prefer_our_defaults()
    assert "joblib.yaml" not in ConfigStore.instance().repo["hydra"]["launcher"]


@pytest.mark.parametrize(
    ("expected", "name", "at_once"),
    [(-1, "n_jobs", 4), (-2, "n_jobs", 3), (None, "at_once", 4), (9, "at_once", 9)],
)
def test_points_at_a_time(
    expected: int | None, name: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four cores: all, all but one, all, and as many as were asked for."""
    monkeypatch.setattr(launchers.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(launchers.os, "sched_getaffinity", lambda _: range(4))
    assert launchers._at_once(expected, name) == at_once


def test_all_cores_are_those_that_the_command_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's or a user's limit counts, on machines of any number of cores."""
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert launchers._at_once(None, "at_once") == 1


@pytest.mark.parametrize(
    ("launcher", "key", "value"), [("joblib", "n_jobs", "0"), ("joblib", "n_jobs", "two")]
)
def test_a_wrong_number_of_points_at_a_time_is_named(
    launcher: str, key: str, value: str, refused: Callable[..., str]
) -> None:
    """Neither zero nor a word."""
    message = refused("-m", "seed=0,1", f"hydra/launcher={launcher}", f"hydra.launcher.{key}={value}")
    assert f"hydra.launcher.{key}: wrong value" in message


def test_a_signal_is_raised_after_the_protected_block() -> None:
    """The block catches all that is raised in it, and goes on to its end; the signal comes after that."""
    done = []

    def catching() -> None:
        with launchers.held():
            with suppress(BaseException):
                signal.raise_signal(signal.SIGINT)
            done.append(1)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            catching()
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == [1]


def installed(*names: str) -> bool:
    """Return whether modules can be imported."""
    return all(importlib.util.find_spec(name) is not None for name in names)


needs_submitit = pytest.mark.skipif(not installed("submitit"), reason="extra slurm is not installed")
needs_ray = pytest.mark.skipif(not installed("ray"), reason="extra ray is not installed")


@needs_submitit
def test_submitit_gives_the_same(artist: Artist, mine: Path) -> None:
    """Processes that share nothing but files: lines, table and results are those of one process."""
    arguments = (f"--config-dir={mine}", "-m", "policy=least,fifo")
    apart = artist(*arguments, "hydra/launcher=submitit_local")
    assert apart.code == 0, apart.err
    assert "2 run now, 0 kept, 0 failed" in apart.err
    assert "2/2 policy=fifo: done in" in apart.err
    assert Path("runs/.submitit").is_dir()
    assert all(" jobs on " in path.read_text() for path in Path("runs/sweeps").rglob("artist.log"))
    again = artist(*arguments)
    assert "0 run now, 2 kept, 0 failed" in again.err
    assert again.out == apart.out


@pytest.mark.slow
@needs_submitit
def test_a_lost_job_of_submitit_takes_no_other_point_down(
    artist: Artist, mortal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two jobs is killed: exit code 1, its log is named, the other is in the table."""
    from submitit.core.core import Job

    monkeypatch.setattr(Job, "_results_timeout_s", 0)
    sweep = (f"--config-dir={mortal}", "-m", "policy=mortal", "policy.dies=always,never")
    result = artist(*sweep, "hydra/launcher=submitit_local")
    assert result.code == 1, result.err
    assert "1 run now, 0 kept, 1 failed" in result.err
    assert "1/2 policy.dies=always: lost\n" in result.err
    assert "lost: job " in result.err
    assert "mortal" in result.out


@pytest.mark.slow
@needs_ray
def test_ray_gives_the_same_and_tries_lost_points_again(mortal: Path) -> None:
    """A worker that is killed once costs nothing; stdout is the table and stderr the lines, without Ray's."""
    sweep = ("-m", f"--config-dir={mortal}", "policy=mortal", "policy.dies=once,never", "workload.jobs=20")
    command = [sys.executable, "-c", "from artist.app.cli import main; raise SystemExit(main())", *sweep]
    remote = subprocess.run([*command, "hydra/launcher=ray"], capture_output=True, text=True, timeout=120)
    assert remote.returncode == 0, remote.stderr
    assert len(remote.stderr.splitlines()) == 2 + 1, remote.stderr
    assert "2 run now, 0 kept, 0 failed" in remote.stderr
    here = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "0 run now, 2 kept, 0 failed" in here.stderr
    assert here.stdout == remote.stdout
