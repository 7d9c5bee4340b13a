"""The examples of README.md run as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"<!-- example -->\n```bash\n(.*?)```", README, flags=re.DOTALL)
FILES = re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", README, flags=re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the files that the page asks its reader to write."""
    for name, content in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return tmp_path


def test_the_page_has_examples() -> None:
    """A run, an own trace, a sweep with its report, an own policy; without marks, nothing would be run."""
    assert len(EXAMPLES) == 4
    assert [name for name, _ in FILES] == ["mine/fewest.py", "mine/policy/fewest.yaml"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.splitlines()[0][:40])
def test_an_example_runs(folder: Path, example: str) -> None:
    """As a reader would run it, in an empty folder; every `artist` prints a table."""
    commands = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "ARTIST_CACHE": str(folder / "cache"),
    }
    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", example],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("JCT") >= example.count("artist ")
    assert list((folder / "runs").rglob("summary.json"))


def test_every_policy_is_on_the_page() -> None:
    """The table of policies is the list of files in conf/policy/, no more and no less."""
    section = README.split("## Policies")[1].split("## ")[0]
    rows = [
        row.split("|")[1] for row in section.splitlines() if row.startswith("| `") and "=" not in row[:12]
    ]
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert listed == {path.stem for path in (ROOT / "conf/policy").glob("*.yaml")}
