"""Reads the recorded answers of real ASTRA-sim binaries, which lie beside the checkout and not in it."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / ".." / "shared" / "reference" / "astra_sim"


@pytest.fixture(scope="session")
def reference() -> Path:
    """Return the folder of recorded answers, or skip where it is absent."""
    if not REFERENCE.is_dir():
        pytest.skip(f"recorded answers of ASTRA-sim are not on this machine ({REFERENCE})")
    return REFERENCE


@pytest.fixture(scope="session")
def accuracy() -> ModuleType:
    """Return scripts/accuracy.py, which reads recorded answers and asks our model the same."""
    spec = importlib.util.spec_from_file_location("accuracy", ROOT / "scripts" / "accuracy.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
