"""The benchmark script runs and its figures make sense."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "benchmark.py"


def test_the_benchmark_prints_a_row_per_combination(tmp_path):
    """Two policies: two rows of ten figures; 30 jobs make at least 3 events each."""
    command = [sys.executable, str(SCRIPT), "policy=fifo,srtf", "workload.jobs=30", "network.cache=null"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    header, *rows = done.stdout.splitlines()
    assert header.split()[:2] == ["jobs", "events"]
    assert [row.split()[-1] for row in rows] == ["policy=fifo", "policy=srtf"]
    for row in rows:
        jobs, events = (int(cell) for cell in row.split()[:2])
        assert jobs == 30
        assert events >= 90
