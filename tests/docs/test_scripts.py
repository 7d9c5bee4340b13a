"""Every script has a line in the README of its folder, and says what it needs beside the repository."""

import ast
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).resolve().parents[2] / "scripts").glob("*/*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_named_in_the_readme_of_its_folder(path: Path) -> None:
    """Only documented scripts are used again."""
    assert f"`{path.name}`" in (path.parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_first_line_names_the_reference_material(path: Path) -> None:
    """`../shared` is on few machines: whoever reads one line learns that it is needed."""
    text = path.read_text(encoding="utf-8")
    first = (ast.get_docstring(ast.parse(text)) or "").splitlines()[0]
    assert ("../shared" in text) == ("../shared" in first)
