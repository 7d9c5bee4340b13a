"""The script that replays the public traces runs, on one of them."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRACES = ROOT / ".." / "shared" / "traces"


def test_it_prints_a_row_per_load_and_policy():
    """60 jobs at their own load and at 0.9, under FIFO and Tiresias: four rows."""
    if not TRACES.is_dir():
        pytest.skip(f"the public traces are not on this machine ({TRACES})")
    command = [sys.executable, str(ROOT / "scripts" / "replay.py"), str(TRACES), "--only", "tiresias 60"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    heads, *rows = done.stdout.splitlines()
    assert heads.split()[0] == "trace"
    assert [row.split()[2:6] for row in rows] == [
        ["60", "16", "0.12", "fifo"],
        ["60", "16", "0.12", "tiresias"],
        ["60", "16", "0.90", "fifo"],
        ["60", "16", "0.90", "tiresias"],
    ]
