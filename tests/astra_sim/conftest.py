"""Reads the recorded answers of real ASTRA-sim binaries, which lie beside the checkout and not in it."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import accuracy as accuracy_script
import pytest
import record as record_script

from netmodels.api import Fabric, Profile
from netmodels.astra_sim.model import AstraSim

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
    """Return scripts/validation/accuracy.py, which reads recorded answers and asks our model the same."""
    return accuracy_script


@pytest.fixture(scope="session")
def record() -> ModuleType:
    """Return scripts/validation/record.py, which made the recorded runs."""
    return record_script


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """Return the path of the fake program, as an executable."""
    script = Path(__file__).parent / "fake_astra_sim.py"
    program = tmp_path / "fake_astra_sim"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    program.chmod(0o755)
    return program


@pytest.fixture
def astra(fake: Path, tmp_path: Path) -> Callable[..., AstraSim]:
    """Return a maker of models that ask the fake program; their runs lie in tmp_path / "scratch"."""

    def make(backend: str = "unaware", **parameters: object) -> AstraSim:
        parameters.setdefault("scratch", str(tmp_path / "scratch"))
        return AstraSim(binary=fake, backend=backend, **parameters)

    return make


@pytest.fixture(scope="session")
def toy(record: ModuleType) -> Profile:
    """Return three layers: 80 us forward, 158 us backward, all-reduces of 1, 16 and 4 MB in this order."""
    profile: Profile = record.TOY
    return profile


@pytest.fixture(scope="session")
def switches(record: ModuleType) -> Fabric:
    """Return 450 and 25 GiB/s a GPU in a machine and a rack, 12.5 beyond; one switch each."""
    fabric: Fabric = record.SWITCHES
    return fabric


@pytest.fixture(scope="session")
def real() -> AstraSim:
    """Return a model that asks the program of ASTRA_SIM_BIN, or skip."""
    if not os.environ.get("ASTRA_SIM_BIN"):
        pytest.skip("ASTRA_SIM_BIN names no ASTRA-sim program")
    backend = os.environ.get("ASTRA_SIM_BACKEND", "auto")
    return AstraSim(binary=os.environ["ASTRA_SIM_BIN"], backend=backend)
