"""The command artist-trace in this process, and three jobs that a person can add up.

job  submit_s  gpus  duration_s  GPU-seconds  model
a           0     1         100          100  VGG11
b          10     2          50          100
c          40     8          25          200  VGG11
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from artist.describe.command import main
from artist.workload.table import check


@dataclass(frozen=True)
class Result:
    """Result of a command."""

    code: int
    out: str
    err: str

    def table(self, title: str = "") -> list[list[str]]:
        """Return the cells of a table below its title, without its heading; the first has no title."""
        parts = [part.splitlines() for part in self.out.strip("\n").split("\n\n")]
        lines = next(part for part in parts if part[0] == title) if title else parts[0]
        start = next(i for i, line in enumerate(lines) if line.split()[:1] in (["trace"], ["series"]))
        return [line.split() for line in lines[start + 1 :]]


Trace = Callable[..., Result]


@pytest.fixture
def trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: Callable[..., tuple[int, str, str]]
) -> Trace:
    """Return a function that runs the command in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    return lambda *arguments: Result(*called(main, *arguments))


@pytest.fixture
def three() -> pd.DataFrame:
    """Return the three jobs as a checked table."""
    table = pd.DataFrame(
        {
            "job_id": ["a", "b", "c"],
            "submit_s": [0.0, 10.0, 40.0],
            "gpus": [1, 2, 8],
            "duration_s": [100.0, 50.0, 25.0],
            "model": ["VGG11", "", "VGG11"],
            "vc": ["x", "y", "x"],
        }
    )
    return check(table, "three").frame()
