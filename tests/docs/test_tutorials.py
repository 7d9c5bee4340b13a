"""The tutorials run from top to bottom as printed, each in a folder of its own, and print what they say."""

import csv
import os
import re
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from artist.data import data_path

PAGES = sorted((Path(__file__).resolve().parents[2] / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"<!-- (example|printed|file: (\S+)) -->\n```\w+\n(.*?)```", re.DOTALL)
HEAD = (
    "JobID|User|Account|Partition|QOS|Submit|Start|End|Suspended|State|"
    "Timelimit|Priority|AllocTRES|ReqTRES|NNodes|Reservation|Flags"
)


def dump() -> str:
    """Return the jobs of the made-up site that ships as `sacct -P` would print them."""
    lines, monday = [HEAD], datetime(2026, 8, 3)
    with data_path("traces", "site.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            start_s = float(row["started_s"])
            times_s = (float(row["submit_s"]), start_s, start_s + float(row["duration_s"]))
            times = ((monday + timedelta(seconds=s)).isoformat(timespec="seconds") for s in times_s)
            job = [row["job_id"], row["user"], row["vc"], row["vc"], "normal"]
            gpus = f"gres/gpu={row['gpus']}"
            rest = ["0", "COMPLETED", "UNLIMITED", "1", gpus, gpus, str(-(-int(row["gpus"]) // 8)), "", ""]
            lines.append("|".join([*job, *times, *rest]))
    return "\n".join(lines) + "\n"


def run(folder: Path, example: str, programs: Path) -> str:
    """Run a block of commands in a folder, and return what it prints."""
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    process = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", example],
        cwd=folder,
        env={**os.environ, "PATH": path, "ARTIST_CACHE": str(programs / "cache")},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert process.returncode == 0, process.stderr + process.stdout
    return process.stdout


def test_there_are_four_tutorials() -> None:
    """My policy, my cluster's sacct, a figure of a paper, what network do I need."""
    assert [page.stem for page in PAGES] == ["my_policy", "network", "paper_figure", "sacct"]


def test_files_are_named_above_their_blocks() -> None:
    """A reader of the site does not see the comment that names a file for the tests."""
    pages = sorted(PAGES[0].parents[1].glob("**/*.md"))
    blocks = [
        (page.name, name, above)
        for page in pages
        for above, name in re.findall(r"(.*)\n\n<!-- file: (\S+) -->", page.read_text(encoding="utf-8"))
    ]
    assert len(blocks) == sum(page.read_text(encoding="utf-8").count("<!-- file: ") for page in pages) > 0
    assert [block for block in blocks if block[2] != f"`{block[1]}`:"] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_runs_and_prints_what_it_says(page: Path, tmp_path: Path) -> None:
    """In order, in one folder, with a `sacct` that knows the made-up site; blanks do not count."""
    programs, printed, checked = tmp_path / "programs", "", 0
    programs.mkdir()
    (programs / "dump.txt").write_text(dump(), encoding="utf-8")
    (programs / "sacct").write_text(f"#!/bin/sh\ncat {programs}/dump.txt\n", encoding="utf-8")
    (programs / "sacct").chmod(0o755)
    for block, name, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if name:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif block == "example":
            printed = " ".join(run(tmp_path, text, programs).split())
        else:
            for line in text.splitlines():
                assert " ".join(line.split()) in printed, line
                checked += 1
    assert checked
