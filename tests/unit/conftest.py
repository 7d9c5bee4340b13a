"""Commands in this process, and the recovered traces if present."""

from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
Called = Callable[..., tuple[int, str, str]]


@pytest.fixture
def called(capsys: pytest.CaptureFixture[str]) -> Called:
    """Return a function from a command's main and arguments to its code, stdout and stderr."""

    def call(main: Callable[[list[str]], int], *arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(list(arguments))
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def traces() -> Path:
    """Return the folder of the recovered traces, which the repository does not hold."""
    folder = ROOT.parent / "shared" / "traces"
    if not folder.is_dir():
        pytest.skip(f"the recovered traces are not at {folder}")
    return folder
