"""The benchmark of the network model runs."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "benchmark_network.py"


def test_it_prints_a_line_per_kind_of_question():
    """Six kinds: a cached answer costs least, a model more of a known shape less than a new shape."""
    command = [sys.executable, str(SCRIPT), "--model", "AlexNet"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    times = [float(line.split()[0]) for line in done.stdout.splitlines()]
    assert len(times) == 6
    assert times[0] < min(times[1:])
    assert times[1] < min(times[3:])
