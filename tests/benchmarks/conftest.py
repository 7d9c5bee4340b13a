"""Folder of the reference material."""

from pathlib import Path

import pytest


@pytest.fixture
def reference_folder(shared: Path) -> Path:
    """Return the folder of recorded answers of ASTRA-sim, with the layers that the Dally authors gave it."""
    folder = shared / "reference" / "astra_sim"
    if not (folder / "workloads").is_dir():
        pytest.skip(f"measured layer tables are not on this machine ({folder})")
    return folder
