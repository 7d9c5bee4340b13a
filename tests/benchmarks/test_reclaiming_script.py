"""The comparison of greedy reclaiming with the optimum runs."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "evaluation" / "reclaiming.py"


def test_it_prints_a_line_for_each_number_of_machines():
    """One instance: 4 lines of scattered jobs, 22 in use; greedy never stops fewer than the optimum."""
    command = [sys.executable, str(SCRIPT), "--instances", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    head, *lines = [line.split() for line in done.stdout.splitlines()]
    assert head[:4] == ["jobs", "machines", "back", "n"]
    assert [line[0] for line in lines] == ["scattered"] * 4 + ["in"] * 22
    assert all(float(line[-6].rstrip("%")) >= 0 for line in lines)
