"""The command artist-calibrate in this process, in a folder of its own."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from artist.calibrating.command import main


@dataclass(frozen=True)
class Result:
    """Result of the command."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> dict[str, list[str]]:
        """Cells of the table by model, after its three lines of heading."""
        return {line.split()[0]: line.split()[1:] for line in self.out.splitlines()[3:]}


@pytest.fixture
def calibrate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: Callable[..., tuple[int, str, str]]
) -> Callable[..., Result]:
    """Return a function that runs the command."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return lambda *arguments: Result(*called(main, *arguments))
