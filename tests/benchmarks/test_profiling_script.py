"""The script that profiles the shipped models says what docs/performance.md says."""

import re
import subprocess
import sys
from pathlib import Path

from netmodels.profiles.profile import profile_names

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| \S+ \| [18] \|.*\|$", re.MULTILINE)


def test_the_page_shows_the_output_of_the_script():
    """Two rows a model; those of the page are among them, the paper's 8 minutes for ResNet18 too."""
    command = [sys.executable, str(ROOT / "scripts" / "evaluation" / "profiling.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = done.stdout.splitlines()[2:]
    assert len(rows) == 2 * len(profile_names())
    assert any(row.startswith("| ResNet18 | 1 | 24, 12, 6, 9, 7, 8, 1, 3 | 8 |") for row in rows)
    told = ROW.findall((ROOT / "docs" / "performance.md").read_text(encoding="utf-8"))
    assert told
    assert [row for row in told if row not in rows] == []
