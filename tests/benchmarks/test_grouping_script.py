"""The benchmark of Muri's plans runs."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "benchmark_grouping.py"


def test_it_prints_a_line_per_number_of_jobs_and_kind_of_profile():
    """40 jobs on 10 GPUs, alike and different: ten groups of four, or more where some are taken apart."""
    command = [sys.executable, str(SCRIPT), "40"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[:2] for line in lines] == [["jobs", "profiles"], ["40", "alike"], ["40", "different"]]
    assert all(10 <= int(line[3]) <= 20 for line in lines[1:])
