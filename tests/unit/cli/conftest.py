"""The command in this process, in a folder of its own, on a trace of eight jobs."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from artist.app.cli import main
from artist.data import data_path

TINY = ("workload=csv", f"workload.path={data_path('traces', 'tiny.csv')}", "network.cache=null")


@dataclass(frozen=True)
class Result:
    """Result of a command."""

    code: int
    out: str
    err: str


Artist = Callable[..., Result]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in a fresh folder; undo what a command does to its process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "0")
    monkeypatch.setenv("ARTIST_CACHE", str(tmp_path / "cache"))
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


@pytest.fixture
def artist(called: Callable[..., tuple[int, str, str]]) -> Artist:
    """Return a function that runs the command on the tiny trace."""

    def run(*arguments: str, tiny: bool = True) -> Result:
        return Result(*called(main, *(TINY if tiny else ()), *arguments))

    return run


@pytest.fixture
def refused(artist: Artist) -> Callable[..., str]:
    """Return a function that runs the command, checks the form of its refusal, and returns the message.

    Two lines on stderr, nothing on stdout, exit code 2, no traceback, and no result left.
    """

    def run(*arguments: str, tiny: bool = True) -> str:
        result = artist(*arguments, tiny=tiny)
        assert result.code == 2, result
        assert result.out == ""
        lines = result.err.splitlines()
        assert len(lines) == 2, result.err
        assert lines[1].startswith("  "), result.err
        assert "Traceback" not in result.err
        assert not list(Path.cwd().rglob("summary.json"))
        return result.err

    return run


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Return a user's folder with a policy of her own: whoever asks for least goes first."""
    folder = tmp_path / "mine"
    (folder / "policy").mkdir(parents=True)
    (folder / "policy" / "least.yaml").write_text("_target_: least.Least\nmax_gpus: 64\n")
    (folder / "least.py").write_text(
        '''"""Least first."""
import numpy as np
from artist.policies.parts.placer import placer_of


class Least:
    def __init__(self, max_gpus):
        self.max_gpus = max_gpus
        self.placer = placer_of("consolidate", "proportional")

    def decide(self, view):
        plan, free, jobs = view.plan(), view.free(), view.jobs
        for row in np.lexsort((jobs.job, jobs.gpus)):
            if not jobs.running[row] and jobs.gpus[row] <= self.max_gpus:
                job = int(jobs.job[row])
                allocation = self.placer.place(free, view.demand(job))
                if allocation is not None:
                    free.take(allocation)
                    plan.place(job, allocation)
        return plan.done()
'''
    )
    return folder
