"""Rules about the tests themselves."""

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_every_test_has_a_docstring():
    """A test without a reason cannot be judged when it fails."""
    silent = [
        f"{path.relative_to(TESTS)}:{node.lineno} {node.name}"
        for path in sorted(TESTS.rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert not silent
