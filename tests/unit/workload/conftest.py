"""Three jobs that a person can add up, files in a temporary folder, and the recovered traces if present.

job  submit_s  gpus  duration_s  GPU-seconds
a           0     1         100          100
b          10     2          50          100
c          40     4          25          100
"""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from artist.workload.table import check

ROOT = Path(__file__).resolve().parents[3]
Write = Callable[..., Path]


@pytest.fixture
def three() -> pd.DataFrame:
    """Return the three jobs as a checked table."""
    table = pd.DataFrame(
        {
            "job_id": ["a", "b", "c"],
            "submit_s": [0.0, 10.0, 40.0],
            "gpus": [1, 2, 4],
            "duration_s": [100.0, 50.0, 25.0],
            "vc": ["x", "y", "x"],
        }
    )
    return check(table, "three")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes text or bytes to a new file and returns its path."""

    def _write(content: str | bytes, name: str = "trace.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return _write


@pytest.fixture
def traces() -> Path:
    """Return the folder of the recovered traces, which the repository does not hold."""
    folder = ROOT.parent / "shared" / "traces"
    if not folder.is_dir():
        pytest.skip(f"the recovered traces are not at {folder}")
    return folder
