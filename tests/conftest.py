"""Options, hypothesis profiles and fixtures of all tests."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile("default", max_examples=25, deadline=None, derandomize=True)
settings.register_profile(
    "thorough", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# A process that a test starts would otherwise compile every module it imports, which takes half of its time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options."""
    parser.addoption("--slow", action="store_true", help="also run tests that take long, or repeat others")
    parser.addoption("--update-golden", action="store_true", help="write golden files anew")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip slow tests unless they are asked for."""
    if not config.getoption("--slow"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="slow; run with --slow"))


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print tables with all columns, as to a program: workers of pytest-xdist are told a width."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True)
def own_handlers() -> Iterator[None]:
    """End with each test what its commands log to: a later test would write to their closed streams."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Return whether golden files are to be written instead of compared."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of reference material and real traces, which the repository does not hold."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"no reference material at {folder}")
    return folder
