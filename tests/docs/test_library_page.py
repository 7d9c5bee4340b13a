"""The example of the page on the library, run as it stands there, in an empty folder."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs/library.md"
(EXAMPLE,) = re.findall(
    r"<!-- example -->\n```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL
)


def test_the_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """2 policies x 2 seeds: a row a policy, a median by policy and seed, load and events of a run."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(EXAMPLE, names)
    printed = capsys.readouterr().out
    assert len(list(tmp_path.glob("runs/sweeps/library/*/summary.json"))) == 4
    assert printed.count("fifo") == 2
    assert printed.count("srtf") == 2
    assert "\n1.2 " in printed
