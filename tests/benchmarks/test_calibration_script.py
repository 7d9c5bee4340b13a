"""The script that holds both calibrations against measurements says what docs/networks.md says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "networks.md"
ROW = re.compile(r"^\| (\w+ [\d.]+)[^|]*\| 8, 16, 32 \| (.*) \| (.*) \| (.*) \|$", re.MULTILINE)
SCRIPT = Path(__file__).parents[2] / "scripts" / "validation" / "calibration.py"


def run(*arguments: str) -> list[str]:
    """Return the lines of the script."""
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_it_prints_table_1_and_the_public_measurements() -> None:
    """18 cells of six models, and 18 of six frameworks: how many each method meets beyond what was fitted."""
    lines = run("--topology", "dally_code")
    assert [line for line in lines if "within" in line] == [
        "scale_compute: 5 of 12 within 15%",
        "launch_overhead: 1 of 12 within 15%",
        "scale_compute: 0 of 12 within 15%",
        "launch_overhead: 3 of 12 within 15%",
    ]
    machine = [line for line in lines if line.split()[1:2] == ["machine"]]
    assert len(machine) == 6
    assert all(line.count("%)*") == 2 for line in machine)  # both methods meet what they were fitted to


def test_the_page_shows_the_output_of_the_script() -> None:
    """Of each framework, 8, 16 and 32 GPUs: measured, and what each method makes of the first."""
    lines = run("--topology")
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert len(rows) == 6
    for framework, *told in rows:
        (first,) = (place for place, line in enumerate(lines) if line.startswith(f"{framework} "))
        cells = [re.sub(r"\(\S+\)\*?", "", line[18:]).split() for line in lines[first : first + 3]]
        for place, text in zip((1, 3, 4), told, strict=True):
            results = [float(row[place]) for row in cells]
            assert [float(part) for part in text.split(", ")] == pytest.approx(results, rel=0.002, abs=0.06)


def test_the_authors_layers_explain_most_of_table_1(reference_folder: Path) -> None:
    """With their layers 7 of 12; with their own scales, the rack column of VGG11 and AlexNet too."""
    lines = run("--topology", "dally_code", "--workloads", str(reference_folder))
    assert lines[lines.index("") - 2] == "scale_compute: 7 of 12 within 15%"
    theirs = lines[lines.index("By the authors' own scales, topology=dally_code") :]
    racks = [line for line in theirs[:19] if line.split()[0] == "rack"]
    assert [line.split()[2] for line in racks[:3]] == ["5.87", "12.98", "934.93"]
