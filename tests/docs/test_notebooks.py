"""The notebooks run from top to bottom, each in a folder of its own, and hold no outputs."""

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "docs" / "notebooks").glob("*.ipynb"))
mpl.use("agg")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cell by cell in one namespace, as a fresh kernel does."""
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    plt.close("all")


def test_there_are_two() -> None:
    """One on comparing policies, one on learning."""
    assert [path.stem for path in NOTEBOOKS] == ["agent", "policies"]
