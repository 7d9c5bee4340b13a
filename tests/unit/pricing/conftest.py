"""The command artist-network in this process, in a folder of its own."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from artist.pricing.command import main


@dataclass(frozen=True)
class Result:
    """Result of a command."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """Lines of the table as words, after its three lines of heading."""
        return [line.split() for line in self.out.splitlines()[3:]]


Network = Callable[..., Result]


@pytest.fixture
def network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: Callable[..., tuple[int, str, str]]
) -> Network:
    """Return a function that runs the command."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    return lambda *arguments: Result(*called(main, *arguments))
