"""A folder of its own for the tests that fuzz, and how many inputs they tried."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fuzz import oracle


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder that all inputs of a module share, and work in it."""
    path = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        patch.delenv("ARTIST_CACHE", raising=False)
        yield path


@pytest.fixture(autouse=True)
def counted(record_property: Callable[[str, object], None]) -> Iterator[None]:
    """Record how many inputs a test tried."""
    before = oracle.tried
    yield
    record_property("inputs", oracle.tried - before)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the number of inputs of all tests."""
    reports = [item for kind in terminalreporter.stats.values() for item in kind]
    results = [dict(getattr(report, "user_properties", ())).get("inputs", 0) for report in reports]
    terminalreporter.write_line(f"fuzzing: {sum(results)} inputs tried")
